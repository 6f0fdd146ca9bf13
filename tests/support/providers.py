"""Real SDK providers that keep what is exported in memory, and count spans that begin and end."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import (
    InMemoryLogRecordExporter,
    SimpleLogRecordProcessor,
)
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import HistogramDataPoint, InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import Sampler

from aucert_otel.telemetry import Boundary, Instruments, Telemetry
from support.spantree import attributes_of, normalised, outline, tree


class Balance(SpanProcessor):
    """How many spans have begun and not ended, by name."""

    def __init__(self) -> None:
        self.open: Counter[str] = Counter()
        self.started = 0
        self._changed = threading.Condition()

    def on_start(self, span: Any, parent_context: Any = None) -> None:
        with self._changed:
            self.open[span.name] += 1
            self.started += 1

    def on_end(self, span: Any) -> None:
        with self._changed:
            self.open[span.name] -= 1
            self._changed.notify_all()

    def settled(self, timeout: float = 20.0) -> bool:
        """Wait until every span has ended: those of a cancelled job end on the SDK's own loop."""
        with self._changed:
            return self._changed.wait_for(lambda: not +self.open, timeout)


@dataclass
class Recorder:
    """Three providers and everything that left through them."""

    sampler: Sampler | None = None
    limits: SpanLimits | None = None
    keep: bool = True
    """Keep spans and records; without it only the balance is kept."""
    spans_out: InMemorySpanExporter = field(default_factory=InMemorySpanExporter)
    records_out: InMemoryLogRecordExporter = field(default_factory=InMemoryLogRecordExporter)
    balance: Balance = field(default_factory=Balance)

    def __post_init__(self) -> None:
        self.reader = InMemoryMetricReader()
        self.tracers = TracerProvider(
            sampler=self.sampler, span_limits=self.limits, shutdown_on_exit=False
        )
        self.tracers.add_span_processor(self.balance)
        self.meters = MeterProvider([self.reader], shutdown_on_exit=False)
        self.loggers = LoggerProvider(shutdown_on_exit=False)
        if self.keep:
            self.tracers.add_span_processor(SimpleSpanProcessor(self.spans_out))
            self.loggers.add_log_record_processor(SimpleLogRecordProcessor(self.records_out))

    @cached_property
    def instruments(self) -> Instruments:
        """What writes here. Two would share one meter, which takes a name only once."""
        return Instruments(self.tracers, self.meters, self.loggers)

    def telemetry(self, boundary: Boundary | None = None, **options: Any) -> Telemetry:
        """A telemetry that writes here."""
        return Telemetry(self.instruments, boundary or Boundary(), **options)

    def close(self) -> None:
        """Shut the providers down."""
        self.tracers.shutdown()
        self.meters.shutdown()
        self.loggers.shutdown()

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        """Every span that ended."""
        return self.spans_out.get_finished_spans()

    @property
    def tree(self) -> list[dict[str, Any]]:
        """The spans as nested plain data."""
        return tree(self.spans)

    @property
    def outline(self) -> list[Any]:
        """The spans' names, nested."""
        return outline(self.spans)

    def span(self, name: str) -> ReadableSpan:
        """The one span of that name."""
        (found,) = [span for span in self.spans if span.name == name]
        return found

    @property
    def records(self) -> list[dict[str, Any]]:
        """The log records as plain data, each with the name of the span it belongs to."""
        names = {span.context.span_id: span.name for span in self.spans if span.context}
        return [
            {
                "event": record.event_name,
                "body": normalised(record.body),
                "severity": record.severity_number.name if record.severity_number else None,
                "on": names.get(record.span_id),
                **attributes_of(record.attributes),
            }
            for record in (item.log_record for item in self.records_out.get_finished_logs())
        ]

    @property
    def metrics(self) -> dict[str, list[Any]]:
        """Every series: {metric: [(attributes, value or histogram count)]}, sorted."""
        data = self.reader.get_metrics_data()
        found: dict[str, list[Any]] = {}
        for resource in data.resource_metrics if data else ():
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    found[metric.name] = sorted(
                        (
                            (attributes_of(point.attributes), _number(point))
                            for point in metric.data.data_points
                        ),
                        key=repr,
                    )
        return found

    def everything(self) -> str:
        """All that left, as one text, to look for what must not be in it."""
        resources = [span.to_json() for span in self.spans]
        logs = [item.to_json() for item in self.records_out.get_finished_logs()]
        data = self.reader.get_metrics_data()
        return "\n".join([*resources, *logs, data.to_json() if data else ""])


def _number(point: Any) -> Any:
    return point.count if isinstance(point, HistogramDataPoint) else point.value
