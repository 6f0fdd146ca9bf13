"""``@verified`` and ``@observed`` for functions, coroutines, generators and methods of all kinds.

Each flavour of function is wrapped in the same flavour, so that ``inspect`` and every framework
that asks still sees what it saw. ``classmethod`` and ``staticmethod`` objects are taken apart and
put together again.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, TypeAlias, TypeVar, cast

from aucert_otel.errors import ConfigurationError
from aucert_otel.generation import Generation, Passage
from aucert_otel.harness import Harness
from aucert_otel.outcome import Otherwise
from aucert_otel.repair import RepairRequest
from aucert_otel.rounds import Generate
from aucert_otel.telemetry import verifying


F = TypeVar("F", bound=Callable[..., Any])

From: TypeAlias = str | Callable[[Mapping[str, Any]], Any]
"""Where a value comes from: a parameter's name, or a function of all bound arguments."""


def verified(
    harness: Harness,
    *,
    otherwise: Otherwise,
    question: From | None = None,
    evidence: From | None = None,
    read: Callable[[Any], Generation | str] | None = None,
    escalate: Generate | None = None,
    **known: Any,
) -> Callable[[F], F]:
    """Hold a function's answer back until it was verified; return it only if it ships.

    A function with a parameter called ``repair`` can repair: it is called a second time with the
    `RepairRequest` there. A generator is read to its end, verified, and then replayed chunk by chunk.

    Args:
        harness: What checks and acts.
        otherwise: What the caller gets where the answer may not be used: a text, or a function of
            the `Outcome`. ``HandedToPerson`` raises. There is no default: this is a decision.
        question: The parameter that holds the question, or a function of the bound arguments.
        evidence: The parameter that holds this turn's passages (texts or `Passage` objects), or a
            function of the bound arguments.
        read: Reads the answer's text, or a whole `Generation`, off a return value that is not
            text. For a generator it receives the list of chunks.
        escalate: A stronger generator, asked once where a repair cannot help.
        **known: Further fields of the `Generation`, such as ``model`` or ``tenant``.

    Raises:
        ConfigurationError: a named parameter does not exist.
    """

    def decorate(function: F) -> F:
        return _rewrap(
            function,
            lambda plain: _hold(
                _Site(plain, question, evidence, read, known), harness, otherwise, escalate
            ),
        )

    return decorate


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

    def decorate(function: F) -> F:
        return _rewrap(
            function, lambda plain: _observe(_Site(plain, question, evidence, read, known), harness)
        )

    return decorate


