"""The SDK's own loop and its bounded queue: nobody who offers work waits, and nothing is lost unseen."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
import time

from opentelemetry import baggage
from opentelemetry import context as otel_context
from support.checks import harness, length

from aucert_otel import Finding, Generation, Verdict, verified
from aucert_otel.background import Worker, worker


PASS = Finding("fine", Verdict.PASS, score=1.0)


class Gate:
    """A job that waits until it is let through."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.done = 0

    async def job(self) -> None:
        await self.open.wait()
        self.done += 1

    def release(self, on: Worker) -> None:
        async def release() -> None:
            self.open.set()

        on.run(release())


def test_the_queue_is_bounded_and_what_does_not_fit_is_counted():
    own, gate = Worker(max_pending=10, concurrency=4), Gate()
    accepted = [own.offer(gate.job) for _ in range(17)]
    assert accepted == [True] * 10 + [False] * 7
    assert own.pending == 10
    assert own.dropped == {"queue_full": 7}
    gate.release(own)
    assert own.flush(20.0)
    assert (gate.done, own.pending) == (10, 0)
    assert own.offer(gate.job)
    assert own.flush(20.0)


def test_what_was_dropped_is_a_metric_with_its_reason(recorder, monkeypatch):
    gate = Gate()
    own = Worker(max_pending=3)
    monkeypatch.setattr("aucert_otel.background._worker", own)

    async def waits(generation):
        await gate.open.wait()
        return PASS

    h = harness(waits, telemetry=recorder.telemetry())
    accepted = [h.submit(Generation("x")) for _ in range(8)]
    assert accepted == [True] * 3 + [False] * 5
    assert recorder.metrics["aucert.background.queued"] == [({}, 3)]
    assert recorder.metrics["aucert.background.dropped"] == [
        ({"aucert.drop.reason": "queue_full"}, 5)
    ]
    gate.release(own)
    assert h.flush(20.0)
    assert recorder.metrics["aucert.background.queued"] == [({}, 0)]


def test_no_more_than_the_allowed_number_runs_at_once():
    own = Worker(concurrency=3)
    running = highest = 0

    async def job():
        nonlocal running, highest
        running += 1
        highest = max(highest, running)
        await asyncio.sleep(0)
        running -= 1

    for _ in range(50):
        assert own.offer(job)
    assert own.flush(20.0)
    assert highest <= 3


def test_submit_does_not_wait_for_a_loop_that_is_busy():
    own = Worker(max_pending=5)
    busy = threading.Event()
    entered = threading.Event()

    async def blocks():
        entered.set()
        busy.wait()

    async def nothing():
        pass

    own.offer(blocks)
    assert entered.wait(20.0)
    # The loop cannot answer now: these return all the same.
    assert [own.offer(nothing) for _ in range(6)] == [True] * 4 + [False] * 2
    assert not own.flush(0.05)
    busy.set()
    assert own.flush(20.0)


def test_a_job_that_fails_is_counted_and_the_next_ones_run(production, caplog):
    own, gate = Worker(), Gate()

    async def breaks():
        raise ValueError("a canary")

    async def exits():
        raise SystemExit(3)

    def breaks_at_once():
        raise ValueError("a canary")

    def exits_at_once():
        raise SystemExit(3)

    caplog.set_level(logging.CRITICAL, "asyncio")  # it reports the exit's exception when collected
    jobs = (breaks, exits, breaks_at_once, exits_at_once)
    for job in jobs:
        own.offer(job)
        assert own.flush(20.0)
    gate.open.set()
    own.offer(gate.job)
    assert own.flush(20.0)
    assert gate.done == 1
    assert own.dropped == {"error": len(jobs)}
    assert "canary" not in caplog.text


def test_a_job_that_never_waits_runs_in_its_caller_s_context_without_a_task():
    own = Worker()
    said = contextvars.ContextVar("said", default="nothing")
    found = []

    def job():
        found.append((said.get(), asyncio.current_task(own._loop)))

    token = said.set("something")
    assert own.offer(job)
    said.reset(token)
    assert own.flush(20.0)
    assert found == [("something", None)]


def test_a_closed_worker_drops_and_counts_and_still_answers_callers():
    own, gate = Worker(), Gate()
    own.offer(gate.job)
    assert not own.close(0.05)
    assert own.dropped == {"exit": 1}
    assert own.pending == 0
    assert not own.offer(gate.job)
    assert own.dropped == {"exit": 1, "closed": 1}

    async def answer():
        return 42

    assert own.run(answer()) == 42


def test_a_verifier_that_calls_sys_exit_does_not_stop_other_peoples_checks():
    async def exits(generation):
        raise SystemExit(3)

    async def passes(generation):
        return PASS

    assert not harness(exits).verify(Generation("x")).shipped
    assert harness(passes).verify(Generation("x")).shipped


class Blocking:
    """A plain check that says it blocks."""

    name = "blocking"
    blocking = True

    def __init__(self, verify):
        self.verify = verify


def test_blocking_verifiers_leave_the_loop_and_the_callers_thread():
    seen = []

    def verify(generation):
        seen.append(threading.current_thread().name)
        return PASS

    async def scenario():
        return await harness(Blocking(verify)).averify(Generation("x"))

    assert harness(Blocking(verify)).verify(Generation("x")).shipped
    assert asyncio.run(scenario()).shipped
    assert all(name.startswith("aucert-blocking") for name in seen)


