"""`VerificationHandler`: what is verified, with what evidence, under which span, and what is not."""

from __future__ import annotations

import asyncio
import random
import threading
from contextvars import ContextVar
from uuid import uuid4

import pytest
from langchain_core.language_models import FakeListLLM, GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, LLMResult
from langchain_core.runnables import RunnableLambda, RunnableParallel, chain
from langchain_core.tools import tool
from opentelemetry import trace
from support.langchain_parts import ARTICLES, ASK, Articles, says, support_chain

from aucert_integrations.langchain import VerificationHandler, verified
from aucert_otel import (
    ConfigurationError,
    Finding,
    Generation,
    Harness,
    Match,
    Message,
    Passage,
    Sampling,
    Usage,
    Verdict,
)
from aucert_otel.telemetry import verifying


def on(handler, **metadata):
    return {"callbacks": [handler], "metadata": metadata}


def ids(generation):
    return None if generation.evidence is None else [p.id for p in generation.evidence]


@pytest.fixture
def tracer(recorder):
    return recorder.tracers.get_tracer("app")


# what is verified


def test_a_chain_is_verified_once_with_its_question_and_what_it_retrieved(handler, seen):
    assert support_chain(says("see 118")).invoke(ASK, on(handler)) == "see 118"
    (read,) = seen()
    assert (read.output, read.question, ids(read)) == ("see 118", ASK["question"], ["118", "140"])
    assert read.evidence == tuple(
        Passage(text, id=str(number), version="2") for number, text in ARTICLES.items()
    )
    assert [m.role for m in read.messages] == ["system", "user"]


def test_a_bare_model_is_a_root_run_of_its_own(handler, seen):
    message = says("see 118").invoke(
        [SystemMessage("Be brief."), HumanMessage("q1"), AIMessage("a1"), HumanMessage("q2")],
        on(handler),
    )
    (read,) = seen()
    assert (read.output, read.question, read.evidence) == (message.content, "q2", None)
    assert read.messages == (
        Message("system", "Be brief."),
        Message("user", "q1"),
        Message("assistant", "a1"),
        Message("user", "q2"),
    )


def test_a_completion_model_is_verified_too(handler, seen):
    FakeListLLM(responses=["see 118"]).invoke("q", on(handler))
    (read,) = seen()
    assert (read.output, read.question) == ("see 118", "q")


@pytest.mark.parametrize("flavour", ["invoke", "ainvoke", "stream", "astream", "batch", "abatch"])
def test_every_flavour_is_verified_alike(flavour, handler, seen):
    built = support_chain(says("see 118"))

    async def all_of():
        return [c async for c in built.astream(ASK, on(handler))]

    if flavour == "invoke":
        built.invoke(ASK, on(handler))
    elif flavour == "ainvoke":
        asyncio.run(built.ainvoke(ASK, on(handler)))
    elif flavour == "stream":
        assert "".join(built.stream(ASK, on(handler))) == "see 118"
    elif flavour == "astream":
        assert "".join(asyncio.run(all_of())) == "see 118"
    elif flavour == "batch":
        built.batch([ASK], on(handler))
    else:
        asyncio.run(built.abatch([ASK], on(handler)))
    (read,) = seen()
    assert (read.output, read.question, ids(read)) == ("see 118", ASK["question"], ["118", "140"])


def test_usage_model_and_finish_reason_come_from_the_message(handler, seen):
    written = AIMessage(
        "see 118",
        usage_metadata={
            "input_tokens": 10,
            "output_tokens": 4,
            "total_tokens": 14,
            "input_token_details": {"cache_read": 6},
            "output_token_details": {"reasoning": 1},
        },
        response_metadata={
            "model_name": "m-1",
            "finish_reason": "length",
            "logprobs": {"content": [{"token": "see", "logprob": -0.1}]},
        },
    )
    GenericFakeChatModel(messages=iter([written])).invoke("q", on(handler))
    (read,) = seen()
    assert (read.model, read.finish_reason) == ("m-1", "length")
    assert read.usage == Usage(10, 4, cached_input_tokens=6, reasoning_tokens=1)
    assert read.metadata["logprobs"]["content"][0]["token"] == "see"


