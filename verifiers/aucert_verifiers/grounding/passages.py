"""The sentences of the passages, each with the heading it stands under."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from aucert_verifiers.grounding.layout import Kind, blocks_of, words_of
from aucert_verifiers.grounding.sentences import sentence_spans


_CACHED_CHARS: Final = 200_000


@dataclass(frozen=True, slots=True)
class PassageSentence:
    """One sentence of a passage. A table's row is a sentence for each of its cells."""

    text: str
    heading: str = ""
    """The heading it stands under: it says what the sentence is about where that does not."""
    start: int = 0
    """Where it begins in the passage."""


def _sentences(text: str) -> tuple[PassageSentence, ...]:
    found: list[PassageSentence] = []
    for block in blocks_of(text):
        piece = words_of(text, block)
        if block.kind is Kind.ROW:
            found.extend(_row(block.cells, block.heading, block.start, piece))
            continue
        heading = block.heading or block.lead
        for start, end in sentence_spans(piece):
            said = " ".join(piece[start:end].split())
            found.append(PassageSentence(said, heading, block.start + start))
    return tuple(found)


def _row(
    cells: tuple[tuple[str, str], ...], heading: str, start: int, piece: str
) -> list[PassageSentence]:
    if len(cells) < 2 or not cells[1][0]:
        return [PassageSentence(" ".join(piece.strip(" |").split()), heading, start)]
    subject = cells[0][1]
    return [
        PassageSentence(f"{subject}: {name} {cell}".strip(), heading, start)
        for name, cell in cells[1:]
        if cell
    ]


_cached = lru_cache(maxsize=512)(_sentences)


def passage_sentences(text: str) -> tuple[PassageSentence, ...]:
    """The sentences of a passage, in order; the same passages come back turn after turn.

    Raises:
        MissingExtraError: the extra ``grounding`` is not installed.
    """
    return _cached(text) if len(text) <= _CACHED_CHARS else _sentences(text)
