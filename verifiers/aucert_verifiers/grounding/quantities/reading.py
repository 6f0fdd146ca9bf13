"""Every quantity of a text, with its unit and how it is bounded. Roles are put on by `roles`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from aucert_verifiers.grounding.quantities.bounds import bound_after, bound_before
from aucert_verifiers.grounding.quantities.lexicon import words
from aucert_verifiers.grounding.quantities.measured import quantity_at
from aucert_verifiers.grounding.quantities.numerals import numeral_at
from aucert_verifiers.grounding.quantities.quantity import Comparator, Dimension
from aucert_verifiers.grounding.quantities.raw import Raw, spread
from aucert_verifiers.grounding.quantities.tokens import Token, Tokens


MAX_QUANTITIES: Final = 200
"""Quantities of one text that are read. A sentence has a few; a table row a dozen."""


_DASHES: Final = frozenset("-\u2010\u2011\u2012\u2013\u2014\u2212~\uff5e\u301c")


_CHANGED: Final = words(
    "raised raise raises lowered lower lowers increased increase increases reduced reduce reduces moved "
    "moves move changed changes change extended extends extend cut shortened dropped grew rose"
)


def read(tokens: Tokens) -> list[Raw]:
    """The quantities of a text, in order. Linear in the text."""
    items = tokens.items
    found: list[Raw] = []
    index = 0
    while index < len(items) and len(found) < MAX_QUANTITIES:
        raw = quantity_at(items, index)
        if raw is None:
            index += 1
            continue
        if _is_chain(items, raw):  # 24/7, +1 555-0100
            index = _after_chain(items, raw.last + 1)
            continue
        raw, index = _range(items, raw)
        if found and _moved(items, found[-1], raw):  # raised from 48 hours to 72
            found.pop()
        raw = _bounded(items, raw, found[-1].last + 1 if found else 0)
        found.append(raw)
        index = max(index, raw.last + 1)
    return found


def _is_chain(items: Sequence[Token], raw: Raw) -> bool:
    """Numbers joined without spaces that are neither a rising range nor a date nor a fraction."""
    at = raw.last + 1
    if raw.dimension is not Dimension.COUNT or raw.unit or at + 1 >= len(items):
        return False
    if not (items[at].text in ("-", "/") and items[at].start == items[raw.last].end):
        return False
    if items[at + 1].kind != "number" or items[at + 1].start != items[at].end:
        return False
    if items[at].text == "/":
        return True
    other = numeral_at(items, at + 1)
    if other is None or other.value <= raw.low or items[at + 1].text.startswith("0"):
        return True
    return other.last + 2 < len(items) and _joined(items, other.last + 1)


def _joined(items: Sequence[Token], at: int) -> bool:
    """A mark between two numbers, without a space on either side."""
    return (
        at + 1 < len(items)
        and items[at].text in ("-", "/")
        and items[at].start == items[at - 1].end
        and items[at + 1].kind == "number"
        and items[at + 1].start == items[at].end
    )


def _after_chain(items: Sequence[Token], at: int) -> int:
    while _joined(items, at):
        at += 2
    return at


def _range(items: Sequence[Token], raw: Raw) -> tuple[Raw, int]:
    """Take in the other end of a range, if one follows."""
    at = raw.last + 1
    if at + 1 >= len(items):
        return raw, at
    mark = items[at].text
    before = items[raw.first - 1].text if raw.first else ""
    joins = mark in _DASHES or mark in ("to", "through", "thru", "til", "till")
    joins = joins or (mark in ("until", "and", "or") and before in ("between", "from"))
    if mark in _DASHES and items[at].start > items[raw.last].end + 1:
        joins = False
    if not joins:
        return raw, at
    other = quantity_at(items, at + 1)
    if other is None or (other.first != at + 1):
        return raw, at
    low, high = raw, other
    if (
        raw.dimension is Dimension.COUNT
        and raw.unit in ("", "to")
        and other.dimension is not Dimension.COUNT
    ):
        low = _in_unit_of(items, raw, other)
    elif other.dimension is Dimension.COUNT and not other.unit and raw.dimension is Dimension.MONEY:
        high = replace(other, dimension=raw.dimension, unit=raw.unit)
    elif raw.dimension is Dimension.COUNT and not raw.unit:
        low = replace(raw, unit=other.unit)
    if (low.dimension, low.unit) != (high.dimension, high.unit) or low.high >= high.low:
        return raw, at
    if _any_change(items, raw.first):
        return replace(high, first=at + 1), high.last + 1
    return (
        replace(
            high, first=raw.first, low=low.low, spread=max(low.spread, high.spread),
            uncertain=low.uncertain or high.uncertain,
        ),
        high.last + 1,
    )  # fmt: skip


def _in_unit_of(items: Sequence[Token], raw: Raw, other: Raw) -> Raw:
    """The "3" of "3 to 5 days" in days, as the other end says."""
    if other.dimension is Dimension.TIME:  # 9 to 5 pm
        value = raw.low * 60 if raw.low <= 12 else raw.low
        return replace(raw, dimension=other.dimension, unit=other.unit, low=value, high=value)
    written = numeral_at(items, other.first)
    if written is None or not written.value:
        number = numeral_at(items, other.first + 1) if other.first + 1 < len(items) else None
        if number is None or not number.value:
            return raw
        written = number
    factor = other.low / written.value
    value = raw.low * factor
    return replace(
        raw, dimension=other.dimension, unit=other.unit, low=value, high=value,
        spread=spread(other.unit, value),
    )  # fmt: skip


def _any_change(items: Sequence[Token], index: int) -> bool:
    if not index or items[index - 1].text != "from":
        return False
    return any(token.text in _CHANGED for token in items[max(0, index - 7) : index - 1])


def _moved(items: Sequence[Token], before: Raw, raw: Raw) -> bool:
    """Raised from one to another, where the two are no rising range: only the later one holds."""
    if before.last + 2 != raw.first or items[before.last + 1].text != "to":
        return False
    return before.dimension is raw.dimension and _any_change(items, before.first)


def _bounded(items: Sequence[Token], raw: Raw, floor: int) -> Raw:
    moment = raw.dimension in (Dimension.DATE, Dimension.TIME, Dimension.WEEKDAY)
    before = bound_before(
        items, raw.first, floor, moment=moment, duration=raw.dimension is Dimension.DURATION
    )
    after = bound_after(items, raw.last + 1)
    comparator, last = before.comparator, raw.last
    if after is not None:
        comparator, last = after.comparator, after.end - 1
    if raw.low < raw.high and comparator is Comparator.AT_LEAST and moment:
        comparator = Comparator.EXACTLY  # from 9 to 5
    return replace(
        raw,
        comparator=comparator,
        last=last,
        denial=before.denial,
        bounds=(before.start, raw.first),
    )