def test_of_several_model_calls_the_one_the_chain_returned_is_the_answer(handler, seen):
    rewrite, answer, title = says("delivery time"), says("see 118"), says("A title")

    @chain
    def run(given):
        query = rewrite.invoke(given)
        reply = answer.invoke(query.content)
        title.invoke(reply.content)
        return reply.content

    assert run.invoke("how long?", on(handler)) == "see 118"
    (read,) = seen()
    assert (read.output, read.question) == ("see 118", "how long?")


def test_what_a_parser_made_of_the_text_is_the_answer(handler, seen):
    built = says("  SEE 118 ") | RunnableLambda(lambda m: m.content.strip().lower())
    built.invoke("q", on(handler))
    assert [read.output for read in seen()] == ["see 118"]


def test_steps_that_ask_for_tools_are_not_answers_and_tool_results_are_evidence(handler, seen):
    call = {"name": "order_status", "args": {"number": 7}, "id": "call_7", "type": "tool_call"}
    model = GenericFakeChatModel(
        messages=iter([AIMessage("", tool_calls=[call]), AIMessage("It ships on Monday.")])
    )

    @tool
    def order_status(number: int) -> str:
        """Say where an order is."""
        return f"order {number} ships on Monday"

    @chain
    def agent(question):
        messages = [HumanMessage(question)]
        step = model.invoke(messages)
        result = order_status.invoke(step.tool_calls[0])
        return model.invoke([*messages, step, result])

    agent.invoke("where is my order?", on(handler))
    (read,) = seen()
    assert read.output == "It ships on Monday."
    assert read.evidence == (Passage("order 7 ships on Monday", id="call_7", source_type="tool"),)


def test_a_run_that_ends_by_asking_for_tools_has_no_answer(handler, seen):
    call = {"name": "f", "args": {}, "id": "1", "type": "tool_call"}
    GenericFakeChatModel(messages=iter([AIMessage("thinking", tool_calls=[call])])).invoke(
        "q", on(handler)
    )
    assert seen() == []


def test_a_structured_answer_made_of_a_tool_call_is_verified_as_json(handler, seen):
    call = {"name": "Order", "args": {"number": 7}, "id": "1", "type": "tool_call"}
    built = GenericFakeChatModel(
        messages=iter([AIMessage("", tool_calls=[call])])
    ) | RunnableLambda(lambda m: m.tool_calls[0]["args"])
    assert built.invoke("q", on(handler)) == {"number": 7}
    assert [read.output for read in seen()] == ['{"number":7}']


def test_a_retriever_inside_a_tool_gives_its_documents_and_not_the_tools_digest(handler, seen):
    found = Articles()

    @tool
    def search(query: str) -> str:
        """Search."""
        return "\n".join(d.page_content for d in found.invoke(query))

    @chain
    def agent(question):
        search.invoke({"query": question})
        return says("see 118").invoke(question)

    agent.invoke("delivery?", on(handler))
    assert [ids(read) for read in seen()] == [["118", "140"]]


def test_a_search_that_found_nothing_is_not_the_same_as_no_search(handler, seen):
    class Nothing(Articles):
        def _get_relevant_documents(self, query, *, run_manager):
            return []

    support_chain(says("see 118"), Nothing()).invoke(ASK, on(handler))
    assert [read.evidence for read in seen()] == [()]


def test_what_is_said_outright_wins(handler, seen):
    support_chain(says("see 118")).invoke(
        ASK,
        on(
            handler,
            aucert_evidence=["from the application"],
            aucert_question="the real question",
            aucert_tenant="acme",
        ),
    )
    (read,) = seen()
    assert read.evidence == (Passage("from the application"),)
    assert (read.question, read.tenant) == ("the real question", "acme")


