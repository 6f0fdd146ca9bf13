"""The free check of every split: no number of the reply is lost, and none is invented."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from aucert_verifiers.grounding.quantities import Dimension, Quantity, quantities
from aucert_verifiers.rules.numbers import _NUMBER, _is_marker, _read, number_keys
from aucert_verifiers.rules.seen import visible


MAX_LISTED: Final = 50
"""Numbers that are named. A split with more has long failed."""


def missing_numbers(said: Iterable[str], among: Iterable[str]) -> tuple[str, ...]:
    """Numbers and dates of some texts that stand in none of the others, as they are written.

    A number that is converted or written out still stands there: "two days" for "48 hours".

    Args:
        said: The texts whose numbers have to be there.
        among: The texts they have to be in.
    """
    others = list(among)
    known: set[str] = set()
    for text in others:
        known |= _read(text)
    found: dict[str, None] = {}
    values: set[tuple[Dimension, str, float]] | None = None
    for text in said:
        shown = visible(text)
        if known.issuperset(_read(shown)):
            continue  # nearly always
        if values is None:
            values = {
                value for other in others for each in quantities(other) for value in _value(each)
            }
        found.update(dict.fromkeys(_missing(text, shown, known, values)))
        if len(found) >= MAX_LISTED:
            break
    return tuple(found)[:MAX_LISTED]


def _missing(
    text: str, shown: str, known: set[str], values: set[tuple[Dimension, str, float]]
) -> list[str]:
    """The numbers of one text that are not among the known ones, nor are the same quantity."""
    read = quantities(text)
    alike = [each for each in read if values.issuperset(_value(each))]
    found = [
        number
        for start, end, number in _numbers(shown)
        if not known.issuperset(number_keys(number))
        and not any(each.start <= start and end <= each.end for each in alike)
    ]
    found += [  # forty-eight, and the month of a date
        each.text
        for each in read
        if each not in alike
        and (each.dimension is Dimension.DATE or not any(map(str.isdigit, each.text)))
        and not known.issuperset(_read(each.text))
        and not any(number in each.text for number in found)
    ]
    return found


def _numbers(text: str) -> list[tuple[int, int, str]]:
    """The numbers of a text without list markers."""
    found, marker = [], 0
    for match in _NUMBER.finditer(text):
        start, end = match.span()
        if text[end : end + 1] in (".", ")") and _is_marker(text, start, end, marker):
            marker = int(match.group())
            continue
        found.append((start, end, match.group()))
    return found


def _value(quantity: Quantity) -> set[tuple[Dimension, str, float]]:
    return {
        (quantity.dimension, quantity.unit, quantity.low),
        (quantity.dimension, quantity.unit, quantity.high),
    }
