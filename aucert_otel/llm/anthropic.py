"""Anthropic's Messages API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aucert_otel.generation import Image, Usage
from aucert_otel.llm.call import Reply
from aucert_otel.llm.client import HttpChatModel
from aucert_otel.llm.model import ChatMessage, ChatRequest
from aucert_otel.llm.prices import PriceBook
from aucert_otel.llm.retry import RetryPolicy
from aucert_otel.llm.transport import MAX_RESPONSE_BYTES, Timeouts
from aucert_otel.llm.wire import count, data_url, in_words, media_and_data, part, text_or_none


ANTHROPIC_URL = "https://api.anthropic.com/v1"
_VERSION = "2023-06-01"
_DEFAULT_MAX_TOKENS = 4096


class AnthropicChat(HttpChatModel):
    """A model behind Anthropic's Messages API.

    It knows neither seeds nor log probabilities; a completion says that they were dropped.

    Args:
        model: The model's name as it is sent.
        base_url: The API's root, version included.
        name: What you call it; default: ``model``.
        family: Its family of models; default: read from the model's name.
        api_key: The key, if it is not in the environment. It is never shown.
        api_key_env: The environment variable with the key, read at each call.
        headers: Further headers. They are never shown.
        max_tokens: The ceiling for calls that set none; the API wants one.
        concurrency: Requests at the same time; others wait their turn.

    Raises:
        ConfigurationError: ``base_url`` is no HTTP URL, or a number is out of range.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str = ANTHROPIC_URL,
        name: str | None = None,
        provider: str = "anthropic",
        family: str | None = None,
        api_key: str | None = None,
        api_key_env: str | None = "ANTHROPIC_API_KEY",
        headers: Mapping[str, str] | None = None,
        max_tokens: int = _DEFAULT_MAX_TOKENS,
        prices: PriceBook | None = None,
        retry: RetryPolicy | None = None,
        timeouts: Timeouts | None = None,
        concurrency: int = 64,
        max_response_bytes: int = MAX_RESPONSE_BYTES,
    ) -> None:
        super().__init__(
            _Wire(max_tokens),
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


class _Wire:
    """The Messages API."""

    path = "/messages"

    def __init__(self, max_tokens: int) -> None:
        self._max_tokens = max_tokens

    def headers(self, key: str | None) -> dict[str, str]:
        return {"anthropic-version": _VERSION, **({} if key is None else {"x-api-key": key})}

    def body(
        self, request: ChatRequest, model: str, without: frozenset[str]
    ) -> tuple[dict[str, Any], tuple[str, ...]]:
        system = [m.content for m in request.messages if m.role == "system"]
        body: dict[str, Any] = {
            "model": model,
            "max_tokens": request.max_tokens or self._max_tokens,
            "messages": [_message(m) for m in request.messages if m.role != "system"],
        }
        dropped: list[str] = []
        if request.schema is not None:
            if "schema" in without:
                dropped.append("schema")
                system.append(in_words(request.schema))
            else:
                body["output_config"] = {
                    "format": {"type": "json_schema", "schema": request.schema}
                }
        if system:
            body["system"] = "\n\n".join(system)
        if request.temperature is not None:
            if "temperature" in without:
                dropped.append("temperature")
            else:
                body["temperature"] = request.temperature
        if request.seed is not None:
            dropped.append("seed")
        if request.logprobs:
            dropped.append("logprobs")
        return body, tuple(dropped)

    def read(self, envelope: Mapping[str, Any]) -> Reply:
        content = envelope.get("content")
        if not isinstance(content, list):
            raise ValueError("content")  # noqa: TRY004 - the server's fault, not a caller's type
        texts = [
            text_or_none(part(block, "text"))
            for block in content
            if part(block, "type") == "text"  # thinking is not the answer
        ]
        stop = text_or_none(envelope.get("stop_reason"))
        usage = envelope.get("usage")
        return Reply(
            "".join(text for text in texts if text is not None) or None,
            finish_reason=stop,
            refused=stop == "refusal",
            usage=_usage(usage),
            cache_write_tokens=count(part(usage, "cache_creation_input_tokens")) or 0,
            response_id=text_or_none(envelope.get("id")),
            model=text_or_none(envelope.get("model")),
        )


def _message(message: ChatMessage) -> dict[str, Any]:
    if not message.images:
        return {"role": message.role, "content": message.content}
    pictures = [{"type": "image", "source": _source(image)} for image in message.images]
    return {"role": message.role, "content": [*pictures, {"type": "text", "text": message.content}]}


def _source(image: Image) -> dict[str, str]:
    url = data_url(image)
    inline = media_and_data(url)
    if inline is None:
        return {"type": "url", "url": url}
    return {"type": "base64", "media_type": inline[0], "data": inline[1]}


def _usage(usage: object) -> Usage:
    fresh = count(part(usage, "input_tokens"))
    cached = count(part(usage, "cache_read_input_tokens"))
    written = count(part(usage, "cache_creation_input_tokens"))
    return Usage(
        # The API counts what it read from and wrote to its cache beside the rest.
        input_tokens=None if fresh is None else fresh + (cached or 0) + (written or 0),
        output_tokens=count(part(usage, "output_tokens")),
        cached_input_tokens=cached,
        reasoning_tokens=count(part(usage, "output_tokens_details", "thinking_tokens")),
    )
