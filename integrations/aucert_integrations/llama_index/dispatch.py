"""LlamaIndex's instrumentation, as one listener that cannot harm it.

Handlers run synchronously on the caller's thread, and whatever they raise vanishes without a word.
So nothing is done here but bookkeeping, and our own faults are counted and logged.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from types import TracebackType
from typing import Any, Protocol

import llama_index.core.instrumentation as instrument
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.events import BaseEvent
from llama_index.core.instrumentation.events.exception import ExceptionEvent
from llama_index.core.instrumentation.events.llm import (
    LLMChatEndEvent,
    LLMChatInProgressEvent,
    LLMChatStartEvent,
    LLMCompletionEndEvent,
    LLMCompletionInProgressEvent,
    LLMCompletionStartEvent,
)
from llama_index.core.instrumentation.events.retrieval import RetrievalEndEvent
from llama_index.core.instrumentation.span_handlers import BaseSpanHandler
from pydantic import PrivateAttr

from aucert_integrations.llama_index.evidence import as_passages
from aucert_integrations.llama_index.gathered import Gathered
from aucert_integrations.llama_index.reading import answer_of, finish_reason_of
from aucert_otel._safe import Guard


class Listener(Protocol):
    """What hears of spans and events."""

    def entered(
        self,
        span: str,
        parent: str | None,
        instance: object,
        arguments: Mapping[str, Any],
        tags: Mapping[str, Any],
    ) -> None:
        """A span begins."""
        ...

    def left(self, span: str, result: object) -> None:
        """A span ends, and this is what its function returned."""
        ...

    def dropped(self, span: str) -> None:
        """A span ends because its function raised, or was cancelled."""
        ...

    def event(self, event: BaseEvent) -> None:
        """Something happened."""
        ...


class Faults(Guard):
    """Holds our own faults back, and counts them: LlamaIndex would lose them in silence."""

    __slots__ = ("seen",)

    def __init__(self, place: str) -> None:
        super().__init__(place)
        self.seen: Counter[str] = Counter()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        """Count it."""
        if error is not None:
            self.seen[type(error).__qualname__] += 1
        return super().__exit__(kind, error, traceback)


FAULTS = Faults("llama_index")


class _Spans(BaseSpanHandler[Any]):
    _listener: Any = PrivateAttr(default=None)

    def span_enter(
        self,
        id_: str,
        bound_args: inspect.BoundArguments,
        instance: Any | None = None,
        parent_id: str | None = None,
        tags: dict[str, Any] | None = None,
        **kwargs: Any,  # noqa: ARG002 - LlamaIndex's own signature
    ) -> None:
        with FAULTS:
            self._listener.entered(id_, parent_id, instance, bound_args.arguments, tags or {})

    def span_exit(
        self,
        id_: str,
        bound_args: inspect.BoundArguments,  # noqa: ARG002 - LlamaIndex's own signature
        instance: Any | None = None,  # noqa: ARG002 - same
        result: Any | None = None,
        **kwargs: Any,  # noqa: ARG002 - same
    ) -> None:
        with FAULTS:
            self._listener.left(id_, result)

    def span_drop(
        self,
        id_: str,
        bound_args: inspect.BoundArguments,  # noqa: ARG002 - LlamaIndex's own signature
        instance: Any | None = None,  # noqa: ARG002 - same
        err: BaseException | None = None,  # noqa: ARG002 - same
        **kwargs: Any,  # noqa: ARG002 - same
    ) -> None:
        with FAULTS:
            self._listener.dropped(id_)

    # What the base class would keep of a span, in lists that only grow, is not needed.

    def new_span(self, *_: Any, **__: Any) -> None:
        return None

    def prepare_to_exit_span(self, *_: Any, **__: Any) -> None:
        return None

    def prepare_to_drop_span(self, *_: Any, **__: Any) -> None:
        return None


class _Events(BaseEventHandler):
    _heard: Any = PrivateAttr(default=None)

    @classmethod
    def class_name(cls) -> str:
        return "aucert"

    def handle(self, event: BaseEvent, **kwargs: Any) -> None:  # noqa: ARG002 - LlamaIndex's own signature
        with FAULTS:
            self._heard(event)


def _root() -> Any:
    return instrument.get_dispatcher()  # type: ignore[attr-defined, unused-ignore] # re-exported, not declared


def attach(listener: Listener, dispatcher: Any = None) -> Callable[[], None]:
    """Have a listener hear of everything below a dispatcher; default: the root of them all.

    Returns:
        What takes it off again.
    """
    place = _root() if dispatcher is None else dispatcher
    spans, events = _Spans(), _Events()
    spans._listener = listener
    events._heard = listener.event
    place.add_span_handler(spans)
    place.add_event_handler(events)

    def detach() -> None:
        # A new list each: somebody may be walking the old one.
        place.span_handlers = [each for each in place.span_handlers if each is not spans]
        place.event_handlers = [each for each in place.event_handlers if each is not events]

    return detach


def feed(gathered: Gathered, event: BaseEvent) -> None:
    """Note what an event says about model calls and searches."""
    span = event.span_id or ""
    if isinstance(event, (LLMChatInProgressEvent, LLMCompletionInProgressEvent)):
        finish = finish_reason_of(event.response.raw)
        if finish is not None:
            gathered.heard(span, finish)
    elif isinstance(event, LLMChatStartEvent):
        gathered.begin(span, event.messages)
    elif isinstance(event, LLMCompletionStartEvent):
        gathered.begin(span, event.prompt)
    elif isinstance(event, (LLMChatEndEvent, LLMCompletionEndEvent)):
        gathered.end(span, answer_of(event.response))
    elif isinstance(event, RetrievalEndEvent):
        gathered.add(as_passages(event.nodes) or ())
    elif isinstance(event, ExceptionEvent):
        gathered.end(span, None)


_gathering: ContextVar[Gathered | None] = ContextVar("aucert_otel.llama_index", default=None)

_listens = False


@contextmanager
def gathered_here() -> Generator[Gathered, None, None]:
    """What happens inside, once `listen` was called."""
    gathered = Gathered()
    token = _gathering.set(gathered)
    try:
        yield gathered
    finally:
        with suppress(ValueError):  # a coroutine that is collected is closed in another context
            _gathering.reset(token)


def listen() -> None:
    """Let `gathered_here` hear of events, from now on. Once a process."""
    global _listens  # noqa: PLW0603 - one a process
    if not _listens:
        _listens = True
        events = _Events()
        events._heard = _gather
        _root().add_event_handler(events)


def _gather(event: BaseEvent) -> None:
    gathered = _gathering.get()
    if gathered is not None:
        feed(gathered, event)
