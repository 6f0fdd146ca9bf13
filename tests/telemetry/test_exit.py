"""A dead endpoint does not keep the process."""

from __future__ import annotations

import subprocess
import sys
import time


CODE = """
import aucert_otel
from aucert_otel import Finding, Generation, Harness, Verdict

aucert_otel.configure()
harness = Harness([lambda generation: Finding("short", Verdict.PASS)])
harness.verify(Generation("Hello."))
"""


def test_a_dead_endpoint_does_not_hold_the_process_at_its_exit(monkeypatch):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    started = time.monotonic()
    subprocess.run([sys.executable, "-c", CODE], check=True, capture_output=True)

    # Ours gives up after five seconds; the SDK's own exit handlers take half a minute and more.
    assert time.monotonic() - started < 25
