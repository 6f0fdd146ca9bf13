"""Numbers without a unit of measure: counts, ages, ordinals, and those that are only names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from aucert_verifiers.grounding.quantities.calendar import YEAR
from aucert_verifiers.grounding.quantities.lexicon import words
from aucert_verifiers.grounding.quantities.numerals import Numeral
from aucert_verifiers.grounding.quantities.quantity import Dimension
from aucert_verifiers.grounding.quantities.raw import Raw
from aucert_verifiers.grounding.quantities.tokens import Token
from aucert_verifiers.grounding.quantities.units import AGE, unit_of
from aucert_verifiers.grounding.quantities.words import fold


IDENTIFIED: Final = words(
    "article articles section sections order ticket no number version clause chapter figure table step "
    "case invoice ref reference code id page appendix paragraph release model flight gate"
)


NO_NOUN: Final = words(
    "a an the of to in on at by for from with within and or but if when while after before since until "
    "per each every is are was were be been has have had can may must will should would could you we "
    "they it he she i your our their its this that these those not no as than so because unless about "
    "up over under between during without does do did only also at through via once then "
    "starting counting prior following upon"
)


_COUNTED_BY: Final = words(
    "admit allow hold take have host seat fit feed serve cost get use need contain include reach score won win "
    "total about around exactly only just under over below above than most least least equal equals"
)


_PEOPLE: Final = words(
    "nobody children child kids people persons anyone guests those adults teenagers minors"
)
_YEAR: Final = 12.0


def _age(items: Sequence[Token], number: Numeral) -> Raw | None:
    """The age of a person where no unit is said: aged 18, 18 or older, younger than 12."""
    at = number.last + 1
    before = [token.text for token in items[max(0, number.first - 3) : number.first]]
    after = [token.text for token in items[at : at + 2]]
    aged = bool(before) and (
        before[-1] in ("aged", "age", "ages", "turned")
        or before[-2:] in (["must", "be"], ["to", "be"], ["least", "age"])
        or before[-2:] in (["age", "of"], ["age", "is"], ["older", "than"], ["younger", "than"])
    )
    near = {token.text for token in items[max(0, number.first - 9) : number.first]}
    aged = aged or (bool(before) and before[-1] in ("is", "of", "under", "over") and "age" in near)
    aged = aged or (before[-2:] == ["at", "least"] and "be" in near)
    aged = aged or (before[-1:] in (["under"], ["over"]) and not near.isdisjoint(_PEOPLE))
    if not aged and not (
        len(after) == 2 and after[0] in ("or", "and") and after[1] in ("older", "younger")
    ):
        return None
    if not 0 < number.value < 130:
        return None
    value = number.value * _YEAR
    return Raw(number.first, number.last, Dimension.DURATION, value, value, AGE)


def bare(items: Sequence[Token], number: Numeral) -> Raw | None:
    """A number with nothing after it: a count of what the clause is about, an age, or a name."""
    if number.word and number.value == 1.0:
        return None
    age = _age(items, number)
    if age is not None:
        return age
    if _names(items, number):
        return None
    return Raw(
        number.first, number.last, Dimension.COUNT, number.value, number.value, "",
        uncertain=number.uncertain,
    )  # fmt: skip


def _names(items: Sequence[Token], number: Numeral) -> bool:
    """The number says which one: zone 2, tier 1. It stands after a noun, and no noun follows."""
    if number.word or not number.first:
        return False
    before = items[number.first - 1]
    return (
        before.kind == "word"
        and len(before.text) > 2
        and not before.text.endswith("s")
        and before.text not in _COUNTED_BY
        and before.text not in NO_NOUN
        and bool(fold(before.text))
    )


def is_pronoun(items: Sequence[Token], number: Numeral) -> bool:
    """The word "one" that stands for a thing: "this one"."""
    before = items[number.first - 1].text if number.first else ""
    following = items[number.last + 1].text if number.last + 1 < len(items) else ""
    return before in (
        "the", "this", "that", "which", "any", "no", "each", "every", "another", "some", "new",
    ) or following in NO_NOUN or not following.isalpha()  # fmt: skip


def ordinal(items: Sequence[Token], number: Numeral) -> Raw | None:
    """Which one in a row: the third floor."""
    at = number.last + 1
    noun = fold(items[at].text) if at < len(items) and items[at].kind == "word" else ""
    if number.word and (not noun or items[at].text in NO_NOUN):
        return None  # first, second of all
    return Raw(
        number.first, number.last, Dimension.ORDINAL, number.value, number.value, noun
    )  # fmt: skip


def counted(items: Sequence[Token], number: Numeral, at: int) -> Raw | None:
    """What is counted: the first plural of the next words, or the next word."""
    if items[at].text == "-" and at + 1 < len(items):
        at += 1
    nouns: list[int] = []
    while at < len(items) and len(nouns) < 3:
        token = items[at]
        if token.kind != "word" or token.text in NO_NOUN or unit_of(token.text) is not None:
            break
        nouns.append(at)
        if token.text.endswith("s") and not token.text.endswith("ss"):
            break
        at += 1
    if number.value in (0.5, 0.25) and number.word and not nouns:
        return Raw(
            number.first, number.last, Dimension.PERCENT, number.value * 100, number.value * 100,
            "percent",
        )  # fmt: skip
    if not nouns:
        year = number.value
        before = items[number.first - 1].text if number.first else ""
        if (
            1900 <= year <= 2199 and not number.word and len(items[number.first].text) == 4
            and before in ("in", "since", "until", "by", "of", "from", "before", "after")
        ):  # fmt: skip
            return Raw(number.first, number.last, Dimension.DATE, year, year, YEAR)
        return bare(items, number)
    plural = items[nouns[-1]].text.endswith("s")
    last = nouns[-1] if plural else nouns[0]
    return Raw(
        number.first, last, Dimension.COUNT, number.value, number.value, _noun(items[last].text),
        uncertain=number.uncertain, named=number.last,
    )  # fmt: skip


def _noun(word: str) -> str:
    return fold(word) or word.removesuffix("s")


def is_identifier(items: Sequence[Token], number: Numeral) -> bool:  # noqa: PLR0911 - one return a form
    """The number names something, as in "article 305", "#12" or "v2"."""
    before = items[number.first - 1] if number.first else None
    if before is None:
        return False
    at = number.last + 1
    if before.text == "[" and at < len(items) and items[at].text == "]":
        return True
    if before.text == "+" and before.end == items[number.first].start:
        return True
    if before.text == "#" or (before.text in ("v", "\u00a7")):
        return True
    if before.kind == "word" and before.end == items[number.first].start and not number.word:
        return before.text not in ("us", "rs")  # M15, A4
    if before.text not in IDENTIFIED or number.word:
        return False
    following = items[number.last + 1].text if number.last + 1 < len(items) else ""
    return unit_of(following) is None and following != "%"
