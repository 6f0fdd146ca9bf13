"""The one guard between our own faults and the application.

Telemetry, audit and sampling must never raise into the application. Whatever they raise is
swallowed here, logged once for each place and kind, and counted. Under our own tests
(``AUCERT_OTEL_RAISE=1``) it is raised again, so that a fault cannot hide.
"""

from __future__ import annotations

import logging
import os
from collections import Counter
from types import TracebackType


_log = logging.getLogger("aucert_otel")

swallowed: Counter[tuple[str, str]] = Counter()
"""How often each (place, exception class) was swallowed in this process."""


class Guard:
    """``with Guard("telemetry"): ...`` runs a block whose failure must not reach the caller.

    Only `Exception` is held back: cancellation, `KeyboardInterrupt` and `SystemExit` pass.
    """

    __slots__ = ("place",)

    def __init__(self, place: str) -> None:
        self.place = place

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        if error is None:
            return False
        return isinstance(error, Exception) and swallow(self.place, error)


def swallow(place: str, error: Exception) -> bool:
    """Count and log a fault of our own; ``False`` means that it must be raised again."""
    if os.environ.get("AUCERT_OTEL_RAISE") == "1":
        return False
    key = (place, type(error).__qualname__)
    swallowed[key] += 1
    if swallowed[key] == 1:
        # The class and the line, never the message: it may quote content or a secret.
        _log.warning(
            "aucert_otel: a fault in %s was held back from the application: %s (logged once)",
            place,
            describe(error),
        )
    return True


def describe(error: BaseException) -> str:
    """Name an exception by class and innermost line; its message may quote content or secrets."""
    name = type(error).__qualname__
    traceback = error.__traceback__
    if traceback is None:
        return name
    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    code = traceback.tb_frame.f_code
    return f"{name} at {os.path.basename(code.co_filename)}:{traceback.tb_lineno}"  # noqa: PTH119 - a string operation on an error path, no file system
