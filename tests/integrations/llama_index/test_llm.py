"""`VerifiedLLM`: every way to call a model, what comes back, and what passes through untouched."""

from __future__ import annotations

import asyncio
import threading

import pytest
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, CompletionResponse
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import MockLLM
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.prompts import PromptTemplate
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.tools import FunctionTool
from pydantic import BaseModel
from support.llama_parts import (
    GENERATE,
    PERSON,
    REPAIR,
    REPAIRED,
    SHIPPED,
    VERIFY,
    ids,
    truncated,
)
from support.openai_server import Reply, ToolCall

from aucert_integrations.llama_index import VerifiedLLM
from aucert_otel import ConfigurationError, HandedToPerson, Passage, Usage
from aucert_otel.telemetry import verifying


openai = pytest.importorskip("openai")

ASK = [ChatMessage("Answer in one line.", role="system"), ChatMessage("How long?")]
FLAVOURS = pytest.mark.parametrize("method", ["chat", "complete", "stream_chat", "stream_complete"])
TWICE = pytest.mark.parametrize("later", [False, True], ids=["sync", "async"])


@pytest.fixture
def model(llm, harness):
    def build(inner=None, **options):
        return VerifiedLLM(inner or llm(), harness, **{"otherwise": PERSON, **options})

    return build


def call(model, method, later, given=ASK, **kwargs):
    """Call a model in one of eight ways; always the list of its responses."""
    if method.endswith("complete") and given is ASK:
        given = "How long?"

    async def run():
        found = await getattr(model, f"a{method}")(given, **kwargs)
        return [chunk async for chunk in found] if method.startswith("stream") else [found]

    if later:
        return asyncio.run(run())
    found = getattr(model, method)(given, **kwargs)
    return list(found) if method.startswith("stream") else [found]


def texts(responses):
    return [r.message.content if isinstance(r, ChatResponse) else r.text for r in responses]


@FLAVOURS
@TWICE
def test_a_clean_answer_ships_as_it_came(method, later, model, server, verdicts):
    server.script("see 118 today")
    responses = call(model(), method, later)
    kind = ChatResponse if method.endswith("chat") else CompletionResponse
    assert {type(response) for response in responses} == {kind}
    assert texts(responses)[-1] == "see 118 today"
    if method.startswith("stream"):
        assert [response.delta for response in responses] == ["", "see", " 118", " today", ""]
    (read,) = verdicts.read
    assert (read.output, read.question, ids(read)) == ("see 118 today", "How long?", None)
    assert (read.model, read.finish_reason) == ("gpt-4o-mini", "stop")
    assert read.usage == (None if method.startswith("stream") else Usage(12, 7))
    assert verdicts.outline == SHIPPED


@FLAVOURS
@TWICE
def test_a_repaired_answer_ships(method, later, model, server, verdicts):
    server.script("see 212", "see 118")
    assert texts(call(model(), method, later))[-1] == "see 118"
    first, second = server.requests
    assert "search returned 118 and 140" in second.last
    if method.endswith("chat"):
        assert second.messages[:2] == first.messages
        assert second.messages[2] == {"role": "assistant", "content": "see 212"}
    assert verdicts.outline == REPAIRED


@FLAVOURS
@TWICE
def test_a_bad_answer_never_leaves(method, later, model, server, verdicts):
    server.script("see 212", "see 212")
    (response,) = call(model(), method, later)
    assert texts([response]) == [PERSON]
    assert response.delta == (PERSON if method.startswith("stream") else None)
    assert response.additional_kwargs["aucert"]["action"] == "person"
    assert verdicts.outline == REPAIRED


@FLAVOURS
@TWICE
def test_what_the_model_raises_passes_unchanged(method, later, model, server, verdicts):
    server.script(Reply("no such key", status=401))
    with pytest.raises(openai.AuthenticationError, match="no such key"):
        call(model(), method, later)
    assert verdicts.read == []
    assert verdicts.recorder.balance.settled()
    assert verdicts.outline == [GENERATE]


@TWICE
def test_a_repair_that_raises_hands_the_first_draft_to_a_person(later, model, server, verdicts):
    server.script("see 212", Reply("overloaded", status=500))
    assert texts(call(model(), "chat", later)) == [PERSON]
    assert verdicts.recorder.span(REPAIR).attributes["aucert.repair.outcome"] == "error"


