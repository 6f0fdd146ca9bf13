"""What the checks read of an output: nothing a model writes can choose that some of it is skipped."""

from __future__ import annotations

import asyncio
import json
import os

import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.output_parsers import JsonOutputParser
from langchain_core.runnables import RunnableLambda, RunnablePassthrough, chain
from pydantic import BaseModel
from support.langchain_parts import ASK, says, support_chain

from aucert_integrations.langchain import VerificationHandler, verified
from aucert_integrations.langchain.content import MAX_UNREADABLE, checked_text
from aucert_integrations.langchain.shapes import text_of
from aucert_otel import ConfigurationError, Harness


PERSON = "A colleague will answer."
BAD = "see 212"
INVALID = {"name": "f", "args": '{"n": 212', "id": "1", "error": "e", "type": "invalid_tool_call"}


def writes(*messages):
    return GenericFakeChatModel(messages=iter(messages))


def shown(output):
    return str(output.content if isinstance(output, AIMessage) else output)


# the keys of a dict

WRITTEN = [
    {"reply": BAD},
    {"reply": BAD, "answer": "ok"},
    {"reply": BAD, "result": "ok"},
    {"answer": BAD, "output": "ok"},
    {"answer": "ok", "output": BAD},
    {"answer": [BAD], "output": "ok"},
    {"answer": {"text": BAD}, "response": ""},
    {"answer": "ok", "context": [{"page_content": BAD}]},
    {"answer": "ok", "see": 212},
    {"answer": "ok", BAD: None},
    {"answer": "ok", BAD: []},
    {"answer": "ok", "messages": [BAD]},
    {"reply": BAD, "raw": "", "parsed": {}},
    {"raw": BAD, "parsed": {}},
    {"answer": "ok", "question": BAD},
]


@pytest.mark.parametrize("parsed", WRITTEN, ids=json.dumps)
def test_a_key_that_the_model_wrote_never_chooses_what_is_checked(parsed, harness):
    built = writes(*[AIMessage(json.dumps(parsed))] * 2) | JsonOutputParser()
    assert verified(built, harness, otherwise=PERSON).invoke("q") == PERSON


@pytest.mark.parametrize("parsed", WRITTEN, ids=json.dumps)
def test_the_handler_reads_the_whole_of_what_the_model_wrote(parsed, handler, seen):
    text = json.dumps(parsed)

    @chain
    def two_calls(given):
        says("ok").invoke(given)  # an earlier call, whose text a later one can repeat as a value
        return (writes(AIMessage(text)) | JsonOutputParser()).invoke(given)

    two_calls.invoke("q", {"callbacks": [handler]})
    assert [read.output for read in seen()] == [text]


_LEAF = st.text(max_size=8) | st.integers() | st.booleans() | st.none()
_JSON = st.recursive(
    _LEAF,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)
_KEYS = st.sampled_from(
    ["answer", "output", "result", "response", "messages", "raw", "parsed"]
) | st.text(max_size=8)


@drawn(st.dictionaries(_KEYS, _JSON, max_size=5), st.sampled_from([*"abc", "reply", "answer"]))
def test_whatever_json_a_model_writes_a_text_anywhere_in_it_is_read(written, key):
    read = text_of({**written, key: {"x": ["see it here"]}}, "q")
    assert "see it here" in read


def test_what_the_application_passes_on_does_not_make_the_answer_a_structure(harness, cited):
    found = [Document("Standard delivery.", metadata={"id": "118"})]
    built = RunnablePassthrough.assign(
        context=lambda _: found, sources=lambda _: [], answer=lambda _: BAD
    )
    result = verified(built, harness, otherwise=PERSON).invoke({"question": "q 7", "top_k": 4})
    assert cited.read[0].output == BAD
    expected = {"context": found, "sources": [], "answer": PERSON}
    assert result == {"question": "q 7", "top_k": 4, **expected}
    asked = RunnableLambda(lambda text: {"question": text, "context": found, "answer": BAD})
    result = verified(asked, harness, otherwise=PERSON).invoke("q 7")
    assert (result["answer"], result["context"]) == (PERSON, found)


class Details(BaseModel):
    note: str


def test_a_model_instance_beside_an_answer_is_read_too(harness):
    built = RunnableLambda(lambda _: {"answer": "ok", "details": Details(note=BAD)})
    assert verified(built, harness, otherwise=PERSON).invoke("q") == PERSON


def test_an_empty_text_under_an_answers_key_does_not_hide_the_conversation(harness):
    state = {"messages": [HumanMessage("q"), AIMessage(BAD)], "answer": ""}
    result = verified(RunnableLambda(lambda _: state), harness, otherwise=PERSON).invoke("q")
    assert result["messages"][-1].content == PERSON


def test_where_nothing_could_be_parsed_the_raw_message_is_the_answer(harness):
    call = {"name": "f", "args": {"see": "see 212"}, "id": "1", "type": "tool_call"}
    for raw in (AIMessage(BAD), AIMessage("", tool_calls=[call])):
        output = {"raw": raw, "parsed": None, "parsing_error": ValueError("no")}
        built = verified(RunnableLambda(lambda _, output=output: output), harness, otherwise=PERSON)
        assert built.invoke("q") == PERSON


# calls nobody can follow


def test_what_stands_beside_an_invalid_call_is_verified(harness, handler, seen):
    message = AIMessage(BAD, invalid_tool_calls=[INVALID])
    assert (
        shown(verified(writes(message, message), harness, otherwise=PERSON).invoke("q")) == PERSON
    )
    writes(message).invoke("q", {"callbacks": [handler]})
    assert [read.output for read in seen()] == [BAD] * 3


