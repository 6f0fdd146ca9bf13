"""`verified`: every way to call a runnable, what comes back, and what passes through untouched."""

from __future__ import annotations

import asyncio
import pickle
import threading

import pytest
from langchain_core.language_models import FakeListLLM, GenericFakeChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.runnables import Runnable, RunnableLambda, chain
from pydantic import BaseModel
from support.langchain_parts import (
    ASK,
    Articles,
    before_parser,
    cited_pickled,
    says,
    support_chain,
)

from aucert_integrations.langchain import VerifiedRunnable, verified
from aucert_otel import (
    ConfigurationError,
    Finding,
    Generation,
    HandedToPerson,
    Harness,
    Passage,
    Usage,
    Verdict,
)
from aucert_otel.telemetry import verifying


PERSON = "A colleague will answer."
TREE = [("aucert.generate reply", ["aucert.verify reply"])]


def only_ids(generation):
    return [p.id for p in generation.evidence or ()]


def call(runnable, flavour, given, config=None):
    """Call in one of six ways; always the one output."""

    async def streamed():
        return [chunk async for chunk in runnable.astream(given, config)]

    if flavour == "invoke":
        return runnable.invoke(given, config)
    if flavour == "ainvoke":
        return asyncio.run(runnable.ainvoke(given, config))
    if flavour == "batch":
        (one,) = runnable.batch([given], config)
        return one
    if flavour == "abatch":
        (one,) = asyncio.run(runnable.abatch([given], config))
        return one
    (one,) = (
        list(runnable.stream(given, config)) if flavour == "stream" else asyncio.run(streamed())
    )
    return one


FLAVOURS = pytest.mark.parametrize(
    "flavour", ["invoke", "ainvoke", "batch", "abatch", "stream", "astream"]
)


@FLAVOURS
def test_a_clean_answer_ships_in_every_flavour(flavour, harness, cited, recorder):
    built = verified(support_chain(says("see 118")), harness, otherwise=PERSON)
    assert call(built, flavour, ASK) == "see 118"
    (read,) = cited.read
    assert (read.question, only_ids(read)) == (ASK["question"], ["118", "140"])
    assert recorder.outline == TREE


@FLAVOURS
def test_a_bad_answer_never_leaves_in_any_flavour(flavour, harness, recorder):
    built = verified(support_chain(says("see 212")), harness, otherwise=PERSON)
    assert call(built, flavour, ASK) == PERSON
    assert recorder.outline == [
        (
            "aucert.generate reply",
            ["aucert.verify reply", ("aucert.repair", ["aucert.verify reply"])],
        )
    ]
    assert recorder.span("aucert.generate reply").attributes["aucert.action"] == "person"


@FLAVOURS
def test_a_repaired_answer_ships_in_every_flavour(flavour, harness, recorder):
    built = verified(support_chain(says("see 212", "see 118")), harness, otherwise=PERSON)
    assert call(built, flavour, ASK) == "see 118"
    assert recorder.span("aucert.repair").attributes["aucert.repair.outcome"] == "passed"


# what comes back


def test_a_message_that_ships_is_the_very_object_and_is_not_touched(harness):
    written = AIMessage("see 118", id="m1", response_metadata={"finish_reason": "stop"})
    before = written.model_dump()
    model = RunnableLambda(lambda _: written)
    assert verified(model, harness, otherwise=PERSON).invoke("q") is written
    assert written.model_dump() == before


def test_the_one_chunk_of_a_stream_is_a_chunk_that_adds_up(harness):
    written = AIMessage(
        "see 118",
        response_metadata={"finish_reason": "stop"},
        usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
    )
    built = verified(GenericFakeChatModel(messages=iter([written])), harness, otherwise=PERSON)
    (chunk,) = list(built.stream("q"))
    assert type(chunk) is AIMessageChunk
    assert (chunk.content, chunk.usage_metadata) == ("see 118", written.usage_metadata)
    assert (chunk + AIMessageChunk(content="!")).content == "see 118!"


def test_a_person_instead_of_a_message_is_a_message_that_says_so(harness, recorder):
    built = verified(says("see 212"), harness, otherwise=PERSON)
    message = built.invoke("q")
    assert (type(message), message.content) == (AIMessage, PERSON)
    trace_id = recorder.span("aucert.generate reply").context.trace_id
    assert message.response_metadata == {
        "aucert": {"verdict": "fail", "action": "person", "trace_id": f"{trace_id:032x}"}
    }


