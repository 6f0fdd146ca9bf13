"""References replaced by what they point at, where that is certain; where it is not, it is said."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from aucert_verifiers.grounding.quantities.lexicon import words


_CONTRACTIONS: Final = (
    (re.compile(r"\b(you|we|they)['\u2019]re\b", re.IGNORECASE), r"\1 are"),
    (re.compile(r"\b(i|you|we|they|it|he|she)['\u2019]ll\b", re.IGNORECASE), r"\1 will"),
    (re.compile(r"\b(i|you|we|they)['\u2019]ve\b", re.IGNORECASE), r"\1 have"),
    (re.compile(r"\b(i)['\u2019]m\b", re.IGNORECASE), r"\1 am"),
)
_WINDOW: Final = re.compile(
    r"\b(?:the|that|this)\s+(?:same\s+)?(window|deadline|period|timeframe|time frame|time limit|cut-?off)\b"
    r"(?!\s+(?:for|to|of|in which|within)\b)",
    re.IGNORECASE,
)
_SPAN: Final = re.compile(
    r"\b(?:\d+|[a-z]+(?:-[a-z]+)?)[\s-]+(?:business |working |calendar )?"
    r"(?:second|minute|hour|day|week|month|year)s?\b",
    re.IGNORECASE,
)
_PURPOSE: Final = re.compile(
    r"\bto\s+((?!the\b|a\b|an\b|be\b|your\b|our\b|\d)[a-z]+(?:\s+(?!within\b|after\b|before\b|from\b|by\b|in\b|so\b|if\b)[\w'-]+){0,4})",
    re.IGNORECASE,
)
_MUST: Final = re.compile(
    r"^\s*([\w' -]{3,60}?)\s+(?:must|has to|have to|needs? to|should|can|may)\s+be\s+([a-z]+)\b",
    re.IGNORECASE,
)
_FOR_TO_BE: Final = re.compile(r"\bfor\s+((?:[\w'-]+\s+){1,4}?)to\s+be\s+([a-z]+)\b", re.IGNORECASE)
_PRONOUN: Final = re.compile(
    r"\b(it|they|them|he|she|him)\b(?!['\u2019]s\b)|\b(it)['\u2019]s\b", re.IGNORECASE
)
_DUMMY: Final = re.compile(
    r"\bit(?:['\u2019]s| is| was| will| would| can| could| may| might)?\s+(?:(?:be|take|takes|took|not|always|usually|also)\s+)*"
    r"(?:possible|important|necessary|best|clear|likely|common|easy|hard|free|fine|up to|looks|seems|appears|"
    r"depends|rains?|up to you|\d|(?:about|around|up to|at least)\b|(?:one|two|three|four|five|six|seven)\b)",
    re.IGNORECASE,
)
_NOUN: Final = re.compile(
    r"\b((?:the|your|our|a|an|this|that|these|those|their|its)\s+(?:[a-z'-]+\s+){0,2}?[a-z'-]+)"
    r"(?=\s+(?:is|are|was|were|has|have|can|cannot|will|would|may|must|should|does|do|takes?|costs?|"
    r"arrives?|arrived|includes?|expires?|needs?|lasts?|within|after|before|by|for|from|to|in|on|at|with|of|"
    r"and|or|but|that|which|until|when|if|sent|you|we)\b|[\s,.;:!?]*$)",
    re.IGNORECASE,
)
_BARE_SUBJECT: Final = re.compile(
    r"^\s*((?:[A-Z][\w'-]*|[a-z]+)(?:\s+[\w'-]+){0,3}?)\s+"
    r"(?:is|are|was|were|has|have|can|cannot|will|would|may|must|should|does|do|takes?|costs?|arrives?|arrived|"
    r"includes?|expires?|needs?|lasts?)\b"
)
_NO_SUBJECT: Final = words(
    "you we i it they he she there this that these those please if when once who what yes no our your"
)
_MASS: Final = frozenset({"this", "these"})
_LONGEST: Final = 600


@dataclass(slots=True)
class References:
    """What has been said so far that a later sentence may point at."""

    window: str | None = None
    """What the one period of time mentioned so far is for, such as ``to report damage``."""
    spans: int = 0
    """How many different periods were mentioned: with two, "the window" is one of them."""
    nouns: tuple[str, ...] = ()
    """Noun phrases of the sentence before, each of which a pronoun may mean."""
    _seen: set[str] = field(default_factory=set)

    def note(self, text: str) -> None:
        """Take in a claim, for those that follow."""
        text = text[:_LONGEST]
        for span in _SPAN.findall(text):
            folded = span.lower()
            if folded in self._seen:
                continue
            self._seen.add(folded)
            self.spans += 1
            self.window = _purpose(text) if self.spans == 1 else None
        nouns = _nouns(text)
        if nouns:
            self.nouns = nouns

    def resolve(self, text: str) -> tuple[str, tuple[str, ...]]:
        """A claim with its references replaced, and those that could not be."""
        for pattern, full in _CONTRACTIONS:
            text = pattern.sub(full, text)
        if len(text) > _LONGEST:
            return text, ()
        open_ones: list[str] = []
        window = _WINDOW.search(text)
        if window is not None and not _SPAN.search(text):
            if self.window:
                text = f"{text[: window.end()]} {self.window}{text[window.end() :]}"
            else:
                open_ones.append(window.group().lower())
        text, more = self._pronoun(text)
        return text, (*open_ones, *more)

    def _pronoun(self, text: str) -> tuple[str, tuple[str, ...]]:
        found = _PRONOUN.search(text)
        if found is None or _DUMMY.search(text, max(0, found.start())):
            return text, ()
        word = (found.group(1) or found.group(2)).lower()
        if _nouns(text[: found.start()]):
            return text, ()  # it points at something in the claim itself
        wanted = [noun for noun in self.nouns if _is_plural(noun) == (word in ("they", "them"))]
        if word in ("he", "she", "him") or len(wanted) != 1:
            return text, (word,)
        noun = wanted[0]
        noun = re.sub(r"^(?:a|an)\s+", "the ", noun, flags=re.IGNORECASE)
        if found.start() == 0:
            noun = noun[:1].upper() + noun[1:]
        elif noun.split()[0].lower() in ("the", "your", "our", "this", "that", "these", "those"):
            noun = noun[:1].lower() + noun[1:]
        be = " is" if found.group(2) else ""
        return f"{text[: found.start()]}{noun}{be}{text[found.end() :]}", ()


def _purpose(text: str) -> str | None:
    """What a period of time is for: "to report damage", "for refunds"."""
    found = _PURPOSE.search(text)
    if found is not None:
        return f"to {found.group(1)}"
    must = _FOR_TO_BE.search(text) or _MUST.match(text)
    if must is not None:
        what = must.group(1).strip()
        return f"in which {what[:1].lower()}{what[1:]} can be {must.group(2)}"
    return None


def _nouns(text: str) -> tuple[str, ...]:
    found = [match.group(1) for match in _NOUN.finditer(text)]
    bare = _BARE_SUBJECT.match(text)
    if bare is not None:
        first = bare.group(1)
        opening = first.split(maxsplit=1)[0].lower()
        if opening not in _NO_SUBJECT and not any(first.lower() in n.lower() for n in found):
            found.insert(0, first)
    return tuple(dict.fromkeys(found))


def _is_plural(noun: str) -> bool:
    said = noun.lower().split()
    first, last = said[0], said[-1]
    if first in ("these", "those", "all"):
        return True
    return last.endswith("s") and not last.endswith(("ss", "us", "is"))
