from __future__ import annotations

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from aucert_otel.telemetry import Boundary, Instruments, Telemetry


@pytest.fixture(autouse=True)
def guards_raise(monkeypatch):
    """A fault of our own must not hide."""
    monkeypatch.setenv("AUCERT_OTEL_RAISE", "1")


@pytest.fixture
def guards_swallow(monkeypatch):
    """As in production."""
    monkeypatch.delenv("AUCERT_OTEL_RAISE", raising=False)


class Traced:
    """A telemetry of its own, and the spans it ended."""

    def __init__(self):
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider(shutdown_on_exit=False)
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.telemetry = Telemetry(Instruments(self.provider), Boundary())

    @property
    def names(self):
        return [span.name for span in self.exporter.get_finished_spans()]

    def span(self, name):
        (found,) = [s for s in self.exporter.get_finished_spans() if s.name == name]
        return found


@pytest.fixture
def traced():
    made = Traced()
    yield made
    made.provider.shutdown()