def test_a_person_may_be_a_function_of_the_outcome_or_raised(harness):
    built = support_chain(says("see 212"))
    told = verified(built, harness, otherwise=lambda outcome: [outcome.action.value])
    assert told.invoke(ASK) == ["person"]
    with pytest.raises(HandedToPerson) as caught:
        verified(built, harness, otherwise=HandedToPerson).invoke(ASK)
    assert [draft.generation.output for draft in caught.value.outcome.drafts] == ["see 212"] * 2


def test_an_asynchronous_otherwise_is_awaited(harness):
    async def ticket(outcome):
        await asyncio.sleep(0)
        return f"ticket for {outcome.action.value}"

    built = verified(support_chain(says("see 212")), harness, otherwise=ticket)
    assert asyncio.run(built.ainvoke(ASK)) == "ticket for person"


def test_a_dict_keeps_everything_but_its_answer(harness, cited):
    documents = [object()]
    built = RunnableLambda(lambda _: {"answer": "see 212", "context": documents})
    result = verified(built, harness, otherwise=PERSON).invoke({"question": "q", "n": 1})
    assert result == {"answer": PERSON, "context": documents}
    assert cited.read[0].output == "see 212"


def test_a_conversation_state_gets_its_last_message_replaced(harness, cited):
    answer = AIMessage("see 212", id="m2")
    asked = HumanMessage("q", id="m1")
    graph = RunnableLambda(lambda state: {"messages": [*state["messages"][:1], answer]})
    result = verified(graph, harness, otherwise=PERSON).invoke({"messages": [asked]})
    assert result["messages"][0] is asked
    assert (result["messages"][1].content, result["messages"][1].id) == (PERSON, "m2")
    assert (cited.read[0].output, cited.read[0].question) == ("see 212", "q")


class Order(BaseModel):
    number: int


@pytest.mark.parametrize(
    ("output", "text"),
    [
        (Order(number=7), '{"number":7}'),
        ({"number": 7, "tags": ["a"]}, '{"number":7,"tags":["a"]}'),
        ([Order(number=7)], '[{"number":7}]'),
        ({"raw": AIMessage("x"), "parsed": {"n": 1}, "parsing_error": None}, '{"n":1}'),
    ],
)
def test_a_structured_answer_is_read_as_json_and_returned_as_it_is(output, text, harness, cited):
    assert (
        verified(RunnableLambda(lambda _: output), harness, otherwise=PERSON).invoke("q") is output
    )
    assert [read.output for read in cited.read] == [text]


def test_an_output_nobody_can_read_is_named(harness):
    built = verified(RunnableLambda(lambda _: {"x": object()}), harness, otherwise=PERSON)
    with pytest.raises(TypeError, match=r"cannot read an answer off this dict: .* read="):
        built.invoke("q")


def test_read_says_what_the_answer_is(harness, cited):
    output = {"x": object(), "said": "see 118"}
    built = RunnableLambda(lambda _: output)
    assert (
        verified(built, harness, otherwise=PERSON, read=lambda o: o["said"]).invoke("q") is output
    )
    whole = verified(
        built, harness, otherwise=PERSON, read=lambda o: Generation(o["said"], model="m-1")
    )
    assert whole.invoke("q") is output
    assert [(read.output, read.model) for read in cited.read] == [
        ("see 118", None),
        ("see 118", "m-1"),
    ]


# what is known about the answer


def test_behind_a_parser_the_models_own_facts_are_still_known(harness, cited):
    written = AIMessage(
        "see 118",
        usage_metadata={"input_tokens": 9, "output_tokens": 2, "total_tokens": 11},
        response_metadata={"model_name": "m-1", "finish_reason": "stop"},
    )
    built = support_chain(GenericFakeChatModel(messages=iter([written])))
    verified(built, harness, otherwise=PERSON, tenant="acme").invoke(ASK)
    (read,) = cited.read
    assert (read.model, read.finish_reason, read.usage) == ("m-1", "stop", Usage(9, 2))
    assert (read.tenant, read.provider) == ("acme", "genericfakechatmodel")


