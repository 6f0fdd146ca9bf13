"""Reading answers, questions and usage off LangChain's own objects. Nothing here changes one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.documents import Document
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import Generation as TextGeneration
from langchain_core.outputs import LLMResult
from langchain_core.prompt_values import PromptValue
from langchain_core.utils.json import parse_json_markdown

from aucert_integrations.langchain.content import checked_text, content_text
from aucert_otel.generation import Message, Usage


ANSWER_KEYS = ("answer", "output", "result", "response")
"""Where chains that return a dict keep their answer, by convention."""
QUESTION_KEYS = ("question", "query", "input", "user_input", "message")

_ROLES = {"human": "user", "ai": "assistant", "AIMessageChunk": "assistant", "function": "tool"}
_FINISH = ("finish_reason", "stop_reason", "done_reason")
_MODEL = ("model_name", "model", "model_id")


@dataclass(frozen=True, slots=True)
class Answer:
    """What one call of a model wrote, as far as it says."""

    text: str
    """What the checks read of it."""
    tool_calls: Sequence[Mapping[str, Any]] = ()
    """Calls it asks for; with any, this is a step and no answer. Calls that are not valid do not
    count: nobody can follow them, so what stands beside them is the answer."""
    model: str | None = None
    provider: str | None = None
    finish_reason: str | None = None
    usage: Usage | None = None
    logprobs: Any = field(default=None, repr=False)
    plain: str = ""
    """Its plain text, which is what parsers make of it."""


def answer_of_message(message: BaseMessage, info: Mapping[str, Any] | None = None) -> Answer:
    """What an assistant message says about itself. ``info`` is its generation's, for old models."""
    said = {**(info or {}), **message.response_metadata}
    calls: Sequence[Any] = ()
    usage = None
    if isinstance(message, AIMessage):
        calls = message.tool_calls
        usage = _usage(message.usage_metadata)
    return Answer(
        checked_text(message),
        tool_calls=calls,
        model=_first_text(said, _MODEL),
        provider=_first_text(said, ("model_provider",)),
        finish_reason=_first_text(said, _FINISH),
        usage=usage,
        logprobs=said.get("logprobs"),
        plain=content_text(message.content),
    )


def answer_of_result(result: LLMResult) -> Answer | None:
    """The first candidate of a finished call; ``None`` if there is none."""
    first = next((g for group in result.generations for g in group), None)
    if not isinstance(first, TextGeneration):
        return None
    message = getattr(first, "message", None)
    if isinstance(message, BaseMessage):
        return answer_of_message(message, first.generation_info)
    said = {**(result.llm_output or {}), **(first.generation_info or {})}
    tokens = said.get("token_usage")
    return Answer(
        first.text,
        model=_first_text(said, _MODEL),
        finish_reason=_first_text(said, _FINISH),
        usage=Usage(tokens.get("prompt_tokens"), tokens.get("completion_tokens"))
        if isinstance(tokens, Mapping) and tokens
        else None,
        logprobs=said.get("logprobs"),
    )


def _usage(said: Mapping[str, Any] | None) -> Usage | None:
    if not said:
        return None
    return Usage(
        said.get("input_tokens"),
        said.get("output_tokens"),
        cached_input_tokens=(said.get("input_token_details") or {}).get("cache_read"),
        reasoning_tokens=(said.get("output_token_details") or {}).get("reasoning"),
    )


def _first_text(said: Mapping[str, Any], keys: Iterable[str]) -> str | None:
    for key in keys:
        value = said.get(key)
        if isinstance(value, str) and value:
            return value
    return None


def as_messages(messages: Iterable[BaseMessage | Message]) -> tuple[Message, ...]:
    """A conversation as the core's own messages."""
    return tuple(
        [
            m
            if isinstance(m, Message)
            else Message(_ROLES.get(m.type, m.type), content_text(m.content))
            for m in messages
        ]
    )


def last_question(messages: Sequence[Message]) -> str | None:
    """What the human asked last."""
    return next((m.content for m in reversed(messages) if m.role == "user" and m.content), None)


def question_of(given: object) -> str | None:
    """The question in a runnable's input; ``None`` where it is not obvious.

    A text is the question; a conversation's is its last human message; a dict's stands under one of
    `QUESTION_KEYS`, under ``messages``, or is its only text.
    """
    if isinstance(given, str):
        return given or None
    if isinstance(given, PromptValue):
        given = given.to_messages()
    if isinstance(given, BaseMessage):
        given = [given]
    if isinstance(given, (list, tuple)):
        return last_question(as_messages(m for m in given if isinstance(m, BaseMessage)))
    if isinstance(given, Mapping):
        named = _first_text(given, QUESTION_KEYS)
        if named is None and "messages" in given:
            named = question_of(given["messages"])
        texts = [value for value in given.values() if isinstance(value, str) and value]
        return named or (texts[0] if len(texts) == 1 else None)
    return None


def answer_texts(output: object) -> list[str]:
    """Every text in a runnable's output that could be its answer."""
    if isinstance(output, str):
        return [output]
    if isinstance(output, BaseMessage):
        return [checked_text(output)]
    if isinstance(output, (list, tuple)):
        return answer_texts(output[-1]) if output and isinstance(output[-1], BaseMessage) else []
    if isinstance(output, Mapping):
        return [text for value in output.values() for text in answer_texts(value)]
    return []


def is_plain(output: object) -> bool:
    """Whether a structured output is data of the application's own: no messages, no documents."""
    if isinstance(output, (BaseMessage, Document)):
        return False
    if isinstance(output, Mapping):
        return all(is_plain(value) for value in output.values())
    if isinstance(output, (list, tuple)):
        return all(is_plain(value) for value in output)
    return True


def is_parsed(output: object, text: str) -> bool:
    """Whether a dict is what a parser of JSON made of this text."""
    if not isinstance(output, Mapping) or "{" not in text:
        return False
    try:
        return bool(parse_json_markdown(text) == output)
    except (ValueError, RecursionError):
        return False
