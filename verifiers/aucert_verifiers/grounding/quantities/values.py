"""Whether two numbers are the same, once they are in one unit."""

from __future__ import annotations

import math
from datetime import date
from enum import StrEnum
from typing import Final

from aucert_verifiers.grounding.quantities.calendar import FULL, MONTH, MONTH_DAY
from aucert_verifiers.grounding.quantities.quantity import Comparator, Dimension, Quantity
from aucert_verifiers.grounding.quantities.units import DAY


class Same(StrEnum):
    """How two numbers stand to one another."""

    YES = "yes"
    NO = "no"
    MAYBE = "maybe"
    """They overlap, or nobody can tell: 30 days and a month, 4 days and "3 to 5 days"."""
    INCOMPARABLE = "incomparable"
    """They do not measure the same."""


DOWN: Final = frozenset({Comparator.AT_MOST, Comparator.LESS_THAN})
UP: Final = frozenset({Comparator.AT_LEAST, Comparator.MORE_THAN})
_NEAR: Final = 0.1
"""How far off "about" may be, as a share."""


def direction(quantity: Quantity) -> int:
    """-1 for an upper bound, 1 for a lower one, 0 for a number on its own."""
    return -1 if quantity.comparator in DOWN else int(quantity.comparator in UP)


def same(ours: Quantity, theirs: Quantity) -> Same:  # noqa: PLR0911 - one line for each kind of number
    """Whether two quantities are the same number, whatever they are about."""
    if ours.dimension is not theirs.dimension:
        return Same.INCOMPARABLE
    if ours.uncertain or theirs.uncertain:
        return Same.YES if ours.text.strip() == theirs.text.strip() else Same.MAYBE
    if ours.dimension is Dimension.DATE:
        return _same_date(ours, theirs)
    if ours.unit != theirs.unit:
        if ours.dimension is Dimension.DURATION:
            return _overlap(_days(ours), _days(theirs))
        if ours.dimension is Dimension.COUNT:
            return _counted(ours, theirs)
        return Same.INCOMPARABLE
    return _in_one_unit(ours, theirs)


def _counted(ours: Quantity, theirs: Quantity) -> Same:
    """Two counts whose nouns differ: comparable only where one of them names no noun of its own."""
    if not ours.unit or not theirs.unit:
        return _in_one_unit(ours, theirs)
    if theirs.unit in ours.role.words | ours.role.generic:
        return _in_one_unit(ours, theirs)
    if ours.unit in theirs.role.words | theirs.role.generic:
        return _in_one_unit(ours, theirs)
    return Same.INCOMPARABLE


def _equal(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)


def _in_one_unit(ours: Quantity, theirs: Quantity) -> Same:  # noqa: PLR0911 - the cases are told apart one by one
    if _equal(ours.low, theirs.low) and _equal(ours.high, theirs.high):
        return Same.YES
    if Comparator.ABOUT in (ours.comparator, theirs.comparator):
        near = _NEAR * max(abs(theirs.low), abs(theirs.high))
        if abs(ours.low - theirs.low) <= near and abs(ours.high - theirs.high) <= near:
            return Same.YES
    if ours.is_range == theirs.is_range:
        return Same.NO
    point, span = (theirs, ours) if ours.is_range else (ours, theirs)
    bound = direction(point)
    if (bound < 0 and _equal(point.low, span.high)) or (bound > 0 and _equal(point.low, span.low)):
        return Same.YES if point is ours else Same.MAYBE
    if bound and ours.dimension is Dimension.TIME:
        return Same.NO  # another opening or closing time
    inside = span.low <= point.low <= span.high or _equal(point.low, span.low)
    if inside or _equal(point.low, span.high):
        return Same.MAYBE
    if ours.dimension is not Dimension.TIME and (
        (bound < 0 and point.low > span.high) or (bound > 0 and point.low < span.low)
    ):
        return Same.MAYBE  # "within 7 days" does not deny "3 to 5 days"
    return Same.NO


def _days(quantity: Quantity) -> tuple[float, float]:
    """The shortest and the longest a duration can be, in days."""
    low, high = quantity.low, quantity.high
    if quantity.unit == "months":
        return _shortest(low), _longest(high)
    return low / DAY, (high + quantity.spread) / DAY


def _shortest(months: float) -> float:
    return months * 365 / 12 - (2.5 if months % 12 else 0)


def _longest(months: float) -> float:
    return months * 366 / 12 + (2.5 if months % 12 else 0)


def _overlap(one: tuple[float, float], other: tuple[float, float]) -> Same:
    return Same.MAYBE if one[0] <= other[1] and other[0] <= one[1] else Same.NO


def _same_date(ours: Quantity, theirs: Quantity) -> Same:
    if ours.unit == theirs.unit:
        return _in_one_unit(ours, theirs)
    kinds = {ours.unit, theirs.unit}
    if kinds == {FULL, MONTH_DAY}:
        one, other = _month_day(ours), _month_day(theirs)
        return Same.YES if one == other else Same.NO
    if MONTH in kinds and kinds <= {FULL, MONTH_DAY, MONTH}:
        months = {
            _month_day(each) // 100 if each.unit != MONTH else int(each.low)
            for each in (ours, theirs)
        }
        return Same.NO if len(months) > 1 else Same.MAYBE
    return Same.INCOMPARABLE


def _month_day(quantity: Quantity) -> int:
    if quantity.unit == MONTH_DAY:
        return int(quantity.low)
    day = date.fromordinal(int(quantity.low))
    return day.month * 100 + day.day
