"""The part of a verdict that repeats from answer to answer, made once.

An application sees the same few results over and over: the same cascade, criteria, verdict and
action, with another confidence and another cost. Building a dozen attributes anew for each would
cost the caller more than the checks do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from aucert_otel.certificate import Certification
from aucert_otel.report import Report
from aucert_otel.telemetry import names
from aucert_otel.telemetry.attributes import Attributes
from aucert_otel.telemetry.boundary import MAX_ITEMS, AttributeValue
from aucert_otel.verdict import Status, Verdict


Findings = tuple[tuple[str, str, str | None], ...]
"""Criterion, verdict and reason of each finding."""


@dataclass(slots=True)
class Circumstances:
    """What a verdict came with, besides its report."""

    action: str | None = None
    row: str | None = None
    mode: str | None = None
    tenant: str | None = None
    probability: float | None = None
    repair_outcome: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """The attributes that every verdict of one kind shares. Copied and filled in, never changed.

    Two forms are the same only if they are the same object, which makes counting by form cheap.
    """

    attributes: Attributes
    evaluation: Attributes
    counted: Attributes
    timed: Attributes
    cascade: str
    findings: Findings

    def without_findings(self) -> Form:
        """The one form like this that names no criteria."""
        return _bare(tuple(self.counted.items()), self.cascade)


@lru_cache(maxsize=4096)
def _bare(counted: tuple[tuple[str, AttributeValue], ...], cascade: str) -> Form:
    return Form({}, {}, dict(counted), {}, cascade, ())


def form_key(report: Report, around: Circumstances) -> tuple[object, ...]:
    """What tells one form from another."""
    # `_value_` is the plain string behind an enum's member; `.value` is ten times slower.
    return (
        report.cascade,
        report.cascade_version,
        report.verdict._value_,
        report.certified,
        report.certificate._value_,
        len(report.stages),
        *[
            word
            for s in report.stages
            for word in (s.stage, s.status._value_, s.verdict and s.verdict._value_)
        ],
        *[
            word
            for f in report.findings
            for word in (f.criterion, f.verdict._value_, f.reason and f.reason._value_)
        ],
        around.action,
        around.row,
        around.mode,
        around.tenant,
        around.probability,
        around.repair_outcome,
    )


def make_form(report: Report, around: Circumstances, label: Callable[[str], str]) -> Form:
    """Fill in everything but confidence, score and costs; names come out fit to leave."""
    findings = tuple((label(c), v, r) for c, v, r in _findings(report))

    def criteria(verdict: Verdict) -> tuple[str, ...]:
        return tuple(dict.fromkeys(c for c, v, _ in findings if v == verdict))[:MAX_ITEMS]

    cascade = label(report.cascade)
    verdict = report.verdict.value
    tenant = None if around.tenant is None else label(around.tenant)
    attributes = _known(
        {
            names.VERDICT: verdict,
            names.CASCADE_NAME: cascade,
            names.CASCADE_VERSION: label(report.cascade_version),
            names.STAGE_REACHED: len(report.stages),
            names.STAGES: tuple(
                f"{label(s.stage)}={s.verdict if s.status is Status.OK else s.status}"
                for s in report.stages[:MAX_ITEMS]
            ),
            names.CERTIFIED: report.certified,
            names.CERTIFICATE: None
            if report.certificate is Certification.NONE
            else report.certificate.value,
            names.ACTION: around.action,
            names.ACTION_ROW: around.row,
            names.TENANT: tenant,
            names.MODE: around.mode,
            names.SAMPLING_PROBABILITY: around.probability,
            names.REPAIR_OUTCOME: around.repair_outcome,
            names.CRITERIA_PASSED: criteria(Verdict.PASS) or None,
            names.CRITERIA_FAILED: criteria(Verdict.FAIL) or None,
            names.CRITERIA_UNCLEAR: criteria(Verdict.UNCLEAR) or None,
            names.REASONS: tuple(
                dict.fromkeys(r for _, v, r in findings if r is not None and v != Verdict.PASS)
            )
            or None,
        }
    )
    timed = _known({names.CASCADE_NAME: cascade, names.TENANT: tenant, names.MODE: around.mode})
    return Form(
        attributes,
        evaluation={
            names.EVALUATION_NAME: names.VERDICT,
            names.EVALUATION_LABEL: verdict,
            names.CASCADE_NAME: cascade,
            names.STAGE_NAME: label(report.stage),
        },
        counted={
            **timed,
            names.VERDICT: verdict,
            names.ACTION: around.action or "",
            names.STAGE_REACHED: len(report.stages),
        },
        timed=timed,
        cascade=cascade,
        findings=findings,
    )


def _findings(report: Report) -> Findings:
    return tuple(
        [
            (f.criterion, f.verdict._value_, None if f.reason is None else f.reason._value_)
            for f in report.findings
        ]
    )


def _known(attributes: dict[str, str | int | float | bool | tuple[str, ...] | None]) -> Attributes:
    return {key: value for key, value in attributes.items() if value is not None}
