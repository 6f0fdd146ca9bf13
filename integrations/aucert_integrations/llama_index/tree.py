"""LlamaIndex's spans sorted into turns: everything below one root span belongs to one answer."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections import Counter, OrderedDict
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from llama_index.core.chat_engine.types import StreamingAgentChatResponse
from llama_index.core.instrumentation.events import BaseEvent
from llama_index.core.instrumentation.events.retrieval import RetrievalEndEvent
from llama_index.core.tools.types import ToolOutput
from opentelemetry import context as otel_context
from opentelemetry.context import Context

from aucert_integrations.llama_index.dispatch import attach, feed
from aucert_integrations.llama_index.evidence import tool_passages
from aucert_integrations.llama_index.gathered import Gathered
from aucert_integrations.llama_index.reading import question_of
from aucert_otel.once import looked_after


MAX_TURNS = 10_000
TTL_S = 3600.0

_trees: weakref.WeakSet[Tree] = weakref.WeakSet()


def _after_fork() -> None:
    # A thread that held a lock in the parent does not exist in the child, and never lets go of it.
    for tree in _trees:
        tree._lock = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)


class Verifies:
    """What verifies its own answers: nobody else looks at them."""


@dataclass(slots=True, eq=False)
class Turn(Gathered):
    """Everything under one root span."""

    _: KW_ONLY
    root: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """What the root function was called with."""
    tags: Mapping[str, Any] = field(default_factory=dict)
    context: Context | None = None
    """OpenTelemetry's context when the root span began."""
    drawn: float | None = None
    """What sampling said of it then; ``None``: it depends on the answer. 0.0: nobody will look."""
    seen: float = 0.0
    result: Any = None
    over: bool = False
    """The root function has returned."""
    waits: bool = False
    """Its answer is a stream that has not been read to its end."""
    streamed: str | None = None
    """That stream's text, once it was read."""
    written: bool = False
    """A chat engine has read its stream to the end."""
    spans: set[str] = field(default_factory=set)
    """Spans that have not ended, and streams that have not been read."""


@dataclass(slots=True, eq=False)
class Span:
    """One open span."""

    turn: Turn
    parent: Span | None
    arguments: Mapping[str, Any]
    """What its function was called with."""
    told: bool = False
    """A search or a tool below has said what it found: it says more than the text made of it."""
    verifies: bool = False
    """It is the call of something that verifies its own answers."""
    writes: bool = False
    """It reads a chat engine's stream."""
    closed: bool = False
    """Its function has returned a stream, which is still to be read."""

    def tell(self) -> None:
        """Say so to every span above."""
        span: Span | None = self
        while span is not None:
            span.told = True
            span = span.parent


