"""A decorated function: how a generation is read off its arguments and its return value."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from aucert_otel.decorator.kinds import Kind, kind_of
from aucert_otel.errors import ConfigurationError
from aucert_otel.generation import Generation, Passage, check_known, with_known
from aucert_otel.repair import RepairRequest


From: TypeAlias = str | Callable[[Mapping[str, Any]], Any]
"""Where a value comes from: a parameter's name, or a function of all arguments by name."""

Arguments: TypeAlias = tuple[tuple[Any, ...], dict[str, Any]]
"""What a call was made with: positional and keyword arguments."""

REPAIR = "repair"
"""The parameter by which a function says that it can repair."""


class Chunks(list[Any]):
    """What a stream yielded, and what it returned in the end."""

    result: Any = None


@dataclass(frozen=True, slots=True)
class Site:
    """One decorated function.

    Raises:
        ConfigurationError: a named parameter or field does not exist, or ``repair`` has no default.
    """

    function: Callable[..., Any]
    question: From | None = None
    evidence: From | None = None
    read: Callable[[Any], Generation | str] | None = None
    known: Mapping[str, Any] = field(default_factory=dict)
    kind: Kind = field(init=False)
    signature: inspect.Signature = field(init=False)
    rest: str | None = field(init=False)
    """The name of its ``**kwargs``, if it has one."""

    def __post_init__(self) -> None:
        check_known(self.known, f"the decorator of {self.name}()")
        parameters = inspect.signature(self.function).parameters
        rest = [name for name, p in parameters.items() if p.kind is p.VAR_KEYWORD]
        for name, value in (
            ("kind", kind_of(self.function)),
            ("signature", inspect.signature(self.function)),
            ("rest", rest[0] if rest else None),
        ):
            object.__setattr__(self, name, value)
        for role, source in (("question", self.question), ("evidence", self.evidence)):
            if isinstance(source, str) and source not in parameters and not rest:
                raise ConfigurationError(
                    f"{role}={source!r}: {self.name}() has no such parameter; it has "
                    + (", ".join(parameters) or "none")
                )
        if self.can_repair and parameters[REPAIR].default is inspect.Parameter.empty:
            raise ConfigurationError(
                f"{self.name}() takes {REPAIR} without a default: declare it {REPAIR}=None, which is what "
                "the first call gets"
            )

    @property
    def name(self) -> str:
        """The function's own name."""
        return getattr(self.function, "__name__", type(self.function).__name__)

    @property
    def can_repair(self) -> bool:
        """Whether it takes a repair request."""
        parameter = self.signature.parameters.get(REPAIR)
        return parameter is not None and parameter.kind not in (
            parameter.VAR_POSITIONAL,
            parameter.VAR_KEYWORD,
        )

    def known_of(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """The fields of the generation that the call's arguments tell.

        Raises:
            TypeError: what they hold is no question or no evidence.
        """
        known = dict(self.known)
        if self.question is None and self.evidence is None:
            return known
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError:
            return known  # the call itself is wrong, and the function is about to say so
        bound.apply_defaults()
        arguments = bound.arguments
        if self.rest is not None:
            arguments = {**arguments, **arguments[self.rest]}
        if self.question is not None:
            known["question"] = self._question(_value(self.question, arguments))
        if self.evidence is not None:
            value = _value(self.evidence, arguments)
            if isinstance(self.evidence, str) and isinstance(value, Iterator):
                raise TypeError(
                    f"{self.evidence!r} of {self.name}() is an iterator, which can be read only once: pass a list"
                )
            known["evidence"] = as_passages(value)
        return known

    def _question(self, value: Any) -> str | None:
        if value is None or isinstance(value, str):
            return value
        raise TypeError(
            f"the question of {self.name}() is {type(value).__name__}, not text: read it with "
            "question=lambda arguments: ..."
        )

    def again(self, args: tuple[Any, ...], kwargs: dict[str, Any], request: object) -> Arguments:
        """The arguments of the call, with a repair request among them."""
        bound = self.signature.bind(*args, **kwargs)
        bound.arguments[REPAIR] = request  # by name or by position, however it was declared
        return bound.args, bound.kwargs

    def generation(self, value: Any, known: Mapping[str, Any]) -> Generation:
        """A return value as a generation; ``value`` itself is what the application gets back.

        Raises:
            TypeError: it is not text, and nothing was given to read it with.
        """
        text = value
        if self.read is not None:
            text = self.read(value)
        elif isinstance(value, Chunks) and all(isinstance(chunk, str) for chunk in value):
            text = "".join(value)
        if isinstance(text, str):
            return Generation(text, raw=None if text is value else value, **known)
        if isinstance(text, Generation):
            return replace(with_known(text, known), raw=value)
        if self.read is not None:
            wrong = (
                f"read= made {type(text).__name__} of the answer of {self.name}(): it must return"
            )
            raise TypeError(f"{wrong} text or a Generation")
        gives = "yields" if isinstance(value, Chunks) else "returned"
        kinds = (
            {type(v).__name__: None for v in value if not isinstance(v, str)}
            if gives == "yields"
            else ()
        )
        named = ", ".join(kinds) or type(value).__name__
        raise TypeError(
            f"{self.name}() {gives} {named}, not text: tell the decorator how to read it with read=..."
        )


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a decorated function that is held back."""

    site: Site
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    known: Mapping[str, Any]

    def arguments(self, request: RepairRequest | None) -> Arguments:
        """What to call the function with, for the first draft or for a repair."""
        if request is None:
            return self.args, self.kwargs
        return self.site.again(self.args, self.kwargs, request)

    def generation(self, value: Any) -> Generation:
        """What it returned, as a generation."""
        return self.site.generation(value, self.known)


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
    if not isinstance(value, Iterable) or isinstance(value, (Mapping, bytes)):
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
