"""Reading the citations of an answer: by pattern from its text, or from a JSON field."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from dataclasses import field as attribute  # a class here has a field called `field`
from itertools import islice
from typing import Any, NamedTuple

from aucert_otel.errors import ConfigurationError
from aucert_verifiers.rules.base import Context
from aucert_verifiers.rules.options import check_count, check_pattern, check_text
from aucert_verifiers.rules.parse import Unparsable
from aucert_verifiers.rules.text import Text, ascii_digits


# Every quantifier that could meet a hostile run is possessive, so reading is linear in the text.
_ID = r"(?:(?-i:[A-Z]{1,8}[-_]?))?\d++(?:[.-]\d++)*+[a-z]?(?![\w]|-\w)"
_SEPARATOR = r"[\s:#_-]*+(?:(?:nos?\.?|nr\.?|number|id)[\s:#]*+)?"
_LISTED = (  # "articles 118, 140 and 305": a bare comma may also open "articles 118, 48 hours"
    rf"(?:\s*+,?\s*+(?:and|or|&)\s++{_ID}|\s*+[,;/\u2013]\s*+{_ID}(?=\s*+(?:[,;:.)\]/\u2013]|and\b|or\b|&|\Z)))*+"
)
_LABEL = r"(?:articles?|arts?\.?|docs?|documents?|sources?|passages?|refs?|kb|ids?)"
# It starts with one plain character set, which the engine looks for without trying anything else.
_CITATION = re.compile(
    r"[aA\[](?:(?<=[aA])(?<!\w.)(?i:rt(?:"
    rf"(?:icles|s\.){_SEPARATOR}(?P<many>{_ID}{_LISTED})"
    rf"|(?:icle|\.){_SEPARATOR}(?P<one>{_ID})))"
    rf"|(?<=\[)(?i:\s*+(?P<numbers>{_ID}(?:\s*+[,;]\s*+{_ID})*+)\s*+\]"
    rf"|\s*+{_LABEL}\s*+[:#\s]\s*+(?P<named>[^\s\[\],;]++(?:\s*+[,;]\s*+[^\s\[\],;]++)*+)\s*+\]))"
)
MAX_CITATIONS = 1_000
"""Citations that are compared. An answer with more is a flood, which no rule calls good."""

_ONE_ID = re.compile(_ID, re.IGNORECASE)
LABEL_PREFIX = re.compile(rf"{_LABEL}[\s:_#./-]*+(?=\S)", re.IGNORECASE)


class Citation(NamedTuple):
    """One place where the answer cites a passage."""

    key: str
    """The id, folded as `id_key` folds it."""
    shown: str
    text: Text
    start: int
    end: int
    article: bool


class Citations(NamedTuple):
    """All that one reading found."""

    found: tuple[Citation, ...] = ()
    malformed: tuple[str, ...] = ()
    """A fact for each cited id that is no id, naming its place."""
    unread: str = ""
    """Why the answer could not be read for citations, if it could not."""


def id_key(identifier: object) -> str:
    """An id as it is compared: 212 is "212", "Article 212" and "article-212" are too."""
    if type(identifier) is str and identifier.isascii() and identifier.isdecimal():
        return identifier
    folded = ascii_digits(" ".join(str(identifier).split())).casefold()
    match = LABEL_PREFIX.match(folded)
    if match is None:
        return folded
    bare = folded[match.end() :]
    # "docker" starts like a label and has none; "doc:7", "kb-7" and "article7" do.
    return folded if match.group()[-1].isalpha() and not bare[0].isdecimal() else bare


@dataclass(frozen=True, slots=True)
class CitationReader:
    """How the citations of an answer are read: by a pattern from its text, or from a JSON field."""

    pattern: str | None = None
    field: str | None = None
    max_chars: int = 20_000
    _compiled: re.Pattern[str] | None = attribute(
        default=None, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        check_count(self.max_chars, "cites_only_returned.max_chars", least=1)
        if self.pattern is not None:
            if self.field is not None:
                raise ConfigurationError(
                    "cites_only_returned has both a pattern and a field: citations are read from one"
                )
            compiled = check_pattern(self.pattern, "cites_only_returned.pattern")
            object.__setattr__(self, "_compiled", compiled)
        if self.field is not None:
            wanted = 'the path of a JSON field, such as "citations" or "answer.sources.id"'
            check_text(self.field, "cites_only_returned.field", wanted)

    def read(self, context: Context) -> Citations:
        """Read them, once for every answer."""
        return context.once(self, lambda: self._read(context))

    def _read(self, context: Context) -> Citations:
        if self.field is not None:
            return _from_field(context, self.field)
        found: list[Citation] = []
        for _, text in context.texts():
            if text.literal:
                continue
            if self._compiled is None:
                found.extend(islice(_from_text(text), MAX_CITATIONS + 1))
            elif len(text.text) > self.max_chars:
                return Citations(
                    unread=f"the answer has {len(text.text)} characters, more than the "
                    f"{self.max_chars} the citation pattern is read on"
                )
            else:
                found.extend(islice(_by_pattern(text, self._compiled), MAX_CITATIONS + 1))
            if len(found) > MAX_CITATIONS:
                return Citations(unread=f"the answer has more than {MAX_CITATIONS} citations")
        return Citations(tuple(found))


def _from_text(text: Text) -> Iterable[Citation]:
    for match in _CITATION.finditer(text.text):
        kind = match.lastgroup or ""
        body = match.group(kind)
        if kind == "named":
            ids = [part.strip() for part in re.split("[,;]", body)]
        else:
            ids = [body] if body.isdecimal() else _ONE_ID.findall(body)
        start, end = match.span()
        article = kind in ("one", "many") or text.text[start : start + 4].lower() == "[art"
        for shown in ids:
            yield Citation(id_key(shown), shown, text, start, end, article)


def _by_pattern(text: Text, pattern: re.Pattern[str]) -> Iterable[Citation]:
    group: int | str = "id" if "id" in pattern.groupindex else min(pattern.groups, 1)
    for match in pattern.finditer(text.text):
        if match.group(group):
            shown = match.group(group)
            yield Citation(id_key(shown), shown, text, match.start(), match.end(), False)


def _from_field(context: Context, path: str) -> Citations:
    try:
        value = context.json()
    except Unparsable as error:
        return Citations(malformed=(f"{path} cannot be read, the answer is not JSON: {error}",))
    found: list[Citation] = []
    malformed: list[str] = []
    for place, item in _at(value, path):
        values = [(place, item)]
        if isinstance(item, list):
            values = [(f"{place}[{index}]", each) for index, each in enumerate(item)]
        for where, each in values:
            if isinstance(each, str | int) and not isinstance(each, bool) and str(each).strip():
                text = Text(f"{where}: {each}", where)
                found.append(Citation(id_key(each), str(each), text, 0, 0, False))
            else:
                malformed.append(
                    f"{where} is {_kind(each)}: a cited id is a text or a whole number"
                )
    return Citations(tuple(found), tuple(malformed))


def _at(value: Any, path: str) -> list[tuple[str, Any]]:
    """The values at a dotted path; a list on the way stands for each of its items."""
    here: list[tuple[str, Any]] = [("", value)]
    for key in path.split("."):
        items: list[tuple[str, Any]] = []
        for place, item in here:
            if isinstance(item, list):
                items.extend((f"{place}[{index}]", each) for index, each in enumerate(item))
            else:
                items.append((place, item))
        here = [
            (f"{place}.{key}" if place else key, item[key])
            for place, item in items
            if isinstance(item, dict) and key in item
        ]
    return here


def _kind(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, str):
        return "an empty text"
    if isinstance(value, bool | float):
        return str(value).lower()
    return "a list" if isinstance(value, list) else "an object"
