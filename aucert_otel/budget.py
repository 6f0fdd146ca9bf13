"""Money and time: what one answer may spend, and what it has spent so far."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

from aucert_otel.costs import add_usd, known_usd
from aucert_otel.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Budget:
    """What checking and mending one answer may cost. ``None`` is no limit.

    Raises:
        ConfigurationError: a limit is negative or not a number.
    """

    usd: float | None = None
    """US dollars for verification and repair together."""
    seconds: float | None = None
    """Seconds from the start of the call until the answer has to be out, generation included."""

    def __post_init__(self) -> None:
        for name, value in (("usd", self.usd), ("seconds", self.seconds)):
            if value is not None and known_usd(value) is None:
                from aucert_otel._sentences import shown

                raise ConfigurationError(
                    f"budget.{name} is {shown(value)}: give a number of {name} from 0 up, or leave it out for no limit"
                )


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a step is expected to take. ``None`` is unknown."""

    usd: float | None = 0.0
    seconds: float = 0.0

    def __post_init__(self) -> None:
        for name, value in (("usd", self.usd), ("seconds", self.seconds)):
            if known_usd(value) is None and not (name == "usd" and value is None):
                raise ConfigurationError(
                    f"Estimate({name}={value!r}): give a number from 0 up"
                    + (", or None where nobody knows" if name == "usd" else "")
                )


class Meter:
    """One run against its budget."""

    __slots__ = ("budget", "deadline", "spent_usd", "started", "unlimited")

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.started = time.monotonic()
        self.deadline = math.inf if budget.seconds is None else self.started + budget.seconds
        self.unlimited = budget.seconds is None and budget.usd is None
        self.spent_usd: float | None = 0.0

    @property
    def elapsed_s(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self.started

    @property
    def remaining_s(self) -> float:
        """Seconds until the deadline; infinite without one, negative past it."""
        return self.deadline - time.monotonic()

    def charge(self, usd: float | None) -> None:
        """Add what a step cost; one unknown cost makes the sum unknown."""
        self.spent_usd = add_usd(self.spent_usd, usd)

    def fits(self, step: Estimate) -> bool:
        """Whether a whole step fits into what is left.

        With a limit on money an unknown price never fits: nothing shows that it would.
        """
        if self.unlimited:
            return True
        if self.deadline != math.inf and not 0 < self.remaining_s >= step.seconds:
            return False
        if self.budget.usd is None:
            return True
        total = add_usd(self.spent_usd, step.usd)
        return total is not None and total <= self.budget.usd
