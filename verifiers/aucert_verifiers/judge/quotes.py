"""Whether what a judge quotes is there: a sentence of the reply, a sentence of a passage.

A judge may quote with other quotation marks, another case or other spacing, and it may leave out
the end of a sentence. It may not invent. What is found is given back as it stands in the text, as
whole sentences: two criteria that trip over one sentence then point at the same claim.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from aucert_otel.generation import Generation, Passage
from aucert_otel.verdict import Evidence
from aucert_verifiers.packaging import Limits
from aucert_verifiers.rules.text import clip, sentence_starts


MAX_QUOTE: Final = 1_000
"""Characters of a quotation that are kept."""
_MIN_CHARS: Final = 6
"""A shorter quotation stands somewhere by accident, unless it is the whole text."""
_LONGEST: Final = 4_000
_SAME = str.maketrans(
    {
        "\u2018": "'", "\u2019": "'", "\u201a": "'", "\u201b": "'", "\u2032": "'",
        "\u201c": '"', "\u201d": '"', "\u201e": '"', "\u00ab": '"', "\u00bb": '"',
        "\u2010": "-", "\u2011": "-", "\u2012": "-", "\u2013": "-", "\u2014": "-", "\u2212": "-",
        "\u00ad": None, "\u200b": None, "\u2060": None, "\ufeff": None,
    }
)  # fmt: skip
_AROUND = " \t\n\"'.,;:!?\u2026()[]*_`"


@dataclass(frozen=True, slots=True)
class Quoted:
    """A text as quotations are looked for in it."""

    text: str
    folded: str
    places: tuple[int, ...]
    """For every character of ``folded`` the place in ``text`` that it came from."""

    @classmethod
    def of(cls, text: str) -> Quoted:
        """Fold a text, and remember where everything came from."""
        text = unicodedata.normalize("NFC", text)
        folded: list[str] = []
        places: list[int] = []
        space = True
        for place, char in enumerate(text):
            for each in _fold(char):
                if each.isspace():
                    if space:
                        continue
                    each = " "  # noqa: PLW2901 - whatever kind of space it was
                space = each == " "
                folded.append(each)
                places.append(place)
        return cls(text, "".join(folded), tuple(places))

    def find(self, quotation: str) -> str | None:
        """The whole sentences that a quotation stands in; ``None`` if it does not occur."""
        quotation = unicodedata.normalize("NFC", quotation[:_LONGEST])
        wanted = " ".join("".join(map(_fold, quotation)).split()).strip(_AROUND)
        whole = self.folded.strip(_AROUND)
        if not wanted or (len(wanted) < _MIN_CHARS and wanted != whole):
            return None
        begin = self._whole_words(wanted)
        if begin is None:
            return None
        return self._sentences(self.places[begin], self.places[begin + len(wanted) - 1])

    def _whole_words(self, wanted: str) -> int | None:
        begin = self.folded.find(wanted)
        while begin >= 0:
            end = begin + len(wanted)
            before = self.folded[begin - 1 : begin]
            after = self.folded[end : end + 1]
            cut = (before.isalnum() and wanted[0].isalnum() and before.isascii()) or (
                after.isalnum() and wanted[-1].isalnum() and after.isascii()
            )
            if not cut:
                return begin
            begin = self.folded.find(wanted, begin + 1)
        return None

    def _sentences(self, first: int, last: int) -> str:
        starts = [*sentence_starts(self.text), len(self.text)]
        begin = max(start for start in starts if start <= first)
        end = min(start for start in starts if start > last)
        return clip(" ".join(self.text[begin:end].split()), MAX_QUOTE)


def _fold(char: str) -> str:
    if char.isascii():
        return char.lower()
    return unicodedata.normalize("NFKC", char.translate(_SAME)).casefold().translate(_SAME)


_UNSAID = re.compile(r"\s*(?:none|null|n/?a|-)?\s*", re.IGNORECASE)


def said(quotation: str | None) -> bool:
    """Whether a judge quotes anything at all."""
    return quotation is not None and _UNSAID.fullmatch(quotation) is None


class Material:
    """The texts of one generation that a judge may quote from, folded when they are first needed.

    Args:
        generation: What is judged.
        limits: How much of it the judge was shown: nothing else can be quoted.
    """

    __slots__ = ("_folded", "_generation", "_limits")

    def __init__(self, generation: Generation, limits: Limits) -> None:
        self._generation = generation
        self._limits = limits
        self._folded: dict[str, Quoted] = {}

    def in_answer(self, quotation: str) -> str | None:
        """The sentence of the answer that is quoted."""
        return self._in(self._generation.output, self._limits.answer).find(quotation)

    def in_question(self, quotation: str) -> str | None:
        """The sentence of the question, or of what a user said before, that is quoted."""
        generation = self._generation
        texts: Iterable[str] = (
            m.content for m in reversed(generation.messages) if m.role == "user"
        )
        if generation.question is not None:
            texts = (generation.question, *texts)
        found = (self._in(text, self._limits.question).find(quotation) for text in texts)
        return next((each for each in found if each is not None), None)

    def evidence(self, quotation: str) -> Evidence | None:
        """The sentence of a passage that is quoted; ``None`` if no passage says so."""
        for passage in self._generation.evidence or ():
            found = self._in(passage.text, self._limits.passages).find(quotation)
            if found is not None:
                return _evidence(passage, found)
        return None

    def _in(self, text: str, limit: int) -> Quoted:
        folded = self._folded.get(text)
        if folded is None:
            folded = self._folded[text] = Quoted.of(_shown(text, limit))
        return folded


def _shown(text: str, limit: int) -> str:
    """The beginning and the end of a text that is too long to be shown whole."""
    if len(text) <= limit:
        return text
    tail = limit // 2
    return f"{text[: limit - tail]}\n\n{text[len(text) - tail :]}"


def _evidence(passage: Passage, sentence: str) -> Evidence:
    return Evidence(sentence, passage_id=passage.id, version=passage.version)
