"""What a check adds up to, and how it is said."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from aucert_otel.action import Action
from aucert_otel.cli.intervals import exact_interval
from aucert_otel.cli.outfile import Past
from aucert_otel.cli.screen import cut, plural, usd
from aucert_otel.verdict import Verdict


MAX_NAMED = 10


@dataclass(slots=True)
class Tally:
    """Counts over one run and what it found already done."""

    rows: int = 0
    bad: int = 0
    resumed: int = 0
    not_run: int = 0
    """Rows with a planned check that did not run."""
    decisions: Counter[str] = field(default_factory=Counter)
    actions: Counter[str] = field(default_factory=Counter)
    stages: Counter[tuple[int, str]] = field(default_factory=Counter)
    costs: list[float] = field(default_factory=list)
    unpriced: int = 0
    gold: Counter[tuple[Verdict, str]] = field(default_factory=Counter)
    """By what people said and what the cascade decided."""
    held: list[Past] = field(default_factory=list)
    """The first rows that do not ship."""
    held_more: int = 0
    unknown: Counter[str] = field(default_factory=Counter)
    """Keys nobody reads, and in how many rows."""

    def add(self, past: Past, gold: Verdict | None) -> None:
        """Count one row."""
        self.rows += 1
        self.decisions[past.decision] += 1
        self.actions[past.action] += 1
        self.stages[past.stage_reached, past.stage] += 1
        if past.cost_usd is None:
            self.unpriced += 1
        else:
            self.costs.append(past.cost_usd)
        if gold is not None:
            self.gold[gold, past.decision] += 1
        self.not_run += past.not_run
        if past.action != Action.SHIP.value:
            if len(self.held) < MAX_NAMED:
                self.held.append(past)
            else:
                self.held_more += 1


def summary(tally: Tally) -> list[str]:
    """The summary, one line an item."""
    resumed = f", {tally.resumed:,} of them by an earlier run" if tally.resumed else ""
    bad = f"; {plural(tally.bad, 'bad row')} left out" if tally.bad else ""
    lines = [f"{plural(tally.rows, 'row')} checked{resumed}{bad}"]
    if tally.rows:
        lines.append("verdicts  " + _counts(tally.decisions, ("pass", "fail", "unclear")))
        lines.append(
            "actions   " + _counts(tally.actions, ("ship", "repair", "escalate", "person"))
        )
        reached = sorted(tally.stages.items())
        lines.append(
            "decided   "
            + ", ".join(f"{count:,} at stage {n} {name}" for (n, name), count in reached)
        )
        lines.append("cost      " + _cost(tally))
    if tally.not_run:
        lines.append(f"not run   {plural(tally.not_run, 'row')} had a check that did not run")
    if tally.gold:
        lines += _against_gold(tally.gold)
    if tally.held:
        lines.append("does not ship:")
        for past in tally.held:
            said = cut(f"{past.test_id} -> {past.action}: {past.reasoning}", 160)
            lines.append(f"  line {past.line}: {said}")
    if tally.held_more:
        lines.append(f"  and {plural(tally.held_more, 'further row')}")
    return lines


def _counts(counts: Counter[str], order: Iterable[str]) -> str:
    return ", ".join(f"{counts[name]:,} {name}" for name in order if counts[name]) or "none"


def _cost(tally: Tally) -> str:
    if tally.unpriced == tally.rows:
        return f"unknown for all {plural(tally.rows, 'row')}"
    known = len(tally.costs)
    total = math.fsum(tally.costs)
    said = f"{usd(total)} for verification, {usd(total / known)} a row"
    return said + (f"; unknown for {plural(tally.unpriced, 'row')}" if tally.unpriced else "")


def _against_gold(gold: Counter[tuple[Verdict, str]]) -> list[str]:
    labelled = sum(gold.values())
    good = sum(count for (said, _), count in gold.items() if said is Verdict.PASS)
    unclear = sum(count for (_, decision), count in gold.items() if decision == "unclear")
    lines = [
        f"against gold, {plural(labelled, 'row')}: {good:,} good, {labelled - good:,} bad",
        _rate("FPR, good answers failed", gold[Verdict.PASS, "fail"], good),
        _rate("FNR, bad answers passed ", gold[Verdict.FAIL, "pass"], labelled - good),
    ]
    if unclear:
        lines.append(f"  {unclear:,} of {labelled:,} unclear: in neither error, a person decides")
    return lines


def _rate(name: str, hits: int, trials: int) -> str:
    if not trials:
        return f"  {name}  no such row: the rate is unknown"
    low, high = exact_interval(hits, trials)
    return (
        f"  {name}  {hits:,} of {trials:,} = {hits / trials:.1%}"
        f"  (95% interval {_percent(low)} to {_percent(high)}, exact)"
    )


def _percent(share: float) -> str:
    """One decimal, and more where that would read as none at all."""
    return f"{share:.1%}" if share == 0 or share >= 0.001 else f"{share:.4%}"
