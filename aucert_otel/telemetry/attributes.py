"""A report, an action and a finding as flat attributes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aucert_otel.telemetry import names
from aucert_otel.telemetry.boundary import MAX_ITEMS, AttributeValue
from aucert_otel.verdict import Costs, Finding, Report, StageReport, Status, Verdict


if TYPE_CHECKING:
    from collections.abc import Callable

    from aucert_otel.telemetry.boundary import Boundary

Attributes = dict[str, AttributeValue]


ShapeKey = tuple[tuple[str, str, str | None], ...]


@dataclass(frozen=True, slots=True)
class Shape:
    """Which criteria passed, failed or stayed unclear, and why: the same few over and over."""

    key: ShapeKey = ()
    """The findings again, with names fit to leave."""
    passed: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    unclear: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()


def shape_key(findings: Iterable[Finding]) -> ShapeKey:
    """What tells one shape from another."""
    # `_value_` is the plain string behind an enum's member; `.value` is ten times slower.
    return tuple(
        [
            (f.criterion, f.verdict._value_, None if f.reason is None else f.reason._value_)
            for f in findings
        ]
    )


def shape_of(key: ShapeKey, label: Callable[[str], str]) -> Shape:
    """The shape behind a key, its names fit to leave."""

    def names_of(verdict: Verdict) -> tuple[str, ...]:
        return tuple(dict.fromkeys(label(c) for c, v, _ in key if v == verdict))[:MAX_ITEMS]

    return Shape(
        tuple((label(c), v, r) for c, v, r in key),
        names_of(Verdict.PASS),
        names_of(Verdict.FAIL),
        names_of(Verdict.UNCLEAR),
        tuple(dict.fromkeys(r for _, v, r in key if r is not None and v != Verdict.PASS)),
    )


def verdict_attributes(
    report: Report,
    shape: Shape,
    *,
    label: Callable[[str], str],
    action: str | None = None,
    row: str | None = None,
    costs: Costs | None = None,
    tenant: str | None = None,
    mode: str | None = None,
    probability: float | None = None,
    repair_outcome: str | None = None,
) -> Attributes:
    """The verdict keys. They are few, bounded, and set last, so no limit can evict them."""
    attributes: Attributes = {
        names.VERDICT: report.verdict._value_,
        names.CASCADE_NAME: label(report.cascade),
        names.CASCADE_VERSION: label(report.cascade_version),
        names.STAGE_REACHED: len(report.stages),
        names.STAGES: [_stage_result(s, label) for s in report.stages[:MAX_ITEMS]],
        names.CERTIFIED: report.certified,
    }
    if action is not None:
        attributes[names.ACTION] = action
    if row is not None:
        attributes[names.ACTION_ROW] = row
    if report.confidence is not None:
        attributes[names.CONFIDENCE] = report.confidence
    if tenant is not None:
        attributes[names.TENANT] = label(tenant)
    if mode is not None:
        attributes[names.MODE] = mode
    if probability is not None:
        attributes[names.SAMPLING_PROBABILITY] = probability
    if repair_outcome is not None:
        attributes[names.REPAIR_OUTCOME] = repair_outcome
    if shape.passed:
        attributes[names.CRITERIA_PASSED] = shape.passed
    if shape.failed:
        attributes[names.CRITERIA_FAILED] = shape.failed
    if shape.unclear:
        attributes[names.CRITERIA_UNCLEAR] = shape.unclear
    if shape.reasons:
        attributes[names.REASONS] = shape.reasons
    costs = costs or report.costs
    if costs.verification is not None:
        attributes[names.COST_USD] = costs.verification
    if (total := costs.total) is not None:
        attributes[names.COST_TOTAL_USD] = total
    if costs.unpriced:
        attributes[names.COST_UNPRICED] = [label(name) for name in costs.unpriced[:MAX_ITEMS]]
    return attributes


def _stage_result(stage: StageReport, label: Callable[[str], str]) -> str:
    result = stage.verdict if stage.status is Status.OK and stage.verdict else stage.status
    return f"{label(stage.stage)}={result._value_}"


def evaluation_attributes(report: Report, *, label: Callable[[str], str]) -> Attributes:
    """The verdict as a whole, as one GenAI evaluation result."""
    attributes: Attributes = {
        names.EVALUATION_NAME: names.VERDICT,
        names.EVALUATION_LABEL: report.verdict._value_,
        names.CASCADE_NAME: label(report.cascade),
        names.STAGE_NAME: label(report.stage),
    }
    if report.confidence is not None:
        attributes[names.EVALUATION_SCORE] = report.confidence
    return attributes


def finding_attributes(finding: Finding, boundary: Boundary) -> Attributes:
    """One finding as a GenAI evaluation result; what may quote the answer only with capture on."""
    attributes: Attributes = {
        names.EVALUATION_NAME: boundary.label(finding.criterion),
        names.EVALUATION_LABEL: finding.verdict.value,
    }
    if finding.score is not None:
        attributes[names.EVALUATION_SCORE] = finding.score
    if finding.reason is not None:
        attributes[names.FINDING_REASON] = finding.reason.value
    if finding.source is not None:
        attributes[names.FINDING_SOURCE] = boundary.label(finding.source)
    if not boundary.capture_content:
        return attributes
    for key, text in (
        (names.EVALUATION_EXPLANATION, finding.why),
        (names.FINDING_CLAIM, finding.claim),
    ):
        if text and (captured := boundary.content(text)) is not None:
            attributes[key] = captured
    if finding.evidence:
        facts = finding.evidence[:MAX_ITEMS]
        attributes[names.FINDING_EVIDENCE] = [boundary.content(f.text) or "" for f in facts]
        attributes[names.FINDING_EVIDENCE_ID] = [
            boundary.label(f.passage_id or f.origin) for f in facts
        ]
    return attributes


def stage_attributes(stage: StageReport, *, label: Callable[[str], str]) -> Attributes:
    """One stage, as a span's or an event's attributes."""
    attributes: Attributes = {
        names.STAGE_NAME: label(stage.stage),
        names.STAGE_STATUS: stage.status.value,
        names.STAGE_CALLS: stage.calls,
    }
    if stage.status == "ok" and stage.verdict is not None:
        attributes[names.STAGE_VERDICT] = stage.verdict.value
    if stage.confidence is not None:
        attributes[names.STAGE_CONFIDENCE] = stage.confidence
    if stage.cost_usd is not None:
        attributes[names.STAGE_COST_USD] = stage.cost_usd
    if stage.unpriced:
        attributes[names.COST_UNPRICED] = [label(name) for name in stage.unpriced[:MAX_ITEMS]]
    if stage.error is not None:
        attributes[names.STAGE_ERROR] = label(stage.error)
    return attributes
