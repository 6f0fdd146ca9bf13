"""Chat completions as OpenAI defined them and many servers speak them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from aucert_otel.generation import Usage
from aucert_otel.llm.call import Reply
from aucert_otel.llm.client import HttpChatModel
from aucert_otel.llm.logprobs import TokenLogprob
from aucert_otel.llm.model import ChatMessage, ChatRequest
from aucert_otel.llm.prices import PriceBook
from aucert_otel.llm.retry import RetryPolicy
from aucert_otel.llm.transport import MAX_RESPONSE_BYTES, Timeouts
from aucert_otel.llm.wire import count, data_url, in_words, part, text_or_none


OPENAI_URL = "https://api.openai.com/v1"
OTHER_PROVIDER = "custom"
"""The provider of a server nobody here knows. It has no list price: give it one of your own."""
_TOP_LOGPROBS = 5

_PROVIDERS = {
    "api.openai.com": "openai",
    "api.deepseek.com": "deepseek",
    "api.groq.com": "groq",
    "api.mistral.ai": "mistral_ai",
    "api.x.ai": "x_ai",
    "api.perplexity.ai": "perplexity",
    "api.together.xyz": "together",
    "api.fireworks.ai": "fireworks",
    "api.cerebras.ai": "cerebras",
    "api.moonshot.ai": "moonshot_ai",
    "openrouter.ai": "openrouter",
    "generativelanguage.googleapis.com": "gcp.gemini",
}


class OpenAIChat(HttpChatModel):
    """A model behind an OpenAI-compatible chat completions API.

    Args:
        model: The model's name as it is sent; on Azure the deployment's.
        base_url: The API's root, version included. Default: OpenAI's own.
        name: What you call it; default: ``model``.
        provider: Who serves it, for the trace and the price list. Default: read from well-known
            hosts, else ``custom``.
        family: Its family of models; default: read from the model's name.
        api_key: The key, if it is not in the environment. It is never shown.
        api_key_env: The environment variable with the key, read at each call. Default:
            ``OPENAI_API_KEY`` for OpenAI itself, none for other servers.
        headers: Further headers, such as ``{"api-key": ...}``. They are never shown.
        concurrency: Requests at the same time; others wait their turn.

    Raises:
        ConfigurationError: ``base_url`` is no HTTP URL, or a number is out of range.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str = OPENAI_URL,
        name: str | None = None,
        provider: str | None = None,
        family: str | None = None,
        api_key: str | None = None,
        api_key_env: str | None = None,
        headers: Mapping[str, str] | None = None,
        prices: PriceBook | None = None,
        retry: RetryPolicy | None = None,
        timeouts: Timeouts | None = None,
        concurrency: int = 64,
        max_response_bytes: int = MAX_RESPONSE_BYTES,
    ) -> None:
        provider = provider or _provider_of(base_url)
        own = provider == "openai"
        if api_key is None and api_key_env is None and own:
            api_key_env = "OPENAI_API_KEY"
        super().__init__(
            _Wire(modern=own),
            model,
            base_url=base_url,
            name=name,
            provider=provider,
            family=family,
            api_key=api_key,
            api_key_env=api_key_env,
            headers=headers,
            prices=prices,
            retry=retry,
            timeouts=timeouts,
            concurrency=concurrency,
            max_response_bytes=max_response_bytes,
        )


def _provider_of(base_url: str) -> str:
    try:
        host = urlsplit(base_url).hostname or ""
    except ValueError:
        return OTHER_PROVIDER  # refused with its own sentence later
    if host.endswith((".openai.azure.com", ".services.ai.azure.com")):
        return "azure.ai.openai"
    return _PROVIDERS.get(host, OTHER_PROVIDER)


