"""The documentation's pages: their code, their links, their tables and what stands in backticks."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path


ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("*.md"))
ADRS = sorted((DOCS / "adr").glob("*.md"))

NEW_PROGRAM = "<!-- a new program -->"
"""Stands before a block that does not go on from the one above."""

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass
class Block:
    """One fenced block, with the printed output that the page shows below it."""

    line: int
    code: str
    output: str | None = None


@dataclass
class Program:
    """The Python blocks of a page that follow from each other."""

    page: str
    blocks: list[Block] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.page}:{self.blocks[0].line}"


def text_of(page: Path) -> str:
    """A page's text."""
    return page.read_text(encoding="utf-8")


def fences(text: str, language: str) -> list[str]:
    """Every fenced block of a language."""
    return [found[2] for found in _FENCE.finditer(text) if found[1] == language]


def prose(text: str) -> str:
    """The text without its fenced blocks."""
    return _FENCE.sub("", text)


def ticked(text: str) -> set[str]:
    """What stands in backticks outside of fenced blocks."""
    return set(re.findall(r"`([^`\n]+)`", prose(text)))


def programs(page: Path) -> list[Program]:
    """A page's Python, in the order in which it stands. A text block right below one is its output."""
    text = text_of(page)
    found: list[Program] = []
    end = 0
    last: Block | None = None
    for match in _FENCE.finditer(text):
        between = text[end : match.start()].strip()
        language, body = match[1], match[2]
        if language == "python":
            last = Block(text[: match.start()].count("\n") + 1, body)
            if not found or between.endswith(NEW_PROGRAM):
                found.append(Program(page.name))
            found[-1].blocks.append(last)
        elif language == "text" and last is not None and not between:
            last.output = body
            last = None
        else:
            last = None
        end = match.end()
    return found


def section(text: str, heading: str) -> str:
    """What stands under a heading, up to the next one of its level or above."""
    level = heading.split(" ", 1)[0]
    _, found, rest = text.partition(f"\n{heading}\n")
    assert found, f"there is no heading {heading!r}"
    return re.split(rf"^#{{1,{len(level)}}} ", rest, maxsplit=1, flags=re.MULTILINE)[0]


def rows(text: str) -> list[list[str]]:
    """The rows of every table, cell by cell, without the headings."""
    found = []
    for line in text.splitlines():
        if line.startswith("| ") and line.endswith(" |"):
            found.append([cell.strip() for cell in re.split(r"(?<!\\)\|", line[1:-1])])
    return [row for row in found if not set("".join(row)) <= set("-: ")]


def name_in(cell: str) -> str:
    """The one name in backticks that a cell begins with."""
    match = re.match(r"`([^`]+)`", cell)
    return match[1] if match else ""
