"""Verdicts on OpenTelemetry: names, the masking boundary, spans, events, records and metrics."""

from aucert_otel.telemetry.boundary import Boundary, Mask
from aucert_otel.telemetry.emit import Telemetry
from aucert_otel.telemetry.instruments import Instruments
from aucert_otel.telemetry.runtime import default_telemetry, set_default_telemetry, verifying


__all__ = [
    "Boundary",
    "Instruments",
    "Mask",
    "Telemetry",
    "default_telemetry",
    "set_default_telemetry",
    "verifying",
]
