"""What every test shares: our own guards re-raise, so that a fault of ours cannot hide."""

from __future__ import annotations

import os
import signal

import pytest


# Whoever starts the tests may have Ctrl-C ignored (a shell's background job does), and programs that
# the tests start and interrupt would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
os.environ["AUCERT_OTEL_RAISE"] = "1"
for _name in [name for name in os.environ if name.startswith("OTEL_")]:
    del os.environ[_name]


@pytest.fixture
def recorder():
    """Real providers that keep what is exported in memory."""
    from support.providers import Recorder

    made = Recorder()
    yield made
    made.close()


@pytest.fixture
def sink():
    """An OTLP receiver on loopback ports of its own."""
    from support.otlp_sink import running_sink

    with running_sink() as running:
        yield running


@pytest.fixture
def production(monkeypatch):
    """Guards that swallow, as they do in production."""
    monkeypatch.delenv("AUCERT_OTEL_RAISE")
