"""Calibrating a cascade: for each stage and verdict, a threshold among what arrives there.

What is guaranteed. Let a cascade with the certified gates run on answers drawn like the labelled
ones of a stratum. With probability at least 1 - delta over the labelled answers, for every stage
and each verdict at once: of the answers that arrive at the stage and that it settles with this
verdict, at most a share alpha is settled wrongly. Hence at most alpha of all that the calibrated
stages settle is wrong, since every settled answer is settled by one stage with one verdict. Of a
stage whose gate is kept, and of answers of another kind, nothing is said.

How delta is spent:

* Each calibrated stage has an equal share, and each verdict it settles an equal share of that: a
  union bound.
* A later stage sees only what no earlier one settled, and the earlier thresholds were chosen on the
  same labelled answers. Whatever they had come out as, the later bound has to hold. So the later
  stage's share is divided by the number of ways the gates before it could have come out: for each
  verdict every threshold of the grid, or none. This is a union bound over them too. It costs a
  logarithm's worth of labels; splitting the labels between the stages would cost a multiple.
* A stage whose gate is not calibrated but kept could have come out in one way only, and costs
  nothing.
* Strata are separate statements, each with its own delta, unless ``together`` is asked for: then
  delta holds for all of them at once, and each stratum has an equal share.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from itertools import pairwise

from aucert_otel.certificate import SETTLES_BOTH
from aucert_otel.errors import ConfigurationError
from aucert_otel.measure.sequence import (
    Tested,
    Why,
    check_grid,
    check_shares,
    count,
    fixed_sequence,
)
from aucert_otel.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Judged:
    """What a stage said about one labelled answer."""

    stage: str
    verdict: Verdict
    """`Verdict.UNCLEAR` too where the check did not run: neither ever settles."""
    confidence: float | None
    right: bool
    """Whether the label says the same. Without meaning where the verdict is unclear."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One labelled answer and what each stage said that it reached."""

    judged: tuple[Judged, ...]
    """In the order in which the stages ran."""
    _: KW_ONLY
    stratum: str | None = None
    settled: bool = False
    """A gate of the run settled it at its last stage, so that no later stage was asked."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A stage of the cascade that is calibrated."""

    name: str
    settles: frozenset[Verdict] = SETTLES_BOTH
    kept: bool = False
    """Its gate stays as it was when the labelled run was made; nothing is tested."""


@dataclass(frozen=True, slots=True)
class StageResult:
    """What calibration found for one stage and stratum."""

    stage: str
    stratum: str | None
    arrived: int
    """Labelled answers that reach it behind the gates certified before it."""
    delta: float
    """The stage's share of delta."""
    tested: Mapping[Verdict, Tested] = field(default_factory=dict)
    """By verdict; empty for a stage whose gate is kept."""
    not_judged: int = 0
    """Answers among those that arrive which it never judged."""
    kept: bool = False

    @property
    def settles(self) -> frozenset[Verdict]:
        """The verdicts for which a threshold was certified."""
        return frozenset(v for v, tested in self.tested.items() if tested.certified is not None)

    def threshold(self, verdict: Verdict) -> float | None:
        """The certified threshold; ``None`` where there is none."""
        tested = self.tested.get(verdict)
        return None if tested is None or tested.certified is None else tested.certified.threshold

    def admits(self, judged: Judged) -> bool:
        """Whether the certified gate settles this verdict."""
        at = self.threshold(judged.verdict)
        return at is not None and judged.confidence is not None and judged.confidence >= at