class _Wire:
    """The chat completions API.

    Args:
        modern: Send ``max_completion_tokens``, which OpenAI's reasoning models insist on and many
            other servers do not know. Whichever is turned down, the other one is sent.
    """

    path = "/chat/completions"

    def __init__(self, *, modern: bool) -> None:
        self._modern = modern

    def headers(self, key: str | None) -> dict[str, str]:
        return {} if key is None else {"authorization": f"Bearer {key}"}

    def body(
        self, request: ChatRequest, model: str, without: frozenset[str]
    ) -> tuple[dict[str, Any], tuple[str, ...]]:
        messages = [_message(message) for message in request.messages]
        body: dict[str, Any] = {"model": model, "messages": messages}
        dropped: list[str] = []
        if request.schema is not None:
            if "schema" in without:
                dropped.append("schema")
                _ask_in_words(messages, in_words(request.schema))
            else:
                body["response_format"] = {
                    "type": "json_schema",
                    "json_schema": {"name": "answer", "strict": True, "schema": request.schema},
                }
        if request.max_tokens is not None:
            modern = self._modern != ("max_tokens" in without)
            body["max_completion_tokens" if modern else "max_tokens"] = request.max_tokens
        options: dict[str, Any] = {"temperature": request.temperature, "seed": request.seed}
        for option, value in options.items():
            if value is None:
                continue
            if option in without:
                dropped.append(option)
            else:
                body[option] = value
        if request.logprobs:
            if "logprobs" in without:
                dropped.append("logprobs")
            else:
                body |= {"logprobs": True, "top_logprobs": _TOP_LOGPROBS}
        return body, tuple(dropped)

    def read(self, envelope: Mapping[str, Any]) -> Reply:
        choices = envelope.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        message = part(choice, "message")
        if not isinstance(message, Mapping):
            raise ValueError("choices[0].message")  # noqa: TRY004 - the server's fault, not a caller's type
        finish = text_or_none(part(choice, "finish_reason"))
        return Reply(
            _text(message.get("content")),
            finish_reason=finish,
            refused=bool(text_or_none(message.get("refusal"))) or finish == "content_filter",
            usage=_usage(envelope.get("usage")),
            logprobs=_logprobs(part(choice, "logprobs", "content")),
            response_id=text_or_none(envelope.get("id")),
            model=text_or_none(envelope.get("model")),
        )


def _message(message: ChatMessage) -> dict[str, Any]:
    if not message.images:
        return {"role": message.role, "content": message.content}
    pictures = [
        {"type": "image_url", "image_url": {"url": data_url(image)}} for image in message.images
    ]
    return {"role": message.role, "content": [{"type": "text", "text": message.content}, *pictures]}


def _ask_in_words(messages: list[dict[str, Any]], words: str) -> None:
    first = messages[0]
    if first["role"] == "system" and isinstance(first["content"], str):
        messages[0] = {**first, "content": f"{first['content']}\n\n{words}"}
    else:
        messages.insert(0, {"role": "system", "content": words})


def _text(content: object) -> str | None:
    if isinstance(content, list):  # some servers answer in parts
        texts = [text_or_none(part(piece, "text")) for piece in content]
        return "".join(text for text in texts if text is not None)
    return text_or_none(content)


def _usage(usage: object) -> Usage:
    prompt, answer = count(part(usage, "prompt_tokens")), count(part(usage, "completion_tokens"))
    reasoning = count(part(usage, "completion_tokens_details", "reasoning_tokens"))
    cached = count(part(usage, "prompt_tokens_details", "cached_tokens"))
    if cached is None:
        cached = count(part(usage, "prompt_cache_hit_tokens"))
    total = count(part(usage, "total_tokens"))
    if None not in (prompt, answer, reasoning, total):
        assert prompt is not None
        assert answer is not None
        assert reasoning is not None
        if reasoning > 0 and prompt + answer + reasoning == total:
            # A few servers count reasoning beside the answer instead of within it.
            answer += reasoning
    return Usage(
        input_tokens=prompt,
        output_tokens=answer,
        cached_input_tokens=cached,
        reasoning_tokens=reasoning,
        cost_usd=_cost(usage),
    )


def _cost(usage: object) -> float | None:
    """What the provider says the call cost; a fee on top of a bill sent elsewhere is not it."""
    cost = part(usage, "cost")
    if isinstance(cost, Mapping):
        cost = cost.get("total_cost")
    if isinstance(cost, bool) or not isinstance(cost, (int, float)) or part(usage, "is_byok"):
        return None
    return float(cost) if math.isfinite(cost) and cost >= 0 else None


def _logprobs(content: object) -> tuple[TokenLogprob, ...] | None:
    if not isinstance(content, list):
        return None
    tokens = [_token(entry) for entry in content]
    # With a hole in it nothing can be located.
    return tuple(t for t in tokens if t is not None) if None not in tokens else None


def _token(entry: object) -> TokenLogprob | None:
    here = _pair(entry)
    if here is None:
        return None
    others = part(entry, "top_logprobs")
    pairs = [_pair(other) for other in others] if isinstance(others, list) else []
    return TokenLogprob(*here, tuple(pair for pair in pairs if pair is not None))


def _pair(entry: object) -> tuple[str, float] | None:
    token, logprob = part(entry, "token"), part(entry, "logprob")
    if not isinstance(token, str) or isinstance(logprob, bool):
        return None
    if not isinstance(logprob, (int, float)) or not logprob <= 1e-6:  # NaN fails this too
        return None
    return token, float(logprob)
