"""What a stage found, and what a whole run found: findings added up."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field

from aucert_otel.certificate import Certification
from aucert_otel.costs import Costs, known_usd
from aucert_otel.verdict import (
    Finding,
    Reason,
    Status,
    Verdict,
    _word,
    combine,
)


_set = object.__setattr__


@dataclass(frozen=True, slots=True)
class Turn:
    """One contribution to a debate, as it was said."""

    speaker: str
    text: str
    round: int = 0


@dataclass(frozen=True, slots=True)
class Vote:
    """What one judge said, on its own, before a stage made one verdict of several.

    A judge whose reply could not be used votes `Verdict.UNCLEAR` with a ``reason``. One that never
    replied does not vote at all: its ``verdict`` is ``None`` and ``status`` says what happened.

    Raises:
        ValueError: ``confidence`` is not in [0, 1], there is a verdict although the judge did not
            run, or a word is not in its vocabulary.
    """

    voter: str
    """Who voted; unique within a stage, such as ``model-a`` and ``model-b#2``."""
    verdict: Verdict | None = None
    _: KW_ONLY
    confidence: float | None = None
    """How sure the judge said it is of its own verdict, in [0, 1]."""
    why: str = ""
    """The judge's reasoning. It may quote the answer, so it is treated as content."""
    reason: Reason | None = None
    status: Status = Status.OK
    """`Status.SKIPPED`: nobody waited for it any more, since the others had decided."""
    error: str | None = None
    """What went wrong, without content or secrets."""
    label: str = ""
    """How it was asked: the wording, and the temperature where the model took one."""

    def __post_init__(self) -> None:
        if type(self.status) is not Status:
            _set(self, "status", _word(Status, self.status, "Vote.status"))
        if self.verdict is not None and type(self.verdict) is not Verdict:
            _set(self, "verdict", _word(Verdict, self.verdict, "Vote.verdict"))
        if self.reason is not None and type(self.reason) is not Reason:
            _set(self, "reason", _word(Reason, self.reason, "Vote.reason"))
        if self.verdict is not None and self.status is not Status.OK:
            raise ValueError(
                f"Vote({self.voter!r}) is {self.verdict.value!r} although the judge did not run "
                f"({self.status.value}): an infrastructure fault is never a verdict"
            )
        if self.confidence is not None and not 0.0 <= self.confidence <= 1.0:
            raise ValueError(f"Vote.confidence is {self.confidence!r}: it must be in [0, 1]")

    def __str__(self) -> str:
        """``model-a:pass:0.91``, ``model-b:unclear:malformed`` or ``model-c:unavailable``."""
        if self.verdict is None:
            return f"{self.voter}:{self.status.value}"
        said = f"{self.voter}:{self.verdict.value}"
        if self.reason is not None:
            return f"{said}:{self.reason.value}"
        return said if self.confidence is None else f"{said}:{self.confidence:.2f}"


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
    votes: tuple[Vote, ...] = ()
    """What each judge said on its own, where the stage asks several."""
    stage: str = ""
    inline: bool = False
    """It ran on the caller's own thread, in microseconds."""
    certificate: Certification = Certification.NONE
    """What the stage's certificate says about this verdict: why it is certified, or why not."""
    veto: bool = False
    """It may only reject: no later stage makes up for its absence."""
    neutral: bool | None = None
    """Whether every judge is of another family than whoever wrote the answer. ``False``: one is of
    the same, or a family is not known. ``None``: no model judged."""

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
        if self.cost_usd and known_usd(self.cost_usd) is None:
            raise ValueError(
                f"StageReport.cost_usd is {self.cost_usd!r}: give US dollars from 0 up, or None where nobody knows"
            )
        if self.confidence is not None and not 0.0 <= self.confidence <= 1.0:
            raise ValueError(f"StageReport.confidence is {self.confidence!r}: it must be in [0, 1]")

    @property
    def certified(self) -> bool:
        """Whether a certificate that is valid today speaks for this verdict."""
        return self.certificate is Certification.VALID


def not_neutral() -> StageReport:
    """A judge that is refused, before it is asked: it may be of the family that wrote the answer."""
    return StageReport(status=Status.REFUSED, error=NOT_NEUTRAL, neutral=False)


NOT_NEUTRAL = "the judge is not known to be of another family than the generator"


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
    threshold: float | None = None
    """The confidence the settling gate asked for; ``None`` where any would do."""

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
    def neutral(self) -> bool | None:
        """Whether every judge was of another family than whoever wrote the answer.

        ``None`` where no judge said, ``False`` where one was not or nobody knows.
        """
        said = [stage.neutral for stage in self.stages if stage.neutral is not None]
        return all(said) if said else None

    @property
    def certificate(self) -> Certification:
        """What the certificate of the last stage that was started says about its verdict."""
        return self.stages[-1].certificate if self.stages else Certification.NONE

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
