"""From what several runs say about a criterion to one finding, with the votes on the record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Final

from aucert_otel.report import Vote
from aucert_otel.verdict import Evidence, Finding, Reason, Verdict
from aucert_verifiers.judge.quotes import Material, said
from aucert_verifiers.judge.reading import Judged, unclear
from aucert_verifiers.judge.rubric import PASSAGES, Criterion
from aucert_verifiers.packaging import ANSWER, PASSAGE, QUESTION, Package
from aucert_verifiers.stages.evaluation import Fault


MAJORITY: Final = "majority"
UNANIMOUS: Final = "unanimous"
AGREEMENT: Final = (MAJORITY, UNANIMOUS)
"""How many of the planned runs have to say the same about a criterion."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of the judge: a verdict for each criterion, or why there is none."""

    voter: str
    label: str
    _: KW_ONLY
    said: Mapping[str, Judged]
    """By criterion; empty where the judge did not reply."""
    fault: Fault | None = None

    def votes(self) -> tuple[Vote, ...]:
        """The run on the record: a vote for each criterion, so that it shows which one flipped."""
        if self.fault is not None:
            fault = self.fault
            return (Vote(self.voter, status=fault.status, error=fault.error, label=self.label),)
        return tuple(
            Vote(
                f"{self.voter}/{name}",
                judged.verdict,
                confidence=judged.sureness,
                why=judged.why,
                reason=judged.reason,
                error=judged.error,
                label=self.label,
            )
            for name, judged in self.said.items()
        )


@dataclass(frozen=True, slots=True)
class Counting:
    """How runs are counted.

    Args:
        agreement: ``majority`` of the planned runs, or ``unanimous``.
        sure_at: How sure the judge has to be of a criterion, in [0, 1]; ``None``: any sureness.
    """

    agreement: str = MAJORITY
    sure_at: float | None = None

    def count(
        self, criterion: Criterion, runs: Sequence[Run], shown: Package, material: Material
    ) -> Finding:
        """One finding about one criterion."""
        name, planned = criterion.name, len(runs)
        heard = [
            _of_what_was_shown(run.said[name], criterion, shown, material)
            for run in runs
            if name in run.said
        ]
        votes = Counter(judged.verdict for judged in heard)
        verdict = self._agreed(votes, planned)
        measures = {"covered": shown.share}
        if planned > 1:
            measures |= {
                "votes_pass": float(votes[Verdict.PASS]),
                "votes_fail": float(votes[Verdict.FAIL]),
                "votes_unclear": float(votes[Verdict.UNCLEAR]),
                "planned": float(planned),
            }
        source = None if criterion.source is None else str(criterion.source)
        same = [judged for judged in heard if judged.verdict is verdict]
        if verdict is None or verdict is Verdict.UNCLEAR:
            reasons = {judged.reason for judged in heard if judged.verdict is Verdict.UNCLEAR}
            split = len(votes) > 1 or len(reasons) != 1
            return Finding(
                name,
                Verdict.UNCLEAR,
                score=heard[0].score if planned == 1 else None,
                why=_why(votes, planned, heard if planned == 1 else ()),
                reason=Reason.INCONSISTENT if split else reasons.pop(),
                source=source,
                measures=measures,
            )
        # Who did not say so counts as a run that was not sure at all.
        sureness = sum(judged.sureness or 0.0 for judged in same) / planned
        found = Finding(
            name,
            verdict,
            score=same[0].score if planned == 1 else _holds(verdict, sureness),
            why=_why(votes, planned, same),
            reason=None if verdict is Verdict.PASS else Reason.UNSUPPORTED,
            source=source,
            measures=measures,
        )
        if verdict is Verdict.FAIL:
            found = _pointed(found, same, material)
        if self.sure_at is not None and sureness < self.sure_at:
            return replace(found, verdict=Verdict.UNCLEAR, reason=Reason.LOW_CONFIDENCE)
        return found

    def _agreed(self, votes: Counter[Verdict], planned: int) -> Verdict | None:
        for verdict, count in votes.items():
            if count == planned or (self.agreement == MAJORITY and 2 * count > planned):
                return verdict
        return None


