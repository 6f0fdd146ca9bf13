"""Every verification decision, written down so that it lasts and that a change to it shows."""

from aucert_otel.audit.chain import (
    ChainBreak,
    ChainReport,
    Damage,
    Entry,
    Fault,
    Head,
    verify,
)
from aucert_otel.audit.queries import show, tail, verify_sink
from aucert_otel.audit.record import AuditRecord, Boundary, ContentOff
from aucert_otel.audit.recording import record_of, record_of_outcome
from aucert_otel.audit.sinks import AuditSink, SearchableSink, SinkError
from aucert_otel.audit.urls import open_sink
from aucert_otel.audit.writer import AuditWriter


__all__ = [
    "AuditRecord",
    "AuditSink",
    "AuditWriter",
    "Boundary",
    "ChainBreak",
    "ChainReport",
    "ContentOff",
    "Damage",
    "Entry",
    "Fault",
    "Head",
    "SearchableSink",
    "SinkError",
    "open_sink",
    "record_of",
    "record_of_outcome",
    "show",
    "tail",
    "verify",
    "verify_sink",
]
