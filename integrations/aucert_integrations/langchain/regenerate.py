"""Asking a runnable again: where the repair request goes, and how the token ceiling rises.

The request belongs at the model, behind the prompt, and not in the chain's input: there it would
also become the search query. So the chain is rebuilt for that one call with its last model asked
differently; everything before the model runs as it did.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias
from uuid import uuid4

from langchain_core.language_models import BaseChatModel, BaseLanguageModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, convert_to_messages
from langchain_core.prompt_values import PromptValue
from langchain_core.runnables import (
    Runnable,
    RunnableBranch,
    RunnableConfig,
    RunnableParallel,
    RunnableSequence,
    RunnableSerializable,
    RunnableWithFallbacks,
)
from langchain_core.runnables.base import RunnableBindingBase
from langchain_core.runnables.configurable import DynamicRunnable
from langchain_core.runnables.history import RunnableWithMessageHistory
from langchain_core.runnables.passthrough import RunnableAssign
from pydantic import ConfigDict

from aucert_otel.repair import RepairRequest


AnyRunnable: TypeAlias = Runnable[Any, Any]
Change: TypeAlias = Callable[[AnyRunnable], AnyRunnable]

REPAIR_KEY = "repair"
"""A key of a dict input that receives the request, for prompts that have their own place for it."""

_CEILINGS = (
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "max_new_tokens",
    "max_tokens_to_sample",
    "num_predict",
)


def last_model(runnable: AnyRunnable, change: Change) -> AnyRunnable | None:
    """The runnable with its last model changed; ``None`` where it has none, or several side by side.

    Functions and graphs are opaque: a model they call cannot be seen from outside.
    """
    if _is_model(runnable):
        return change(runnable)
    if isinstance(runnable, RunnableSequence):
        return _in_sequence(runnable, change)
    if isinstance(runnable, RunnableParallel):
        return _in_parallel(runnable, change)
    if isinstance(runnable, (RunnableWithFallbacks, RunnableBranch)):
        return _in_alternatives(runnable, change)
    # A second call of a runnable with a history would write the conversation twice: opaque.
    opaque = isinstance(runnable, RunnableWithMessageHistory)
    for kind, inside in ((RunnableBindingBase, "bound"), (RunnableAssign, "mapper")):
        if isinstance(runnable, kind) and not opaque:
            changed = last_model(getattr(runnable, inside), change)
            return None if changed is None else runnable.model_copy(update={inside: changed})
    return None


def _is_model(runnable: AnyRunnable) -> bool:
    real = runnable.default if isinstance(runnable, DynamicRunnable) else runnable
    return isinstance(real, BaseLanguageModel)


def _in_sequence(runnable: RunnableSequence[Any, Any], change: Change) -> AnyRunnable | None:
    steps = list(runnable.steps)
    for index in reversed(range(len(steps))):
        changed = last_model(steps[index], change)
        if changed is not None:
            steps[index] = changed
            return RunnableSequence(*steps, name=runnable.name)
    return None


def _in_parallel(runnable: RunnableParallel[Any], change: Change) -> AnyRunnable | None:
    changed = {key: last_model(step, change) for key, step in runnable.steps__.items()}
    found = {key: step for key, step in changed.items() if step is not None}
    if len(found) != 1:
        return None
    return runnable.model_copy(update={"steps__": {**runnable.steps__, **found}})


def _in_alternatives(
    runnable: RunnableWithFallbacks[Any, Any] | RunnableBranch[Any, Any], change: Change
) -> AnyRunnable | None:
    """Of several ways only one will run, so each that has a model is changed."""
    if isinstance(runnable, RunnableWithFallbacks):
        first = last_model(runnable.runnable, change)
        if first is None:
            return None
        rest = [last_model(other, change) or other for other in runnable.fallbacks]
        return runnable.model_copy(update={"runnable": first, "fallbacks": rest})
    ways = [last_model(way, change) for _, way in runnable.branches]
    default = last_model(runnable.default, change)
    if default is None and all(way is None for way in ways):
        return None
    branches = [
        (condition, changed or way)
        for (condition, way), changed in zip(runnable.branches, ways, strict=True)
    ]
    return runnable.model_copy(
        update={"branches": branches, "default": default or runnable.default}
    )


class AskedAgain(RunnableSerializable[Any, Any]):
    """A model that is asked with the draft and the request behind its messages.

    Args:
        model: The model.
        request: What failed. A truncated answer raises the token ceiling: the one bound to the call
            or set on the model, else the number of tokens the draft has.
        used_tokens: That number, where it is known.
        in_input: The prompt already holds the request: only the ceiling rises.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    model: Any
    request: Any
    used_tokens: int | None = None
    in_input: bool = False

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:  # noqa: A002 - LangChain's name
        """Ask."""
        return self.model.invoke(self._input(input), config, **self._kwargs(kwargs))

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:  # noqa: A002 - same
        """Ask."""
        return await self.model.ainvoke(self._input(input), config, **self._kwargs(kwargs))

    @property
    def _real(self) -> Any:
        return self.model.default if isinstance(self.model, DynamicRunnable) else self.model

    def _input(self, given: Any) -> Any:
        if self.in_input:
            return given
        add = _to_messages if isinstance(self._real, BaseChatModel) else _to_text
        return add(given, self.request)

    def _kwargs(self, kwargs: dict[str, Any]) -> dict[str, Any]:
        factor = self.request.ceiling_factor
        if factor <= 1.0:
            return kwargs
        for name in _CEILINGS:
            limit = kwargs.get(name)
            if limit is None:
                limit = getattr(self._real, name, None)
            if isinstance(limit, int) and limit > 0:
                return {**kwargs, name: round(limit * factor)}
        if self.used_tokens:
            return {**kwargs, "max_tokens": round(self.used_tokens * factor)}
        return kwargs


