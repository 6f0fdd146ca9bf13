"""Cost by stage: a test that reaches a stage has paid for every stage before it too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from aucert_otel.costs import add_usd


DAYS_A_MONTH: Final = 30

SPECIFIED_SHARES: Final = (0.80, 0.15, 0.04, 0.01)
"""The share of all tests that the specification expects each of the four stages to settle."""


@dataclass(frozen=True, slots=True)
class StageShare:
    """What is known of a stage: how many tests it sees, how many it settles, what one costs."""

    stage: str
    reached: float
    """The share of all tests that it ran on, in [0, 1]."""
    resolved: float
    """The share of all tests that it settled, in [0, 1]."""
    usd: float | None
    """US dollars for one run of it; ``None`` if unknown."""


@dataclass(frozen=True, slots=True)
class StageLine:
    """One line of the table."""

    number: int
    """The stage's place in the cascade, counted from 1."""
    stage: str
    reached: float
    """The share of all tests that it ran on, in [0, 1]."""
    resolved: float
    """The share of all tests that it settled, in [0, 1]."""
    usd: float | None
    """US dollars for one run of it; ``None`` if unknown."""
    cumulative_usd: float | None
    """US dollars a test has cost when this stage is done: the sum of the stages up to it."""
    monthly_usd: float | None
    """US dollars a month for this stage alone: tests a day x 30 x ``reached`` x ``usd``."""


@dataclass(frozen=True, slots=True)
class StageTable:
    """Cost and resolution by stage."""

    cascade: str
    tests_per_day: float
    lines: tuple[StageLine, ...]
    tests: int = 0
    """How many tests it was measured on; 0: it is an assumption."""
    unpriced: int = 0
    """Runs of a stage whose cost nobody knows. The other runs of that stage stand for them."""

    @property
    def unresolved(self) -> float:
        """The share of tests that no stage settled: a person decides."""
        return max(0.0, 1.0 - sum(line.resolved for line in self.lines))

    @property
    def average_usd(self) -> float | None:
        """US dollars a test costs on average: each stage's cost, by the share that reaches it.

        The same as each stage's cumulative cost, by the share of tests that end at it.
        """
        return add_usd(*[_part(line.reached, line.usd) for line in self.lines])

    @property
    def monthly_usd(self) -> float | None:
        """US dollars a month, all stages together."""
        return add_usd(*[line.monthly_usd for line in self.lines])


def stage_table(
    cascade: str,
    shares: Sequence[StageShare],
    *,
    tests_per_day: float = 1000,
    tests: int = 0,
    unpriced: int = 0,
) -> StageTable:
    """The table over the stages of a cascade, in their order."""
    lines = []
    spent: float | None = 0.0
    for number, each in enumerate(shares, 1):
        spent = add_usd(spent, each.usd)
        part = _part(each.reached, each.usd)
        lines.append(
            StageLine(
                number,
                each.stage,
                each.reached,
                each.resolved,
                each.usd,
                spent,
                None if part is None else tests_per_day * DAYS_A_MONTH * part,
            )
        )
    return StageTable(cascade, tests_per_day, tuple(lines), tests, unpriced)


def assumed(
    cascade: str,
    stages: Sequence[tuple[str, float | None, bool]],
    *,
    shares: Sequence[float] = SPECIFIED_SHARES,
    tests_per_day: float = 1000,
) -> StageTable:
    """The table as it would be if each stage settled the share that is assumed of it.

    Args:
        cascade: Its name.
        stages: Name, US dollars a run, and whether it asks a model. The shares are those of the
            stages that do, in their order; a rule before them is assumed to settle nothing.
        shares: Of all tests, settled by each stage.
        tests_per_day: How many tests there are.
    """
    found = []
    reached, left = 1.0, list(shares)
    for name, usd, asks in stages:
        resolved = min(reached, left.pop(0) if asks and left else 0.0)
        found.append(StageShare(name, reached, resolved, usd))
        reached = max(0.0, reached - resolved)
        reached = 0.0 if reached < 1e-12 else reached  # what is left of 1 - .8 - .15 - .04 - .01
    return stage_table(cascade, found, tests_per_day=tests_per_day)


def _part(share: float, usd: float | None) -> float | None:
    """A stage that is never reached costs nothing, whatever it would cost."""
    return 0.0 if share == 0 else None if usd is None else share * usd
