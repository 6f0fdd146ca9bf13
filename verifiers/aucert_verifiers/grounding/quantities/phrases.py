"""Within a clause: from when a time counts, what limits where a number applies, what is denied."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from aucert_verifiers.grounding.quantities.counts import IDENTIFIED
from aucert_verifiers.grounding.quantities.lexicon import words
from aucert_verifiers.grounding.quantities.numerals import _ORDINALS
from aucert_verifiers.grounding.quantities.raw import Raw
from aucert_verifiers.grounding.quantities.tokens import Token
from aucert_verifiers.grounding.quantities.words import fold, is_generic


_ANCHORS: Final = frozenset(
    {
        "of",
        "from",
        "after",
        "before",
        "since",
        "following",
        "until",
        "prior",
        "once",
        "upon",
        "when",
    }
    | {"past", "starting", "counting", "counted", "ahead"}
)


_BEFORE: Final = frozenset({"before", "prior", "ahead", "advance"})


_AFTER: Final = frozenset({"after", "from", "since", "following", "past"})
_ENDS_ANCHOR: Final = words("for to and or but if in with at on we by")
_ENDS_EVENT: Final = words("must will can may should customers you")
_RECEIVED: Final = words("receive receives received receiving")
_DELIVERED: Final = "deliv"
"""To receive something is the moment of its delivery."""
_OPENERS: Final = frozenset(
    {"after", "from", "once", "following", "upon", "before", "since", "prior"}
)


_LIMITS: Final = words("for on during if when unless under without except only outside")


_PLACES: Final = words("in at with as through via by inside against using")


_CONDITIONS: Final = _LIMITS | _PLACES


_ENDS_PHRASE: Final = words(
    "to of from is are was were be been has have had can cannot may must will would should could you we "
    "they it i and or but which that who whose do does did not after before within until since per "
    "otherwise ,"
)


_ARTICLES: Final = frozenset(
    {"a", "an", "the", "your", "our", "their", "any", "all", "its", "his", "her"}
)


_NOT: Final = words("not never cannot no nor neither without nobody none")
_DENIES_NOTHING: Final = words("only just more less later earlier longer including counting merely")
"""After "not" these bound or add: "not only", "not more than"."""


_DENIED: Final = words(
    "nonrefundable unavailable unable unlimited uncapped unrestricted unacceptable"
)


_ANCHOR_WORDS: Final = 5


@dataclass(frozen=True, slots=True)
class Clause:
    """The tokens of one number's clause, and the clause whose subject it may share."""

    first: int
    end: int
    raws: tuple[int, ...]
    shares: int | None = None


def word_at(items: Sequence[Token], at: int, taken: bytearray) -> str:
    """A token as a role's word; empty if it tells nothing, or belongs to a number."""
    token = items[at]
    if taken[at]:
        return ""
    if token.text in _ORDINALS:
        return f"#{_ORDINALS[token.text]}"
    if token.kind == "number":  # zone 2: which one, not how many
        named = at > 0 and items[at - 1].kind == "word" and items[at - 1].text not in IDENTIFIED
        return f"#{token.text}" if named else ""
    if token.kind != "word":
        return ""
    text = token.text
    cut = text.find("'")
    return fold(text if cut < 0 else text[:cut])


def anchor_of(
    items: Sequence[Token], raw: Raw, clause: Clause, taken: bytearray
) -> tuple[frozenset[str], bool | None]:
    """From when a time counts, and whether it lies before that."""
    at = raw.last + 1
    if at + 1 < clause.end and items[at].text == "in" and items[at + 1].text == "advance":
        return frozenset(), True
    before: bool | None = None
    while at < clause.end and items[at].text in _ANCHORS:
        if items[at].text in _BEFORE:
            before = True
        elif items[at].text in _AFTER:
            before = False
        at += 1
    if at > raw.last + 1:
        found = _phrase(items, at, clause.end, taken)
        if found or before is not None:
            return found, before
    return _opening(items, raw, clause, taken)


def _opening(
    items: Sequence[Token], raw: Raw, clause: Clause, taken: bytearray
) -> tuple[frozenset[str], bool | None]:
    """An anchor that opens the clause: "After delivery, customers get 48 hours"."""
    at = clause.first
    while at < clause.end and items[at].text in (",", "and", "but", "or"):
        at += 1
    begin = raw.bounds[0] if raw.bounds[1] else raw.first
    if at >= begin or items[at].text not in _OPENERS:
        return frozenset(), None
    found = _phrase(items, at + 1, raw.first, taken)
    return found, (items[at].text in ("before", "prior") if found else None)


def _phrase(items: Sequence[Token], at: int, end: int, taken: bytearray) -> frozenset[str]:
    """The folded words of a noun phrase, or of a short clause such as "the parcel arrives"."""
    found: set[str] = set()
    for step in range(at, min(end, at + _ANCHOR_WORDS + 2)):
        token = items[step]
        if token.kind != "word":
            break
        if token.text in _ENDS_ANCHOR:
            break
        if found and token.text in _ENDS_EVENT:
            break
        word = _DELIVERED if token.text in _RECEIVED else word_at(items, step, taken)
        if word:
            found.add(word)
            if len(found) >= 3:
                break
    return frozenset(found)


def conditions_of(
    items: Sequence[Token], clause: Clause, taken: bytearray, *, deadline: bool
) -> frozenset[str]:
    """Words of phrases that limit where the number applies: "on weekends", "for suites"."""
    found: set[str] = set()
    # A deadline holds however it is met: "by email", "with a photo".
    openers = _LIMITS if deadline else _CONDITIONS
    at = clause.first
    while at < clause.end:
        opener = items[at].text
        if opener not in openers or taken[at]:
            at += 1
            continue
        following = items[at + 1].text if at + 1 < clause.end else ""
        purpose = opener == "for" and deadline and following in _ARTICLES
        at += 1
        while at < clause.end and items[at].text not in _ENDS_PHRASE and not taken[at]:
            if items[at].text in _CONDITIONS:
                break
            word = word_at(items, at, taken)
            if word and not purpose and not is_generic(word):
                found.add(word)
            at += 1
    return frozenset(found)


def is_negated(items: Sequence[Token], clause: Clause, taken: bytearray) -> bool:
    """Whether the clause denies what it says. "No later than" is a bound, and denies nothing."""
    denials = 0
    for at in range(clause.first, clause.end):
        text = items[at].text
        if taken[at] or items[at].kind != "word":
            continue
        following = items[at + 1].text if at + 1 < clause.end else ""
        if following in _DENIES_NOTHING:
            continue
        if text in _NOT or text.endswith("n't") or text in _DENIED:
            denials += 1
    return denials % 2 == 1  # "not without" denies nothing
