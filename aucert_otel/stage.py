"""One stage of a cascade: a verifier, the verdicts it may settle, and how sure it has to be."""

from __future__ import annotations

from collections.abc import Coroutine, Iterable
from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import UTC, date, datetime
from typing import Any

from aucert_otel._safe import describe
from aucert_otel.budget import Estimate
from aucert_otel.costs import known_usd
from aucert_otel.errors import ConfigurationError
from aucert_otel.report import StageReport
from aucert_otel.verdict import Finding, Status, Verdict
from aucert_otel.verifier import (
    OverBudget,
    Refused,
    Unavailable,
    Verifier,
    VerifierFunction,
    as_verifier,
    waits,
)


SETTLES_BOTH = frozenset({Verdict.PASS, Verdict.FAIL})


@dataclass(frozen=True, slots=True)
class Certificate:
    """Evidence that a gate's threshold was measured on labelled answers.

    It is bound to the very check it was measured for: the verifier's ``fingerprint`` (judge,
    prompt, rubric). A changed check, or a passed date, and it no longer says anything.
    """

    fingerprint: str
    alpha: float
    """The error rate among settled answers that it bounds."""
    delta: float
    """The probability that the bound does not hold."""
    issued: date
    expires: date

    def covers(self, fingerprint: str | None, today: date) -> bool:
        """Whether it still speaks for this check on this day."""
        bound = fingerprint is not None and fingerprint == self.fingerprint
        return bound and self.issued <= today <= self.expires


@dataclass(frozen=True, slots=True)
class Gate:
    """How sure a stage must be before its verdict settles. ``None``: any confidence will do."""

    pass_at: float | None = None
    fail_at: float | None = None
    certificate: Certificate | None = None

    def __post_init__(self) -> None:
        for name, value in (("pass_at", self.pass_at), ("fail_at", self.fail_at)):
            if value is not None and not 0.0 <= value <= 1.0:
                raise ConfigurationError(f"gate.{name} is {value!r}: a confidence lies in [0, 1]")

    def admits(self, verdict: Verdict, confidence: float | None) -> bool:
        """Whether this verdict may settle; an unknown confidence passes no threshold."""
        threshold = self.pass_at if verdict is Verdict.PASS else self.fail_at
        return threshold is None or (confidence is not None and confidence >= threshold)


@dataclass(frozen=True, slots=True)
class Stage:
    """A verifier, the verdicts it may settle, and how sure it has to be."""

    verifier: Verifier | VerifierFunction
    _: KW_ONLY
    name: str = ""
    settles: frozenset[Verdict] = SETTLES_BOTH
    gate: Gate = field(default_factory=Gate)
    estimate: Estimate = field(default_factory=Estimate)
    """What one run is expected to cost; money and time are checked before a stage starts."""
    inline: bool = field(init=False, default=True)
    veto: bool = field(init=False, default=False)
    """It may only reject."""
    check: Verifier = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check = as_verifier(self.verifier)
        object.__setattr__(self, "check", check)
        object.__setattr__(self, "name", self.name or check.name)
        object.__setattr__(self, "inline", not waits(check))
        given: Any = self.settles
        if isinstance(given, str):
            given = (given,)
        if not SETTLES_BOTH.issuperset(given):
            raise ConfigurationError(
                f"stage {self.name!r} settles {', '.join(map(repr, map(str, given)))}: allowed are 'pass', "
                "'fail' or both (what nobody settles is unclear)"
            )
        object.__setattr__(self, "settles", frozenset(map(Verdict, given)))
        object.__setattr__(self, "veto", Verdict.PASS not in self.settles)

    @property
    def fingerprint(self) -> str | None:
        """What a certificate is bound to."""
        return getattr(self.check, "fingerprint", None)

    @property
    def certified(self) -> bool:
        """Whether its gate holds a certificate that speaks for this very check today."""
        certificate = self.gate.certificate
        return certificate is not None and certificate.covers(
            self.fingerprint, datetime.now(UTC).date()
        )

    def report(self, found: object, latency_s: float) -> StageReport:
        """What the verifier returned, as this stage's report.

        Raises:
            TypeError: it returned something else, which the cascade records as `Status.ERROR`.
        """
        if isinstance(found, StageReport):
            return replace(
                found,
                findings=as_findings(found.findings),
                unpriced=tuple(map(str, found.unpriced)),
                confidence=found.confidence
                if found.confidence is not None or found.status is not Status.OK
                else _confidence(found),
                latency_s=latency_s,
                stage=self.name,
                inline=self.inline,
                certified=self.certified,
                veto=self.veto,
            )
        findings = as_findings(found)
        verdict, confidence = _summary(findings)
        return StageReport(
            findings,
            verdict=verdict,
            confidence=confidence,
            latency_s=latency_s,
            stage=self.name,
            inline=self.inline,
            certified=self.certified,
            veto=self.veto,
        )


