"""A runnable's output as a generation to check, and a text as an output of the same shape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.documents import Document
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from pydantic import BaseModel
from pydantic_core import PydanticSerializationError, to_json

from aucert_integrations.langchain.content import checked_text
from aucert_integrations.langchain.reading import ANSWER_KEYS
from aucert_otel.outcome import Outcome


def answer_message(output: object, given: object = None) -> BaseMessage | None:
    """The message in an output that is the answer, if it is one."""
    if isinstance(output, BaseMessage):
        return output
    if isinstance(output, (list, tuple)):
        return output[-1] if output and isinstance(output[-1], BaseMessage) else None
    if isinstance(output, Mapping):
        key = answer_key(output, given)
        return None if key is None else answer_message(output[key])
    return None


def answer_key(output: Mapping[Any, Any], given: object = None) -> str | None:
    """Where a dict keeps its answer; ``None`` where all of it is the answer.

    That is a message under one of `ANSWER_KEYS`, else a text there with nothing beside it that a model
    could have written, else the last of ``messages``. A model that writes JSON chooses its keys, and
    must not choose with them what is checked.

    Args:
        output: The dict.
        given: The input it was made from: what is only passed on from there was not written.
    """
    for key in ANSWER_KEYS:
        if isinstance(output.get(key), BaseMessage):
            return key
    for key in ANSWER_KEYS:
        text = output.get(key)
        if isinstance(text, str) and text:
            beside = ((k, v) for k, v in output.items() if k != key)
            return None if any(_written(k, v, given) for k, v in beside) else key
    messages = output.get("messages")
    if isinstance(messages, (list, tuple)) and messages and isinstance(messages[-1], BaseMessage):
        return "messages"
    return None


def _written(key: object, value: object, given: object) -> bool:
    """Whether an entry of a dict may be a model's words, and not what the application put there."""
    if not isinstance(key, str) or not key.isidentifier():
        return True  # a key may be a sentence
    if isinstance(given, Mapping):
        if key in given and _same(value, given[key]):
            return False
    elif given is not None and _same(value, given):
        return False
    return _is_data(value)


def _same(value: object, given: object) -> bool:
    # Only texts are compared: an object's own idea of equality may be slow, or raise.
    return value is given or (isinstance(value, str) and isinstance(given, str) and value == given)


def _is_data(value: object) -> bool:
    """Whether there is something in a value that JSON can say.

    Messages, documents and other objects are the application's own.
    """
    if isinstance(value, Mapping):
        return bool(value)
    if isinstance(value, (list, tuple)):
        return any(_is_data(item) for item in value)
    if isinstance(value, BaseModel):
        return not isinstance(value, (BaseMessage, Document))
    return isinstance(value, (str, int, float)) and value != ""


def text_of(output: object, given: object = None) -> str:
    """The text of an output that the checks read: JSON for a structured one.

    Args:
        output: What a runnable returned.
        given: What it was made from; see `answer_key`.

    Raises:
        TypeError: no text can be read off it.
    """
    if isinstance(output, str):
        return output
    message = answer_message(output, given)
    if message is not None:
        return checked_text(message)
    if isinstance(output, Mapping):
        key = answer_key(output, given)
        if key is not None:
            return str(output[key])
        raw = output.get("raw")
        if isinstance(raw, BaseMessage) and "parsed" in output:
            # with_structured_output(include_raw=True); where it could not be parsed, the message is
            # all there is.
            output = output["parsed"]
            if output is None:
                return checked_text(raw) or _calls(raw)
    if isinstance(output, BaseModel):
        return output.model_dump_json()
    return _json(output)


def _json(output: object) -> str:
    try:
        return to_json(output).decode()
    except PydanticSerializationError as error:
        raise TypeError(
            f"verified() cannot read an answer off this {type(output).__name__}: tell it how with read=..."
        ) from error


def _calls(message: BaseMessage) -> str:
    calls = message.tool_calls if isinstance(message, AIMessage) else ()
    return _json([call["args"] for call in calls]) if calls else ""


def pending_calls(output: object) -> bool:
    """Whether an output is a model's step that asks for tools, and no answer yet.

    A call that is not valid asks for nothing: nobody can follow it, and what stands beside it is shown.
    """
    return isinstance(output, AIMessage) and bool(output.tool_calls)


def shaped(text: str, like: object, outcome: Outcome, given: object = None) -> Any:
    """A text instead of an answer, in the answer's own shape where that can hold one.

    A message says in ``response_metadata["aucert"]`` what was decided. A dict is copied, with only
    its answer replaced; ``given`` is what it was made from (see `answer_key`). For anything else the
    text itself is returned.
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
        key = answer_key(like, given)
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
