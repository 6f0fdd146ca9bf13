"""A chat model of another library, with our span, prices, retries, cap and classified faults.

The library speaks to the server. It has its own opinion about connections and keys, and raises its
own exceptions; from here on they are `ModelError` like everybody's.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from aucert_otel.background import worker
from aucert_otel.errors import ConfigurationError
from aucert_otel.llm.call import Call, Reply, calling
from aucert_otel.llm.errors import BadRequest, ModelError
from aucert_otel.llm.families import family_of
from aucert_otel.llm.foreign import Fault, fault_of
from aucert_otel.llm.model import ChatMessage, ChatRequest, Completion
from aucert_otel.llm.prices import PriceBook
from aucert_otel.llm.retry import RetryPolicy
from aucert_otel.llm.wire import in_words
from aucert_otel.telemetry import verifying


_OPTIONAL = 5
"""Parameters that may be turned down one after the other."""
ONCE = RetryPolicy(attempts=1)
"""What other libraries' clients try again, they have tried again by the time we hear of it."""


class Speaker(Protocol):
    """How one library is asked."""

    async def ask(
        self, request: ChatRequest, without: frozenset[str]
    ) -> tuple[Reply, tuple[str, ...]]:
        """Ask once.

        Args:
            request: What is asked.
            without: Optional parameters that were turned down before.

        Returns:
            The reply, and what was asked for and not sent.
        """
        ...


class AdaptedModel:
    """A chat model that a `Speaker` speaks to.

    Args:
        speaker: Asks the other library.
        model: The model's name, for prices and the trace.
        name: What you call it; default: ``model``.
        provider: Who serves it.
        family: Its family of models; default: read from the model's name.
        prices: Default: the bundled list.
        retry: Default: one attempt, since these libraries retry on their own. To have every attempt
            on the record, turn that off there and give a policy here.
        concurrency: Calls at the same time; others wait their turn.
        timeout_s: Seconds one attempt may take, whatever the library does in them.

    Raises:
        ConfigurationError: a number is out of range.
    """

    def __init__(
        self,
        speaker: Speaker,
        *,
        model: str,
        name: str | None,
        provider: str,
        family: str | None,
        prices: PriceBook | None,
        retry: RetryPolicy | None,
        concurrency: int,
        timeout_s: float,
    ) -> None:
        if concurrency < 1:
            raise ConfigurationError(
                f"concurrency is {concurrency!r}: give 1 or more calls at the same time"
            )
        if not (math.isfinite(timeout_s) and timeout_s > 0):
            raise ConfigurationError(
                f"timeout_s is {timeout_s!r}: give a number of seconds above 0"
            )
        self.model = model
        self.name = name or model
        self.provider = provider
        self.family = family or family_of(model)
        self.prices = prices or PriceBook()
        self.retry = retry or ONCE
        self.concurrency = concurrency
        self.timeout_s = timeout_s
        self._speaker = speaker
        self._refused: frozenset[str] = frozenset()
        self._places: tuple[asyncio.AbstractEventLoop, asyncio.Semaphore] | None = None

    def __repr__(self) -> str:
        # Not the model object: its own repr may show a key.
        return (
            f"{type(self).__name__}({self.model!r}, name={self.name!r}, provider={self.provider!r})"
        )

    @property
    def refuses(self) -> frozenset[str]:
        """The optional parameters this model was found not to take, such as ``temperature``."""
        return self._refused

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
        """Answer the messages; see `ChatModel.complete`.

        Raises:
            ModelError: there is no usable answer.
            ValueError: an argument is none that a model could use.
        """
        request = ChatRequest(
            tuple(messages),
            schema=schema,
            temperature=temperature,
            seed=seed,
            max_tokens=max_tokens,
            logprobs=logprobs,
        )
        return await worker().join(self._complete(request))

    async def _complete(self, request: ChatRequest) -> Completion:
        token = verifying.set(True)  # also where a judge is asked outside of any cascade
        try:
            with calling(self, request, self.prices) as call:

                async def attempt(within_s: float) -> Completion:
                    return await self._attempt(call, within_s)

                return await self.retry.run(attempt, call.retrying, idle_s=lambda: call.waited_s)
        finally:
            verifying.reset(token)

    async def _attempt(self, call: Call, within_s: float) -> Completion:
        """One attempt, and at once another one without each parameter that is turned down."""
        without = self._refused
        started = call.latency_s
        left = within_s
        for _ in range(_OPTIONAL):
            try:
                return await self._send(call, without, left)
            except BadRequest as error:
                if error.parameter is None or error.parameter in without:
                    raise
                without |= {error.parameter}
            left = max(within_s - (call.latency_s - started), 0.0)
        return await self._send(call, without, left)

    async def _send(self, call: Call, without: frozenset[str], within_s: float) -> Completion:
        fault: Fault
        async with call.placed(self._place()):
            try:
                async with asyncio.timeout(min(self.timeout_s, within_s)):
                    reply, dropped = await self._speaker.ask(call.request, without)
            except asyncio.CancelledError:
                # The provider goes on, and bills what we no longer wait for.
                call.unseen("abandoned")
                raise
            except Exception as error:  # noqa: BLE001 - the boundary: whatever another library raises is a fault with a name
                fault = fault_of(error, self.model)
            else:
                priced = call.charge(reply)
                self._refused |= without
                return call.finish(reply, priced, dropped)
        # Raised outside of the handler: the library's own exception may quote a prompt or a key, and
        # no chain leads to it.
        raise _billed(call, fault)

    def _place(self) -> asyncio.Semaphore:
        """The cap; it belongs to one event loop, and after a fork there is another."""
        loop = asyncio.get_running_loop()
        if self._places is None or self._places[0] is not loop:
            self._places = (loop, asyncio.Semaphore(self.concurrency))
        return self._places[1]


def with_words(request: ChatRequest) -> tuple[ChatMessage, ...]:
    """The messages, with the schema asked for in words."""
    if request.schema is None:
        return request.messages
    words = in_words(request.schema)
    first, *others = request.messages
    if first.role != "system":
        return (ChatMessage("system", words), *request.messages)
    return (ChatMessage("system", f"{first.content}\n\n{words}"), *others)


def _billed(call: Call, fault: Fault) -> ModelError:
    if fault.reply is not None:
        call.charge(fault.reply)
    elif fault.billed:
        call.unseen(fault.error.kind)
    else:
        call.free()
    return fault.error
