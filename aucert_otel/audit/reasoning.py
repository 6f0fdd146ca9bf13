"""The sentence that says why a run decided as it did.

It is ours, built from stage names, criteria, reasons and numbers only. It never quotes the answer,
so it may be kept where content may not.
"""

from __future__ import annotations

import math

from aucert_otel.report import Report
from aucert_otel.verdict import Finding, Verdict, combine


_MOST_NAMED = 5
"""Criteria a sentence names before it counts the rest."""


def reasoning_of(report: Report, *, threshold: float | None = None) -> str:
    """Say in one sentence what settled a report, or what kept it from being settled.

    Args:
        report: What the run found.
        threshold: The confidence in [0, 1] that the gate of the settling stage asked for, where
            that gate decided by confidence alone.
    """
    parts = []
    if not report.stages:
        return "no stage ran"
    if report.settled:
        parts.append(_settled(report, threshold))
    elif report.unclear:
        parts.append(f"unsettled after {report.stage}: {_named(report.unclear, 'unclear ')}")
    elif not report.missing:
        parts.append(f"unsettled after {report.stage}{_at(report.confidence)}")
    parts.extend(f"{stage.stage} did not run: {stage.status.value}" for stage in report.missing)
    return "; ".join(parts)


def _settled(report: Report, threshold: float | None) -> str:
    if threshold is not None and report.confidence is not None:
        relation = "exceeds" if report.confidence > threshold else "meets"
        if report.confidence < threshold:
            relation = "is below"
        name = report.stage.replace("_", "-").capitalize()
        return (
            f"{name} score {percent(report.confidence)} {relation} {percent(threshold)} threshold"
        )
    said = f"{report.stage} settled {report.verdict.value}"
    if report.verdict is Verdict.FAIL and report.failed:
        return f"{said}: {_named(report.failed)}"
    if report.verdict is Verdict.UNCLEAR and report.unclear:
        return f"{said}: {_named(report.unclear)}"
    held = _held(report.findings)
    return f"{said}{held}{_at(report.confidence)}"


def _held(findings: tuple[Finding, ...]) -> str:
    by_criterion: dict[str, list[Finding]] = {}
    for finding in findings:
        by_criterion.setdefault(finding.criterion, []).append(finding)
    if not by_criterion:
        return ""
    holding = sum(combine(found) is Verdict.PASS for found in by_criterion.values())
    return f": {holding} of {len(by_criterion)} criteria hold"


def _named(findings: tuple[Finding, ...], word: str = "") -> str:
    # a dict keeps the order and names a criterion that failed on several claims once
    named = list(
        dict.fromkeys(
            f"{f.criterion} {word}({f.reason.value})" if f.reason else f.criterion for f in findings
        )
    )
    more = len(named) - _MOST_NAMED
    return ", ".join(named[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _at(confidence: float | None) -> str:
    return "" if confidence is None else f" at confidence {percent(confidence)}"


def percent(share: float) -> str:
    """``0.982`` as ``98.2%``: two decimals at most, rounded down so that only 1 reads as 100%."""
    hundredths = math.floor(share * 10_000 + 1e-6)
    return f"{hundredths / 100:g}%"
