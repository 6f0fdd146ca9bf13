"""A LlamaIndex LLM as a judge."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from llama_index.core.base.llms.types import (
    ChatMessage as LlamaMessage,
)
from llama_index.core.base.llms.types import (
    ChatResponse,
    ImageBlock,
    MessageRole,
    TextBlock,
)
from llama_index.core.llms import LLM
from llama_index.core.llms.structured_llm import StructuredLLM

from aucert_otel.generation import Image, Usage
from aucert_otel.llm.adapted import AdaptedModel, with_words
from aucert_otel.llm.call import Reply
from aucert_otel.llm.model import ChatMessage, ChatRequest
from aucert_otel.llm.openai import _Wire
from aucert_otel.llm.prices import PriceBook
from aucert_otel.llm.retry import RetryPolicy
from aucert_otel.llm.wire import count, part, text_or_none


_TOP_LOGPROBS = 5
_PARAMETERS: Final = ("temperature", "seed", "max_tokens", "logprobs")
_OPENAI = "llama_index.llms.openai"
"""Classes from here, and from packages whose names begin so, send what they are given as it is."""
_READ: Final = _Wire(modern=True)


class LLMJudge(AdaptedModel):
    """A LlamaIndex LLM as a judge: what stages and cascades call a `ChatModel`.

    ```python
    fast = LLMJudge(OpenAI(model="gpt-5-mini", max_retries=0), retry=RetryPolicy())
    cascade = Cascade("support", [SelfConfidence(fast), SelfConsistency(fast)])
    ```

    It is called on the SDK's own event loop, and is never verified itself. Give it an LLM object of
    its own: connections of one event loop do not work on another.

    Args:
        llm: The LLM.
        model: Its name, for prices and the trace; default: what it says itself.
        provider: Who serves it; default: read from its package.
        structured: Send a JSON Schema as ``response_format``, as OpenAI-compatible servers take it;
            default: for classes from ``llama-index-llms-openai`` and its kin. Other models, and
            servers that turn it down, are asked in words. The answer is read strictly either way.
        passes: Which of ``temperature``, ``seed``, ``max_tokens`` and ``logprobs`` it takes for a
            single call; default: all of them for OpenAI's kin, else those it has a setting of the
            same name for. The others are left out, and the completion says so.

    The others are those of `AdaptedModel`.

    Raises:
        TypeError: ``llm`` is no LlamaIndex LLM.
        ConfigurationError: a number is out of range.
    """

    def __init__(
        self,
        llm: LLM,
        *,
        model: str | None = None,
        name: str | None = None,
        provider: str | None = None,
        family: str | None = None,
        structured: bool | None = None,
        passes: Collection[str] | None = None,
        prices: PriceBook | None = None,
        retry: RetryPolicy | None = None,
        concurrency: int = 64,
        timeout_s: float = 90.0,
    ) -> None:
        if not isinstance(llm, LLM) or isinstance(llm, StructuredLLM):
            raise TypeError(
                f"LLMJudge was given {type(llm).__name__}: it takes a LlamaIndex LLM as it is, not "
                "one with an output class"
            )
        kin = any(kind.__module__.startswith(_OPENAI) for kind in type(llm).__mro__)
        if passes is None:
            passes = _PARAMETERS if kin else set(_PARAMETERS) & type(llm).model_fields.keys()
        super().__init__(
            _Speaker(llm, kin if structured is None else structured, frozenset(passes)),
            model=model or _name_of(llm),
            name=name,
            provider=provider or _provider_of(llm),
            family=family,
            prices=prices,
            retry=retry,
            concurrency=concurrency,
            timeout_s=timeout_s,
        )


def _name_of(llm: LLM) -> str:
    said = getattr(llm, "model", None)
    return said if isinstance(said, str) and said else type(llm).__name__


def _provider_of(llm: LLM) -> str:
    *folders, _ = type(llm).__module__.split(".")
    return folders[2] if folders[:2] == ["llama_index", "llms"] and len(folders) > 2 else "custom"


class _Speaker:
    """How a LlamaIndex LLM is asked."""

    def __init__(self, llm: LLM, structured: bool, passes: frozenset[str]) -> None:
        self._llm = llm
        self._structured = structured
        self._passes = passes

    async def ask(
        self, request: ChatRequest, without: frozenset[str]
    ) -> tuple[Reply, tuple[str, ...]]:
        options: dict[str, Any] = {}
        dropped: list[str] = []
        wanted: dict[str, Any] = {
            "temperature": request.temperature,
            "seed": request.seed,
            "max_tokens": request.max_tokens,
            "logprobs": request.logprobs or None,
        }
        for parameter, value in wanted.items():
            if value is None:
                continue
            if parameter in self._passes and parameter not in without:
                options[parameter] = value
            else:
                dropped.append(parameter)
        if "logprobs" in options:
            options["top_logprobs"] = _TOP_LOGPROBS
        messages = request.messages
        if request.schema is not None:
            if self._structured and "schema" not in without:
                options["response_format"] = {
                    "type": "json_schema",
                    "json_schema": {"name": "answer", "strict": True, "schema": request.schema},
                }
            else:
                dropped.append("schema")
                messages = with_words(request)
        response = await self._llm.achat([_message(m) for m in messages], **options)
        return _reply(response), tuple(dropped)


def _message(message: ChatMessage) -> LlamaMessage:
    role = MessageRole(message.role)
    if not message.images:
        return LlamaMessage(message.content, role=role)
    pictures = [_picture(image) for image in message.images]
    return LlamaMessage(role=role, blocks=[TextBlock(text=message.content), *pictures])


def _picture(image: Image) -> ImageBlock:
    if image.url is not None:
        return ImageBlock(url=image.url)
    return ImageBlock(image=image.data, image_mimetype=image.media_type)


def _reply(response: ChatResponse) -> Reply:
    """What a response says: the provider's own words where they have the shape of OpenAI's."""
    raw: Any = response.raw
    if hasattr(raw, "choices") and hasattr(raw, "model_dump"):
        raw = raw.model_dump(include={"id", "model", "choices", "usage"}, warnings=False)
    if isinstance(raw, Mapping) and raw.get("choices"):
        return _READ.read(raw)
    said = response.additional_kwargs
    return Reply(
        response.message.content,
        finish_reason=text_or_none(
            part(raw, "stop_reason") or part(raw, "done_reason") or said.get("stop_reason")
        ),
        usage=_usage(raw, said),
        model=text_or_none(part(raw, "model")),
    )


def _usage(raw: object, said: Mapping[str, Any]) -> Usage:
    """Tokens, wherever an integration leaves them."""
    found = part(raw, "usage")
    for place in (said, found if isinstance(found, Mapping) else vars(found) if found else {}):
        for sent, written in (
            ("prompt_tokens", "completion_tokens"),
            ("input_tokens", "output_tokens"),
        ):
            if place.get(sent) is not None:
                return Usage(count(place.get(sent)), count(place.get(written)))
    return Usage()