_ADDED = "aucert-repair-"
"""How the ids of the messages begin that a repair adds to a conversation."""


def _added(request: RepairRequest) -> list[BaseMessage]:
    made = f"{_ADDED}{uuid4().hex}"
    ask = HumanMessage(request.render(), id=f"{made}-request")
    return [AIMessage(request.draft, id=f"{made}-draft"), ask] if request.draft else [ask]


def without_added(output: Any) -> Any:
    """A conversation state without what the repair put into it: a rejected draft is no history."""
    if not isinstance(output, dict) or not isinstance(output.get("messages"), list):
        return output
    kept = [m for m in output["messages"] if not str(getattr(m, "id", "")).startswith(_ADDED)]
    return output if len(kept) == len(output["messages"]) else {**output, "messages": kept}


def _to_messages(given: Any, request: RepairRequest) -> list[BaseMessage]:
    if isinstance(given, PromptValue):
        messages = given.to_messages()
    elif isinstance(given, str):
        messages = [HumanMessage(given)]
    else:
        messages = convert_to_messages(given)
    return [*messages, *_added(request)]


def _to_text(given: Any, request: RepairRequest) -> str:
    if isinstance(given, PromptValue):
        given = given.to_string()
    elif not isinstance(given, str):
        given = "\n".join(str(message.content) for message in convert_to_messages(given))
    return f"{given}\n\n{request.render()}"


def changed_input(given: Any, request: RepairRequest) -> Any:
    """An opaque runnable's input with the request in it; ``None`` where it has no place for one."""
    if isinstance(given, str):
        return f"{given}\n\n{request.render()}"
    if isinstance(given, (PromptValue, list)):
        return _to_messages(given, request)
    if isinstance(given, Mapping) and isinstance(given.get("messages"), (list, tuple)):
        return {**given, "messages": [*given["messages"], *_added(request)]}
    return None


def takes_request(given: Any) -> bool:
    """Whether `changed_input` has a place for a request in this input."""
    if isinstance(given, Mapping):
        return isinstance(given.get("messages"), (list, tuple))
    return isinstance(given, (str, PromptValue, list))