def test_question_and_evidence_may_be_keys_or_functions_of_the_input(harness, cited):
    built = RunnableLambda(lambda _: "see 118")
    given = {"q": "why?", "docs": ["a"], "other": "text"}
    verified(built, harness, otherwise=PERSON, question="q", evidence="docs").invoke(given)
    verified(
        built,
        harness,
        otherwise=PERSON,
        question=lambda i: i["q"].upper(),
        evidence=lambda i: [*i["docs"], "b"],
    ).invoke(given)
    assert [(r.question, [p.text for p in r.evidence]) for r in cited.read] == [
        ("why?", ["a"]),
        ("WHY?", ["a", "b"]),
    ]


def test_a_key_that_is_not_there_is_named(harness):
    built = verified(says("x"), harness, otherwise=PERSON, question="topic")
    with pytest.raises(
        ConfigurationError,
        match=r"question='topic'\): the input has no such key; it is or has: a, b",
    ):
        built.invoke({"a": 1, "b": 2})


def test_what_the_config_says_wins(harness, cited):
    built = verified(support_chain(says("see 118")), harness, otherwise=PERSON, tenant="own")
    said = {"aucert_evidence": ["x"], "aucert_question": "y", "aucert_tenant": "z"}
    built.invoke(ASK, {"metadata": said})
    (read,) = cited.read
    assert (read.evidence, read.question, read.tenant) == ((Passage("x"),), "y", "z")


def test_evidence_that_cannot_be_read_is_the_callers_to_know(harness):
    built = verified(says("see 118"), harness, otherwise=PERSON)
    with pytest.raises(TypeError, match="evidence holds a int"):
        built.invoke("q", {"metadata": {"aucert_evidence": [3]}})


@pytest.mark.parametrize("flavour", ["batch", "abatch"])
def test_ten_answers_side_by_side_do_not_mix(flavour, harness, cited):
    built = verified(support_chain(says("see it")), harness, otherwise=PERSON)
    given = [{"question": f"{118 if n % 2 else 140}? #{n}"} for n in range(10)]
    if flavour == "batch":
        outputs = built.batch(given, {"max_concurrency": 5})
    else:
        outputs = asyncio.run(built.abatch(given))
    assert outputs == ["see it"] * 10
    assert sorted(r.question for r in cited.read) == sorted(g["question"] for g in given)
    for read in cited.read:
        assert only_ids(read) == [read.question[:3]]


# composing


def test_it_is_a_runnable_among_runnables(harness):
    built = verified(support_chain(says("see 118")), harness, otherwise=PERSON)
    assert isinstance(built, Runnable)
    assert isinstance(built, VerifiedRunnable)
    shout = built | RunnableLambda(str.upper)
    assert shout.invoke(ASK) == "SEE 118"
    assert built.pipe(StrOutputParser()).invoke(ASK) == "see 118"
    assert (
        "".join((RunnableLambda(lambda x: x) | built | StrOutputParser()).stream(ASK)) == "see 118"
    )
    assert built.get_graph().nodes
    assert built.get_input_schema().model_json_schema()
    assert built.get_output_schema().model_json_schema()


def test_with_config_reaches_what_is_inside(harness, cited):
    built = verified(support_chain(says("see 118")), harness, otherwise=PERSON)
    built.with_config(metadata={"aucert_tenant": "acme"}, tags=["t"], run_name="r").invoke(ASK)
    assert [read.tenant for read in cited.read] == ["acme"]


class FlakyError(Exception):
    pass


def flaky(times):
    left = [times]

    def step(given):
        left[0] -= 1
        if left[0] >= 0:
            raise FlakyError("not yet")
        return given

    return RunnableLambda(step)


def test_with_retry_calls_the_whole_again(harness, recorder):
    built = verified(flaky(1) | support_chain(says("see 118")), harness, otherwise=PERSON)
    assert built.with_retry(stop_after_attempt=2, wait_exponential_jitter=False).invoke(ASK) == (
        "see 118"
    )
    failed, passed = recorder.tree
    assert (failed["status"], failed["attributes"]["error.type"]) == (
        "ERROR: FlakyError",
        "FlakyError",
    )
    assert passed["attributes"]["aucert.verdict"] == "pass"


def test_with_fallbacks_a_person_can_be_another_chain(harness):
    built = verified(support_chain(says("see 212")), harness, otherwise=HandedToPerson)
    safe = built.with_fallbacks(
        [RunnableLambda(lambda _: "the safe answer")], exceptions_to_handle=(HandedToPerson,)
    )
    assert safe.invoke(ASK) == "the safe answer"


