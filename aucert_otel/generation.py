"""What was written, and from what: the data every check reads.

Everything here is frozen and is never deep-copied: user objects (``raw``, ``metadata``) are
carried by reference, since an application's objects may hold locks, sockets or clients.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from datetime import date
from typing import Any, TypeVar

from aucert_otel.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of the conversation that led to the answer."""

    role: str
    """``system``, ``user``, ``assistant`` or ``tool``."""
    content: str


@dataclass(frozen=True, slots=True)
class Image:
    """A picture the answer is about: a URL (``data:`` included) or raw bytes."""

    url: str | None = None
    data: bytes | None = field(default=None, repr=False)
    media_type: str = "image/png"


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens one generation used. ``cached`` and ``reasoning`` are subsets, never added on top."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_input_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost_usd: float | None = None
    """What the provider itself says the call cost, in US dollars. ``None``: it did not say."""


@dataclass(frozen=True, slots=True)
class Passage:
    """One piece of evidence that search, a tool or the application returned on this turn.

    The currency fields (``version`` to ``source_type``) say whether the passage may still support
    a claim. ``None`` means "not known": a check records that, and never assumes it is good.
    """

    text: str
    id: str | None = None
    version: str | None = None
    latest_version: str | None = None
    superseded_by: str | None = None
    effective_from: date | None = None
    source_type: str | None = None
    """What kind of source it is, such as ``policy``, ``ticket`` or ``marketing``."""
    metadata: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Generation:
    """A finished answer together with whatever it was supposed to be true about.

    Args:
        output: The answer's text. For a structured answer, its JSON.
        evidence: The passages this turn's search returned. ``None`` means nobody knows;
            an empty tuple means that search ran and found nothing. The two are different facts.
        as_of: The date the answer is about, against which evidence must be in force.
        raw: The native object the text was read from (a message, a model instance). It is handed
            back untouched when the answer ships, and never copied or serialised.

    Raises:
        TypeError: ``output`` is not text, or something else than passages is among the evidence.
    """

    output: str
    _: KW_ONLY
    question: str | None = None
    messages: Sequence[Message] = ()
    evidence: Sequence[Passage] | None = None
    model: str | None = None
    provider: str | None = None
    family: str | None = None
    finish_reason: str | None = None
    usage: Usage | None = None
    images: Sequence[Image] = ()
    as_of: date | None = None
    tenant: str | None = None
    test_id: str | None = None
    scenario_id: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    raw: Any = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.output, str):
            raise TypeError(
                f"Generation.output is {type(self.output).__name__}, not text: pass the answer as a "
                "str (for a structured answer its JSON, with the object itself as raw=...)"
            )
        # Whatever sequence was given is kept as a tuple: an answer does not change once it is checked.
        if self.evidence is not None:
            object.__setattr__(self, "evidence", _all(Passage, self.evidence, "evidence"))
        if self.messages:
            object.__setattr__(self, "messages", _all(Message, self.messages, "messages"))
        if self.images:
            object.__setattr__(self, "images", _all(Image, self.images, "images"))

    @property
    def value(self) -> Any:
        """What the application receives when this answer ships: ``raw`` if given, else the text."""
        return self.output if self.raw is None else self.raw


Item = TypeVar("Item")


def _all(kind: type[Item], given: Iterable[Item], name: str) -> tuple[Item, ...]:
    if isinstance(given, (str, bytes, Mapping)) or not hasattr(given, "__iter__"):
        raise TypeError(
            f"Generation.{name} is {type(given).__name__}: give a list of {kind.__name__} objects"
        )
    found = tuple(given)
    for item in found:
        if not isinstance(item, kind):
            raise TypeError(
                f"Generation.{name} holds a {type(item).__name__}: wrap each in {kind.__name__}(...)"
            )
    return found


KNOWN = frozenset(each.name for each in fields(Generation)) - {"output", "raw"}
"""What may be known of an answer before it is written."""


def check_known(known: Mapping[str, Any], place: str) -> None:
    """Refuse fields that a generation does not have, before anybody pays for an answer.

    Raises:
        ConfigurationError: there is one.
    """
    if not KNOWN.issuperset(known):
        raise ConfigurationError(
            f"{place} was given {', '.join(sorted(known.keys() - KNOWN))}, which a Generation does not "
            f"have: allowed are {', '.join(sorted(KNOWN))}"
        )


def with_known(generation: Generation, known: Mapping[str, Any]) -> Generation:
    """A generation with what it leaves open filled in; what it says itself stands."""
    missing = {
        name: value
        for name, value in known.items()
        if (own := getattr(generation, name)) is None
        or (name in ("messages", "images", "metadata") and not own)
    }
    return replace(generation, **missing) if missing else generation


TRUNCATED = frozenset({"length", "max_tokens", "max_output_tokens", "model_length", "MAX_TOKENS"})
"""Finish reasons by which providers say that the answer was cut off at its token ceiling."""
