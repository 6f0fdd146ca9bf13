"""`VerifiedQueryEngine`: a query engine whose answers are held back until they were checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.schema import NodeWithScore, QueryBundle

from aucert_integrations.llama_index.dispatch import gathered_here, listen
from aucert_integrations.llama_index.evidence import as_passages
from aucert_integrations.llama_index.gathered import Gathered
from aucert_integrations.llama_index.holding import ahold, checked, hold
from aucert_integrations.llama_index.responses import aread, read, shaped
from aucert_integrations.llama_index.tree import Verifies
from aucert_otel.errors import ConfigurationError
from aucert_otel.generation import Generation, Passage
from aucert_otel.harness import Harness
from aucert_otel.once import looked_after
from aucert_otel.outcome import Otherwise
from aucert_otel.repair import RepairRequest


Evidence: TypeAlias = Callable[[QueryBundle, Any], object]
"""This turn's evidence, of the query and the engine's response."""


class VerifiedQueryEngine(BaseQueryEngine, Verifies):
    """Holds a query engine's answer back until it was verified; returns it only if it ships.

    ```python
    engine = VerifiedQueryEngine(index.as_query_engine(), harness, otherwise="A colleague will answer.")
    ```

    It is a query engine like any other: ``query``, ``aquery``, ``synthesize``, inside a
    ``QueryEngineTool``, a router or a chat engine. What comes back is the engine's own response, the
    very object; a stream is read to its end, verified, and then replayed chunk by chunk. What the engine
    raises passes unchanged. Where somebody above holds the answer back already, it passes.

    **Evidence** is the response's source nodes, **question** the query.

    **Repair** synthesises again from the same nodes: there is no second search. An engine without a
    ``synthesize`` of its own cannot repair. (A truncated answer is asked for again too, but its token
    ceiling cannot be raised from here; with `VerifiedLLM` it can.)

    Args:
        engine: The engine.
        harness: What checks and acts.
        otherwise: What the caller gets where the answer may not be used: a text, which takes the
            response's own type, or a function of the `Outcome` that returns one, or a response.
            ``HandedToPerson`` raises. A coroutine function is awaited under ``aquery``. There is no
            default: this is a decision.
        evidence: This turn's evidence instead of the source nodes: ``(query, response) -> nodes``.
        escalate: A stronger engine, asked once where a repair cannot help.
        tenant: The tenant of its answers.
        name: Names the ``aucert.generate`` span; default: the harness's.

    Raises:
        ConfigurationError: ``engine`` or ``escalate`` is not a query engine, ``harness`` not a harness, or
            ``otherwise`` neither a text nor a function.
    """

    def __init__(
        self,
        engine: BaseQueryEngine,
        harness: Harness,
        *,
        otherwise: Otherwise,
        evidence: Evidence | None = None,
        escalate: BaseQueryEngine | None = None,
        tenant: str | None = None,
        name: str | None = None,
    ) -> None:
        checked("VerifiedQueryEngine()", harness, otherwise)
        for role, given in (("engine", engine), ("escalate", escalate)):
            if given is not None and not isinstance(given, BaseQueryEngine):
                raise ConfigurationError(
                    f"VerifiedQueryEngine({role}={type(given).__name__}): give a query engine, such as "
                    "index.as_query_engine()"
                )
        super().__init__(callback_manager=getattr(engine, "callback_manager", None))
        self.engine = engine
        self.harness = harness
        self.otherwise = otherwise
        self.evidence = evidence
        self.escalate = escalate
        self.tenant = tenant
        self.name = name
        listen()

    def _get_prompts(self) -> Any:
        return self.engine._get_prompts()

    def _get_prompt_modules(self) -> Any:
        return self.engine._get_prompt_modules()

    def _update_prompts(self, prompts: Any) -> None:
        self.engine._update_prompts(prompts)

    def retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        """The engine's own search."""
        return self.engine.retrieve(query_bundle)

    async def aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        """The engine's own search, where it has an asynchronous one."""
        engine: Any = self.engine
        found: list[NodeWithScore] = await engine.aretrieve(query_bundle)
        return found

    def with_retriever(self, retriever: Any) -> VerifiedQueryEngine:
        """The same, around the engine with this retriever.

        Raises:
            AttributeError: the engine has no ``with_retriever``.
        """
        engine: Any = self.engine
        return VerifiedQueryEngine(
            engine.with_retriever(retriever),
            self.harness,
            otherwise=self.otherwise,
            evidence=self.evidence,
            escalate=self.escalate,
            tenant=self.tenant,
            name=self.name,
        )

    def synthesize(
        self,
        query_bundle: QueryBundle,
        nodes: list[NodeWithScore],
        additional_source_nodes: Sequence[NodeWithScore] | None = None,
    ) -> Any:
        """A verified answer from these nodes."""
        return self._held(_Attempt(self, query_bundle, (nodes, additional_source_nodes)))

    async def asynthesize(
        self,
        query_bundle: QueryBundle,
        nodes: list[NodeWithScore],
        additional_source_nodes: Sequence[NodeWithScore] | None = None,
    ) -> Any:
        """`synthesize` for asynchronous callers."""
        return await self._aheld(_Attempt(self, query_bundle, (nodes, additional_source_nodes)))

    def _query(self, query_bundle: QueryBundle) -> Any:
        return self._held(_Attempt(self, query_bundle))

    async def _aquery(self, query_bundle: QueryBundle) -> Any:
        return await self._aheld(_Attempt(self, query_bundle))

    def _held(self, attempt: _Attempt) -> Any:
        if looked_after():
            return attempt.ask(self.engine)
        return hold(self, attempt, shaped)

    async def _aheld(self, attempt: _Attempt) -> Any:
        if looked_after():
            return await attempt.aask(self.engine)
        return await ahold(self, attempt, shaped)


