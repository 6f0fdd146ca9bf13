"""Numbers with their unit: dates, money, percentages, durations, measures, rates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from aucert_verifiers.grounding.quantities.calendar import moment_at
from aucert_verifiers.grounding.quantities.counts import (
    bare,
    counted,
    is_identifier,
    is_pronoun,
    ordinal,
)
from aucert_verifiers.grounding.quantities.lexicon import words
from aucert_verifiers.grounding.quantities.numerals import Numeral, numeral_at
from aucert_verifiers.grounding.quantities.quantity import Dimension
from aucert_verifiers.grounding.quantities.raw import Raw, measured, plain
from aucert_verifiers.grounding.quantities.tokens import Token
from aucert_verifiers.grounding.quantities.units import AGE, DAY, SYMBOLS, Unit, unit_of
from aucert_verifiers.grounding.quantities.words import fold


_KIND_OF_DAY: Final = {"business": "business-day", "working": "business-day"}


_BETWEEN: Final = frozenset(
    {"business", "working", "calendar", "full", "consecutive", "more", "additional", "further"}
    | {"extra", "whole", "entire", "straight", "-", "u", "us"}
)


_TIMES: Final = {"once": 1.0, "twice": 2.0, "thrice": 3.0}


_CODES: Final = words("usd eur gbp chf cad aud")
_RATED: Final = frozenset({"per", "each", "every", "/"})


_ADVERBS: Final = {
    "hourly": "hour", "daily": "day", "weekly": "week", "monthly": "month", "yearly": "year",
    "annually": "year", "nightly": "night", "apiece": "each", "each": "each",
}  # fmt: skip


_RATE_AFTER_A: Final = words(
    "second minute hour day night week month year person head item piece unit order trip ride visit "
    "ticket seat"
)


def quantity_at(items: Sequence[Token], index: int) -> Raw | None:
    """The quantity that begins at a token; ``None`` if none does."""
    for read in (_moment, _times, _money, _single):
        found = read(items, index)
        if found is not None:
            return found
    number = numeral_at(items, index)
    if number is None or is_identifier(items, number):
        return None
    return _with_unit(items, number)


def _moment(items: Sequence[Token], index: int) -> Raw | None:
    found = moment_at(items, index)
    if found is None:
        return None
    return Raw(
        found.first,
        found.last,
        found.dimension,
        found.value,
        found.value,
        found.unit,
        uncertain=found.uncertain,
    )


def _times(items: Sequence[Token], index: int) -> Raw | None:
    """Once a day, twice."""
    value = _TIMES.get(items[index].text)
    if value is None or (value == 1.0 and not _rate(items, index + 1)[0]):
        return None
    return _with_rate(items, Raw(index, index, Dimension.COUNT, value, value, "times"))


def _money(items: Sequence[Token], index: int) -> Raw | None:
    """A currency that stands before its number: $5, EUR 20."""
    text = items[index].text
    unit = SYMBOLS.get(text) or (unit_of(text) if text in _CODES else None)
    if unit is None or index + 1 >= len(items):
        return None
    number = numeral_at(items, index + 1)
    if number is None or number.word:
        return None
    return _with_rate(items, measured(replace(number, first=index), unit))


def _single(items: Sequence[Token], index: int) -> Raw | None:
    """An hour, a week: one of it, but only where it is a length and not a rate."""
    if items[index].text not in ("a", "an") or index + 1 >= len(items):
        return None
    unit = unit_of(items[index + 1].text)
    if unit is None or unit.dimension is not Dimension.DURATION or len(items[index + 1].text) < 3:
        return None
    before = items[index - 1].text if index else ""
    if before not in (
        "within", "after", "in", "least", "most", "than", "for", "about", "around", "under", "over",
        "is", "takes", "take", "lasts", "last", "half", "of", "to", "have", "has", "up",
    ):  # fmt: skip
        return None
    value, last = 1.0, index + 1
    if [t.text for t in items[index + 2 : index + 5]] == ["and", "a", "half"]:
        value, last = 1.5, index + 4
    return measured(Numeral(value, index, last, word=True), unit)


def _with_unit(items: Sequence[Token], number: Numeral) -> Raw | None:
    at = number.last + 1
    if number.ordinal:
        return ordinal(items, number)
    if at >= len(items):
        return bare(items, number)
    for read in (_percent, _money_after, _degrees, _unit):
        found = read(items, number, at)
        if found is not None:
            return found
    if number.word and number.value == 1.0 and is_pronoun(items, number):
        return None
    found = counted(items, number, at)
    return None if found is None else _with_rate(items, found)


def _percent(items: Sequence[Token], number: Numeral, at: int) -> Raw | None:
    if items[at].text == "per" and at + 1 < len(items) and items[at + 1].text == "cent":
        at += 1
    elif items[at].text not in ("%", "\uff05", "\u066a", "percent"):
        return None
    if at + 1 < len(items) and items[at + 1].text in ("point", "points"):
        at += 1
    return _with_rate(items, plain(number, Dimension.PERCENT, number.value, "percent", at))


def _money_after(items: Sequence[Token], number: Numeral, at: int) -> Raw | None:
    """A currency that stands after its number: 5 \u20ac."""
    unit = SYMBOLS.get(items[at].text)
    if unit is None or items[at].end - items[number.last].end > 2:
        return None
    return _with_rate(items, measured(number, unit, at))


def _degrees(items: Sequence[Token], number: Numeral, at: int) -> Raw | None:
    if items[at].text != "\u00b0":
        return None
    scale = items[at + 1].text if at + 1 < len(items) else ""
    unit = {"c": "celsius", "f": "fahrenheit"}.get(scale)
    last = at if unit is None else at + 1
    return plain(number, Dimension.MEASURE, number.value, unit or "degree", last)


def _unit(items: Sequence[Token], number: Numeral, at: int) -> Raw | None:
    """A unit that is a word, also after "business" or a hyphen."""
    kind, named = "", at
    while named < len(items) and named - at < 3 and items[named].text in _BETWEEN:
        kind = _KIND_OF_DAY.get(items[named].text, kind)
        named += 1
    unit = unit_of(items[named].text) if named < len(items) else None
    if unit is None or not _really(items, number, named, unit):
        return None
    if kind and unit.factor == DAY:
        unit = Unit(Dimension.DURATION, kind, DAY)
    if unit.name == "months":
        old = _is_age(items, number, named)
        if old is not None:
            return plain(number, unit.dimension, number.value * unit.factor, AGE, old)
    return _with_rate(items, _and_more(items, measured(number, unit, named)))


def _is_age(items: Sequence[Token], number: Numeral, named: int) -> int | None:
    """The last token of an age: 18 years old, aged 18 years; ``None`` if it is no age."""
    after = [token.text for token in items[named + 1 : named + 3]]
    if after[:1] == ["old"]:
        return named + 1
    if after == ["of", "age"]:
        return named + 2
    aged = number.first > 0 and items[number.first - 1].text == "aged"
    return named if aged else None


def _really(items: Sequence[Token], number: Numeral, named: int, unit: Unit) -> bool:
    """A unit of one letter has to touch its number, and "pounds" may be a weight elsewhere."""
    word = items[named].text
    if len(word) == 1 and word.isascii():
        return items[named].start == items[number.last].end
    if word in ("second", "s") and unit.name == "seconds" and number.value == 1.0 and number.word:
        return False  # one second thought
    return not (word in ("min", "max", "bar") and items[named].start > items[number.last].end + 1)


def _and_more(items: Sequence[Token], raw: Raw) -> Raw:
    """1 hour and 30 minutes, 2 days 12 hours."""
    at = raw.last + 1
    if raw.dimension is not Dimension.DURATION or raw.unit == "business-day":
        return raw
    if at < len(items) and items[at].text == "and":
        at += 1
    if at + 1 >= len(items):
        return raw
    number = numeral_at(items, at)
    if number is None or number.last + 1 >= len(items):
        return raw
    unit = unit_of(items[number.last + 1].text)
    if unit is None or unit.name != raw.unit or unit.dimension is not raw.dimension:
        return raw
    more = number.value * unit.factor
    ours = unit_of(items[raw.last].text)
    if ours is None or unit.factor >= ours.factor or more >= ours.factor:
        return raw  # "5 days and 3 days" are two
    total = raw.low + more
    return replace(raw, low=total, high=total, last=number.last + 1)


def _rate(items: Sequence[Token], at: int) -> tuple[str, int]:
    """The folded word after "per", and the last token it takes."""
    if at >= len(items):
        return "", at - 1
    word = items[at].text
    if word in _ADVERBS and (
        word != "each" or at + 1 >= len(items) or items[at + 1].kind != "word"
    ):
        return _ADVERBS[word], at
    if word in ("a", "an") and at + 1 < len(items) and items[at + 1].text in _RATE_AFTER_A:
        return items[at + 1].text, at + 1
    if word in _RATED and at + 1 < len(items) and items[at + 1].kind == "word":
        named = items[at + 1].text
        return fold(named) or named, at + 1
    return "", at - 1


def _with_rate(items: Sequence[Token], raw: Raw) -> Raw:
    if raw.dimension is Dimension.DURATION:
        return raw
    per, last = _rate(items, raw.last + 1)
    return replace(raw, per=per, last=last) if per else raw
