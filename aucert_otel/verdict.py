"""What a check found: findings, the report of a stage, the report of a whole run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from enum import StrEnum
from typing import Any, TypeVar


Word = TypeVar("Word", bound=StrEnum)


class Verdict(StrEnum):
    """What a check says. There is no fourth value: a check that broke has a `Status` instead."""

    PASS = "pass"  # noqa: S105 - a verdict, not a password
    FAIL = "fail"
    UNCLEAR = "unclear"


class Status(StrEnum):
    """Whether a planned check ran at all. An infrastructure fault is a status, never a verdict."""

    OK = "ok"
    ERROR = "error"
    REFUSED = "refused"
    UNAVAILABLE = "unavailable"
    OVER_BUDGET = "over_budget"
    SKIPPED = "skipped"
    """The check does not apply to this answer and was not meant to run."""

    @property
    def did_not_run(self) -> bool:
        """A check that was planned and is missing: everything but `OK` and `SKIPPED`."""
        return self not in (Status.OK, Status.SKIPPED)


class Reason(StrEnum):
    """Why a finding is not a pass: a closed vocabulary, safe as a span or metric attribute."""

    CONTRADICTED = "contradicted"
    UNSUPPORTED = "unsupported"
    STALE_EVIDENCE = "stale_evidence"
    CONFLICTING_EVIDENCE = "conflicting_evidence"
    NO_EVIDENCE = "no_evidence"
    NO_CHECKABLE_CLAIMS = "no_checkable_claims"
    MALFORMED = "malformed"
    SCHEMA = "schema"
    OUT_OF_VOCABULARY = "out_of_vocabulary"
    REFUSED = "refused"
    ABSTAINED = "abstained"
    TRUNCATED = "truncated"
    FORGED = "forged"
    FORBIDDEN = "forbidden"
    REQUIRED = "required"
    LENGTH = "length"
    PREDICATE = "predicate"
    INCONSISTENT = "inconsistent"
    LOW_CONFIDENCE = "low_confidence"
    NOT_CHECKED = "not_checked"


EVIDENCE_PROBLEMS = frozenset({Reason.STALE_EVIDENCE, Reason.CONFLICTING_EVIDENCE})
"""Reasons no regeneration can mend: the generator would read the same passage again."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A fact from outside the generator that speaks against (or for) a claim."""

    text: str
    """The exact sentence, fact or output."""
    origin: str = "passage"
    """``passage``, ``rule`` or ``execution``: who knows it."""
    passage_id: str | None = None
    version: str | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check says about one criterion, or about one claim under a criterion.

    Args:
        criterion: The condition a good answer meets, by name. Pass means the same on every line.
        score: The probability that the criterion HOLDS, in [0, 1], or ``None`` if the check has
            no opinion on how sure it is.
        why: One sentence. It may quote the answer, so it is treated as content.
        claim: The sentence of the answer (or the question) the finding points at. Failures are
            counted by it.
        evidence: The facts from outside that decide. A repair needs at least one.
        source: Where the criterion came from, such as ``article 305 v3``.
        measures: The raw numbers behind the verdict, such as ``{"contradiction": 0.996}``.

    Raises:
        ValueError: ``score`` is not a number in [0, 1], a verdict or reason is not in its
            vocabulary, or a finding that is not a pass names no ``reason``.
        TypeError: another field is not of its type.
    """

    criterion: str
    verdict: Verdict
    _: KW_ONLY
    score: float | None = None
    why: str = ""
    claim: str | None = None
    evidence: tuple[Evidence, ...] = ()
    reason: Reason | None = None
    source: str | None = None
    measures: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.score is not None and not 0.0 <= self.score <= 1.0:  # NaN fails this too
            raise ValueError(
                f"Finding({self.criterion!r}).score is {self.score!r}: a score is the probability "
                "that the criterion holds, in [0, 1], or None"
            )
        # Findings come from other people's checks, and what a judge's reply was parsed into is not
        # what its author believes. A word outside the vocabulary must never read as a pass.
        if type(self.verdict) is not Verdict:
            _set(self, "verdict", _word(Verdict, self.verdict, f"{self._place}.verdict"))
        if self.reason is not None and type(self.reason) is not Reason:
            _set(self, "reason", _word(Reason, self.reason, f"{self._place}.reason"))
        if self.evidence or type(self.evidence) is not tuple:
            _set(self, "evidence", _evidence(self.evidence, self._place))
        if not isinstance(self.criterion, str):
            raise _wrong(f"{self._place}.criterion", self.criterion, "its name, a text")
        if not (self.claim is None or isinstance(self.claim, str)):
            raise _wrong(f"{self._place}.claim", self.claim, "the sentence, a text, or None")
        if self.measures and not isinstance(self.measures, Mapping):
            raise _wrong(f"{self._place}.measures", self.measures, "numbers by name")
        if self.verdict is not Verdict.PASS and self.reason is None:
            raise ValueError(
                f"Finding({self.criterion!r}) is {self.verdict.value!r} without a reason: name one of "
                + ", ".join(Reason)
            )

    @property
    def _place(self) -> str:
        return f"Finding({self.criterion!r})"

    @property
    def subject(self) -> str:
        """What a failure points at: its claim, folded, or else its criterion.

        Two criteria tripping over one wrong sentence are one failure and need one fix.
        """
        if self.claim is None:
            return f"criterion:{self.criterion}"
        return " ".join(self.claim.casefold().split()).strip(" .!?\"'")


_set = object.__setattr__


def _word(vocabulary: type[Word], value: Any, place: str) -> Word:
    try:
        return vocabulary(value)
    except ValueError:
        allowed = ", ".join(vocabulary)
        raise ValueError(f"{place} is {value!r}: allowed are {allowed}") from None


def _wrong(place: str, value: object, mend: str) -> TypeError:
    return TypeError(f"{place} is {type(value).__name__}: give {mend}")


def _evidence(given: Any, place: str) -> tuple[Evidence, ...]:
    facts = (given,) if isinstance(given, Evidence) else tuple(given)
    for fact in facts:
        if not isinstance(fact, Evidence):
            raise _wrong(f"an item of {place}.evidence", fact, "Evidence(text, ...)")
    return facts


def combine(findings: Iterable[Finding]) -> Verdict:
    """One verdict from many: any fail fails, else any unclear is unclear, else pass.

    No findings at all is `Verdict.UNCLEAR`: a check that said nothing has not approved anything.
    """
    verdicts = {finding.verdict for finding in findings}
    if Verdict.FAIL in verdicts:
        return Verdict.FAIL
    if Verdict.UNCLEAR in verdicts or not verdicts:
        return Verdict.UNCLEAR
    return Verdict.PASS
