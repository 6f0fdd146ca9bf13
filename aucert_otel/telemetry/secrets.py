"""Replacing secrets in known forms; see `secret_forms` for the forms.

Ordinary text is told apart by plain substring searches, so that no pattern runs on it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from functools import cache
from typing import Final

from aucert_otel.telemetry.secret_forms import LONG_WORD, REDACTED, Span, rules


_SHORTEST_TOKEN: Final = 16
"""Every token known by its shape is at least this long, in one word."""
_WORDS: Final = (
    *("pass", "pwd", "secret", "token", "key", "authorization", "bearer", "cookie"),
    *("://", "hook", "="),
)
_IN_TOKENS: Final = ("_", "-", "akia", "asia", "aiza", "ya29", "sg.", "eyj")
_INVISIBLE: Final = (
    "\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\ud800-\udfff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_FULL_WIDTH: Final = {0xFEE0 + code: code for code in range(0x21, 0x7F)} | {0x130: "i"}


@cache
def _odd() -> re.Pattern[str]:
    """A character that is invisible or written in another way."""
    return re.compile(f"[{_INVISIBLE}\uff01-\uff5e\u0130]")


@cache
def _invisible() -> re.Pattern[str]:
    """A run of characters that nobody sees; a terminal's colours are among them."""
    return re.compile(rf"(?:\x1b\[[0-9;]{{0,32}}[A-Za-z]|[{_INVISIBLE}])+")


def redact(text: str, drop: int = 0) -> str:
    """Replace every secret in a known form by ``[redacted]``.

    Args:
        text: Any text.
        drop: Visible characters to leave out at the end: of a secret that was cut short before it
            came here, the beginning may be too short to be known.
    """
    if (text.isascii() and text.isprintable()) or not _odd().search(text):
        spans = _found(text, text.lower())
        return _without(text, spans, len(text) - drop) if spans or drop else text
    # One character each, so that every place stays where it is.
    folded = text.translate(_FULL_WIDTH)
    spans = _found(folded, folded.lower())
    visible, places = _visible(folded)
    if not places:
        return _without(text, spans, len(text) - drop)
    # A token may be split by characters nobody sees, so both readings count.
    starts = [start for start, _ in places]

    def place(index: int) -> int:
        start, original = places[bisect_right(starts, index) - 1]
        return original + index - start

    spans += [(place(s), place(e - 1) + 1) for s, e in _found(visible, visible.lower())]
    kept = len(visible) - drop
    return _without(text, spans, len(text) if not drop else place(kept - 1) + 1 if kept > 0 else 0)


def _visible(text: str) -> tuple[str, list[Span]]:
    """The text without invisible characters; where each piece of it starts, there and in the text.

    No pieces mean that nothing was invisible.
    """
    places: list[Span] = []
    pieces: list[str] = []
    length = end = 0
    for match in _invisible().finditer(text):
        if match.start() > end:
            places.append((length, end))
            pieces.append(text[end : match.start()])
            length += match.start() - end
        end = match.end()
    if end == 0:
        return text, []
    places.append((length, end))
    pieces.append(text[end:])
    return "".join(pieces), places


def _found(text: str, low: str) -> list[Span]:
    """Where secrets are; ``low`` is the text in lower case."""
    known = [word for word in _WORDS if word in low]
    for part in _IN_TOKENS:
        if part in low:
            if max(map(len, low.split()), default=0) >= _SHORTEST_TOKEN:
                known.append(LONG_WORD)
            break
    if not known:
        return []
    return [
        span
        for rule in rules()
        if all(any(need in known or need in low for need in group) for group in rule.needs)
        for span in rule.spans(text, low)
    ]


def _without(text: str, spans: Iterable[Span], end: int) -> str:
    """The text up to an end, each run of touching spans replaced."""
    text = text[: max(end, 0)]
    pieces: list[str] = []
    done = 0
    for start, stop in sorted(spans):
        if start >= len(text):
            break
        if start > done or not pieces:
            pieces += (text[done:start], REDACTED)
        done = max(done, stop)
    return "".join((*pieces, text[done:])) if pieces else text