class _Attempt:
    """Writes the answer to one query for the harness."""

    __slots__ = ("_bundle", "_given", "_nodes", "_of")

    def __init__(
        self,
        of: VerifiedQueryEngine,
        bundle: QueryBundle,
        given: tuple[list[NodeWithScore], Sequence[NodeWithScore] | None] | None = None,
    ) -> None:
        self._of = of
        self._bundle = bundle
        self._given = given
        """The nodes to answer from, where the caller has searched."""
        self._nodes: list[NodeWithScore] | None = None
        """What the first draft was made from."""

    def can_repair(self) -> bool:
        """Whether the engine can answer again from the same nodes."""
        return type(self._of.engine).synthesize is not BaseQueryEngine.synthesize

    def ask(self, engine: BaseQueryEngine) -> Any:
        """Have an engine answer."""
        if self._given is None:
            return engine.query(self._bundle)
        return engine.synthesize(self._bundle, *self._given)

    async def aask(self, engine: BaseQueryEngine) -> Any:
        """`ask` for asynchronous callers."""
        if self._given is None:
            return await engine.aquery(self._bundle)
        return await engine.asynthesize(self._bundle, *self._given)

    def generate(self, request: RepairRequest | None) -> Generation:
        """Have a draft written."""
        if request is None:
            return self._write(lambda: self.ask(self._of.engine))
        nodes = self._nodes or []
        return self._write(lambda: self._of.engine.synthesize(self._again(request), nodes))

    async def agenerate(self, request: RepairRequest | None) -> Generation:
        """`generate` for asynchronous callers."""
        if request is None:
            return await self._awrite(lambda: self.aask(self._of.engine))
        nodes = self._nodes or []
        return await self._awrite(lambda: self._of.engine.asynthesize(self._again(request), nodes))

    def again(self, request: RepairRequest | None) -> Generation:  # noqa: ARG002 - a stronger engine starts afresh
        """Have the stronger engine answer."""
        stronger = self._of.escalate
        assert stronger is not None
        return self._write(lambda: self.ask(stronger))

    async def aagain(self, request: RepairRequest | None) -> Generation:  # noqa: ARG002 - same
        """`again` for asynchronous callers."""
        stronger = self._of.escalate
        assert stronger is not None
        return await self._awrite(lambda: self.aask(stronger))

    def _again(self, request: RepairRequest) -> QueryBundle:
        return QueryBundle(f"{self._bundle.query_str}\n\n{request.render()}")

    def _write(self, answer: Callable[[], Any]) -> Generation:
        with gathered_here() as gathered:
            response = answer()
            text = read(response)
        return self._generation(text, response, gathered)

    async def _awrite(self, answer: Callable[[], Any]) -> Generation:
        with gathered_here() as gathered:
            response = await answer()
            text = await aread(response)
        return self._generation(text, response, gathered)

    def _generation(self, text: str, response: Any, gathered: Gathered) -> Generation:
        if self._nodes is None:
            self._nodes = list(getattr(response, "source_nodes", None) or ())
        return gathered.generation(
            text,
            question=self._bundle.query_str,
            evidence=self._evidence(response, gathered),
            tenant=self._of.tenant,
            raw=response,
        )

    def _evidence(self, response: Any, gathered: Gathered) -> tuple[Passage, ...] | None:
        if self._of.evidence is not None:
            return as_passages(self._of.evidence(self._bundle, response))
        nodes = getattr(response, "source_nodes", None)
        # An engine that never searches has no sources either, which is another fact than a search
        # that found nothing.
        if nodes or gathered.searched or self._given is not None:
            return as_passages(nodes or ())
        return None
