"""Whether a passage may support a claim at all: looked at before any claim is scored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import UTC, date, datetime
from enum import StrEnum
from typing import Final

from aucert_otel.errors import ConfigurationError
from aucert_otel.generation import Generation, Passage
from aucert_otel.verdict import Reason
from aucert_verifiers.grounding.conflicts import Conflict, Contradiction, find_conflicts


DEFAULT_SOURCE_TYPES: Final = ("policy",)
"""Source types that may state policy, unless you say otherwise."""
CHECKED_FIELDS: Final = (
    "version",
    "latest_version",
    "superseded_by",
    "effective_from",
    "source_type",
)
"""The fields of a passage that say whether it is current."""


class Problem(StrEnum):
    """Why a passage may not support a claim: a closed vocabulary."""

    EMPTY = "empty"
    """It has no text."""
    SUPERSEDED = "superseded"
    """Another document has taken its place."""
    NOT_LATEST = "not_latest"
    """Its version is not the latest."""
    NOT_YET_IN_FORCE = "not_yet_in_force"
    """It takes effect after the date the answer is about."""
    SOURCE_TYPE = "source_type"
    """It comes from a kind of source that may not state policy, such as an old ticket."""
    CONFLICTING = "conflicting"
    """Another usable passage says something else about the same condition. It concerns single
    sentences: what else the passage says may still be used."""


_REASONS: Final = {
    Problem.CONFLICTING: Reason.CONFLICTING_EVIDENCE,
    Problem.EMPTY: Reason.NO_EVIDENCE,
}


@dataclass(frozen=True, slots=True)
class Standing:
    """What is known of one passage's right to support a claim."""

    index: int
    """Which passage of the generation's evidence it is, counted from 0."""
    passage: Passage
    _: KW_ONLY
    problems: tuple[Problem, ...] = ()
    """Every problem that concerns all of it, the gravest first. Empty: it may be used."""
    why: str = ""
    """One sentence on the gravest problem. It names versions, dates and kinds, never the text."""
    not_checked: tuple[str, ...] = ()
    """Fields that nobody filled in, or that cannot be read, so that nothing could be looked at:
    see `CHECKED_FIELDS`. ``as_of`` where today stands for the date the answer is about."""
    conflicts: tuple[Conflict, ...] = ()
    """Where another usable passage says something else."""

    @property
    def usable(self) -> bool:
        """The passage may support a claim, as far as is known."""
        return not self.problems

    @property
    def reason(self) -> Reason | None:
        """What a claim that only this passage supports is logged with; ``None`` if it is usable."""
        return _REASONS.get(self.problems[0], Reason.STALE_EVIDENCE) if self.problems else None

    def problem_at(self, sentence: str) -> Problem | None:
        """Why this sentence of the passage may not support a claim; ``None`` if it may.

        Args:
            sentence: A sentence as `passage_sentences` gives it.
        """
        if self.problems:
            return self.problems[0]
        disputed = any(conflict.concerns(sentence) for conflict in self.conflicts)
        return Problem.CONFLICTING if disputed else None

    def reason_at(self, sentence: str) -> Reason | None:
        """The reason for `problem_at`; ``None`` if the sentence may support a claim."""
        problem = self.problem_at(sentence)
        return None if problem is None else _REASONS.get(problem, Reason.STALE_EVIDENCE)


@dataclass(frozen=True, slots=True)
class Assessment:
    """What the evidence of one answer may be used for."""

    standings: tuple[Standing, ...] = ()
    """One for each passage, in order."""
    _: KW_ONLY
    given: bool = True
    """Somebody knows what search returned. If not, ``standings`` is empty."""
    conflicts: tuple[Conflict, ...] = ()
    """Where usable passages disagree: whoever looks after them should know."""
    as_of: date | None = None
    """The date the passages had to be in force on."""
    covered: float = 1.0
    """The share of the comparable pairs of sentences that was looked at for conflicts."""

    @property
    def usable(self) -> tuple[Standing, ...]:
        """The passages that may support a claim."""
        return tuple(standing for standing in self.standings if standing.usable)

    @property
    def nothing_to_read(self) -> bool:
        """There are no passages, or none has any text."""
        return all(Problem.EMPTY in standing.problems for standing in self.standings)

    @property
    def not_checked(self) -> tuple[str, ...]:
        """Fields that were not known of at least one usable passage."""
        names = (name for standing in self.usable for name in standing.not_checked)
        return tuple(dict.fromkeys(names))


def _today() -> date:
    return datetime.now(UTC).date()


