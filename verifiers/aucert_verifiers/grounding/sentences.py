"""Where sentences of a block begin and end, in any script."""

from __future__ import annotations

import re
from functools import cache
from threading import Lock
from typing import Any, Final

from aucert_otel.errors import MissingExtraError
from aucert_verifiers.rules.text import sentence_starts


_LOCK = Lock()  # a segmenter keeps the text it works on in itself
_LONGEST: Final = 1_200
"""Characters of a block that pysbd is shown: it takes longer than linear time."""

# Ends of sentences in scripts that the rules' own splitter does not know: Arabic, Urdu, Devanagari,
# Armenian, Ethiopic, Burmese, Khmer, Tibetan.
_OTHER_ENDS: Final = re.compile(
    "[\u061f\u06d4\u0964\u0965\u0589\u1362\u1367\u104b\u17d4\u0f0d][\"'\u201d\u2019\u00bb)]*\\s*"
)
# A dot that may belong to an abbreviation: after one letter, between letters, after a short title, or
# before something that begins no sentence.
_UNSURE: Final = re.compile(
    r"(?:(?<![^\W\d_])[^\W\d_]|\.[^\W\d_]|(?<![^\W\d_])[A-Z][a-z]{1,4})\.\s|\.\s+[a-z\d]"
)


@cache
def _segmenter() -> Any:
    try:
        import pysbd
    except ImportError:
        raise MissingExtraError("splitting a reply into claims", "grounding") from None
    return pysbd.Segmenter(language="en", clean=False)


def require() -> None:
    """Make sure that what sentences need is installed.

    Raises:
        MissingExtraError: the extra ``grounding`` is not.
    """
    _segmenter()


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """The sentences of a text, as places in it without the blanks around them."""
    if len(text) <= _LONGEST and _UNSURE.search(text):
        starts = _by_pysbd(text)
    else:
        starts = sentence_starts(text)
    if not text.isascii():
        starts = sorted({*starts, *(m.end() for m in _OTHER_ENDS.finditer(text))} - {len(text)})
    spans = []
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        piece = text[start:end]
        left = len(piece) - len(piece.lstrip())
        kept = len(piece.rstrip())
        if kept > left:
            spans.append((start + left, start + kept))
    return spans


def _by_pysbd(text: str) -> list[int]:
    with _LOCK:
        pieces: list[str] = _segmenter().segment(text)
    starts, at = [0], 0
    for piece in pieces:
        place = text.find(piece.strip(), at)
        if place < 0:  # it has changed the text: then ours is the safer one
            return sentence_starts(text)
        if place > 0:
            starts.append(place)
        at = place + len(piece.strip())
    breaks = [m.end() for m in re.finditer(r"\n\s*", text)]
    return sorted({*starts, *breaks} - {len(text)})
