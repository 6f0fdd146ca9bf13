"""One call of a verified model: having its answer written, once or twice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.instrumentation.span import active_span_id
from llama_index.core.llms.llm import LLM

from aucert_integrations.llama_index.dispatch import gathered_here
from aucert_integrations.llama_index.evidence import as_passages, told_by_tools
from aucert_integrations.llama_index.gathered import Finished, Gathered
from aucert_integrations.llama_index.holding import NoAnswer, ToolStep
from aucert_integrations.llama_index.reading import Answer
from aucert_integrations.llama_index.tree import known_tree
from aucert_integrations.llama_index.ways import Chunks, Way, raised
from aucert_otel.generation import Generation, Passage
from aucert_otel.repair import RepairRequest


if TYPE_CHECKING:
    from aucert_integrations.llama_index.llm import VerifiedLLM


class Asking:
    """Writes the answer to one call for the harness.

    Args:
        of: The verified model.
        method: The model's own method; its asynchronous twin's name has an ``a`` before it.
        way: What is asked, and how.
    """

    __slots__ = ("_first", "_method", "_of", "_question", "_turn", "streams", "way")

    def __init__(self, of: VerifiedLLM, method: str, way: Way) -> None:
        self._of = of
        self._method = method
        self.way = way
        self.streams = method.startswith("stream")
        # A stream is written later, when the span of this call is over.
        self._turn, self._question = known_tree().around(active_span_id.get())
        self._first: Generation | None = None

    def can_repair(self) -> bool:
        """Whether a repair request has a place in this call."""
        return self.way.can_repair()

    def plain(self) -> Any:
        """The model's own call."""
        args, kwargs = self.way.arguments(None, {})
        return getattr(self._of.llm, self._method)(*args, **kwargs)

    async def aplain(self) -> Any:
        """`plain` for asynchronous callers."""
        args, kwargs = self.way.arguments(None, {})
        return await getattr(self._of.llm, f"a{self._method}")(*args, **kwargs)

    def generate(self, request: RepairRequest | None) -> Generation:
        """Have a draft written."""
        return self._write(self._of.llm, request, again=request is not None)

    async def agenerate(self, request: RepairRequest | None) -> Generation:
        """`generate` for asynchronous callers."""
        return await self._awrite(self._of.llm, request, again=request is not None)

    def again(self, request: RepairRequest | None) -> Generation:  # noqa: ARG002 - a stronger model starts afresh
        """Have the stronger model answer."""
        return self._write(self._of.escalate, None, again=True)

    async def aagain(self, request: RepairRequest | None) -> Generation:  # noqa: ARG002 - same
        """`again` for asynchronous callers."""
        return await self._awrite(self._of.escalate, None, again=True)

    def _write(self, llm: LLM | None, request: RepairRequest | None, *, again: bool) -> Generation:
        call = self._call(llm, self._method, request)
        with gathered_here() as gathered:
            value = call()
            if self.streams:
                value = Chunks(value)
        return self._generation(value, gathered, again=again)

    async def _awrite(
        self, llm: LLM | None, request: RepairRequest | None, *, again: bool
    ) -> Generation:
        call = self._call(llm, f"a{self._method}", request)
        with gathered_here() as gathered:
            value = await call()
            if self.streams:
                value = Chunks([chunk async for chunk in value])
        return self._generation(value, gathered, again=again)

    def _call(
        self, llm: LLM | None, method: str, request: RepairRequest | None
    ) -> Callable[[], Any]:
        usage = self._first.usage if self._first else None
        _, given = self.way.arguments(None, {})
        used = usage.output_tokens if usage else None
        llm, ceiling = raised(llm, given, request, used)
        args, kwargs = self.way.arguments(request, ceiling)
        return lambda: getattr(llm, method)(*args, **kwargs)

    def _generation(self, value: Any, gathered: Gathered, *, again: bool) -> Generation:
        answer = self.way.read(value) or Answer("")
        if answer.asks_tools:
            if again:
                raise NoAnswer
            raise ToolStep(value)
        last = gathered.finished[-1].answer if gathered.finished else None
        asked = self.way.asked()
        if answer.model is None and last is not None:  # a structured answer says nothing of itself
            said = last
        else:
            said = answer
            # A model without events of its own is known by what it returned.
            gathered.finished.clear()
            gathered.finished.append(Finished(asked, answer, 0))
        generation = gathered.generation(
            answer.text,
            call=Finished(asked, said, 0),
            question=self._question,
            evidence=self._evidence(asked),
            tenant=self._of.tenant,
            raw=value,
        )
        if self._first is None:
            self._first = generation
        return generation

    def _evidence(self, asked: Sequence[ChatMessage] | str) -> tuple[Passage, ...] | None:
        if self._of.evidence is not None:
            return as_passages(self._of.evidence(asked))
        if self._turn is not None and self._turn.searched:
            return tuple(dict.fromkeys(self._turn.passages))
        found = () if isinstance(asked, str) else told_by_tools(asked)
        return found or None
