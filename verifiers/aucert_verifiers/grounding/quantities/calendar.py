"""Dates, weekdays and times of day."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from aucert_verifiers.grounding.quantities.lexicon import words
from aucert_verifiers.grounding.quantities.quantity import Dimension
from aucert_verifiers.grounding.quantities.tokens import Token
from aucert_verifiers.rules.numbers import _MONTHS


_MONTH: Final = {
    name: number
    for number, names in enumerate(
        (
            "january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul",
            "august aug", "september sept sep", "october oct", "november nov", "december dec",
        ),
        start=1,
    )
    for name in names.split()
}  # fmt: skip
assert len(_MONTHS) == max(_MONTH.values())  # the same twelve that the numbers rule knows
_WORDS: Final = frozenset({"may", "march", "mar", "jan", "dec", "sun", "sat", "mon", "wed"})
"""Months and days that are also other words or names: they need more than themselves."""
_WEEKDAY: Final = {
    name: number
    for number, names in enumerate(
        (
            "monday mondays mon", "tuesday tuesdays tue tues", "wednesday wednesdays wed",
            "thursday thursdays thu thur thurs", "friday fridays fri", "saturday saturdays sat",
            "sunday sundays sun",
        )
    )
    for name in names.split()
}  # fmt: skip
_BEFORE_TIME: Final = words(
    "in by until till since from before after on of during through to and between at each every"
)

FULL: Final = "date"
MONTH_DAY: Final = "month-day"
MONTH: Final = "month"
YEAR: Final = "year"


@dataclass(frozen=True, slots=True)
class Moment:
    """A date or a time of day that was read, and the tokens it takes."""

    dimension: Dimension
    value: float
    unit: str
    first: int
    last: int
    uncertain: bool = False


def moment_at(items: Sequence[Token], index: int) -> Moment | None:  # noqa: PLR0911 - one line for each way of writing one
    """The date or time of day that begins at a token; ``None`` if none does."""
    token = items[index]
    if token.kind == "number":
        return _time(items, index) or _numeric_date(items, index) or _day_month(items, index)
    if token.kind != "word":
        return None
    word = token.text
    if word in ("noon", "midday", "midnight"):
        return Moment(Dimension.TIME, 0.0 if word == "midnight" else 720.0, "minutes", index, index)
    if word in _WEEKDAY:
        if word in _WORDS and not _clear(items, index):
            return None
        return Moment(Dimension.WEEKDAY, float(_WEEKDAY[word]), "weekday", index, index)
    if word in _MONTH:
        return _month_first(items, index)
    return None


def _clear(items: Sequence[Token], index: int) -> bool:
    """What could be another word stands where a date does."""
    before = items[index - 1].text if index else ""
    return before in _BEFORE_TIME or before in _WEEKDAY or before == "-"


def _text(items: Sequence[Token], index: int) -> str:
    return items[index].text if 0 <= index < len(items) else ""


def _whole(items: Sequence[Token], index: int, low: int, high: int) -> int | None:
    text = _text(items, index)
    if not (text.isascii() and text.isdigit() and len(text) <= 4):
        return None
    value = int(text)
    return value if low <= value <= high else None


def _time(items: Sequence[Token], index: int) -> Moment | None:
    hour = _whole(items, index, 0, 24)
    if hour is None:
        if items[index].text.count(".") == 1:  # 9.30 am
            whole, _, rest = items[index].text.partition(".")
            half = _half_day(items, index + 1)
            if half and whole.isdigit() and len(rest) == 2 and int(whole) <= 12 and int(rest) < 60:
                return _clock(int(whole), int(rest), half[0], index, half[1])
        return None
    minute, last = 0, index
    if _text(items, index + 1) == ":" and items[index + 1].start == items[index].end:
        found = _whole(items, index + 2, 0, 59)
        if found is None or len(_text(items, index + 2)) != 2:
            return None
        minute, last = found, index + 2
        if _text(items, last + 1) == ":" and _whole(items, last + 2, 0, 59) is not None:
            last += 2
    half = _half_day(items, last + 1)
    if half:
        return _clock(hour, minute, half[0], index, half[1])
    if _text(items, last + 1) in ("o'clock", "uhr"):
        return _clock(hour, minute, "", index, last + 1)
    return _clock(hour, minute, "", index, last) if last > index else None


def _half_day(items: Sequence[Token], index: int) -> tuple[str, int] | None:
    word = _text(items, index)
    if word in ("am", "pm"):
        return word, index
    if word in ("a", "p") and _text(items, index + 1) == "." and _text(items, index + 2) == "m":
        dot = _text(items, index + 3) == "." and items[index + 3].start == items[index + 2].end
        return f"{word}m", index + (3 if dot else 2)
    return None


def _clock(hour: int, minute: int, half: str, first: int, last: int) -> Moment | None:
    if half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half == "pm" else 0)
    return Moment(Dimension.TIME, float(hour * 60 + minute), "minutes", first, last)


def _date(year: int, month: int, day: int, first: int, last: int, **more: bool) -> Moment | None:
    try:
        value = date(year, month, day).toordinal()
    except ValueError:
        return None
    return Moment(Dimension.DATE, float(value), FULL, first, last, **more)


def _numeric_date(items: Sequence[Token], index: int) -> Moment | None:  # noqa: PLR0911 - what is no date is many things
    text = items[index].text
    if text.count(".") == 2 and len(text) <= 10:  # 14.03.2026
        parts = text.split(".")
        if all(part.isdigit() for part in parts) and len(parts[2]) == 4:
            return _date(int(parts[2]), int(parts[1]), int(parts[0]), index, index)
        return None
    mark = _text(items, index + 1)
    if mark not in ("-", "/") or _text(items, index + 3) != mark:
        return None
    if items[index + 4 : index + 5] and items[index + 4].start != items[index].start + sum(
        len(_text(items, index + step)) for step in range(4)
    ):
        return None  # spaces between them: no date
    one, two, three = (_whole(items, index + step, 0, 9999) for step in (0, 2, 4))
    if one is None or two is None or three is None:
        return None
    if len(text) == 4:
        return _date(one, two, three, index, index + 4)
    if len(_text(items, index + 4)) != 4:
        return None
    if one > 12 or mark == "-":
        return _date(three, two, one, index, index + 4)
    # The day first or the month first: nobody knows unless one of them can be no month.
    return _date(three, one, two, index, index + 4, uncertain=two <= 12 and one != two)


def _year(items: Sequence[Token], index: int) -> tuple[int, int] | None:
    """A year that follows, with or without a comma, and its token."""
    if _text(items, index) == ",":
        index += 1
    found = _whole(items, index, 1900, 2199)
    return None if found is None else (found, index)


def _day_month(items: Sequence[Token], index: int) -> Moment | None:
    day = _whole(items, index, 1, 31)
    if day is None:
        return None
    at = index + 1
    if _text(items, at) in ("st", "nd", "rd", "th"):
        at += 1
    if _text(items, at) == "of":
        at += 1
    month = _MONTH.get(_text(items, at))
    if month is None:
        return None
    return _with_year(items, month, day, index, at)


def _with_year(
    items: Sequence[Token], month: int, day: int, first: int, last: int
) -> Moment | None:
    year = _year(items, last + 1)
    if year is not None:
        return _date(year[0], month, day, first, year[1])
    return Moment(Dimension.DATE, float(month * 100 + day), MONTH_DAY, first, last)


def _month_first(items: Sequence[Token], index: int) -> Moment | None:
    month, at = _MONTH[items[index].text], index + 1
    if _text(items, at) == "." and items[at].start == items[index].end:
        at += 1
    if _text(items, at) == "the":
        at += 1
    day = _whole(items, at, 1, 31)
    if day is not None:
        if _text(items, at + 1) in ("st", "nd", "rd", "th"):
            at += 1
        return _with_year(items, month, day, index, at)
    year = _year(items, index + 1)
    if year is not None:
        return Moment(Dimension.DATE, float(year[0] * 12 + month), "year-month", index, year[1])
    if items[index].text in _WORDS and not _clear(items, index):
        return None
    return Moment(Dimension.DATE, float(month), MONTH, index, index)
