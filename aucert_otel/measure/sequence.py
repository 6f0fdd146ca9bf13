"""Fixed-sequence testing: the lowest threshold that labelled answers support.

The thresholds are fixed beforehand and tested from the most to the least conservative. At each the
null hypothesis "among the answers settled here, more than alpha are settled wrongly" is tested at
the full level delta, and the first that cannot be rejected ends the sequence. To certify a wrong
threshold, the first true hypothesis of the sequence has to be rejected, which happens with
probability at most delta: so no correction for the number of thresholds is needed (Bauer, Statistics
in Medicine 10, 1991; for thresholds of a classifier: Angelopoulos et al., "Learn then Test", 2021;
for judges that escalate: Jung et al., "Trust or Escalate", 2024).

The price is the order: a first threshold that hardly any answer reaches ends the sequence at once.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Final

from aucert_otel.errors import ConfigurationError
from aucert_otel.measure.intervals import upper_bound


DEFAULT_GRID: Final = (0.95, 0.9, 0.8, 0.7, 0.6, 0.5)
"""Begins at the specification's threshold. Short, since later stages pay for its length."""


class Why(StrEnum):
    """Why no threshold was certified. A result, not an error."""

    TOO_FEW = "too_few"
    """So few answers reach the first threshold that not even a spotless record would do."""
    ERRORS = "errors"
    """Too many of them are settled wrongly."""
    NOT_JUDGED = "not_judged"
    """Answers would arrive at the stage that it never judged when the labelled run was made."""


@dataclass(frozen=True, slots=True)
class Step:
    """One threshold as it was tested."""

    threshold: float
    settled: int
    """Labelled answers at or above it."""
    errors: int
    """How many of them are settled wrongly."""
    bound: float
    """The upper bound of the error rate."""


@dataclass(frozen=True, slots=True)
class Tested:
    """What a sequence of tests found."""

    steps: tuple[Step, ...]
    """In the order tested; all but the last are certified, and the last if ``why`` is ``None``
    and the grid was at its end."""
    certified: Step | None
    """The least conservative threshold that was certified."""
    alpha: float
    delta: float
    """The level each test was made at."""
    why: Why | None = None
    """Set where nothing was certified."""

    @property
    def needed(self) -> int:
        """Settled answers that the first threshold needs if none of them is wrong."""
        return enough(self.alpha, self.delta)


def enough(alpha: float, delta: float) -> int:
    """How many answers, all settled rightly, are the fewest that certify anything."""
    needed = max(1, math.ceil(math.log(delta) / math.log1p(-alpha) - 1e-9))
    # The quotient rounds; the bound itself decides, as it does in every test.
    return needed if upper_bound(0, needed, delta) <= alpha else needed + 1


def check_grid(grid: Sequence[float]) -> tuple[float, ...]:
    """The thresholds, if they can be tested in this order.

    Raises:
        ConfigurationError: there is none, one is no confidence, or they do not descend.
    """
    found = tuple(float(each) for each in grid)
    said = ", ".join(f"{each:g}" for each in found)
    if not found or not all(0.0 <= each <= 1.0 for each in found):
        raise ConfigurationError(
            f"the grid is [{said}]: give confidences in [0, 1], such as 0.95,0.9"
        )
    if any(later >= earlier for earlier, later in pairwise(found)):
        raise ConfigurationError(
            f"the grid is [{said}]: it must descend, from the most conservative threshold on"
        )
    return found


def count(
    judged: Iterable[tuple[float | None, bool]], grid: Sequence[float]
) -> tuple[list[int], list[int]]:
    """How many answers each threshold settles, and how many of them wrongly.

    Args:
        judged: Confidence and whether the verdict was right. An unknown confidence reaches nothing.
        grid: Descending thresholds.
    """
    negative = [-each for each in grid]
    settled, errors = [0] * len(grid), [0] * len(grid)
    for confidence, right in judged:
        if confidence is not None and (first := bisect_left(negative, -confidence)) < len(grid):
            settled[first] += 1
            errors[first] += not right
    for index in range(1, len(grid)):
        settled[index] += settled[index - 1]
        errors[index] += errors[index - 1]
    return settled, errors


def fixed_sequence(
    grid: Sequence[float],
    settled: Sequence[int],
    errors: Sequence[int],
    *,
    alpha: float,
    delta: float,
) -> Tested:
    """Test the thresholds in order until one is not rejected.

    Args:
        grid: Descending thresholds, fixed before the labels were looked at.
        settled: For each, how many labelled answers are at or above it.
        errors: For each, how many of those are settled wrongly.
        alpha: The error rate to stay within, in (0, 1).
        delta: The probability of certifying a threshold that does not, in (0, 1).

    Raises:
        ConfigurationError: ``alpha`` or ``delta`` is not a share, or the grid cannot be tested.
        MissingExtraError: SciPy is not installed.
    """
    check_shares(alpha, delta)
    steps: list[Step] = []
    certified: Step | None = None
    for threshold, n, wrong in zip(check_grid(grid), settled, errors, strict=True):
        step = Step(threshold, n, wrong, upper_bound(wrong, n, delta))
        steps.append(step)
        if step.bound > alpha:
            break
        certified = step
    why = None
    if certified is None:
        why = Why.TOO_FEW if steps[0].settled < enough(alpha, delta) else Why.ERRORS
    return Tested(tuple(steps), certified, alpha, delta, why)


def check_shares(alpha: float, delta: float) -> None:
    """Refuse what is not a share.

    Raises:
        ConfigurationError: ``alpha`` or ``delta`` is not between 0 and 1.
    """
    for name, value in (("alpha", alpha), ("delta", delta)):
        if not 0.0 < value < 1.0:
            raise ConfigurationError(
                f"{name} is {value!r}: give a share between 0 and 1, such as 0.1"
            )
