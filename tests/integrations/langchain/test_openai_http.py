"""A real `ChatOpenAI` over HTTP: JSON, streams, usage, faults, cancellation, and the demo's own chain."""

from __future__ import annotations

import asyncio
import threading

import pytest
from langchain_core.output_parsers import StrOutputParser
from pydantic import BaseModel
from support.langchain_parts import ASK, Cited, before_parser, support_chain, truncated
from support.openai_server import OpenAIServer, Reply, ToolCall

from aucert_integrations.langchain import VerificationHandler, verified
from aucert_otel import Harness, Usage


openai = pytest.importorskip("openai")

PERSON = "A colleague will answer."


@pytest.fixture
def both(cited, recorder):
    """Cited articles and truncation, as two stages of one cascade."""
    from aucert_otel import Stage, Verdict

    only_fail = frozenset({Verdict.FAIL})
    stages = [Stage(truncated, settles=only_fail), Stage(cited)]
    return Harness(stages, telemetry=recorder.telemetry(), name="support")


def observing(handler):
    return {"callbacks": [handler]}


def test_observed_json_has_everything_the_provider_said(handler, seen, server, chat):
    server.script(Reply("see 118", usage=(21, 4), finish_reason="length", model="scripted-1"))
    assert support_chain(chat()).invoke(ASK, observing(handler)) == "see 118"
    (read,) = seen()
    assert (read.model, read.provider, read.finish_reason) == ("scripted-1", "openai", "length")
    assert (read.usage.input_tokens, read.usage.output_tokens) == (21, 4)
    assert read.question == ASK["question"]


def test_a_stream_without_usage_has_an_unknown_usage(handler, seen, server, chat):
    server.script(Reply("see 118 today"))
    built = support_chain(chat(stream_usage=False))
    assert list(built.stream(ASK, observing(handler)))[-2:] != ["see 118 today"]
    (read,) = seen()
    assert (read.output, read.usage, read.finish_reason) == ("see 118 today", None, "stop")
    assert "stream_options" not in server.requests[0].body


def test_a_stream_with_usage_has_it(handler, seen, server, chat):
    server.script(Reply("see 118 today", usage=(21, 4)))

    async def main():
        built = support_chain(chat(stream_usage=True))
        return "".join([c async for c in built.astream(ASK, observing(handler))])

    assert asyncio.run(main()) == "see 118 today"
    (read,) = seen()
    assert (read.output, read.usage.output_tokens) == ("see 118 today", 4)


def test_logprobs_are_kept(handler, seen, server, chat):
    said = {"content": [{"token": "see", "logprob": -0.1, "bytes": None, "top_logprobs": []}]}
    server.script(Reply("see 118", logprobs=said))
    chat(logprobs=True).invoke("q", observing(handler))
    (read,) = seen()
    assert read.metadata["logprobs"]["content"][0]["logprob"] == -0.1


def test_a_provider_error_passes_unchanged_and_is_not_verified(
    handler, harness, seen, server, chat
):
    server.script(Reply("no such key", status=401), Reply("no such key", status=401))
    with pytest.raises(openai.AuthenticationError, match="no such key"):
        support_chain(chat()).invoke(ASK, observing(handler))
    with pytest.raises(openai.AuthenticationError, match="no such key"):
        verified(support_chain(chat()), harness, otherwise=PERSON).invoke(ASK)
    assert seen() == []


def test_an_abandoned_stream_is_not_verified_and_leaves_nothing(handler, seen, server, chat):
    server.script(Reply("see 118 and much more"), Reply("see 118 and much more"))
    stream = support_chain(chat()).stream(ASK, observing(handler))
    next(stream)
    stream.close()
    del stream

    async def main():
        stream = support_chain(chat()).astream(ASK, observing(handler))
        await anext(stream)
        await stream.aclose()

    asyncio.run(main())
    assert seen() == []


