"""What is sent, what is read, and what is left out for servers that do not take it."""

from __future__ import annotations

import json

import pytest
from support.llm_cases import ASK, SCHEMA
from support.llm_server import as_json, failing

from aucert_otel.errors import ConfigurationError
from aucert_otel.generation import Image, Usage
from aucert_otel.llm import (
    AnthropicChat,
    AuthenticationFailed,
    BadRequest,
    ChatMessage,
    ChatModel,
    OpenAIChat,
    complete,
)


VERDICT = '{"verdict": "pass"}'


def test_openai_gets_everything_that_was_asked_for(openai_api):
    openai_api.server.script(openai_api.answer(VERDICT))

    completion = openai_api.ask(
        schema=SCHEMA, temperature=0.5, seed=7, max_tokens=300, logprobs=True
    )

    (seen,) = openai_api.server.requests
    assert seen.path == "/v1/chat/completions"
    assert seen.headers["authorization"] == "Bearer k-123"
    assert seen.body == {
        "model": "judge-1",
        "messages": [
            {"role": "system", "content": "You judge."},
            {"role": "user", "content": "Is it so?"},
        ],
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "strict": True, "schema": SCHEMA},
        },
        "max_tokens": 300,
        "temperature": 0.5,
        "seed": 7,
        "logprobs": True,
        "top_logprobs": 5,
    }
    assert completion.data == {"verdict": "pass"}
    assert completion.temperature_applied
    assert completion.dropped == ()
    assert (completion.model, completion.provider) == ("served-1", "custom")
    assert completion.finish_reason == "stop"


def test_anthropic_gets_everything_it_knows(anthropic_api):
    anthropic_api.server.script(anthropic_api.answer(VERDICT))

    completion = anthropic_api.ask(schema=SCHEMA, temperature=0.5, seed=7, logprobs=True)

    (seen,) = anthropic_api.server.requests
    assert seen.path == "/v1/messages"
    assert seen.headers["x-api-key"] == "k-123"
    assert seen.headers["anthropic-version"] == "2023-06-01"
    assert "authorization" not in seen.headers
    assert seen.body == {
        "model": "judge-1",
        "max_tokens": 4096,
        "system": "You judge.",
        "messages": [{"role": "user", "content": "Is it so?"}],
        "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}},
        "temperature": 0.5,
    }
    assert completion.data == {"verdict": "pass"}
    assert completion.dropped == ("seed", "logprobs")


def test_nothing_is_sent_that_was_not_asked_for(openai_api):
    openai_api.server.script(openai_api.answer("yes"))

    completion = openai_api.ask()

    assert set(openai_api.server.requests[0].body) == {"model", "messages"}
    assert not completion.temperature_applied
    assert completion.data is None
    assert completion.problem is None


REFUSALS = {
    "openai": "Unsupported value: 'temperature' does not support 0.5 with this model. "
    "Only the default (1) value is supported.",
    "anthropic": "`temperature` is deprecated for this model.",
}


def test_a_model_that_takes_no_temperature_is_asked_without_it_from_then_on(api):
    api.server.script(
        failing(400, message=REFUSALS[api.name]), api.answer("yes"), api.answer("yes")
    )
    model = api.client()

    first = api.ask(model, temperature=0.5)
    second = api.ask(model, temperature=0.9)

    assert ["temperature" in seen.body for seen in api.server.requests] == [True, False, False]
    assert not first.temperature_applied
    assert not second.temperature_applied
    assert first.dropped == second.dropped == ("temperature",)
    assert (first.attempts, second.attempts) == (2, 1)
    assert model.refuses == {"temperature"}


def test_a_temperature_out_of_range_is_the_callers_mistake(api):
    api.server.script(failing(400, message="temperature: must be at most 2"))
    model = api.client()

    with pytest.raises(BadRequest) as caught:
        api.ask(model, temperature=5.0)

    assert caught.value.parameter is None
    assert model.refuses == frozenset()


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "This response_format type is unavailable now"),
        (422, "response_format.type `json_schema` is unavailable now"),
        (400, "output_config.format is not supported for this model"),
    ],
)
def test_a_server_without_schemas_is_asked_in_words_from_then_on(api, status, message):
    api.server.script(failing(status, message=message), api.answer(VERDICT), api.answer(VERDICT))
    model = api.client()

    for _ in range(2):
        completion = api.ask(model, schema=SCHEMA)
        assert completion.data == {"verdict": "pass"}
        assert completion.dropped == ("schema",)

    constrained = [
        bool({"response_format", "output_config"} & set(seen.body)) for seen in api.server.requests
    ]
    assert constrained == [True, False, False]
    asked = json.dumps(api.server.requests[1].body)
    assert "one JSON object" in asked
    assert '\\"verdict\\"' in asked
    assert "You judge." in asked


def test_a_schema_that_is_turned_down_does_not_stand_for_all(api):
    api.server.script(
        failing(400, message="Invalid schema for response_format"),
        api.answer(VERDICT),
        api.answer("{}"),
    )
    model = api.client()

    api.ask(model, schema={"type": "object", "minimum": 1})
    other = api.ask(model, schema=SCHEMA)

    assert other.dropped == ()


