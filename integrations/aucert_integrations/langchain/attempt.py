"""One call of a verified runnable: having its answer written, once or twice."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import UUID, uuid4

from langchain_core.callbacks import BaseCallbackManager
from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import merge_configs

from aucert_integrations.langchain.direct import asked_directly
from aucert_integrations.langchain.evidence import EVIDENCE, QUESTION
from aucert_integrations.langchain.observer import Observer
from aucert_integrations.langchain.reading import Answer, answer_of_message
from aucert_integrations.langchain.regenerate import (
    REPAIR_KEY,
    AnyRunnable,
    AskedAgain,
    changed_input,
    last_model,
    takes_request,
    without_added,
)
from aucert_integrations.langchain.shapes import answer_message, pending_calls, text_of
from aucert_integrations.langchain.turn import Call, Finished, Turn
from aucert_otel.errors import ConfigurationError
from aucert_otel.generation import Generation
from aucert_otel.repair import RepairRequest
from aucert_otel.telemetry.emit import CONTROL_FLOW


if TYPE_CHECKING:
    from aucert_integrations.langchain.verified import VerifiedRunnable


Question: TypeAlias = str | Callable[[Any], str | None]
Evidence: TypeAlias = str | Callable[[Any], object]
Read: TypeAlias = Callable[[Any], Generation | str]
Repair: TypeAlias = Callable[[Any, RepairRequest], tuple[Any, RunnableConfig | None]]

# LangGraph's own way to pause or leave a graph.
CONTROL_FLOW.update({"GraphBubbleUp", "ToolCallsPending"})

# LangGraph's message stream shows every token of every model below, unless it carries this tag: a
# draft that was not verified yet must not go out there.
_NO_STREAM = "nostream"


class ToolCallsPending(BaseException):
    """The model asks for tools: a step, which passes unchecked."""

    def __init__(self, output: Any) -> None:
        super().__init__("the model asks for tools")
        self.output = output


class NoAnswer(Exception):  # noqa: N818 - a state, read off the span by name
    """The second call asked for tools instead of answering."""


class Gathered(Observer):
    """The one turn below one call of a verified runnable."""

    def __init__(self) -> None:
        super().__init__()
        self.turn = Turn(uuid4())

    def _begun(self, run_id: UUID, inputs: Any, metadata: Mapping[str, Any]) -> Turn:  # noqa: ARG002 - the seam's own signature
        return self.turn


class Attempt:
    """Writes the answer for the harness: the first draft, a repair, or a stronger runnable's."""

    __slots__ = ("_config", "_first", "_input", "_known", "_kwargs", "_of", "given")

    def __init__(
        self,
        of: VerifiedRunnable[Any, Any],
        given: Any,
        config: RunnableConfig,
        kwargs: dict[str, Any],
    ) -> None:
        self._of = of
        self._input = given
        self._config = config
        self._kwargs = kwargs
        self._known = _told(of, given)
        self.given = given
        """What the last draft was made from: a repair may ask with another input."""
        self._first: Generation | None = None

    def can_repair(self) -> bool:
        """Whether a request reaches the generator at all. Finding out rebuilds the chain."""
        return (
            self._of.repair is not None
            or (isinstance(self._input, Mapping) and REPAIR_KEY in self._input)
            or takes_request(self._input)
            or last_model(self._of.bound, lambda model: model) is not None
        )

    def generate(self, request: RepairRequest | None) -> Generation:
        """Have a draft written."""
        runnable, given, config = self._plan(request)
        return self._write(runnable, given, config, request)

    async def agenerate(self, request: RepairRequest | None) -> Generation:
        """`generate` for asynchronous callers."""
        runnable, given, config = self._plan(request)
        return await self._awrite(runnable, given, config, request)

    def escalate(self, request: RepairRequest | None) -> Generation:
        """Have the stronger runnable answer."""
        return self._write(self._of.escalate, self._input, self._config, request, again=True)

    async def aescalate(self, request: RepairRequest | None) -> Generation:
        """`escalate` for asynchronous callers."""
        return await self._awrite(self._of.escalate, self._input, self._config, request, again=True)

    def _plan(self, request: RepairRequest | None) -> tuple[AnyRunnable, Any, RunnableConfig]:
        bound = self._of.bound
        if request is None:
            return bound, self._input, self._config
        if self._of.repair is not None:
            given, further = self._of.repair(self._input, request)
            return bound, given, merge_configs(self._config, further)
        usage = self._first.usage if self._first else None
        used = usage.output_tokens if usage else None
        in_place = isinstance(self._input, Mapping) and REPAIR_KEY in self._input
        asked = last_model(
            bound,
            lambda model: AskedAgain(
                model=model, request=request, used_tokens=used, in_input=in_place
            ),
        )
        if in_place:
            given = {**self._input, REPAIR_KEY: request.render()}
            return asked or bound, given, self._config
        if asked is not None:
            return asked, self._input, self._config
        return bound, changed_input(self._input, request), self._config

    def _write(
        self,
        runnable: AnyRunnable,
        given: Any,
        config: RunnableConfig,
        request: RepairRequest | None,
        *,
        again: bool = False,
    ) -> Generation:
        gathered, below = _below(runnable, config)
        self.given = given
        output = runnable.invoke(given, below, **self._kwargs)
        turn = gathered.turn if gathered else asked_directly(runnable, given, output, self._kwargs)
        return self._generation(output, turn, again=again or request is not None)

    async def _awrite(
        self,
        runnable: AnyRunnable,
        given: Any,
        config: RunnableConfig,
        request: RepairRequest | None,
        *,
        again: bool = False,
    ) -> Generation:
        gathered, below = _below(runnable, config)
        self.given = given
        output = await runnable.ainvoke(given, below, **self._kwargs)
        turn = gathered.turn if gathered else asked_directly(runnable, given, output, self._kwargs)
        return self._generation(output, turn, again=again or request is not None)

    def _generation(self, output: Any, turn: Turn, *, again: bool) -> Generation:
        if pending_calls(output):
            if again:
                raise NoAnswer
            raise ToolCallsPending(output)
        if again:
            output = without_added(output)
        text = output if self._of.read is None else self._of.read(output)
        if isinstance(text, Generation):
            generation = text if text.raw is not None else replace(text, raw=output)
        else:
            generation = self._described(text_of(text, self.given), output, turn)
        if self._first is None:
            self._first = generation
        return generation

    def _described(self, text: str, output: Any, turn: Turn) -> Generation:
        chosen = turn.chosen(output)
        message = answer_message(output, self.given)
        if chosen is not None:
            written = chosen[0]
        elif turn.finished:
            written = turn.finished[-1]
        else:
            answer = Answer(text) if message is None else answer_of_message(message)
            written = Finished(Call((), {}), answer, 0)
        turn.inputs = self._input
        turn.metadata = {**self._known, **(self._config.get("metadata") or {})}
        return turn.generation(
            written,
            text,
            tenant=self._of.tenant,
            # A second call that did not search again answers from what the first one found.
            evidence=None if self._first is None else self._first.evidence,
            raw=None if output is text else output,
        )


