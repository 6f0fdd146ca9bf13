"""Numbers with their role: what a sentence says how much of, and whether two sentences agree."""

from aucert_verifiers.grounding.quantities.analysis import (
    Reading,
    analyse,
    folded_words,
    quantities,
)
from aucert_verifiers.grounding.quantities.compare import compare, compare_all, deciding, relate
from aucert_verifiers.grounding.quantities.quantity import (
    Comparator,
    Dimension,
    Quantity,
    Relation,
    RelationKind,
    Role,
)


__all__ = [
    "Comparator",
    "Dimension",
    "Quantity",
    "Reading",
    "Relation",
    "RelationKind",
    "Role",
    "analyse",
    "compare",
    "compare_all",
    "deciding",
    "folded_words",
    "quantities",
    "relate",
]