def test_everything_may_be_turned_down_one_after_the_other(openai_api):
    messages = [
        "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
        "temperature is not supported",
        "unknown field: seed",
        "logprobs are not supported",
        "response_format is not supported",
    ]
    openai_api.server.script(
        *(failing(400, message=message) for message in messages), openai_api.answer("{}")
    )

    completion = openai_api.ask(
        schema=SCHEMA, temperature=0.0, seed=1, max_tokens=50, logprobs=True
    )

    last = openai_api.server.requests[-1].body
    assert set(last) == {"model", "messages", "max_completion_tokens"}
    assert completion.dropped == ("schema", "temperature", "seed", "logprobs")
    assert completion.attempts == 6


def test_what_was_left_out_in_vain_is_not_remembered(api):
    api.server.script(
        failing(400, message="temperature is not supported"), failing(400, message="no")
    )
    model = api.client()

    with pytest.raises(BadRequest):
        api.ask(model, temperature=0.5)

    assert model.refuses == frozenset()


def test_a_server_that_turns_down_the_same_twice_is_not_asked_for_ever(api):
    api.server.answer = lambda _: failing(400, message="temperature is not supported")

    with pytest.raises(BadRequest) as caught:
        api.ask(temperature=0.5)

    assert caught.value.parameter == "temperature"
    assert caught.value.attempts == 2


def test_openai_itself_gets_the_modern_token_limit(openai_api):
    openai_api.server.script(openai_api.answer("yes"))

    openai_api.ask(openai_api.client(provider="openai"), max_tokens=5)

    assert openai_api.server.requests[0].body["max_completion_tokens"] == 5


def test_openai_gets_pictures_as_urls(openai_api):
    openai_api.server.script(openai_api.answer("yes"))
    message = ChatMessage(
        "user", "See", images=(Image(data=b"\x89PNG"), Image(url="https://example.com/a.png"))
    )

    complete(openai_api.client(), [message])

    (sent,) = openai_api.server.requests[0].body["messages"]
    assert sent["content"] == [
        {"type": "text", "text": "See"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}},
        {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
    ]


def test_anthropic_gets_pictures_as_sources(anthropic_api):
    anthropic_api.server.script(anthropic_api.answer("yes"))
    message = ChatMessage(
        "user",
        "See",
        images=(
            Image(data=b"\x89PNG", media_type="image/webp"),
            Image(url="https://example.com/a.png"),
            Image(url="data:image/gif;base64,R0lG"),
        ),
    )

    complete(anthropic_api.client(), [message])

    (sent,) = anthropic_api.server.requests[0].body["messages"]
    assert [part.get("source") for part in sent["content"]] == [
        {"type": "base64", "media_type": "image/webp", "data": "iVBORw=="},
        {"type": "url", "url": "https://example.com/a.png"},
        {"type": "base64", "media_type": "image/gif", "data": "R0lG"},
        None,
    ]


def test_a_picture_without_a_source_is_refused(api):
    with pytest.raises(ConfigurationError, match="neither url nor data"):
        complete(api.client(), [ChatMessage("user", "See", images=(Image(),))])


def test_openai_usage_is_read_with_its_parts(openai_api):
    usage = {
        "prompt_tokens": 1000,
        "completion_tokens": 200,
        "total_tokens": 1200,
        "prompt_tokens_details": {"cached_tokens": 600},
        "completion_tokens_details": {"reasoning_tokens": 150},
        "cost": 0.5,
    }
    openai_api.server.script(openai_api.answer("yes", usage=usage))

    completion = openai_api.ask()

    assert completion.usage == Usage(1000, 200, 600, 150, cost_usd=0.5)
    assert completion.cost_usd == 0.5
    assert completion.price_source == "provider"


def test_reasoning_counted_beside_the_answer_is_counted_into_it(openai_api):
    usage = {
        "prompt_tokens": 10,
        "completion_tokens": 5,
        "total_tokens": 45,
        "completion_tokens_details": {"reasoning_tokens": 30},
    }
    openai_api.server.script(openai_api.answer("yes", usage=usage))

    assert openai_api.ask().usage == Usage(10, 35, None, 30)


def test_anthropic_usage_counts_the_cache_into_the_input(anthropic_api):
    usage = {
        "input_tokens": 100,
        "cache_read_input_tokens": 600,
        "cache_creation_input_tokens": 300,
        "output_tokens": 20,
        "output_tokens_details": {"thinking_tokens": 5},
    }
    anthropic_api.server.script(anthropic_api.answer("yes", usage=usage))

    assert anthropic_api.ask().usage == Usage(1000, 20, 600, 5)


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {},
        "many",
        {"prompt_tokens": -3, "completion_tokens": 20, "input_tokens": -3, "output_tokens": 2},
        {"prompt_tokens": float("nan"), "completion_tokens": 1, "input_tokens": float("nan")},
        {"prompt_tokens": True, "completion_tokens": 1, "input_tokens": True, "output_tokens": 1},
        {"prompt_tokens": 1e300, "completion_tokens": 1, "input_tokens": 1e300},
    ],
)
def test_usage_that_is_none_leaves_the_cost_unknown(api, usage):
    api.server.script(api.answer("yes", usage=usage))

    completion = api.ask()

    assert completion.cost_usd is None
    assert completion.unpriced == ("judge-1",)