def test_blocking_verifiers_run_side_by_side():
    barrier = threading.Barrier(8)

    def verify(generation):
        barrier.wait(20.0)
        return PASS

    h = harness(Blocking(verify))

    async def scenario():
        return await asyncio.gather(*[h.averify(Generation("x")) for _ in range(8)])

    assert all(outcome.shipped for outcome in asyncio.run(scenario()))


def test_a_blocking_verifier_that_raises_stop_iteration_is_an_error_and_does_not_hang():
    def verify(generation):
        return next(iter(()))

    outcome = harness(Blocking(verify)).verify(Generation("x"))
    assert outcome.report.stages[0].status == "error"


def test_calling_the_synchronous_api_from_the_loop_is_a_clear_error_and_no_deadlock():
    async def inner(generation):
        return PASS

    nested = harness(inner)
    errors = []

    async def outer(generation):
        try:
            return nested.verify(generation).report.findings
        except RuntimeError as error:
            errors.append(str(error))
            raise

    outcome = harness(outer).verify(Generation("x"))
    assert outcome.report.stages[0].status == "error"
    assert errors == [
        (
            "a verifier called the synchronous API from aucert_otel's own event loop, which "
            "would wait for itself: use averify/arun inside an asynchronous verifier"
        )
    ]


def test_an_asynchronous_verifier_may_use_the_asynchronous_api():
    async def inner(generation):
        return PASS

    nested = harness(inner)

    async def outer(generation):
        return (await nested.averify(generation)).report.findings

    assert harness(outer).verify(Generation("x")).shipped


def test_a_judge_that_calls_a_verified_function_is_not_verified():
    calls = []

    def counts(generation):
        calls.append(generation.output)
        return PASS

    watched = harness(counts)

    @verified(watched, otherwise="no")
    def ask(text):
        return f"judge says {text}"

    @verified(watched, otherwise="no")
    async def aask(text):
        return f"judge says {text}"

    async def judges(generation):
        await aask("a")
        ask("b")
        watched.submit(Generation("c"))
        return PASS

    def blocks(generation):
        ask("d")
        return PASS

    def rule(generation):
        ask("e")
        return PASS

    for check in (judges, Blocking(blocks), rule):
        assert harness(check).verify(Generation("x")).shipped
    assert watched.flush(20.0)
    assert calls == []
    assert ask("f") == "judge says f"
    assert calls == ["judge says f"]


def test_contextvars_and_baggage_of_one_submitter_never_reach_anothers_job(recorder):
    tenant: contextvars.ContextVar[str] = contextvars.ContextVar("tenant", default="nobody")
    seen = {}

    async def looks(generation):
        await asyncio.sleep(0)
        seen[generation.output] = (tenant.get(), baggage.get_baggage("user"))
        return PASS

    h = harness(looks, telemetry=recorder.telemetry())

    def submit(name):
        tenant.set(name)
        token = otel_context.attach(baggage.set_baggage("user", name))
        try:
            assert h.submit(Generation(name))
        finally:
            otel_context.detach(token)

    for index in range(200):
        contextvars.copy_context().run(submit, f"t{index}")
    assert h.submit(Generation("last"))
    assert h.flush(20.0)
    assert seen == {f"t{i}": (f"t{i}", f"t{i}") for i in range(200)} | {"last": ("nobody", None)}


def test_one_harness_serves_threads_and_several_event_loops_at_once(recorder):
    async def looks(generation):
        await asyncio.sleep(0)
        return PASS

    h = harness(looks, telemetry=recorder.telemetry())
    failures = []

    def guarded(work):
        def run():
            try:
                work()
            except BaseException as error:
                failures.append(error)

        return threading.Thread(target=run)

    def synchronous():
        for _ in range(20):
            assert h.run(lambda _: "a").shipped
            assert h.submit(Generation("b"))

    async def many():
        outcomes = await asyncio.gather(*[h.arun(lambda _: "c") for _ in range(20)])
        assert all(outcome.shipped for outcome in outcomes)

    threads = [guarded(synchronous) for _ in range(4)]
    threads += [guarded(lambda: asyncio.run(many())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60.0)
    assert failures == []
    assert h.flush(20.0)
    assert recorder.balance.settled()
    names = [span.name for span in recorder.spans]
    assert names.count("aucert.verify c") == 4 * 40 + 4 * 20
    assert names.count("aucert.stage looks") == 4 * 40 + 4 * 20


def test_flush_of_providers_that_were_given_reaches_them():
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    from aucert_otel.telemetry import Instruments, Telemetry

    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=3_600_000))
    h = harness(length, telemetry=Telemetry(Instruments(provider)))
    h.verify(Generation("x"))
    assert h.flush(20.0)
    assert [span.name for span in exporter.get_finished_spans()] == ["aucert.verify c"]
    provider.shutdown()


def test_flush_keeps_its_deadline_while_a_check_is_stuck():
    never = threading.Event()

    def verify(generation):
        never.wait()
        return PASS

    h = harness(Blocking(verify))
    assert h.submit(Generation("x"))
    started = time.monotonic()
    assert not h.flush(0.1)
    assert time.monotonic() - started < 5.0
    never.set()
    assert h.flush(20.0)


def test_the_worker_is_one_a_process():
    found = []
    threads = [threading.Thread(target=lambda: found.append(worker())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(one) for one in found}) == 1
