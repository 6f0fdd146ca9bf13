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
from aucert_verifiers.rules.forms import LABEL_PREFIX, Kind, find_citations
from aucert_verifiers.rules.options import check_count, check_pattern, check_text
from aucert_verifiers.rules.parse import Unparsable
from aucert_verifiers.rules.text import Text, ascii_digits


MAX_CITATIONS = 1_000
"""Citations that are compared. An answer with more is a flood, which no rule calls good."""

PATTERN_MAX_CHARS = 20_000
"""Characters of an answer that a pattern of the user's own is read on, by default."""

MAX_CHARS = 200_000
"""Characters of an answer that are read for citations, by default."""


class Citation(NamedTuple):
    """One place where the answer cites a passage."""

    key: str
    """The id, folded as `id_key` folds it."""
    shown: str
    text: Text
    start: int
    end: int
    kind: Kind


class Citations(NamedTuple):
    """All that one reading found."""

    found: tuple[Citation, ...] = ()
    malformed: tuple[str, ...] = ()
    """A fact for each cited id that is no id, naming its place."""
    unread: str = ""
    """Why not all of the answer could be read for citations, if that is so."""
    covered: float | None = None
    """The share of the answer that was read, where it is longer than is read."""


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
    max_chars: int | None = None
    _compiled: re.Pattern[str] | None = attribute(
        default=None, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        if self.max_chars is not None:
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
        length = len(context.generation.output)
        room = self.max_chars or (MAX_CHARS if self._compiled is None else PATTERN_MAX_CHARS)
        if length > room and (self.field is not None or self._compiled is not None):
            return Citations(unread=_too_long(length, room), covered=0.0)
        if self.field is not None:
            return _from_field(context, self.field)
        left = room
        found: list[Citation] = []
        for _, text in context.texts():
            if text.literal:
                continue
            if self._compiled is None:
                found.extend(islice(_from_text(text, left), MAX_CITATIONS + 1))
                left = max(0, left - len(text.text))
            else:
                found.extend(islice(_by_pattern(text, self._compiled), MAX_CITATIONS + 1))
            if len(found) > MAX_CITATIONS:
                flood = f"the answer has more than {MAX_CITATIONS} citations"
                return Citations(tuple(found[:MAX_CITATIONS]), unread=flood)
        if length > room:
            return Citations(tuple(found), unread=_too_long(length, room), covered=room / length)
        return Citations(tuple(found))


def _too_long(length: int, room: int) -> str:
    return f"the answer has {length} characters, more than the {room} that are read for citations"


def _from_text(text: Text, room: int) -> Iterable[Citation]:
    for start, end, kind, ids in find_citations(text.text, room):
        for shown in ids:
            yield Citation(id_key(shown), shown, text, start, end, kind)


def _by_pattern(text: Text, pattern: re.Pattern[str]) -> Iterable[Citation]:
    group: int | str = "id" if "id" in pattern.groupindex else min(pattern.groups, 1)
    for match in pattern.finditer(text.text):
        if match.group(group):
            shown = match.group(group)
            yield Citation(id_key(shown), shown, text, match.start(), match.end(), Kind.PASSAGE)


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
                found.append(Citation(id_key(each), str(each), text, 0, 0, Kind.PASSAGE))
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
        todo = here[::-1]
        while todo:  # a list in a list stands for its items too
            place, item = todo.pop()
            if isinstance(item, list):
                todo.extend((f"{place}[{n}]", item[n]) for n in range(len(item) - 1, -1, -1))
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