class Tree:
    """Which turn a span belongs to. One tree serves every thread and event loop.

    Args:
        max_turns: Turns that may be open at once; the one longest without news gives way.
        ttl_s: Seconds without news after which an open turn is forgotten.
    """

    def __init__(self, *, max_turns: int = MAX_TURNS, ttl_s: float = TTL_S) -> None:
        self.max_turns = max_turns
        self.ttl_s = ttl_s
        self.forgotten: Counter[str] = Counter()
        """How many open turns were given up, by reason (``full`` or ``expired``)."""
        self._spans: dict[str, Span] = {}
        self._turns: OrderedDict[str, Turn] = OrderedDict()
        self._lock = threading.Lock()
        self._joined: ContextVar[Turn | None] = ContextVar("aucert_otel.turn", default=None)
        """The turn of a stream that is being read: what its generator does belongs to it."""
        _trees.add(self)

    @property
    def open_turns(self) -> int:
        """Turns that have begun and are not over."""
        return len(self._turns)

    def around(self, span: str | None) -> tuple[Turn | None, str | None]:
        """The turn that an open span belongs to, and the question that it is about."""
        found = inner = self._spans.get(span or "")
        question = None
        while inner is not None and question is None:
            question = question_of(inner.arguments)
            inner = inner.parent
        return (None if found is None else found.turn), question

    def entered(
        self,
        span: str,
        parent: str | None,
        instance: object,
        arguments: Mapping[str, Any],
        tags: Mapping[str, Any],
    ) -> None:
        """Find the turn of a span, or begin one."""
        if looked_after():
            return
        verifies = isinstance(instance, Verifies)
        with self._lock:
            above = self._spans.get(parent or "")
            turn = self._joined.get() or (None if above is None else above.turn)
            if turn is None:
                if verifies:
                    return
                turn = self._begin(span, arguments, tags)
            elif turn.root in self._turns:
                turn.seen = time.monotonic()
                self._turns.move_to_end(turn.root)
            writes = isinstance(instance, StreamingAgentChatResponse)
            self._spans[span] = Span(turn, above, arguments, verifies=verifies, writes=writes)
            turn.spans.add(span)

    def left(self, span: str, result: object) -> None:
        """Close a span, and its turn with the last of them."""
        with self._lock:
            found = self._spans.get(span)
            if found is None:
                return
            turn = found.turn
            if found.verifies:
                turn.skip()
            elif isinstance(result, ToolOutput) and not found.told:
                turn.add(tool_passages(result))
                found.tell()
            if found.writes:
                turn.written = True
            if span == turn.root:
                turn.over = True
                turn.result = self._returned(turn, result)
            self._close(span, turn)
            done = self._done(turn)
        if done:
            self._ended(turn)

    def dropped(self, span: str) -> None:
        """Close a span that raised; where it is the root, nothing was answered."""
        with self._lock:
            found = self._spans.get(span)
            if found is None:
                return
            turn = found.turn
            turn.end(span, None)
            if span == turn.root:
                self._forget(turn)
                return
            self._close(span, turn)
            done = self._done(turn)
        if done:
            self._ended(turn)

    def event(self, event: BaseEvent) -> None:
        """Note an event in its turn. A stream's last event comes after its span has ended."""
        span = event.span_id or ""
        found = self._spans.get(span)
        if found is None or found.verifies:
            return
        turn = found.turn
        with self._lock:
            feed(turn, event)
            if isinstance(event, RetrievalEndEvent):
                found.tell()
            if found.closed:
                self._close(span, turn)
            done = self._done(turn)
        if done:
            self._ended(turn)

    def _close(self, span: str, turn: Turn) -> None:
        """Let go of a span, unless it is a stream still to be read, or the root of others."""
        found = self._spans.get(span)
        if span in turn.calls and found is not None:
            found.closed = True
            return
        turn.spans.discard(span)
        if span != turn.root:
            self._spans.pop(span, None)

    def _done(self, turn: Turn) -> bool:
        """Whether a turn is over, in which case it is forgotten; called under the lock."""
        if not turn.over or turn.spans or turn.waits or turn.root not in self._turns:
            return False
        if isinstance(turn.result, StreamingAgentChatResponse) and not turn.written:
            return False  # the thread that reads its stream has not begun yet
        self._forget(turn)
        return True

    def _begin(self, span: str, arguments: Mapping[str, Any], tags: Mapping[str, Any]) -> Turn:
        now = time.monotonic()
        while self._turns:
            oldest = next(iter(self._turns.values()))
            expired = now - oldest.seen > self.ttl_s
            if not expired and len(self._turns) < self.max_turns:
                break
            self.forgotten["expired" if expired else "full"] += 1
            self._forget(oldest)
        context = otel_context.get_current()
        drawn = self._draw(context, tags)
        turn = Turn(
            root=span, arguments=arguments, tags=tags, context=context, drawn=drawn, seen=now
        )
        self._turns[span] = turn
        return turn

    def _forget(self, turn: Turn) -> None:
        for span in (*turn.spans, turn.root):
            self._spans.pop(span, None)
        turn.spans.clear()
        self._turns.pop(turn.root, None)

    def _draw(self, context: Context, tags: Mapping[str, Any]) -> float | None:  # noqa: ARG002 - for those that verify
        """What sampling says when a turn begins."""
        return None

    def _returned(self, turn: Turn, result: object) -> object:  # noqa: ARG002 - for those that verify
        """What to keep of what the root function returned; called under the lock."""
        return result

    def _ended(self, turn: Turn) -> None:
        """A turn is over."""


_known: Tree | None = None


def known_tree() -> Tree:
    """The tree in which something that answers finds what was found for it. One a process."""
    global _known  # noqa: PLW0603 - one a process
    if _known is None:
        _known = Tree()
        attach(_known)
    return _known