@dataclass(frozen=True, slots=True)
class Currency:
    """Looks at passages before any claim is scored against them.

    A passage may support a claim if its version is the latest, nothing supersedes it, it is in force
    on the date the answer is about, its kind of source may state policy, and no other such passage
    disagrees. A field that is not known is recorded as not checked, and never assumed to be good or
    bad.

    Args:
        source_types: Kinds of source that may state policy, compared without case; ``None`` allows
            every kind.
        today: The date where an answer does not say what date it is about, in UTC by default.

    Raises:
        ConfigurationError: ``source_types`` is empty or holds something else than names.
    """

    _: KW_ONLY
    source_types: tuple[str, ...] | None = DEFAULT_SOURCE_TYPES
    today: Callable[[], date] = _today
    _allowed: frozenset[str] | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        allowed = None
        if self.source_types is not None:
            given: object = self.source_types
            if not isinstance(given, (tuple, list, set, frozenset)) or not all(
                isinstance(each, str) and each.strip() for each in given
            ):
                raise ConfigurationError(
                    f'currency.source_types is {given!r}: give a list of names, such as ["policy"], or '
                    "None to allow every kind of source"
                )
            object.__setattr__(self, "source_types", tuple(given))
            allowed = frozenset(map(_folded, given))
            if not allowed:
                raise ConfigurationError(
                    "currency.source_types is empty, so no passage could support anything: name the "
                    "kinds of source that may state policy, or give None to allow every kind"
                )
        object.__setattr__(self, "_allowed", allowed)

    @property
    def fingerprint(self) -> str:
        """Changes with what a passage has to meet."""
        return f"currency/1|{None if self._allowed is None else sorted(self._allowed)}"

    def assess(
        self, generation: Generation, contradiction: Contradiction | None = None
    ) -> Assessment:
        """Look at all of an answer's evidence.

        Args:
            generation: The answer, with its evidence and the date it is about.
            contradiction: Finds contradictions between passages other than in numbers.

        Raises:
            MissingExtraError: the extra ``grounding`` is not installed.
        """
        as_of = _date(generation.as_of)
        assumed = as_of is None
        when = as_of or self.today()
        if generation.evidence is None:
            return Assessment(given=False, as_of=when)
        standings = [
            self._standing(index, passage, when, assumed=assumed)
            for index, passage in enumerate(generation.evidence)
        ]
        usable = [(each.index, each.passage) for each in standings if each.usable]
        looked = find_conflicts(usable, contradiction)
        if looked.found:
            standings = [_disputed(each, looked.found) for each in standings]
        return Assessment(
            tuple(standings), conflicts=looked.found, as_of=when, covered=looked.covered
        )

    def _standing(self, index: int, passage: Passage, when: date, *, assumed: bool) -> Standing:
        problems: list[tuple[Problem, str]] = []
        if not passage.text.strip():
            problems.append((Problem.EMPTY, "the passage has no text"))
        if _said(passage.superseded_by):
            problems.append((Problem.SUPERSEDED, f"it is superseded by {passage.superseded_by}"))
        version, latest = _version(passage.version), _version(passage.latest_version)
        if version and latest and version != latest:
            why = f"it is version {passage.version}, and the latest is {passage.latest_version}"
            problems.append((Problem.NOT_LATEST, why))
        starts = _date(passage.effective_from)
        if starts is not None and starts > when:
            why = f"it takes effect on {starts.isoformat()}, after {when.isoformat()}"
            problems.append((Problem.NOT_YET_IN_FORCE, why))
        kind = passage.source_type
        if self._allowed is not None and _said(kind) and _folded(kind) not in self._allowed:
            names = ", ".join(self.source_types or ())
            why = f"its source type is {kind}, and allowed are {names}"
            problems.append((Problem.SOURCE_TYPE, why))
        return Standing(
            index,
            passage,
            problems=tuple(problem for problem, _ in problems),
            why=problems[0][1] if problems else "",
            not_checked=_not_checked(passage, starts, assumed=assumed),
        )


def _disputed(standing: Standing, found: Sequence[Conflict]) -> Standing:
    own = tuple(each for each in found if standing.index in (each.first, each.second))
    if not own:
        return standing
    return Standing(
        standing.index,
        standing.passage,
        problems=standing.problems,
        why=standing.why,
        not_checked=standing.not_checked,
        conflicts=own,
    )


def _not_checked(passage: Passage, starts: date | None, *, assumed: bool) -> tuple[str, ...]:
    """What could not be looked at.

    That nothing supersedes a passage is known only where somebody keeps the field at all: "" says
    that nothing does, and ``None`` that nobody knows.
    """
    names = [name for name in ("version", "latest_version") if not _version(getattr(passage, name))]
    if passage.superseded_by is None:
        names.append("superseded_by")
    if starts is None:
        names.append("effective_from")
    elif assumed:
        names.append("as_of")
    if not _said(passage.source_type):
        names.append("source_type")
    return tuple(names)


def _said(value: object) -> bool:
    return value is not None and bool(str(value).strip())


def _folded(name: object) -> str:
    return "_".join(str(name).casefold().replace("-", " ").replace("_", " ").split())


def _version(value: object) -> str:
    """A version as it is compared: "v3", "V3" and 3 are one."""
    if value is None:
        return ""
    text = str(value).strip().casefold()
    return text[1:] if text[:1] == "v" and text[1:2].isdigit() else text


def _date(value: object) -> date | None:
    """A date, whatever it is given as; ``None`` for what cannot be read."""
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    if isinstance(value, str):
        try:
            return datetime.fromisoformat(value.strip()).date()
        except ValueError:
            return None
    return None
