"""Verify, act, repair, verify again: the flows behind the harness.

At most two rounds ever run: the first draft, and one more after a repair or an escalation. No
table and no report can make it three.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Generator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span

from aucert_otel._drive import Effect, InCaller
from aucert_otel._safe import Guard
from aucert_otel.action import TABLE, Action, Decision, Row, Situation, decide
from aucert_otel.budget import Estimate, Meter
from aucert_otel.cascade import Cascade
from aucert_otel.generation import Generation
from aucert_otel.outcome import Draft, Outcome
from aucert_otel.repair import RepairRecord, RepairRequest, repair_request
from aucert_otel.telemetry import Telemetry, names
from aucert_otel.telemetry.attributes import Attributes
from aucert_otel.verdict import Costs, Report, add_usd


Generate: TypeAlias = Callable[
    [RepairRequest | None], Generation | str | Awaitable[Generation | str]
]
"""Writes an answer. It is called with ``None`` first and with the request for the one repair."""

Pricer: TypeAlias = Callable[[Generation], float | None]
"""What writing an answer cost, in US dollars; ``None`` where nobody knows."""

Flow: TypeAlias = Generator[Effect[Any], Any, Outcome]


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
    can_repair: bool = True
    known: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Round:
    """One draft, checked, with its verify span still open for the action."""

    generation: Generation
    report: Report
    span: Span
    seconds: float
    cost_usd: float | None


@dataclass(frozen=True, slots=True)
class Rounds:
    """The flows of one harness, each a generator for `aucert_otel._drive`."""

    cascade: Cascade
    policy: Policy
    telemetry: Telemetry
    price: Pricer
    mode: str = "inline"
    probability: float = 1.0
    """The probability with which an answer like this one is verified."""

    def verify(self, generation: Generation, meter: Meter, context: Context | None = None) -> Flow:
        """Check a finished answer and say what to do about it."""
        done = yield from self._check(generation, meter, context, 0.0)
        decision = self._decide(self._situation(done, meter, can_repair=True, can_escalate=False))
        costs = self._costs(done)
        self._send(done, decision, costs)
        request = None
        if decision.action is Action.REPAIR:
            request = repair_request(generation, done.report)
        return _outcome(done, decision, costs, request=request)

    def run(self, task: Task, meter: Meter, name: str) -> Flow:
        """Have an answer written, check it, and do the one thing the table says."""
        root = self.telemetry.start(names.SPAN_GENERATE, None, name)
        try:
            context = trace.set_span_in_context(root)
            first = yield from self._round(task.generate, None, task, meter, context)
            situation = self._situation(
                first, meter, can_repair=task.can_repair, can_escalate=task.escalate is not None
            )
            decision = self._decide(situation)
            costs = self._costs(first)
            attributes = self._send(first, decision, costs)
            if decision.action is Action.REPAIR:
                outcome, attributes = yield from self._repair(
                    task, meter, context, first, situation, attributes
                )
            elif decision.action is Action.ESCALATE and task.escalate is not None:
                outcome, attributes = yield from self._escalate(
                    task.escalate, task, meter, context, first, situation, attributes
                )
            else:
                outcome = _outcome(first, decision, costs)
        except BaseException as error:
            self.telemetry.fail(root, error)
            raise
        self.telemetry.end(root, attributes)
        return outcome

    def _round(
        self,
        generate: Generate,
        request: RepairRequest | None,
        task: Task,
        meter: Meter,
        context: Context,
    ) -> Generator[Effect[Any], Any, _Round]:
        started = time.monotonic()
        written = yield InCaller(context, generate, request)
        if isinstance(written, str):
            written = Generation(written, **task.known)
        if not isinstance(written, Generation):
            raise TypeError(
                f"the generate function returned {type(written).__name__}: return the answer's text, "
                "or a Generation (with the native object as raw=...)"
            )
        return (yield from self._check(written, meter, context, time.monotonic() - started))

    def _check(
        self, generation: Generation, meter: Meter, context: Context | None, seconds: float
    ) -> Generator[Effect[Any], Any, _Round]:
        span = self.telemetry.start(names.SPAN_VERIFY, context, self.cascade.name)
        try:
            report = yield from self.cascade.walk(
                generation, meter, self.telemetry, trace.set_span_in_context(span, context)
            )
        except BaseException as error:
            self.telemetry.fail(span, error)
            raise
        cost: float | None = None
        with Guard("price"):
            cost = self.price(generation)
        return _Round(generation, report, span, seconds + report.latency_s, cost)

    def _repair(
        self,
        task: Task,
        meter: Meter,
        context: Context,
        first: _Round,
        situation: Situation,
        attributes: Attributes,
    ) -> Generator[Effect[Any], Any, tuple[Outcome, Attributes]]:
        request = repair_request(first.generation, first.report)
        criteria = list(dict.fromkeys(f.criterion for f in request.failed))
        started = time.monotonic()
        span = self.telemetry.start(names.SPAN_REPAIR, context)
        second = yield from self._second(span, task.generate, request, task, meter, context)
        final = self._after(situation, second)
        result = (
            "error" if second is None else "passed" if final.action is Action.SHIP else "failed"
        )
        record = RepairRecord(
            request.failed,
            result,
            cost_usd=None if second is None else second.cost_usd,
            seconds=time.monotonic() - started,
        )
        self.telemetry.repaired(criteria, result, self.cascade.name)
        outcome, attributes = self._finish(first, second, final, attributes, record)
        self.telemetry.end(
            span,
            {
                names.REPAIR_OUTCOME: result,
                names.REPAIR_CRITERIA: [self.telemetry.label(c) for c in criteria],
                names.ACTION: final.action.value,
            },
        )
        return outcome, attributes

    def _escalate(
        self,
        escalate: Generate,
        task: Task,
        meter: Meter,
        context: Context,
        first: _Round,
        situation: Situation,
        attributes: Attributes,
    ) -> Generator[Effect[Any], Any, tuple[Outcome, Attributes]]:
        span = self.telemetry.start(names.SPAN_ESCALATE, context)
        second = yield from self._second(span, escalate, None, task, meter, context)
        final = self._after(situation, second)
        outcome, attributes = self._finish(first, second, final, attributes)
        self.telemetry.end(span, {names.ACTION: final.action.value})
        return outcome, attributes

    def _second(
        self,
        span: Span,
        generate: Generate,
        request: RepairRequest | None,
        task: Task,
        meter: Meter,
        context: Context,
    ) -> Generator[Effect[Any], Any, _Round | None]:
        """The one further round. A generator that fails here is no reason to fail the application:
        there is a first draft, and a person to look at it.
        """
        inner = trace.set_span_in_context(span, context)
        try:
            return (yield from self._round(generate, request, task, meter, inner))
        except Exception as error:  # noqa: BLE001 - see above; cancellation is no Exception
            span.set_attribute(names.ERROR_TYPE, type(error).__qualname__)
            return None
        except BaseException as error:
            self.telemetry.fail(span, error)
            raise

    def _finish(
        self,
        first: _Round,
        second: _Round | None,
        final: Decision,
        attributes: Attributes,
        repair: RepairRecord | None = None,
    ) -> tuple[Outcome, Attributes]:
        costs = self._costs(first, second)
        result = repair.outcome if repair else None
        if second is not None:
            attributes = self._send(second, final, costs, result)
        else:
            attributes = {
                **attributes,
                names.ACTION: final.action.value,
                names.ACTION_ROW: final.row,
                **({names.REPAIR_OUTCOME: result} if result else {}),
            }
        draft = Draft(first.generation, first.report)
        outcome = _outcome(second or first, final, costs, first=draft, repair=repair)
        return outcome, attributes

    def _situation(
        self, done: _Round, meter: Meter, *, can_repair: bool, can_escalate: bool
    ) -> Situation:
        # A further round is expected to take what this one took.
        whole = Estimate(add_usd(done.cost_usd, done.report.costs.verification), done.seconds)
        return Situation(
            done.report,
            can_repair=can_repair,
            can_escalate=can_escalate,
            round_fits=meter.fits(whole),
            time_left=meter.remaining_s > 0,
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
        with Guard("action table"):
            return decide(situation, self.policy.table)
        return Decision(Action.PERSON, "table_error", "the action table itself failed")

    @staticmethod
    def _costs(first: _Round, second: _Round | None = None) -> Costs:
        rounds = [first] if second is None else [first, second]
        unpriced: list[str] = []
        for done in rounds:
            unpriced += done.report.costs.unpriced
            if done.cost_usd is None:
                unpriced.append(done.generation.model or "generation")
        return Costs(
            verification=add_usd(*[done.report.costs.verification for done in rounds]),
            generation=first.cost_usd,
            repair=0.0 if second is None else second.cost_usd,
            unpriced=tuple(dict.fromkeys(unpriced)),
        )

    def _send(
        self, done: _Round, decision: Decision, costs: Costs, repair_outcome: str | None = None
    ) -> Attributes:
        return self.telemetry.verified(
            done.span,
            done.report,
            action=decision.action.value,
            row=decision.row,
            tenant=done.generation.tenant,
            mode=self.mode,
            probability=self.probability,
            repair_outcome=repair_outcome,
            costs=costs,
        )


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
    valid = context.is_valid
    return Outcome(
        done.generation,
        done.report,
        decision,
        first=first,
        repair=repair,
        request=request,
        costs=costs,
        trace_id=trace.format_trace_id(context.trace_id) if valid else None,
        span_id=trace.format_span_id(context.span_id) if valid else None,
    )
