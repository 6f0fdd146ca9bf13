"""The one guard between our own faults and the application.

Telemetry, audit and sampling must never raise into the application. Whatever they raise is
swallowed here, logged once for each place and kind, and counted. Under our own tests
(``AUCERT_OTEL_RAISE=1``) it is raised again, so that a fault cannot hide.
"""

from __future__ import annotations

import logging
import os
from collections import Counter
from contextlib import suppress
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
        _say(
            f"a fault in {place} was held back from the application: {describe(error)} (logged once)"
        )
    return True


def _say(sentence: str) -> None:
    with suppress(Exception):  # the application's own filters and handlers may raise
        _log.warning("aucert_otel: %s", sentence)


_said: set[str] = set()
_MAX_SAID = 256


def warn_once(sentence: str) -> None:
    """Log a warning the first time it comes up. It must hold no content: it goes out as it is."""
    if sentence not in _said and len(_said) < _MAX_SAID:
        _said.add(sentence)
        _say(f"{sentence} (logged once)")


class SaidError(TypeError):
    """A fault whose message is a sentence of ours: it holds no content and may be shown."""


_OWN = os.path.dirname(__file__)  # noqa: PTH120 - compared with code objects' file names, which are text
_LIBRARIES = (os.path.dirname(os.__file__), "<frozen", _OWN)  # noqa: PTH120 - as above


def describe(error: BaseException) -> str:
    """Name an exception by class and by the innermost line of the user's own code.

    Its message may quote content or secrets, so it stays out, unless the sentence is ours.
    """
    if isinstance(error, SaidError):
        return str(error)
    name = type(error).__qualname__
    traceback = error.__traceback__
    if traceback is None:
        return name
    innermost = theirs = None
    while traceback is not None:
        innermost = traceback
        file = traceback.tb_frame.f_code.co_filename
        if not file.startswith(_LIBRARIES) and "site-packages" not in file:
            theirs = traceback
        traceback = traceback.tb_next
    shown = theirs or innermost
    assert shown is not None
    file = os.path.basename(shown.tb_frame.f_code.co_filename)  # noqa: PTH119 - as above
    return f"{name} at {file}:{shown.tb_lineno}"
