"""Small real verifiers and generators that telemetry and background tests share."""

from __future__ import annotations

from typing import Any

from aucert_otel import (
    Cascade,
    Estimate,
    Evidence,
    Finding,
    Generation,
    Harness,
    Reason,
    Stage,
    StageReport,
    Verdict,
)
from aucert_otel.telemetry import Telemetry


def length(generation: Generation) -> Finding:
    """Short enough: a rule whose fact can repair."""
    if len(generation.output) <= 20:
        return Finding("short", Verdict.PASS, score=1.0)
    fact = Evidence(f"{len(generation.output)} characters", origin="rule")
    return Finding(
        "short",
        Verdict.FAIL,
        score=0.0,
        why="the answer is too long",
        claim=generation.output,
        evidence=(fact,),
        reason=Reason.LENGTH,
        source="article 1 v2",
    )


def no_evidence(generation: Generation) -> Finding:
    """A failure nothing outside the generator speaks to: it cannot be repaired."""
    if "bad" in generation.output:
        return Finding("kind", Verdict.FAIL, score=0.25, reason=Reason.FORBIDDEN)
    return Finding("kind", Verdict.PASS, score=0.75)


def unsure(generation: Generation) -> Finding:
    return Finding("clear", Verdict.UNCLEAR, score=0.5, reason=Reason.ABSTAINED)


async def judge(generation: Generation) -> StageReport:
    """An asynchronous check that passes and costs something."""
    return StageReport(
        (Finding("faithful", Verdict.PASS, score=0.875),), cost_usd=0.0078125, calls=2
    )


class Raises:
    """An asynchronous check that raises, and asks nobody who could send a bill."""

    estimate = Estimate(usd=0.0)

    def __init__(self, error: BaseException, name: str = "judge") -> None:
        self.error = error
        self.name = name

    async def verify(self, generation: Generation) -> StageReport:
        raise self.error


def harness(*checks: Any, telemetry: Telemetry | None = None, **options: Any) -> Harness:
    """A harness whose cascade is called ``c``, version ``v1``."""
    stages = [check if isinstance(check, Stage) else Stage(check) for check in checks]
    return Harness(Cascade("c", stages, version="v1"), telemetry=telemetry, name="reply", **options)
