"""Spans around the work, and the three ways a verdict goes out.

A verdict leaves as flat attributes on the verify span, as a span event, and as a log record. The
last two say the same thing: some backends keep only events, some only logs, and the log record
alone survives a trace that was not sampled.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.context import Context
from opentelemetry.trace import Span, Status, StatusCode

from aucert_otel._safe import Guard, swallow
from aucert_otel.costs import Costs
from aucert_otel.report import Report, StageReport
from aucert_otel.telemetry import names
from aucert_otel.telemetry.attributes import (
    Attributes,
    cost_attributes,
    finding_attributes,
    stage_attributes,
)
from aucert_otel.telemetry.boundary import (
    MAX_ITEMS,
    MAX_LABEL_CHARS,
    Boundary,
    capture_from_environment,
)
from aucert_otel.telemetry.form import Circumstances, Form, form_key, make_form
from aucert_otel.telemetry.instruments import Instruments, shared_instruments
from aucert_otel.verdict import Status as StageStatus
from aucert_otel.verdict import Verdict


_GUARD = Guard("telemetry")
_MAX_LABELS = 4096
_MAX_FORMS = 1024

CONTROL_FLOW: set[str] = set()
"""Exception classes, by name, that a framework raises to steer and not to fail. Integrations add theirs."""


class Telemetry:
    """How verdicts reach OpenTelemetry. One for each set of providers.

    Args:
        instruments: Where to write; default: the global providers, whenever they are set.
        boundary: What may leave; default: no content unless the environment switches it on.
        every_finding: Give passing findings their own event and log record too. By default only
            failed and unclear ones have them; passing ones are an attribute and a metric.
    """

    def __init__(
        self,
        instruments: Instruments | None = None,
        boundary: Boundary | None = None,
        *,
        every_finding: bool = False,
    ) -> None:
        self.instruments = instruments or shared_instruments()
        self.boundary = boundary or Boundary(capture_from_environment())
        self.every_finding = every_finding
        self._labels: dict[str, str] = {}
        self._forms: dict[tuple[object, ...], Form] = {}

    def label(self, text: str) -> str:
        """`Boundary.label`, remembered: the same few names leave on every answer."""
        if type(text) is not str:  # by contract it is; an object of the user's may not even hash
            return self.boundary.label(text)
        known = self._labels.get(text)
        if known is None:
            known = self.boundary.label(text)
            if len(self._labels) < _MAX_LABELS and len(text) <= MAX_LABEL_CHARS:
                self._labels[text] = known
        return known

    def start(self, name: str, context: Context | None = None, suffix: str = "") -> Span:
        """Start a span that is not current; a fault of the provider yields one that does nothing."""
        try:  # here and in `end`: what the guard does, without its cost, as every answer passes twice
            full = f"{name} {self.label(suffix)}" if suffix else name
            return self.instruments.tracer.start_span(full, context)
        except Exception as error:
            if not swallow("telemetry", error):
                raise
            return trace.INVALID_SPAN

    def end(self, span: Span, attributes: Attributes | None = None) -> None:
        """Set the closing attributes and end a span."""
        try:
            if attributes and span.is_recording():
                span.set_attributes(attributes)
            span.end()
        except Exception as error:
            if not swallow("telemetry", error):
                raise

    def fail(self, span: Span, error: BaseException) -> None:
        """End a span for code that raised, unless it has ended already."""
        with _GUARD:
            if not span.is_recording() and span.get_span_context().trace_flags.sampled:
                return
        self.broke(span, error)
        self.end(span)

    def broke(self, span: Span, error: BaseException) -> None:
        """Mark a span for code that raised. The exception's message stays out: it may hold content."""
        with _GUARD:
            if CONTROL_FLOW.isdisjoint(kind.__name__ for kind in type(error).__mro__):
                kind = self.label(type(error).__qualname__)
                span.set_attribute(names.ERROR_TYPE, kind)
                # A consumer that stops reading a stream has not failed.
                if not isinstance(error, GeneratorExit):
                    span.set_status(Status(StatusCode.ERROR, kind))

    @contextmanager
    def stage(self, name: str, context: Context | None) -> Iterator[Span]:
        """A span for a stage that waits, current in the task it has to itself from here on."""
        span = self.start(names.SPAN_STAGE, context, name)
        otel_context.attach(trace.set_span_in_context(span, context))
        try:
            yield span
        except BaseException as error:
            self.fail(span, error)
            raise

    def stage_done(self, span: Span, report: StageReport) -> None:
        """Write a stage's result to its span and end it."""
        with _GUARD:
            if report.status.did_not_run:
                span.set_status(Status(StatusCode.ERROR, report.status.value))
            self.end(span, stage_attributes(report, label=self.label))

    def verified(
        self,
        span: Span,
        context: Context,
        report: Report,
        around: Circumstances,
        costs: Costs | None = None,
    ) -> Attributes:
        """Send a verdict out and end its span, which was started in ``context``.

        Returns:
            The attributes it has.
        """
        attributes: Attributes = {}
        try:
            form = self._form(report, around)
            attributes = {
                **form.attributes,
                **cost_attributes(costs or report.costs, label=self.label),
            }
            if report.confidence is not None:
                attributes[names.CONFIDENCE] = report.confidence
            self._measure(report, form, context)
            self._results(span, context, report, form)
        except Exception as error:
            if not swallow("telemetry", error):
                raise
        finally:
            self.end(span, attributes)  # whatever happened above, no span stays open
        return attributes

    def _form(self, report: Report, around: Circumstances) -> Form:
        key = form_key(report, around)
        known = self._forms.get(key)
        if known is None:
            known = make_form(report, around, self.label)
            if len(self._forms) < _MAX_FORMS and len(report.findings) <= MAX_ITEMS:
                self._forms[key] = known
        return known

    def _results(self, span: Span, context: Context, report: Report, form: Form) -> None:
        results = [form.evaluation]
        if report.confidence is not None:
            results[0] = {**form.evaluation, names.EVALUATION_SCORE: report.confidence}
        if self.every_finding or report.failed or report.unclear:
            findings = [
                finding
                for finding in report.findings
                if self.every_finding or finding.verdict is not Verdict.PASS
            ]
            results += [finding_attributes(f, self.boundary) for f in findings[:MAX_ITEMS]]
            if len(findings) > MAX_ITEMS:  # a span keeps 128 events; the first is the verdict
                results[0] = {**results[0], names.FINDINGS_OMITTED: len(findings) - MAX_ITEMS}
        recording = span.is_recording()
        if recording and len(report.stages) > 1:
            for stage in report.stages[:-1]:
                if stage.inline:  # the last stage's result is the verdict's own event
                    span.add_event(names.EVENT_STAGE, stage_attributes(stage, label=self.label))
        passed = report.verdict is Verdict.PASS
        severity = SeverityNumber.INFO if passed else SeverityNumber.WARN
        inside = trace.set_span_in_context(span, context)
        now = time.time_ns()
        for result in results:
            if recording:
                span.add_event(names.EVENT_EVALUATION, result, now)
            self.instruments.logger.emit(
                LogRecord(
                    timestamp=now,
                    context=inside,
                    severity_number=severity,
                    event_name=names.EVENT_EVALUATION,
                    attributes=result,
                )
            )

    def _measure(self, report: Report, form: Form, context: Context) -> None:
        instruments = self.instruments
        instruments.tally.add(form)
        instruments.duration.record(report.latency_s, form.timed, context)
        for stage in report.stages:
            if stage.status is not StageStatus.OK and stage.status.did_not_run:
                status = {names.STAGE_NAME: self.label(stage.stage)}
                status[names.STAGE_STATUS] = stage.status.value
                instruments.errors.add(1, {**form.timed, **status})
            if stage.cost_usd:
                instruments.cost.add(
                    stage.cost_usd, {**form.timed, names.STAGE_NAME: self.label(stage.stage)}
                )

    def repaired(self, criteria: list[str], outcome: str, cascade: str) -> None:
        """Count a repair round for each criterion it was meant to mend."""
        with _GUARD:
            for criterion in criteria:
                self.instruments.repairs.add(
                    1,
                    {
                        names.CASCADE_NAME: self.label(cascade),
                        names.CRITERION: self.label(criterion),
                        names.REPAIR_OUTCOME: outcome,
                    },
                )
