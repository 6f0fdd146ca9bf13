"""Numbers as digits and as words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from aucert_verifiers.grounding.quantities.tokens import Token
from aucert_verifiers.grounding.quantities.units import SYMBOLS
from aucert_verifiers.rules.numbers import _GROUPING, _SMALL, _TENS


_SCALES: Final = {
    "hundred": 100.0, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12,
    "dozen": 12.0, "dozens": 12.0, "lakh": 1e5, "crore": 1e7,
}  # fmt: skip
_SUFFIXES: Final = {
    "k": 1e3, "thousand": 1e3, "m": 1e6, "mn": 1e6, "mio": 1e6, "million": 1e6, "bn": 1e9,
    "billion": 1e9, "hundred": 100.0, "dozen": 12.0, "trillion": 1e12,
}  # fmt: skip
_FIRST_TWELVE: Final = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
)
_ORDINALS: Final = {word: number for number, word in enumerate(_FIRST_TWELVE.split(), start=1)}
_FRACTIONS: Final = {
    "half": 0.5,
    "quarter": 0.25,
    "quarters": 0.25,
    "third": 1 / 3,
    "thirds": 1 / 3,
}
_VALUES: Final = {**_SMALL, **_TENS}
_LONGEST_WORDS: Final = 24
_LONGEST: Final = 15
"""Digits of a number. More are an identifier, and no float holds them."""


@dataclass(frozen=True, slots=True)
class Numeral:
    """A number that was read, and the tokens it takes."""

    value: float
    first: int
    last: int
    ordinal: bool = False
    word: bool = False
    """It is written out, or partly."""
    uncertain: bool = False
    """It may be another number: "1.000" is one or a thousand."""


def digits(text: str) -> tuple[float, bool] | None:
    """The value of a number written in digits, and whether another reading is possible.

    ``None`` for what is no quantity: dotted parts such as a version, or more digits than count.
    """
    plain = text.translate(_GROUPING)
    if plain.count(".") > 1 or sum(map(str.isdigit, plain)) > _LONGEST:
        return None
    try:
        value = float(plain)
    except ValueError:
        return None
    if not math.isfinite(value):
        return None
    whole, _, decimals = text.partition(".")
    return value, len(decimals) == 3 and whole.isdigit() and whole != "0" and len(whole) <= 3


def numeral_at(items: Sequence[Token], index: int) -> Numeral | None:
    """The number that begins at a token; ``None`` if none does."""
    token = items[index]
    if token.kind == "number":
        return _in_digits(items, index)
    if token.kind == "word":
        return _in_words(items, index)
    return None


def _adjacent(items: Sequence[Token], index: int) -> bool:
    return index < len(items) and items[index].start == items[index - 1].end


def _in_digits(items: Sequence[Token], index: int) -> Numeral | None:
    read = digits(items[index].text)
    if read is None:
        return None
    value, uncertain = read
    if _adjacent(items, index + 1) and items[index + 1].text in ("st", "nd", "rd", "th"):
        return Numeral(value, index, index + 1, ordinal=True)
    if _is_fraction(items, index):  # 1/2
        return Numeral(value / float(items[index + 2].text), index, index + 2)
    more = _mixed(items, index, value) or _scaled(items, index, value)
    return more or Numeral(value, index, index, uncertain=uncertain)


def _mixed(items: Sequence[Token], index: int, value: float) -> Numeral | None:
    """1 1/2, 1\u00bd (which is shown as 1 0.5), 2 and a half."""
    if not value.is_integer() or index + 1 >= len(items):
        return None
    rest = items[index + 1]
    if rest.kind == "number":
        if rest.text.startswith("0.") and rest.start - items[index].end <= 2:
            return Numeral(value + float(rest.text), index, index + 1)
        if _is_fraction(items, index + 1):
            above, below = float(rest.text), float(items[index + 3].text)
            return Numeral(value + above / below, index, index + 3)
    part = _and_a_part(items, index + 1)
    return None if part is None else Numeral(value + part, index, index + 3)


def _and_a_part(items: Sequence[Token], index: int) -> float | None:
    """The part in "and a half"."""
    if [token.text for token in items[index : index + 2]] != ["and", "a"]:
        return None
    return _FRACTIONS.get(items[index + 2].text) if index + 2 < len(items) else None


def _scaled(items: Sequence[Token], index: int, value: float) -> Numeral | None:
    """1.5k, 3 million."""
    if index + 1 >= len(items):
        return None
    word = items[index + 1]
    scale = _SUFFIXES.get(word.text)
    if scale is None or (word.start > items[index].end and len(word.text) <= 2):
        return None
    if word.text == "m" and not (index and items[index - 1].text in SYMBOLS):
        return None  # metres
    return Numeral(value * scale, index, index + 1)


def _is_fraction(items: Sequence[Token], index: int) -> bool:
    if not (_adjacent(items, index + 1) and items[index + 1].text == "/"):
        return False
    if not (_adjacent(items, index + 2) and items[index + 2].kind == "number"):
        return False
    above, below = items[index].text, items[index + 2].text
    if _adjacent(items, index + 3) and items[index + 3].text == "/":
        return False
    return (
        above.isdigit() and below.isdigit() and len(above) < 3 and len(below) < 3
        and 0 < int(above) < int(below) <= 10
    )  # fmt: skip


def _in_words(items: Sequence[Token], index: int) -> Numeral | None:
    word = items[index].text
    if word in _FRACTIONS and word != "third":
        return _half(items, index)
    if word in ("a", "an"):
        return _after_article(items, index)
    if word in _ORDINALS:
        return Numeral(float(_ORDINALS[word]), index, index, ordinal=True, word=True)
    if word not in _SMALL and word not in _TENS:
        return None
    return _cardinal(items, index, index)


def _half(items: Sequence[Token], index: int) -> Numeral | None:
    """Half an hour, a quarter of the price."""
    part = _FRACTIONS[items[index].text]
    if index + 1 < len(items) and items[index + 1].text in ("a", "an"):
        if (
            items[index].text == "half"
            and index + 2 < len(items)
            and items[index + 2].text == "dozen"
        ):
            return Numeral(6.0, index, index + 2, word=True)
        return Numeral(part, index, index + 1, word=True)
    return Numeral(part, index, index, word=True)


def _after_article(items: Sequence[Token], index: int) -> Numeral | None:
    """A dozen, a hundred, a couple of, a half."""
    if index + 1 >= len(items):
        return None
    word = items[index + 1].text
    if word in ("couple", "pair"):
        of = index + 2 < len(items) and items[index + 2].text == "of"
        return Numeral(2.0, index, index + (2 if of else 1), word=True)
    if word in _SCALES:
        return _cardinal(items, index, index + 1)
    if word in ("half", "quarter"):
        return Numeral(_FRACTIONS[word], index, index + 1, word=True)
    return None


def _cardinal(items: Sequence[Token], first: int, index: int) -> Numeral:
    """A cardinal number in words, such as two hundred and thirty-five thousand."""
    total, group, last = 0.0, 0.0, index
    small = False
    for at in range(index, min(len(items), first + _LONGEST_WORDS)):
        word = items[at].text
        if word in _SCALES and (group or at == index):
            group, small = max(group, 1.0) * _SCALES[word], False
            if group >= 1e3:
                total, group = total + group, 0.0
        elif word in _VALUES and not small:
            group, small = group + _VALUES[word], word in _SMALL
        elif _links(items, at, index):
            continue
        else:
            break
        last = at
    return _with_part(items, first, last, total + group)


def _links(items: Sequence[Token], at: int, index: int) -> bool:
    """The hyphen of "thirty-five", the "and" of "two hundred and five"."""
    if at == index or at + 1 >= len(items) or items[at + 1].text not in _VALUES:
        return False
    before, word = items[at - 1].text, items[at].text
    return (word == "-" and before in _TENS) or (word == "and" and before in _SCALES)


def _with_part(items: Sequence[Token], first: int, last: int, value: float) -> Numeral:
    """Two-thirds, two and a half, twenty-first."""
    if _adjacent(items, last + 1) and items[last + 1].text == "-" and last + 2 < len(items):
        following = items[last + 2].text
        if items[last].text in _TENS and following in _ORDINALS:
            return Numeral(value + _ORDINALS[following], first, last + 2, ordinal=True, word=True)
        if items[last].text in _SMALL and following in _FRACTIONS and following != "half":
            return Numeral(value * _FRACTIONS[following], first, last + 2, word=True)
    part = _and_a_part(items, last + 1)
    if part is not None:
        return Numeral(value + part, first, last + 3, word=True)
    return Numeral(value, first, last, word=True)
