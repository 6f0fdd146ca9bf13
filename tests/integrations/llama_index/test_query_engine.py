"""`VerifiedQueryEngine`: every way to ask, what comes back, and what passes through untouched."""

from __future__ import annotations

import asyncio
import threading

import pytest
from llama_index.core.base.response.schema import (
    AsyncStreamingResponse,
    PydanticResponse,
    Response,
    StreamingResponse,
)
from llama_index.core.query_engine import CustomQueryEngine, RouterQueryEngine
from llama_index.core.schema import QueryBundle
from llama_index.core.selectors import LLMSingleSelector
from llama_index.core.tools import QueryEngineTool
from pydantic import BaseModel
from support.llama_parts import (
    GENERATE,
    PERSON,
    REPAIR,
    REPAIRED,
    SHIPPED,
    VERIFY,
    Articles,
    Cited,
    ids,
)
from support.openai_server import Reply
from support.spantree import summary

from aucert_integrations.llama_index import VerifiedQueryEngine
from aucert_otel import ConfigurationError, HandedToPerson, Harness, Passage, Usage


openai = pytest.importorskip("openai")

ASK = "How long does delivery take?"
FLAVOURS = pytest.mark.parametrize("flavour", ["query", "aquery", "stream", "astream"])
TYPES = {
    "query": Response,
    "aquery": Response,
    "stream": StreamingResponse,
    "astream": AsyncStreamingResponse,
}


@pytest.fixture
def ask(engine, harness):
    """Ask in one of four ways; the response and its text."""

    def call(flavour, over=None, **options):
        if over is None:
            over = engine(streaming="stream" in flavour)
        verified = VerifiedQueryEngine(over, harness, **{"otherwise": PERSON, **options})

        async def later():
            response = await verified.aquery(ASK)
            if flavour == "aquery":
                return response, str(response)
            return response, [chunk async for chunk in response.response_gen]

        if flavour in {"aquery", "astream"}:
            return asyncio.run(later())
        response = verified.query(ASK)
        return response, str(response) if flavour == "query" else list(response.response_gen)

    return call


@FLAVOURS
def test_a_clean_answer_ships_in_the_engines_own_type(flavour, ask, server, cited, recorder):
    server.script(Reply("see 118 today"))
    response, said = ask(flavour)
    assert type(response) is TYPES[flavour]
    # A stream is replayed as it came, chunk by chunk.
    assert said == ("see 118 today" if "query" in flavour else ["", "see", " 118", " today", ""])
    (read,) = cited.read
    assert (read.output, read.question, ids(read)) == ("see 118 today", ASK, ["118", "140"])
    assert (read.model, read.finish_reason) == ("gpt-4o-mini", "stop")
    assert read.usage == (Usage(12, 7) if "query" in flavour else None)
    assert read.raw is response
    assert recorder.outline == SHIPPED


@FLAVOURS
def test_a_repaired_answer_is_made_from_the_same_nodes(flavour, ask, server, retriever, verdicts):
    server.script("see 212", "see 118")
    response, said = ask(flavour)
    assert type(response) is TYPES[flavour]
    assert "".join(said) == "see 118"
    assert retriever.asked == [ASK], "there is no second search"
    assert [node.node.metadata["id"] for node in response.source_nodes] == ["118", "140"]
    assert "search returned 118 and 140" in server.requests[1].last
    assert [ids(read) for read in verdicts.read] == [["118", "140"]] * 2
    assert verdicts.outline == REPAIRED


@FLAVOURS
def test_a_bad_answer_never_leaves_and_its_place_has_its_type(flavour, ask, server, recorder):
    server.script("see 212", "see 212")
    response, said = ask(flavour)
    assert type(response) is TYPES[flavour]
    assert said in (PERSON, [PERSON])
    trace_id = f"{recorder.span(GENERATE).context.trace_id:032x}"
    decided = {"verdict": "fail", "action": "person", "trace_id": trace_id}
    assert response.metadata["aucert"] == decided
    assert recorder.outline == REPAIRED


def test_the_whole_tree_of_a_shipped_answer(ask, server, recorder):
    server.script("see 118")
    ask("query")
    (root,) = recorder.tree
    (verify,) = root["children"]
    assert verify["attributes"]["aucert.verdict"] == "pass"
    assert verify["attributes"]["aucert.mode"] == "inline"
    assert root == {
        "name": GENERATE,
        "attributes": summary(verify["attributes"]),
        "children": [verify],
    }


