"""A sentence with its quantities and their roles."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from aucert_verifiers.grounding.quantities.quantity import (
    Comparator,
    Dimension,
    Quantity,
)
from aucert_verifiers.grounding.quantities.raw import Raw
from aucert_verifiers.grounding.quantities.reading import read
from aucert_verifiers.grounding.quantities.roles import roles_of
from aucert_verifiers.grounding.quantities.tokens import Tokens, tokens_of
from aucert_verifiers.grounding.quantities.words import fold, is_generic


_CACHED_CHARS: Final = 2_000


_TOTALS: Final = frozenset({"total", "altogether", "combined", "together", "overall", "sum"})


_IN_TURN: Final = "respectively"


# A claim that applies a rule to a case has the case's numbers, not the rule's.
_CASES: Final = (
    "it has been", "has passed", "have passed", " ago", "still in time", "too late", "in time",
    "having ", "so far", "already ", "you have used", "is still", "are still",
    "over the limit", "within the limit", "within the deadline", "would be over", "would be within",
    "past the deadline", "missed the deadline",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reading:
    """A sentence and what it says how much of."""

    text: str
    quantities: tuple[Quantity, ...]
    covered: float = 1.0
    """The share of the text's characters that were read, in [0, 1]."""
    totals: bool = False
    """It adds up, so that its numbers are not those of a single thing."""
    in_turn: bool = False
    """"Respectively": which number is about what is not read."""
    is_case: bool = False
    """It applies a rule to somebody's case, as in "three weeks after delivery you are in time"."""
    words: frozenset[str] = frozenset()
    """All its folded words that tell a subject."""


def _analyse(text: str, context: str) -> Reading:
    tokens = tokens_of(text)
    words = {token.text for token in tokens.items if token.kind == "word"}
    raws = read(tokens)
    folded = " ".join(token.text for token in tokens.items) if raws else ""
    heading = folded_words(context) if context and raws else frozenset()
    roles = roles_of(tokens.items, raws, heading)
    found = tuple(_quantity(tokens, raw, role) for raw, role in zip(raws, roles, strict=True))
    return Reading(
        text,
        found,
        covered=tokens.read / len(text) if text else 1.0,
        totals=not _TOTALS.isdisjoint(words),
        in_turn=_IN_TURN in words,
        is_case=any(each in folded for each in _CASES),
        words=frozenset(w for w in map(fold, words) if w and not is_generic(w))
        if raws
        else frozenset(),
    )


def _quantity(tokens: Tokens, raw: Raw, role: object) -> Quantity:
    first, last = tokens.items[raw.first], tokens.items[raw.last]
    return Quantity(
        tokens.quote(raw.first, raw.last),
        first.start,
        last.end,
        dimension=raw.dimension,
        low=raw.low,
        high=raw.high,
        unit=raw.unit,
        per=raw.per,
        comparator=_comparator(tokens, raw),
        spread=raw.spread,
        uncertain=raw.uncertain,
        role=role,  # type: ignore[arg-type]
    )


_ENDS: Final = frozenset({"close", "closes", "closed", "closing", "shut", "shuts", "end", "ends"})


_BEGINS: Final = frozenset({"open", "opens", "opening", "start", "starts", "begin", "begins"})


def _comparator(tokens: Tokens, raw: Raw) -> Comparator:
    """How a number is bounded. "Closes at 5" is "until 5", and "opens at 9" is "from 9"."""
    if raw.dimension is Dimension.TIME and raw.low == raw.high:
        before = {token.text for token in tokens.items[max(0, raw.first - 4) : raw.first]}
        if raw.comparator is Comparator.EXACTLY:
            if before & _ENDS:
                return Comparator.AT_MOST
            if before & _BEGINS:
                return Comparator.AT_LEAST
    return raw.comparator


_analyse_cached = lru_cache(maxsize=4_096)(_analyse)


def analyse(text: str, context: str = "") -> Reading:
    """Read the quantities of a sentence; the same sentences come back turn after turn.

    Args:
        text: One sentence, or a few.
        context: The heading it stands under. It says what the sentence is about where the sentence
            does not.

    Raises:
        MissingExtraError: the extra ``grounding`` is not installed.
    """
    if len(text) + len(context) > _CACHED_CHARS:
        return _analyse(text, context)
    return _analyse_cached(text, context)


def quantities(text: str) -> tuple[Quantity, ...]:
    """Every quantity of a text, in order. It never raises for what a text holds.

    Raises:
        MissingExtraError: the extra ``grounding`` is not installed.
    """
    return analyse(text).quantities


@lru_cache(maxsize=4_096)
def folded_words(text: str) -> frozenset[str]:
    """The folded words of a text that tell something."""
    found = (fold(t.text.split("'")[0]) for t in tokens_of(text).items if t.kind == "word")
    return frozenset(word for word in found if word)
