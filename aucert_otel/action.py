"""The action table: a report in, exactly one action out.

The table is data: ordered rows, of which the first that matches decides. It can be printed,
tested row by row, and replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from enum import StrEnum

from aucert_otel.errors import ConfigurationError
from aucert_otel.report import Report
from aucert_otel.verdict import EVIDENCE_PROBLEMS, Finding, Status, Verdict


class Action(StrEnum):
    """What is done about an answer. Exactly one of these."""

    SHIP = "ship"
    REPAIR = "repair"
    ESCALATE = "escalate"
    PERSON = "person"


@dataclass(frozen=True, slots=True)
class Situation:
    """Everything a row may look at."""

    report: Report
    _: KW_ONLY
    can_repair: bool = False
    """Whoever wrote the answer can be asked again, with a repair request."""
    can_escalate: bool = False
    """A stronger generator is configured."""
    round_fits: bool = True
    """A whole round, generation and verification, fits the time and money left."""
    time_left: bool = True
    spent: bool = False
    """A repair round or an escalation was already used on this answer."""
    fail_open: bool = False
    """Ship when the only thing wrong is that a check did not run."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The one action, and the row that chose it."""

    action: Action
    row: str
    why: str


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    name: str
    condition: str
    """The condition in words, for print and for the record."""
    action: Action
    matches: Callable[[Situation], bool]
    decision: Decision = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if type(self.action) is not Action:
            if self.action not in set(Action):
                raise ConfigurationError(
                    f"row {self.name!r} has the action {self.action!r}: allowed are {', '.join(Action)}"
                )
            object.__setattr__(self, "action", Action(self.action))
        object.__setattr__(self, "decision", Decision(self.action, self.name, self.condition))


def failures(report: Report) -> dict[str, tuple[Finding, ...]]:
    """The distinct failures: failed findings grouped by the claim or question they point at."""
    grouped: dict[str, list[Finding]] = {}
    for finding in report.failed:
        grouped.setdefault(finding.subject, []).append(finding)
    return {subject: tuple(found) for subject, found in grouped.items()}


def _missing(s: Situation) -> bool:
    return bool(s.report.missing)


def _missing_only(s: Situation) -> bool:
    if not s.fail_open or not _missing(s) or s.report.failed or s.report.unclear:
        return False
    # A check that ran must have approved; one that may only veto approves by saying nothing.
    return all(
        stage.verdict is Verdict.PASS or (stage.veto and not stage.findings)
        for stage in s.report.stages
        if stage.status is Status.OK
    )


def _evidence_problem(s: Situation) -> bool:
    return any(f.reason in EVIDENCE_PROBLEMS for f in (*s.report.failed, *s.report.unclear))


def _unclear(s: Situation) -> bool:
    return s.report.verdict is Verdict.UNCLEAR or bool(s.report.unclear)


def _nothing_failed(s: Situation) -> bool:
    return s.report.verdict is Verdict.PASS and not s.report.failed


def _repairable(s: Situation) -> bool:
    if not (s.can_repair and s.round_fits):
        return False
    distinct = failures(s.report)
    return len(distinct) == 1 and any(f.evidence for found in distinct.values() for f in found)


def _spent(s: Situation) -> bool:
    return s.spent


def _escalatable(s: Situation) -> bool:
    return s.can_escalate and s.time_left


def _any(_: Situation) -> bool:
    return True


CLEAN = Row("clean", "nothing failed", Action.SHIP, _nothing_failed)

TABLE: tuple[Row, ...] = (
    Row(
        "fail_open",
        "a planned check did not run, nothing else is wrong, and fail-open was chosen",
        Action.SHIP,
        _missing_only,
    ),
    Row("not_run", "a planned check did not run", Action.PERSON, _missing),
    Row(
        "evidence",
        "a claim rests only on stale or conflicting evidence",
        Action.PERSON,
        _evidence_problem,
    ),
    Row("unclear", "a criterion is still unclear after the last stage", Action.PERSON, _unclear),
    CLEAN,
    Row(
        "spent",
        "it failed again after its one repair or escalation",
        Action.PERSON,
        _spent,
    ),
    Row(
        "one_failure",
        "exactly one distinct failure, with evidence from outside the generator, and a whole round fits",
        Action.REPAIR,
        _repairable,
    ),
    Row(
        "stronger",
        "it failed otherwise, a stronger generator is configured, and there is time left",
        Action.ESCALATE,
        _escalatable,
    ),
    Row("failed", "it failed and nothing else can be done", Action.PERSON, _any),
)


def decide(situation: Situation, table: Sequence[Row] = TABLE) -> Decision:
    """The action of the first row that matches; a person where no row of a custom table does."""
    for row in table:
        if row.matches(situation):
            return row.decision
    return Decision(Action.PERSON, "no_row", "no row of the action table matches")


def format_table(table: Sequence[Row] = TABLE) -> str:
    """The table as text, one numbered line a row."""
    width = max((len(row.condition) for row in table), default=0)
    return "\n".join(
        f"{number}. {row.condition:<{width}} -> {row.action.value}"
        for number, row in enumerate(table, 1)
    )
