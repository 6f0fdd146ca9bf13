"""What is asked of a chat model, and what it answers: one small seam for every judge."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Protocol, runtime_checkable

from aucert_otel.generation import Image, Usage
from aucert_otel.llm.logprobs import TokenLogprob
from aucert_otel.llm.parse import JsonProblem


ROLES = ("system", "user", "assistant")


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message to a chat model.

    Raises:
        ValueError: ``role`` is none of ``system``, ``user`` and ``assistant``.
    """

    role: str
    content: str
    images: tuple[Image, ...] = ()
    """Pictures shown with a user message."""

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            raise ValueError(
                f"ChatMessage.role is {self.role!r}: a chat model takes {', '.join(ROLES)}"
            )
        if type(self.images) is not tuple:
            object.__setattr__(self, "images", tuple(self.images))


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One question to a chat model, checked before anything is sent.

    Raises:
        ValueError: there are no messages, or a number is not one that a model could use.
    """

    messages: tuple[ChatMessage, ...]
    _: KW_ONLY
    schema: Mapping[str, Any] | None = None
    temperature: float | None = None
    seed: int | None = None
    max_tokens: int | None = None
    logprobs: bool = False

    def __post_init__(self) -> None:
        if type(self.messages) is not tuple:
            object.__setattr__(self, "messages", tuple(self.messages))
        if not self.messages:
            raise ValueError("complete() was given no messages: a chat model answers at least one")
        if self.temperature is not None and not (
            math.isfinite(self.temperature) and self.temperature >= 0
        ):
            raise ValueError(
                f"temperature is {self.temperature!r}: give a number from 0 up, or leave it out"
            )
        if self.max_tokens is not None and self.max_tokens < 1:
            raise ValueError(
                f"max_tokens is {self.max_tokens!r}: give a whole number from 1 up, or leave it out"
            )


@dataclass(frozen=True, slots=True)
class Completion:
    """A chat model's answer, and what it took to get it.

    With a ``schema`` the answer is meant to be one JSON object. Then exactly one of ``data`` and
    ``problem`` is set: what is not cleanly one object is a problem, and is never repaired.
    """

    text: str
    _: KW_ONLY
    data: Mapping[str, Any] | None = None
    """The answer as JSON; ``None`` where none was asked for or ``problem`` says why not."""
    problem: JsonProblem | None = None
    model: str
    """The model that answered, as the server names it."""
    provider: str
    finish_reason: str | None = None
    usage: Usage = field(default_factory=Usage)
    """Tokens over every attempt."""
    logprobs: tuple[TokenLogprob, ...] | None = None
    cost_usd: float | None = None
    """US dollars over every attempt; ``None`` when one of them could not be priced."""
    unpriced: tuple[str, ...] = ()
    """What could not be priced: models, and attempts whose bill nobody saw."""
    price_as_of: str | None = None
    """The date of the price list that was used, as ISO text."""
    price_source: str | None = None
    """Whose price it is: ``provider``, ``table`` or the name and version of the price list."""
    attempts: int = 1
    latency_s: float = 0.0
    """Seconds for all attempts and the pauses between them; waiting for a free place is not in it."""
    temperature_applied: bool = False
    """A temperature was asked for and the server took it. If not, vary the wording alone."""
    dropped: tuple[str, ...] = ()
    """What was asked for and left out since the server does not take it: ``temperature``,
    ``schema`` (then asked for in words), ``seed``, ``logprobs``."""


@runtime_checkable
class ChatModel(Protocol):
    """A model that answers messages.

    ``complete`` may be awaited on any event loop; what it sends, it sends from the SDK's own.
    """

    @property
    def name(self) -> str:
        """What the configuration calls it; unique among the judges of a cascade."""
        ...

    @property
    def provider(self) -> str:
        """Who serves it, by the GenAI conventions: ``openai``, ``anthropic``, ``deepseek``."""
        ...

    @property
    def family(self) -> str | None:
        """Which family of models it belongs to; ``None`` if nobody knows."""
        ...

    @property
    def model(self) -> str:
        """The model's name as it is sent."""
        ...

    async def complete(
        self,
        messages: Sequence[ChatMessage],
        *,
        schema: Mapping[str, Any] | None = None,
        temperature: float | None = None,
        seed: int | None = None,
        max_tokens: int | None = None,
        logprobs: bool = False,
    ) -> Completion:
        """Answer the messages.

        Args:
            messages: The conversation so far, the newest last.
            schema: A JSON Schema for an object. The server enforces it where it can, and is asked
                in words where it cannot; the answer is parsed strictly either way.
            temperature: From 0 up; not every model takes one.
            seed: For the same answer to the same request, as far as a server can.
            max_tokens: Tokens the answer may take.
            logprobs: Ask for the log probabilities of the tokens and their alternatives.

        Raises:
            ModelError: there is no usable answer. It says what kind of fault it was, and what the
                attempts cost.
        """
        ...
