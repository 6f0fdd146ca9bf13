"""Answers, checks and generators with known behaviour, for the tests of the core rooms."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from aucert_otel import (
    Evidence,
    Finding,
    Generation,
    Passage,
    Reason,
    RepairRequest,
    StageReport,
    Usage,
    Verdict,
)


CLAIM = "Damage can be reported up to 30 days after delivery"
FACT = Evidence("Damage must be reported within 48 hours of delivery.", passage_id="305")
ARTICLE = Passage("Damage must be reported within 48 hours of delivery. ...", id="305", version="3")


def passing(criterion: str = "policy", score: float | None = 1.0, **more: Any) -> Finding:
    return Finding(criterion, Verdict.PASS, score=score, **more)


def failing(criterion: str = "policy", claim: str | None = CLAIM, **more: Any) -> Finding:
    given = {"score": 0.0, "evidence": (FACT,), "reason": Reason.CONTRADICTED, **more}
    return Finding(criterion, Verdict.FAIL, claim=claim, **given)


def unclear(criterion: str = "policy", reason: Reason = Reason.ABSTAINED) -> Finding:
    return Finding(criterion, Verdict.UNCLEAR, reason=reason)


@dataclass
class Says:
    """A check that says the same of every answer: findings, a report, or an exception it raises."""

    found: Any
    name: str = "check"
    blocking: bool = False
    fingerprint: str | None = None
    seen: list[str] = field(default_factory=list)

    def verify(self, generation: Generation) -> Any:
        self.seen.append(generation.output)
        if isinstance(self.found, BaseException):
            raise self.found
        return self.found


@dataclass
class Judge:
    """The same, as a check that waits on the SDK's own loop."""

    found: Any
    name: str = "judge"
    fingerprint: str | None = None
    seen: list[str] = field(default_factory=list)

    async def verify(self, generation: Generation) -> Any:
        self.seen.append(generation.output)
        if isinstance(self.found, BaseException):
            raise self.found
        return self.found


def good_words(bad: str = "30 days", cost_usd: float | None = 0.0) -> Callable[[Generation], Any]:
    """A rule: the answer must not hold the bad words; a failure can be repaired."""

    def words(generation: Generation) -> StageReport:
        failed = bad in generation.output
        return StageReport((failing() if failed else passing(),), cost_usd=cost_usd)

    return words


@dataclass
class Writer:
    """A generator that writes its drafts in turn, or raises them, and notes what it was asked."""

    drafts: Iterable[Any]
    cost_usd: float | None = None
    requests: list[RepairRequest | None] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.drafts = list(self.drafts)

    def __call__(self, request: RepairRequest | None) -> Generation:
        draft = self.drafts[len(self.requests)]
        self.requests.append(request)
        if isinstance(draft, BaseException):
            raise draft
        if isinstance(draft, Generation):
            return draft
        usage = None if self.cost_usd is None else Usage(cost_usd=self.cost_usd)
        return Generation(draft, question="q", evidence=(ARTICLE,), usage=usage)
