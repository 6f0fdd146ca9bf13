"""The support chain, as any LangChain application has one, and what is wrapped around it."""

from __future__ import annotations

from operator import itemgetter
from typing import Any, Final

from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import Runnable, RunnablePassthrough

from aucert_integrations.demo.data import articles
from aucert_integrations.demo.retriever import ArticleRetriever
from aucert_otel import Verifier, load_verifier


RULES: Final[list[Any]] = [
    "finish_reason",
    {"cites_only_returned": {"required": True}},
    "numbers_appear",
    {"forbids": {"pattern": r"(?i)\bguarantee", "fact": "We never guarantee a delivery time."}},
    {"length": {"max_words": 120}},
]
"""Rung 0, the way it stands in a settings file."""

_INSTRUCTIONS: Final = (
    "You answer customers of a flower company in at most four sentences. Use only these articles, "
    "and name the one you rely on as (article NUMBER).\n\n{articles}"
)
PROMPT: Final = ChatPromptTemplate.from_messages(
    [
        ("system", _INSTRUCTIONS),
        ("human", "{question}"),
    ]
)


def support_chain(model: BaseChatModel) -> Runnable[dict[str, str], str]:
    """Search, prompt, model, text: ``invoke({"question": ...})``."""
    search = itemgetter("question") | ArticleRetriever(articles=articles()) | _as_text
    return (
        RunnablePassthrough.assign(articles=search) | PROMPT | model | StrOutputParser()
    ).with_config(run_name="support")


def _as_text(documents: list[Document]) -> str:
    return "\n\n".join(
        f"Article {each.metadata['id']}, {each.metadata['title']}: {each.page_content}"
        for each in documents
    )


def rules() -> Verifier:
    """The rule set, found by its name as an application's settings would."""
    return load_verifier("rules", rules=RULES)
