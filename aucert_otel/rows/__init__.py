"""Input rows: finished answers as JSON lines, read one at a time, the bad ones named."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, BinaryIO, Final, NoReturn

from aucert_otel._sentences import sentence, shown, visible
from aucert_otel.errors import InvalidRowError
from aucert_otel.generation import Generation
from aucert_otel.verdict import Verdict


MAX_LINE_BYTES: Final = 10_000_000
"""A longer line is refused unread: it is not one answer."""


@dataclass(frozen=True, slots=True)
class Row:
    """One finished answer, and what is known about it beside."""

    generation: Generation
    gold: Verdict | None = None
    """What people said about it: `Verdict.PASS` or `Verdict.FAIL`."""
    unknown: tuple[str, ...] = ()
    """Keys nobody reads, such as ``evidence[].rank``. They are reported, never a failure: exports
    carry many columns."""


@dataclass(frozen=True, slots=True)
class InputLine:
    """One line of an input: its row, or what is wrong with it."""

    number: int
    """Counted from 1."""
    digest: str
    """Of the line's bytes: the same answer is the same digest, wherever it stands."""
    row: Row | None = None
    problem: str | None = None
    """One sentence, with the line's number."""


def read_row(data: object, place: str = "row") -> Row:
    """Read one row.

    Args:
        data: The parsed JSON.
        place: Where it stands, such as ``line 7``; it begins the message.

    Raises:
        InvalidRowError: it is no generation. The message is one sentence that names the place,
            the value and the mend.
    """
    from pydantic import ValidationError

    from aucert_otel.rows.models import GOLD, RowModel

    if not isinstance(data, dict):
        raise InvalidRowError(
            f"{place}: the row is {shown(data)}: it must be a JSON object with at least output"
        )
    try:
        model = RowModel.model_validate(data)
    except ValidationError as error:
        problems = error.errors(include_url=False)
        more = f" (and {len(problems) - 1} more in this row)" if len(problems) > 1 else ""
        raise InvalidRowError(f"{place}: {sentence(problems[0], RowModel)}{more}") from None
    gold = None if model.gold is None else GOLD[model.gold]
    return Row(model.build(), gold, _unknown(data))


def _unknown(data: Mapping[str, Any]) -> tuple[str, ...]:
    from aucert_otel.rows.models import PARTS, RowModel

    found = [key for key in data if key not in RowModel.model_fields]
    for key, model in PARTS.items():
        value = data.get(key)
        items = value if isinstance(value, list) else [value]
        mark = "[]" if isinstance(value, list) else ""
        found += [
            f"{key}{mark}.{inner}"
            for item in items
            if isinstance(item, dict)
            for inner in item
            if inner not in model.model_fields
        ]
    return tuple(dict.fromkeys(found))


def read_rows(stream: BinaryIO, *, max_bytes: int = MAX_LINE_BYTES) -> Iterator[InputLine]:
    """Read an input line by line, in memory bounded by one line. Blank lines are passed over.

    A bad line yields its problem and never ends the reading.

    Raises:
        OSError: the stream cannot be read.
    """
    number = 0
    while line := stream.readline(max_bytes + 1):
        number += 1
        digest = sha256(line.strip())
        too_long = len(line) > max_bytes and not line.endswith(b"\n")
        while too_long and line and not line.endswith(b"\n"):
            line = stream.readline(max_bytes)
            digest.update(line)
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")  # the mark some editors begin UTF-8 with
        if not too_long and not line.strip():
            continue
        place = f"line {number}"
        if too_long:
            problem = (
                f"{place}: the line is longer than {max_bytes:,} bytes: one line is one answer"
            )
            yield InputLine(number, digest.hexdigest()[:32], problem=problem)
            continue
        try:
            row = read_row(_parse(line, place), place)
        except InvalidRowError as error:
            yield InputLine(number, digest.hexdigest()[:32], problem=str(error))
        else:
            yield InputLine(number, digest.hexdigest()[:32], row)


def _parse(line: bytes, place: str) -> object:
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        raise InvalidRowError(
            f"{place}: byte {error.start + 1} is not UTF-8: save the file as UTF-8"
        ) from None
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise InvalidRowError(
            f"{place}: not JSON at column {error.colno} ({error.msg[:1].lower()}{error.msg[1:]}): "
            "write one JSON object a line"
        ) from None
    except RecursionError:
        raise InvalidRowError(f"{place}: the JSON is nested too deeply to be an answer") from None
    except _AmbiguousError as error:
        raise InvalidRowError(f"{place}: {error}") from None
    except ValueError:  # what is left: an integer of more digits than Python reads
        raise InvalidRowError(f"{place}: a number has too many digits to be read") from None


class _AmbiguousError(ValueError):
    """JSON that parsers differ about."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value] # add returns None on purpose
        raise _AmbiguousError(
            f'the key "{visible(twice[:60])}" stands twice in one object: keep one'
        )
    return found


def _no_constant(name: str) -> NoReturn:
    raise _AmbiguousError(f"{name} is not JSON: write null for an unknown number")
