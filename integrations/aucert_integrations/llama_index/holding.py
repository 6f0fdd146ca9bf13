"""Holding an answer back, in the one way that all of LlamaIndex's calls share."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Protocol

from aucert_otel.errors import ConfigurationError
from aucert_otel.generation import Generation
from aucert_otel.harness import Harness, check_harness
from aucert_otel.once import held
from aucert_otel.outcome import Otherwise, Outcome, check_otherwise
from aucert_otel.repair import RepairRequest
from aucert_otel.telemetry.emit import CONTROL_FLOW
from aucert_otel.verifier import is_async


CONTROL_FLOW.add("ToolStep")

Shape = Callable[[Any, Any, Outcome], Any]
"""What ``otherwise`` gave, in the shape of the answer that it stands for."""


class ToolStep(BaseException):
    """The model asks for tools: a step, which passes unchecked."""

    def __init__(self, value: Any) -> None:
        super().__init__("the model asks for tools")
        self.value = value


class NoAnswer(Exception):  # noqa: N818 - a state, read off the span by name
    """The second call asked for tools instead of answering."""


class Writer(Protocol):
    """Writes an answer for the harness: the first draft, a repair, or somebody stronger's."""

    def can_repair(self) -> bool:
        """Whether a request reaches whoever writes."""
        ...

    def generate(self, request: RepairRequest | None) -> Generation:
        """Have a draft written."""
        ...

    def agenerate(self, request: RepairRequest | None) -> Awaitable[Generation]:
        """`generate` for asynchronous callers."""
        ...

    def again(self, request: RepairRequest | None) -> Generation:
        """Have somebody stronger answer."""
        ...

    def aagain(self, request: RepairRequest | None) -> Awaitable[Generation]:
        """`again` for asynchronous callers."""
        ...


class Holder(Protocol):
    """What holds answers back."""

    harness: Harness
    otherwise: Otherwise
    escalate: Any
    name: str | None


def checked(place: str, harness: object, otherwise: object) -> None:
    """Refuse what cannot hold an answer back.

    Raises:
        ConfigurationError: ``harness`` is no harness, or ``otherwise`` neither a text nor a function.
    """
    check_harness(harness, place)
    check_otherwise(otherwise, place)


def hold(of: Holder, writer: Writer, shape: Shape) -> Any:
    """The answer if it ships, else what ``otherwise`` says.

    Raises:
        ConfigurationError: ``otherwise`` is a coroutine function, which nobody awaits here.
    """
    if is_async(of.otherwise):  # type: ignore[arg-type] # a text is none; before anything is paid for
        raise _unawaited()
    token = held.set(True)
    try:
        outcome = of.harness.run(
            writer.generate,
            escalate=None if of.escalate is None else writer.again,
            can_repair=writer.can_repair,
            name=of.name,
        )
    except ToolStep as step:
        return step.value
    finally:
        held.reset(token)
    value = outcome.or_else(of.otherwise)
    if not outcome.shipped and inspect.isawaitable(value):
        if inspect.iscoroutine(value):
            value.close()
        raise _unawaited()
    return _result(outcome, value, shape)


async def ahold(of: Holder, writer: Writer, shape: Shape) -> Any:
    """`hold` for asynchronous callers."""
    token = held.set(True)
    try:
        outcome = await of.harness.arun(
            writer.agenerate,
            escalate=None if of.escalate is None else writer.aagain,
            can_repair=writer.can_repair,
            name=of.name,
        )
    except ToolStep as step:
        return step.value
    finally:
        with suppress(ValueError):  # a coroutine that is collected is closed in another context
            held.reset(token)
    value = outcome.or_else(of.otherwise)
    if not outcome.shipped and inspect.isawaitable(value):
        value = await value
    return _result(outcome, value, shape)


def _result(outcome: Outcome, value: Any, shape: Shape) -> Any:
    if outcome.shipped:
        return value
    return shape(value, outcome.generation.value, outcome)


def unfit(value: Any, kind: str) -> TypeError:
    """What ``otherwise`` gave cannot stand for an answer of this kind."""
    return TypeError(
        f"otherwise= gave {type(value).__name__}, where the caller expects {kind}: give a text, or a "
        f"function that returns one or {kind}"
    )


def _unawaited() -> ConfigurationError:
    return ConfigurationError(
        "otherwise= is a coroutine function and was called without await: use the asynchronous "
        "methods, or give a plain function"
    )
