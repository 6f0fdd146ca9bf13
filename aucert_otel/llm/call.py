"""The life of one call: what it spends, how long it takes, and what its last reply amounts to."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from aucert_otel.generation import TRUNCATED, Usage
from aucert_otel.llm.classify import malformed
from aucert_otel.llm.errors import ModelError, ModelRefused, Truncated
from aucert_otel.llm.logprobs import TokenLogprob
from aucert_otel.llm.model import ChatModel, ChatRequest, Completion
from aucert_otel.llm.parse import Malformed, parse_object
from aucert_otel.llm.prices import PriceBook, Priced
from aucert_otel.llm.telemetry import ChatSpan, chat_span
from aucert_otel.spending import CallSpending


T = TypeVar("T")

_TRUNCATED = TRUNCATED | {"model_context_window_exceeded"}


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model sent back, whichever API it speaks."""

    text: str | None
    finish_reason: str | None = None
    refused: bool = False
    usage: Usage = field(default_factory=Usage)
    cache_write_tokens: int = 0
    logprobs: tuple[TokenLogprob, ...] | None = None
    response_id: str | None = None
    model: str | None = None
    """The model that answered, if the server says."""


class Call:
    """One call of ``complete``, from before its first attempt to its end."""

    __slots__ = ("_chat", "_model", "_prices", "_started", "request", "spent", "waited_s")

    def __init__(self, model: ChatModel, request: ChatRequest, prices: PriceBook) -> None:
        self.request = request
        self.spent = CallSpending()
        self.waited_s = 0.0
        """Seconds spent waiting for a free place, which is nobody's latency but our own."""
        self._model = model
        self._prices = prices
        self._started = time.monotonic()
        self._chat: ChatSpan | None = None

    @property
    def latency_s(self) -> float:
        """Seconds in attempts and between them."""
        return max(time.monotonic() - self._started - self.waited_s, 0.0)

    @asynccontextmanager
    async def placed(self, place: AbstractAsyncContextManager[T]) -> AsyncIterator[T]:
        """Wait for a free place and hold it. While it waits, the call counts as queued."""
        before = time.monotonic()
        with self.spent.queueing() as begun:
            async with place as held:
                self.waited_s += time.monotonic() - before
                begun()
                yield held

    def retrying(self, error: ModelError, attempt: int, wait_s: float) -> None:
        """Show a retry on the span."""
        if self._chat is not None:
            self._chat.retrying(error, attempt, wait_s)

    def free(self) -> None:
        """Count an attempt that nobody bills: it was turned away, or never left."""
        self.spent.add(0.0)

    def unseen(self, why: str) -> None:
        """Count an attempt whose bill nobody will ever see."""
        self.spent.add(None, unpriced=f"{self._model.model} ({why})")

    def charge(self, reply: Reply) -> Priced:
        """Price a reply and count its attempt."""
        priced = self._price(self._model.model, reply)
        if priced.usd is None and reply.model is not None and reply.model != self._model.model:
            priced = self._price(reply.model, reply)
        self.spent.add(priced.usd, unpriced=self._model.model, usage=reply.usage)
        return priced

    def _price(self, model: str, reply: Reply) -> Priced:
        return self._prices.price(
            reply.usage,
            model,
            self._model.provider,
            cache_write_tokens=reply.cache_write_tokens,
        )

    def finish(self, reply: Reply, priced: Priced, dropped: tuple[str, ...] = ()) -> Completion:
        """The completion a reply amounts to.

        Raises:
            ModelError: it is a refusal, was cut off, or has no text.
        """
        name = self._model.model
        if reply.refused:
            raise ModelRefused(f"model {name!r} declined to answer", model=name)
        if reply.finish_reason in _TRUNCATED:
            raise Truncated(
                f"model {name!r}: the answer was cut off at its token ceiling: raise max_tokens",
                model=name,
            )
        if reply.text is None or not reply.text.strip():
            raise malformed(name, "the answer has no text")
        request = self.request
        parsed = None if request.schema is None else parse_object(reply.text)
        completion = Completion(
            reply.text,
            data=parsed if isinstance(parsed, dict) else None,
            problem=parsed.kind if isinstance(parsed, Malformed) else None,
            model=reply.model or name,
            provider=self._model.provider,
            finish_reason=reply.finish_reason,
            usage=self.spent.usage,
            logprobs=reply.logprobs,
            cost_usd=self.spent.cost_usd,
            unpriced=self.spent.unpriced,
            price_as_of=None if priced.as_of is None else priced.as_of.isoformat(),
            price_source=priced.source,
            attempts=self.spent.attempts,
            latency_s=self.latency_s,
            temperature_applied=request.temperature is not None and "temperature" not in dropped,
            dropped=dropped,
        )
        if self._chat is not None:
            self._chat.done(completion, reply.response_id)
        return completion


@contextmanager
def calling(
    model: ChatModel,
    request: ChatRequest,
    prices: PriceBook,
    server: tuple[str, int] | None = None,
) -> Iterator[Call]:
    """A call with its span. What it raises carries what the attempts cost."""
    call = Call(model, request, prices)
    with chat_span(model, request, server, call.spent) as chat:
        call._chat = chat
        try:
            yield call
        except BaseException as error:
            if isinstance(error, ModelError):
                error.cost_usd = call.spent.cost_usd
                error.unpriced = call.spent.unpriced
                error.attempts = max(call.spent.attempts, 1)
                error.latency_s = call.latency_s
            chat.failed(error, call.latency_s)
            raise
