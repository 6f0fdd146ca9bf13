"""What a check found: findings, the report of a stage, the report of a whole run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from enum import StrEnum
from typing import Any, TypeVar


Word = TypeVar("Word", bound=StrEnum)


class Verdict(StrEnum):
    """What a check says. There is no fourth value: a check that broke has a `Status` instead."""

    PASS = "pass"  # noqa: S105 - a verdict, not a password
    FAIL = "fail"
    UNCLEAR = "unclear"


class Status(StrEnum):
    """Whether a planned check ran at all. An infrastructure fault is a status, never a verdict."""

    OK = "ok"
    ERROR = "error"
    REFUSED = "refused"
    UNAVAILABLE = "unavailable"
    OVER_BUDGET = "over_budget"
    SKIPPED = "skipped"
    """The check does not apply to this answer and was not meant to run."""

    @property
    def did_not_run(self) -> bool:
        """A check that was planned and is missing: everything but `OK` and `SKIPPED`."""
        return self not in (Status.OK, Status.SKIPPED)


class Reason(StrEnum):
    """Why a finding is not a pass: a closed vocabulary, safe as a span or metric attribute."""

    CONTRADICTED = "contradicted"
    UNSUPPORTED = "unsupported"
    STALE_EVIDENCE = "stale_evidence"
    CONFLICTING_EVIDENCE = "conflicting_evidence"
    NO_EVIDENCE = "no_evidence"
    NO_CHECKABLE_CLAIMS = "no_checkable_claims"
    MALFORMED = "malformed"
    SCHEMA = "schema"
    OUT_OF_VOCABULARY = "out_of_vocabulary"
    REFUSED = "refused"
    ABSTAINED = "abstained"
    TRUNCATED = "truncated"
    FORGED = "forged"
    FORBIDDEN = "forbidden"
    REQUIRED = "required"
    LENGTH = "length"
    PREDICATE = "predicate"
    INCONSISTENT = "inconsistent"
    LOW_CONFIDENCE = "low_confidence"
    NOT_CHECKED = "not_checked"


EVIDENCE_PROBLEMS = frozenset({Reason.STALE_EVIDENCE, Reason.CONFLICTING_EVIDENCE})
"""Reasons no regeneration can mend: the generator would read the same passage again."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A fact from outside the generator that speaks against (or for) a claim."""

    text: str
    """The exact sentence, fact or output."""
    origin: str = "passage"
    """``passage``, ``rule`` or ``execution``: who knows it."""
    passage_id: str | None = None
    version: str | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check says about one criterion, or about one claim under a criterion.

    Args:
        criterion: The condition a good answer meets, by name. Pass means the same on every line.
        score: The probability that the criterion HOLDS, in [0, 1], or ``None`` if the check has
            no opinion on how sure it is.
        why: One sentence. It may quote the answer, so it is treated as content.
        claim: The sentence of the answer (or the question) the finding points at. Failures are
            counted by it.
        evidence: The facts from outside that decide. A repair needs at least one.
        source: Where the criterion came from, such as ``article 305 v3``.
        measures: The raw numbers behind the verdict, such as ``{"contradiction": 0.996}``.

    Raises:
        ValueError: ``score`` is not a number in [0, 1], a verdict or reason is not in its
            vocabulary, or a finding that is not a pass names no ``reason``.
        TypeError: another field is not of its type.
    """

    criterion: str
    verdict: Verdict
    _: KW_ONLY
    score: float | None = None
    why: str = ""
    claim: str | None = None
    evidence: tuple[Evidence, ...] = ()
    reason: Reason | None = None
    source: str | None = None
    measures: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.score is not None and not 0.0 <= self.score <= 1.0:  # NaN fails this too
            raise ValueError(
                f"Finding({self.criterion!r}).score is {self.score!r}: a score is the probability "
                "that the criterion holds, in [0, 1], or None"
            )
        # Findings come from other people's checks, and what a judge's reply was parsed into is not
        # what its author believes. A word outside the vocabulary must never read as a pass.
        if type(self.verdict) is not Verdict:
            _set(self, "verdict", _word(Verdict, self.verdict, f"{self._place}.verdict"))
        if self.reason is not None and type(self.reason) is not Reason:
            _set(self, "reason", _word(Reason, self.reason, f"{self._place}.reason"))
        if self.evidence or type(self.evidence) is not tuple:
            _set(self, "evidence", _evidence(self.evidence, self._place))
        if not isinstance(self.criterion, str):
            raise _wrong(f"{self._place}.criterion", self.criterion, "its name, a text")
        if not (self.claim is None or isinstance(self.claim, str)):
            raise _wrong(f"{self._place}.claim", self.claim, "the sentence, a text, or None")
        if self.measures and not isinstance(self.measures, Mapping):
            raise _wrong(f"{self._place}.measures", self.measures, "numbers by name")
        if self.verdict is not Verdict.PASS and self.reason is None:
            raise ValueError(
                f"Finding({self.criterion!r}) is {self.verdict.value!r} without a reason: name one of "
                + ", ".join(Reason)
            )

    @property
    def _place(self) -> str:
        return f"Finding({self.criterion!r})"

    @property
    def subject(self) -> str:
        """What a failure points at: its claim, folded, or else its criterion.

        Two criteria tripping over one wrong sentence are one failure and need one fix.
        """
        if self.claim is None:
            return f"criterion:{self.criterion}"
        return " ".join(self.claim.casefold().split()).strip(" .!?\"'")


_set = object.__setattr__


def _word(vocabulary: type[Word], value: Any, place: str) -> Word:
    try:
        return vocabulary(value)
    except ValueError:
        allowed = ", ".join(vocabulary)
        raise ValueError(f"{place} is {value!r}: allowed are {allowed}") from None


def _wrong(place: str, value: object, mend: str) -> TypeError:
    return TypeError(f"{place} is {type(value).__name__}: give {mend}")


def _evidence(given: Any, place: str) -> tuple[Evidence, ...]:
    facts = (given,) if isinstance(given, Evidence) else tuple(given)
    for fact in facts:
        if not isinstance(fact, Evidence):
            raise _wrong(f"an item of {place}.evidence", fact, "Evidence(text, ...)")
    return facts


def combine(findings: Iterable[Finding]) -> Verdict:
    """One verdict from many: any fail fails, else any unclear is unclear, else pass.

    No findings at all is `Verdict.UNCLEAR`: a check that said nothing has not approved anything.
    """
    verdicts = {finding.verdict for finding in findings}
    if Verdict.FAIL in verdicts:
        return Verdict.FAIL
    if Verdict.UNCLEAR in verdicts or not verdicts:
        return Verdict.UNCLEAR
    return Verdict.PASS


@dataclass(frozen=True, slots=True)
class Turn:
    """One contribution to a debate, as it was said."""

    speaker: str
    text: str
    round: int = 0


@dataclass(frozen=True, slots=True)
class StageReport:
    """What one stage found. A verifier may return one; the cascade fills in the rest.

    ``verdict`` defaults to what the findings add up to. With a ``status`` other than `Status.OK`
    it is always `Verdict.UNCLEAR`: a check that did not run has no opinion.

    Raises:
        ValueError: ``confidence`` is not in [0, 1], ``cost_usd`` is not a finite amount from 0 up,
            or a verdict or status is not in its vocabulary.
    """

    findings: tuple[Finding, ...] = ()
    _: KW_ONLY
    verdict: Verdict | None = None
    confidence: float | None = None
    """How sure the stage is of its verdict, in [0, 1]."""
    status: Status = Status.OK
    error: str | None = None
    """What went wrong, without content or secrets: an error class and its kind."""
    cost_usd: float | None = 0.0
    """US dollars over every attempt; ``None`` when a call could not be priced."""
    unpriced: tuple[str, ...] = ()
    latency_s: float = 0.0
    calls: int = 0
    transcript: tuple[Turn, ...] = ()
    stage: str = ""
    inline: bool = False
    """It ran on the caller's own thread, in microseconds."""
    certified: bool = False
    veto: bool = False
    """It may only reject: no later stage makes up for its absence."""

    def __post_init__(self) -> None:
        if type(self.status) is not Status:
            _set(self, "status", _word(Status, self.status, "StageReport.status"))
        if self.status is not Status.OK:
            _set(self, "verdict", Verdict.UNCLEAR)
            _set(self, "confidence", None)
        elif self.verdict is None:
            _set(self, "verdict", combine(self.findings))
        elif type(self.verdict) is not Verdict:
            _set(self, "verdict", _word(Verdict, self.verdict, "StageReport.verdict"))
        if self.cost_usd is not None and not 0.0 <= self.cost_usd < math.inf:
            raise ValueError(
                f"StageReport.cost_usd is {self.cost_usd!r}: give US dollars from 0 up, or None where nobody knows"
            )
        if self.confidence is not None and not 0.0 <= self.confidence <= 1.0:
            raise ValueError(f"StageReport.confidence is {self.confidence!r}: it must be in [0, 1]")


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
        return float(amount)
    return None


