"""Evidence of searches made by hand, found again by trace.

``docs = retriever.invoke(q); model.invoke(...)`` has no chain around it. Where a trace is active,
the trace ties the two together.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

from opentelemetry import trace
from opentelemetry.context import Context

from aucert_otel.generation import Passage


MAX_TRACES = 2048
MAX_SPANS = 64
MAX_PASSAGES = 512
TTL_S = 600.0


@dataclass(slots=True)
class _Search:
    passages: list[Passage] = field(default_factory=list)
    answered: bool = False


@dataclass(slots=True)
class _Trace:
    seen: float
    searches: dict[int, _Search] = field(default_factory=dict)
    """By the span that was current when the search began."""


class Traces:
    """Passages by trace, bounded in number and in time. The caller holds the lock."""

    def __init__(self) -> None:
        self._traces: OrderedDict[int, _Trace] = OrderedDict()

    def __len__(self) -> int:
        return len(self._traces)

    def put(self, context: Context | None, passages: Sequence[Passage]) -> None:
        """Keep what a search found. A search after an answer begins a new turn."""
        span = trace.get_current_span(context).get_span_context()
        if not span.is_valid:
            return
        now = time.monotonic()
        self._expire(now)
        kept = self._traces.get(span.trace_id)
        if kept is None:
            kept = self._traces[span.trace_id] = _Trace(now)
        kept.seen = now
        self._traces.move_to_end(span.trace_id)
        search = kept.searches.get(span.span_id)
        if search is None or search.answered:
            kept.searches.pop(span.span_id, None)
            search = kept.searches[span.span_id] = _Search()
        search.passages.extend(passages[: MAX_PASSAGES - len(search.passages)])
        while len(kept.searches) > MAX_SPANS:
            del kept.searches[next(iter(kept.searches))]
        while len(self._traces) > MAX_TRACES:
            self._traces.popitem(last=False)

    def take(self, context: Context | None) -> list[Passage] | None:
        """What was found for the answer written here; ``None`` where nobody searched.

        Searches under the very same span come first: parallel turns of one trace stay apart where
        each has a span of its own. Otherwise it is every search since the last answer. A second
        answer without a search in between (a rewritten question, then the answer) sees the same.
        """
        span = trace.get_current_span(context).get_span_context()
        kept = self._traces.get(span.trace_id) if span.is_valid else None
        if kept is None or time.monotonic() - kept.seen > TTL_S:
            return None
        own = kept.searches.get(span.span_id)
        searches = [own] if own else [s for s in kept.searches.values() if not s.answered]
        searches = searches or list(kept.searches.values())
        for search in searches:
            search.answered = True
        return [passage for search in searches for passage in search.passages]

    def _expire(self, now: float) -> None:
        while self._traces and now - next(iter(self._traces.values())).seen > TTL_S:
            self._traces.popitem(last=False)
