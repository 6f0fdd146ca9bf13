"""A text as words, numbers and marks, with where each stands."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Final

from aucert_verifiers.grounding.quantities.words import PARTICLES, compound
from aucert_verifiers.rules.numbers import _NUMBER
from aucert_verifiers.rules.seen import visible
from aucert_verifiers.rules.text import ascii_digits


MAX_CHARS: Final = 20_000
"""Characters of one text that are read. A sentence has a few hundred."""

_LETTER: Final = "letter "
"""Stands before a single letter that names something, so that no word is taken for it."""

# Linear: every branch consumes a run of characters possessively.
_TOKEN: Final = re.compile(
    r"(?P<url>(?:https?://|www\.)\S++)"  # its numbers count nothing
    rf"|(?P<number>{_NUMBER.pattern})"
    r"|(?P<word>[^\W\d_]++(?:['\u2019][^\W\d_]++)*+)"
    r"|(?P<mark>[^\w\s]|_)"
    r"|(?P<line>\n)"
)


_UNSEEN: Final = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Me", "Mn", "Lo"})
"""Categories of characters that may be left out of what is shown."""


@dataclass(frozen=True, slots=True)
class Token:
    """A word in lower case, a number as written in ASCII digits, or one mark."""

    text: str
    start: int
    end: int
    kind: str
    """``number``, ``word``, ``mark``, ``line`` or ``url``."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of a text; positions are those of the text as it was given."""

    text: str
    items: tuple[Token, ...]
    read: int
    """Characters of the text that were read."""

    def quote(self, first: int, last: int) -> str:
        """What the text says from one token to another, both included."""
        return self.text[self.items[first].start : self.items[last].end]


def tokens_of(text: str) -> Tokens:
    """Read a text. What a reader does not see in it is left out."""
    cut = text[:MAX_CHARS]
    shown = visible(cut)
    places = None if shown == cut else _places(cut, shown)
    items: list[Token] = []
    for match in _TOKEN.finditer(shown):
        kind = match.lastgroup or "mark"
        said = match.group()
        start, end = match.span()
        if kind == "word":
            if _is_name(said, items):
                said = f"{_LETTER}{said}"
            said = said.lower().replace("\u2019", "'")
            joined = _joined(items, said, start)
            if joined is not None:
                items[-joined[1] :] = []
                said, start = joined[0], joined[2]
        elif kind == "number":
            said = ascii_digits(said)
        items.append(Token(said, start, end, kind))
    if places is not None:
        items = [
            Token(t.text, places[t.start], max(places[t.end - 1] + 1, places[t.start]), t.kind)
            for t in items
        ]
    return Tokens(text, tuple(items), len(cut))


def _is_name(word: str, before: list[Token]) -> bool:
    """A capital that says which one: pier A, plan B."""
    return (
        len(word) == 1
        and word.isascii()
        and word.isupper()
        and word != "I"
        and bool(before)
        and before[-1].kind == "word"
    )


def _joined(items: list[Token], word: str, start: int) -> tuple[str, int, int] | None:
    """The one meaning of "check" and "in" or of "check-in", how many tokens it takes, its start."""
    if len(items) > 1 and items[-1].text == "-" and items[-1].end == start:
        first = items[-2]
        if first.kind == "word" and len(first.text) == 1 and first.end == items[-1].start:
            return first.text + word, 2, first.start  # e-bike
    if not items or word not in PARTICLES:
        return None
    before, taken = items[-1], 1
    if before.text == "-" and before.end == start and len(items) > 1:
        before, taken = items[-2], 2
    if before.kind != "word":
        return None
    found = compound(before.text, word)
    return None if found is None else (found, taken, before.start)


def _places(text: str, shown: str) -> list[int]:
    """Where each character of the shown text stands in the text: in order, and never outside.

    A character that is shown as others ("½" as "0.5") is where they all are.
    """
    places: list[int] = []
    at, last = 0, len(text) - 1
    for char in shown:
        while at < last and text[at] != char and unicodedata.category(text[at]) in _UNSEEN:
            at += 1
        if text[at] == char:
            places.append(at)
            at = min(at + 1, last)
            continue
        if at < last and text[at + 1] == char and not text[at].isascii():
            at += 1  # what stood for the character before it is done with
        places.append(at)
    return places
