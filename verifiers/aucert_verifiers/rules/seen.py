"""What a reader sees of a text: without invisible characters, entities decoded, digits as digits."""

from __future__ import annotations

import html
import json
import re
import unicodedata


# Every code point that is drawn as nothing: Unicode's default-ignorable ones, control characters
# other than tab and line ends, and halves of surrogate pairs, which no encoding can write.
_CONTROLS = "\x00-\x08\x0b\x0c\x0e-\x1f\x7f"
_CONTROL_BYTES = bytes([*range(9), 0x0B, 0x0C, *range(0x0E, 0x20), 0x7F])
# Nearly every answer holds nothing but these letters and marks, which stand for themselves.
_OTHER_THAN_USUAL = re.compile(
    "[^\t\n\r -~\u00a0-\u00ac\u00ae-\u00b1\u00b4-\u00b8\u00ba\u00bb\u00bf-\u02ff\u0370-\u0482"
    "\u2010-\u2029\u2030-\u205e\u20a0-\u20cf]"
)
_INVISIBLE = re.compile(
    f"[{_CONTROLS}\x80-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff\ud800-\udfff]+"
)
_USUAL_MARKS = re.compile(
    "(?<=[0-9A-Za-z])[\u0300-\u036f\u0483-\u0489\u1ab0-\u1ace\u1dc0-\u1dff\u20d0-\u20f0\ufe20-\ufe2f]+"
)
# A combining mark is no word character and lies in none of the blocks left out here.
_MAYBE_MARKS = re.compile(
    r"(?<=[\dA-Za-z])[^\w\x00-\u02ff\u2000-\u20cf\u2100-\u2bff\u3000-\u3029"
    "\ufe30-\uffef\U0001f000-\U0001faff]+"
)
# A raised digit after a letter is a unit (m²) and after an end mark the number of a footnote;
# a circled digit that opens a line is a list marker.
_RAISED = "\u00b2\u00b3\u00b9\u2070\u2074-\u2079"
_CIRCLED = "\u2460-\u249b\u24ea-\u24ff\u2776-\u2793"
_OTHER_NUMBERS = re.compile(
    rf"(?<![^\W\d_])(?<![.,;:!?)\]\"'\u201d\u2019…%{_RAISED}])[{_RAISED}]++"
    rf"|(?<![^\W\d_])(?<!\n)(?<!\A)[{_CIRCLED}]++"
    r"|[\u00bc-\u00be\u2080-\u2089\u2150-\u2189\U0001f100-\U0001f10c]++"
)
_ANY_OTHER_NUMBER = re.compile(
    rf"[\u00bc-\u00be\u2080-\u2089\u2150-\u2189\U0001f100-\U0001f10c{_RAISED}{_CIRCLED}]"
)
_ESCAPED = re.compile(r"(?:\\u[0-9a-fA-F]{4})++")
_OVERRIDES = ("\u202d", "\u202e")
_REORDERING = (*_OVERRIDES, "\u202a", "\u202b", "\u2066", "\u2067", "\u2068")


def visible(text: str) -> str:
    """The text as its characters are seen, so that nothing hides a citation or splits a number.

    Invisible characters and combining marks on a digit or a Latin letter are dropped. Digits that
    are raised, lowered or circled, and fractions, become plain numbers.
    """
    if text.isascii():
        raw = text.encode()
        kept = raw.translate(None, _CONTROL_BYTES)
        return text if len(kept) == len(raw) else kept.decode()
    if _OTHER_THAN_USUAL.search(text) is None:
        return text
    text = _INVISIBLE.sub("", text)
    text = _USUAL_MARKS.sub("", text)
    text = _MAYBE_MARKS.sub(_without_marks, text)
    if _ANY_OTHER_NUMBER.search(text) is None:  # looking behind at every place takes long
        return text
    return _OTHER_NUMBERS.sub(_plain_number, text)


def _without_marks(match: re.Match[str]) -> str:
    run = match.group()
    kept = 0
    while kept < len(run) and unicodedata.category(run[kept]) in ("Mn", "Me"):
        kept += 1
    return run[kept:]


def _plain_number(match: re.Match[str]) -> str:
    return "".join(
        str(unicodedata.digit(char))
        if char.isdigit()
        else f" {unicodedata.numeric(char, 0.0):.6g} "
        for char in match.group()
    )


def decoded(text: str) -> str:
    """The text with HTML's entities as the characters they stand for."""
    return html.unescape(text) if "&" in text else text


def unescaped(text: str) -> str:
    r"""The text with JSON's ``\uXXXX`` as the characters they stand for, wherever they are."""
    return _ESCAPED.sub(_from_json, text) if "\\u" in text else text


def _from_json(match: re.Match[str]) -> str:
    characters: str = json.loads(f'"{match.group()}"')
    return characters


def reorders(text: str) -> bool:
    """Some character makes a reader see the text in another order than it is stored in."""
    return not text.isascii() and any(map(text.__contains__, _REORDERING))


def overrides(text: str) -> bool:
    """Some character turns letters and digits around: right-to-left text has no need of it."""
    return any(map(text.__contains__, _OVERRIDES))
