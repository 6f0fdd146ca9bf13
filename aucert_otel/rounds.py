"""Verify, act, repair, verify again: the flows behind the harness.

At most two rounds ever run: the first draft, and one more after a repair or an escalation. No
table and no report can make it three.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Generator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, TypeAlias

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span

from aucert_otel._drive import Effect, InCaller
from aucert_otel._safe import Guard, swallow
from aucert_otel.action import CLEAN, TABLE, Action, Decision, Row, Situation, decide
from aucert_otel.budget import Estimate, Meter
from aucert_otel.cascade import Cascade
from aucert_otel.costs import Costs, add_usd, known_usd
from aucert_otel.generation import Generation, check_known, with_known
from aucert_otel.outcome import Draft, Outcome
from aucert_otel.repair import RepairRecord, RepairRequest, repair_request
from aucert_otel.report import Report
from aucert_otel.telemetry import Telemetry, names
from aucert_otel.telemetry.attributes import Attributes, summary
from aucert_otel.telemetry.form import Circumstances


Generate: TypeAlias = Callable[
    [RepairRequest | None], Generation | str | Awaitable[Generation | str]
]
"""Writes an answer. It is called with ``None`` first and with the request for the one repair."""

Pricer: TypeAlias = Callable[[Generation], float | None]
"""What writing an answer cost, in US dollars; ``None`` where nobody knows."""

Flow: TypeAlias = Generator[Effect[Any], Any, Outcome]

_TABLE = Guard("action table")


@dataclass(frozen=True, slots=True)
class Policy:
    """What is done about reports.

    Args:
        table: The action table, see `aucert_otel.action.TABLE`.
        fail_open: Ship an answer with which nothing is wrong except that a check did not run.
            Off by default; when it happens, the row on the span says so.
    """

    table: tuple[Row, ...] = TABLE
    fail_open: bool = False


@dataclass(frozen=True, slots=True)
class Task:
    """One call: who writes the answer, and what is known about it beforehand."""

    generate: Generate
    escalate: Generate | None = None
    can_repair: bool | Callable[[], bool] = True
    """A function is asked only about an answer that failed: to know may take a walk through a chain."""
    known: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_known(self.known, "run()")

    @property
    def repairs(self) -> bool:
        """Whether a repair request reaches whoever writes the answer."""
        return self.can_repair if isinstance(self.can_repair, bool) else self.can_repair()


@dataclass(slots=True)
class _Call:
    """A task under way: its meter, and the span its next draft belongs under."""

    task: Task
    meter: Meter
    context: Context


@dataclass(slots=True)
class _Round:
    """One draft, checked, with its verify span still open for the action.

    (Not frozen: it never leaves this module, and freezing triples what it costs to make one.)
    """

    generation: Generation
    report: Report
    span: Span
    context: Context
    """Where the span was started."""
    seconds: float
    cost_usd: float | None


@dataclass(slots=True)
class Rounds:
    """The flows of one harness, each a generator for `aucert_otel._drive`. Made for one call."""

    cascade: Cascade
    policy: Policy
    telemetry: Telemetry
    price: Pricer
    mode: str = "inline"
    probability: float = 1.0
    """The probability with which an answer like this one is verified."""

    def verify(self, generation: Generation, meter: Meter, context: Context | None = None) -> Flow:
        """Check a finished answer and say what to do about it."""
        done = yield from self._check(generation, meter, context, self._priced(generation))
        try:
            decision = self._clean(done)
            if decision is None:
                situation = self._situation(done, meter, can_repair=True, can_escalate=False)
                decision = self._decide(situation)
            costs = self._costs(done)
            self._send(done, decision, costs)
        except BaseException as error:  # Ctrl-C in the middle of it: no span stays open
            self.telemetry.fail(done.span, error)
            raise
        request = None
        if decision.action is Action.REPAIR:
            request = repair_request(generation, done.report)
        return _outcome(done, decision, costs, request=request)

    def run(self, task: Task, meter: Meter, name: str) -> Flow:
        """Have an answer written, check it, and do the one thing the table says."""
        context = otel_context.get_current()
        root = self.telemetry.start(names.SPAN_GENERATE, context, name)
        first: _Round | None = None
        try:
            call = _Call(task, meter, trace.set_span_in_context(root, context))
            first = yield from self._round(call, task.generate)
            situation = None
            decision = self._clean(first)
            if decision is None:
                situation = self._situation(
                    first, meter, can_repair=task.repairs, can_escalate=task.escalate is not None
                )
                decision = _doable(self._decide(situation), task)
            costs = self._costs(first)
            attributes = self._send(first, decision, costs)
            if situation is not None and decision.action in (Action.REPAIR, Action.ESCALATE):
                outcome, attributes = yield from self._again(
                    call, first, situation, decision, attributes
                )
            else:
                outcome = _outcome(first, decision, costs)
        except BaseException as error:
            if first is not None:
                self.telemetry.fail(first.span, error)
            self.telemetry.fail(root, error)
            raise
        self.telemetry.end(root, summary(attributes))
        return outcome

    def _round(
        self, call: _Call, generate: Generate, request: RepairRequest | None = None
    ) -> Generator[Effect[Any], Any, _Round]:
        started = time.monotonic()
        written = yield InCaller(call.context, generate, request)
        if isinstance(written, str):
            written = Generation(written, **call.task.known)
        elif isinstance(written, Generation):
            written = with_known(written, call.task.known)
        else:
            raise TypeError(
                f"the generate function returned {type(written).__name__}: return the answer's text, "
                "or a Generation (with the native object as raw=...)"
            )
        seconds = time.monotonic() - started
        cost = self._priced(written)
        if request is not None:  # the budget is for verification and repair
            call.meter.charge(cost)
        return (yield from self._check(written, call.meter, call.context, cost, seconds))

    def _check(
        self,
        generation: Generation,
        meter: Meter,
        context: Context | None,
        cost: float | None,
        seconds: float = 0.0,
    ) -> Generator[Effect[Any], Any, _Round]:
        # Looked up once: every call of OpenTelemetry's that is given no context looks it up again.
        context = otel_context.get_current() if context is None else context
        span = self.telemetry.start(names.SPAN_VERIFY, context, self.cascade.name)
        try:
            inner = trace.set_span_in_context(span, context) if self.cascade.waits else None
            report = yield from self.cascade.walk(generation, meter, self.telemetry, inner)
        except BaseException as error:
            self.telemetry.fail(span, error)
            raise
        return _Round(generation, report, span, context, seconds + report.latency_s, cost)

    def _priced(self, generation: Generation) -> float | None:
        try:
            return known_usd(self.price(generation))
        except Exception as error:
            if not swallow("price", error):
                raise
            return None

    def _again(
        self,
        call: _Call,
        first: _Round,
        situation: Situation,
        decision: Decision,
        attributes: Attributes,
    ) -> Generator[Effect[Any], Any, tuple[Outcome, Attributes]]:
        """The one further round: a repair, or a fresh answer from the stronger generator."""
        repairing = decision.action is Action.REPAIR
        request = repair_request(first.generation, first.report) if repairing else None
        generate = call.task.generate if repairing else call.task.escalate or call.task.generate
        name = names.SPAN_REPAIR if repairing else names.SPAN_ESCALATE
        span = self.telemetry.start(name, call.context)
        inner = replace(call, context=trace.set_span_in_context(span, call.context))
        started = time.monotonic()
        second: _Round | None = None
        failed: Attributes = {}
        try:
            second = yield from self._round(inner, generate, request)
        except Exception as error:  # noqa: BLE001 - there is a first draft, and a person to look at it
            self.telemetry.broke(span, error)
            failed = {names.ERROR_TYPE: self.telemetry.label(type(error).__qualname__)}
        except BaseException as error:
            self.telemetry.fail(span, error)
            raise
        try:
            final = self._after(situation, second)
            record = None
            if request is not None:
                record = self._record(request, second, final, time.monotonic() - started)
                failed[names.REPAIR_OUTCOME] = record.outcome
                failed[names.REPAIR_CRITERIA] = [self.telemetry.label(c) for c in request.criteria]
            costs = self._costs(first, second, again=True)
            if second is not None:
                attributes = self._send(second, final, costs, record.outcome if record else None)
            else:
                attributes = {**attributes, **failed, names.ACTION: final.action.value}
        except BaseException as error:
            if second is not None:
                self.telemetry.fail(second.span, error)
            self.telemetry.fail(span, error)
            raise
        self.telemetry.end(span, {**failed, names.ACTION: final.action.value})
        draft = Draft(first.generation, first.report)
        outcome = _outcome(second or first, final, costs, first=draft, repair=record)
        return outcome, attributes

    def _record(
        self, request: RepairRequest, second: _Round | None, final: Decision, seconds: float
    ) -> RepairRecord:
        if second is None:
            result = "error"
        else:
            result = "passed" if final.action is Action.SHIP else "failed"
        self.telemetry.repaired(request.criteria, result, self.cascade.name)
        cost = None if second is None else second.cost_usd
        return RepairRecord(request.failed, result, cost_usd=cost, seconds=seconds)

    def _clean(self, done: _Round) -> Decision | None:
        """The decision on an answer with which nothing is wrong: most answers, so it comes cheap."""
        if self.policy.table is TABLE and done.report.clean:
            return CLEAN.decision
        return None

    def _situation(
        self, done: _Round, meter: Meter, *, can_repair: bool, can_escalate: bool
    ) -> Situation:
        fits = meter.unlimited
        if not fits:  # a further round is expected to take what this one took
            cost = add_usd(done.cost_usd, done.report.costs.verification)
            fits = meter.fits(Estimate(cost, done.seconds))
        return Situation(
            done.report,
            can_repair=can_repair,
            can_escalate=can_escalate,
            round_fits=fits,
            time_left=meter.unlimited or meter.remaining_s > 0,
            fail_open=self.policy.fail_open,
        )

    def _after(self, situation: Situation, second: _Round | None) -> Decision:
        """The decision after the one further round, which no table can turn into yet another."""
        report = situation.report if second is None else second.report
        decision = self._decide(replace(situation, report=report, spent=True))
        if decision.action in (Action.REPAIR, Action.ESCALATE):
            return Decision(Action.PERSON, decision.row, "only one further round is ever allowed")
        return decision

    def _decide(self, situation: Situation) -> Decision:
        with _TABLE:
            return decide(situation, self.policy.table)
        return Decision(Action.PERSON, "table_error", "the action table itself failed")

    @staticmethod
    def _costs(first: _Round, second: _Round | None = None, *, again: bool = False) -> Costs:
        found = first.report.costs
        if second is None and not again and not found.unpriced:
            if first.cost_usd is not None:
                return Costs(verification=found.verification, generation=first.cost_usd)
            if found.verification == 0.0:
                return _unpriced(_model(first.generation))
        rounds = [first] if second is None else [first, second]
        unpriced: list[str] = []
        for done in rounds:
            unpriced += done.report.costs.unpriced
            if done.cost_usd is None:
                unpriced.append(_model(done.generation))
        if again and second is None:  # whoever wrote it raised, and may have been paid all the same
            unpriced.append(_model(first.generation))
        further = second.cost_usd if second is not None else None if again else 0.0
        return Costs(
            verification=add_usd(*[done.report.costs.verification for done in rounds]),
            generation=first.cost_usd,
            repair=further,
            unpriced=tuple(dict.fromkeys(unpriced)),
        )

    def _send(
        self, done: _Round, decision: Decision, costs: Costs, repair_outcome: str | None = None
    ) -> Attributes:
        return self.telemetry.verified(
            done.span,
            done.context,
            done.report,
            Circumstances(
                decision.action._value_,
                decision.row,
                self.mode,
                done.generation.tenant,
                self.probability,
                repair_outcome,
            ),
            costs,
        )


def _model(generation: Generation) -> str:
    model = generation.model
    return model if isinstance(model, str) and model else "generation"


@lru_cache(maxsize=256)
def _unpriced(model: str) -> Costs:
    """Free checks of an answer whose own price nobody knows."""
    return Costs(unpriced=(model,))


def _doable(decision: Decision, task: Task) -> Decision:
    """A custom table may ask for what this call has nobody for; then a person decides."""
    if (decision.action is Action.REPAIR and not task.repairs) or (
        decision.action is Action.ESCALATE and task.escalate is None
    ):
        why = f"{decision.why}, but this call has nobody to {decision.action.value}"
        return Decision(Action.PERSON, decision.row, why)
    return decision


def _outcome(
    done: _Round,
    decision: Decision,
    costs: Costs,
    *,
    first: Draft | None = None,
    repair: RepairRecord | None = None,
    request: RepairRequest | None = None,
) -> Outcome:
    context = done.span.get_span_context()
    return Outcome(
        done.generation,
        done.report,
        decision,
        first=first,
        repair=repair,
        request=request,
        costs=costs,
        span_context=context if context.is_valid else None,
    )
