"""A small lexical search over the articles: BM25, the way it is done without an index server."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from functools import cached_property
from typing import Any, Final

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from aucert_integrations.demo.data import Article


_WORD = re.compile(r"[a-z]+|\d+")
_STOP: Final = frozenset(
    [
        "a",
        "about",
        "after",
        "all",
        "also",
        "an",
        "and",
        "any",
        "are",
        "as",
        "at",
        "be",
        "been",
        "before",
        "but",
        "by",
        "can",
        "could",
        "did",
        "do",
        "does",
        "done",
        "for",
        "from",
        "get",
        "had",
        "has",
        "have",
        "how",
        "i",
        "if",
        "in",
        "is",
        "it",
        "its",
        "just",
        "long",
        "me",
        "much",
        "my",
        "of",
        "on",
        "or",
        "our",
        "please",
        "should",
        "so",
        "still",
        "than",
        "that",
        "the",
        "their",
        "them",
        "then",
        "there",
        "they",
        "this",
        "to",
        "until",
        "up",
        "was",
        "we",
        "were",
        "what",
        "when",
        "where",
        "which",
        "who",
        "will",
        "with",
        "would",
        "you",
        "your",
    ]
)
_ENDINGS: Final = ("ing", "ies", "ed", "es", "s", "y", "e")


def stems(text: str) -> list[str]:
    """Words without their endings: enough to find "delivered" with "delivery"."""
    found = []
    for word in _WORD.findall(text.lower()):
        if word not in _STOP:
            ending = next((e for e in _ENDINGS if word.endswith(e) and len(word) - len(e) > 2), "")
            found.append(word.removesuffix(ending))
    return found


class ArticleRetriever(BaseRetriever):
    """Articles that share rare words with the question, best first.

    Args:
        articles: What is searched.
        k: At most this many are returned.
        floor: One that scores below this share of the best is left out.
    """

    articles: list[Article]
    k: int = 2
    floor: float = 0.5

    @cached_property
    def _counts(self) -> list[Counter[str]]:
        # The title counts twice: it says what the article is about.
        return [Counter(stems(f"{a.title} {a.title} {a.text}")) for a in self.articles]

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 - LangChain's signature
    ) -> list[Document]:
        wanted = set(stems(query))
        scores = [
            (self._score(wanted, counts), a)
            for counts, a in zip(self._counts, self.articles, strict=True)
        ]
        ranked = sorted(scores, key=lambda each: (-each[0], each[1].id))[: self.k]
        best = ranked[0][0] if ranked else 0.0
        return [_document(a) for score, a in ranked if score > 0 and score >= self.floor * best]

    def _score(self, wanted: Iterable[str], counts: Counter[str]) -> float:
        total = len(self._counts)
        usual = sum(each.total() for each in self._counts) / total
        score = 0.0
        for word in sorted(wanted):
            if times := counts[word]:
                having = sum(1 for each in self._counts if word in each)
                rarity = math.log(1 + (total - having + 0.5) / (having + 0.5))
                length = 0.25 + 0.75 * counts.total() / usual
                score += rarity * times * 2.5 / (times + 1.5 * length)
        return score


def _document(article: Article) -> Document:
    metadata: dict[str, Any] = {
        "id": article.id,
        "title": article.title,
        "version": article.version,
        "latest_version": article.latest_version,
        "effective_from": article.effective_from,
        "source_type": article.source_type,
    }
    return Document(article.text, id=article.id, metadata=metadata)
