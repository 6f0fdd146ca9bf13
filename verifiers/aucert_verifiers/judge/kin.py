"""Whether a judge is of another family than whoever wrote the answer.

Models score what their own kind wrote higher than others do. A judge counts as neutral only if both
families are known and differ: an unknown one may be the same.
"""

from __future__ import annotations

from collections.abc import Iterable

from aucert_otel.generation import Generation
from aucert_otel.llm.families import family_of
from aucert_otel.llm.model import ChatModel


def families(*names: str | None) -> frozenset[str]:
    """The families that these names speak of: given ones as they are, models by their names."""
    known = (name.strip() for name in names if isinstance(name, str))
    return frozenset(family_of(name) or name.casefold() for name in known if name)


def neutral(judges: Iterable[ChatModel], generation: Generation) -> bool:
    """Whether every judge is known to be of another family than the generator."""
    writer = _of(generation.family, generation.model)
    if not writer:
        return False
    for judge in judges:
        kin = _of(judge.family, judge.model)
        if not kin or kin & writer:
            return False
    return True


def _of(family: str | None, model: str | None) -> frozenset[str]:
    """What was said of the family, and what the model's name shows. If they differ, both count."""
    shown = None if not isinstance(model, str) else family_of(model)
    return families(family, shown)
