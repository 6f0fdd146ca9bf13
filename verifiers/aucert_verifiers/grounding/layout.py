"""A reply as blocks: paragraphs, list items, table rows, headings, code. Markdown and plain text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Kind(StrEnum):
    """What a block is."""

    TEXT = "text"
    ITEM = "item"
    ROW = "row"
    HEADING = "heading"
    CODE = "code"


@dataclass(frozen=True, slots=True)
class Block:
    """A stretch of the reply that stands on its own."""

    kind: Kind
    start: int
    end: int
    """Where its words stand in the reply, without markers such as "- " or "> "."""
    heading: str = ""
    """The heading it stands under."""
    lead: str = ""
    """For an item: the line that introduces the list, such as "You need:"."""
    cells: tuple[tuple[str, str], ...] = ()
    """For a table row: the column's name and the cell, in order."""


_QUOTED_LINE: Final = re.compile(r"(?m)^[ \t]{0,3}(?:>[ \t]?)++")
_FENCE: Final = re.compile(r"[ \t]{0,8}(```+|~~~+)")
_MARKER: Final = re.compile(
    r"[ \t]*(?:[-*+\u2022\u2023\u25aa\u25cf\u25e6\u2013\u2014]|\(?\d{1,3}[.)]|\(?[a-z][.)]|\d\ufe0f?\u20e3)[ \t]+"
    r"(?:\[[ xX]\][ \t]+)?"
)
_QUOTE: Final = re.compile(r"[ \t]{0,3}(?:>[ \t]?)++")
_HASHES: Final = re.compile(r"[ \t]{0,3}(#{1,6})[ \t]+")
_RULE: Final = re.compile(r"[ \t]*(?:[-*_=][ \t]*){3,}+\Z")
_BOLD_LINE: Final = re.compile(r"\*\*[^*\n]{1,80}\*\*:?\Z|__[^_\n]{1,80}__:?\Z")
_TABLE_RULE: Final = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-*:?[ \t]*)+\Z")
_ENDS: Final = (".", "!", "?", "\u2026", "\u3002", "\uff01", "\uff1f")
_HEADING_WORDS: Final = 8


@dataclass(slots=True)
class _State:
    """What lines before say about the next one."""

    heading: str = ""
    lead: str = ""
    columns: tuple[str, ...] = ()
    paragraph: tuple[int, int] | None = None
    in_table: bool = False


def words_of(text: str, block: Block) -> str:
    """A block's text, in which the marks of quoted lines are blanks: places stay as they are."""
    piece = text[block.start : block.end]
    if block.kind is Kind.CODE or "\n" not in piece or ">" not in piece:
        return piece
    return _QUOTED_LINE.sub(lambda match: " " * len(match.group()), piece)


def blocks_of(reply: str) -> list[Block]:
    """The blocks of a reply, in order. Linear in the reply."""
    lines = _lines(reply)
    found: list[Block] = []
    state = _State()
    number = 0
    while number < len(lines):
        start, end = lines[number]
        line = reply[start:end]
        fence = _FENCE.match(line)
        if fence is not None:
            _flush(found, state)
            number = _code(reply, lines, number, fence.group(1), found)
            continue
        quote = _QUOTE.match(line)
        if quote is not None:
            start += quote.end()
            lines[number] = (start, end)
            line = reply[start:end]
        if not line.strip():
            _flush(found, state)
            state.in_table = False
        elif line.startswith(("    ", "\t")) and _indented_code(found, state, line):
            found.append(Block(Kind.CODE, start, end))
        elif _is_row(line, lines, number, reply, state):
            _flush(found, state)
            _row(reply, lines, number, found, state)
        else:
            state.in_table = False
            _line(reply, start, end, found, state)
        number += 1
    _flush(found, state)
    return found


def _lines(reply: str) -> list[tuple[int, int]]:
    found, start = [], 0
    for match in re.finditer(r"\r\n?|\n|\u2028|\u2029|\x85", reply):
        found.append((start, match.start()))
        start = match.end()
    found.append((start, len(reply)))
    return found


def _flush(found: list[Block], state: _State) -> None:
    if state.paragraph is not None:
        found.append(Block(Kind.TEXT, *state.paragraph, heading=state.heading))
        state.paragraph = None