def _holds(verdict: Verdict, sureness: float) -> float:
    """The probability that the criterion holds, from how sure a verdict on it is."""
    return sureness if verdict is Verdict.PASS else 1.0 - sureness


def _pointed(found: Finding, judged: Sequence[Judged], material: Material) -> Finding:
    """A failure with the sentence it points at and the evidence against it, where they exist."""
    claim = _first(_claim(each.claim, material) for each in judged)
    evidence: Evidence | None = _first(
        material.evidence(each.evidence)
        for each in judged
        if each.evidence is not None and said(each.evidence)
    )
    measures, notes = dict(found.measures), []
    if claim is None:
        measures["claim_found"] = 0.0
        notes.append("the sentence it names is neither in the reply nor in the question")
    if evidence is None and any(said(each.evidence) for each in judged):
        measures["evidence_found"] = 0.0
        notes.append("the evidence it quotes is in no passage")
    return replace(
        found,
        claim=claim,
        evidence=() if evidence is None else (evidence,),
        reason=Reason.UNSUPPORTED if evidence is None else Reason.CONTRADICTED,
        why=found.why if not notes else f"{found.why} ({'; '.join(notes)})",
        measures=measures,
    )


def _claim(quotation: str | None, material: Material) -> str | None:
    if quotation is None or not said(quotation):
        return None
    return material.in_answer(quotation) or material.in_question(quotation)


def _first(found: Iterable[Evidence | str | None]) -> Any:
    return next((each for each in found if each is not None), None)


def _of_what_was_shown(
    judged: Judged, criterion: Criterion, shown: Package, material: Material
) -> Judged:
    """A judge cannot approve what it was not shown, nor miss support in what it was not shown."""
    needs_passages = PASSAGES in criterion.needs
    all_support = not needs_passages or shown.shows_all(PASSAGE)
    if judged.verdict is Verdict.PASS:
        seen = all_support and shown.shows_all(ANSWER) and shown.shows_all(QUESTION)
    elif judged.verdict is Verdict.FAIL:
        in_answer = judged.claim is not None and material.in_answer(judged.claim) is not None
        seen = all_support and (shown.shows_all(ANSWER) or in_answer)
    else:
        return judged
    if seen:
        return judged
    what = f"said {judged.verdict.value} having been shown {shown.share:.0%} of the material"
    return unclear(Reason.NOT_CHECKED, what, judged.why)


def _why(votes: Counter[Verdict], planned: int, judged: Sequence[Judged]) -> str:
    first = next((each.why or each.error or "" for each in judged), "")
    if planned == 1:
        return first
    parts = [f"{votes[verdict]} {verdict.value}" for verdict in Verdict if votes[verdict]]
    missing = planned - votes.total()
    if missing:
        parts.append(f"{missing} without a vote")
    counted = f"of {planned} runs: {', '.join(parts)}"
    return f"{counted}. {first}" if first else counted


def verdict_of(findings: Sequence[Finding]) -> tuple[Verdict, float | None]:
    """What criteria amount to, and how sure that is.

    Whatever is unclear comes before any failure is counted: a stronger judge, or a person, has to
    settle it first. A pass is as sure as its least sure criterion, a fail as its surest failure.
    """
    said_ = {finding.verdict for finding in findings}
    if not said_ or Verdict.UNCLEAR in said_:
        return Verdict.UNCLEAR, None
    verdict = Verdict.FAIL if Verdict.FAIL in said_ else Verdict.PASS
    scores = [finding.score for finding in findings if finding.verdict is verdict]
    known = [score for score in scores if score is not None]
    if len(known) != len(scores):
        return verdict, None
    return verdict, min(known) if verdict is Verdict.PASS else 1.0 - min(known)
