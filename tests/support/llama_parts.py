"""A small support desk on LlamaIndex, for its tests."""

from __future__ import annotations

from typing import Any

from llama_index.core.callbacks import CallbackManager
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from aucert_otel import Evidence, Finding, Generation, Reason, Verdict


ARTICLES = {
    "118": "Standard delivery takes 3 to 5 days and costs $4.99.",
    "140": "Roses keep for 7 days in water that is changed every 48 hours.",
}
PERSON = "A colleague will answer."
GENERATE, VERIFY, REPAIR = "aucert.generate reply", "aucert.verify reply", "aucert.repair"
SHIPPED: list[Any] = [(GENERATE, [VERIFY])]
REPAIRED: list[Any] = [(GENERATE, [VERIFY, (REPAIR, [VERIFY])])]


class Articles(BaseRetriever):
    """Finds every article, and notes what it was asked."""

    def __init__(self, numbers: Any = ARTICLES) -> None:
        super().__init__(callback_manager=CallbackManager([]))
        self.numbers = numbers
        self.asked: list[str] = []

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        self.asked.append(query_bundle.query_str)
        return [
            NodeWithScore(
                node=TextNode(
                    text=ARTICLES[n], id_=f"node-{n}", metadata={"id": n, "version": "2"}
                ),
                score=0.5,
            )
            for n in self.numbers
        ]


class Cited:
    """Fails an answer that cites an article search did not return, and remembers what it read."""

    name = "cited_ids"

    def __init__(self) -> None:
        self.read: list[Generation] = []

    def verify(self, generation: Generation) -> Finding:
        """Look for article 212, which does not exist."""
        self.read.append(generation)
        if "212" not in generation.output:
            return Finding(self.name, Verdict.PASS, score=1.0)
        return Finding(
            self.name,
            Verdict.FAIL,
            score=0.0,
            reason=Reason.UNSUPPORTED,
            claim="see 212",
            evidence=(Evidence("search returned 118 and 140", "rule"),),
        )


def truncated(generation: Generation) -> Finding:
    """Fails an answer that was cut off."""
    if generation.finish_reason != "length":
        return Finding("complete", Verdict.PASS, score=1.0)
    return Finding(
        "complete",
        Verdict.FAIL,
        score=0.0,
        reason=Reason.TRUNCATED,
        evidence=(Evidence("finish_reason=length", "rule"),),
    )


def ids(generation: Generation) -> list[str | None] | None:
    """The ids of the evidence; ``None`` where nobody knows of any."""
    return None if generation.evidence is None else [p.id for p in generation.evidence]


class Verdicts:
    """What was verified, and the spans that say so."""

    def __init__(self, cited: Cited, recorder: Any) -> None:
        self.read = cited.read
        self.recorder = recorder

    @property
    def outline(self) -> list[Any]:
        """The spans' names, nested."""
        return self.recorder.outline
