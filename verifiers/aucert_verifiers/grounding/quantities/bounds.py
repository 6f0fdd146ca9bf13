"""What bounds a number: "at least", "no later than", "or more"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from aucert_verifiers.grounding.quantities.quantity import Comparator
from aucert_verifiers.grounding.quantities.tokens import Token


@dataclass(frozen=True, slots=True)
class Bound:
    """A comparator, and the tokens it takes."""

    comparator: Comparator
    start: int
    end: int
    denial: bool = False


_EXACTLY: Final = Comparator.EXACTLY
_LEAST: Final = Comparator.AT_LEAST
_MOST: Final = Comparator.AT_MOST
_MORE: Final = Comparator.MORE_THAN
_LESS: Final = Comparator.LESS_THAN
_ABOUT: Final = Comparator.ABOUT


def _phrases(table: dict[Comparator, str]) -> dict[str, list[tuple[tuple[str, ...], Comparator]]]:
    """The phrases by their last word, the longest first."""
    found: dict[str, list[tuple[tuple[str, ...], Comparator]]] = {}
    for comparator, lines in table.items():
        for line in lines.split(";"):
            words = tuple(line.split())
            found.setdefault(words[-1], []).append((words, comparator))
    for each in found.values():
        each.sort(key=lambda phrase: -len(phrase[0]))
    return found


_BEFORE: Final = _phrases(
    {
        _MOST: "within;inside;up to;at most;no more than;not more than;no later than;not later than;"
        "maximum;maximum of;a maximum of;max;not exceed;not exceeding;exceed no;no longer than;"
        "not longer than;as much as;as many as;limited to;capped at;for up to;no older than;"
        "not over;not above;no greater than;not to exceed;no higher than;not higher than;"
        "in the first;during the first;for the first;within the first;limit of;cap of;limit is;"
        "maximum is;never exceed;never exceeds;does not exceed;in no more than;as late as;"
        "in under;the latest;at the latest",
        _LEAST: "at least;no less than;not less than;no fewer than;not fewer than;minimum;minimum of;"
        "a minimum of;min;starting at;starting from;beginning at;no earlier than;not earlier than;"
        "as early as;not under;not below;minimum is;no younger than;no shorter than;from at least;"
        "no sooner than;not before;upwards of",
        _MORE: "more than;over;above;exceeding;exceeds;exceed;older than;longer than;greater than;"
        "beyond;past;higher than;larger than;heavier than;bigger than;later than;upward of;in excess of",
        _LESS: "less than;under;below;fewer than;younger than;shorter than;smaller than;lower than;"
        "lighter than;cheaper than;earlier than;sooner than",
        _ABOUT: "about;around;approximately;roughly;approx;nearly;almost;~;circa;some;an estimated",
        _EXACTLY: "exactly;precisely",
    }
)
_BEFORE_MOMENT: Final = _phrases(
    {
        _MOST: "by;until;till;through;up until;to;no later than;not later than;not after;at the latest by",
        _LEAST: "from;since;as of;starting;starting from;starting on;beginning;effective;not before;"
        "no earlier than;not earlier than;on or after;from as early as;onwards from",
        _LESS: "before;prior to;earlier than;ahead of",
        _MORE: "after;later than;past;following",
    }
)
_AFTER: Final = (
    (("or", "more"), _LEAST), (("or", "longer"), _LEAST), (("or", "above"), _LEAST),
    (("or", "over"), _LEAST), (("or", "older"), _LEAST), (("or", "higher"), _LEAST),
    (("or", "later"), _LEAST), (("and", "above"), _LEAST), (("and", "over"), _LEAST),
    (("and", "up"), _LEAST), (("and", "older"), _LEAST), (("or", "greater"), _LEAST),
    (("or", "better"), _LEAST), (("or", "heavier"), _LEAST), (("minimum",), _LEAST),
    (("at", "least"), _LEAST), (("at", "a", "minimum"), _LEAST), (("at", "the", "earliest"), _LEAST),
    (("or", "less"), _MOST), (("or", "fewer"), _MOST), (("or", "under"), _MOST),
    (("or", "below"), _MOST), (("or", "younger"), _MOST), (("or", "sooner"), _MOST),
    (("or", "earlier"), _MOST), (("or", "shorter"), _MOST), (("or", "lower"), _MOST),
    (("and", "under"), _MOST), (("and", "below"), _MOST), (("maximum",), _MOST),
    (("max",), _MOST), (("at", "most"), _MOST), (("at", "the", "latest"), _MOST),
    (("at", "a", "maximum"), _MOST), (("tops",), _MOST), (("not", "more"), _MOST), (("no", "more"), _MOST),
    (("not", "less"), _LEAST), (("no", "less"), _LEAST), (("not", "longer"), _MOST),
    (("not", "later"), _MOST), (("not", "earlier"), _LEAST), (("+",), _LEAST), (("onward",), _LEAST),
    (("onwards",), _LEAST),
)  # fmt: skip
_FILLERS: Final = frozenset(
    {"a", "an", "the", "of", "be", "is", "are", "just", "only", "full", "it", "="}
)
_NOT: Final = frozenset({"not", "never", "cannot", "nor", "neither", "nobody", "none"})
_SIGNS: Final = {
    "<": _LESS, ">": _MORE, "\u2264": _MOST, "\u2265": _LEAST, "~": _ABOUT, "\u2248": _ABOUT
}  # fmt: skip
_DENIED: Final = {_MORE: _MOST, _LESS: _LEAST}


def bound_before(
    items: Sequence[Token], first: int, floor: int, *, moment: bool, duration: bool = False
) -> Bound:
    """The comparator that ends right before a number.

    Args:
        items: The tokens.
        first: The number's first token.
        floor: No token before this one belongs to it.
        moment: It is a date or a time, which "by" and "from" bound.
        duration: It is a length of time: "after" may bound it.
    """
    end = first
    skipped = 0
    while end > floor and skipped <= 2:
        sign = _SIGNS.get(items[end - 1].text)
        if sign is not None:
            return Bound(sign, end - 1, first)
        found = (moment and _match(_BEFORE_MOMENT, items, end, floor)) or _match(
            _BEFORE, items, end, floor
        )
        if found:
            comparator, start = found
            return _denied(items, comparator, start, first, floor, duration=duration)
        if items[end - 1].text == "after" and not moment:
            return _denied(items, _MORE, end - 1, first, floor, duration=duration)
        if items[end - 1].text not in _FILLERS:
            break
        end -= 1
        skipped += 1
    return Bound(_EXACTLY, first, first)


def _match(
    phrases: dict[str, list[tuple[tuple[str, ...], Comparator]]],
    items: Sequence[Token],
    end: int,
    floor: int,
) -> tuple[Comparator, int] | None:
    for words, comparator in phrases.get(items[end - 1].text, ()):
        start = end - len(words)
        if start >= floor and all(
            items[start + step].text == word for step, word in enumerate(words)
        ):
            return comparator, start
    return None


def _denied(
    items: Sequence[Token],
    comparator: Comparator,
    start: int,
    end: int,
    floor: int,
    *,
    duration: bool,
) -> Bound:
    """A denial in the clause turns "more than" into "at most": cannot be returned after 30 days."""
    turned = _DENIED.get(comparator)
    if turned is None:
        return Bound(comparator, start, end)
    for at in range(start - 1, max(floor, start - 14) - 1, -1):
        if _is_break(items[at]) or items[at].text == ",":
            break
        if _denies(items, at):
            return Bound(turned, start, end, denial=True)
    if not duration or comparator is not _MORE:
        return Bound(comparator, start, end)
    for at in range(end + 1, min(len(items), end + 16)):  # after 30 days it cannot be returned
        if _is_break(items[at]) or items[at].kind == "number":
            break
        if _denies(items, at):
            return Bound(turned, start, end, denial=True)
    return Bound(comparator, start, end)


def _is_break(token: Token) -> bool:
    return token.kind == "line" or token.text in (".", ";", "!", "?")


def _denies(items: Sequence[Token], at: int) -> bool:
    """A word that denies the verb. "No" alone denies a noun: no fee for orders over $50."""
    text = items[at].text
    if text == "no":
        return at + 1 < len(items) and items[at + 1].text in ("longer", "one")
    return text in _NOT or text.endswith("n't")


def bound_after(items: Sequence[Token], at: int) -> Bound | None:
    """The comparator that follows a number; ``None`` if none does."""
    if at < len(items) and items[at].text in ("(", ",", "-", "\u2013", "\u2014"):
        at += 1
    for words, comparator in _AFTER:
        if len(items) >= at + len(words) and all(
            items[at + step].text == word for step, word in enumerate(words)
        ):
            return Bound(comparator, at, at + len(words))
    return None