def _below(runnable: AnyRunnable, config: RunnableConfig) -> tuple[Gathered | None, RunnableConfig]:
    """The config for one draft, and who gathers below it.

    A model that is called directly has nothing below it that its input and its answer do not tell:
    there a callback would only cost the caller.
    """
    gathered = None if isinstance(runnable, BaseChatModel) else Gathered()
    callbacks = config.get("callbacks")
    if isinstance(callbacks, BaseCallbackManager):
        child = callbacks.copy()
        if gathered is not None:
            child.add_handler(gathered, inherit=True)
        child.add_tags([_NO_STREAM], inherit=True)
        return gathered, {**config, "callbacks": child}
    if gathered is None:
        return None, config
    # Nobody else listens: a direct call, and now its repair, or the stronger runnable.
    return gathered, {**config, "callbacks": [*(callbacks or []), gathered]}


def _told(of: VerifiedRunnable[Any, Any], given: Any) -> dict[str, Any]:
    """What the wrapper's own arguments say about this input, under the names of the metadata."""
    told = {}
    for key, role, source in (
        (QUESTION, "question", of.question),
        (EVIDENCE, "evidence", of.evidence),
    ):
        if source is None:
            continue
        if not isinstance(source, str):
            told[key] = source(given)
        elif isinstance(given, Mapping) and source in given:
            told[key] = given[source]
        else:
            has = ", ".join(map(str, given)) if isinstance(given, Mapping) else type(given).__name__
            raise ConfigurationError(
                f"verified({role}={source!r}): the input has no such key; it is or has: {has}"
            )
    return told
