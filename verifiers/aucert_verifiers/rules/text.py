"""A piece of an answer's text, and the sentence that a position in it lies in."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right


MAX_QUOTE = 400
"""Characters of the answer that one finding quotes at most."""

_SPLIT_CHARS = 100_000

# A run of end marks starts only where no end mark precedes it: otherwise a megabyte of dots would
# be read once for every dot. The possessive quantifiers keep the rest linear.
_END = re.compile(
    r"(?<![.!?…])[.!?…]++[\"'\u201d\u2019\u00bb)\]]*+(?=\s|\Z)"
    r"|[\u3002\uff01\uff1f\uff61]++[\u201d\u2019\u300d\u300f\uff09]*+"  # Chinese and Japanese
    r"|\n\s*+"
)

_ABBREVIATIONS = frozenset(
    {
        "approx",
        "art",
        "arts",
        "ca",
        "cf",
        "dr",
        "e.g",
        "eg",
        "etc",
        "fig",
        "i.e",
        "ie",
        "inc",
        "ltd",
    }
    | {"mr", "mrs", "ms", "no", "nos", "nr", "p", "pp", "prof", "sec", "st", "vs"}
)


def ascii_digits(text: str) -> str:
    """The text with every decimal digit of any script as 0 to 9."""
    if text.isascii():
        return text
    return "".join(
        str(unicodedata.decimal(char)) if char.isdecimal() and not char.isascii() else char
        for char in text
    )


def clip(text: str, limit: int = MAX_QUOTE) -> str:
    """The text, shortened in the middle when it is longer than ``limit`` characters."""
    if len(text) <= limit:
        return text
    head = limit // 2
    return f"{text[:head]} … {text[head + 3 - limit :]}"


def listed(items: list[str], limit: int = 20) -> str:
    """``a``, ``a and b``, ``a, b and c``; past ``limit`` items the rest is counted."""
    shown = [clip(item, 80) for item in items[:limit]]
    if len(items) > limit:
        shown.append(f"{len(items) - limit} more")
    if len(shown) <= 1:
        return "".join(shown)
    return f"{', '.join(shown[:-1])} and {shown[-1]}"


class Text:
    """One piece of readable text: the whole answer, or one value of a structured answer.

    Args:
        text: The text as read.
        place: Where in a structured answer it stands, such as ``lines[2].reply``; empty for prose.
        literal: It was a JSON number, not a string.
        key: It was the key of a JSON object, not a value.
        reordered: Characters of it make a reader see it in another order: see `reorders`.
        turned: They turn its letters around: see `overrides`.
    """

    __slots__ = ("_split", "_starts", "key", "literal", "place", "reordered", "text", "turned")

    def __init__(
        self,
        text: str,
        place: str = "",
        *,
        literal: bool = False,
        key: bool = False,
        reordered: bool = False,
        turned: bool = False,
    ) -> None:
        self.text = text
        self.place = place
        self.literal = literal
        self.key = key
        self.reordered = reordered
        self.turned = turned
        self._starts: list[int] | None = None
        self._split = 0

    def sentence(self, position: int) -> str:
        """The sentence that ``position`` lies in, shortened around it if it is very long."""
        if self.literal:
            return f"{self.place}: {clip(self.text)}"
        if self._starts is None or position >= self._split:
            # Only as far as is asked for: few rules read all of an endless answer.
            self._split = max(2 * position, _SPLIT_CHARS)
            self._starts = sentence_starts(self.text, self._split)
        index = bisect_right(self._starts, position)
        start = self._starts[index - 1] if index else 0
        end = self._starts[index] if index < len(self._starts) else len(self.text)
        if end - start > MAX_QUOTE:  # cut at fixed places, so that neighbours share one claim
            cut = start + (position - start) // MAX_QUOTE * MAX_QUOTE
            start, end = max(start, cut - 40), min(end, cut + MAX_QUOTE + 40)
        return " ".join(self.text[start:end].split())


def sentence_starts(text: str, end: int | None = None) -> list[int]:
    """Where each sentence starts, up to ``end``. Linear in the text, and never empty.

    An abbreviation ("Art. 5"), a decimal ("49.99") and a list marker ("1. Send a photo") do not end
    a sentence; a line break and the end marks of Chinese and Japanese do.
    """
    starts = [0]
    for match in _END.finditer(text, 0, len(text) if end is None else end):
        if match.group() == "." and _is_no_end(text, match.start()):
            continue
        if match.end() < len(text):
            starts.append(match.end())
    return starts


def _is_no_end(text: str, dot: int) -> bool:
    before = text[max(0, dot - 8) : dot]
    word = before.rsplit(maxsplit=1)[-1] if before.strip() else ""
    if word.isdecimal():  # a list marker has nothing before it on its line
        return (
            len(word) <= 3
            and before[: -len(word)].rpartition("\n")[2].strip() == ""
            and (dot - len(word) == 0 or "\n" in before)
        )
    return word.casefold().lstrip("([\"'\u201c\u2018") in _ABBREVIATIONS