def add_usd(*parts: float | None) -> float | None:
    """Sum dollar amounts; unknown if any part is."""
    total = 0.0
    for part in parts:
        if part is None:
            return None
        total += part
    return total


@dataclass(frozen=True, slots=True)
class Report:
    """What a whole run of a cascade found about one generation."""

    stages: tuple[StageReport, ...]
    verdict: Verdict
    _: KW_ONLY
    confidence: float | None = None
    settled: bool = False
    """A stage settled the verdict. If not, it is `Verdict.UNCLEAR`."""
    costs: Costs = field(default_factory=Costs)
    latency_s: float = 0.0
    cascade: str = ""
    cascade_version: str = ""
    certified: bool = False
    """The stage that settled it holds a certificate that is valid for it today."""

    findings: tuple[Finding, ...] = field(init=False, repr=False, compare=False)
    """The findings that stand: for every criterion, those of the latest stage that judged it.

    A later stage speaks for the criteria it names; what it does not name stands as it was.
    """
    failed: tuple[Finding, ...] = field(init=False, repr=False, compare=False)
    """The standing findings that failed."""
    unclear: tuple[Finding, ...] = field(init=False, repr=False, compare=False)
    """The standing findings nobody could settle."""
    missing: tuple[StageReport, ...] = field(init=False, repr=False, compare=False)
    """Planned checks that did not run and that no later stage made up for.

    A stage that may settle an answer is one of several ways to a verdict, so a later stage that
    settles makes up for it. A stage that may only veto asks something nobody else asks.
    """

    def __post_init__(self) -> None:
        # Derived once: the action table and the telemetry each read these several times.
        findings = standing(self.stages)
        failed: tuple[Finding, ...] = ()
        unclear: tuple[Finding, ...] = ()
        for finding in findings:
            if finding.verdict is Verdict.PASS:
                continue
            if finding.verdict is Verdict.FAIL:
                failed += (finding,)
            else:
                unclear += (finding,)
        missing: tuple[StageReport, ...] = ()
        for stage in self.stages:
            made_up_for = self.settled and not stage.veto
            if stage.status is not Status.OK and stage.status.did_not_run and not made_up_for:
                missing += (stage,)
        derive = object.__setattr__
        derive(self, "findings", findings)
        derive(self, "failed", failed)
        derive(self, "unclear", unclear)
        derive(self, "missing", missing)

    @property
    def clean(self) -> bool:
        """Settled as a pass, with no standing failure, nothing unclear and no check missing."""
        return self.verdict is Verdict.PASS and not (self.failed or self.unclear or self.missing)

    @property
    def stage_reached(self) -> int:
        """The last stage that was started, counted from 1; 0 if there was none."""
        return len(self.stages)

    @property
    def stage(self) -> str:
        """The name of the last stage that was started."""
        return self.stages[-1].stage if self.stages else ""


def standing(stages: tuple[StageReport, ...]) -> tuple[Finding, ...]:
    """For every criterion, the findings of the latest stage that judged it.

    A stage that broke on its way may still speak against the answer, never for it.
    """
    if len(stages) == 1 and stages[0].status is Status.OK:  # the common case, on the caller's clock
        return stages[0].findings
    latest: dict[str, list[Finding]] = {}
    for stage in stages:
        fresh: dict[str, list[Finding]] = {}
        for finding in stage.findings:
            if stage.status is not Status.OK and finding.verdict is Verdict.PASS:
                continue
            fresh.setdefault(finding.criterion, []).append(finding)
        latest.update(fresh)
    return tuple(finding for found in latest.values() for finding in found)
