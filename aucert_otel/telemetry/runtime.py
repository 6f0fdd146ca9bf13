"""What is true for the whole process: the default telemetry, and who is judging right now."""

from __future__ import annotations

import os
import threading
from contextvars import ContextVar

from aucert_otel.telemetry.emit import Telemetry


verifying: ContextVar[bool] = ContextVar("aucert_otel.verifying", default=False)
"""True inside a verifier: a judge's own calls are never verified."""

_lock = threading.Lock()
_default: Telemetry | None = None


def default_telemetry() -> Telemetry:
    """The telemetry every harness uses unless it was given its own."""
    global _default  # noqa: PLW0603 - one a process, replaced by configure()
    found = _default
    if found is not None:
        return found
    with _lock:
        if _default is None:
            _default = Telemetry()
        return _default


def set_default_telemetry(telemetry: Telemetry) -> None:
    """Replace the default; harnesses built without their own use it from the next answer on."""
    global _default  # noqa: PLW0603 - same
    _default = telemetry


def _after_fork() -> None:
    global _lock  # noqa: PLW0603 - another thread may have held it
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)
