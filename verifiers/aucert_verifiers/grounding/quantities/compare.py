"""Whether the numbers of a sentence support or contradict those of a claim about the same thing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from aucert_verifiers.grounding.quantities.analysis import Reading, analyse
from aucert_verifiers.grounding.quantities.matching import ALIGNED, RELATED, match, verdict
from aucert_verifiers.grounding.quantities.quantity import (
    Quantity,
    Relation,
    RelationKind,
)
from aucert_verifiers.rules.text import clip


def compare(claim: str, sentence: str, *, context: str = "") -> Relation:
    """How the numbers of a sentence stand to those of a claim.

    Args:
        claim: One self-contained claim.
        sentence: One sentence of a passage.
        context: The heading the sentence stands under.

    Raises:
        MissingExtraError: the extra ``grounding`` is not installed.
    """
    return relate(analyse(claim), analyse(sentence, context))


def compare_all(claim: str, sentences: Iterable[str | tuple[str, str]]) -> Relation:
    """The relation that decides among the sentences of the passages.

    A sentence that supports the claim outweighs one that only seems to contradict it with a role
    that fits worse. Where two that fit equally well disagree, it is unknown.

    Args:
        claim: One self-contained claim.
        sentences: Sentences, or pairs of a sentence and the heading it stands under.

    Raises:
        MissingExtraError: the extra ``grounding`` is not installed.
    """
    ours = analyse(claim)
    pairs = ((each, "") if isinstance(each, str) else each for each in sentences)
    return deciding(claim, (relate(ours, analyse(text, context)) for text, context in pairs))


def deciding(claim: str, relations: Iterable[Relation]) -> Relation:
    """The one of several relations to the same claim that decides; see `compare_all`."""
    best: dict[RelationKind, Relation] = {}
    for relation in relations:
        before = best.get(relation.kind)
        if before is None or relation.match > before.match:
            best[relation.kind] = relation
    against, for_it = best.get(RelationKind.CONTRADICTS), best.get(RelationKind.SUPPORTS)
    unknown = best.get(RelationKind.UNKNOWN)
    if against is not None and unknown is not None and unknown.match > against.match:
        del best[RelationKind.CONTRADICTS]  # a sentence that fits better does not say so
        against = None
    if against is not None and for_it is not None:
        # A sentence that agrees in several numbers is the very case; the other is another one.
        several = for_it.agreeing > 1
        if for_it.match > against.match or several:
            return for_it
        if against.match > for_it.match:
            return against
        return Relation(
            RelationKind.UNKNOWN, claim, against.sentence, ours=against.ours, theirs=against.theirs,
            match=against.match, why=f"one passage says so, another says {_said(against.theirs)}",
        )  # fmt: skip
    for kind in (RelationKind.CONTRADICTS, RelationKind.SUPPORTS, RelationKind.UNKNOWN):
        if kind in best:
            return best[kind]
    return best.get(RelationKind.UNRELATED) or Relation(RelationKind.UNRELATED, claim, "")


@dataclass(frozen=True, slots=True)
class _Pair:
    """A number of the claim beside the number of the sentence that fits its role best."""

    ours: Quantity
    theirs: Quantity | None
    kind: RelationKind
    match: float


_RANK: Final = {
    RelationKind.CONTRADICTS: 3,
    RelationKind.UNKNOWN: 2,
    RelationKind.SUPPORTS: 1,
    RelationKind.UNRELATED: 0,
}


def relate(ours: Reading, theirs: Reading) -> Relation:
    """`compare` for sentences that have been read."""
    if not ours.quantities or not theirs.quantities:
        return Relation(RelationKind.UNRELATED, ours.text, theirs.text)
    if ours.in_turn or theirs.in_turn:
        return Relation(RelationKind.UNKNOWN, ours.text, theirs.text)
    pairs = [_best(each, theirs, ours) for each in ours.quantities]
    decides = max(pairs, key=lambda pair: (_RANK[pair.kind], pair.match))
    kind = decides.kind
    against = sum(pair.kind is RelationKind.CONTRADICTS for pair in pairs)
    if against > 1 and not any(pair.kind is RelationKind.SUPPORTS for pair in pairs):
        kind = RelationKind.UNKNOWN  # every number is another one: it may be another case
    if kind is RelationKind.SUPPORTS and any(p.kind is not kind for p in pairs):
        kind = RelationKind.UNKNOWN  # one number is there and another is not
    return Relation(
        kind,
        ours.text,
        theirs.text,
        ours=decides.ours,
        theirs=decides.theirs,
        match=decides.match,
        agreeing=sum(pair.kind is RelationKind.SUPPORTS for pair in pairs),
        beyond=ours.words - theirs.words,
        why=_why(kind, decides, ours, theirs),
    )


def _why(kind: RelationKind, pair: _Pair, ours: Reading, theirs: Reading) -> str:
    if pair.theirs is None or kind is RelationKind.UNRELATED:
        return ""
    verb = {
        RelationKind.CONTRADICTS: "is contradicted by",
        RelationKind.SUPPORTS: "agrees with",
        RelationKind.UNKNOWN: "cannot be compared with",
    }[kind]
    return (
        f'"{_said(pair.ours)}" in "{clip(ours.text.strip())}" {verb} "{_said(pair.theirs)}" in '
        f'"{clip(theirs.text.strip())}"'
    )


def _said(quantity: Quantity | None) -> str:
    return "" if quantity is None else clip(" ".join(quantity.text.split()), 60)


def _best(ours: Quantity, theirs: Reading, claim: Reading) -> _Pair:
    """The number of a sentence that is most likely about the same thing, and what follows from it."""
    best = _Pair(ours, None, RelationKind.UNRELATED, 0.0)
    for each in theirs.quantities:
        if each.dimension is not ours.dimension:
            continue
        fit = match(ours, each)
        if fit < RELATED:
            continue
        kind = RelationKind.UNKNOWN
        if fit >= ALIGNED and not (claim.totals or theirs.totals or claim.is_case):
            kind = verdict(ours, each)
        if best.theirs is None or fit > best.match:
            best = _Pair(ours, each, kind, fit)
        elif fit == best.match and kind is not best.kind:
            # Two numbers of one clause that fit equally well and disagree: which is meant is not read.
            best = _Pair(ours, each, RelationKind.UNKNOWN, fit)
    return best