def test_call_arguments_reach_what_is_inside(harness):
    got = {}

    def model(given, **kwargs):
        got.update(kwargs)
        return "see 118"

    verified(RunnableLambda(model), harness, otherwise=PERSON).invoke("q", stop=["x"])
    assert got == {"stop": ["x"]}


def test_a_model_that_completes_text_can_be_repaired(harness, cited):
    built = verified(FakeListLLM(responses=["see 212", "see 118"]), harness, otherwise=PERSON)
    assert built.invoke("q") == "see 118"
    assert isinstance(cited.read[1].question, str)


def test_it_pickles_where_its_parts_do():
    built = verified(says("see 212", "see 118"), Harness([cited_pickled]), otherwise=PERSON)
    copied = pickle.loads(pickle.dumps(built))
    assert copied.invoke("q").content == "see 118"
    assert copied.harness.cascade.version == built.harness.cascade.version


def test_a_harness_that_holds_live_things_says_why_it_does_not_pickle(harness):
    built = verified(says("see 118"), harness, otherwise=PERSON)
    with pytest.raises(TypeError, match="a harness with its own telemetry cannot be pickled"):
        pickle.dumps(built)


def test_only_a_runnable_can_be_wrapped(harness):
    with pytest.raises(ConfigurationError, match=r"runnable=function\): give a Runnable"):
        verified(lambda q: q, harness, otherwise=PERSON)


# tools


def calling(*names, text=""):
    return AIMessage(
        text, tool_calls=[{"name": n, "args": {}, "id": n, "type": "tool_call"} for n in names]
    )


@FLAVOURS
def test_a_step_that_asks_for_tools_passes_unchecked(flavour, harness, cited, recorder):
    built = verified(GenericFakeChatModel(messages=iter([calling("f")])), harness, otherwise=PERSON)
    out = call(built, flavour, "q")
    assert [c["name"] for c in out.tool_calls] == ["f"]
    assert cited.read == []
    (span,) = recorder.spans
    assert (span.status.status_code.name, dict(span.attributes)) == ("UNSET", {})


def test_a_repair_that_asks_for_tools_has_not_repaired(harness, recorder):
    model = GenericFakeChatModel(messages=iter([AIMessage("see 212"), calling("f")]))
    assert verified(model, harness, otherwise=PERSON).invoke("q").content == PERSON
    assert recorder.span("aucert.repair").attributes["aucert.repair.outcome"] == "error"


def test_binding_tools_wraps_the_result_again(harness):
    class Model(GenericFakeChatModel):
        def bind_tools(self, tools, **kwargs):
            return self.bind(tools=tools, **kwargs)

    built = verified(Model(messages=iter(["see 118"])), harness, otherwise=PERSON, tenant="acme")
    bound = built.bind_tools(["t"], tool_choice="any")
    assert isinstance(bound, VerifiedRunnable)
    assert (bound.bound.kwargs, bound.tenant) == ({"tools": ["t"], "tool_choice": "any"}, "acme")
    assert built.bound is not bound.bound


def test_binding_tools_to_a_chain_says_where_to_do_it(harness):
    built = verified(support_chain(says("x")), harness, otherwise=PERSON)
    with pytest.raises(AttributeError, match="the verified RunnableSequence has no bind_tools"):
        built.bind_tools([])


# failures and control


@FLAVOURS
def test_what_the_runnable_raises_passes_as_the_very_object(flavour, harness, recorder):
    error = FlakyError("the very message")

    def broken(_):
        raise error

    built = verified(RunnableLambda(broken), harness, otherwise=PERSON)
    with pytest.raises(FlakyError) as caught:
        call(built, flavour, "q")
    assert caught.value is error
    assert recorder.balance.settled()
    (root,) = recorder.tree
    assert (root["name"], root["status"]) == ("aucert.generate broken", "ERROR: FlakyError")


def test_batch_hands_exceptions_back_where_asked(harness):
    built = verified(flaky(1), harness, otherwise=PERSON)
    first, second = built.batch(["a", "b"], {"max_concurrency": 1}, return_exceptions=True)
    assert (type(first), second) == (FlakyError, "b")


