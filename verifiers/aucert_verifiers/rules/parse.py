"""Strict, bounded parsers for hostile text. Each returns or raises `Unparsable`, nothing else."""

from __future__ import annotations

import ast
import csv
import io
import json
import math
import os
import re
import threading
import tomllib
import warnings
from collections.abc import Callable
from typing import Any, NoReturn
from xml.parsers import expat


MAX_DEPTH = 64
"""Levels of nesting that are read. Anything deeper would be a stack overflow somewhere later."""

MAX_YAML_NODES = 100_000
"""Nodes a YAML document may have once its aliases are expanded."""

JSON_MAX_CHARS = 1_000_000

_BRACKETS = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)
_FENCE = re.compile(r"\s*+```[^\n`]*+\n(.*?)\n?[ \t]*+```\s*", re.DOTALL)
_warnings_lock = threading.RLock()
if hasattr(os, "register_at_fork"):  # not on Windows
    # A fork waits for the parser: else the child would inherit a lock that nobody lets go of, and
    # the filters of a thread that it does not have.
    os.register_at_fork(
        before=_warnings_lock.acquire,
        after_in_parent=_warnings_lock.release,
        after_in_child=_warnings_lock.release,
    )


class Unparsable(ValueError):  # noqa: N818 - a fact about the text, not a fault of ours
    """The text is not what it should be; the message says where and why."""


def unfence(text: str) -> str:
    """What is inside a code fence that wraps the whole text, or the text as it is."""
    match = _FENCE.fullmatch(text) if text.count("```") == 2 else None
    return match.group(1) if match else text


def _depth(text: str) -> int:
    depth = deepest = 0
    for match in _BRACKETS.finditer(text):
        char = match.group()
        if char in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif char in "]}":
            depth -= 1
    return deepest


def check_nesting(text: str) -> None:
    """Refuse text that is nested deeper than is read.

    Raises:
        Unparsable: it is.
    """
    if text.count("[") + text.count("{") > MAX_DEPTH and _depth(text) > MAX_DEPTH:
        raise Unparsable(f"it is nested deeper than {MAX_DEPTH} levels")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise Unparsable(f"the key {key[:80]!r} appears twice in one object")
            seen.add(key)
    return found


def _no_constant(name: str) -> NoReturn:
    raise Unparsable(f"{name} is not JSON")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise Unparsable(f"the number {text[:40]} is too large for JSON readers")
    return value


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_finite
)


def parse_json(text: str, max_chars: int) -> Any:
    """Strict JSON: no NaN, no infinity, no key twice."""
    _bound(text, max_chars)
    check_nesting(text)
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise Unparsable(f"line {error.lineno} column {error.colno}: {error.msg}") from None
    except Unparsable:
        raise
    except ValueError:  # an integer longer than the interpreter converts
        raise Unparsable("it holds an integer with thousands of digits") from None


def _parse_yaml(text: str) -> None:
    import yaml

    check_nesting(text)  # its scanner is quadratic
    loader = yaml.SafeLoader("")
    try:
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        if node is not None:
            _weigh_yaml(node)
            loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f"line {mark.line + 1} column {mark.column + 1}: " if mark else ""
        raise Unparsable(f"{place}{error.problem or 'not YAML'}") from None
    except yaml.YAMLError as error:
        raise Unparsable(str(error).splitlines()[0][:200]) from None
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as error:
        # PyYAML lets these escape for a value that does not fit its own tag, such as `!!int x`.
        if isinstance(error, Unparsable):
            raise
        raise Unparsable("a value does not fit its type") from None
    finally:
        loader.dispose()


