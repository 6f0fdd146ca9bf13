"""``@verified`` and ``@observed`` for functions, coroutines, generators and methods of all kinds.

Each kind of function is wrapped in the same kind, so that ``inspect`` and every framework that asks
still sees what it saw. ``classmethod`` and ``staticmethod`` objects are taken apart and put
together again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from aucert_otel.decorator.hold import Held, hold
from aucert_otel.decorator.observe import observe
from aucert_otel.decorator.site import From, Site
from aucert_otel.errors import ConfigurationError
from aucert_otel.generation import Generation
from aucert_otel.harness import Harness, check_harness
from aucert_otel.outcome import Otherwise, check_otherwise


F = TypeVar("F", bound=Callable[..., Any])


def verified(
    harness: Harness,
    *,
    otherwise: Otherwise,
    question: From | None = None,
    evidence: From | None = None,
    read: Callable[[Any], Generation | str] | None = None,
    escalate: Callable[..., Any] | None = None,
    **known: Any,
) -> Callable[[F], F]:
    """Hold a function's answer back until it was verified; return it only if it ships.

    A function with a parameter called ``repair`` can repair: it is called a second time with the
    `RepairRequest` there. A generator is read to its end, verified, and then replayed chunk by
    chunk. What ships is the very object the function returned.

    Args:
        harness: What checks and acts.
        otherwise: What the caller gets where the answer may not be used: a text, or a function of
            the `Outcome`. ``HandedToPerson`` raises. There is no default: this is a decision.
        question: The parameter that holds the question, or a function of the arguments by name.
        evidence: The parameter that holds this turn's passages (texts or `Passage` objects), or a
            function of the arguments by name.
        read: Reads the answer's text, or a `Generation`, off a return value that is not text. For
            a generator it receives the list of chunks.
        escalate: A function of the same kind with the same arguments and a stronger model, asked
            once where a repair cannot help.
        **known: Further fields of the `Generation`, such as ``model`` or ``tenant``.

    Raises:
        ConfigurationError: a named parameter or field does not exist, or ``otherwise`` or
            ``escalate`` is not of a kind that the function can use.
    """
    check_otherwise(otherwise, "@verified")
    check_harness(harness, "@verified")
    return _decorator(
        lambda function: hold(
            Held(Site(function, question, evidence, read, known), harness, otherwise, escalate)
        )
    )


def observed(
    harness: Harness,
    *,
    question: From | None = None,
    evidence: From | None = None,
    read: Callable[[Any], Generation | str] | None = None,
    **known: Any,
) -> Callable[[F], F]:
    """Let a function's answer through at once and verify it in the background if it is sampled.

    Streams pass chunk by chunk, untouched; a stream that is abandoned or raises has no finished
    answer and is not verified. Arguments as for `verified`.
    """
    check_harness(harness, "@observed")

    def wrap(function: Callable[..., Any]) -> Callable[..., Any]:
        site = Site(function, question, evidence, read, known)
        named = {"tenant": known.get("tenant"), "model": known.get("model")}

        def show(value: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            # A tenant and a model that the decorator names are the answer's, unless it says its own.
            certain = read is None and not isinstance(value, Generation)
            drawn = harness.draw(**named) if certain else harness.draw()
            if drawn != 0.0:  # else nobody will look at it, and reading it costs the caller
                generation = site.generation(value, site.known_of(args, kwargs))
                harness.submit(generation, drawn=drawn)

        return observe(function, show)

    return _decorator(wrap)


def _decorator(wrap: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Callable[[F], F]:
    def decorate(function: F) -> F:
        if isinstance(function, (classmethod, staticmethod)):
            return cast("F", type(function)(wrap(function.__func__)))
        if isinstance(function, type) or not callable(function):
            raise ConfigurationError(
                f"{function!r} cannot be decorated: it is not a function or a method"
            )
        return cast("F", wrap(function))

    return decorate