def test_log_probabilities_are_read(openai_api):
    content = [
        {
            "token": "pass",
            "logprob": -0.1,
            "bytes": [1],
            "top_logprobs": [
                {"token": "pass", "logprob": -0.1},
                {"token": "fail", "logprob": -2.4},
            ],
        }
    ]
    openai_api.server.script(openai_api.answer("pass", logprobs={"content": content}))

    (token,) = openai_api.ask(logprobs=True).logprobs

    assert (token.token, token.logprob) == ("pass", -0.1)
    assert token.alternatives == (("pass", -0.1), ("fail", -2.4))


@pytest.mark.parametrize(
    "content", [None, "x", [{"token": "a"}], [{"token": "a", "logprob": 3.0}], [None]]
)
def test_log_probabilities_that_are_none_are_none(openai_api, content):
    openai_api.server.script(openai_api.answer("pass", logprobs={"content": content}))

    assert openai_api.ask(logprobs=True).logprobs is None


def test_an_answer_in_parts_is_put_together(openai_api):
    parts = [{"type": "text", "text": "ye"}, {"type": "text", "text": "s"}]
    openai_api.server.script(openai_api.answer(None, message={"content": parts}))

    assert openai_api.ask().text == "yes"


def test_thinking_is_not_the_answer(anthropic_api):
    content = [{"type": "thinking", "thinking": "fail?"}, {"type": "text", "text": "pass"}]
    anthropic_api.server.script(anthropic_api.answer("", content=content))

    assert anthropic_api.ask().text == "pass"


def test_a_key_comes_from_the_environment_at_each_call(api, monkeypatch):
    api.server.answer = lambda _: api.answer("yes")
    model = api.client(api_key=None, api_key_env="JUDGE_KEY")

    monkeypatch.delenv("JUDGE_KEY", raising=False)
    with pytest.raises(AuthenticationFailed, match="JUDGE_KEY holds no key"):
        api.ask(model)
    monkeypatch.setenv("JUDGE_KEY", " first \n")
    api.ask(model)
    monkeypatch.setenv("JUDGE_KEY", "second")
    api.ask(model)

    sent = [
        seen.headers.get("authorization", seen.headers.get("x-api-key"))
        for seen in api.server.requests
    ]
    assert [key.removeprefix("Bearer ") for key in sent] == ["first", "second"]


def test_a_local_server_needs_no_key(openai_api):
    openai_api.server.script(openai_api.answer("yes"))

    openai_api.ask(openai_api.client(api_key=None))

    assert "authorization" not in openai_api.server.requests[0].headers


@pytest.mark.parametrize(
    ("url", "provider"),
    [
        ("https://api.openai.com/v1", "openai"),
        ("https://api.deepseek.com", "deepseek"),
        ("https://prod.openai.azure.com/openai/v1", "azure.ai.openai"),
        ("http://127.0.0.1:8000/v1", "custom"),
    ],
)
def test_the_provider_is_read_from_the_host(url, provider):
    model = OpenAIChat("gpt-5.1", base_url=url)

    assert model.provider == provider
    assert model.family == "openai"
    assert model.name == model.model == "gpt-5.1"
    assert isinstance(model, ChatModel)
    assert isinstance(AnthropicChat("claude-x"), ChatModel)


@pytest.mark.parametrize("url", ["", "api.openai.com", "ftp://x/", "http://", "http://[x/"])
def test_a_url_that_is_none_is_refused(url):
    with pytest.raises(ConfigurationError, match="base_url is not an HTTP URL"):
        OpenAIChat("m", base_url=url)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"temperature": -1}, "temperature is -1"),
        ({"temperature": float("nan")}, "temperature is nan"),
        ({"max_tokens": 0}, "max_tokens is 0"),
    ],
)
def test_an_argument_no_model_could_use_is_refused(api, options, words):
    with pytest.raises(ValueError) as caught:
        api.ask(**options)

    assert words in str(caught.value)
    assert api.server.requests == []


def test_no_messages_and_no_such_role_are_refused(api):
    with pytest.raises(ValueError, match="no messages"):
        complete(api.client(), [])
    with pytest.raises(ValueError, match="'tool'"):
        ChatMessage("tool", "x")


def test_an_error_body_of_any_shape_is_read(api):
    for body in ([], "x", {"error": []}, {"error": {"message": {"a": 1}}}, {"detail": "no"}):
        api.server.script(as_json(body, 400))
        with pytest.raises(BadRequest):
            complete(api.client(), ASK)
