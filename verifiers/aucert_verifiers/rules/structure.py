"""The readable pieces of an answer: prose as it is, a structured answer by its keys and values."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

from aucert_verifiers.rules.parse import JSON_MAX_CHARS, Unparsable, check_nesting, unfence
from aucert_verifiers.rules.seen import decoded, overrides, reorders, unescaped, visible
from aucert_verifiers.rules.text import Text, clip


_MAX_PATH = 1_000
_MAX_PLACE = 200
"""Characters that are kept: half a million values under one long path would fill the memory."""


class _Pairs(list[tuple[str, Any]]):
    """A JSON object by its pairs: a key that stands there twice hides nothing."""


def _number(text: str) -> Any:
    value = float(text)
    return value if math.isfinite(value) else text


def _integer(text: str) -> Any:
    try:
        return int(text)
    except ValueError:  # longer than the interpreter converts
        return text


# Lenient on purpose: an answer that some reader takes for JSON is read as that reader would.
_DECODER = json.JSONDecoder(
    object_pairs_hook=_Pairs, parse_float=_number, parse_int=_integer, strict=False
)


def pieces(output: str, seen: str) -> list[tuple[str, Text]]:
    """The answer's readable pieces, each with its field path; prose is one with an empty path.

    A structured answer is an object, a list or a string of JSON, also inside a code fence. A list
    of nothing but numbers is prose: ``[118]`` is a citation.

    Args:
        output: The answer as written.
        seen: The same, `visible`.
    """
    inside = unfence(output).strip() if output.lstrip()[:3] == "```" else output.strip()
    if inside[:1] in ("{", "[", '"') and inside[-1:] in ("}", "]", '"'):
        try:
            value = _parsed(inside)
        except (Unparsable, ValueError, RecursionError):
            pass
        else:
            found = list(_leaves(value))
            if not all(text.literal for _, text in found):
                return found
    if "&" in output or "\\u" in output:
        return [("", _text(unescaped(output)))]
    reordered = reorders(output)
    return [("", Text(seen, reordered=reordered, turned=reordered and overrides(output)))]


def _parsed(text: str) -> Any:
    if len(text) > JSON_MAX_CHARS:
        raise Unparsable("too long")
    check_nesting(text)
    return _DECODER.decode(text)


def _text(raw: str, place: str = "", *, key: bool = False) -> Text:
    raw = decoded(raw)
    reordered = reorders(raw)
    return Text(
        visible(raw), place, key=key, reordered=reordered, turned=reordered and overrides(raw)
    )


def _leaves(value: Any) -> Iterator[tuple[str, Text]]:
    """Keys, strings and numbers of a JSON value in order, without recursion: it is hostile."""
    stack: list[tuple[str, str, Any]] = [("", "", value)]
    while stack:
        path, place, item = stack.pop()
        if isinstance(item, str):
            yield path, _text(item, place)
        elif isinstance(item, _Pairs):
            for key, _ in item:
                yield join(path, key), _text(key, place, key=True)
            place = clip(place, _MAX_PLACE)
            stack.extend((join(path, key), join(place, key), each) for key, each in reversed(item))
        elif isinstance(item, list):
            place = clip(place, _MAX_PLACE)
            stack.extend((path, f"{place}[{i}]", item[i]) for i in range(len(item) - 1, -1, -1))
        elif isinstance(item, int | float) and not isinstance(item, bool):
            yield path, Text(repr(item), place, literal=True)


def join(path: str, key: str) -> str:
    """The path of a key: a dot in a key is escaped, so that no key reads like a path."""
    if not key:
        key = '""'
    elif "." in key:
        key = key.replace(".", "\\.")
    return f"{path}.{clip(key, 80)}"[:_MAX_PATH] if path else clip(key, 80)
