"""Nothing stays behind: not after failures, abandoned streams, cancelled tasks, or lost events."""

from __future__ import annotations

import asyncio
import gc
import random
from uuid import uuid4

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, LLMResult
from opentelemetry import trace
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags
from support.langchain_parts import ASK, Articles, says, support_chain

from aucert_integrations.langchain import VerificationHandler, observer, traces
from aucert_integrations.langchain import handler as handler_module
from aucert_otel import Harness, Match, Passage, Sampling


@pytest.fixture
def quiet(cited, recorder):
    """A harness that verifies next to nothing: these tests are about the handler's own memory."""
    rules = (Match(tenant="nobody"),)
    sampling = Sampling(rate=0.0, always=rules)
    return Harness([cited], telemetry=recorder.telemetry(), sampling=sampling)


def event_storm(handler, runs, seed):
    """Runs of random shape whose events may fail, be abandoned, arrive late, or never arrive."""
    rng = random.Random(seed)
    result = LLMResult(generations=[[ChatGeneration(message=AIMessage("see 118"))]])
    lost = 0
    for _ in range(runs):
        root, search, call = uuid4(), uuid4(), uuid4()
        handler.on_chain_start({}, "q", run_id=root)
        if rng.random() < 0.5:
            handler.on_retriever_start({}, "q", run_id=search, parent_run_id=root)
            if rng.random() < 0.8:
                handler.on_retriever_end([], run_id=search, parent_run_id=root)
        handler.on_chat_model_start({}, [[HumanMessage("q")]], run_id=call, parent_run_id=root)
        fate = rng.choice(["end", "error", "abandoned", "late", "lost"])
        if fate == "end":
            handler.on_llm_end(result, run_id=call, parent_run_id=root)
            handler.on_chain_end("see 118", run_id=root)
        elif fate == "error":
            handler.on_llm_error(ValueError(), run_id=call, parent_run_id=root)
            handler.on_chain_error(ValueError(), run_id=root)
        elif fate == "abandoned":
            handler.on_llm_error(GeneratorExit(), run_id=call, parent_run_id=root)
            handler.on_chain_error(GeneratorExit(), run_id=root)
        elif fate == "late":
            handler.on_chain_end("see", run_id=root)
            handler.on_llm_error(GeneratorExit(), run_id=call, parent_run_id=root)
        else:
            lost += 1
    return lost


def test_twenty_thousand_runs_leave_no_more_than_the_cap(quiet):
    handler = VerificationHandler(quiet, max_turns=100)
    lost = event_storm(handler, 20_000, seed=1)
    assert len(handler._turns) == 100
    assert handler.open_runs <= 300
    assert handler.forgotten == {"full": lost - 100}


def test_runs_that_end_leave_nothing_at_all(quiet):
    handler = VerificationHandler(quiet)
    built = support_chain(says("see 118"))
    for number in range(300):
        if number % 3 == 0:
            built.invoke(ASK, {"callbacks": [handler]})
        elif number % 3 == 1:
            for _ in built.stream(ASK, {"callbacks": [handler]}):
                break
        else:
            with pytest.raises(KeyError):
                built.invoke({"wrong": 1}, {"callbacks": [handler]})
    gc.collect()
    assert (handler.open_runs, len(handler._turns), len(handler._traces)) == (0, 0, 0)
    assert not handler.forgotten


def test_a_run_without_news_is_forgotten_after_its_time(quiet, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(handler_module.time, "monotonic", lambda: clock[0])
    handler = VerificationHandler(quiet, ttl_s=60)
    old, alive = uuid4(), uuid4()
    handler.on_chain_start({}, "q", run_id=old)
    handler.on_chain_start({}, "q", run_id=alive)
    clock[0] = 50
    handler.on_chain_start({}, "q", run_id=uuid4(), parent_run_id=alive)
    clock[0] = 70
    handler.on_chain_start({}, "q", run_id=uuid4())
    assert set(handler._turns) >= {alive}
    assert old not in handler._turns
    assert handler.forgotten == {"expired": 1}


def test_a_cancelled_call_that_never_reports_its_end_gives_way(quiet):
    handler = VerificationHandler(quiet, max_turns=1)
    first, second = uuid4(), uuid4()
    handler.on_chat_model_start({}, [[HumanMessage("q")]], run_id=first)
    handler.on_chat_model_start({}, [[HumanMessage("q")]], run_id=second)
    assert list(handler._turns) == [second]
    assert handler.open_runs == 1


def test_a_cancelled_ainvoke_leaves_nothing(quiet, server, chat):
    import threading

    from support.openai_server import Reply

    handler = VerificationHandler(quiet)
    gate = threading.Event()
    server.script(Reply("see 118", gate=gate))

    async def cancelled():
        built = support_chain(chat())
        task = asyncio.create_task(built.ainvoke(ASK, {"callbacks": [handler]}))
        await asyncio.to_thread(server.wait_for_requests, 1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    gate.set()
    assert (handler.open_runs, len(handler._turns)) == (0, 0)


def context_of(trace_id, span_id=1):
    span = NonRecordingSpan(SpanContext(trace_id, span_id, False, TraceFlags(1)))
    return trace.set_span_in_context(span)


def test_traces_are_bounded_in_number():
    kept = traces.Traces()
    for number in range(1, traces.MAX_TRACES + 50):
        kept.put(context_of(number), [Passage("x")])
    assert len(kept) == traces.MAX_TRACES
    assert kept.take(context_of(1)) is None
    assert kept.take(context_of(traces.MAX_TRACES)) == [Passage("x")]


def test_traces_are_bounded_in_time(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(traces.time, "monotonic", lambda: clock[0])
    kept = traces.Traces()
    kept.put(context_of(1), [Passage("x")])
    clock[0] = traces.TTL_S + 1
    assert kept.take(context_of(1)) is None
    kept.put(context_of(2), [Passage("y")])
    assert len(kept) == 1


def test_one_long_trace_is_bounded_inside():
    kept = traces.Traces()
    for span in range(1, traces.MAX_SPANS * 2):
        kept.put(context_of(1, span), [Passage("x")] * (traces.MAX_PASSAGES * 2))
    found = kept.take(context_of(1, 10**6))
    assert len(found) <= traces.MAX_SPANS * traces.MAX_PASSAGES
    assert len(kept._traces[1].searches) == traces.MAX_SPANS


def test_an_answer_by_hand_leaves_its_evidence_to_time(quiet):
    handler = VerificationHandler(quiet)
    Articles().invoke("118", {"callbacks": [handler]})
    assert (handler.open_runs, len(handler._traces)) == (0, 0)


def test_runs_that_are_let_be_are_bounded_too(cited, recorder, monkeypatch):
    monkeypatch.setattr(observer, "MAX_LET_BE", 100)
    none = Harness([cited], telemetry=recorder.telemetry(), sampling=Sampling(rate=0.0))
    handler = VerificationHandler(none)
    event_storm(handler, 2_000, seed=1)
    assert 0 < handler.open_runs <= 100
    assert not handler.forgotten
