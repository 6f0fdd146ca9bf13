"""Whether two numbers are about the same thing, and what they then say of each other."""

from __future__ import annotations

from typing import Final

from aucert_verifiers.grounding.quantities.quantity import (
    Comparator,
    Dimension,
    Quantity,
    RelationKind,
)
from aucert_verifiers.grounding.quantities.units import AGE
from aucert_verifiers.grounding.quantities.values import Same, direction, same


ALIGNED: Final = 0.6
"""From which match on two roles are taken for the same. Chosen on the development domains."""


RELATED: Final = 0.3
"""From which match on they may be the same, so that the number is not unrelated but unknown."""


_GENERIC: Final = 0.3


_ANCHOR: Final = 0.5


_MISSING_OURS: Final = 0.6


_MISSING_THEIRS: Final = 0.25


_CONDITION: Final = 0.9


def match(ours: Quantity, theirs: Quantity) -> float:
    """How well two roles fit, in [0, 1]. 0 where they share no word that tells a subject."""
    one, other = ours.role, theirs.role
    if ours.per and theirs.per and ours.per != theirs.per:
        return 0.0
    if (ours.unit == AGE) != (theirs.unit == AGE):
        return 0.0
    shared = one.words & other.words
    unit = {theirs.unit, theirs.per} - {""}
    if ours.dimension is Dimension.COUNT and ours.unit and ours.unit == theirs.unit:
        shared |= {ours.unit}
    if not shared:
        return 0.0
    missing = one.words - other.words - other.anchor - other.generic - unit
    theirs_only = other.words - one.words - one.anchor - one.generic - {ours.unit, ours.per}
    conditions = theirs_only & other.conditions
    weight = len(shared) + _GENERIC * len(one.generic & other.generic)
    if one.anchor & other.anchor:
        weight += _ANCHOR
    lack = _MISSING_OURS * len(missing) + _CONDITION * len(conditions)
    lack += _MISSING_THEIRS * len(theirs_only - conditions)
    found = weight / (weight + lack)
    rivals = missing and theirs_only and not one.anchor & other.anchor
    if rivals or conditions:  # each names something the other does not; or it holds for some only
        return min(found, ALIGNED - 0.01)
    return found


def _alike(ours: Quantity, theirs: Quantity) -> bool:
    """The two are about the very same thing, condition for condition."""
    one, other = ours.role, theirs.role
    return one.words == other.words and one.generic >= other.generic


def verdict(ours: Quantity, theirs: Quantity) -> RelationKind:
    """What two numbers about the same thing say of each other."""
    found = same(ours, theirs)
    if found in (Same.MAYBE, Same.INCOMPARABLE):
        return RelationKind.UNKNOWN
    if _other_anchor(ours.role.anchor, theirs.role.anchor):
        return RelationKind.UNKNOWN
    if _compares(ours, theirs):
        return _bound_kind(ours, theirs)
    turned = _turned(ours, theirs)
    if turned:
        clear = found is Same.YES and turned == 1 and _alike(ours, theirs)
        return RelationKind.CONTRADICTS if clear else RelationKind.UNKNOWN
    if found is Same.YES and _nearly(ours, theirs):
        return RelationKind.UNKNOWN
    return RelationKind.SUPPORTS if found is Same.YES else RelationKind.CONTRADICTS


def _turned(ours: Quantity, theirs: Quantity) -> int:
    """In how many ways one says the opposite of the other: at most, before, not."""
    one, other = ours.role, theirs.role
    opposed = direction(ours) * direction(theirs) < 0
    if one.before and other.before:
        opposed = False  # "up to 48 hours before" is "at least 48 hours before"
    aside = one.before is not None and other.before is not None and one.before != other.before
    return opposed + aside + (one.negated != other.negated)


def _nearly(ours: Quantity, theirs: Quantity) -> bool:
    """The same number, which only one of them counts in: "over 18" is not "18 or older"."""
    if ours.dimension is Dimension.DURATION and ours.unit != AGE:
        return False
    return _strict(ours) != _strict(theirs) and direction(ours) * direction(theirs) > 0


def _other_anchor(one: frozenset[str], other: frozenset[str]) -> bool:
    """Two times that count from different moments."""
    if not one or not other:
        return False
    turned = ("begin" in one) != ("begin" in other) and ("end" in one) != ("end" in other)
    return turned or not one & other


def _compares(ours: Quantity, theirs: Quantity) -> bool:
    """The claim only says that a plain number lies above or below another: "more than 10%"."""
    return _strict(ours) and theirs.comparator is Comparator.EXACTLY and not theirs.is_range


def _bound_kind(ours: Quantity, theirs: Quantity) -> RelationKind:
    if ours.unit != theirs.unit or ours.role.negated or theirs.role.negated:
        return RelationKind.UNKNOWN
    holds = theirs.low > ours.low if direction(ours) > 0 else theirs.low < ours.low
    return RelationKind.SUPPORTS if holds else RelationKind.CONTRADICTS


def _strict(quantity: Quantity) -> bool:
    return quantity.comparator in (Comparator.MORE_THAN, Comparator.LESS_THAN)
