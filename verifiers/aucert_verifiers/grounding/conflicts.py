"""Passages that say different things about the same condition."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Final, TypeAlias

from aucert_otel.generation import Passage
from aucert_verifiers.grounding.passages import PassageSentence, passage_sentences
from aucert_verifiers.grounding.quantities import (
    Reading,
    Relation,
    RelationKind,
    analyse,
    folded_words,
    relate,
)


Contradiction: TypeAlias = Callable[[Sequence[tuple[str, str]]], Sequence[float]]
"""From pairs of sentences to the probability, in [0, 1], that the second contradicts the first."""

MAX_COMPARED: Final = 5_000
"""Pairs of sentences that the quantity rule compares at most."""
MAX_ASKED: Final = 64
"""Pairs of sentences that an entailment model is asked about at most: those with most in common."""
SURE: Final = 0.9
"""From which probability on a model's contradiction counts, in both directions."""
_ALIKE: Final = 0.5
"""Share of words two sentences have in common before a model is asked about them."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two passages that disagree."""

    first: int
    """Which passage, by its place in the evidence, counted from 0."""
    second: int
    first_sentence: str
    second_sentence: str
    _: KW_ONLY
    origin: str = "quantities"
    """Who found it: ``quantities`` or ``entailment``."""
    relation: Relation | None = None
    """The two numbers, where the quantity rule found it."""
    probability: float | None = None
    """How sure the entailment model is, where it found it."""
    ids: tuple[str, ...] = ()
    """The passages' ids, for whoever looks after them."""

    @property
    def why(self) -> str:
        """One sentence. It quotes both passages, so it is treated as content."""
        names = " and ".join(self.ids) if len(self.ids) == 2 else "two passages"
        return f'{names} disagree: "{self.first_sentence}" and "{self.second_sentence}"'

    def concerns(self, sentence: str) -> bool:
        """Whether it is about this sentence of a passage."""
        folded = " ".join(sentence.split())
        return folded in (self.first_sentence, self.second_sentence)


@dataclass(frozen=True, slots=True)
class Conflicts:
    """What disagrees, and how much of it was looked at."""

    found: tuple[Conflict, ...] = ()
    covered: float = 1.0
    """The share of the comparable pairs of sentences that was compared, in [0, 1]."""


@dataclass(frozen=True, slots=True)
class _Said:
    """One sentence of one passage."""

    passage: int
    sentence: PassageSentence
    reading: Reading


def find_conflicts(
    passages: Sequence[tuple[int, Passage]], contradiction: Contradiction | None = None
) -> Conflicts:
    """Where passages disagree about the same condition.

    Args:
        passages: Passages with their places in the evidence. Those that may not be used anyway are
            left out: an old version that says something else is stale, and no conflict.
        contradiction: Judges pairs of sentences that have much in common. Without it only numbers
            are compared.

    Raises:
        MissingExtraError: the extra ``grounding`` is not installed.
    """
    if len(passages) < 2:
        return Conflicts()
    said = [
        _Said(place, sentence, analyse(sentence.text, sentence.heading))
        for place, passage in passages
        for sentence in passage_sentences(passage.text)
    ]
    ids = {place: passage.id for place, passage in passages}
    found: dict[tuple[int, int, str, str], Conflict] = {}
    compared = total = 0
    for one, other in _comparable(said):
        total += 1
        if compared == MAX_COMPARED:
            continue
        compared += 1
        relation = relate(one.reading, other.reading)
        if relation.kind is not RelationKind.CONTRADICTS:
            continue
        if relate(other.reading, one.reading).kind is not RelationKind.CONTRADICTS:
            continue  # one of them only says more
        _keep(found, _conflict(one, other, ids, relation=relation))
    if contradiction is not None:
        asked, share = _ask(said, contradiction, ids)
        for conflict in asked:
            _keep(found, conflict)
        compared, total = compared + round(share * 1000), total + 1000
    return Conflicts(tuple(found.values()), covered=compared / total if total else 1.0)


def _keep(found: dict[tuple[int, int, str, str], Conflict], conflict: Conflict) -> None:
    key = (conflict.first, conflict.second, conflict.first_sentence, conflict.second_sentence)
    found.setdefault(key, conflict)


def _conflict(one: _Said, other: _Said, ids: dict[int, str | None], **more: object) -> Conflict:
    named = (ids[one.passage], ids[other.passage])
    return Conflict(
        one.passage,
        other.passage,
        one.sentence.text,
        other.sentence.text,
        ids=tuple(each for each in named if each is not None),
        **more,  # type: ignore[arg-type] # the callers pass the conflict's own fields
    )


def _comparable(said: Sequence[_Said]) -> Iterator[tuple[_Said, _Said]]:
    """Pairs of sentences of two passages whose numbers could be about the same thing."""
    places: dict[tuple[str, str], list[int]] = {}
    for number, each in enumerate(said):
        keys = {
            (quantity.dimension.value, word)
            for quantity in each.reading.quantities
            for word in quantity.role.words
        }
        met: set[int] = set()
        for key in keys:
            for before in places.get(key, ())[-_RECENT:]:
                if before not in met and said[before].passage != each.passage:
                    met.add(before)
                    yield said[before], each
            places.setdefault(key, []).append(number)


_RECENT: Final = 200
"""Sentences with the same word and kind of number that one is compared with."""


def _ask(
    said: Sequence[_Said], contradiction: Contradiction, ids: dict[int, str | None]
) -> tuple[list[Conflict], float]:
    """What a model says of the pairs that have most in common, and the share it was asked about."""
    ranked = sorted(_alike(said), key=lambda pair: -pair[0])
    asked = ranked[:MAX_ASKED]
    if not asked:
        return [], 1.0
    texts = [(one.sentence.text, other.sentence.text) for _, one, other in asked]
    forth = contradiction(texts)
    back = contradiction([(b, a) for a, b in texts])
    found = [
        _conflict(one, other, ids, origin="entailment", probability=min(there, here))
        for (_, one, other), there, here in zip(asked, forth, back, strict=True)
        if min(there, here) >= SURE
    ]
    return found, len(asked) / len(ranked)


def _alike(said: Sequence[_Said]) -> Iterator[tuple[float, _Said, _Said]]:
    words = [folded_words(each.sentence.text) for each in said]
    places: dict[str, list[int]] = {}
    for number, each in enumerate(said):
        met: set[int] = set()
        for word in words[number]:
            for before in places.get(word, ())[-_RECENT:]:
                if before in met or said[before].passage == each.passage:
                    continue
                met.add(before)
                if each.sentence.text == said[before].sentence.text:
                    continue
                union = len(words[number] | words[before])
                share = len(words[number] & words[before]) / union
                if share >= _ALIKE:
                    yield share, said[before], each
            places.setdefault(word, []).append(number)