@pytest.mark.parametrize("method", ["achat", "astream_chat"])
def test_a_cancelled_call_is_cancelled_and_closes_its_spans(method, model, server, verdicts):
    gate = threading.Event()
    server.script(Reply("see 118", gate=gate))

    async def main():
        async def read():
            found = await getattr(model(), method)(ASK)
            return [chunk async for chunk in found] if method.startswith("as") else found

        task = asyncio.create_task(read())
        await asyncio.to_thread(server.wait_for_requests, 1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    gate.set()
    assert verdicts.recorder.balance.settled()
    (root,) = verdicts.recorder.tree
    assert root["attributes"] == {"error.type": "CancelledError"}
    assert verdicts.read == []


def test_a_stream_nobody_reads_asks_nobody(model, server, verdicts):
    stream = model().stream_chat(ASK)
    stream.close()

    async def main():
        stream = await model().astream_chat(ASK)
        await stream.aclose()

    asyncio.run(main())
    assert (server.requests, verdicts.read, verdicts.outline) == ([], [], [])


def test_a_stream_that_is_abandoned_was_verified_already(model, server, verdicts):
    server.script("see 118 today")
    stream = model().stream_chat(ASK)
    next(stream)
    stream.close()
    assert verdicts.outline == SHIPPED


# tools


def look(q: str) -> str:
    """Look."""
    return f"found {q}"


CALL = Reply(None, tool_calls=[ToolCall("look", {"q": "x"})])


@pytest.mark.parametrize("method", ["chat", "stream_chat"])
@TWICE
def test_a_message_that_asks_for_tools_is_a_step(method, later, model, server, verdicts):
    server.script(CALL)
    tools = [FunctionTool.from_defaults(look)]
    name = f"{'a' if later else ''}{method}_with_tools"

    async def run():
        found = await getattr(model(), name)(tools, "q")
        return [chunk async for chunk in found] if method.startswith("stream") else [found]

    if later:
        responses = asyncio.run(run())
    else:
        found = getattr(model(), name)(tools, "q")
        responses = list(found) if method.startswith("stream") else [found]
    (wanted,) = model().get_tool_calls_from_response(responses[-1])
    assert (wanted.tool_name, wanted.tool_kwargs) == ("look", {"q": "x"})
    assert server.requests[0].body["tools"][0]["function"]["name"] == "look"
    assert verdicts.read == []
    assert verdicts.outline == [GENERATE]


@TWICE
def test_a_repair_that_asks_for_tools_is_no_repair(later, model, server, verdicts):
    server.script("see 212", CALL)
    assert texts(call(model(), "chat", later)) == [PERSON]
    assert verdicts.recorder.span(REPAIR).attributes["error.type"] == "NoAnswer"


def test_what_tools_said_since_the_human_spoke_is_evidence(model, server, cited):
    server.script("see 118")
    said = [
        ChatMessage("old question"),
        ChatMessage("old", role="tool", additional_kwargs={"tool_call_id": "c0"}),
        ChatMessage("old answer", role="assistant"),
        ChatMessage("new question"),
        ChatMessage(
            role="assistant",
            additional_kwargs={
                "tool_calls": [
                    {
                        "id": "c1",
                        "type": "function",
                        "function": {"name": "look", "arguments": "{}"},
                    }
                ]
            },
        ),
        ChatMessage("found", role="tool", additional_kwargs={"tool_call_id": "c1"}),
    ]
    model().chat(said[3:])
    assert cited.read[0].evidence == (Passage("found", id="c1", source_type="tool"),)
    assert cited.read[0].question == "new question"


# structured answers


class Order(BaseModel):
    """An order."""

    number: int


PROMPT = PromptTemplate("Which order is {text}?")


@pytest.mark.parametrize("method", ["structured_predict", "stream_structured_predict"])
@TWICE
def test_a_structured_answer_is_verified_as_json(method, later, model, server, verdicts):
    server.script('{"number": 212}', '{"number": 118}')
    found = predict(model(), method, later, text="{mine}")
    assert found == Order(number=118)
    assert [read.output for read in verdicts.read] == ['{"number":212}', '{"number":118}']
    assert verdicts.read[0].question == "Which order is {mine}?"
    assert [m["content"] for m in server.requests[1].messages[:2]] == [
        "Which order is {mine}?",
        '{"number":212}',
    ]
    assert verdicts.outline == REPAIRED


def predict(model, method, later, **args):
    async def run():
        found = await getattr(model, f"a{method}")(Order, PROMPT, **args)
        return [each async for each in found][-1] if method.startswith("stream") else found

    if later:
        return asyncio.run(run())
    found = getattr(model, method)(Order, PROMPT, **args)
    return list(found)[-1] if method.startswith("stream") else found


def test_a_structured_llm_made_of_it_is_verified(model, server, verdicts):
    server.script('{"number": 118}')
    response = model().as_structured_llm(Order).complete("which?")
    assert response.raw == Order(number=118)
    assert [read.output for read in verdicts.read] == ['{"number":118}']
    assert verdicts.outline == SHIPPED


def test_a_structured_answer_by_function_calling_is_verified_once(model, llm, server, verdicts):
    server.script(Reply(None, tool_calls=[ToolCall("Order", {"number": 118})]))
    old = model(llm(model="gpt-4-turbo"))
    assert predict(old, "structured_predict", False, text="x") == Order(number=118)
    assert [read.output for read in verdicts.read] == ['{"number":118}']
    assert verdicts.outline == SHIPPED


def test_instead_of_a_structured_answer_a_function_can_give_one(model, server):
    server.script(*['{"number": 212}'] * 2)
    other = model(otherwise=lambda outcome: Order(number=0))
    assert predict(other, "structured_predict", False, text="x") == Order(number=0)


# what it takes over, and what it does otherwise


@pytest.mark.parametrize(
    ("options", "kwargs", "limits"),
    [
        ({"max_tokens": 64}, {}, [64, 128]),
        ({}, {"max_tokens": 64}, [64, 128]),
        ({"additional_kwargs": {"max_tokens": 64}}, {}, [64, 128]),
        ({}, {}, [None, 14]),
    ],
)
@TWICE
def test_a_truncated_answer_is_asked_for_under_twice_the_ceiling(
    options, kwargs, limits, later, asks_for_the_whole
):
    assert asks_for_the_whole(options, later, **kwargs) == limits


@pytest.fixture
def asks_for_the_whole(llm, server, recorder):
    from aucert_otel import Harness

    def run(options, later, **kwargs):
        harness = Harness([truncated], telemetry=recorder.telemetry(), name="reply")
        inner = llm(**options)
        model = VerifiedLLM(inner, harness, otherwise=PERSON)
        server.script(Reply("It takes", finish_reason="length"), Reply("It takes 3 days."))
        assert texts(call(model, "chat", later, **kwargs)) == ["It takes 3 days."]
        assert inner.max_tokens == options.get("max_tokens"), "the user's model is not changed"
        return [request.body.get("max_tokens") for request in server.requests]

    return run


def test_logprobs_are_kept(model, server, cited):
    said = {"content": [{"token": "see", "logprob": -0.1, "bytes": None, "top_logprobs": []}]}
    server.script(Reply("see 118", logprobs=said))
    model().chat(ASK)
    assert cited.read[0].metadata["logprobs"]["content"][0]["logprob"] == -0.1


def test_a_refusal_is_read(model, server, cited):
    import json

    choice = {
        "index": 0,
        "finish_reason": "stop",
        "message": {"role": "assistant", "content": None, "refusal": "I cannot do that."},
    }
    body = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    server.script(Reply(raw=json.dumps(body).encode()))
    model().chat(ASK)
    assert cited.read[0].output == "I cannot do that."


def test_a_stronger_model_answers_where_a_repair_cannot_help(llm, server, recorder):
    from support.checks import no_evidence

    from aucert_otel import Harness

    harness = Harness([no_evidence], telemetry=recorder.telemetry(), name="reply")
    model = VerifiedLLM(llm(), harness, otherwise=PERSON, escalate=llm(model="gpt-4o"))
    server.script("bad", "good")
    assert texts([model.chat(ASK)]) == ["good"]
    assert [request.body["model"] for request in server.requests] == ["gpt-4o-mini", "gpt-4o"]
    assert recorder.outline == [(GENERATE, [VERIFY, ("aucert.escalate", [VERIFY])])]


def test_a_person_may_be_raised_told_or_awaited(model, server):
    async def ticket(outcome):
        return f"ticket for {outcome.action.value}"

    server.script(*["see 212"] * 6)
    with pytest.raises(HandedToPerson):
        model(otherwise=HandedToPerson).chat(ASK)
    told = model(otherwise=lambda outcome: ChatMessage("told", role="assistant"))
    assert texts([told.chat(ASK)]) == ["told"]
    assert texts(call(model(otherwise=ticket), "chat", True)) == ["ticket for person"]
    with pytest.raises(ConfigurationError, match="use the asynchronous methods"):
        model(otherwise=ticket).chat(ASK)
    assert len(server.requests) == 6


def test_what_cannot_stand_for_a_response_is_refused_with_a_sentence(model, server):
    server.script(*["see 212"] * 4)
    with pytest.raises(TypeError, match="otherwise= gave int, where the caller expects a chat"):
        model(otherwise=lambda outcome: 7).chat(ASK)
    with pytest.raises(TypeError, match="where the caller expects a completion"):
        model(otherwise=lambda outcome: 7).complete("q")


def test_explicit_evidence_wins(model, server, cited):
    server.script("see 118", "see 118")
    given = model(evidence=lambda asked: ["said"])
    given.chat(ASK)
    given.complete("q")
    assert [read.evidence for read in cited.read] == [(Passage("said"),)] * 2


def test_it_is_the_model_to_everybody_who_asks(model, llm):
    inner = llm(system_prompt="Be brief.")
    made = model(inner)
    assert made.metadata == inner.metadata
    assert made.to_payload() == inner.to_payload()
    assert (made.system_prompt, made.class_name()) == ("Be brief.", "VerifiedLLM")


def test_a_system_prompt_is_said_once(model, llm, server):
    server.script("see 118")
    made = model(llm(system_prompt="Be brief."))
    made.predict(PromptTemplate("Which {x}?"), x="order")
    assert [m["content"] for m in server.requests[0].messages] == ["Be brief.", "Which order?"]


def test_a_model_without_functions_can_be_held_back_and_says_so_when_asked_for_one(model, verdicts):
    made = model(MockLLM())
    assert made.complete("see 118").text == "see 118"
    assert [read.output for read in verdicts.read] == ["see 118"]
    with pytest.raises(TypeError, match="MockLLM cannot call functions"):
        made.chat_with_tools([FunctionTool.from_defaults(look)], "q")


def test_a_judges_own_call_passes(model, server, verdicts):
    server.script("see 212", "see 212")
    token = verifying.set(True)
    try:
        assert texts(call(model(), "chat", False)) == ["see 212"]
        assert texts(call(model(), "stream_chat", False))[-1] == "see 212"
    finally:
        verifying.reset(token)
    assert (verdicts.read, verdicts.outline) == ([], [])


def test_in_a_query_engine_it_knows_the_question_and_the_nodes(model, retriever, server, verdicts):
    server.script("see 118")
    engine = RetrieverQueryEngine.from_args(retriever, llm=model())
    assert str(engine.query("How long?")) == "see 118"
    (read,) = verdicts.read
    assert (read.question, ids(read)) == ("How long?", ["118", "140"])
    assert verdicts.outline == SHIPPED


def test_a_chat_engine_remembers_only_what_shipped(model, server, cited):
    server.script("see 212", "see 118", "see 140")
    # The default memory leaves a connection to its database open.
    memory = ChatMemoryBuffer.from_defaults(token_limit=3000)
    chat = SimpleChatEngine.from_defaults(llm=model(), memory=memory)
    assert chat.chat("How long?").response == "see 118"
    assert "".join(chat.stream_chat("And roses?").response_gen) == "see 140"
    assert [m.content for m in chat.chat_history] == [
        "How long?",
        "see 118",
        "And roses?",
        "see 140",
    ]
    assert len(cited.read) == 3


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"inner": "gpt"}, r"VerifiedLLM\(llm=str\): give a LlamaIndex LLM"),
        ({"escalate": "gpt"}, r"VerifiedLLM\(escalate=str\)"),
        ({"otherwise": None}, "otherwise=None"),
    ],
)
def test_a_mistake_is_refused_where_it_is_made(options, said, model):
    with pytest.raises(ConfigurationError, match=said):
        model(**options)
