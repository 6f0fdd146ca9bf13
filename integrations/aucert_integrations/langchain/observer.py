"""A callback handler that sorts LangChain's events into turns, and never changes or raises anything."""

from __future__ import annotations

import os
import threading
import weakref
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.messages import BaseMessage
from langchain_core.outputs import LLMResult

from aucert_integrations.langchain.evidence import as_passages, tool_passage
from aucert_integrations.langchain.reading import answer_of_result
from aucert_integrations.langchain.turn import Call, Turn
from aucert_otel._safe import Guard


MAX_LET_BE = 100_000
"""Open runs known to be none of a handler's business. Some never report their end."""

_GUARD = Guard("langchain")

_observers: weakref.WeakSet[Observer] = weakref.WeakSet()


def _after_fork() -> None:
    # A thread that held a lock in the parent does not exist in the child, and never lets go of it.
    for observer in _observers:
        observer._lock = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)


@dataclass(slots=True, eq=False)
class Run:
    """One open run: the turn it belongs to, the run above it, and what it found below."""

    turn: Turn
    parent: Run | None
    tool: str | None = None
    searched: bool = False
    """A retriever ran below: its documents say more than the tool's text made of them."""


class Observer(BaseCallbackHandler):
    """Gathers turns by walking ``parent_run_id``. There is no current run: threads share a handler.

    Subclasses say where a turn comes from and what happens at its end.
    """

    raise_error = False
    # On the loop's own thread: each event is microseconds of work, and a hop to an executor for
    # each of them costs more and would run after the next event.
    run_inline = True

    def __init__(self) -> None:
        self._runs: dict[UUID, Run] = {}
        self._let_be: OrderedDict[UUID, None] = OrderedDict()
        self._lock = threading.Lock()
        _observers.add(self)

    def _begun(self, run_id: UUID, inputs: Any, metadata: Mapping[str, Any]) -> Turn | None:
        """The turn of a run whose parent is not known, under the lock.

        ``None`` lets it be, with every run below it.
        """
        raise NotImplementedError

    def _heard(self, turn: Turn) -> None:
        """A further run of this turn began; called under the lock."""

    def _ended(self, turn: Turn, outputs: Any) -> None:
        """A root run finished, and this is what it returned."""

    def _passes(self) -> bool:
        """Whether what starts now is none of this handler's business."""
        return False

    def _open(
        self,
        run_id: UUID,
        parent_run_id: UUID | None,
        inputs: Any,
        metadata: Mapping[str, Any] | None,
        tool: str | None = None,
    ) -> Turn | None:
        if parent_run_id in self._let_be:
            self._leave(run_id)
            return None
        if self._passes():
            return None
        with self._lock:
            parent = self._runs.get(parent_run_id) if parent_run_id else None
            turn = self._begun(run_id, inputs, metadata or {}) if parent is None else parent.turn
            if turn is None:
                self._leave(run_id)
                return None
            if parent is not None:
                self._heard(turn)
            self._runs[run_id] = Run(turn, parent, tool)
            turn.open.add(run_id)
        return turn

    def _leave(self, run_id: UUID) -> None:
        """Let a run be. No lock: each step is one operation of a dictionary."""
        if (
            len(self._let_be) >= MAX_LET_BE
        ):  # what begins below the oldest counts as a root run then
            self._let_be.popitem(last=False)
        self._let_be[run_id] = None

    def _close(self, run_id: UUID) -> Run | None:
        if self._let_be.pop(run_id, run_id) is None:
            return None
        with self._lock:
            run = self._runs.pop(run_id, None)
            if run is None:
                return None  # it began before we looked, was passed over, or its turn is over
            run.turn.open.discard(run_id)
            if run.turn.root == run_id:
                self._forget(run.turn)
            return run

    def _forget(self, turn: Turn) -> None:
        """Drop every run of a turn; called under the lock."""
        for run_id in turn.open:
            self._runs.pop(run_id, None)
        turn.open.clear()

    def on_chain_start(
        self,
        serialized: dict[str, Any],  # noqa: ARG002 - LangChain's own signature
        inputs: dict[str, Any],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,  # noqa: ARG002 - same
    ) -> None:
        """Open a run."""
        with _GUARD:
            self._open(run_id, parent_run_id, inputs, metadata)

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """Close a run, and a stream's turn with the input that only its end tells."""
        with _GUARD:
            run = self._close(run_id)
            if run is not None and run.turn.root == run_id:
                if kwargs.get("inputs") is not None:
                    run.turn.inputs = kwargs["inputs"]
                self._ended(run.turn, outputs)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:  # noqa: ARG002 - LangChain's own signature
        """Close a run that raised, for whatever reason: nothing was answered."""
        with _GUARD:
            self._close(run_id)

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],  # noqa: ARG002 - LangChain's own signature
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,  # noqa: ARG002 - same
    ) -> None:
        """Note a model call."""
        with _GUARD:
            self._call(run_id, parent_run_id, messages[0] if messages else [], metadata)

    def on_llm_start(
        self,
        serialized: dict[str, Any],  # noqa: ARG002 - LangChain's own signature
        prompts: list[str],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,  # noqa: ARG002 - same
    ) -> None:
        """Note a call of a model that completes text."""
        with _GUARD:
            self._call(run_id, parent_run_id, prompts[0] if prompts else "", metadata)

    def _call(
        self,
        run_id: UUID,
        parent_run_id: UUID | None,
        messages: Sequence[BaseMessage] | str,
        metadata: Mapping[str, Any] | None,
    ) -> None:
        turn = self._open(run_id, parent_run_id, messages, metadata)
        if turn is not None:
            turn.begin(run_id, Call(messages, metadata or {}))

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:  # noqa: ARG002 - LangChain's own signature
        """Note what a model wrote."""
        with _GUARD:
            run = self._close(run_id)
            if run is None:
                return
            answer = answer_of_result(response)
            run.turn.end(run_id, answer)
            if run.turn.root == run_id:
                self._ended(run.turn, None)

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:  # noqa: ARG002 - LangChain's own signature
        """Note a model call without a finished answer: it raised, or its stream was abandoned."""
        with _GUARD:
            run = self._close(run_id)
            if run is not None:
                run.turn.end(run_id, None)

    def on_retriever_start(
        self,
        serialized: dict[str, Any],  # noqa: ARG002 - LangChain's own signature
        query: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,  # noqa: ARG002 - same
    ) -> None:
        """Open a search."""
        with _GUARD:
            self._open(run_id, parent_run_id, query, metadata)

    def on_retriever_end(
        self,
        documents: Sequence[Document],
        *,
        run_id: UUID,
        **kwargs: Any,  # noqa: ARG002 - LangChain's own signature
    ) -> None:
        """Keep what a search found."""
        with _GUARD:
            run = self._close(run_id)
            if run is None:
                return
            run.turn.add(as_passages(documents) or ())
            above = run.parent
            while above is not None:
                above.searched = True
                above = above.parent
            if run.turn.root == run_id:
                self._ended(run.turn, None)

    def on_retriever_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:  # noqa: ARG002 - LangChain's own signature
        """Close a search that raised."""
        with _GUARD:
            self._close(run_id)

    def on_tool_start(
        self,
        serialized: dict[str, Any],
        input_str: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Open a tool's run."""
        with _GUARD:
            name = kwargs.get("name") or (serialized or {}).get("name")
            self._open(run_id, parent_run_id, input_str, metadata, tool=name)

    def on_tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> None:  # noqa: ARG002 - LangChain's own signature
        """Keep what a tool returned, unless the documents of a search below it say it better."""
        with _GUARD:
            run = self._close(run_id)
            if run is None:
                return
            passage = None if run.searched else tool_passage(output, run.tool)
            if passage is not None:
                run.turn.add((passage,))
            if run.turn.root == run_id:
                self._ended(run.turn, None)

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:  # noqa: ARG002 - LangChain's own signature
        """Close a tool's run that raised."""
        with _GUARD:
            self._close(run_id)
