"""One stage of a cascade: a verifier, the verdicts it may settle, and how sure it has to be."""

from __future__ import annotations

import math
from collections.abc import Collection, Coroutine, Iterable
from copy import copy
from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import UTC, datetime

from aucert_otel._safe import SaidError, describe, warn_once
from aucert_otel.budget import Estimate
from aucert_otel.certificate import SETTLES_BOTH, Certificate, Certification
from aucert_otel.costs import known_usd
from aucert_otel.errors import ConfigurationError
from aucert_otel.report import StageReport
from aucert_otel.verdict import Finding, Reason, Status, Verdict
from aucert_otel.verifier import (
    Follows,
    Judges,
    OverBudget,
    Refused,
    Unavailable,
    Verifier,
    VerifierFunction,
    as_verifier,
    waits,
)


_UNSAID = Estimate()


@dataclass(frozen=True, slots=True)
class Gate:
    """How sure a stage must be before its verdict settles. ``None``: any confidence will do.

    With a certificate, a threshold that is left out is the certified one, and a verdict for which
    none was certified does not settle. A verdict the certificate does not speak for may be given a
    threshold of its own; it then settles uncertified.

    Raises:
        ConfigurationError: a threshold is no confidence, or differs from the certified one.
    """

    pass_at: float | None = None
    fail_at: float | None = None
    certificate: Certificate | None = None
    open: bool = field(init=False, repr=False, compare=False)
    """Any confidence will do."""

    def __post_init__(self) -> None:
        for name, value in (("pass_at", self.pass_at), ("fail_at", self.fail_at)):
            if value is not None and not 0.0 <= value <= 1.0:
                raise ConfigurationError(f"gate.{name} is {value!r}: a confidence lies in [0, 1]")
        anything = self.pass_at is None and self.fail_at is None and self.certificate is None
        object.__setattr__(self, "open", anything)
        if self.certificate is None:
            return
        for verdict in self.certificate.settles:
            own, certified = self._own(verdict), self.certificate.threshold(verdict)
            if own is not None and own != certified:
                said = "any confidence" if certified is None else f"{certified:g}"
                raise ConfigurationError(
                    f"gate.{verdict.value}_at is {own:g}, and its certificate speaks for {said}: "
                    f"leave {verdict.value}_at out"
                )

    def _own(self, verdict: Verdict) -> float | None:
        return self.pass_at if verdict is Verdict.PASS else self.fail_at

    def threshold(self, verdict: Verdict) -> float | None:
        """What this verdict needs: ``None``: any confidence, infinite: it never settles."""
        own = self._own(verdict)
        if own is not None or self.certificate is None:
            return own
        if verdict not in self.certificate.settles:
            return math.inf
        return self.certificate.threshold(verdict)

    def admits(self, verdict: Verdict, confidence: float | None) -> bool:
        """Whether this verdict may settle; an unknown confidence passes no threshold."""
        threshold = self.threshold(verdict)
        return threshold is None or (confidence is not None and confidence >= threshold)