def _code(
    reply: str, lines: list[tuple[int, int]], number: int, fence: str, found: list[Block]
) -> int:
    """Take in a fenced block, and give the line after it. One that never ends takes all the rest."""
    begin = lines[number][0]
    at = number + 1
    while at < len(lines):
        closing = _FENCE.match(reply[lines[at][0] : lines[at][1]])
        if closing is not None and closing.group(1).startswith(fence):
            break
        at += 1
    last = min(at, len(lines) - 1)
    found.append(Block(Kind.CODE, begin, lines[last][1]))
    return at + 1


def _indented_code(found: list[Block], state: _State, line: str) -> bool:
    """Four spaces are code after an empty line, but not within a list or a paragraph."""
    if state.paragraph is not None or state.lead or _MARKER.match(line):
        return False
    return bool(found) and found[-1].kind is not Kind.ITEM and _looks_like_code(line)


def _looks_like_code(line: str) -> bool:
    return bool(
        re.search(
            r"[;{}=]\s*$|^\s*(?:def|class|import|return|if|for|SELECT|\$|#!)\b|\)\s*;?$", line
        )
    )


def _is_row(
    line: str, lines: list[tuple[int, int]], number: int, reply: str, state: _State
) -> bool:
    if line.count("|") < (1 if state.in_table else 2):
        following = reply[slice(*lines[number + 1])] if number + 1 < len(lines) else ""
        return "|" in line and _TABLE_RULE.match(following) is not None
    return True


def _row(
    reply: str, lines: list[tuple[int, int]], number: int, found: list[Block], state: _State
) -> None:
    start, end = lines[number]
    line = reply[start:end]
    if _TABLE_RULE.match(line):
        state.in_table = True
        return
    cells = tuple(cell.strip(" \t*_`") for cell in line.strip().strip("|").split("|"))
    following = reply[slice(*lines[number + 1])] if number + 1 < len(lines) else ""
    if _TABLE_RULE.match(_QUOTE.sub("", following, count=1)):
        state.columns, state.in_table = cells, True
        found.append(Block(Kind.HEADING, start, end, heading=state.heading))
        return
    columns = state.columns if state.in_table else ()
    state.in_table = True
    if not columns:
        state.columns = ()
    names = columns + ("",) * max(0, len(cells) - len(columns))
    pairs = tuple(zip(names, cells, strict=False))
    found.append(Block(Kind.ROW, start, end, heading=state.heading, cells=pairs))


def _line(reply: str, start: int, end: int, found: list[Block], state: _State) -> None:
    line = reply[start:end]
    if _RULE.match(line):
        _flush(found, state)
        return
    hashes = _HASHES.match(line)
    if hashes is not None or _BOLD_LINE.match(line.strip()):
        _flush(found, state)
        begin = start + (hashes.end() if hashes is not None else 0)
        state.heading, state.lead = _plain(reply[begin:end]), ""
        found.append(Block(Kind.HEADING, begin, end))
        return
    marker = _MARKER.match(line)
    if marker is not None:
        lead = state.lead
        if state.paragraph is not None:
            lead = _lead(reply[slice(*state.paragraph)])
        _flush(found, state)
        state.lead = lead
        found.append(Block(Kind.ITEM, start + marker.end(), end, heading=state.heading, lead=lead))
        return
    if found and state.paragraph is None and found[-1].kind is Kind.ITEM and line[:1] in " \t":
        last = found[-1]
        if reply[last.end : start].count("\n") <= 1:  # an item goes on in the next line
            found[-1] = Block(Kind.ITEM, last.start, end, heading=last.heading, lead=last.lead)
            return
    state.lead = ""
    if state.paragraph is None:
        state.paragraph = (start, end)
    else:
        state.paragraph = (state.paragraph[0], end)


def _lead(text: str) -> str:
    """The last sentence of a paragraph, if it introduces what follows."""
    text = text.strip()
    if not text.endswith((":", "\uff1a")):
        return ""
    last = re.split(r"(?<=[.!?])\s+", text[-400:])[-1]
    return _plain(last).rstrip(":\uff1a").strip()


def _plain(text: str) -> str:
    return " ".join(text.strip().strip("#*_: ").split())


def is_short(text: str) -> bool:
    """It could be a heading: few words, and no end mark."""
    return len(text.split()) <= _HEADING_WORDS and not text.rstrip().endswith(_ENDS)
