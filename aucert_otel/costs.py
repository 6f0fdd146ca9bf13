"""What things cost, in US dollars. Unknown is `None`, and never counted as zero."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Costs:
    """US dollars, split by what they bought. ``None`` is unknown and never counted as zero."""

    verification: float | None = 0.0
    generation: float | None = None
    repair: float | None = 0.0
    unpriced: tuple[str, ...] = ()

    @property
    def total(self) -> float | None:
        """The sum, or ``None`` as soon as one part is unknown."""
        return add_usd(self.verification, self.generation, self.repair)


def known_usd(amount: object) -> float | None:
    """An amount somebody else reported, or ``None`` if it is none: not finite, negative, no number."""
    if isinstance(amount, (int, float)) and 0.0 <= amount < math.inf:
        try:
            return float(amount)
        except OverflowError:  # a whole number that no float holds
            return None
    return None


def add_usd(*parts: float | None) -> float | None:
    """Sum dollar amounts; unknown if any part is."""
    total = 0.0
    for part in parts:
        if part is None:
            return None
        total += part
    return total