def test_the_handlers_tenant_is_the_default(harness, cited):
    says("see 118").invoke("q", on(VerificationHandler(harness, tenant="acme")))
    harness.flush(20)
    assert [read.tenant for read in cited.read] == ["acme"]


# searches made by hand


def test_a_search_by_hand_is_found_again_by_the_trace(handler, seen, tracer):
    with tracer.start_as_current_span("request"):
        Articles().invoke("delivery", on(handler))
        says("see 118").invoke("q", on(handler))
    assert [ids(read) for read in seen()] == [["118", "140"]]


def test_without_a_trace_a_search_by_hand_is_nobodys(handler, seen):
    Articles().invoke("delivery", on(handler))
    says("see 118").invoke("q", on(handler))
    assert [ids(read) for read in seen()] == [None]


def test_a_new_search_in_the_trace_begins_a_new_turn(handler, seen, tracer):
    with tracer.start_as_current_span("session"):
        for query in ("118", "140"):
            Articles().invoke(query, on(handler))
            says(f"see {query}").invoke(query, on(handler))
    assert sorted((read.output, ids(read)) for read in seen()) == [
        ("see 118", ["118"]),
        ("see 140", ["140"]),
    ]


def test_a_rewritten_question_does_not_use_up_the_evidence(handler, seen, tracer):
    with tracer.start_as_current_span("request"):
        Articles().invoke("118", on(handler))
        says("a better question").invoke("q", on(handler))
        says("see 118").invoke("a better question", on(handler))
    assert {read.output: ids(read) for read in seen()}["see 118"] == ["118"]


def test_parallel_turns_of_one_trace_stay_apart_by_their_spans(handler, seen, tracer):
    async def one(query):
        with tracer.start_as_current_span("turn"):
            await Articles().ainvoke(query, on(handler))
            await asyncio.sleep(0)
            await says(f"see {query}").ainvoke(query, on(handler))

    async def both():
        with tracer.start_as_current_span("request"):
            await asyncio.gather(one("118"), one("140"))

    asyncio.run(both())
    assert sorted((read.output, ids(read)) for read in seen()) == [
        ("see 118", ["118"]),
        ("see 140", ["140"]),
    ]


# no mixing


def queries(number):
    return [{"question": f"{article}? #{n}"} for n, article in enumerate([118, 140] * number)]


def check(read):
    assert ids(read) == [read.question[:3]]


@pytest.mark.parametrize("flavour", ["batch", "abatch"])
def test_a_batch_does_not_mix_evidence(flavour, handler, seen):
    built = support_chain(says("see it"))
    if flavour == "batch":
        built.batch(queries(10), {**on(handler), "max_concurrency": 8})
    else:
        asyncio.run(built.abatch(queries(10), on(handler)))
    assert len(seen()) == 20
    for read in seen():
        check(read)


