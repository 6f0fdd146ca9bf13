"""What each number of a sentence is about: the words of its clause, its conditions, its anchor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Final

from aucert_verifiers.grounding.quantities.phrases import (
    Clause,
    anchor_of,
    conditions_of,
    is_negated,
    word_at,
)
from aucert_verifiers.grounding.quantities.quantity import Dimension, Role
from aucert_verifiers.grounding.quantities.raw import Raw
from aucert_verifiers.grounding.quantities.tokens import Token
from aucert_verifiers.grounding.quantities.words import fold, is_generic


_STOPS: Final = frozenset(".;!?")


_JOINS: Final = frozenset(
    {"and", "but", "while", "whereas", "or", "though", "although", "yet", "then"}
    | {"that", "which", "who"}
)


_HOURS: Final = frozenset({"open", "close", "end", "begin"})


def roles_of(items: Sequence[Token], raws: Sequence[Raw], context: frozenset[str]) -> list[Role]:
    """The role of every quantity.

    Args:
        items: The tokens of the sentence.
        raws: Its quantities, in order.
        context: Folded words of the heading the sentence stands under. They are taken where the
            clause names no subject of its own.
    """
    if not raws:
        return []
    taken = bytearray(len(items))
    for raw in raws:
        if raw.dimension is Dimension.ORDINAL:
            continue  # "the second late payment" says which one, also for other numbers
        for at in range(raw.bounds[0] if raw.bounds[1] else raw.first, raw.last + 1):
            taken[at] = 1
    clauses = _clauses(items, raws, taken)
    roles: list[Role] = []  # one for each number, clause after clause
    heads: list[frozenset[str]] = []
    for clause in clauses:
        head, own = _own_words(items, raws, clause, taken)
        shared: frozenset[str] = frozenset()
        if clause.shares is not None and not any(not is_generic(word) for word in head):
            shared = heads[clause.shares]
        heads.append(head | shared if shared else head)
        deadline = conditions_of(items, clause, taken, deadline=True)
        known = _Known(
            items,
            clause,
            taken,
            own | shared,
            context,
            deadline=deadline,
            conditions=conditions_of(items, clause, taken, deadline=False),
            negated=is_negated(items, clause, taken),
        )
        roles.extend(_role(known, raws[at]) for at in clause.raws)
    return roles


def _clauses(items: Sequence[Token], raws: Sequence[Raw], taken: bytearray) -> list[Clause]:
    """Cut a sentence so that numbers that are about different things stand apart."""
    clauses: list[Clause] = []
    first, current = 0, [0]
    shares: int | None = None
    for number in range(1, len(raws)):
        gap = range(raws[number - 1].last + 1, raws[number].first)
        cut, hard = _cut(items, gap, taken)
        if cut is None:
            current.append(number)
            continue
        clauses.append(Clause(first, cut, tuple(current), shares))
        shares = None if hard else len(clauses) - 1
        first, current = cut, [number]
    end = len(items)
    clauses.append(Clause(first, end, tuple(current), shares))
    return [_trimmed(items, raws, clause) for clause in clauses]


def _cut(items: Sequence[Token], gap: range, taken: bytearray) -> tuple[int | None, bool]:
    """Where one clause ends between two numbers, and whether a new sentence begins there."""
    soft: int | None = None
    for at in gap:
        token = items[at]
        if token.text in _STOPS or token.kind == "line":
            return at + 1, True
        if not taken[at] and (
            token.text in _JOINS or token.text in (",", ":", "|", "/", "\u2013", "\u2014")
        ):
            soft = at + 1 if soft is None or token.text in _JOINS else soft
    return soft, False


def _trimmed(items: Sequence[Token], raws: Sequence[Raw], clause: Clause) -> Clause:
    """Without other sentences of the same text, before the first number and after the last."""
    first, end = clause.first, clause.end
    for at in range(raws[clause.raws[0]].first - 1, first - 1, -1):
        if items[at].text in ".;!?" and items[at].kind == "mark":
            first = at + 1
            break
    for at in range(raws[clause.raws[-1]].last + 1, end):
        if items[at].text in ".;!?" and items[at].kind == "mark":
            end = at
            break
    return Clause(first, end, clause.raws, clause.shares)


def _own_words(
    items: Sequence[Token], raws: Sequence[Raw], clause: Clause, taken: bytearray
) -> tuple[frozenset[str], frozenset[str]]:
    """The folded words before the first number of a clause, and all of them."""
    head: set[str] = set()
    own: set[str] = set()
    begin = raws[clause.raws[0]].first
    for at in range(clause.first, clause.end):
        word = word_at(items, at, taken)
        if word:
            own.add(word)
            if at < begin:
                head.add(word)
    return frozenset(head), frozenset(own)


@dataclass(frozen=True, slots=True)
class _Known:
    """What the numbers of one clause have in common."""

    items: Sequence[Token]
    clause: Clause
    taken: bytearray
    own: frozenset[str]
    """The folded words of the clause, with the subject it shares."""
    context: frozenset[str]
    _: KW_ONLY
    deadline: frozenset[str]
    """What limits a time."""
    conditions: frozenset[str]
    """What limits any other number."""
    negated: bool


def _role(known: _Known, raw: Raw) -> Role:
    items, clause, taken = known.items, known.clause, known.taken
    anchor: frozenset[str] = frozenset()
    before: bool | None = None
    if raw.dimension is Dimension.DURATION:
        anchor, before = anchor_of(items, raw, clause, taken)
    words = frozenset(word for word in known.own if not is_generic(word))
    generic = known.own - words
    if raw.dimension is Dimension.TIME:  # the comparator says which end of the day it is
        words, generic = words - _HOURS, generic - _HOURS
    if not words - anchor:
        words |= frozenset(word for word in known.context if not is_generic(word))
    words |= _noun(items, raw, clause)
    return Role(
        words=(words - anchor) or words,
        generic=generic,
        conditions=known.deadline if raw.dimension is Dimension.DURATION else known.conditions,
        anchor=anchor,
        before=before,
        negated=not raw.denial and known.negated,
    )


def _noun(items: Sequence[Token], raw: Raw, clause: Clause) -> frozenset[str]:
    """Adjectives within what is counted: the "active" of "10 active projects"."""
    if raw.named < 0:
        return frozenset()
    found = set()
    for at in range(raw.named + 1, min(raw.last, clause.end)):
        if items[at].kind == "word":
            word = fold(items[at].text)
            if word and word != raw.unit and not is_generic(word):
                found.add(word)
    return frozenset(found)