def test_a_cancelled_call_is_cancelled_and_closes_its_spans(harness, recorder, server, chat):
    gate = threading.Event()
    server.script(Reply("see 118", gate=gate))

    async def main():
        built = verified(support_chain(chat()), harness, otherwise=PERSON)
        task = asyncio.create_task(built.ainvoke(ASK))
        await asyncio.to_thread(server.wait_for_requests, 1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    gate.set()
    assert recorder.balance.settled()
    (root,) = recorder.tree
    assert root["attributes"] == {"error.type": "CancelledError"}


# the demo's chain, in one line


def test_the_wrong_article_is_repaired(both, server, chat, recorder):
    server.script(Reply("See 212.", usage=(50, 5)), Reply("See 118.", usage=(80, 5)))
    built = verified(support_chain(chat(max_tokens=64)), both, otherwise=PERSON)
    assert built.invoke(ASK) == "See 118."
    first, second = server.requests
    assert second.messages[:2] == first.messages
    assert second.messages[2] == {"role": "assistant", "content": "See 212."}
    assert "search returned 118 and 140" in second.last
    limit = "max_completion_tokens" if "max_completion_tokens" in first.body else "max_tokens"
    assert (first.body[limit], second.body[limit]) == (64, 64)
    assert recorder.outline == [
        (
            "aucert.generate support",
            ["aucert.verify support", ("aucert.repair", ["aucert.verify support"])],
        )
    ]


@pytest.mark.parametrize("flavour", ["invoke", "ainvoke", "stream"])
def test_the_cut_off_reply_is_asked_for_again_under_twice_the_ceiling(flavour, both, server, chat):
    server.script(
        Reply("Delivery takes 3 to", finish_reason="length"), Reply("Delivery takes 3 to 5 days.")
    )
    built = verified(support_chain(chat(max_tokens=64)), both, otherwise=PERSON)
    if flavour == "stream":
        (answer,) = list(built.stream(ASK))
    elif flavour == "invoke":
        answer = built.invoke(ASK)
    else:
        answer = asyncio.run(built.ainvoke(ASK))
    assert answer == "Delivery takes 3 to 5 days."
    first, second = (request.body for request in server.requests)
    limit = "max_completion_tokens" if "max_completion_tokens" in first else "max_tokens"
    assert (first[limit], second[limit]) == (64, 128)


def test_the_reply_that_fails_its_repair_goes_to_a_person(both, server, chat):
    server.script("See 212.", "See 212 again.")
    outcomes = []
    built = verified(support_chain(chat()), both, otherwise=lambda o: outcomes.append(o) or PERSON)
    assert built.invoke(ASK) == PERSON
    assert [d.generation.output for d in outcomes[0].drafts] == ["See 212.", "See 212 again."]
    assert len(server.requests) == 2


def test_a_message_keeps_its_usage_and_is_not_touched(both, server, chat):
    server.script(Reply("See 118.", usage=(50, 5)))
    message = verified(before_parser(chat()), both, otherwise=PERSON).invoke(ASK)
    assert message.usage_metadata["output_tokens"] == 5
    assert "aucert" not in message.response_metadata


def test_the_failed_repair_call_hands_the_first_draft_to_a_person(both, server, chat, recorder):
    server.script(Reply("See 212."), Reply("overloaded", status=500))
    assert verified(support_chain(chat()), both, otherwise=PERSON).invoke(ASK) == PERSON
    assert recorder.span("aucert.repair").attributes["aucert.repair.outcome"] == "error"


def test_a_retrying_client_is_one_answer(both, cited, server, chat):
    server.script(Reply("busy", status=500, headers={"retry-after-ms": "1"}), Reply("See 118."))
    built = verified(support_chain(chat(max_retries=1)), both, otherwise=PERSON)
    assert built.invoke(ASK) == "See 118."
    assert (len(server.requests), len(cited.read)) == (2, 1)


def test_ten_answers_at_once_over_http_do_not_mix(recorder, chat, server):
    cited = Cited()
    harness = Harness([cited], telemetry=recorder.telemetry())
    handler = VerificationHandler(harness)
    server.answer = lambda request: Reply(f"answer to {request.last}")
    questions = [{"question": f"{118 if n % 2 else 140}? #{n}"} for n in range(10)]

    async def main():
        return await support_chain(chat()).abatch(questions, observing(handler))

    answers = asyncio.run(main())
    assert answers == [f"answer to {q['question']}" for q in questions]
    assert harness.flush(20)
    assert len(cited.read) == 10
    for read in cited.read:
        assert read.output == f"answer to {read.question}"
        assert [p.id for p in read.evidence] == [read.question[:3]]


# tools and structures


class Order(BaseModel):
    """An order."""

    number: int


CALL = ToolCall("Order", {"number": 7})


def test_a_structured_answer_is_verified_as_json_and_comes_back_as_the_object(
    both, cited, server, chat
):
    server.script(Reply(None, tool_calls=[CALL]))
    built = chat().with_structured_output(Order, method="function_calling")
    assert verified(built, both, otherwise=PERSON).invoke("which order?") == Order(number=7)
    assert [read.output for read in cited.read] == ['{"number":7}']
    assert cited.read[0].usage == Usage(12, 7)


def test_an_observed_structured_answer_is_verified_as_json(handler, seen, server, chat):
    server.script(Reply(None, tool_calls=[CALL]))
    built = chat().with_structured_output(Order, method="function_calling")
    assert built.invoke("which order?", observing(handler)) == Order(number=7)
    assert [read.output for read in seen()] == ['{"number":7}']


def test_a_verified_model_with_tools_lets_its_steps_pass(both, cited, server, chat):
    server.script(Reply(None, tool_calls=[CALL]), Reply("See 118."))
    model = verified(chat(), both, otherwise=PERSON).bind_tools([Order])
    step = model.invoke("which order?")
    assert step.tool_calls[0]["args"] == {"number": 7}
    assert server.requests[0].body["tools"][0]["function"]["name"] == "Order"
    assert cited.read == []
    assert model.invoke("which order?").content == "See 118."
    assert len(cited.read) == 1


def test_the_repair_of_a_model_with_tools_keeps_its_tools(both, server, chat):
    server.script("See 212.", "See 118.")
    model = verified(chat(), both, otherwise=PERSON).bind_tools([Order])
    assert model.invoke("q").content == "See 118."
    assert server.requests[1].body["tools"] == server.requests[0].body["tools"]


# the scripted server itself


def test_the_server_says_when_its_script_is_over(chat, server):
    with pytest.raises(openai.InternalServerError, match="the script has no reply left"):
        (chat() | StrOutputParser()).invoke("q")


def test_the_server_can_cut_a_stream_and_send_anything(chat, server):
    server.script(
        Reply("one two three four", cut_after=2), Reply(raw=b"not json", content_type="text/plain")
    )
    assert "".join(c.content for c in chat().stream("q")) == "one two"
    with pytest.raises(Exception, match=r".+"):
        chat().invoke("q")


def test_two_servers_run_side_by_side():
    with OpenAIServer() as one, OpenAIServer() as two:
        assert one.url != two.url
