"""Chat models for synchronous callers: the same code, on the SDK's own event loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from aucert_otel.background import worker
from aucert_otel.llm.model import ChatMessage, ChatModel, Completion


def complete(
    model: ChatModel,
    messages: Sequence[ChatMessage],
    *,
    schema: Mapping[str, Any] | None = None,
    temperature: float | None = None,
    seed: int | None = None,
    max_tokens: int | None = None,
    logprobs: bool = False,
) -> Completion:
    """`ChatModel.complete`, blocking the calling thread. It may be called inside a running loop.

    Raises:
        ModelError: there is no usable answer.
        RuntimeError: called from the SDK's own event loop, which would wait for itself.
    """
    return worker().run(
        _complete(
            model,
            messages,
            schema=schema,
            temperature=temperature,
            seed=seed,
            max_tokens=max_tokens,
            logprobs=logprobs,
        )
    )


async def _complete(
    model: ChatModel, messages: Sequence[ChatMessage], **options: Any
) -> Completion:
    return await model.complete(messages, **options)
