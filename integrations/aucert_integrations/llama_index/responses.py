"""Engines' responses: their text, a stream read and replayed, and a text in a response's own shape."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, Callable, Generator, Iterable
from typing import Any, Final

from llama_index.core.base.llms.types import ChatMessage, ChatResponse, CompletionResponse
from llama_index.core.base.response.schema import (
    AsyncStreamingResponse,
    PydanticResponse,
    Response,
    StreamingResponse,
)
from llama_index.core.chat_engine.types import AgentChatResponse, StreamingAgentChatResponse
from llama_index.core.schema import BaseNode, NodeWithScore
from llama_index.core.tools.types import ToolOutput
from pydantic import BaseModel
from pydantic_core import to_json

from aucert_integrations.llama_index.holding import unfit
from aucert_integrations.llama_index.reading import message_text
from aucert_otel.outcome import Outcome


def replay(chunks: Iterable[str]) -> Generator[str, None, None]:
    """A stream that was held back, chunk by chunk."""
    yield from chunks


async def areplay(chunks: Iterable[str]) -> AsyncGenerator[str, None]:
    """`replay` for asynchronous consumers."""
    for chunk in chunks:
        yield chunk


def read(response: Any) -> str:
    """A response's text. A stream is read to its end, and will be replayed chunk by chunk.

    Raises:
        TypeError: it is a stream that only asynchronous callers can read.
    """
    if isinstance(response, StreamingResponse) and response.response_txt is None:
        source: Iterable[str] = response.response_gen
        chunks = list(source)
        response.response_gen = replay(chunks)
        return "".join(chunks)
    if isinstance(response, AsyncStreamingResponse):
        raise TypeError("the engine answered with an asynchronous stream: call it with aquery()")
    return text_of(response)


async def aread(response: Any) -> str:
    """`read` for asynchronous callers."""
    if isinstance(response, AsyncStreamingResponse) and response.response_txt is None:
        source: AsyncIterable[str] = response.response_gen
        chunks = [chunk async for chunk in source]
        response.response_gen = areplay(chunks)
        return "".join(chunks)
    if isinstance(response, AsyncStreamingResponse):
        return response.response_txt or ""
    return read(response)


def text_of(result: Any) -> str:
    """The text that the checks read of a response; JSON for a structured one.

    Raises:
        TypeError: no text can be read off it.
    """
    text = text_or_none(result)
    if text is None:
        raise TypeError(f"no answer can be read off a {type(result).__name__}")
    return text


_RESPONSES: Final = (Response, PydanticResponse, StreamingResponse, AsyncStreamingResponse)
_READERS: Final[tuple[tuple[type | tuple[type, ...], Callable[[Any], str | None]], ...]] = (
    (str, lambda text: text),
    ((Response, AgentChatResponse), lambda found: found.response or ""),
    (PydanticResponse, lambda found: _json(found.response)),
    ((StreamingResponse, AsyncStreamingResponse), lambda found: found.response_txt),
    (StreamingAgentChatResponse, lambda found: found.response or found.unformatted_response),
    (ChatResponse, lambda found: message_text(found.message)),
    (CompletionResponse, lambda found: found.text),
    (ToolOutput, lambda found: found.content),
    ((BaseNode, NodeWithScore), lambda _: None),
)


def text_or_none(result: Any) -> str | None:
    """The text of whatever an engine, a model or a workflow returned; ``None`` if it is no answer."""
    for kinds, reader in _READERS:
        if isinstance(result, kinds):
            return reader(result)
    structured = getattr(result, "structured_response", None)
    if isinstance(structured, dict):  # an agent with an output class
        return _json(structured)
    message = getattr(result, "response", None)
    if isinstance(message, ChatMessage):  # an agent
        return message_text(message)
    return _json(result) if isinstance(result, BaseModel) else None


def _json(value: Any) -> str:
    if value is None:
        return ""
    return value.model_dump_json() if isinstance(value, BaseModel) else to_json(value).decode()


def said(outcome: Outcome) -> dict[str, Any]:
    """What was decided, for whoever gets something else than the answer."""
    return {
        "verdict": outcome.report.verdict.value,
        "action": outcome.action.value,
        "trace_id": outcome.trace_id,
    }


def shaped(value: Any, like: Any, outcome: Outcome) -> Any:
    """A text instead of a response, in the response's own type where that can hold one.

    Its metadata says under ``aucert`` what was decided. Instead of a structured response it is a plain
    one. A response is taken as it is.

    Raises:
        TypeError: it is neither.
    """
    if isinstance(value, _RESPONSES):
        return value
    if not isinstance(value, str):
        raise unfit(value, "a response")
    metadata = {**(getattr(like, "metadata", None) or {}), "aucert": said(outcome)}
    nodes = getattr(like, "source_nodes", None) or []
    if isinstance(like, StreamingResponse):
        return StreamingResponse(replay([value]), nodes, metadata)
    if isinstance(like, AsyncStreamingResponse):
        return AsyncStreamingResponse(areplay([value]), nodes, metadata)
    return Response(value, nodes, metadata)
