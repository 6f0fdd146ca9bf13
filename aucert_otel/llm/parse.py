"""One JSON object from a model's answer, strictly: what is not cleanly one is a problem.

Nothing is repaired. A guess at what the model meant could turn a broken answer into a pass.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


MAX_CHARS = 262_144
MAX_DEPTH = 32
_MAX_DIGITS = 300


class JsonProblem(StrEnum):
    """Why an answer is not one JSON object: a closed vocabulary, safe as an attribute."""

    EMPTY = "empty"
    NOT_JSON = "not_json"
    NOT_AN_OBJECT = "not_an_object"
    TRUNCATED = "truncated"
    SEVERAL_OBJECTS = "several_objects"
    TRAILING_TEXT = "trailing_text"
    DUPLICATE_KEY = "duplicate_key"
    NOT_FINITE = "not_finite"
    TOO_DEEP = "too_deep"
    TOO_LARGE = "too_large"


@dataclass(frozen=True, slots=True)
class Malformed:
    """An answer that is not one JSON object."""

    kind: JsonProblem


class _FoundError(Exception):
    """A problem met while decoding."""

    def __init__(self, kind: JsonProblem) -> None:
        super().__init__(kind)
        self.kind = kind


# One fence around the whole text; a fence inside it would be content.
_FENCE = re.compile(r"\A```(?:json)?[ \t]*\r?\n(.*?)\r?\n?```\Z", re.DOTALL | re.IGNORECASE)
_LITERALS = ("true", "false", "null")
_CUT_NUMBER = re.compile(r"-|\.|[eE][-+]?")
_CUT_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{0,4})?\Z")


def parse_object(
    text: str, *, max_chars: int = MAX_CHARS, max_depth: int = MAX_DEPTH
) -> dict[str, Any] | Malformed:
    """Read an answer that is meant to be one JSON object.

    The text is read as it is; only if that fails, and one code fence encloses all of it, what is
    inside the fence is read.

    Args:
        text: The whole answer.
        max_chars: A longer answer is not looked at.
        max_depth: Objects and lists inside one another.
    """
    if len(text) > max_chars:
        return Malformed(JsonProblem.TOO_LARGE)
    text = text.strip()
    if not text:
        return Malformed(JsonProblem.EMPTY)
    found = _read(text, max_depth)
    if isinstance(found, Malformed):
        fence = _FENCE.match(text)
        if fence is not None and "```" not in fence[1]:
            inside = fence[1].strip()
            return _read(inside, max_depth) if inside else Malformed(JsonProblem.EMPTY)
    return found


def _read(text: str, max_depth: int) -> dict[str, Any] | Malformed:
    try:
        data = _DECODER.decode(text)
    except _FoundError as problem:
        return Malformed(problem.kind)
    except json.JSONDecodeError as error:
        return Malformed(_why(text, error))
    except RecursionError:
        return Malformed(JsonProblem.TOO_DEEP)
    if not isinstance(data, dict):
        return Malformed(JsonProblem.NOT_AN_OBJECT)
    return data if _depth_within(data, max_depth) else Malformed(JsonProblem.TOO_DEEP)


def _why(text: str, error: json.JSONDecodeError) -> JsonProblem:
    if error.msg == "Extra data":
        return JsonProblem.SEVERAL_OBJECTS if text[error.pos] == "{" else JsonProblem.TRAILING_TEXT
    if text[0] not in "{[":
        return JsonProblem.NOT_JSON
    rest = text[error.pos :].strip()
    cut = (
        any(literal.startswith(rest) for literal in _LITERALS)  # also when nothing is left
        or error.msg.startswith("Unterminated string")
        or _CUT_NUMBER.fullmatch(rest)
        or (error.msg.startswith("Invalid \\") and _CUT_ESCAPE.search(text))
    )
    return JsonProblem.TRUNCATED if cut else JsonProblem.NOT_JSON


def _depth_within(data: dict[str, Any], limit: int) -> bool:
    level: list[Any] = [data]
    for _ in range(limit):
        level = [
            child
            for node in level
            for child in (node.values() if isinstance(node, dict) else node)
            if isinstance(child, (dict, list))
        ]
        if not level:
            return True
    return False


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):  # which of the two was meant?
        raise _FoundError(JsonProblem.DUPLICATE_KEY)
    return found


def _float(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):  # 1e999
        raise _FoundError(JsonProblem.NOT_FINITE)
    return value


def _int(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise _FoundError(JsonProblem.NOT_FINITE)
    return int(digits)


def _constant(_: str) -> Any:
    raise _FoundError(JsonProblem.NOT_FINITE)  # NaN, Infinity, -Infinity


_DECODER = json.JSONDecoder(
    object_pairs_hook=_pairs, parse_float=_float, parse_int=_int, parse_constant=_constant
)
