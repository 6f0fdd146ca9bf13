"""Hold a function's answer back until the harness has said what to do about it.

Each kind of function is wrapped in one of the same kind, as in `aucert_otel.decorator.observe`. They differ
only in how an answer is collected and how it is handed on.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from aucert_otel.decorator.kinds import Kind, kind_of
from aucert_otel.decorator.site import Call, Chunks, Site
from aucert_otel.errors import ConfigurationError
from aucert_otel.generation import Generation
from aucert_otel.harness import Harness
from aucert_otel.outcome import Otherwise
from aucert_otel.repair import RepairRequest
from aucert_otel.telemetry import verifying


Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Held:
    """A function whose answer is held back, and what becomes of it.

    Raises:
        ConfigurationError: ``otherwise`` or ``escalate`` is not of a kind that ``site`` can use.
    """

    site: Site
    harness: Harness
    otherwise: Otherwise
    escalate: Function | None = None
    """Called with the function's own arguments."""

    def __post_init__(self) -> None:
        name, kind = self.site.name, self.site.kind
        if callable(self.otherwise) and not kind.is_async:
            given = kind_of(self.otherwise)
            if given.is_async:
                raise ConfigurationError(
                    f"otherwise= is a {given.value}, but {name}() is a {kind.value} and cannot await it: "
                    "give a plain function"
                )
        if self.escalate is not None and kind_of(self.escalate) is not kind:
            raise ConfigurationError(
                f"escalate= is a {kind_of(self.escalate).value}, but {name}() is a {kind.value}: give one of "
                "the same kind, which takes the same arguments"
            )

    def run(self, collect: Callable[..., Any], args: tuple[Any, ...], kwargs: Any) -> Any:
        """What the caller gets: the answer if it ships, else what ``otherwise`` makes of it."""
        call = Call(self.site, args, kwargs, self.site.known_of(args, kwargs))

        def writer(function: Function) -> Callable[[RepairRequest | None], Generation]:
            return lambda request: call.generation(collect(function, *call.arguments(request)))

        outcome = self.harness.run(
            writer(self.site.function),
            escalate=None if self.escalate is None else writer(self.escalate),
            can_repair=self.site.can_repair,
            name=self.site.name,
        )
        return outcome.or_else(self.otherwise)

    async def arun(
        self, collect: Callable[..., Awaitable[Any]], args: tuple[Any, ...], kwargs: Any
    ) -> Any:
        """`run` for functions whose caller can await."""
        call = Call(self.site, args, kwargs, self.site.known_of(args, kwargs))

        def writer(function: Function) -> Callable[[RepairRequest | None], Awaitable[Generation]]:
            async def write(request: RepairRequest | None) -> Generation:
                return call.generation(await collect(function, *call.arguments(request)))

            return write

        outcome = await self.harness.arun(
            writer(self.site.function),
            escalate=None if self.escalate is None else writer(self.escalate),
            can_repair=self.site.can_repair,
            name=self.site.name,
        )
        if outcome.shipped:
            return outcome.output
        result = outcome.or_else(self.otherwise)
        if inspect.isawaitable(result):
            result = await result
            if isinstance(result, BaseException):
                raise result
        return result


def hold(held: Held) -> Function:
    """Wrap a function in one of the same kind that hands on only what ships."""
    return _WRAPPERS[held.site.kind](held, held.site.function)


def _plain(held: Held, function: Function) -> Function:
    @functools.wraps(function)
    def plain(*args: Any, **kwargs: Any) -> Any:
        if verifying.get():  # a judge's own calls are never verified
            return function(*args, **kwargs)
        return held.run(_call, args, kwargs)

    return plain


def _coroutine(held: Held, function: Function) -> Function:
    @functools.wraps(function)
    async def coroutine(*args: Any, **kwargs: Any) -> Any:
        if verifying.get():
            return await function(*args, **kwargs)
        return await held.arun(_acall, args, kwargs)

    return coroutine


def _stream(held: Held, function: Function) -> Function:
    @functools.wraps(function)
    def stream(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        if verifying.get():
            return (yield from function(*args, **kwargs))
        chunks = _chunks(held.run(_drain, args, kwargs))
        for chunk in chunks:  # noqa: UP028 - a list cannot take what a consumer may send
            yield chunk
        return chunks.result

    return stream


def _async_stream(held: Held, function: Function) -> Function:
    @functools.wraps(function)
    async def async_stream(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        if verifying.get():
            async with aclosing(function(*args, **kwargs)) as inner:
                async for chunk in inner:
                    yield chunk
            return
        for chunk in _chunks(await held.arun(_adrain, args, kwargs)):
            yield chunk

    return async_stream


_WRAPPERS = {
    Kind.PLAIN: _plain,
    Kind.COROUTINE: _coroutine,
    Kind.STREAM: _stream,
    Kind.ASYNC_STREAM: _async_stream,
}


def _call(function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    value = function(*args, **kwargs)
    if inspect.iscoroutine(value):
        value.close()
        name = getattr(function, "__name__", type(function).__name__)
        raise TypeError(
            f"{name}() is a plain function and returned a coroutine: declare it with async def"
        )
    return value


async def _acall(function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return await function(*args, **kwargs)


def _drain(function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Chunks:
    chunks = Chunks()

    def read() -> Generator[Any, Any, None]:
        chunks.result = yield from function(*args, **kwargs)

    chunks.extend(read())
    return chunks


async def _adrain(function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Chunks:
    return Chunks([chunk async for chunk in function(*args, **kwargs)])


def _chunks(answer: Any) -> Chunks:
    """An answer as the chunks of a stream: its own, or those that ``otherwise`` gave."""
    if isinstance(answer, Chunks):
        return answer
    return Chunks(answer if isinstance(answer, list) else [answer])
