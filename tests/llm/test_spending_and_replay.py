"""What calls cost altogether, and models that answer from a record."""

from __future__ import annotations

import asyncio

import pytest
from support.llm_cases import ANSWER_USD, ASK, PRICES
from support.llm_server import failing

from aucert_otel.background import worker
from aucert_otel.generation import Usage
from aucert_otel.llm import (
    ChatModel,
    ModelError,
    ModelRefused,
    ModelUnavailable,
    Recorded,
    ReplayModel,
    TokenLogprob,
    Truncated,
    complete,
    family_of,
    spending,
)
from aucert_otel.spending import add_usage


def test_every_call_of_every_task_is_counted(api):
    api.server.answer = lambda seen: api.answer("yes")
    model = api.client()

    async def run():
        with spending() as outer:
            await model.complete(ASK)
            with spending() as inner:
                await asyncio.gather(*(model.complete(ASK) for _ in range(4)))
        await model.complete(ASK)
        return outer, inner

    outer, inner = worker().run(run())

    assert (outer.calls, inner.calls) == (5, 4)
    assert outer.cost_usd == pytest.approx(5 * ANSWER_USD)
    assert inner.cost_usd == pytest.approx(4 * ANSWER_USD)
    assert inner.usage == Usage(400, 80)


def test_failed_calls_are_counted_with_what_they_cost(api):
    how = {"openai": {"finish_reason": "length"}, "anthropic": {"stop_reason": "max_tokens"}}
    api.server.script(failing(503), api.answer("cut", **how[api.name]))

    with spending() as spent, pytest.raises(Truncated) as caught:
        api.ask()

    assert (spent.calls, spent.attempts) == (1, 2)
    assert spent.cost_usd == caught.value.cost_usd == pytest.approx(ANSWER_USD)


def test_one_unknown_cost_makes_the_sum_unknown(api):
    api.server.script(api.answer("yes"), api.answer("yes", usage=None))
    model = api.client()

    with spending() as spent:
        api.ask(model)
        api.ask(model)

    assert spent.cost_usd is None
    assert spent.unpriced == ("judge-1",)


def test_usage_keeps_what_only_one_side_knows():
    assert add_usage(Usage(1, None, 3), Usage(10, 20)) == Usage(11, 20, 3)
    assert add_usage(Usage(), Usage(1, 2, cost_usd=0.5)) == Usage(1, 2, cost_usd=0.5)


def test_a_replay_answers_by_a_function_of_the_request():
    model = ReplayModel(
        lambda request: {"verdict": "pass" if request.temperature else "fail"},
        name="gpt-4-recorded",
        keep_requests=True,
    )

    first = complete(model, ASK, schema={"type": "object"}, temperature=0.7)
    second = complete(model, ASK, schema={"type": "object"})

    assert (first.data, second.data) == ({"verdict": "pass"}, {"verdict": "fail"})
    assert (first.temperature_applied, second.temperature_applied) == (True, False)
    assert (first.cost_usd, first.attempts) == (0.0, 1)
    assert [request.temperature for request in model.requests] == [0.7, None]
    assert isinstance(model, ChatModel)
    assert model.family == "openai"


def test_a_replay_may_answer_asynchronously_and_in_order():
    async def answer(_):
        await asyncio.sleep(0)
        return "yes"

    assert complete(ReplayModel(answer), ASK).text == "yes"
    model = ReplayModel(["one", "two"])
    assert [complete(model, ASK).text for _ in range(2)] == ["one", "two"]
    with pytest.raises(ModelUnavailable, match="no recorded answer is left"):
        complete(model, ASK)


def test_a_recorded_answer_is_priced_by_its_tokens():
    model = ReplayModel(
        [Recorded("pass", usage=Usage(100, 20)), Recorded("pass", usage=Usage(7))],
        name="fast",
        model="judge-1",
        prices=PRICES,
    )

    assert complete(model, ASK).cost_usd == pytest.approx(ANSWER_USD)
    assert complete(model, ASK).unpriced == ("judge-1",)


def test_recorded_faults_are_raised_with_what_they_cost():
    model = ReplayModel(
        [
            Recorded("no", refused=True, usage=Usage(cost_usd=0.5)),
            Recorded("half", finish_reason="length"),
            ModelUnavailable("down"),
            KeyError("a bug"),
        ]
    )

    with pytest.raises(ModelRefused) as refused:
        complete(model, ASK)
    assert refused.value.cost_usd == 0.5
    with pytest.raises(Truncated):
        complete(model, ASK)
    with pytest.raises(ModelError, match="down"):
        complete(model, ASK)
    with pytest.raises(KeyError):
        complete(model, ASK)


def test_recorded_log_probabilities_are_given_to_those_who_ask():
    tokens = (TokenLogprob("pass", -0.1),)
    model = ReplayModel(lambda _: Recorded("pass", logprobs=tokens))

    assert complete(model, ASK, logprobs=True).logprobs == tokens
    assert complete(model, ASK).logprobs is None


def test_a_recorded_model_may_have_refused_a_temperature():
    model = ReplayModel(lambda _: "yes", temperature_applied=False)

    completion = complete(model, ASK, temperature=0.7)

    assert not completion.temperature_applied
    assert completion.dropped == ("temperature",)


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("gpt-5.1-codex", "openai"),
        ("o3", "openai"),
        ("o4-mini-2025-04-16", "openai"),
        ("openai/gpt-oss-120b", "openai"),
        ("ft:gpt-4o:acme", "openai"),
        ("claude-sonnet-4-5", "anthropic"),
        ("us.anthropic.claude-3-5-sonnet-20240620-v1:0", "anthropic"),
        ("deepseek-v3.2", "deepseek"),
        ("deepseek-r1-distill-llama-8b", "deepseek"),
        ("meta-llama/Llama-3.1-8B-Instruct", "llama"),
        ("mixtral-8x7b", "mistral"),
        ("models/gemini-2.5-pro", "gemini"),
        ("Qwen/QwQ-32B", "qwen"),
        ("x-ai/grok-4", "grok"),
        ("SmolLM2-135M", "smollm"),
        ("phi-4", "phi"),
        ("prod-judge", None),
        ("graphite", None),
        ("", None),
    ],
)
def test_the_family_is_read_from_the_name(model, family):
    assert family_of(model) == family
