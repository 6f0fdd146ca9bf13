"""Reading answers, questions and usage off LlamaIndex's own objects. Nothing here changes one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    CompletionResponse,
    TextBlock,
)
from llama_index.core.schema import QueryBundle
from pydantic import BaseModel

from aucert_otel.generation import Message, Usage
from aucert_otel.llm.wire import count, text_or_none


MAX_UNREADABLE: Final = 8_000
"""Characters of one block's JSON that the checks read, where nobody can say what its text is."""

_ROLES: Final = {
    "chatbot": "assistant",
    "model": "assistant",
    "function": "tool",
    "developer": "system",
}
_WORKING: Final = frozenset({"thinking", "tool_call", "cache"})
"""Blocks that are a model's way to its answer, and are shown to nobody."""
_TOKENS: Final = (
    ("prompt_tokens", "completion_tokens"),
    ("input_tokens", "output_tokens"),
)


@dataclass(frozen=True, slots=True)
class Answer:
    """What one call of a model wrote, as far as it says."""

    text: str
    """What the checks read of it."""
    asks_tools: bool = False
    """It asks for tools; then it is a step and no answer."""
    model: str | None = None
    finish_reason: str | None = None
    usage: Usage | None = None
    logprobs: Any = field(default=None, repr=False)


def get(value: object, *path: str) -> Any:
    """What lies at a path of keys or attributes; ``None`` as soon as it does not."""
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
        if value is None:
            return None
    return value


def answer_of(response: ChatResponse | CompletionResponse | None) -> Answer | None:
    """What a response says about itself; ``None`` where there is none."""
    if response is None:
        return None
    raw, said = response.raw, response.additional_kwargs
    choice = _choice(raw)
    if isinstance(response, ChatResponse):
        text = message_text(response.message)
        refusal = get(choice, "message", "refusal")
        if not text.strip() and isinstance(refusal, str):
            text = refusal
        asks = asks_tools(response.message)
    else:
        text, asks = response.text, False
    return Answer(
        text,
        asks_tools=asks,
        model=text_or_none(get(raw, "model")),
        finish_reason=finish_reason_of(raw) or text_or_none(said.get("stop_reason")),
        usage=usage_of(raw, said),
        logprobs=_logprobs(choice),
    )


def answer_of_stream(responses: Sequence[Any]) -> Answer | None:
    """What a whole stream says: its last response, with what only an earlier chunk told."""
    answer = answer_of(responses[-1]) if responses else None
    if answer is None:
        return None
    asks = answer.asks_tools
    finish = answer.finish_reason
    tokens: list[Any] = []
    for response in responses:
        choice = _choice(response.raw)
        finish = finish_reason_of(response.raw) or finish
        tokens.extend((_logprobs(choice) or {}).get("content") or ())
        asks = asks or (isinstance(response, ChatResponse) and asks_tools(response.message))
    logprobs = {"content": tokens} if tokens else None
    return replace(answer, asks_tools=asks, finish_reason=finish, logprobs=logprobs)


def finish_reason_of(raw: object) -> str | None:
    """Why a model stopped, as a provider's own response or chunk says it."""
    said = get(_choice(raw), "finish_reason") or get(raw, "stop_reason") or get(raw, "done_reason")
    return text_or_none(said)


def _choice(raw: object) -> Any:
    choices = get(raw, "choices")
    return choices[0] if isinstance(choices, Sequence) and choices else None


def _logprobs(choice: object) -> dict[str, Any] | None:
    found = get(choice, "logprobs")
    if isinstance(found, BaseModel):
        found = found.model_dump()
    return found if isinstance(found, dict) else None


def asks_tools(message: ChatMessage) -> bool:
    """Whether a message asks for tools."""
    return bool(message.additional_kwargs.get("tool_calls")) or any(
        getattr(block, "block_type", None) == "tool_call" for block in message.blocks
    )


def message_text(message: ChatMessage) -> str:
    """Everything in a message that somebody may be shown.

    A block that nobody can read stands there as JSON, at most `MAX_UNREADABLE` characters of it.
    """
    return "\n".join(filter(None, map(_block_text, message.blocks)))


def _block_text(block: Any) -> str:
    if isinstance(block, TextBlock):
        return str(block.text)
    if getattr(block, "block_type", None) in _WORKING:
        return ""
    nested = getattr(block, "content", None)
    if isinstance(nested, list):
        return "\n".join(filter(None, map(_block_text, nested)))
    text: str = block.model_dump_json()
    over = len(text) - MAX_UNREADABLE
    return text if over <= 0 else f"{text[:MAX_UNREADABLE]}... [{over} characters more]"


def usage_of(raw: object, said: Mapping[str, Any]) -> Usage | None:
    """Tokens, wherever an integration leaves them; ``None`` where it does not."""
    for place in (get(raw, "usage"), said):
        for sent, written in _TOKENS:
            if get(place, sent) is not None:
                return Usage(
                    count(get(place, sent)),
                    count(get(place, written)),
                    cached_input_tokens=count(get(place, "prompt_tokens_details", "cached_tokens")),
                    reasoning_tokens=count(
                        get(place, "completion_tokens_details", "reasoning_tokens")
                    ),
                )
    return None


def together(usages: Iterable[Usage | None]) -> Usage | None:
    """The tokens of several calls; ``None`` as soon as one does not say."""
    total: Usage | None = None
    for usage in usages:
        if usage is None:
            return None
        if total is None:
            total = usage
            continue
        total = Usage(
            _sum(total.input_tokens, usage.input_tokens),
            _sum(total.output_tokens, usage.output_tokens),
            cached_input_tokens=_sum(total.cached_input_tokens, usage.cached_input_tokens),
            reasoning_tokens=_sum(total.reasoning_tokens, usage.reasoning_tokens),
        )
    return total


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other


def as_messages(messages: Iterable[ChatMessage]) -> tuple[Message, ...]:
    """A conversation as the core's own messages."""
    return tuple(Message(_ROLES.get(m.role.value, m.role.value), m.content or "") for m in messages)


def last_question(messages: Sequence[Message]) -> str | None:
    """What the human asked last."""
    return next((m.content for m in reversed(messages) if m.role == "user" and m.content), None)


_QUESTIONS: Final = ("str_or_query_bundle", "query_bundle", "message", "user_msg", "query")


def question_of(arguments: Mapping[str, Any]) -> str | None:
    """The question in the arguments of an engine's or a workflow's call."""
    # A workflow is run with keywords, which are in an event by the time that its span begins.
    for place in (arguments, arguments.get("kwargs"), arguments.get("start_event")):
        for name in _QUESTIONS:
            value = get(place, name)
            if isinstance(value, QueryBundle):
                value = value.query_str
            elif isinstance(value, ChatMessage):
                value = value.content
            if isinstance(value, str) and value:
                return value
    return None
