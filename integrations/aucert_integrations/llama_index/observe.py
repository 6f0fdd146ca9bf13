"""`observe`: finished answers are verified in the background if they are sampled."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from types import TracebackType
from typing import Any, Self

from llama_index.core.base.response.schema import AsyncStreamingResponse, StreamingResponse
from llama_index.core.workflow import StopEvent
from opentelemetry.context import Context

from aucert_integrations.llama_index.dispatch import FAULTS, attach
from aucert_integrations.llama_index.evidence import as_passages
from aucert_integrations.llama_index.reading import question_of
from aucert_integrations.llama_index.responses import text_or_none
from aucert_integrations.llama_index.tree import MAX_TURNS, TTL_S, Tree, Turn
from aucert_otel.errors import ConfigurationError
from aucert_otel.generation import Passage
from aucert_otel.harness import Harness, check_harness


EVIDENCE = "aucert_evidence"
QUESTION = "aucert_question"
TENANT = "aucert_tenant"
"""Keys of ``instrument_tags({...})`` that say outright what would otherwise be gathered."""

_observing: dict[tuple[int, int], Observation] = {}


def observe(
    harness: Harness,
    *,
    tenant: str | None = None,
    dispatcher: Any = None,
    max_turns: int = MAX_TURNS,
    ttl_s: float = TTL_S,
) -> Observation:
    """Show every finished answer of LlamaIndex to a harness, and change none.

    ```python
    observe(harness)
    ```

    One call serves the whole process, every thread and event loop. What it does on the caller's thread is
    bookkeeping; it never blocks and never raises. A second call with the same harness returns the same.

    **What is verified.** One answer for each root span, at that span's end: what a query engine, a chat
    engine, a workflow or a model called directly returned, if a model below wrote it. A stream is
    verified when it was read to its end; its chunks pass at once. Messages that ask for tools are steps
    and are not verified; nor is anything that raised, was cancelled or abandoned, and nothing that
    `VerifiedQueryEngine` or `VerifiedLLM` answers, which they do already.

    **Evidence** is the response's source nodes, else what retrievers and tools returned under the same
    root span. ``aucert_evidence``, ``aucert_question`` and ``aucert_tenant`` in ``instrument_tags({...})`` win
    over what was gathered.

    Args:
        harness: What verifies; its ``sampling`` decides which answers.
        tenant: The tenant of answers whose tags name none.
        dispatcher: The dispatcher below which to listen; default: the root of them all.
        max_turns: Root spans that may be open at once; the one longest without news gives way.
        ttl_s: Seconds without news after which an open root span is forgotten.

    Raises:
        ConfigurationError: ``harness`` is not one, or a number is not positive.
    """
    check_harness(harness, "observe()")
    if max_turns < 1 or not ttl_s > 0:
        raise ConfigurationError(
            f"observe(max_turns={max_turns!r}, ttl_s={ttl_s!r}): both must be positive"
        )
    key = (id(harness), id(dispatcher))
    found = _observing.get(key)
    if found is None:
        made = Observation(harness, tenant=tenant, max_turns=max_turns, ttl_s=ttl_s)
        found = _observing.setdefault(key, made)
        if found is made:
            made._begin_at(key, attach(made, dispatcher))
    return found


class Observation(Tree):
    """What `observe` returns: it can be stopped, and is a context manager that does."""

    def __init__(
        self, harness: Harness, *, tenant: str | None, max_turns: int, ttl_s: float
    ) -> None:
        super().__init__(max_turns=max_turns, ttl_s=ttl_s)
        self.harness = harness
        self.tenant = tenant
        self._detach: Callable[[], None] | None = None
        self._key = (0, 0)

    def _begin_at(self, key: tuple[int, int], detach: Callable[[], None]) -> None:
        self._key = key
        self._detach = detach

    def stop(self) -> None:
        """Stop looking. Answers that were submitted are still verified."""
        _observing.pop(self._key, None)
        if self._detach is not None:
            self._detach()
            self._detach = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def _draw(self, context: Context, tags: Mapping[str, Any]) -> float | None:
        return self.harness.draw(context, tenant=tags.get(TENANT) or self.tenant)

    def _returned(self, turn: Turn, result: object) -> object:
        if isinstance(result, StopEvent):
            result = result.result
        if isinstance(result, StreamingResponse) and result.response_txt is None:
            turn.waits = True
            result.response_gen = self._through(turn, result.response_gen)
        elif isinstance(result, AsyncStreamingResponse) and result.response_txt is None:
            turn.waits = True
            result.response_gen = self._athrough(turn, result.response_gen)
        return result

    def _through(
        self, turn: Turn, source: Generator[str, None, None]
    ) -> Generator[str, None, None]:
        """A stream's chunks, as they come; what the model does meanwhile belongs to the turn."""
        whole = False
        parts: list[str] = []
        try:
            while True:
                # Only around each step: a variable that is set across a yield is the reader's too.
                token = self._joined.set(turn)
                try:
                    chunk = next(source)
                except StopIteration:
                    whole = True
                    return
                finally:
                    self._joined.reset(token)
                parts.append(chunk)
                yield chunk
        finally:
            source.close()
            with FAULTS:
                self._read(turn, "".join(parts) if whole else None)

    async def _athrough(
        self, turn: Turn, source: AsyncGenerator[str, None]
    ) -> AsyncGenerator[str, None]:
        """`_through` for asynchronous readers."""
        whole = False
        parts: list[str] = []
        try:
            while True:
                token = self._joined.set(turn)
                try:
                    chunk = await anext(source)
                except StopAsyncIteration:
                    whole = True
                    return
                finally:
                    self._joined.reset(token)
                parts.append(chunk)
                yield chunk
        finally:
            await source.aclose()
            with FAULTS:
                self._read(turn, "".join(parts) if whole else None)

    def _read(self, turn: Turn, text: str | None) -> None:
        """A stream was read to its end, or given up."""
        with self._lock:
            turn.waits = False
            known = turn.root in self._turns
            if known and text is not None:
                turn.streamed = text
            self._forget(turn)
        if known and text is not None:
            self._ended(turn)

    def _ended(self, turn: Turn) -> None:
        if turn.drawn == 0.0 or not turn.finished:
            return
        text = turn.streamed if turn.streamed is not None else text_or_none(turn.result)
        if text is None and not isinstance(turn.result, (Generator, AsyncGenerator)):
            return  # nodes, nothing, an object of the application's own: no answer
        chosen = turn.chosen(text)
        if chosen is None:
            return
        call, text = chosen
        question = turn.tags.get(QUESTION) or question_of(turn.arguments)
        generation = turn.generation(
            text,
            call=call,
            question=question,
            evidence=self._evidence(turn),
            tenant=turn.tags.get(TENANT) or self.tenant,
        )
        self.harness.submit(generation, context=turn.context, drawn=turn.drawn)

    def _evidence(self, turn: Turn) -> tuple[Passage, ...] | None:
        if EVIDENCE in turn.tags:
            return as_passages(turn.tags[EVIDENCE])
        nodes = getattr(turn.result, "source_nodes", None)
        if isinstance(nodes, list) and nodes:
            return as_passages(nodes)
        return tuple(dict.fromkeys(turn.passages)) if turn.searched else None
