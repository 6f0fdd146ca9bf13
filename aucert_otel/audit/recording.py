"""From what a run found to the record that is kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

from aucert_otel.audit.canonical import finite
from aucert_otel.audit.reasoning import reasoning_of
from aucert_otel.audit.record import AuditRecord, Boundary, ContentOff, Mode
from aucert_otel.costs import Costs
from aucert_otel.generation import Generation
from aucert_otel.outcome import Outcome
from aucert_otel.repair import Failure, RepairRecord
from aucert_otel.report import Report, StageReport, Vote
from aucert_otel.verdict import Evidence, Finding


def record_of(
    generation: Generation,
    report: Report,
    *,
    action: str | None = None,
    action_row: str | None = None,
    trace_id: str | int | None = None,
    span_id: str | int | None = None,
    sampling_probability: float | None = None,
    mode: Mode = "inline",
    repair: RepairRecord | None = None,
    first: tuple[Generation, Report] | None = None,
    boundary: Boundary | None = None,
    timestamp: datetime | None = None,
    threshold: float | None = None,
    costs: Costs | None = None,
) -> AuditRecord:
    """Write down what a run decided about a generation.

    It never raises for anything a generation or a report may hold, and never copies the
    application's own objects.

    Args:
        generation: What was verified. Without a ``test_id`` the record gets a random one; it is
            not written back.
        report: What was found.
        action: What was done about it.
        action_row: The row of the action table that matched.
        trace_id: As hex digits, or as OpenTelemetry's integer; 0 means none.
        span_id: The same.
        sampling_probability: The probability with which it was chosen.
        mode: How the verification came about.
        repair: The repair round that was spent, if one was.
        first: The first draft and its report, when ``generation`` is a repaired one.
        boundary: What may be stored. ``None`` stores no content.
        timestamp: When it was decided; now if not given. One without a zone is taken as UTC.
        threshold: The confidence the settling gate asked for, where it decided by that alone.
        costs: What the whole run cost, where that is more than the report says: the generation,
            an earlier round, the repair.
    """
    guard = ContentOff() if boundary is None else boundary
    costs = report.costs if costs is None else costs
    drafts = (*(() if first is None else (first,)), (generation, report))
    return AuditRecord(
        test_id=_label(guard, generation.test_id) or str(uuid4()),
        scenario_id=_label(guard, generation.scenario_id),
        stage_reached=report.stage_reached,
        confidence_scores=tuple(
            score for stage in report.stages if (score := finite(stage.confidence)) is not None
        ),
        decision=report.verdict.value,
        reasoning=_name(guard, reasoning_of(report, threshold=threshold)),
        cost_usd=finite(costs.verification),
        latency_ms=_milliseconds(report.latency_s),
        timestamp=rfc3339(timestamp or datetime.now(UTC)),
        stage=_name(guard, report.stage),
        action=None if action is None else str(action),
        action_row=_label(guard, action_row),
        findings=tuple(_finding(guard, finding) for finding in report.findings),
        stages=tuple(_stage(guard, stage) for stage in report.stages),
        transcript=tuple(
            {
                "speaker": _name(guard, turn.speaker),
                "round": turn.round,
                "text": _content(guard, turn.text),
            }
            for stage in report.stages
            for turn in stage.transcript
        ),
        verification_usd=finite(costs.verification),
        generation_usd=finite(costs.generation),
        repair_usd=finite(costs.repair),
        total_usd=finite(costs.total),
        unpriced=tuple(_name(guard, name) for name in costs.unpriced),
        cascade=_name(guard, report.cascade),
        cascade_version=_name(guard, report.cascade_version),
        certified=report.certified,
        tenant=_label(guard, generation.tenant),
        model=_label(guard, generation.model),
        trace_id=_hex(trace_id, 32),
        span_id=_hex(span_id, 16),
        sampling_probability=finite(sampling_probability),
        mode=mode,
        repair=None if repair is None else _repair(guard, repair),
        drafts=tuple(
            {"output": output, "verdict": found.verdict.value}
            for draft, found in drafts
            if (output := guard.content(draft.output)) is not None
        ),
    )


def record_of_outcome(
    outcome: Outcome,
    *,
    sampling_probability: float | None = None,
    mode: Mode = "inline",
    boundary: Boundary | None = None,
    timestamp: datetime | None = None,
) -> AuditRecord:
    """Write down an outcome of the harness; see `record_of` for the arguments.

    Give ``timestamp`` where the record is built later than the decision was made.
    """
    first = outcome.first
    return record_of(
        outcome.generation,
        outcome.report,
        action=outcome.decision.action.value,
        action_row=outcome.decision.row,
        trace_id=outcome.trace_id,
        span_id=outcome.span_id,
        sampling_probability=sampling_probability,
        mode=mode,
        repair=outcome.repair,
        first=None
        if first is None or first.generation is outcome.generation
        else (first.generation, first.report),
        boundary=boundary,
        timestamp=timestamp,
        costs=outcome.costs,
        threshold=outcome.report.threshold,
    )


def rfc3339(moment: datetime) -> str:
    """A moment in UTC to the millisecond, such as ``2026-04-07T10:30:00.000Z``."""
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return moment.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def _label(guard: Boundary, text: object) -> str | None:
    return None if text is None else guard.label(_text(text))


def _name(guard: Boundary, text: object) -> str:
    return guard.label(_text(text))


def _content(guard: Boundary, text: object) -> str | None:
    return None if text is None else guard.content(_text(text))


def _text(value: object) -> str:
    # Other people's checks put things where text belongs. Ids are often numbers; what else it may
    # be is not ours to convert, which could run code or print a secret.
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int | float | UUID) else f"<{type(value).__qualname__}>"


def _milliseconds(seconds: float) -> float | None:
    value = finite(seconds)
    return None if value is None else finite(round(value * 1000, 3))


def _hex(value: str | int | None, digits: int) -> str | None:
    if isinstance(value, int):
        return f"{value:0{digits}x}" if value else None
    return value or None


def _finding(guard: Boundary, finding: Finding) -> dict[str, Any]:
    return {
        "criterion": _name(guard, finding.criterion),
        "verdict": finding.verdict.value,
        "score": finite(finding.score),
        "reason": None if finding.reason is None else finding.reason.value,
        "source": _label(guard, finding.source),
        "why": _content(guard, finding.why),
        "claim": _content(guard, finding.claim),
        "evidence": _evidence(guard, finding.evidence),
        "measures": _measures(guard, finding.measures),
    }


def _evidence(guard: Boundary, evidence: Iterable[Evidence]) -> list[dict[str, Any]]:
    return [
        {
            "text": _content(guard, fact.text),
            "origin": _name(guard, fact.origin),
            "passage_id": _label(guard, fact.passage_id),
            "version": _label(guard, fact.version),
        }
        for fact in evidence
    ]


def _measures(guard: Boundary, measures: Mapping[str, float]) -> dict[str, float | None]:
    return {_name(guard, name): finite(value) for name, value in measures.items()}


def _stage(guard: Boundary, stage: StageReport) -> dict[str, Any]:
    return {
        "stage": _name(guard, stage.stage),
        "verdict": None if stage.verdict is None else stage.verdict.value,
        "confidence": finite(stage.confidence),
        "status": stage.status.value,
        "error": _label(guard, stage.error),
        "cost_usd": finite(stage.cost_usd),
        "unpriced": [_name(guard, name) for name in stage.unpriced],
        "latency_ms": _milliseconds(stage.latency_s),
        "calls": stage.calls,
        "certified": stage.certified,
        "certificate": stage.certificate.value,
        "votes": [_vote(guard, vote) for vote in stage.votes],
        **({} if stage.neutral is None else {"neutral": stage.neutral}),
    }


def _vote(guard: Boundary, vote: Vote) -> dict[str, Any]:
    return {
        "voter": _name(guard, vote.voter),
        "verdict": None if vote.verdict is None else vote.verdict.value,
        "confidence": finite(vote.confidence),
        "reason": None if vote.reason is None else vote.reason.value,
        "why": _content(guard, vote.why),
        "status": vote.status.value,
        "error": _label(guard, vote.error),
        "label": _name(guard, vote.label),
    }


def _repair(guard: Boundary, repair: RepairRecord) -> dict[str, Any]:
    return {
        "outcome": _name(guard, repair.outcome),
        "cost_usd": finite(repair.cost_usd),
        "latency_ms": _milliseconds(repair.seconds),
        "records": [_failure(guard, failure) for failure in repair.failed],
    }


def _failure(guard: Boundary, failure: Failure) -> dict[str, Any]:
    return {
        "criterion": _name(guard, failure.criterion),
        "reason": None if failure.reason is None else failure.reason.value,
        "claim": _content(guard, failure.claim),
        "evidence": _evidence(guard, failure.evidence),
        "measures": _measures(guard, failure.measures),
    }
