"""The callback that observes: finished answers are verified in the background if they are sampled."""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from opentelemetry import context as otel_context

from aucert_integrations.langchain.evidence import TENANT
from aucert_integrations.langchain.held import looked_after
from aucert_integrations.langchain.observer import Observer
from aucert_integrations.langchain.traces import Traces
from aucert_integrations.langchain.turn import Turn
from aucert_otel.errors import ConfigurationError
from aucert_otel.harness import Harness, check_harness
from aucert_otel.sampling import NOT_YET


MAX_TURNS = 10_000
TTL_S = 3600.0


class VerificationHandler(Observer):
    """Shows every finished answer of a chain or model to a harness, and changes nothing.

    Evidence is seen from retrievers and tools. Of a search that is a plain function (`RunnableLambda`)
    nobody knows what it returned: give it as ``aucert_evidence`` in the config's metadata.

    Pass it as a callback (``config={"callbacks": [handler]}``), or register it for the whole process
    with ``langchain_core.tracers.context.register_configure_hook``. One handler serves every thread
    and event loop.

    **What is verified.** One answer for each root run, at that run's end: the text of the model call
    that the run returned, or of its last one. Messages that ask for tools are steps and are not
    verified; nor is anything that raised, was cancelled, or whose stream was abandoned, and nothing
    below `verified`, which does it already. A bare ``model.invoke`` is a root run of its own.

    **Evidence** is what retrievers returned under the same root run, and what tools did, as passages
    of source type ``tool``. Where the search was made by hand before the model was called, it is
    found again by the active trace. Turns that run in parallel in one trace, with no chain and no
    span of their own, cannot be told apart: say the evidence outright.

    **Said outright**, in ``config={"metadata": {...}}``, ``aucert_evidence``, ``aucert_question`` and
    ``aucert_tenant`` win over whatever was gathered.

    The verify span's parent is the span that was current when the root run began. Sampling decides
    then, too, unless it has rules that ask about the answer.

    Args:
        harness: What verifies; its ``sampling`` decides which answers.
        tenant: The tenant of answers whose metadata names none.
        max_turns: Root runs that may be open at once; the one longest without news gives way.
        ttl_s: Seconds without news after which an open root run is forgotten: a cancelled call may
            never report its end.

    Attributes:
        forgotten: How many open root runs were given up, by reason (``full`` or ``expired``).
    """

    def __init__(
        self,
        harness: Harness,
        *,
        tenant: str | None = None,
        max_turns: int = MAX_TURNS,
        ttl_s: float = TTL_S,
    ) -> None:
        check_harness(harness, "VerificationHandler()")
        if max_turns < 1 or not ttl_s > 0:
            raise ConfigurationError(
                f"VerificationHandler(max_turns={max_turns!r}, ttl_s={ttl_s!r}): both must be positive"
            )
        super().__init__()
        self.harness = harness
        self.tenant = tenant
        self.max_turns = max_turns
        self.ttl_s = ttl_s
        self.forgotten: Counter[str] = Counter()
        self._turns: OrderedDict[UUID, Turn] = OrderedDict()
        self._traces = Traces()

    @property
    def open_runs(self) -> int:
        """Runs that have begun and not ended, of any kind."""
        return len(self._runs) + len(self._let_be)

    def _passes(self) -> bool:
        return looked_after()

    def _begun(self, run_id: UUID, inputs: Any, metadata: Mapping[str, Any]) -> Turn | None:
        context = otel_context.get_current()
        # What the root run's metadata says of the tenant is final: nothing below can say otherwise.
        tenant = (metadata[TENANT] or self.tenant) if TENANT in metadata else NOT_YET
        drawn = self.harness.draw(context, tenant=tenant)
        if drawn == 0.0:  # nobody will look at the answer, so nothing is gathered for it
            return None
        now = time.monotonic()
        while self._turns:
            oldest = next(iter(self._turns.values()))
            expired = now - oldest.seen > self.ttl_s
            if not expired and len(self._turns) < self.max_turns:
                break
            self.forgotten["expired" if expired else "full"] += 1
            self._forget(oldest)
        turn = Turn(run_id, context, drawn, inputs=inputs, metadata=metadata, seen=now)
        self._turns[run_id] = turn
        return turn

    def _heard(self, turn: Turn) -> None:
        if turn.root in self._turns:
            turn.seen = time.monotonic()
            self._turns.move_to_end(turn.root)

    def _forget(self, turn: Turn) -> None:
        super()._forget(turn)
        self._turns.pop(turn.root, None)

    def _ended(self, turn: Turn, outputs: Any) -> None:
        chosen = turn.chosen(outputs)
        if chosen is None:
            if turn.searched and not turn.finished:
                with self._lock:
                    self._traces.put(turn.context, list(turn.passages))
            return
        evidence = None
        if not turn.searched:
            with self._lock:
                evidence = self._traces.take(turn.context)
        generation = turn.generation(*chosen, tenant=self.tenant, evidence=evidence)
        self.harness.submit(generation, context=turn.context, drawn=turn.drawn)