def test_an_invalid_call_alone_is_no_empty_answer(harness, cited):
    message = AIMessage("", invalid_tool_calls=[INVALID])
    verified(writes(message, message), harness, otherwise=PERSON).invoke("q")
    assert json.loads(cited.read[0].output)["args"] == INVALID["args"]


# blocks

OK = {"type": "text", "text": "ok"}
BLOCKS = [
    [OK, {"type": "refusal", "refusal": BAD}],
    [OK, {"type": "tool_result", "text": BAD}],
    [OK, {"type": "tool_result", "content": [{"type": "text", "text": BAD}]}],
    [{"type": "text", "text": ["x", BAD]}],
    [{"type": "text", "text": {"value": BAD}}],
    [{"type": "text", "content": BAD}],
    [{"type": "text", "note": BAD}],
    [{"type": "reasoning", "text": BAD}],
    [OK, {"type": "reasoning", "text": BAD}],
    [{"type": "thinking", "thinking": BAD}],
    [{"type": "reasoning", "summary": [{"type": "summary_text", "text": BAD}]}],
    [OK, {"type": "plain_text", "text": BAD}],
    [OK, {"type": "text-plain", "text": BAD}],
    [OK, {"type": "card", "title": BAD}],
    [OK, {"type": "card", "text": "ok", "title": BAD}],
    [OK, {"type": ["odd"], "title": BAD}],
    [OK, {"type": "image", "url": f"https://example.com/{BAD}.png"}],
    ["ok", BAD],
]


@pytest.mark.parametrize("blocks", BLOCKS, ids=str)
def test_text_in_a_block_of_any_type_is_verified(blocks, harness, handler, seen):
    message = AIMessage(blocks)
    assert (
        shown(verified(writes(message, message), harness, otherwise=PERSON).invoke("q")) == PERSON
    )
    writes(message).invoke("q", {"callbacks": [handler]})
    assert [BAD in read.output for read in seen()] == [True] * 3


def test_a_refusal_beside_the_content_is_verified(harness):
    message = AIMessage("", additional_kwargs={"refusal": BAD})
    assert (
        shown(verified(writes(message, message), harness, otherwise=PERSON).invoke("q")) == PERSON
    )


def test_plain_text_runs_on_and_the_way_to_it_is_left_out():
    message = AIMessage(
        [
            {"type": "thinking", "thinking": "Is it 212?", "signature": "s"},
            {"type": "text", "text": "see 1", "citations": [{"cited_text": "212"}]},
            {"type": "web_search_call", "id": "ws_212", "status": "completed"},
            {"type": "text", "text": "18"},
        ]
    )
    assert checked_text(message) == "see 118"


def test_what_nobody_can_read_is_bounded_and_says_so():
    text = checked_text(AIMessage([OK, {"type": "video", "data": "x" * 100_000}]))
    assert text.startswith('ok\n{"data":"xxx')
    assert text.endswith("characters more]")
    assert len(text) < MAX_UNREADABLE + 100


@pytest.mark.parametrize(
    "odd",
    [object(), b"\xff", "\ud800", {"deep": None}],
    ids=["an object", "bytes", "a surrogate", "a deep one"],
)
def test_a_value_that_is_no_json_is_not_taken_for_nothing(odd):
    for _ in range(400 if isinstance(odd, dict) else 0):
        odd = {"deep": odd}
    assert checked_text(AIMessage([{"type": "odd", "value": odd}]))


# otherwise, harness


async def ticket(outcome):
    return f"ticket for {outcome.action.value}"


class Desk:
    async def __call__(self, outcome):
        return await ticket(outcome)


CALLS = [
    lambda built: built.invoke(ASK),
    lambda built: built.batch([ASK]),
    lambda built: list(built.stream(ASK)),
]


@pytest.mark.parametrize("otherwise", [ticket, Desk()], ids=["function", "object"])
@pytest.mark.parametrize("call", CALLS, ids=["invoke", "batch", "stream"])
def test_a_coroutine_function_is_refused_before_anything_is_written(call, otherwise, harness):
    asked = []
    built = verified(RunnableLambda(asked.append), harness, otherwise=otherwise)
    with pytest.raises(ConfigurationError, match=r"called without await: use ainvoke"):
        call(built)
    assert asked == []


def test_a_function_that_turns_out_to_want_an_await_is_refused_too(harness):
    def later(outcome):
        return ticket(outcome)

    built = verified(support_chain(says(BAD)), harness, otherwise=later)
    with pytest.raises(ConfigurationError, match="called without await"):
        built.invoke(ASK)
    assert asyncio.run(built.ainvoke(ASK)) == "ticket for person"


@pytest.mark.parametrize("otherwise", [None, 3, ["x"], AIMessage("x")], ids=repr)
def test_an_otherwise_that_is_neither_text_nor_function_is_refused_where_it_is_given(
    otherwise, harness
):
    with pytest.raises(ConfigurationError, match=r"verified\(\) was given otherwise="):
        verified(says("x"), harness, otherwise=otherwise)


@pytest.mark.parametrize("given", [None, "support", Harness, [len]], ids=repr)
def test_what_is_no_harness_is_refused_where_it_is_given(given):
    with pytest.raises(ConfigurationError, match=r"verified\(\) was given .* as its harness"):
        verified(says("x"), given, otherwise=PERSON)
    with pytest.raises(ConfigurationError, match=r"VerificationHandler\(\) was given"):
        VerificationHandler(given)


# a fork


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_lock_held_at_a_fork_is_free_in_the_child(handler):
    with handler._lock:
        child = os.fork()
        if child == 0:
            os._exit(0 if handler._lock.acquire(blocking=False) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
