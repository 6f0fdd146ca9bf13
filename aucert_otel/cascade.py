"""Run stages until one settles.

A cascade is data: ordered stages, each a verifier, the verdicts it may settle, and a gate. The
walk over them is one generator that never waits itself: it yields what has to wait, and a
synchronous or an asynchronous driver (`aucert_otel._drive`) answers. So there is one
implementation for both kinds of caller.
"""

from __future__ import annotations

import inspect
import math
import time
from collections.abc import Callable, Coroutine, Generator, Iterable
from dataclasses import replace
from functools import partial

from opentelemetry.context import Context

from aucert_otel._drive import OnWorker, adrive, drive
from aucert_otel._safe import describe, warn_once
from aucert_otel.background import LateError, worker
from aucert_otel.budget import Budget, Meter
from aucert_otel.costs import Costs, add_usd
from aucert_otel.errors import ConfigurationError
from aucert_otel.generation import Generation
from aucert_otel.report import Report, StageReport, not_neutral, standing
from aucert_otel.spending import Spending, spending
from aucert_otel.stage import Stage, placed
from aucert_otel.telemetry.emit import Telemetry
from aucert_otel.telemetry.runtime import default_telemetry, verifying
from aucert_otel.verdict import EVIDENCE_PROBLEMS, Finding, Status, Verdict
from aucert_otel.verifier import OverBudget, Verifier, VerifierFunction, is_async


_GRACE_S = 0.5
"""How long past the deadline a stage may take to end itself."""

Walk = Generator[OnWorker[StageReport], StageReport, Report]


class Cascade:
    """Stages in order; the first that settles ends the run, and what nobody settles is unclear.

    Args:
        name: Shown on every span, metric and record.
        stages: In the order in which they run, cheapest first.
        version: Default: a hash over the stages, their gates and their checks' fingerprints.
        strict: A stage without a valid certificate may only reject or escalate, never approve, and
            a judge that is not neutral is refused: it has a status, and no verdict.

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
        self.stages = placed(s if isinstance(s, Stage) else Stage(s) for s in stages)
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
                earlier = () if stage.follows is None else standing(tuple(reports))
                call = partial(_call, stage, generation, earlier, strict=self.strict)
                limit = meter.remaining_s
                within = None if limit == math.inf else limit + _GRACE_S
                try:
                    found = yield OnWorker(
                        _run_waiting, stage, call, meter, telemetry, context, within=within
                    )
                except LateError:
                    # The stage ends itself at the deadline, unless something blocks the loop it runs on.
                    found = stage.report(stage.failed(OverBudget(), out_of_time=True), limit)
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
            threshold=_threshold(stage, last) if settled and not stage.gate.open else None,
        )

    def _settles(self, stage: Stage, found: StageReport) -> bool:
        verdict = found.verdict
        if found.status is not Status.OK or verdict is None or verdict not in stage.settles:
            return False
        if self.strict and (
            found.neutral is False or (verdict is Verdict.PASS and not found.certified)
        ):
            return False
        return stage.gate.open or stage.gate.admits(verdict, found.confidence)


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
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - the seam: whatever a check raises is a status, exit and panic included
        return stage.report(stage.failed(error), time.perf_counter() - started)
    finally:
        verifying.reset(token)


def _neutral(stage: Stage, generation: Generation) -> bool:
    """Whether a stage asks no judge, or none that may be of the generator's family.

    One that cannot even say so may be.
    """
    try:
        return stage.judges is None or stage.judges.neutral_to(generation)
    except Exception as error:  # noqa: BLE001 - the seam: somebody else's check must not take the run down
        warn_once(f"check {stage.name!r} cannot say whether it is neutral: {describe(error)}")
        return False


async def _run_waiting(
    stage: Stage,
    call: Callable[[], Coroutine[object, object, object]],
    meter: Meter,
    telemetry: Telemetry,
    context: Context | None,
) -> StageReport:
    import asyncio  # most of what importing us would cost; it runs by now

    started = time.perf_counter()
    verifying.set(True)  # this runs in a task of its own, so there is nothing to restore
    with telemetry.stage(stage.name, context) as span, spending() as spent:
        limit = None if meter.budget.seconds is None else meter.remaining_s
        found: object
        try:
            async with asyncio.timeout(limit) as timer:
                # A task of its own: a check that cancels the task it runs in cancels itself alone.
                found = await asyncio.create_task(call())
            if timer.expired():  # it went on past its cancellation
                raise OverBudget  # noqa: TRY301 - one place turns whatever ended it into a status
            report = stage.report(found, time.perf_counter() - started)
        except GeneratorExit:
            raise
        except BaseException as error:
            task = asyncio.current_task()
            if isinstance(error, asyncio.CancelledError) and (task is None or task.cancelling()):
                raise
            late = meter.remaining_s <= 0
            failed = _billed(stage.failed(error, out_of_time=late), spent)
            report = stage.report(failed, time.perf_counter() - started)
        telemetry.stage_done(span, report)
        return report


def _billed(failed: StageReport, spent: Spending) -> StageReport:
    """A stage that broke, with what its calls cost until then: a cut-off call carries no bill."""
    if not spent.calls:
        return failed
    return replace(failed, cost_usd=spent.cost_usd, unpriced=spent.unpriced, calls=spent.attempts)


async def _call(
    stage: Stage, generation: Generation, earlier: tuple[Finding, ...], *, strict: bool
) -> object:
    if strict and not _neutral(stage, generation):
        return not_neutral()
    found: object
    if stage.follows is None:
        function: Callable[..., object] = stage.check.verify
        given: tuple[object, ...] = (generation,)
    else:
        function, given = stage.follows.verify_after, (generation, earlier)
    if is_async(function):
        found = function(*given)
    else:
        found = await worker().in_thread(function, *given)
    return await found if inspect.isawaitable(found) else found


def _threshold(stage: Stage, last: StageReport) -> float | None:
    return None if last.verdict is None else stage.gate.threshold(last.verdict)


_FREE = Costs()


def _costs(reports: list[StageReport]) -> Costs:
    for report in reports:
        if report.cost_usd != 0.0 or report.unpriced:
            break
    else:  # a loop, since most answers meet nothing but rules
        return _FREE
    return Costs(
        verification=add_usd(*[r.cost_usd for r in reports]),
        unpriced=tuple(dict.fromkeys(name for r in reports for name in r.unpriced)),
    )