@dataclass(frozen=True, slots=True)
class Stage:
    """A verifier, the verdicts it may settle, and how sure it has to be."""

    verifier: Verifier | VerifierFunction
    _: KW_ONLY
    name: str = ""
    settles: Collection[str] = SETTLES_BOTH
    """``pass``, ``fail`` or both."""
    gate: Gate = field(default_factory=Gate)
    estimate: Estimate = _UNSAID
    """What one run is expected to cost; money and time are checked before a stage starts. Default:
    what the verifier's own ``estimate`` says, else nothing for a check on the caller's thread, and
    of unknown price for one that waits: ``Estimate(usd=0.0)`` says that it is free."""
    inline: bool = field(init=False, default=True)
    veto: bool = field(init=False, default=False)
    """It may only reject."""
    displaced: bool = field(init=False, default=False, repr=False, compare=False)
    """Its certificate was measured behind other stages than those it stands behind."""
    check: Verifier = field(init=False, repr=False)
    follows: Follows | None = field(init=False, default=None, repr=False, compare=False)
    """The check, where it waits and goes by what the stages before it found."""
    judges: Judges | None = field(init=False, default=None, repr=False, compare=False)
    """The check, where it waits and says of a generation whether it is neutral to it."""

    def __post_init__(self) -> None:
        check = as_verifier(self.verifier)
        object.__setattr__(self, "check", check)
        object.__setattr__(self, "name", self.name or check.name)
        object.__setattr__(self, "inline", not waits(check))
        if not self.inline:
            object.__setattr__(self, "follows", check if isinstance(check, Follows) else None)
            object.__setattr__(self, "judges", check if isinstance(check, Judges) else None)
        if self.estimate is _UNSAID:
            said = getattr(check, "estimate", None)
            if not isinstance(said, Estimate):
                said = Estimate() if self.inline else Estimate(usd=None)
            object.__setattr__(self, "estimate", said)
        if not isinstance(self.gate, Gate):
            raise ConfigurationError(
                f"stage {self.name!r} has the gate {self.gate!r}: give a Gate, such as "
                "Gate(pass_at=0.95, fail_at=0.95)"
            )
        given = self.settles
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
    def terms(self) -> str:
        """When it settles, and by which check: what decides which answers arrive after it."""
        said = (
            f"{verdict.value} at {'any' if at is None else repr(float(at))}"
            for verdict in sorted(map(Verdict, self.settles))
            if (at := self.gate.threshold(verdict)) != math.inf
        )
        return f"{self.name} ({self.fingerprint}): {', '.join(said) or 'never'}"

    @property
    def certified(self) -> bool:
        """Whether its gate holds a certificate that speaks for this very check today."""
        return self.certification() is Certification.VALID

    def certification(self, verdict: Verdict | None = None) -> Certification:
        """What its certificate says today, about this verdict if one is given."""
        certificate = self.gate.certificate
        if certificate is None:
            return Certification.NONE
        if self.displaced:
            return Certification.FOREIGN
        state = certificate.state(self.fingerprint, datetime.now(UTC).date())
        if state is Certification.VALID and verdict in SETTLES_BOTH - certificate.settles:
            return Certification.NONE
        return state

    @property
    def free(self) -> bool:
        """Whether a run of it that names no cost has none."""
        return self.inline or self.estimate.usd == 0.0

    def failed(self, error: BaseException, *, out_of_time: bool = False) -> StageReport:
        """A check that raised, as a check that did not run; said once in the log."""
        unpriced = "" if self.free else self.name
        try:
            found = as_status(error, out_of_time=out_of_time, unpriced=unpriced)
        except Exception:  # noqa: BLE001 - an exception that cannot even be looked at
            found = StageReport(status=Status.ERROR, cost_usd=None, unpriced=(self.name,))
        warn_once(f"check {self.name!r} did not run ({found.status.value}): {found.error}")
        return found

    def report(self, found: object, latency_s: float) -> StageReport:
        """What the verifier returned, as this stage's report.

        Raises:
            TypeError: it returned something else, which the cascade records as `Status.ERROR`.
        """
        if isinstance(found, StageReport):
            if found.verdict is Verdict.FAIL and not found.findings and found.status is Status.OK:
                # A failure that names nothing still stands: no later stage can speak to it.
                what = Finding(self.name, Verdict.FAIL, reason=Reason.UNSUPPORTED)
                found = replace(found, findings=(what,))
            certification = self.certification(found.verdict)
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
                certificate=certification,
                veto=self.veto,
            )
        findings = as_findings(found)
        verdict, confidence = _summary(findings)
        certification = Certification.NONE  # the usual case, without asking for today's date
        if self.gate.certificate is not None:
            certification = self.certification(verdict)
        free = self.free
        return StageReport(
            findings,
            verdict=verdict,
            confidence=confidence,
            cost_usd=0.0 if free else None,
            unpriced=() if free else (self.name,),
            latency_s=latency_s,
            stage=self.name,
            inline=self.inline,
            certificate=certification,
            veto=self.veto,
        )


def placed(stages: Iterable[Stage]) -> tuple[Stage, ...]:
    """Stages in their order; one whose certificate was measured behind others is marked.

    The stages before one decide which answers arrive at it. A threshold measured on other
    arrivals says nothing about these.
    """
    found: list[Stage] = []
    for stage in stages:
        certificate = stage.gate.certificate
        after = tuple(each.terms for each in found)
        displaced = certificate is not None and certificate.after not in (None, after)
        if displaced != stage.displaced:  # a copy: the same stage may stand in several cascades
            stage = copy(stage)  # noqa: PLW2901 - the copy takes its place
            object.__setattr__(stage, "displaced", displaced)
        found.append(stage)
    return tuple(found)


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
        raise SaidError("the check is a plain function and returned a coroutine: declare it async")
    elif not isinstance(found, Iterable) or isinstance(found, (str, bytes)):
        raise SaidError(f"the check returned {type(found).__name__}: return a Finding, or several")
    else:
        findings = tuple(found)
    for finding in findings:
        if not isinstance(finding, Finding):
            raise SaidError(
                f"the check returned a {type(finding).__name__} among its findings: return Finding objects"
            )
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


def as_status(
    error: BaseException, *, out_of_time: bool = False, unpriced: str = ""
) -> StageReport:
    """A check that raised, as a check that did not run.

    Args:
        error: What it raised. It may carry ``cost_usd``, ``unpriced`` and ``attempts``.
        out_of_time: The budget's own deadline has passed.
        unpriced: What to call a cost that the error does not tell; empty for a check that is free.
    """
    if out_of_time and isinstance(error, TimeoutError):
        status = Status.OVER_BUDGET
    else:
        status = next((s for kind, s in _STATUS if isinstance(error, kind)), Status.ERROR)
    calls, open_bills = getattr(error, "attempts", 0), getattr(error, "unpriced", ())
    cost = known_usd(getattr(error, "cost_usd", None if unpriced else 0.0))
    if not isinstance(open_bills, (tuple, list)):
        open_bills = ()
    if cost is None and not open_bills and unpriced:
        open_bills = (unpriced,)
    return StageReport(
        status=status,
        error=describe(error),
        cost_usd=cost,
        unpriced=tuple(map(str, open_bills)),
        calls=calls if isinstance(calls, int) else 0,
    )
