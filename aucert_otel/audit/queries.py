"""What a person asks of an audit log: its end, one decision, and whether it is whole."""

from __future__ import annotations

import json
from collections import deque

from aucert_otel.audit.canonical import safe_text
from aucert_otel.audit.chain import ChainReport, Entry, verify
from aucert_otel.audit.sinks import AuditSink, SearchableSink


def tail(sink: AuditSink, n: int = 10) -> list[Entry]:
    """The last ``n`` entries, oldest first. A damaged one is among them, and says so.

    Raises:
        OSError, SinkError: the log cannot be read.
    """
    if n <= 0:
        return []
    if isinstance(sink, SearchableSink):
        return sink.last(n)
    return list(deque(sink.entries(), maxlen=n))


def show(sink: AuditSink, key: str | int) -> list[Entry]:
    """The entries with this test id, trace id or number, oldest first; empty if there are none.

    Raises:
        OSError, SinkError: the log cannot be read.
    """
    text = safe_text(str(key).strip())  # as a record would have stored it
    if isinstance(sink, SearchableSink):
        found = sink.find(text)  # its columns may be cut: the record decides
    else:
        # A cheap look at the text first: only what may match is parsed.
        quoted = json.dumps(text, ensure_ascii=False)
        found = [e for e in sink.entries() if quoted in e.record_json or str(e.seq) == text]
    return [entry for entry in found if _is(entry, text)]


def verify_sink(sink: AuditSink, expect: str | None = None) -> ChainReport:
    """Check a log's chain, against a head kept elsewhere if one is given.

    Raises:
        ConfigurationError: ``expect`` is not a SHA-256 hash.
        OSError, SinkError: the log cannot be read.
    """
    head = sink.head()  # before the entries: a writer may add some meanwhile
    return verify(sink.entries(), head, expect=expect)


def _is(entry: Entry, key: str) -> bool:
    record = entry.record
    return key in (str(entry.seq), record.get("test_id"), record.get("trace_id"))
