"""The command line: ``aucert check``, ``aucert audit``, ``aucert cascade`` and what plugins add."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import Final

from aucert_otel.errors import AucertError, MissingExtraError


EXIT_UNUSABLE: Final = 2
"""The input or the configuration cannot be used; nothing was run."""

EXIT_INTERRUPTED: Final = 130
"""Ctrl-C: 128 and the signal's number, as a shell has it."""

EXIT_NOBODY_READS: Final = 141
"""Whoever read standard output went away, as ``head`` does: 128 and the signal's number."""

_NEEDED = ("typer", "rich", "click")


def main() -> None:
    """Run ``aucert`` and leave the process with its exit code."""
    try:
        code = _run()
    except KeyboardInterrupt:
        code = EXIT_INTERRUPTED
    sys.exit(code if sys.stdout is None else _flushed(code))


def _run() -> int:
    if sys.stderr is None:  # closed at the start: nobody can be told anything
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 - kept until the process ends
    if sys.stdout is None:
        # The next file to be opened would take its place, and be written to.
        print("aucert: standard output is closed: send it to /dev/null instead", file=sys.stderr)
        return EXIT_UNUSABLE
    try:
        run = _loaded()
        return run()
    except AucertError as error:
        from aucert_otel._sentences import visible

        print(f"aucert: {visible(str(error), keep=chr(10))}", file=sys.stderr)
        return EXIT_UNUSABLE


def _loaded() -> Callable[[], int]:
    """The commands. Ctrl-C while they are imported ends the process: nothing was begun."""
    before = signal.getsignal(signal.SIGINT)
    ours = before is signal.default_int_handler
    if ours:
        signal.signal(signal.SIGINT, _leave)
    try:
        from aucert_otel.cli.app import run
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _NEEDED:
            raise
        raise MissingExtraError("the command line", "cli") from None
    finally:
        if ours:
            signal.signal(signal.SIGINT, before)
    return run


def _leave(_signal: int, _frame: FrameType | None) -> None:
    os._exit(EXIT_INTERRUPTED)


def _flushed(code: int) -> int:
    """What was printed has to go out while its failure can still be said."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        code = EXIT_NOBODY_READS
    except OSError as error:
        if code == 0:
            print(f"aucert: standard output: {error.strerror}", file=sys.stderr)
            code = EXIT_UNUSABLE
    else:
        return code
    # What is left goes nowhere, or the interpreter complains about it at its end.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
    return code
