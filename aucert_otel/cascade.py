"""Run stages until one settles.

A cascade is data: ordered stages, each a verifier, the verdicts it may settle, and a gate. The
walk over them is one generator that never waits itself: it yields what has to wait, and a
synchronous or an asynchronous driver (`aucert_otel._drive`) answers. So there is one
implementation for both kinds of caller.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Coroutine, Generator, Iterable
from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import UTC, date, datetime
from typing import Any

from opentelemetry.context import Context

from aucert_otel._drive import OnWorker, adrive, drive
from aucert_otel._safe import describe
from aucert_otel.background import worker
from aucert_otel.budget import Budget, Estimate, Meter
from aucert_otel.errors import ConfigurationError
from aucert_otel.generation import Generation
from aucert_otel.telemetry.emit import Telemetry
from aucert_otel.telemetry.runtime import default_telemetry, verifying
from aucert_otel.verdict import (
    EVIDENCE_PROBLEMS,
    Costs,
    Finding,
    Report,
    StageReport,
    Status,
    Verdict,
    add_usd,
    known_usd,
)
from aucert_otel.verifier import (
    OverBudget,
    Refused,
    Unavailable,
    Verifier,
    VerifierFunction,
    as_verifier,
    is_async,
    waits,
)


SETTLES_BOTH = frozenset({Verdict.PASS, Verdict.FAIL})

Walk = Generator[OnWorker[StageReport], StageReport, Report]


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


class Cascade:
    """Stages in order; the first that settles ends the run, and what nobody settles is unclear.

    Args:
        name: Shown on every span, metric and record.
        stages: In the order in which they run, cheapest first.
        version: Default: a hash over the stages, their gates and their checks' fingerprints.
        strict: A stage without a valid certificate may only reject or escalate, never approve.

    Raises:
        ConfigurationError: no stages, or two of one name.
    """

    __slots__ = ("name", "stages", "strict", "version", "waits")

    def __init__(
        self,
        name: str,
        stages: Iterable[Stage | Verifier | VerifierFunction],
        *,
        version: str | None = None,
        strict: bool = False,
    ) -> None:
        self.name = name
        self.stages = tuple(s if isinstance(s, Stage) else Stage(s) for s in stages)
        self.strict = strict
        if not self.stages:
            raise ConfigurationError(f"cascade {name!r} has no stages: give it at least one")
        seen = [stage.name for stage in self.stages]
        if len(set(seen)) != len(seen):
            raise ConfigurationError(
                f"cascade {name!r} has two stages of one name in {seen}: name them apart with name=..."
            )
        self.version = version or self._hash()
        self.waits = not all(stage.inline for stage in self.stages)

    def __repr__(self) -> str:
        return f"Cascade({self.name!r}, [{', '.join(s.name for s in self.stages)}], version={self.version!r})"

    def _hash(self) -> str:
        import hashlib  # OpenSSL takes ten milliseconds to load; importing us should not

        text = "\n".join(
            f"{s.name}|{','.join(sorted(s.settles))}|{s.gate!r}|{s.fingerprint}"
            for s in self.stages
        )
        return hashlib.sha256(f"{self.strict}\n{text}".encode()).hexdigest()[:12]

    def run(self, generation: Generation, budget: Budget | None = None) -> Report:
        """Check one generation and wait for the report. No action is decided."""
        return drive(
            self.walk(generation, Meter(budget or Budget()), default_telemetry(), Context())
        )

    async def arun(self, generation: Generation, budget: Budget | None = None) -> Report:
        """`run` for asynchronous callers."""
        return await adrive(
            self.walk(generation, Meter(budget or Budget()), default_telemetry(), Context())
        )

    def walk(
        self,
        generation: Generation,
        meter: Meter,
        telemetry: Telemetry,
        context: Context | None,
    ) -> Walk:
        """The run itself, as a generator of what has to wait. ``context`` parents stage spans."""
        started = time.perf_counter()
        reports: list[StageReport] = []
        settled = False
        for stage in self.stages:
            if stage.inline:
                found = _run_inline(stage, generation)
            elif not meter.fits(stage.estimate):
                found = stage.report(StageReport(status=Status.OVER_BUDGET), 0.0)
            else:
                found = yield OnWorker(_run_waiting, stage, generation, meter, telemetry, context)
            reports.append(found)
            if found.cost_usd != 0.0:
                meter.charge(found.cost_usd)
            settled = self._settles(stage, found)
            # No later stage can mend stale or conflicting evidence: it would read the same passage.
            if settled or (found.verdict is not Verdict.PASS and _evidence_is_bad(found)):
                break
        last = reports[-1]
        return Report(
            tuple(reports),
            last.verdict if settled and last.verdict is not None else Verdict.UNCLEAR,
            confidence=last.confidence if settled else None,
            settled=settled,
            costs=_costs(reports),
            latency_s=time.perf_counter() - started,
            cascade=self.name,
            cascade_version=self.version,
            certified=settled and last.certified,
        )

    def _settles(self, stage: Stage, found: StageReport) -> bool:
        verdict = found.verdict
        if found.status is not Status.OK or verdict is None or verdict not in stage.settles:
            return False
        if self.strict and verdict is Verdict.PASS and not found.certified:
            return False
        return stage.gate.admits(verdict, found.confidence)


def _evidence_is_bad(found: StageReport) -> bool:
    return any(
        f.reason in EVIDENCE_PROBLEMS for f in found.findings if f.verdict is not Verdict.PASS
    )


def _run_inline(stage: Stage, generation: Generation) -> StageReport:
    started = time.perf_counter()
    token = verifying.set(True)
    try:
        found = stage.check.verify(generation)
        return stage.report(found, time.perf_counter() - started)
    except Exception as error:  # noqa: BLE001 - the seam: whatever a check raises is a status
        return stage.report(as_status(error), time.perf_counter() - started)
    finally:
        verifying.reset(token)


async def _run_waiting(
    stage: Stage,
    generation: Generation,
    meter: Meter,
    telemetry: Telemetry,
    context: Context | None,
) -> StageReport:
    import asyncio  # most of what importing us would cost; it runs by now

    started = time.perf_counter()
    token = verifying.set(True)
    try:
        with telemetry.stage(stage.name, context) as span:
            limit = None if meter.budget.seconds is None else meter.remaining_s
            try:
                async with asyncio.timeout(limit):
                    found = await _call(stage.check, generation)
                report = stage.report(found, time.perf_counter() - started)
            except asyncio.CancelledError as error:
                if (task := asyncio.current_task()) is None or task.cancelling():
                    raise
                # Nobody cancelled us: the check let a cancelled task of its own escape.
                report = stage.report(as_status(error), time.perf_counter() - started)
            except Exception as error:  # noqa: BLE001 - the seam, as above
                failed = as_status(error, out_of_time=meter.remaining_s <= 0)
                report = stage.report(failed, time.perf_counter() - started)
            telemetry.stage_done(span, report)
            return report
    finally:
        verifying.reset(token)


async def _call(check: Verifier, generation: Generation) -> object:
    found: object
    if is_async(check.verify):
        found = check.verify(generation)
    else:
        found = await worker().in_thread(check.verify, generation)
    return await found if inspect.isawaitable(found) else found


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


_FREE = Costs()


def _costs(reports: list[StageReport]) -> Costs:
    if all(r.cost_usd == 0.0 and not r.unpriced for r in reports):
        return _FREE
    return Costs(
        verification=add_usd(*[r.cost_usd for r in reports]),
        unpriced=tuple(dict.fromkeys(name for r in reports for name in r.unpriced)),
    )


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
