"""A chat model that answers from what was recorded: replay over data, demos, and tests."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, TypeAlias

from aucert_otel.background import worker
from aucert_otel.generation import Usage
from aucert_otel.llm.call import Call, Reply, calling
from aucert_otel.llm.errors import ModelUnavailable
from aucert_otel.llm.families import family_of
from aucert_otel.llm.logprobs import TokenLogprob
from aucert_otel.llm.model import ChatMessage, ChatRequest, Completion
from aucert_otel.llm.prices import PriceBook


@dataclass(frozen=True, slots=True)
class Recorded:
    """One recorded answer and what is known about it."""

    text: str
    _: KW_ONLY
    usage: Usage = field(default_factory=Usage)
    """With tokens or ``cost_usd`` in it the answer is priced; without, it cost nothing."""
    finish_reason: str = "stop"
    refused: bool = False
    logprobs: tuple[TokenLogprob, ...] | None = None


Answer: TypeAlias = str | Mapping[str, Any] | Recorded | BaseException
"""A text, an object (sent as JSON), a whole record, or what to raise."""
Answers: TypeAlias = Callable[[ChatRequest], Answer | Awaitable[Answer]] | Iterable[Answer]

_NOTHING = Usage()


class ReplayModel:
    """A chat model that answers from recorded judgements.

    Args:
        answers: A function from the request to the answer, plain or asynchronous; or the answers in
            the order in which they are asked for.
        name: What you call it.
        model: The model that was recorded; default: ``name``.
        temperature_applied: Whether the recorded model took the temperature it was given.

    Attributes:
        requests: Every request so far, in order, if ``keep_requests`` is set.
    """

    def __init__(
        self,
        answers: Answers,
        *,
        name: str = "replay",
        model: str | None = None,
        provider: str = "replay",
        family: str | None = None,
        prices: PriceBook | None = None,
        temperature_applied: bool = True,
        keep_requests: bool = False,
    ) -> None:
        self.name = name
        self.model = model or name
        self.provider = provider
        self.family = family or family_of(self.model)
        self.prices = prices or PriceBook(bundled=False)
        self.requests: list[ChatRequest] = []
        self._answers = answers if callable(answers) else _in_order(iter(answers), self.model)
        self._dropped = () if temperature_applied else ("temperature",)
        self._keep = keep_requests

    def __repr__(self) -> str:
        return f"ReplayModel({self.model!r}, name={self.name!r})"

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
        """Answer from the record; see `ChatModel.complete`.

        Raises:
            ModelError: a recorded fault, a recorded refusal, or no answer is left.
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
        if self._keep:
            self.requests.append(request)
        with calling(self, request, self.prices) as call:
            answer = self._answers(request)
            if inspect.isawaitable(answer):
                answer = await answer
            return self._finish(call, request, answer)

    def _finish(self, call: Call, request: ChatRequest, answer: Answer) -> Completion:
        if isinstance(answer, BaseException):
            call.free()
            raise answer.with_traceback(None)  # it may be raised again and again
        if isinstance(answer, Mapping):
            answer = json.dumps(answer)
        record = Recorded(answer) if isinstance(answer, str) else answer
        reply = Reply(
            record.text,
            finish_reason=record.finish_reason,
            refused=record.refused,
            usage=record.usage if record.usage != _NOTHING else Usage(cost_usd=0.0),
            logprobs=record.logprobs if request.logprobs else None,
        )
        dropped = self._dropped if request.temperature is not None else ()
        return call.finish(reply, call.charge(reply), dropped)


def _in_order(answers: Iterator[Answer], model: str) -> Callable[[ChatRequest], Answer]:
    def following(_: ChatRequest) -> Answer:
        for answer in answers:
            return answer
        raise ModelUnavailable(f"model {model!r}: no recorded answer is left", model=model)

    return following
