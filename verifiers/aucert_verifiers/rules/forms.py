"""The forms in which an answer's prose cites passages, and the ids in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum, auto
from typing import NamedTuple


class Kind(Enum):
    """What an answer calls what it cites."""

    PASSAGE = auto()
    ARTICLE = auto()
    SECTION = auto()
    """Also the name of a part of a document, such as "section 2 of article 305"."""


class Form(NamedTuple):
    """One citation, which may name several ids."""

    start: int
    end: int
    kind: Kind
    ids: list[str]


# Every quantifier that could meet a hostile run is possessive, so reading is linear in the text.
_ID = (
    r"(?:(?-i:[A-Z]{1,8}[-_]?))?\d++(?:[.-]\d++)*+"
    r"(?:[a-z]{1,3}(?![^\W_])|(?-i:-[A-Z]{1,3})(?![^\W_]))?+"
)
_MARK = r"[*_`~#^\\\u00a7]*+"
_SEPARATOR = (
    r"[\s:#*_`~\\+\u2116\u2800-]*+(?:[.\u2013\u2014](?=\d))?+"
    r"(?:(?:nos?\.?|nr\.?|numbers?|ids?)[\s:#*_`~\\]*+)?+"
)
_AFTER = (  # a bare number after "and" or a comma may also be a number: "article 118 and 48 hours"
    r"(?=[*_`~]*+\s*+(?:[,;:.)\]/\u2013\"'\u201d\u2019]|and\b|or\b|to\b|&|\Z)|[*_`~]*+[^\S\n]*+\n)"
)
_AND = (
    r"[*_`~]*+\s*+,?\s*+(?:(?:and|or|to|through|thru|until|plus|as\s++well\s++as)\s++|[&+]\s*+)"
    rf"(?:also\s++)?+{_MARK}"
)
_COMMA = (
    rf"[*_`~]*+(?:\s*+[,;/\u2013]\s*+(?:[-*\u2022]\s++)?+|[^\S\n]*+\n\s*+[-*\u2022]\s++){_MARK}"
)
_LIST = rf"(?:{_AND}{_ID}|{_COMMA}{_ID}{_AFTER})*+"
_FEW = rf"(?:(?:{_AND}|[*_`~]*+/){_ID}{_AFTER})*+"
_OPEN = rf"[(\[{{<\"'\u201c\u2018\u201e\u00ab]\s*+{_MARK}"
_CLOSE = r"(?=[*_`~]*+\s*+[)\]}>\"'\u201d\u2019\u201c\u00bb,;.])"
_LABEL = r"(?:articles?|arts?\.?|docs?|documents?|sources?|passages?|sections?|refs?|kb|ids?)"
_BETWEEN = r"[*_`~]*+(?:\s*+[,;/&+\u2013]\s*+|\s++(?:(?:and|or|to)\s++|[&+]\s*+)?+)"
_IDS = rf"{_MARK}{_ID}(?:{_BETWEEN}{_MARK}{_ID})*+{_MARK}"
_ARTICLE = (
    r"(?<=[aA])(?<!\w.)(?i:rt(?:"
    rf"(?:icles|s\.){_SEPARATOR}(?:(?P<many>{_ID}{_LIST})|{_OPEN}(?P<many_in>{_ID}{_LIST}){_CLOSE})"
    rf"|(?:icle|\.){_SEPARATOR}(?:(?P<one>{_ID}{_FEW})|{_OPEN}(?P<one_in>{_ID}{_FEW}){_CLOSE})))"
)
_BRACKETS = (
    r"(?<=[\[\u3010])(?i:\s*+(?:"
    rf"(?P<numbers>{_IDS})\s*+(?:[\]\u3011]|\u2020)"
    rf"|{_MARK}{_LABEL}(?:"
    r"\s*+[:#]\s*+(?P<named>[^\s\[\],;]++(?:\s*+[,;]\s*+[^\s\[\],;]++)*+)\s*+\]"
    rf"|[\s:#*_./-]++(?:(?P<labelled>{_IDS})\s*+[\]\u3011]"
    rf"|{_MARK}(?P<first>{_ID})(?=[*_`~]*+[\s,;(][^\[\]\n]{{0,80}}+\])))))"  # "[doc 118, page 3]"
)
_SECTION = (
    r"(?:(?<=\u00a7)\u00a7*+|(?<=[sS])(?<!\w.)(?i:ec(?:tions?|s?\.)))"
    rf"{_SEPARATOR}(?P<section>{_ID}{_FEW})"
)
# Each starts with one plain character set, which the engine looks for without trying anything else.
_USUAL = re.compile(rf"[aA\[](?:{_ARTICLE}|{_BRACKETS})")
_ALL = re.compile(rf"[aAsS\[\u3010\u00a7](?:{_ARTICLE}|{_BRACKETS}|{_SECTION})")
_ONE_ID = re.compile(_ID, re.IGNORECASE)
LABEL_PREFIX = re.compile(rf"{_LABEL}[\s:_#./-]*+(?=\S)", re.IGNORECASE)
_PART_OF = re.compile(r"\s++of\s++(?:the\s++)?(?:same\s++)?art", re.IGNORECASE)
_KINDS = {
    "many": Kind.ARTICLE, "many_in": Kind.ARTICLE, "one": Kind.ARTICLE, "one_in": Kind.ARTICLE,
    "section": Kind.SECTION,
}  # fmt: skip


def find_citations(text: str, room: int) -> Iterator[Form]:
    """The citations in the first ``room`` characters of a text, in order.

    A section that is named as a part of an article ("article 305, section 2") is none.
    """
    usual = "sec" not in text.lower() and (
        text.isascii() or not ("\u00a7" in text or "\u3010" in text)
    )
    previous = -1
    for match in (_USUAL if usual else _ALL).finditer(text, 0, room):
        group = match.lastgroup or ""
        body = match.group(group)
        start, end = match.span()
        if group == "named":
            ids = [part.strip() for part in re.split("[,;]", body)]
        else:
            ids = [body] if body.isdecimal() else _ONE_ID.findall(body)
        kind = _KINDS.get(group, Kind.PASSAGE)
        if kind is Kind.SECTION:
            gap = text[max(previous, 0) : start]
            follows = previous >= 0 and len(gap) <= 4 and not gap.strip(" ,(")
            if follows or _PART_OF.match(text, end):
                previous = end
                continue
        elif kind is Kind.PASSAGE and text[start : start + 4].lower() == "[art":
            kind = Kind.ARTICLE
        previous = end
        yield Form(start, end, kind, ids)