def test_a_graphs_interrupt_is_not_shown_as_an_error(harness, recorder):
    class GraphBubbleUp(Exception):  # noqa: N818 - LangGraph's own name
        pass

    class GraphInterrupt(GraphBubbleUp):
        pass

    def pause(_):
        raise GraphInterrupt

    with pytest.raises(GraphInterrupt):
        verified(RunnableLambda(pause), harness, otherwise=PERSON).invoke("q")
    (root,) = recorder.tree
    assert root == {"name": "aucert.generate pause"}


def test_cancellation_is_honoured_and_leaves_no_open_span(harness, recorder):
    started = asyncio.Event()

    async def slow(_):
        started.set()
        await asyncio.Event().wait()

    async def main():
        built = verified(RunnableLambda(slow), harness, otherwise=PERSON)
        task = asyncio.create_task(built.ainvoke("q"))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert recorder.balance.settled()
    (root,) = recorder.tree
    assert root["attributes"] == {"error.type": "CancelledError"}


def test_a_judges_own_call_passes_straight_through(harness, cited, recorder):
    token = verifying.set(True)
    try:
        assert verified(says("see 212"), harness, otherwise=PERSON).invoke("q").content == "see 212"
    finally:
        verifying.reset(token)
    assert (cited.read, recorder.spans) == ([], ())


def test_a_judge_made_of_a_verified_runnable_does_not_judge_itself(recorder):
    async def judge(generation):
        said = await judging.ainvoke("is it right?")
        return Finding("judged", Verdict.PASS, why=said.content)

    harness = Harness([judge], telemetry=recorder.telemetry(), name="reply")
    judging = verified(says("yes"), harness, otherwise=PERSON)
    assert verified(says("see 118"), harness, otherwise=PERSON).invoke("q").content == "see 118"
    assert [s.name for s in recorder.spans].count("aucert.verify reply") == 1


def test_inside_a_running_loop_the_plain_call_works_too(harness):
    async def main():
        return verified(support_chain(says("see 118")), harness, otherwise=PERSON).invoke(ASK)

    assert asyncio.run(main()) == "see 118"


def test_threads_share_one_wrapper(harness, cited):
    built = verified(support_chain(says("see it")), harness, otherwise=PERSON)
    barrier = threading.Barrier(6)
    given = [{"question": f"{118 if n % 2 else 140}? #{n}"} for n in range(6)]

    def work(question):
        barrier.wait()
        built.invoke(question)

    threads = [threading.Thread(target=work, args=(g,)) for g in given]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for read in cited.read:
        assert only_ids(read) == [read.question[:3]]
    assert len(cited.read) == 6


def test_the_llm_cache_keeps_what_the_model_said(harness):
    from langchain_core.caches import InMemoryCache

    model = says("see 212", cache=InMemoryCache())
    built = verified(model, harness, otherwise=PERSON)
    assert built.invoke("q").content == PERSON
    assert (model.invoke("q").content, model.invoke("q").response_metadata) == ("see 212", {})


def test_spans_of_the_application_below_are_children_of_the_generate_span(harness, recorder):
    tracer = recorder.tracers.get_tracer("app")

    @chain
    def traced(given):
        with tracer.start_as_current_span("peer chat"):
            return says("see 118").invoke(given)

    expected = [("aucert.generate traced", ["peer chat", "aucert.verify reply"])]
    verified(traced, harness, otherwise=PERSON).invoke("q")
    assert recorder.outline == expected
    recorder.spans_out.clear()
    asyncio.run(verified(traced, harness, otherwise=PERSON).ainvoke("q"))
    assert recorder.outline == expected


def test_the_draft_carries_the_tag_that_keeps_it_out_of_message_streams(harness):
    from langchain_core.callbacks import BaseCallbackHandler

    tags = []

    class Watch(BaseCallbackHandler):
        def on_chat_model_start(self, *args, **kwargs):
            tags.append(kwargs["tags"])

    verified(support_chain(says("x")), harness, otherwise=PERSON).invoke(
        ASK, {"callbacks": [Watch()], "tags": ["mine"]}
    )
    assert {"nostream", "mine"} <= set(tags[0])


def test_a_name_of_its_own_names_the_span(harness, recorder):
    verified(
        before_parser(says("x"), Articles()), harness, otherwise=PERSON, name="support"
    ).invoke(ASK)
    assert recorder.outline == [("aucert.generate support", ["aucert.verify reply"])]