@FLAVOURS
def test_what_the_engine_raises_passes_unchanged(flavour, ask, server, cited, recorder):
    server.script(Reply("no such key", status=401))
    with pytest.raises(openai.AuthenticationError, match="no such key"):
        ask(flavour)
    assert cited.read == []
    assert recorder.balance.settled()
    assert recorder.outline == [GENERATE]


@FLAVOURS
def test_a_repair_that_raises_hands_the_first_draft_to_a_person(flavour, ask, server, recorder):
    server.script("see 212", Reply("overloaded", status=500))
    _, said = ask(flavour)
    assert said in (PERSON, [PERSON])
    assert recorder.span(REPAIR).attributes["aucert.repair.outcome"] == "error"


@pytest.mark.parametrize("flavour", ["aquery", "astream"])
def test_a_cancelled_query_is_cancelled_and_closes_its_spans(
    flavour, engine, harness, server, verdicts
):
    gate = threading.Event()
    server.script(Reply("see 118", gate=gate))

    async def main():
        verified = VerifiedQueryEngine(
            engine(streaming=flavour == "astream"), harness, otherwise=PERSON
        )
        task = asyncio.create_task(verified.aquery(ASK))
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


def test_a_replayed_stream_that_is_abandoned_was_verified_already(ask, engine, harness, server):
    server.script("see 118 today")
    verified = VerifiedQueryEngine(engine(streaming=True), harness, otherwise=PERSON)
    stream = verified.query(ASK).response_gen
    next(stream)
    stream.close()
    assert list(stream) == []


@pytest.mark.parametrize("flavour", ["stream", "astream"])
def test_a_stream_that_breaks_raises_and_ships_nothing(flavour, ask, server, cited, recorder):
    broken = b'data: {"error": {"message": "overloaded"}}\n\n'
    server.script(Reply(raw=broken, content_type="text/event-stream"))
    with pytest.raises(openai.APIError, match="overloaded"):
        ask(flavour)
    assert cited.read == []
    assert recorder.outline == [GENERATE]


def test_ten_queries_at_once_do_not_mix(engine, harness, server, cited):
    server.answer = lambda request: Reply(request.last.rpartition("Query: ")[2].split("\n")[0])

    async def main():
        verified = VerifiedQueryEngine(engine(), harness, otherwise=PERSON)
        return await asyncio.gather(*(verified.aquery(f"q{n}") for n in range(10)))

    responses = asyncio.run(main())
    assert [str(response) for response in responses] == [f"q{n}" for n in range(10)]
    assert {(read.question, read.output) for read in cited.read} == {
        (f"q{n}", f"q{n}") for n in range(10)
    }


class Order(BaseModel):
    """An order."""

    number: int


@pytest.fixture
def structured(engine, llm):
    """An engine that answers with an instance of a class."""
    return engine(llm().as_structured_llm(Order))


@pytest.mark.parametrize("flavour", ["query", "aquery"])
def test_a_structured_answer_is_read_as_json_and_comes_back_as_the_object(
    flavour, ask, structured, server, verdicts
):
    server.script('{"number": 212}', '{"number": 118}')
    response, _ = ask(flavour, structured)
    assert type(response) is PydanticResponse
    assert response.response == Order(number=118)
    assert [read.output for read in verdicts.read] == ['{"number":212}', '{"number":118}']
    assert verdicts.outline == REPAIRED


def test_instead_of_a_structured_answer_there_is_a_plain_one(ask, structured, server):
    server.script('{"number": 212}', '{"number": 212}')
    response, said = ask("query", structured)
    assert (type(response), said) == (Response, PERSON)


# what the caller gets otherwise


def test_a_person_may_be_raised_or_told(ask, server):
    server.script(*["see 212"] * 4)
    with pytest.raises(HandedToPerson):
        ask("query", otherwise=HandedToPerson)
    response, said = ask("query", otherwise=lambda outcome: Response(outcome.action.value))
    assert (type(response), said) == (Response, "person")