def test_threads_share_one_handler_without_mixing(handler, seen):
    built = support_chain(says("see it"))
    barrier = threading.Barrier(8)

    def work(given):
        barrier.wait()
        built.invoke(given, on(handler))

    threads = [threading.Thread(target=work, args=(q,)) for q in queries(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen()) == 8
    for read in seen():
        check(read)


def test_parallel_branches_are_one_run_with_one_verification(handler, seen):
    RunnableParallel(a=says("see 118"), b=says("see 118")).invoke("q", on(handler))
    assert [read.output for read in seen()] == ["see 118"]


# what is not verified


class BrokenError(Exception):
    pass


def broken(_):
    raise BrokenError("the very message")


def test_a_chain_that_raises_raises_unchanged_and_is_not_verified(handler, seen):
    built = support_chain(says("see 118")) | RunnableLambda(broken)
    with pytest.raises(BrokenError, match="the very message"):
        built.invoke(ASK, on(handler))
    assert seen() == []


def test_an_abandoned_stream_is_no_finished_answer(handler, seen):
    built = support_chain(says("see 118 and more"))
    for _ in built.stream(ASK, on(handler)):
        break
    asked = says("see 118 and more").stream("q", on(handler))
    next(asked)
    asked.close()
    assert seen() == []


def test_an_abandoned_asynchronous_stream_is_no_finished_answer(handler, seen):
    built = says("see 118 and more")

    async def only_model():
        stream = built.astream("q", on(handler))
        await anext(stream)
        await stream.aclose()

    async def only_chain():
        stream = support_chain(built).astream(ASK, on(handler))
        await anext(stream)
        await stream.aclose()

    asyncio.run(only_model())
    asyncio.run(only_chain())
    assert seen() == []


def test_an_abandoned_answer_does_not_promote_an_earlier_model_call(handler, seen):
    rewrite = says("a better question") | RunnableLambda(lambda m: m.content)
    stream = (rewrite | says("see 118 and more")).stream("q", on(handler))
    next(stream)
    stream.close()
    del stream
    assert seen() == []


def test_control_flow_is_neither_an_answer_nor_a_fault(handler, seen, production):
    class GraphBubbleUp(Exception):  # noqa: N818 - LangGraph's own name
        pass

    class GraphInterrupt(GraphBubbleUp):
        pass

    def pause(_):
        raise GraphInterrupt

    with pytest.raises(GraphInterrupt):
        (says("see 118") | RunnableLambda(pause)).invoke("q", on(handler))
    assert seen() == []


def test_a_fallback_answers_and_the_failed_call_does_not(handler, seen):
    failing = RunnableLambda(broken)
    assert (failing.with_fallbacks([says("see 118")])).invoke("q", on(handler)).content == "see 118"
    assert [read.output for read in seen()] == ["see 118"]


def test_an_end_without_a_start_is_tolerated(handler, seen):
    result = LLMResult(generations=[[ChatGeneration(message=AIMessage("late"))]])
    handler.on_llm_end(result, run_id=uuid4())
    handler.on_llm_error(BrokenError(), run_id=uuid4())
    handler.on_chain_end({"x": 1}, run_id=uuid4(), parent_run_id=uuid4())
    handler.on_chain_error(BrokenError(), run_id=uuid4())
    handler.on_retriever_end([], run_id=uuid4())
    handler.on_tool_end(ToolMessage("x", tool_call_id="1"), run_id=uuid4())
    handler.on_tool_error(BrokenError(), run_id=uuid4())
    assert seen() == []


def test_a_judges_own_call_is_never_verified(handler, seen):
    token = verifying.set(True)
    try:
        says("see 118").invoke("q", on(handler))
    finally:
        verifying.reset(token)
    assert seen() == []


def test_a_judge_built_on_langchain_is_not_verified_by_the_global_hook(recorder):
    var = ContextVar("global_handler", default=None)
    hook(var)
    read = []

    async def judge(generation):
        read.append(generation.output)
        assert (await says("the judge speaks").ainvoke("judge this")).content
        return Finding("judged", Verdict.PASS)

    harness = Harness([judge], telemetry=recorder.telemetry())
    var.set(VerificationHandler(harness))
    says("see 118").invoke("q")
    assert harness.flush(20)
    assert read == ["see 118"]


# it only observes


def test_a_fault_of_ours_never_reaches_the_application(harness, handler, production, seen):
    # Evidence that cannot be read is a fault of the caller's that observing must survive.
    assert says("see 118").invoke("q", on(handler, aucert_evidence=[object()])).content == "see 118"
    assert seen() == []


def test_messages_are_not_touched_and_the_cache_is_not_poisoned(handler, seen):
    from langchain_core.caches import InMemoryCache

    cache = InMemoryCache()
    model = says("see 212", "never asked", cache=cache)
    given = [HumanMessage("q")]
    before = model.invoke("q").model_dump()
    first, second = model.invoke(given, on(handler)), model.invoke(given, on(handler))
    same = ("content", "additional_kwargs", "response_metadata", "tool_calls")
    assert [first.model_dump()[k] for k in same] == [before[k] for k in same]
    assert [second.model_dump()[k] for k in same] == [before[k] for k in same]
    assert given == [HumanMessage("q")]
    assert len(seen()) == 2


def test_it_runs_inline_and_never_raises_by_itself(handler):
    assert (handler.run_inline, handler.raise_error) == (True, False)


def test_under_ainvoke_every_event_arrives_on_the_loops_own_thread(harness, seen):
    threads = set()

    class Watched(VerificationHandler):
        def _open(self, *args, **kwargs):
            threads.add(threading.current_thread())
            return super()._open(*args, **kwargs)

    asyncio.run(support_chain(says("see 118")).ainvoke(ASK, on(Watched(harness))))
    assert threads == {threading.main_thread()}


def hook(var):
    from langchain_core.tracers import context

    context.register_configure_hook(var, inheritable=True)


def test_a_global_hook_sees_every_run_once(handler, seen):
    var = ContextVar("every_run", default=None)
    hook(var)
    var.set(handler)
    support_chain(says("see 118")).invoke(ASK)
    asyncio.run(support_chain(says("see 118")).ainvoke(ASK))
    list(support_chain(says("see 118")).stream(ASK))
    support_chain(says("see 118")).batch([ASK, ASK])
    var.set(None)
    assert len(seen()) == 5


def test_an_answer_inside_verified_is_verified_once(handler, harness, seen, cited):
    held_back = verified(support_chain(says("see 118")), harness, otherwise="nobody")
    around = RunnableLambda(lambda x: x) | held_back | RunnableLambda(lambda x: x)
    around.invoke(ASK, on(handler))
    asyncio.run(around.ainvoke(ASK, on(handler)))
    around.batch([ASK, ASK], on(handler))
    held_back.invoke(ASK, on(handler))
    list(held_back.stream(ASK, on(handler)))
    assert len(seen()) == 6


def test_beside_an_answer_inside_verified_the_rest_is_observed(handler, harness, seen):
    held_back = verified(says("see 118"), harness, otherwise="nobody")
    text = RunnableLambda(lambda message: message.content)
    (held_back | text | says("and a summary")).invoke("q", on(handler))
    assert [read.output for read in seen()] == ["see 118", "and a summary"]


# spans


def test_the_verify_span_belongs_to_what_was_current_when_the_root_run_began(
    handler, seen, tracer, recorder
):
    @chain
    def busy(given):
        span = tracer.start_span("somebody else's")
        with trace.use_span(span, end_on_exit=True):
            return says("see 118").invoke(given)

    with tracer.start_as_current_span("request"):
        busy.invoke("q", on(handler))
    seen()
    assert recorder.outline == [("request", ["somebody else's", "aucert.verify reply"])]


def test_the_whole_tree_of_an_observed_answer(handler, seen, tracer, recorder):
    with tracer.start_as_current_span("request"):
        support_chain(says("see 212")).invoke(ASK, on(handler, aucert_tenant="acme"))
    seen()
    (root,) = recorder.tree
    (span,) = root["children"]
    assert span["name"] == "aucert.verify reply"
    kept = {k: v for k, v in span["attributes"].items() if "cost" not in k}
    kept.pop("aucert.cascade.version")
    assert kept == {
        "aucert.action": "repair",
        "aucert.action.row": "one_failure",
        "aucert.cascade.name": "reply",
        "aucert.certified": False,
        "aucert.confidence": 1.0,
        "aucert.criteria.failed": ["cited_ids"],
        "aucert.mode": "sampled",
        "aucert.reasons": ["unsupported"],
        "aucert.sampling.probability": 1.0,
        "aucert.stage.reached": 1,
        "aucert.stages": ["cited_ids=fail"],
        "aucert.tenant": "acme",
        "aucert.verdict": "fail",
    }


def test_what_sampling_does_not_choose_is_not_verified(cited, recorder):
    harness = Harness([cited], telemetry=recorder.telemetry(), sampling=Sampling(rate=0.0))
    handler = VerificationHandler(harness)
    support_chain(says("see 118")).invoke(ASK, on(handler))
    harness.flush(20)
    assert (cited.read, handler.open_runs) == ([], 0)


def test_sampled_and_not_chosen_by_its_trace_nothing_is_gathered(cited, recorder, tracer):
    harness = Harness([cited], telemetry=recorder.telemetry(), sampling=Sampling(rate=0.5))
    handler = VerificationHandler(harness)
    kept = 0
    for _ in range(40):
        with tracer.start_as_current_span("request") as span:
            lower = span.get_span_context().trace_id & ((1 << 64) - 1)
            kept += lower < 1 << 63
            support_chain(says("see 118")).invoke(ASK, on(handler))
    harness.flush(20)
    assert len(cited.read) == kept
    assert (handler.open_runs, len(handler._turns)) == (0, 0)


def test_without_a_trace_one_draw_decides_for_a_root_run_and_all_below_it(
    cited, recorder, monkeypatch
):
    """Drawn again for each run below, most chains would have some model call verified."""
    monkeypatch.setattr(random, "getrandbits", random.Random(7).getrandbits)
    harness = Harness([cited], telemetry=recorder.telemetry(), sampling=Sampling(rate=0.5))
    handler = VerificationHandler(harness)
    built = support_chain(says("see 118"))
    for _ in range(100):
        built.invoke(ASK, on(handler))
    assert harness.flush(20)
    assert 25 < len(cited.read) < 75  # five standard deviations
    assert {span.attributes["aucert.sampling.probability"] for span in recorder.spans} == {0.5}
    # Each saw the whole chain, evidence included: no part of one was taken for a root run.
    assert {len(read.evidence) for read in cited.read} == {2}
    assert (handler.open_runs, len(handler._turns)) == (0, 0)


def test_a_tenant_that_is_never_verified_gathers_nothing_if_the_root_run_names_it(cited, recorder):
    opened = []

    class Watched(VerificationHandler):
        def _begun(self, run_id, inputs, metadata):
            opened.append(super()._begun(run_id, inputs, metadata))
            return opened[-1]

    sampling = Sampling(rate=1.0, never=(Match(tenant="acme"),))
    handler = Watched(Harness([cited], telemetry=recorder.telemetry(), sampling=sampling))
    support_chain(says("see 118")).invoke(ASK, on(handler, aucert_tenant="acme"))
    assert opened == [None]
    support_chain(says("see 118")).invoke(ASK, on(handler, aucert_tenant="other"))
    assert handler.harness.flush(20)
    assert len(opened) == 2
    assert [read.tenant for read in cited.read] == ["other"]


def test_rules_about_the_answer_are_asked_whatever_the_trace_says(cited, recorder):
    sampling = Sampling(rate=0.0, always=(Match(tenant="acme"),))
    handler = VerificationHandler(
        Harness([cited], telemetry=recorder.telemetry(), sampling=sampling)
    )
    says("see 118").invoke("q", on(handler, aucert_tenant="other"))
    says("see 118").invoke("q", on(handler, aucert_tenant="acme"))
    handler.harness.flush(20)
    assert [read.tenant for read in cited.read] == ["acme"]


def test_limits_that_cannot_work_are_refused(harness):
    with pytest.raises(ConfigurationError, match=r"max_turns=0, .*both must be positive"):
        VerificationHandler(harness, max_turns=0)


def test_generations_are_frozen_data_of_the_core(handler, seen):
    says("see 118").invoke("q", on(handler))
    assert all(type(read) is Generation for read in seen())