def _weigh_yaml(root: Any) -> None:
    """Refuse a document whose aliases expand past the bound, or that contains itself.

    Merge keys copy what they alias, so nine lines can ask for a billion entries.
    """
    weights: dict[int, int] = {}
    open_nodes: set[int] = set()
    stack: list[tuple[Any, bool]] = [(root, False)]
    while stack:
        node, done = stack.pop()
        key = id(node)
        children = _yaml_children(node)
        if done:
            open_nodes.discard(key)
            weights[key] = 1 + sum(weights[id(child)] for child in children)
            if weights[key] > MAX_YAML_NODES:
                raise Unparsable(f"its aliases expand to more than {MAX_YAML_NODES} nodes")
        elif key in open_nodes:
            raise Unparsable("an alias contains itself")
        elif key not in weights:
            open_nodes.add(key)
            stack.append((node, True))
            stack.extend((child, False) for child in children if id(child) not in weights)
            # A sibling pushed twice is weighed once; only an ancestor is still open here.


def _yaml_children(node: Any) -> list[Any]:
    if isinstance(node.value, str):
        return []
    if node.id == "mapping":
        return [part for pair in node.value for part in pair]
    return list(node.value)


def _parse_toml(text: str) -> None:
    try:
        tomllib.loads(text)
    except ValueError as error:
        raise Unparsable(str(error)[:200]) from None


def _parse_xml(text: str) -> None:
    parser = expat.ParserCreate()
    depth = 0

    def start(_name: str, _attributes: object) -> None:
        nonlocal depth
        depth += 1
        if depth > MAX_DEPTH:
            raise Unparsable(f"it is nested deeper than {MAX_DEPTH} levels")

    def end(_name: str) -> None:
        nonlocal depth
        depth -= 1

    def refuse(*_declaration: object) -> NoReturn:
        raise Unparsable("it has a DOCTYPE, which could declare entities and is refused")

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        message = expat.ErrorString(error.code)
        raise Unparsable(f"line {error.lineno} column {error.offset + 1}: {message}") from None
    except UnicodeEncodeError:
        raise Unparsable("it holds half of a surrogate pair, which no encoding can write") from None


def _parse_csv(text: str) -> None:
    width = 0
    try:
        rows = csv.reader(io.StringIO(text, newline=""), strict=True)
        for number, row in enumerate((row for row in rows if row), start=1):
            width = width or len(row)
            if len(row) != width:
                raise Unparsable(f"row {number} has {len(row)} fields, the first row {width}")
    except csv.Error as error:
        raise Unparsable(str(error)[:200]) from None
    if not width:
        raise Unparsable("it has no rows")


def _parse_python(text: str) -> None:
    # The compiler warns about odd escapes through the process-wide filters, where an `error` filter
    # would turn a warning into a verdict. Nothing but this line touches them, one thread at a time.
    try:
        with _warnings_lock, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except SyntaxError as error:
        raise Unparsable(f"line {error.lineno} column {error.offset}: {error.msg}") from None
    except ValueError as error:  # a NUL, half a surrogate pair, an endless integer
        raise Unparsable(str(error)[:200]) from None


# Characters read by default: what each parser gets through in well under a second at its worst.
FORMATS: dict[str, tuple[int, Callable[[str], object]]] = {
    "json": (JSON_MAX_CHARS, lambda text: parse_json(text, len(text))),
    "yaml": (50_000, _parse_yaml),
    "toml": (20_000, _parse_toml),
    "xml": (1_000_000, _parse_xml),
    "csv": (1_000_000, _parse_csv),
    "python": (100_000, _parse_python),
}


def parse(text: str, name: str, max_chars: int | None = None) -> None:
    """Parse the text, and drop what it said.

    Raises:
        Unparsable: it is not well formed, too long, or nested too deeply.
    """
    default, parser = FORMATS[name]
    _bound(text, default if max_chars is None else max_chars)
    try:
        parser(text)
    except (RecursionError, MemoryError):  # how the parsers of YAML, TOML and Python say "too deep"
        raise Unparsable("it is nested too deeply") from None


def _bound(text: str, max_chars: int) -> None:
    if len(text) > max_chars:
        raise Unparsable(f"it has {len(text)} characters, more than the {max_chars} that are read")
