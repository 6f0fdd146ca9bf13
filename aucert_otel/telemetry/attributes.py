"""A report, an action and a finding as flat attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aucert_otel.costs import Costs
from aucert_otel.report import StageReport
from aucert_otel.telemetry import names
from aucert_otel.telemetry.boundary import MAX_ITEMS, AttributeValue
from aucert_otel.verdict import Finding


if TYPE_CHECKING:
    from collections.abc import Callable

    from aucert_otel.telemetry.boundary import Boundary

Attributes = dict[str, AttributeValue]

_DETAILS = frozenset({names.STAGES, names.ACTION_ROW, names.MODE, names.CRITERIA_PASSED})
"""What only the verify span carries: how the verdict came about, one span further down."""


def summary(attributes: Attributes) -> Attributes:
    """What the generate span repeats of its last verify span. Each attribute there costs the caller."""
    return {key: value for key, value in attributes.items() if key not in _DETAILS}


def cost_attributes(costs: Costs, *, label: Callable[[str], str]) -> Attributes:
    """What it cost, where that is known, and what could not be priced."""
    attributes: Attributes = {}
    if costs.verification is not None:
        attributes[names.COST_USD] = costs.verification
    if (total := costs.total) is not None:
        attributes[names.COST_TOTAL_USD] = total
    if costs.unpriced:
        attributes[names.COST_UNPRICED] = [label(name) for name in costs.unpriced[:MAX_ITEMS]]
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
    if stage.neutral is not None:
        attributes[names.JUDGE_NEUTRAL] = stage.neutral
    if stage.votes:
        attributes[names.STAGE_VOTES] = [label(str(vote)) for vote in stage.votes[:MAX_ITEMS]]
    return attributes