def calibrate(
    trials: Sequence[Trial],
    plan: Sequence[Planned],
    *,
    grid: Sequence[float],
    alpha: float,
    delta: float,
    together: bool = False,
) -> list[StageResult]:
    """Find the thresholds that labelled answers support; see the module for what that means.

    Args:
        trials: The labelled answers.
        plan: The stages in their order. A stage of a trial that is not in it is an error.
        grid: Descending thresholds, fixed before the labels were looked at.
        alpha: The error rate to stay within.
        delta: The probability that any statement about a stratum is wrong.
        together: Delta is shared out over the strata too.

    Returns:
        One result for each stratum and stage, strata in alphabetical order.

    Raises:
        ConfigurationError: a number is out of range, or a trial names a stage that is not planned.
        MissingExtraError: SciPy is not installed.
    """
    check_shares(alpha, delta)
    grid = check_grid(grid)
    strata: dict[str | None, list[Trial]] = {}
    for trial in trials:
        strata.setdefault(trial.stratum, []).append(trial)
    chains = {tuple(judged.stage for judged in trial.judged) for trial in trials}
    _check_order(chains, [stage.name for stage in plan])
    share = delta / sum(not stage.kept for stage in plan) if plan else delta
    if together and strata:
        share /= len(strata)
    linked = _linked(chains)
    results: list[StageResult] = []
    for stratum in sorted(strata, key=lambda name: (name is not None, name or "")):
        arriving = [(trial, 0) for trial in strata[stratum]]
        for index, stage in enumerate(plan):
            ways = 1
            for earlier in plan[:index]:
                if not earlier.kept and (earlier.name, stage.name) in linked:
                    ways *= (len(grid) + 1) ** len(earlier.settles)
            result, arriving = _stage(
                stage, stratum, arriving, grid, alpha=alpha, spend=(share, ways)
            )
            results.append(result)
    return results


def _check_order(chains: Iterable[tuple[str, ...]], plan: Sequence[str]) -> None:
    place = {name: index for index, name in enumerate(plan)}
    for chain in chains:
        unknown = [name for name in chain if name not in place]
        if unknown:
            raise ConfigurationError(
                f"an answer was judged by the stage {unknown[0]!r}, which is not planned: planned are "
                + ", ".join(plan)
            )
        places = [place[name] for name in chain]
        if any(later <= earlier for earlier, later in pairwise(places)):
            raise ConfigurationError(
                f"an answer was judged by {', '.join(chain)}, which is not the order of the stages: "
                + ", ".join(plan)
            )


def _linked(chains: Iterable[tuple[str, ...]]) -> set[tuple[str, str]]:
    """Pairs of stages that judged one answer: the first's gate decides what the second sees."""
    return {
        (earlier, later)
        for chain in chains
        for index, later in enumerate(chain)
        for earlier in chain[:index]
    }


_Arriving = list[tuple[Trial, int]]
"""Trials that nobody settled yet, and how many of their judgements lie behind them."""


def _stage(
    stage: Planned,
    stratum: str | None,
    arriving: _Arriving,
    grid: tuple[float, ...],
    *,
    alpha: float,
    spend: tuple[float, int],
) -> tuple[StageResult, _Arriving]:
    here: list[tuple[Trial, int]] = []
    later: _Arriving = []
    not_judged = 0
    for trial, behind in arriving:
        if behind < len(trial.judged):
            (here if trial.judged[behind].stage == stage.name else later).append((trial, behind))
        elif trial.settled:
            # The run's gate settled it, the certified one does not: nobody knows what this stage
            # would have said. It stays, since it would arrive at the next stages as well.
            not_judged += 1
            later.append((trial, behind))
    share, ways = spend
    tested: dict[Verdict, Tested] = {}
    if not stage.kept:
        for verdict in sorted(stage.settles):
            judged = (
                (found.confidence, found.right)
                for trial, behind in here
                if (found := trial.judged[behind]).verdict is verdict
            )
            level = share / len(stage.settles) / ways
            tested[verdict] = _test(judged, grid, alpha, level, not_judged)
    result = StageResult(
        stage.name,
        stratum,
        len(here) + not_judged,
        0.0 if stage.kept else share,
        tested,
        not_judged,
        stage.kept,
    )
    for trial, behind in here:
        last = behind + 1 == len(trial.judged)
        settles = trial.settled and last if stage.kept else result.admits(trial.judged[behind])
        if not settles:
            later.append((trial, behind + 1))
    return result, later


def _test(
    judged: Iterable[tuple[float | None, bool]],
    grid: tuple[float, ...],
    alpha: float,
    level: float,
    not_judged: int,
) -> Tested:
    if not_judged:
        return Tested((), None, alpha, level, Why.NOT_JUDGED)
    settled, errors = count(judged, grid)
    return fixed_sequence(grid, settled, errors, alpha=alpha, delta=level)
