"""What a check adds up to, and how it is said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from aucert_otel.action import Action
from aucert_otel.cli.outfile import Past
from aucert_otel.cli.screen import cut, plural
from aucert_otel.cli.tables import against_targets, by_stage
from aucert_otel.summary import Counts, measures
from aucert_otel.verdict import Verdict


MAX_NAMED = 10


@dataclass(slots=True)
class Tally:
    """Counts over one run and what it found already done."""

    counts: Counts = field(default_factory=Counts)
    bad: int = 0
    resumed: int = 0
    not_run: int = 0
    """Rows with a planned check that did not run."""
    decisions: Counter[str] = field(default_factory=Counter)
    actions: Counter[str] = field(default_factory=Counter)
    held: list[Past] = field(default_factory=list)
    """The first rows that do not ship."""
    held_more: int = 0
    unknown: Counter[str] = field(default_factory=Counter)
    """Keys nobody reads, and in how many rows."""

    def add(self, past: Past, gold: Verdict | None) -> None:
        """Count one row."""
        checked = past.checked
        self.counts.add(checked, None if gold is None else gold.value)
        self.decisions[checked.decision] += 1
        self.actions[past.action] += 1
        self.not_run += checked.did_not_run
        if past.action != Action.SHIP.value:
            if len(self.held) < MAX_NAMED:
                self.held.append(past)
            else:
                self.held_more += 1


def summary(tally: Tally, stages: Mapping[str, tuple[str, ...]], tests_per_day: float) -> list[str]:
    """The summary, one line an item.

    Args:
        tally: The counts.
        stages: The names of the stages of each cascade.
        tests_per_day: For the monthly cost.
    """
    rows = tally.counts.rows
    resumed = f", {tally.resumed:,} of them by an earlier run" if tally.resumed else ""
    bad = f"; {plural(tally.bad, 'bad row')} left out" if tally.bad else ""
    lines = [f"{plural(rows, 'row')} checked{resumed}{bad}"]
    if rows:
        lines.append("verdicts  " + _counts(tally.decisions, ("pass", "fail", "unclear")))
        lines.append(
            "actions   " + _counts(tally.actions, ("ship", "repair", "escalate", "person"))
        )
    if tally.not_run:
        lines.append(f"not run   {plural(tally.not_run, 'row')} had a check that did not run")
    if rows:
        for table in tally.counts.stage_tables(tests_per_day, stages):
            lines += ["", *by_stage(table)]
        lines += ["", *against_targets(measures(tally.counts)), ""]
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