def as_findings(found: object) -> tuple[Finding, ...]:
    """What a verifier returned, as findings.

    Raises:
        TypeError: it returned something else.
    """
    if isinstance(found, Finding):
        return (found,)
    if type(found) is tuple:  # what our own verifiers return; the checks below cost more than it
        findings = found
    elif isinstance(found, Coroutine):
        found.close()
        raise TypeError("a verifier declared as a plain function returned a coroutine")
    elif not isinstance(found, Iterable) or isinstance(found, (str, bytes)):
        raise TypeError(f"a verifier returned {type(found).__name__}, not findings")
    else:
        findings = tuple(found)
    for finding in findings:
        if not isinstance(finding, Finding):
            raise TypeError(f"a verifier returned a {type(finding).__name__} among its findings")
    return findings


def _summary(findings: tuple[Finding, ...]) -> tuple[Verdict, float | None]:
    """The verdict findings add up to (see `combine`), and how sure they are of it.

    A pass is as sure as its least sure criterion, a fail as its surest failure. The confidence is
    unknown if a finding it rests on does not say. One loop, since it runs on the caller's thread.
    """
    verdict = Verdict.PASS if findings else Verdict.UNCLEAR
    passing: float | None = 1.0
    failing: float | None = None
    for finding in findings:
        score = finding.score
        if finding.verdict is Verdict.PASS:
            if score is None or passing is None:
                passing = None
            elif score < passing:
                passing = score
        elif finding.verdict is Verdict.FAIL:
            verdict = Verdict.FAIL
            if score is not None and (failing is None or 1.0 - score > failing):
                failing = 1.0 - score
        elif verdict is Verdict.PASS:
            verdict = Verdict.UNCLEAR
    if verdict is Verdict.PASS:
        return verdict, passing
    return verdict, failing if verdict is Verdict.FAIL else None


def _confidence(report: StageReport) -> float | None:
    """The findings' own confidence, where it is one in the verdict that the stage reports."""
    verdict, confidence = _summary(report.findings)
    return confidence if verdict is report.verdict else None


_STATUS: tuple[tuple[type[BaseException], Status], ...] = (
    (Refused, Status.REFUSED),
    (OverBudget, Status.OVER_BUDGET),
    (Unavailable, Status.UNAVAILABLE),
    (TimeoutError, Status.UNAVAILABLE),
    (ConnectionError, Status.UNAVAILABLE),
)


def as_status(error: BaseException, *, out_of_time: bool = False) -> StageReport:
    """A check that raised, as a check that did not run."""
    if out_of_time and isinstance(error, TimeoutError):
        status = Status.OVER_BUDGET
    else:
        status = next((s for kind, s in _STATUS if isinstance(error, kind)), Status.ERROR)
    return StageReport(
        status=status, error=describe(error), cost_usd=known_usd(getattr(error, "cost_usd", 0.0))
    )
