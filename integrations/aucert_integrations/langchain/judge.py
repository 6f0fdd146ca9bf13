"""A LangChain chat model as a judge."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any, Final

from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import Runnable, RunnableBinding, RunnableSequence
from langchain_core.runnables.config import var_child_runnable_config

from aucert_integrations.langchain.reading import answer_of_message
from aucert_otel.generation import Usage
from aucert_otel.llm.adapted import AdaptedModel, with_words
from aucert_otel.llm.call import Reply
from aucert_otel.llm.model import ChatMessage, ChatRequest
from aucert_otel.llm.openai import _logprobs
from aucert_otel.llm.prices import PriceBook
from aucert_otel.llm.retry import RetryPolicy
from aucert_otel.llm.wire import count, data_url, part


_PROVIDERS: Final = {
    "amazon_bedrock": "aws.bedrock",
    "azure": "azure.ai.openai",
    "google_genai": "gcp.gemini",
    "google_vertexai": "gcp.vertex_ai",
    "mistral": "mistral_ai",
    "mistralai": "mistral_ai",
    "xai": "x_ai",
}
"""LangChain's names for providers by the GenAI conventions, where they differ."""
_REFUSALS: Final = frozenset({"content_filter", "refusal", "SAFETY", "PROHIBITED_CONTENT"})
_TOP_LOGPROBS = 5
_MAX_SCHEMAS = 64
_PARAMETERS: Final = ("temperature", "seed", "max_tokens", "logprobs")

_Asked = Runnable[LanguageModelInput, Any]


class ChatModelJudge(AdaptedModel):
    """A LangChain chat model as a judge: what stages and cascades call a `ChatModel`.

    ```python
    fast = ChatModelJudge(ChatOpenAI(model="gpt-5-mini", max_retries=0), retry=RetryPolicy())
    cascade = Cascade("support", [SelfConfidence(fast), SelfConsistency(fast)])
    ```

    It is called on the SDK's own event loop, with none of the callbacks of the chain it judges, and
    is never verified itself. Give it a model object of its own. Where the model keeps connections
    open between calls (``ChatOpenAI`` shares them between its objects), give it a client of its own
    too, such as ``http_async_client=``: connections of one event loop do not work on another.

    A JSON Schema goes through the model's ``with_structured_output``; a model that has none, or
    whose server turns it down, is asked in words. The answer is read strictly either way.

    Args:
        chat: The model.
        model: Its name, for prices and the trace; default: what it says itself.
        provider: Who serves it; default: what it says itself.
        structured: Use its structured output.
        passes: Which of ``temperature``, ``seed``, ``max_tokens`` and ``logprobs`` it takes for a
            single call; default: those it has a setting of the same name for. The others are left
            out, and the completion says so.

    The others are those of `AdaptedModel`.

    Raises:
        TypeError: ``chat`` is no LangChain chat model.
        ConfigurationError: a number is out of range.
    """

    def __init__(
        self,
        chat: BaseChatModel,
        *,
        model: str | None = None,
        name: str | None = None,
        provider: str | None = None,
        family: str | None = None,
        structured: bool = True,
        passes: Collection[str] | None = None,
        prices: PriceBook | None = None,
        retry: RetryPolicy | None = None,
        concurrency: int = 64,
        timeout_s: float = 90.0,
    ) -> None:
        if not isinstance(chat, BaseChatModel):
            raise TypeError(
                f"ChatModelJudge was given {type(chat).__name__}: it takes a LangChain chat model "
                "(a BaseChatModel), not a chain"
            )
        # What LangChain itself tells its tracers; the hook that providers override has no public name.
        said = chat._get_ls_params()
        served = said.get("ls_provider") or "langchain"
        super().__init__(
            _Speaker(chat, structured, _PARAMETERS if passes is None else passes, passes is None),
            model=model or said.get("ls_model_name") or type(chat).__name__,
            name=name,
            provider=provider or _PROVIDERS.get(served, served),
            family=family,
            prices=prices,
            retry=retry,
            concurrency=concurrency,
            timeout_s=timeout_s,
        )


class _Speaker:
    """How a LangChain model is asked."""

    def __init__(
        self, chat: BaseChatModel, structured: bool, passes: Collection[str], settings: bool
    ) -> None:
        self._chat = chat
        self._structured = structured
        known = type(chat).model_fields
        self._passes = frozenset(p for p in passes if not settings or p in known)
        self._bound: dict[str, _Asked | None] = {}

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
        asked = None if "schema" in without else self._with_schema(request.schema)
        messages = request.messages
        if request.schema is not None and asked is None:
            dropped.append("schema")
            messages = with_words(request)
        chat = asked or self._chat
        # No run of the chain that is judged: its callbacks and its stream are not about judges.
        token = var_child_runnable_config.set(None)
        try:
            message = await chat.bind(**options).ainvoke([_message(m) for m in messages])
        finally:
            var_child_runnable_config.reset(token)
        return _reply(message), tuple(dropped)

    def _with_schema(self, schema: Mapping[str, Any] | None) -> _Asked | None:
        """The model with a schema bound to it; ``None`` where it has no way to take one."""
        if schema is None or not self._structured:
            return None
        key = json.dumps(schema, sort_keys=True)
        if key not in self._bound:
            if len(self._bound) >= _MAX_SCHEMAS:
                self._bound.clear()
            self._bound[key] = self._bind(schema)
        return self._bound[key]

    def _bind(self, schema: Mapping[str, Any]) -> _Asked | None:
        named = {"title": "answer", "description": "The answer.", **schema}
        try:
            chain = self._chat.with_structured_output(named, method="json_schema", strict=True)
        except (NotImplementedError, TypeError, ValueError):
            return None
        # The model comes first and LangChain's parser last. We read the answer ourselves, strictly,
        # and need the message that the parser would throw away.
        if isinstance(chain, RunnableSequence) and isinstance(chain.first, RunnableBinding):
            return chain.first
        return None


def _message(message: ChatMessage) -> BaseMessage:
    if message.role == "system":
        return SystemMessage(message.content)
    if message.role == "assistant":
        return AIMessage(message.content)
    if not message.images:
        return HumanMessage(message.content)
    pictures: list[str | dict[Any, Any]] = [
        {"type": "image_url", "image_url": {"url": data_url(image)}} for image in message.images
    ]
    return HumanMessage([{"type": "text", "text": message.content}, *pictures])


def _reply(message: object) -> Reply:
    """What a message says.

    Raises:
        TypeError: it is no message, which is no reply either.
    """
    if not isinstance(message, BaseMessage):
        raise TypeError(f"the model returned {type(message).__name__}")
    answer = answer_of_message(message)
    text: str | None = answer.plain
    calls = [*answer.tool_calls, *getattr(message, "invalid_tool_calls", ())]
    if not answer.plain.strip() and calls:
        text = _arguments(calls[0].get("args"))
    written = part(
        getattr(message, "usage_metadata", None), "input_token_details", "cache_creation"
    )
    refusal = message.additional_kwargs.get("refusal")
    response_id = message.response_metadata.get("id")
    return Reply(
        text,
        finish_reason=answer.finish_reason,
        refused=bool(refusal) or answer.finish_reason in _REFUSALS,
        usage=answer.usage or Usage(),
        cache_write_tokens=count(written) or 0,
        logprobs=_logprobs(part(answer.logprobs, "content")),
        response_id=response_id if isinstance(response_id, str) else None,
        model=answer.model,
    )


def _arguments(given: object) -> str | None:
    """What a model said by calling the one function it was given, as text to be read strictly."""
    return given if isinstance(given, str) or given is None else json.dumps(given)
