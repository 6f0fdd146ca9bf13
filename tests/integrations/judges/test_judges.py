"""What holds for a judge whichever library it comes from."""

from __future__ import annotations

import asyncio
import json
from datetime import date

import pytest
from support.openai_server import Reply

from aucert_otel import Cascade, Gate, Generation, Harness, Stage, Status, Verdict
from aucert_otel.background import worker
from aucert_otel.errors import ConfigurationError
from aucert_otel.llm import (
    AuthenticationFailed,
    BadRequest,
    BillingFailed,
    ChatMessage,
    ChatModel,
    ConnectionCut,
    MalformedResponse,
    ModelError,
    ModelRefused,
    Overloaded,
    Price,
    PriceBook,
    RateLimited,
    RetryPolicy,
    TimedOut,
    Truncated,
    complete,
    spending,
)
from aucert_otel.telemetry.runtime import verifying
from aucert_verifiers.stages import SelfConfidence
from aucert_verifiers.stages.prompts import VERDICT_SCHEMA


ASK = [ChatMessage("system", "You judge."), ChatMessage("user", "Is it so? sentinel-prompt")]
SAID = json.dumps({"reasoning": "so", "verdict": "pass", "confidence": 98})
PRICES = PriceBook({"gpt-4o-mini": Price(1, 2, as_of=date(2026, 4, 1))}, bundled=False)
LOGPROBS = {
    "content": [
        {
            "token": "yes",
            "logprob": -0.1,
            "bytes": None,
            "top_logprobs": [
                {"token": "yes", "logprob": -0.1, "bytes": None},
                {"token": "no", "logprob": -2.4, "bytes": None},
            ],
        }
    ],
    "refusal": None,
}


def test_it_is_a_chat_model_that_names_itself(judge):
    made = judge(name="fast")
    assert isinstance(made, ChatModel)
    assert (made.name, made.model, made.provider, made.family) == (
        "fast",
        "gpt-4o-mini",
        "openai",
        "openai",
    )
    assert "secret" not in repr(made)


def test_what_is_asked_arrives_and_what_is_answered_is_priced(judge, server, out):
    server.script(Reply(SAID, usage=(1000, 100), logprobs=LOGPROBS, model="gpt-4o-mini-2024"))
    found = complete(
        judge(prices=PRICES), ASK, temperature=0.5, seed=7, max_tokens=200, logprobs=True
    )
    body = server.requests[0].body
    assert [m["role"] for m in body["messages"]] == ["system", "user"]
    assert (body["temperature"], body["seed"]) == (0.5, 7)
    assert 200 in (body.get("max_tokens"), body.get("max_completion_tokens"))
    assert (body["logprobs"], body["top_logprobs"]) == (True, 5)
    assert (found.text, found.model) == (SAID, "gpt-4o-mini-2024")
    assert (found.finish_reason, found.provider) == ("stop", "openai")
    assert (found.usage.input_tokens, found.usage.output_tokens) == (1000, 100)
    assert found.cost_usd == pytest.approx(0.0012)
    assert found.logprobs is not None
    assert found.logprobs[0].alternatives == (("yes", -0.1), ("no", -2.4))
    assert found.dropped == ()
    assert found.temperature_applied
    span = out.span("chat gpt-4o-mini")
    assert span.attributes["gen_ai.usage.input_tokens"] == 1000


def test_a_schema_is_sent_as_such_and_read_strictly(judge, server):
    server.script(SAID, f"{SAID} and more")
    model = judge()
    assert complete(model, ASK, schema=VERDICT_SCHEMA).data == json.loads(SAID)
    sent = server.requests[0].body["response_format"]
    assert sent["type"] == "json_schema"
    assert sent["json_schema"]["schema"]["required"] == ["reasoning", "verdict", "confidence"]
    cut = complete(model, ASK, schema=VERDICT_SCHEMA)
    assert (cut.data, cut.problem) == (None, "trailing_text")


def test_a_schema_that_is_turned_down_is_asked_for_in_words(judge, server):
    server.script(
        Reply("response_format json_schema is not supported", status=400), Reply(SAID), Reply(SAID)
    )
    model = judge()
    found = complete(model, ASK, schema=VERDICT_SCHEMA)
    assert found.data == json.loads(SAID)
    assert found.dropped == ("schema",)
    assert found.attempts == 2
    assert "JSON Schema" in server.requests[1].messages[0]["content"]
    complete(model, ASK, schema=VERDICT_SCHEMA)
    assert "response_format" not in server.requests[2].body


def test_a_temperature_that_is_turned_down_is_left_out(judge, server):
    server.script(Reply("'temperature' is not supported with this model", status=400), SAID)
    model = judge()
    found = complete(model, ASK, temperature=0.7)
    assert not found.temperature_applied
    assert "temperature" in found.dropped
    assert model.refuses == {"temperature"}


