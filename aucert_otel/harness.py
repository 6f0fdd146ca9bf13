"""The one object users hold.

Inline (`verify`, `run` and their asynchronous twins) it stands between the answer and the
application. Sampled (`submit`) it looks at finished answers in the background and changes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Iterable
from datetime import UTC, datetime
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from opentelemetry import context as otel_context
from opentelemetry.context import Context

from aucert_otel._arguments import Check, cascade_of, check_generation, given_or_default, writer_of
from aucert_otel._drive import adrive, drive
from aucert_otel._safe import Guard, swallow
from aucert_otel.background import current_worker, worker
from aucert_otel.budget import Budget, Meter
from aucert_otel.cascade import Cascade
from aucert_otel.errors import ConfigurationError
from aucert_otel.generation import Generation
from aucert_otel.outcome import Outcome
from aucert_otel.rounds import Flow, Generate, Policy, Pricer, Rounds, Task
from aucert_otel.sampling import NOT_YET, Sampling, Unknown, chosen
from aucert_otel.telemetry import Telemetry, default_telemetry, verifying
from aucert_otel.telemetry.flush import flush_providers
from aucert_otel.verdict import Verdict


if TYPE_CHECKING:
    from aucert_otel.audit import AuditSink, AuditWriter
    from aucert_otel.audit.record import Mode

_GUARD = Guard("harness")


def reported_cost(generation: Generation) -> float | None:
    """The cost the provider itself reported."""
    return None if generation.usage is None else generation.usage.cost_usd


class Harness:
    """Verifies answers and acts on what it finds.

    It is safe to share between threads, tasks and event loops, and may be used as a context
    manager, which drains and closes it.

    Args:
        cascade: The checks, in order: a `Cascade`, or one check or several, which make one named
            after ``name``.
        policy: What is done about their reports.
        budget: Money and time one answer may spend.
        sampling: Which answers `submit` verifies.
        audit: Where decisions are recorded: a sink, its URL (``sqlite:///aucert.db``), or a writer
            that several harnesses share.
            A record carries content only where content capture is on.
        telemetry: Default: the process's own (`aucert_otel.configure`).
        price: What writing an answer cost; default: what the provider reported.
        name: Names the ``aucert.generate`` span.
    """

    def __init__(
        self,
        cascade: Cascade | Check | Iterable[Check],
        *,
        policy: Policy | None = None,
        budget: Budget | None = None,
        sampling: Sampling | None = None,
        audit: AuditSink | AuditWriter | str | None = None,
        telemetry: Telemetry | None = None,
        price: Pricer = reported_cost,
        name: str = "answer",
    ) -> None:
        self.cascade = cascade_of(name, cascade)
        self.policy = given_or_default("policy", policy, Policy)
        self.budget = given_or_default("budget", budget, Budget)
        self.sampling = given_or_default("sampling", sampling, Sampling)
        self.audit = None if audit is None else writer_of(audit)
        self.price = price
        self.name = name
        self._own_telemetry = telemetry

    @property
    def telemetry(self) -> Telemetry:
        """Where spans, records and metrics go."""
        return self._own_telemetry or default_telemetry()

    def verify(self, generation: Generation, *, budget: Budget | None = None) -> Outcome:
        """Check a finished answer and say what to do about it; the caller does it.

        Where the action is `Action.REPAIR`, ``request`` holds what to send to the generator.
        """
        check_generation(generation)
        return self._recorded(drive(self._verify_flow(generation, budget)))

    async def averify(self, generation: Generation, *, budget: Budget | None = None) -> Outcome:
        """`verify` for asynchronous callers."""
        check_generation(generation)
        return self._recorded(await adrive(self._verify_flow(generation, budget)))

    def run(
        self,
        generate: Generate,
        *,
        escalate: Generate | None = None,
        can_repair: bool | Callable[[], bool] = True,
        budget: Budget | None = None,
        name: str | None = None,
        **known: Any,
    ) -> Outcome:
        """Have an answer written, check it, and do the one thing the table says.

        Args:
            generate: Writes the answer; called again with the request for the one repair.
            escalate: A stronger generator, asked once where a repair cannot help.
            can_repair: Whether ``generate`` can use a repair request at all, or a function that says
                so: it is asked only where something failed.
            budget: Instead of the harness's own.
            name: Names the ``aucert.generate`` span.
            **known: Fields of the `Generation`, where ``generate`` returns plain text.

        Raises:
            TypeError: ``generate`` returned neither text nor a `Generation`.
            BaseException: whatever ``generate`` raised for the first draft, unchanged. What it
                raises during a repair sends the first draft to a person instead.
        """
        task = Task(generate, escalate, can_repair, known)
        return self._recorded(drive(self._run_flow(task, budget, name)))

    async def arun(
        self,
        generate: Generate,
        *,
        escalate: Generate | None = None,
        can_repair: bool | Callable[[], bool] = True,
        budget: Budget | None = None,
        name: str | None = None,
        **known: Any,
    ) -> Outcome:
        """`run` for asynchronous callers; ``generate`` may be a coroutine function."""
        task = Task(generate, escalate, can_repair, known)
        return self._recorded(await adrive(self._run_flow(task, budget, name)))

    def draw(
        self,
        context: Context | None = None,
        *,
        tenant: str | Unknown | None = NOT_YET,
        model: str | Unknown | None = NOT_YET,
    ) -> float | None:
        """Decide before an answer is read whether `submit` would take it; see `Sampling.draw`.

        Call it once an answer and hand the result to `submit` as ``drawn``. Never raises.

        Returns:
            0.0 if the answer is not chosen, and nobody needs to read it; else what to hand on.
        """
        try:  # what the guard does, without its cost: this runs beside every answer
            if verifying.get():
                return 0.0
            return self.sampling.draw(context, tenant=tenant, model=model)
        except Exception as error:
            if not swallow("harness", error):
                raise
            return 0.0

    def submit(
        self,
        generation: Generation,
        *,
        context: Context | None = None,
        drawn: float | None = None,
    ) -> bool:
        """Verify a finished answer in the background if it is sampled. Never blocks, never raises.

        Args:
            generation: The answer, which has already gone out.
            context: Carries the span that becomes the verify span's parent, ended or not; default:
                the current context.
            drawn: What `draw` said about this answer, if it was asked.

        Returns:
            Whether it will be verified. What did not fit the queue is counted by reason in
            ``aucert.background.dropped``.
        """
        with _GUARD:
            if verifying.get():
                return False
            probability = self._drawn(generation, context) if drawn is None else drawn
            if probability > 0.0:
                context = otel_context.get_current() if context is None else context
                return worker().offer(partial(self._sampled, generation, context, probability))
        return False

    def _drawn(self, generation: Generation, context: Context | None) -> float:
        """The decision on an answer that was read: its inclusion probability, or 0.0."""
        sampling = self.sampling
        probability = sampling.probability(generation)
        if sampling.always_on_failed_rule:
            failing = sampling.probability(generation, failed_rule=True)
            if failing > probability and self._fails_a_rule(generation):
                probability = failing
        return probability if chosen(probability, context) else 0.0

    def _sampled(
        self, generation: Generation, context: Context, probability: float
    ) -> Coroutine[Any, Any, None] | None:
        rounds = self._rounds("sampled", probability)
        flow = rounds.verify(generation, Meter(self.budget), context)
        if self.cascade.waits:
            return self._awaited(flow, probability)
        self._recorded(drive(flow), "sampled", probability)
        return None

    async def _awaited(self, flow: Flow, probability: float) -> None:
        self._recorded(await adrive(flow), "sampled", probability)

    def _fails_a_rule(self, generation: Generation) -> bool:
        token = verifying.set(True)
        try:
            for stage in self.cascade.stages:
                if not stage.inline:
                    break
                with Guard("sampling rule"):
                    if stage.report(stage.check.verify(generation), 0.0).verdict is Verdict.FAIL:
                        return True
            return False
        finally:
            verifying.reset(token)

    def flush(self, timeout: float = 5.0) -> bool:
        """Wait for what was submitted, its audit records and its spans, up to ``timeout`` seconds.

        Returns:
            Whether everything is out. A dead exporter or database makes it ``False`` and never
            makes it late: the deadline is kept here, since exporters do not keep theirs.
        """
        deadline = time.monotonic() + timeout
        with _GUARD:
            running = current_worker()
            done = running is None or running.flush(timeout)
            if self.audit is not None:
                done = self.audit.flush(max(0.0, deadline - time.monotonic())) and done
            given = self.telemetry.instruments.providers
            return flush_providers(max(0.0, deadline - time.monotonic()), given) and done
        return False

    def close(self, timeout: float = 5.0) -> bool:
        """`flush`, then close the audit log."""
        done = self.flush(timeout)
        with _GUARD:
            if self.audit is not None:
                self.audit.close(timeout)
        return done

    def __getstate__(self) -> dict[str, Any]:
        for what, live in (("audit log", self.audit), ("telemetry", self._own_telemetry)):
            if live is not None:
                raise TypeError(
                    f"a harness with its own {what} cannot be pickled: that holds files, threads or "
                    "providers; build the harness in the process that uses it"
                )
        return self.__dict__

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _rounds(self, mode: str = "inline", probability: float = 1.0) -> Rounds:
        return Rounds(self.cascade, self.policy, self.telemetry, self.price, mode, probability)

    def _verify_flow(self, generation: Generation, budget: Budget | None) -> Flow:
        return self._rounds().verify(generation, Meter(budget or self.budget))

    def _run_flow(self, task: Task, budget: Budget | None, name: str | None) -> Flow:
        return self._rounds().run(task, Meter(budget or self.budget), name or self.name)

    def _recorded(
        self, outcome: Outcome, mode: Mode = "inline", probability: float = 1.0
    ) -> Outcome:
        if self.audit is not None:
            from aucert_otel.audit import record_of_outcome

            with Guard("audit"):
                # The record is built on the writer's thread: everything in an outcome is frozen.
                self.audit.put(
                    partial(
                        record_of_outcome,
                        outcome,
                        mode=mode,
                        sampling_probability=probability,
                        boundary=self.telemetry.boundary,
                        timestamp=datetime.now(UTC),
                    )
                )
        return outcome


def check_harness(harness: object, place: str) -> None:
    """Refuse what is no harness, where it is given and not on some answer.

    Raises:
        ConfigurationError: it is not.
    """
    if not isinstance(harness, Harness):
        raise ConfigurationError(
            f"{place} was given {type(harness).__name__} as its harness: give Harness(cascade)"
        )
