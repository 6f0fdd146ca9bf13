"""Flush the OpenTelemetry providers within a deadline that is really kept.

Exporters retry for as long as they like: ``force_flush`` with a dead endpoint has been seen to
take twice its timeout and then to report success. So it runs on a thread of its own, and we stop
waiting when our time is up.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from typing import Any

from opentelemetry import metrics, trace
from opentelemetry._logs import get_logger_provider

from aucert_otel._safe import Guard


_lock = threading.Lock()
_running: threading.Thread | None = None
_succeeded = True


def flush_providers(timeout: float, further: Iterable[object] = ()) -> bool:
    """Flush the global providers and further ones; whether all finished within ``timeout`` seconds."""
    global _running  # noqa: PLW0603 - at most one flush in flight, however dead the exporter is
    providers: list[Any] = [
        trace.get_tracer_provider(),
        metrics.get_meter_provider(),
        get_logger_provider(),
    ]
    providers += [p for p in further if p not in providers]
    flushes = [f for p in providers if callable(f := getattr(p, "force_flush", None))]
    if not flushes:
        return True
    with _lock:
        stuck = _running
        if stuck is None or not stuck.is_alive():
            stuck = None
            thread = threading.Thread(
                target=_flush, args=(flushes, timeout), name="aucert-flush", daemon=True
            )
            try:
                thread.start()
            except RuntimeError:  # no thread can start while the interpreter shuts down
                return False
            _running = thread
        else:
            thread = stuck
    thread.join(timeout)
    # A flush that was already under way does not vouch for what was written since it began.
    return not thread.is_alive() and _succeeded and stuck is None


def _after_fork() -> None:
    global _lock, _running  # noqa: PLW0603 - the parent's flush does not run in the child
    _lock = threading.Lock()
    _running = None


os.register_at_fork(after_in_child=_after_fork)


def _flush(flushes: list[Callable[[int], bool]], timeout: float) -> None:
    global _succeeded  # noqa: PLW0603 - read after the join
    done = True
    for flush in flushes:
        ok = False
        with Guard("flush"):
            ok = flush(max(1, int(timeout * 1000))) is not False
        done = done and ok
    _succeeded = done
