"""One set of real OpenTelemetry providers, and what went out of them in a comparable form."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter


if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass
class Signals:
    """Providers that every variant gets alike: simple processors into memory."""

    spans: InMemorySpanExporter = field(default_factory=InMemorySpanExporter)
    logs: InMemoryLogRecordExporter = field(default_factory=InMemoryLogRecordExporter)
    reader: InMemoryMetricReader = field(default_factory=InMemoryMetricReader)
    tracer_provider: TracerProvider = field(default_factory=TracerProvider)
    logger_provider: LoggerProvider = field(default_factory=LoggerProvider)

    def __post_init__(self) -> None:
        self.tracer_provider.add_span_processor(SimpleSpanProcessor(self.spans))
        self.logger_provider.add_log_record_processor(SimpleLogRecordProcessor(self.logs))
        self.meter_provider = MeterProvider([self.reader])

    def clear(self) -> None:
        """Forget what was exported, so that no variant pays for another's memory."""
        self.spans.clear()
        self.logs.clear()

    def exported(self) -> dict[str, Any]:
        """Everything that went out, in order, without ids and times; then forget it.

        Parents are given by name. Attributes are a mapping, as in OpenTelemetry's own data model;
        all else is in order: two variants are equal only if a backend could not tell them apart.
        """
        finished = self.spans.get_finished_spans()
        by_id = {span.context.span_id: span.name for span in finished}
        found = {
            "spans": [
                {
                    "name": span.name,
                    "parent": None if span.parent is None else by_id.get(span.parent.span_id),
                    "kind": span.kind.name,
                    "status": span.status.status_code.name,
                    "attributes": _typed(span.attributes),
                    "events": [(event.name, _typed(event.attributes)) for event in span.events],
                    "links": len(span.links),
                    "scope": _scope(span.instrumentation_scope),
                }
                for span in finished
            ],
            "logs": [
                {
                    "event": log.log_record.event_name,
                    "body": log.log_record.body,
                    "severity": str(log.log_record.severity_number),
                    "severity_text": log.log_record.severity_text,
                    "attributes": _typed(log.log_record.attributes),
                    "span": by_id.get(log.log_record.span_id or 0),
                    "scope": _scope(log.instrumentation_scope),
                }
                for log in self.logs.get_finished_logs()
            ],
            "metrics": self._metrics(),
        }
        self.clear()
        return found

    def _metrics(self) -> list[dict[str, Any]]:
        data = self.reader.get_metrics_data()
        found = [
            {
                "name": metric.name,
                "unit": metric.unit,
                "description": metric.description,
                "kind": type(metric.data).__name__,
                "scope": _scope(scope.scope),
                "points": [_point(point) for point in metric.data.data_points],
            }
            for resource in (data.resource_metrics if data else ())
            for scope in resource.scope_metrics
            for metric in scope.metrics
        ]
        return sorted(found, key=lambda metric: str(metric["name"]))


def differences(ours: Any, theirs: Any, path: str = "") -> list[str]:
    """Where two exports differ, one line each."""
    if type(ours) is not type(theirs):
        return [f"{path}: {ours!r} is not {theirs!r}"]
    if isinstance(ours, dict):
        keys = dict.fromkeys((*ours, *theirs))
        return [
            line
            for key in keys
            for line in differences(ours.get(key), theirs.get(key), f"{path}.{key}")
        ]
    if isinstance(ours, list):
        if len(ours) != len(theirs):
            return [f"{path}: {ours!r} is not {theirs!r}"]
        pairs = zip(ours, theirs, strict=True)
        return [
            line for i, (a, b) in enumerate(pairs) for line in differences(a, b, f"{path}[{i}]")
        ]
    return [] if ours == theirs else [f"{path}: {ours!r} is not {theirs!r}"]


def _typed(attributes: Mapping[str, Any] | None) -> dict[str, tuple[str, Any]]:
    """Attributes with their types: 1, 1.0 and True are equal in Python and differ on the wire."""
    return {
        key: ("tuple", tuple(value)) if isinstance(value, list) else (type(value).__name__, value)
        for key, value in (attributes or {}).items()
    }


def _scope(scope: Any) -> tuple[str, str | None] | None:
    return None if scope is None else (scope.name, scope.version)


def _point(point: Any) -> dict[str, Any]:
    if hasattr(point, "explicit_bounds"):  # a histogram of durations: the times differ
        value = {"count": point.count, "bounds": list(point.explicit_bounds)}
    else:
        value = {"value": point.value}
    return {"attributes": _typed(point.attributes), **value}
