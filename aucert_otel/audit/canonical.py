"""One way to write a record as JSON, so that its bytes, and therefore its hash, are always the same."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any


def safe_text(text: str) -> str:
    r"""Text that every UTF-8 reader takes: a lone surrogate is written out as ``\udc80``."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode()
    return text


def finite(number: object) -> float | None:
    """A number as it can be stored, or ``None`` for what is not a finite number.

    Unknown stays unknown: nothing is replaced by zero.
    """
    if not isinstance(number, int | float):
        return None
    try:
        value = float(number)
    except OverflowError:
        return None
    return value if math.isfinite(value) else None


def plain(value: Any) -> Any:
    """Copy what JSON can hold; tuples become lists, text is made safe.

    Raises:
        ValueError: a number is NaN or infinite.
        TypeError: a value is none of text, number, bool, ``None``, mapping, list or tuple. User
            objects are never serialised blindly.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return safe_text(str(value))  # str(): an enum member becomes its text
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"an audit record cannot hold {value!r}: write None for unknown")
        return float(value)
    if isinstance(value, Mapping):
        return {safe_text(str(key)): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    raise TypeError(
        f"an audit record cannot hold a {type(value).__name__}: only text, numbers, None, "
        "mappings and lists"
    )


def canonical_json(value: Any) -> str:
    """Sorted keys, no spaces, real characters instead of escapes, on one line.

    Raises:
        ValueError: a number is NaN or infinite.
        TypeError: a value JSON does not have.
    """
    try:
        text = _dump(value)
        text.encode()
    except (ValueError, TypeError):
        # Something in it needs care, or is refused with our own sentence.
        return _dump(plain(value))
    return text


def _dump(value: Any) -> str:
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
