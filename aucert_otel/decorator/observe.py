"""Pass a function's answer through untouched, and show it to someone once it is finished."""

from __future__ import annotations

import functools
from collections.abc import AsyncGenerator, Callable, Generator
from typing import Any

from aucert_otel._safe import Guard, swallow
from aucert_otel.decorator.kinds import Kind, kind_of
from aucert_otel.decorator.site import Chunks


Function = Callable[..., Any]
Show = Callable[[Any, tuple[Any, ...], dict[str, Any]], object]

_GUARD = Guard("observe")


def observe(function: Function, show: Show) -> Function:
    """Wrap a function in one of the same kind.

    ``show`` receives the finished answer (for streams the list of chunks) and the arguments. What
    it raises never reaches the caller, and it is not called for a stream that was abandoned or
    that raised: there is no finished answer.
    """
    return _WRAPPERS[kind_of(function)](function, show)


def _plain(function: Function, show: Show) -> Function:
    @functools.wraps(function)
    def plain(*args: Any, **kwargs: Any) -> Any:
        value = function(*args, **kwargs)
        try:  # what the guard does, without its cost: most answers are not even chosen
            show(value, args, kwargs)
        except Exception as error:
            if not swallow("observe", error):
                raise
        return value

    return plain


def _coroutine(function: Function, show: Show) -> Function:
    @functools.wraps(function)
    async def coroutine(*args: Any, **kwargs: Any) -> Any:
        value = await function(*args, **kwargs)
        try:  # as above
            show(value, args, kwargs)
        except Exception as error:
            if not swallow("observe", error):
                raise
        return value

    return coroutine


def _stream(function: Function, show: Show) -> Function:
    @functools.wraps(function)
    def stream(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        chunks = Chunks()
        chunks.result = yield from _Recording(function(*args, **kwargs), chunks)
        with _GUARD:
            show(chunks, args, kwargs)
        return chunks.result

    return stream


def _async_stream(function: Function, show: Show) -> Function:
    @functools.wraps(function)
    async def async_stream(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        chunks = Chunks()
        inner = function(*args, **kwargs)
        try:
            step = await anext(inner, _END)
            while step is not _END:
                chunks.append(step)
                try:
                    sent = yield step
                except GeneratorExit:
                    raise
                except BaseException as error:  # noqa: BLE001 - the consumer's throw() belongs to the inner generator
                    step = await _step(inner.athrow(error))
                else:
                    step = await _step(inner.asend(sent))
        finally:
            await inner.aclose()
        with _GUARD:
            show(chunks, args, kwargs)

    return async_stream


_WRAPPERS = {
    Kind.PLAIN: _plain,
    Kind.COROUTINE: _coroutine,
    Kind.STREAM: _stream,
    Kind.ASYNC_STREAM: _async_stream,
}

_END = object()


async def _step(step: Any) -> Any:
    try:
        return await step
    except StopAsyncIteration:
        return _END


class _Recording(Generator[Any, Any, Any]):
    """A generator that notes what passes; ``yield from`` does the rest of the protocol."""

    __slots__ = ("_chunks", "_inner")

    def __init__(self, inner: Generator[Any, Any, Any], chunks: list[Any]) -> None:
        self._inner = inner
        self._chunks = chunks

    def send(self, value: Any) -> Any:
        chunk = self._inner.send(value)
        self._chunks.append(chunk)
        return chunk

    def throw(self, *error: Any) -> Any:
        chunk = self._inner.throw(*error)
        self._chunks.append(chunk)
        return chunk

    def close(self) -> None:
        self._inner.close()
