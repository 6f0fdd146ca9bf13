"""A small support chain and its parts, for the LangChain tests."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from pydantic import Field

from aucert_otel import Evidence, Finding, Generation, Reason, Verdict


ARTICLES = {
    118: "Standard delivery takes 3 to 5 days and costs $4.99.",
    140: "Roses keep for 7 days in water that is changed every 48 hours.",
}


class Articles(BaseRetriever):
    """Finds every article, or the one whose number the query names; notes what it was asked."""

    asked: list[str] = Field(default_factory=list)

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        self.asked.append(query)
        named = [number for number in ARTICLES if str(number) in query] or list(ARTICLES)
        return [
            Document(page_content=ARTICLES[n], metadata={"id": n, "version": "2"}) for n in named
        ]


PROMPT = ChatPromptTemplate.from_messages(
    [("system", "Answer from these articles: {context}"), ("human", "{question}")]
)


def says(*answers: str, **options: Any) -> FakeListChatModel:
    """A model that says these, in order."""
    return FakeListChatModel(responses=list(answers), **options)


def before_parser(model: Any, retriever: Any = None) -> Any:
    """Search, prompt and model."""
    found = itemgetter("question") | (retriever or Articles())
    return {"context": found, "question": itemgetter("question")} | PROMPT | model


def support_chain(model: Any, retriever: Any = None) -> Any:
    """Search, prompt, model and parser: what a support desk's chain looks like."""
    return before_parser(model, retriever) | StrOutputParser()


ASK = {"question": "How long does delivery take?"}


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


def cited_pickled(generation: Generation) -> Finding:
    """`Cited` as a plain function, which pickles."""
    return Cited().verify(generation)
