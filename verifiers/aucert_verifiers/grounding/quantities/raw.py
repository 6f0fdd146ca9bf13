"""A quantity before it is known what it is about."""

from __future__ import annotations

from dataclasses import dataclass, replace

from aucert_verifiers.grounding.quantities.numerals import Numeral
from aucert_verifiers.grounding.quantities.quantity import Comparator, Dimension
from aucert_verifiers.grounding.quantities.units import DAY, Unit


@dataclass(frozen=True, slots=True)
class Raw:
    """A quantity before it has a role. Positions are those of tokens."""

    first: int
    last: int
    dimension: Dimension
    low: float
    high: float
    unit: str
    comparator: Comparator = Comparator.EXACTLY
    per: str = ""
    spread: float = 0.0
    uncertain: bool = False
    denial: bool = False
    """The comparator has used up a "not", as in "not after 30 days"."""
    named: int = -1
    """The token up to which the number itself goes, where a counted noun follows it."""
    bounds: tuple[int, int] = (0, 0)
    """Tokens of the comparator before it, from one up to and without the other."""


def plain(
    number: Numeral, dimension: Dimension, value: float, unit: str, last: int | None = None
) -> Raw:
    """A quantity whose value is said in full."""
    return Raw(
        number.first,
        number.last if last is None else last,
        dimension,
        value,
        value,
        unit,
        uncertain=number.uncertain,
    )


def measured(number: Numeral, unit: Unit, last: int | None = None) -> Raw:
    """A number of units."""
    value = number.value * unit.factor
    return replace(
        plain(number, unit.dimension, value, unit.name, last), spread=spread(unit.name, value)
    )


def spread(unit: str, value: float) -> float:
    """Business days are no fixed time: weekends and holidays lie between them."""
    return value * 2 / 5 + 3 * DAY if unit == "business-day" else 0.0
