"""The command line: ``aucert check``, ``aucert audit``, ``aucert cascade`` and what plugins add."""

from __future__ import annotations

import sys
from typing import Final

from aucert_otel.errors import AucertError, MissingExtraError


EXIT_UNUSABLE: Final = 2
"""The input or the configuration cannot be used; nothing was run."""

_NEEDED = ("typer", "rich", "click")


def main() -> None:
    """Run ``aucert`` and leave the process with its exit code."""
    sys.exit(_run())


def _run() -> int:
    from aucert_otel._sentences import visible

    try:
        try:
            from aucert_otel.cli.app import run
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] not in _NEEDED:
                raise
            raise MissingExtraError("the command line", "cli") from None
        return run()
    except AucertError as error:
        print(f"aucert: {visible(str(error), keep=chr(10))}", file=sys.stderr)
        return EXIT_UNUSABLE
