"""What reaches a terminal. Text under test is hostile: it never acts as markup or as a control."""

from __future__ import annotations

import json
from typing import Any

from rich.console import Console
from rich.text import Text

from aucert_otel._sentences import visible


def console(*, stderr: bool = False) -> Console:
    """A console that takes no markup and no emoji codes; 80 columns where there is no terminal."""
    return _Console(stderr=stderr, markup=False, highlight=False, emoji=False)


class _Console(Console):
    """A reader that went away, as ``head`` does, is raised: the command line knows what to do."""

    def on_broken_pipe(self) -> None:
        """Called while the error is handled."""
        raise BrokenPipeError


def safe(text: object, style: str = "") -> Text:
    r"""Text as it may be shown: what cannot be seen is written out, such as ``\x1b``."""
    return Text(visible(str(text), keep="\n"), style=style)


def cut(text: str, limit: int) -> str:
    """One line of at most ``limit`` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def json_text(value: Any, *, indent: int | None = 2) -> str:
    """JSON that is safe on a terminal and still JSON: unseen characters stand as its escapes."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return "".join(c if c.isprintable() or c == "\n" else _escaped(c) for c in text)


def _escaped(character: str) -> str:
    return json.dumps(character)[1:-1]


def usd(amount: float | None) -> str:
    """Dollars, to as many decimals as they need; unknown stays unknown."""
    if amount is None:
        return "unknown"
    if amount == 0:
        return "$0"
    if amount >= 1:
        return f"${amount:,.2f}"
    return f"${amount:.4f}" if amount >= 0.001 else f"${amount:.6f}"


def plural(count: int, word: str) -> str:
    """``1 row``, ``2 rows``."""
    return f"{count:,} {word}{'' if count == 1 else 's'}"
