"""The three ways to ask a model: a conversation, a prompt, and a prompt with a structured answer.

Each says how it is asked again with a repair request, how its answer is read, and how a text looks in
its shape.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    CompletionResponse,
    MessageRole,
    TextBlock,
)
from llama_index.core.prompts import ChatPromptTemplate
from pydantic import BaseModel

from aucert_integrations.llama_index.holding import unfit
from aucert_integrations.llama_index.reading import Answer, answer_of, answer_of_stream
from aucert_integrations.llama_index.responses import said
from aucert_otel.outcome import Outcome
from aucert_otel.repair import RepairRequest


_CEILINGS: Final = (
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "max_new_tokens",
    "num_predict",
)


class Chunks(list[Any]):
    """What a stream yielded."""


class Way(Protocol):
    """One way to ask a model."""

    def asked(self) -> Sequence[ChatMessage] | str:
        """What the model is asked, for the checks."""
        ...

    def can_repair(self) -> bool:
        """Whether a repair request has a place in it."""
        ...

    def arguments(
        self, request: RepairRequest | None, ceiling: Mapping[str, int]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The call's arguments, with a repair request among them."""
        ...

    def read(self, value: Any) -> Answer | None:
        """What came back, if anything did."""
        ...

    def shaped(self, value: Any, like: Any, outcome: Outcome) -> Any:
        """What ``otherwise`` gave, in the shape of the answer that it stands for."""
        ...


class _Plain:
    """What the ways of asking for text have in common."""

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._args = args
        self._kwargs = kwargs

    def can_repair(self) -> bool:
        """Whether a repair request has a place in it."""
        return True

    def read(self, value: Any) -> Answer | None:
        """What came back, if anything did."""
        return answer_of_stream(value) if isinstance(value, Chunks) else answer_of(value)


class Chat(_Plain):
    """A conversation."""

    def asked(self) -> Sequence[ChatMessage] | str:
        """What the model is asked."""
        messages: Sequence[ChatMessage] = self._args[0]
        return messages

    def arguments(
        self, request: RepairRequest | None, ceiling: Mapping[str, int]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The call's arguments, with a repair request among them."""
        if request is None:
            return self._args, self._kwargs
        messages, *rest = self._args
        return ([*messages, *_added(request)], *rest), {**self._kwargs, **ceiling}

    def shaped(self, value: Any, like: Any, outcome: Outcome) -> Any:
        """What stands for the answer."""
        if isinstance(value, ChatMessage):
            value = ChatResponse(message=value)
        elif isinstance(value, str):
            value = ChatResponse(
                message=ChatMessage(value, role=MessageRole.ASSISTANT),
                delta=value if isinstance(like, Chunks) else None,
                additional_kwargs={"aucert": said(outcome)},
            )
        if not isinstance(value, ChatResponse):
            raise unfit(value, "a chat response")
        return Chunks([value]) if isinstance(like, Chunks) else value


class Complete(_Plain):
    """A prompt."""

    def asked(self) -> Sequence[ChatMessage] | str:
        """What the model is asked."""
        prompt: str = self._args[0]
        return prompt

    def arguments(
        self, request: RepairRequest | None, ceiling: Mapping[str, int]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The call's arguments, with a repair request among them."""
        if request is None:
            return self._args, self._kwargs
        prompt, *rest = self._args
        return (f"{prompt}\n\n{request.render()}", *rest), {**self._kwargs, **ceiling}

    def shaped(self, value: Any, like: Any, outcome: Outcome) -> Any:
        """What stands for the answer."""
        if isinstance(value, str):
            value = CompletionResponse(
                text=value,
                delta=value if isinstance(like, Chunks) else None,
                additional_kwargs={"aucert": said(outcome)},
            )
        if not isinstance(value, CompletionResponse):
            raise unfit(value, "a completion")
        return Chunks([value]) if isinstance(like, Chunks) else value


class Structured:
    """A prompt whose answer is an instance of a class."""

    def __init__(
        self,
        output_cls: Any,
        prompt: Any,
        llm_kwargs: dict[str, Any] | None,
        prompt_args: dict[str, Any],
    ) -> None:
        self._class = output_cls
        self._prompt = prompt
        self._llm_kwargs = llm_kwargs
        self._prompt_args = prompt_args
        self._messages: list[ChatMessage] = prompt.format_messages(**prompt_args)

    def asked(self) -> Sequence[ChatMessage] | str:
        """What the model is asked."""
        return self._messages

    def can_repair(self) -> bool:
        """Whether a repair request has a place in it."""
        # The request goes into a prompt made anew, which holds nothing but text.
        return all(isinstance(block, TextBlock) for m in self._messages for block in m.blocks)

    def arguments(
        self, request: RepairRequest | None, ceiling: Mapping[str, int]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The call's arguments, with a repair request among them."""
        if request is None:
            return (self._class, self._prompt), {
                "llm_kwargs": self._llm_kwargs,
                **self._prompt_args,
            }
        messages = [*self._messages, *_added(request)]
        # What a message says may hold braces, so it goes in as the value of a variable.
        template = ChatPromptTemplate(
            [ChatMessage(f"{{aucert_{n}}}", role=m.role) for n, m in enumerate(messages)]
        )
        texts = {f"aucert_{n}": m.content or "" for n, m in enumerate(messages)}
        kwargs = {"llm_kwargs": {**(self._llm_kwargs or {}), **ceiling} or None, **texts}
        return (self._class, template), kwargs

    def read(self, value: Any) -> Answer | None:
        """What came back, if anything did."""
        if isinstance(value, Chunks):
            if not value:
                return None
            value = value[-1]
        parts = value if isinstance(value, list) else [value]
        texts = [p.model_dump_json() for p in parts if isinstance(p, BaseModel)]
        return Answer(texts[0] if not isinstance(value, list) else f"[{','.join(texts)}]")

    def shaped(self, value: Any, like: Any, outcome: Outcome) -> Any:  # noqa: ARG002 - the seam's own signature
        """What stands for the answer. No class can hold a text, so it is taken as it is."""
        return Chunks([value]) if isinstance(like, Chunks) else value


def _added(request: RepairRequest) -> list[ChatMessage]:
    ask = ChatMessage(request.render(), role=MessageRole.USER)
    if not request.draft:
        return [ask]
    return [ChatMessage(request.draft, role=MessageRole.ASSISTANT), ask]


def raised(
    llm: Any, kwargs: Mapping[str, Any], request: RepairRequest | None, used: int | None
) -> tuple[Any, dict[str, int]]:
    """A model and the further arguments with which a truncated answer gets a higher token ceiling.

    It is a multiple of the one in the call or set on the model, else of the draft's tokens. A setting
    of the model wins over an argument of the call, so the second call is made with a shallow copy.
    """
    if request is None or request.ceiling_factor <= 1.0:
        return llm, {}
    further = getattr(llm, "additional_kwargs", None) or {}
    for name in _CEILINGS:
        limit = _first_limit(further.get(name), getattr(llm, name, None), kwargs.get(name))
        if limit is None:
            continue
        higher = round(limit * request.ceiling_factor)
        changed: dict[str, Any] = {}
        if name in further:
            changed["additional_kwargs"] = {**further, name: higher}
        if getattr(llm, name, None) is not None:
            changed[name] = higher
        return (llm.model_copy(update=changed) if changed else llm), {name: higher}
    return llm, ({"max_tokens": round(used * request.ceiling_factor)} if used else {})


def _first_limit(*limits: object) -> int | None:
    return next((limit for limit in limits if isinstance(limit, int) and limit > 0), None)