@dataclass(frozen=True, slots=True)
class _Site:
    """One decorated function: how to read a generation off its arguments and its return value."""

    function: Callable[..., Any]
    question: From | None
    evidence: From | None
    read: Callable[[Any], Generation | str] | None
    known: Mapping[str, Any]
    _: KW_ONLY
    signature: inspect.Signature = inspect.Signature()

    def __post_init__(self) -> None:
        object.__setattr__(self, "signature", inspect.signature(self.function))
        for role, source in (("question", self.question), ("evidence", self.evidence)):
            if isinstance(source, str) and source not in self.signature.parameters:
                raise ConfigurationError(
                    f"{role}={source!r}: {self.name}() has no such parameter; it has "
                    + (", ".join(self.signature.parameters) or "none")
                )

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def can_repair(self) -> bool:
        return "repair" in self.signature.parameters

    def known_of(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """The fields of the generation that the call's arguments tell."""
        known = dict(self.known)
        if self.question is None and self.evidence is None:
            return known
        bound = self.signature.bind_partial(*args, **kwargs)
        bound.apply_defaults()
        if self.question is not None:
            known["question"] = _value(self.question, bound.arguments)
        if self.evidence is not None:
            known["evidence"] = as_passages(_value(self.evidence, bound.arguments))
        return known

    def generation(self, value: Any, known: Mapping[str, Any]) -> Generation:
        """A return value as a generation; ``value`` itself is what the application gets back."""
        text = value if self.read is None else self.read(value)
        if self.read is None and isinstance(value, list):
            if not all(isinstance(chunk, str) for chunk in value):
                raise TypeError(
                    f"{self.name}() does not yield text: tell @verified how to read it with read=..."
                )
            text = "".join(value)
        if isinstance(text, Generation):
            return text if text.raw is not None or value is text else replace(text, raw=value)
        if not isinstance(text, str):
            raise TypeError(
                f"{self.name}() returned {type(text).__name__}, not text: tell the decorator how to read "
                "it with read=..."
            )
        return Generation(text, raw=None if text is value else value, **known)


def _value(source: From, arguments: Mapping[str, Any]) -> Any:
    return arguments.get(source) if isinstance(source, str) else source(arguments)


def as_passages(value: object) -> tuple[Passage, ...] | None:
    """Texts or passages as passages; ``None`` stays "nobody knows".

    Raises:
        TypeError: something else is among them.
    """
    if value is None:
        return None
    if isinstance(value, (str, Passage)):
        value = (value,)
    if not isinstance(value, Iterable):
        raise TypeError(
            f"evidence is {type(value).__name__}: give a list of texts or Passage objects"
        )
    passages = []
    for item in value:
        if not isinstance(item, (str, Passage)):
            raise TypeError(
                f"evidence holds a {type(item).__name__}: give texts or Passage objects, or convert with "
                "evidence=lambda arguments: [...]"
            )
        passages.append(Passage(item) if isinstance(item, str) else item)
    return tuple(passages)


def _rewrap(function: F, wrap: Callable[[Callable[..., Any]], Callable[..., Any]]) -> F:
    if isinstance(function, (classmethod, staticmethod)):
        return cast(F, type(function)(wrap(function.__func__)))
    if not callable(function):
        raise ConfigurationError(f"{function!r} cannot be decorated: it is not a function")
    return cast(F, wrap(function))


def _hold(
    site: _Site, harness: Harness, otherwise: Otherwise, escalate: Generate | None
) -> Callable[..., Any]:
    function = site.function
    options: dict[str, Any] = {
        "escalate": escalate,
        "can_repair": site.can_repair,
        "name": site.name,
    }

    def again(kwargs: dict[str, Any], request: RepairRequest | None) -> dict[str, Any]:
        return kwargs if request is None else {**kwargs, "repair": request}

    if inspect.isasyncgenfunction(function):

        @functools.wraps(function)
        async def async_stream(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, None]:
            if verifying.get():
                async for chunk in function(*args, **kwargs):
                    yield chunk
                return
            known = site.known_of(args, kwargs)

            async def generate(request: RepairRequest | None) -> Generation:
                chunks = [c async for c in function(*args, **again(kwargs, request))]
                return site.generation(chunks, known)

            outcome = await harness.arun(generate, **options)
            value = outcome.or_else(otherwise)
            value = await value if inspect.isawaitable(value) else value
            for chunk in _chunks(value):
                yield chunk

        return async_stream

    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def coroutine(*args: Any, **kwargs: Any) -> Any:
            if verifying.get():
                return await function(*args, **kwargs)
            known = site.known_of(args, kwargs)

            async def generate(request: RepairRequest | None) -> Generation:
                return site.generation(await function(*args, **again(kwargs, request)), known)

            value = (await harness.arun(generate, **options)).or_else(otherwise)
            return await value if inspect.isawaitable(value) else value

        return coroutine

    if inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def stream(*args: Any, **kwargs: Any) -> Generator[Any, None, None]:
            if verifying.get():
                yield from function(*args, **kwargs)
                return
            known = site.known_of(args, kwargs)

            def generate(request: RepairRequest | None) -> Generation:
                return site.generation(list(function(*args, **again(kwargs, request))), known)

            yield from _chunks(harness.run(generate, **options).or_else(otherwise))

        return stream

    @functools.wraps(function)
    def plain(*args: Any, **kwargs: Any) -> Any:
        if verifying.get():
            return function(*args, **kwargs)
        known = site.known_of(args, kwargs)

        def generate(request: RepairRequest | None) -> Generation:
            return site.generation(function(*args, **again(kwargs, request)), known)

        return harness.run(generate, **options).or_else(otherwise)

    return plain


def _chunks(value: Any) -> Iterable[Any]:
    return value if isinstance(value, list) else (value,)


def _observe(site: _Site, harness: Harness) -> Callable[..., Any]:
    from aucert_otel._observe import observe

    return observe(
        site.function,
        lambda value, args, kwargs: harness.submit(
            site.generation(value, site.known_of(args, kwargs))
        ),
    )
