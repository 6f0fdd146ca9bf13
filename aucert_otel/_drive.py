"""Drive one implementation from synchronous and from asynchronous callers.

The flows (`Cascade.walk`, the harness's rounds) are generators that yield effects and receive
results. Whatever an effect raises, cancellation included, is raised inside the flow at the point
where it waited, so its ``finally`` blocks end every span.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Generator
from typing import Any, Generic, Protocol, TypeVar

from opentelemetry import context as otel_context
from opentelemetry.context import Context

from aucert_otel.background import worker


T = TypeVar("T")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class Effect(Protocol[R_co]):
    """Something a flow waits for."""

    def wait(self) -> R_co:
        """Do it, blocking the caller."""
        ...

    async def await_(self) -> R_co:
        """Do it, suspending the caller."""
        ...


class OnWorker(Generic[R]):
    """A coroutine function that runs on the SDK's own loop, ``within`` seconds if given."""

    __slots__ = ("_args", "_function", "_within")

    def __init__(
        self,
        function: Callable[..., Coroutine[Any, Any, R]],
        *args: Any,
        within: float | None = None,
    ) -> None:
        self._function = function
        self._args = args
        self._within = within

    def wait(self) -> R:
        """Run it there and block until it is done."""
        return worker().run(self._function(*self._args), self._within)

    async def await_(self) -> R:
        """Run it there and suspend until it is done."""
        return await worker().arun(self._function(*self._args), self._within)


class InCaller(Generic[R]):
    """The user's own function, on the caller's thread or loop, with ``context`` current."""

    __slots__ = ("_args", "_context", "_function")

    def __init__(self, context: Context, function: Callable[..., Any], *args: Any) -> None:
        self._context = context
        self._function = function
        self._args = args

    def wait(self) -> R:
        """Call it.

        Raises:
            TypeError: it is a coroutine function, which only the asynchronous API can await.
        """
        token = otel_context.attach(self._context)
        try:
            result = self._function(*self._args)
        finally:
            otel_context.detach(token)
        if inspect.iscoroutine(result):
            result.close()
            raise TypeError(
                f"{getattr(self._function, '__qualname__', self._function)!s} is a coroutine function: "
                "use arun() instead of run()"
            )
        return result  # type: ignore[no-any-return] # the caller states R for its own function

    async def await_(self) -> R:
        """Call it, and await what it returns if that can be awaited."""
        token = otel_context.attach(self._context)
        try:
            result = self._function(*self._args)
            if inspect.isawaitable(result):
                result = await result
        except GeneratorExit:
            # A coroutine that is collected instead of finished may be closed in another context,
            # where the token is not valid and there is nothing to restore.
            if otel_context.get_current() is self._context:
                otel_context.detach(token)
            raise
        except BaseException:
            otel_context.detach(token)
            raise
        otel_context.detach(token)
        return result  # type: ignore[no-any-return] # as above


def drive(flow: Generator[Effect[Any], Any, T]) -> T:
    """Run a flow to its end on this thread."""
    value: Any = None
    error: BaseException | None = None
    stopped: StopIteration
    try:
        while True:
            try:
                effect = flow.send(value) if error is None else flow.throw(error)
            except StopIteration as stop:
                return stop.value  # type: ignore[no-any-return] # StopIteration is untyped
            except RuntimeError as raised:
                # A generator turns a StopIteration into this; the user's own must arrive unchanged.
                if not isinstance(error, StopIteration) or raised.__cause__ is not error:
                    raise
                stopped = error
                break
            value = error = None
            try:
                value = effect.wait()
            except BaseException as raised:  # noqa: BLE001 - handed to the flow, which raises it on
                error = raised
        raise stopped
    finally:
        error = None
        flow.close()


async def adrive(flow: Generator[Effect[Any], Any, T]) -> T:
    """Run a flow to its end in this task."""
    value: Any = None
    error: BaseException | None = None
    try:
        while True:
            try:
                effect = flow.send(value) if error is None else flow.throw(error)
            except StopIteration as stop:
                return stop.value  # type: ignore[no-any-return] # as above
            value = error = None
            try:
                value = await effect.await_()
            except BaseException as raised:  # noqa: BLE001 - as above
                error = raised
    finally:
        error = None
        flow.close()
