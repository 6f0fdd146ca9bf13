"""A runnable's output as a generation to check, and a text as an output of the same shape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from pydantic import BaseModel
from pydantic_core import PydanticSerializationError, to_json

from aucert_integrations.langchain.reading import ANSWER_KEYS, content_text
from aucert_otel.outcome import Outcome


def answer_message(output: object) -> BaseMessage | None:
    """The message in an output that is the answer, if it is one."""
    if isinstance(output, BaseMessage):
        return output
    if isinstance(output, (list, tuple)):
        return output[-1] if output and isinstance(output[-1], BaseMessage) else None
    if isinstance(output, Mapping):
        key = answer_key(output)
        return None if key is None else answer_message(output[key])
    return None


def answer_key(output: Mapping[Any, Any]) -> str | None:
    """Where a dict keeps its answer: under one of `ANSWER_KEYS`, or as the last of ``messages``."""
    for key in ANSWER_KEYS:
        if isinstance(output.get(key), (str, BaseMessage)):
            return key
    messages = output.get("messages")
    if isinstance(messages, (list, tuple)) and messages and isinstance(messages[-1], BaseMessage):
        return "messages"
    return None


def text_of(output: object) -> str:
    """The text of an output that the checks read: JSON for a structured one.

    Raises:
        TypeError: no text can be read off it.
    """
    if isinstance(output, str):
        return output
    message = answer_message(output)
    if message is not None:
        return content_text(message.content)
    if isinstance(output, Mapping):
        key = answer_key(output)
        if key is not None:
            return str(output[key])
        if {"raw", "parsed"} <= output.keys():  # with_structured_output(include_raw=True)
            output = output["parsed"]
    if isinstance(output, BaseModel):
        return output.model_dump_json()
    try:
        return to_json(output).decode()
    except PydanticSerializationError as error:
        raise TypeError(
            f"verified() cannot read an answer off this {type(output).__name__}: tell it how with read=..."
        ) from error


def pending_calls(output: object) -> bool:
    """Whether an output is a model's step that asks for tools, and no answer yet."""
    return isinstance(output, AIMessage) and bool(output.tool_calls or output.invalid_tool_calls)


def shaped(text: str, like: object, outcome: Outcome) -> Any:
    """A text instead of an answer, in the answer's own shape where that can hold one.

    A message says in ``response_metadata["aucert"]`` what was decided. A dict is copied, with only
    its answer replaced. For anything else the text itself is returned.
    """
    if isinstance(like, BaseMessage):
        said = {
            "verdict": outcome.report.verdict.value,
            "action": outcome.action.value,
            "trace_id": outcome.trace_id,
        }
        # The rejected message's id, so that whoever merges messages by id replaces it.
        return AIMessage(content=text, id=like.id, response_metadata={"aucert": said})
    if isinstance(like, list) and answer_message(like) is not None:
        return [*like[:-1], shaped(text, like[-1], outcome)]
    if isinstance(like, dict):
        key = answer_key(like)
        return text if key is None else {**like, key: shaped(text, like[key], outcome)}
    return text


def as_chunk(output: Any) -> Any:
    """An output as the one chunk of a stream: consumers add chunks, and messages do not add up."""
    if not isinstance(output, AIMessage) or isinstance(output, AIMessageChunk):
        return output
    return AIMessageChunk(
        content=output.content,
        additional_kwargs=output.additional_kwargs,
        response_metadata=output.response_metadata,
        name=output.name,
        id=output.id,
        tool_calls=output.tool_calls,
        invalid_tool_calls=output.invalid_tool_calls,
        usage_metadata=output.usage_metadata,
    )