@pytest.mark.parametrize(
    ("reply", "fault", "usd"),
    [
        (Reply("bad key sk-secret-1", status=401), AuthenticationFailed, 0.0),
        (Reply("no credit", status=402), BillingFailed, 0.0),
        (Reply("slow down", status=429), RateLimited, 0.0),
        (Reply("down", status=500), Overloaded, 0.0),
        (Reply("what?", status=400), BadRequest, 0.0),
        (Reply("half", finish_reason="length", usage=(1000, 100)), Truncated, 0.0012),
        (Reply("", finish_reason="content_filter", usage=(1000, 0)), ModelRefused, 0.001),
        (Reply(raw=b"<html>no</html>", content_type="text/html"), MalformedResponse, None),
        (Reply(raw=b"{}"), MalformedResponse, None),
        (Reply(raw=b""), MalformedResponse, None),
        (Reply("", usage=(1000, 0)), MalformedResponse, 0.001),
    ],
    ids=[
        "401",
        "402",
        "429",
        "500",
        "400",
        "length",
        "filter",
        "html",
        "no choices",
        "empty",
        "blank",
    ],
)
def test_faults_are_classified_and_priced_and_quote_nothing(judge, server, reply, fault, usd):
    server.script(reply)
    with pytest.raises(ModelError) as caught:
        complete(judge(prices=PRICES), ASK)
    error = caught.value
    assert type(error) is fault
    assert error.cost_usd == (None if usd is None else pytest.approx(usd))
    shown = f"{error} {error.__cause__} {error.__context__}"
    assert "secret" not in shown
    assert "sentinel" not in shown


@pytest.mark.parametrize(
    ("finish", "fault"), [("length", Truncated), ("content_filter", ModelRefused)]
)
def test_half_an_object_is_none_and_is_paid_for(judge, server, finish, fault):
    server.script(Reply('{"verdict": "pa', finish_reason=finish, usage=(1000, 100)))
    with pytest.raises(fault) as caught:
        complete(judge(prices=PRICES), ASK, schema=VERDICT_SCHEMA)
    assert caught.value.cost_usd == pytest.approx(0.0012)


def test_a_server_that_is_not_there_costs_nothing(judge, server):
    model = judge(prices=PRICES)
    server.__exit__()
    with pytest.raises(ConnectionCut) as caught:
        complete(model, ASK)
    assert caught.value.cost_usd == 0.0


def test_an_answer_that_takes_too_long_is_given_up(judge, server):
    import threading

    gate = threading.Event()
    server.script(Reply(SAID, gate=gate))
    try:
        with pytest.raises(TimedOut) as caught:
            complete(judge(prices=PRICES, timeout_s=0.3), ASK)
    finally:
        gate.set()
    assert caught.value.cost_usd is None


def test_one_attempt_by_default_and_ours_where_a_policy_is_given(judge, server):
    waited = []

    async def sleep(seconds):
        waited.append(seconds)

    server.script(Reply("x", status=429))
    with pytest.raises(RateLimited):
        complete(judge(), ASK)
    server.script(Reply("x", status=429, headers={"retry-after": "3"}), SAID)
    policy = RetryPolicy(attempts=2, sleep=sleep, jitter=lambda: 0.0)
    assert complete(judge(retry=policy), ASK).attempts == 2
    assert waited == [3.0]


def test_it_answers_inside_a_running_loop_and_from_threads(judge, server):
    server.answer = lambda request: Reply(SAID)
    model = judge()

    async def several():
        return await asyncio.gather(*[model.complete(ASK) for _ in range(3)])

    assert {c.text for c in asyncio.run(several())} == {SAID}
    with spending() as spent:
        complete(model, ASK)
    assert (spent.calls, spent.attempts) == (1, 1)


def test_whoever_cancels_is_told_that_the_bill_is_unknown(judge, server):
    import threading

    gate = threading.Event()
    server.script(Reply(SAID, gate=gate))
    model = judge(prices=PRICES)

    async def cancelled():
        with spending() as spent:
            call = asyncio.ensure_future(model.complete(ASK))
            await asyncio.to_thread(server.wait_for_requests, 1)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
        return spent

    try:
        spent = worker().run(cancelled())  # there, cancelling does not race with being cancelled
    finally:
        gate.set()
    assert spent.cost_usd is None
    assert spent.unpriced == ("gpt-4o-mini (abandoned)",)


def test_it_judges_in_a_cascade(judge, server):
    server.script(Reply(SAID, usage=(1000, 100)))
    stage = Stage(SelfConfidence(judge(prices=PRICES)), gate=Gate(pass_at=0.95, fail_at=0.95))
    outcome = Harness(Cascade("judged", [stage])).verify(Generation("It is.", question="Is it?"))
    assert outcome.report.verdict is Verdict.PASS
    assert outcome.costs.verification == pytest.approx(0.0012)


def test_a_judge_that_fails_is_a_status_and_no_verdict(judge, server):
    server.script(Reply("x", status=500))
    outcome = Harness([SelfConfidence(judge())]).verify(Generation("It is.", question="Is it?"))
    assert outcome.report.verdict is Verdict.UNCLEAR
    assert outcome.report.stages[0].status is Status.UNAVAILABLE


def test_it_is_asked_as_a_judge_wherever_it_is_asked_from(judge, server):
    assert not verifying.get()
    seen = []
    model = judge()
    ask = model._speaker.ask

    async def looked(request, without):
        seen.append(verifying.get())
        return await ask(request, without)

    model._speaker.ask = looked
    server.script(SAID)
    complete(model, ASK)
    assert seen == [True]
    assert not verifying.get()


@pytest.mark.parametrize(
    "wrong", [{"concurrency": 0}, {"timeout_s": 0}, {"timeout_s": float("nan")}]
)
def test_numbers_out_of_range_are_refused(judge, wrong):
    with pytest.raises(ConfigurationError, match=next(iter(wrong))):
        judge(**wrong)