def test_what_is_no_response_is_refused_with_a_sentence(ask, server):
    server.script("see 212", "see 212")
    with pytest.raises(TypeError, match="otherwise= gave int, where the caller expects a response"):
        ask("query", otherwise=lambda outcome: 7)


def test_a_coroutine_function_is_awaited_or_refused_before_anything_is_paid_for(ask, server):
    async def ticket(outcome):
        return f"ticket for {outcome.action.value}"

    with pytest.raises(ConfigurationError, match="use the asynchronous methods"):
        ask("query", otherwise=ticket)
    assert server.requests == []
    server.script("see 212", "see 212")
    assert ask("aquery", otherwise=ticket)[1] == "ticket for person"


class Bare(CustomQueryEngine):
    """An engine that searches nothing."""

    def custom_query(self, query_str):
        return Response("see 212")


def test_a_stronger_engine_answers_where_a_repair_cannot_help(ask, engine, server, verdicts):
    server.script("see 118")
    assert ask("query", Bare(), escalate=engine())[1] == "see 118"
    assert verdicts.outline == [(GENERATE, [VERIFY, ("aucert.escalate", [VERIFY])])]


def test_an_engine_that_cannot_synthesise_is_not_asked_twice(ask, cited):
    assert ask("query", Bare())[1] == PERSON
    (read,) = cited.read
    assert read.evidence is None, "an engine that never searches knows of no evidence"


# evidence


def test_a_search_that_found_nothing_is_a_fact(ask, server, cited, retriever):
    retriever.numbers = ()
    ask("query")
    assert [read.evidence for read in cited.read] == [()]


def test_explicit_evidence_wins(ask, server, cited):
    server.script("see 118")
    ask("query", evidence=lambda bundle, response: [f"about {bundle.query_str}"])
    assert cited.read[0].evidence == (Passage(f"about {ASK}"),)


def test_synthesize_is_verified_from_the_nodes_it_is_given(engine, harness, server, cited):
    verified = VerifiedQueryEngine(engine(), harness, otherwise=PERSON)
    nodes = Articles(["140"]).retrieve("q")
    server.script("see 212", "see 140", "see 140")
    assert str(verified.synthesize(QueryBundle("q"), nodes)) == "see 140"
    assert str(asyncio.run(verified.asynthesize(QueryBundle("q"), nodes))) == "see 140"
    assert [ids(read) for read in cited.read] == [["140"]] * 3


# inside others


def test_below_another_that_holds_the_answer_it_passes(ask, engine, llm, server, verdicts):
    unasked = Cited()
    inner = VerifiedQueryEngine(engine(), Harness([unasked]), otherwise="inner")
    tool = QueryEngineTool.from_defaults(inner, name="kb", description="articles")
    selector = LLMSingleSelector.from_defaults(llm=llm())
    server.script('[{"choice": 1, "reason": "r"}]', "see 118")
    router = RouterQueryEngine(selector=selector, query_engine_tools=[tool], llm=llm())
    assert ask("query", router)[1] == "see 118"
    assert (len(verdicts.read), len(unasked.read)) == (1, 0)
    assert verdicts.outline == SHIPPED


def test_it_shows_the_prompts_of_its_engine_and_takes_another_retriever(engine, harness, server):
    bare = engine()
    verified = VerifiedQueryEngine(bare, harness, otherwise=PERSON, tenant="acme")
    assert verified.get_prompts().keys() == bare.get_prompts().keys()
    assert [n.node.metadata["id"] for n in verified.retrieve(QueryBundle("q"))] == ["118", "140"]
    other = verified.with_retriever(Articles(["140"]))
    assert (type(other), other.tenant, other.otherwise) == (VerifiedQueryEngine, "acme", PERSON)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"engine": "index"}, r"VerifiedQueryEngine\(engine=str\): give a query engine"),
        ({"escalate": "index"}, r"VerifiedQueryEngine\(escalate=str\)"),
        ({"harness": None}, "give Harness"),
        ({"otherwise": None}, "otherwise=None"),
    ],
)
def test_a_mistake_is_refused_where_it_is_made(options, said, engine, harness):
    given = {"engine": engine(), "harness": harness, "otherwise": PERSON, **options}
    with pytest.raises(ConfigurationError, match=said):
        VerifiedQueryEngine(given.pop("engine"), given.pop("harness"), **given)
