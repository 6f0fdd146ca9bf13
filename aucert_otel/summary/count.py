"""From audit records to counts, in memory that grows by two numbers a record."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from aucert_otel.summary.stages import StageShare, StageTable, stage_table


_SETTLED = frozenset({"pass", "fail"})


@dataclass(frozen=True, slots=True)
class StageRun:
    """One stage of one verification."""

    stage: str
    status: str
    usd: float | None
    """US dollars; ``None`` if unknown."""
    calls: int = 0

    @property
    def ran(self) -> bool:
        """Whether it was begun: a stage that the budget kept from beginning was not reached."""
        return self.status != "skipped" and not (self.status == "over_budget" and not self.calls)


@dataclass(frozen=True, slots=True)
class Checked:
    """What the counts need of one verification."""

    cascade: str
    decision: str
    """``pass``, ``fail`` or ``unclear``."""
    stage_reached: int
    stages: tuple[StageRun, ...] = ()
    usd: float | None = None
    """US dollars for all stages; ``None`` if unknown."""
    seconds: float | None = None

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Checked:
        """Read an audit record, or a line of ``aucert check --out``. What is odd is unknown."""
        stages = record.get("stages")
        milliseconds = _number(record.get("latency_ms"))
        return cls(
            str(record.get("cascade") or ""),
            str(record.get("decision") or ""),
            count(record.get("stage_reached")),
            tuple(_run(each) for each in (stages if isinstance(stages, list | tuple) else ())),
            _number(record.get("cost_usd")),
            None if milliseconds is None else milliseconds / 1000,
        )

    @property
    def settled(self) -> bool:
        """Whether a stage settled it, the last one that ran."""
        return self.decision in _SETTLED

    @property
    def did_not_run(self) -> bool:
        """Whether a planned check did not run."""
        return any(stage.status not in {"ok", "skipped"} for stage in self.stages)


@dataclass(slots=True)
class _Stage:
    ran: int = 0
    resolved: int = 0
    usd: list[float] = field(default_factory=list)
    unpriced: int = 0


@dataclass(slots=True)
class Counts:
    """Counts over verifications."""

    rows: int = 0
    first_stage: int = 0
    """Settled by the first stage."""
    usd: list[float] = field(default_factory=list)
    unpriced: int = 0
    seconds: list[float] = field(default_factory=list)
    gold: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By what people said and what was decided, each ``pass``, ``fail`` or ``unclear``."""
    _by_cascade: dict[str, dict[tuple[int, str], _Stage]] = field(default_factory=dict)
    _tests: Counter[str] = field(default_factory=Counter)

    def add(self, checked: Checked, gold: str | None = None) -> None:
        """Count one verification, and what people said about the answer."""
        self.rows += 1
        self.first_stage += checked.settled and checked.stage_reached == 1
        if checked.usd is None:
            self.unpriced += 1
        else:
            self.usd.append(checked.usd)
        if checked.seconds is not None:
            self.seconds.append(checked.seconds)
        if gold is not None:
            self.gold[gold, checked.decision] += 1
        self._tests[checked.cascade] += 1
        stages = self._by_cascade.setdefault(checked.cascade, {})
        for number, run in enumerate(checked.stages, 1):
            stage = stages.setdefault((number, run.stage), _Stage())
            if run.ran:
                stage.ran += 1
                if run.usd is None:
                    stage.unpriced += 1
                else:
                    stage.usd.append(run.usd)
            stage.resolved += checked.settled and number == len(checked.stages)

    def stage_tables(
        self,
        tests_per_day: float = 1000,
        stages: Mapping[str, tuple[str, ...]] | None = None,
    ) -> tuple[StageTable, ...]:
        """Cost and resolution by stage, a table for each cascade.

        Args:
            tests_per_day: For the monthly cost.
            stages: All stages of a cascade, so that those nobody reached have their line too.
        """
        found = []
        for cascade, seen in sorted(self._by_cascade.items()):
            tests = self._tests[cascade]
            named = enumerate((stages or {}).get(cascade, ()), 1)
            keys = sorted({*seen, *named})
            shares = [_share(key[1], seen.get(key, _Stage()), tests) for key in keys]
            unpriced = sum(stage.unpriced for stage in seen.values())
            found.append(
                stage_table(
                    cascade, shares, tests_per_day=tests_per_day, tests=tests, unpriced=unpriced
                )
            )
        return tuple(found)


def _share(name: str, stage: _Stage, tests: int) -> StageShare:
    usd = math.fsum(stage.usd) / len(stage.usd) if stage.usd else None
    return StageShare(name, stage.ran / tests, stage.resolved / tests, usd)


def _run(stage: object) -> StageRun:
    given: Mapping[str, Any] = stage if isinstance(stage, Mapping) else {}
    return StageRun(
        str(given.get("stage") or ""),
        str(given.get("status") or ""),
        _number(given.get("cost_usd")),
        count(given.get("calls")),
    )


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) and value >= 0 else None


def count(value: object) -> int:
    """A whole number from a record; 0 for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
