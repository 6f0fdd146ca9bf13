"""An exporter that counts what it is given and lets it go."""

from __future__ import annotations

from collections.abc import Sequence

from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import LogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

from aucert_otel.telemetry.configure import configure


class Counted(SpanExporter, LogRecordExporter):
    """Counts what it is given and lets it go, as an exporter does once a batch is sent."""

    def __init__(self) -> None:
        self.spans = 0

    def export(self, batch: Sequence[object]) -> SpanExportResult:
        self.spans += len(batch)
        return SpanExportResult.SUCCESS

    def force_flush(self, timeout_millis: int = 30_000) -> bool:  # noqa: ARG002 - the SDK's signature
        return True

    def shutdown(self) -> None:
        pass

    def take(self) -> int:
        """How many spans there were since the last time."""
        found, self.spans = self.spans, 0
        return found

    def provide(self) -> None:
        """Real providers of all three signals, in the way of which nothing waits."""
        traces, logs, dropped = TracerProvider(), LoggerProvider(), Counted()
        traces.add_span_processor(SimpleSpanProcessor(self))
        logs.add_log_record_processor(SimpleLogRecordProcessor(dropped))
        configure(
            tracer_provider=traces,
            meter_provider=MeterProvider([InMemoryMetricReader()]),
            logger_provider=logs,
        )
