"""Sentences about what somebody wrote: the place, the value, the mend.

Input files and settings are validated with pydantic; its errors become sentences here, so that a
row and a configuration file are refused in one voice. No sentence carries a secret, a whole
document or a character that could play tricks on a terminal.
"""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final, Union, get_args, get_origin

from aucert_otel.telemetry.boundary import REDACTED, Boundary


if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic_core import ErrorDetails


MAX_SHOWN: Final = 60
"""Characters of a value that a sentence quotes."""

SAID: Final = "aucert_said"
"""The pydantic error type by which our own validators hand over a whole mend."""

_BOUNDARY = Boundary()
_SECRET_KEYS = ("key", "secret", "token", "password", "passwd", "credential", "authorization")


def visible(text: str, *, keep: str = "") -> str:
    r"""Text with every character that cannot be seen written out, such as ``\x1b`` or ``\u202e``.

    Control characters move a terminal's cursor and bidirectional marks reorder what a reader sees;
    ``keep`` names those that may stay, such as the newline.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else _written_out(c) for c in text)


def _written_out(character: str) -> str:
    if unicodedata.category(character) == "Zs":
        return " "
    code = ord(character)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def shown(value: object, *, yaml: bool = False, key: object = None) -> str:
    """A value as a sentence quotes it: short, without secrets; of containers only the kind."""
    if isinstance(value, Mapping):
        return "a mapping" if yaml else "an object"
    if isinstance(value, list | tuple):
        return "a list" if value else "an empty list"
    if isinstance(value, str):
        if isinstance(key, str) and is_secret(key):
            return REDACTED
        return f'"{_cut(visible(_BOUNDARY.label(value)))}"'
    if isinstance(value, bool) or value is None:
        return "null" if value is None else str(value).lower()
    huge = isinstance(value, int) and value.bit_length() > 256
    return "a huge number" if huge else _cut(visible(_BOUNDARY.label(str(value))))


def is_secret(key: str) -> bool:
    """Whether the name of a key says that its value is a secret."""
    return any(word in key.casefold() for word in _SECRET_KEYS)


def _cut(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"


def path(parts: Sequence[int | str]) -> str:
    """``("evidence", 2, "id")`` as ``evidence[2].id``."""
    written = ""
    for part in parts:
        if isinstance(part, int):
            written += f"[{part}]"
        else:
            written += f"{'.' if written else ''}{_cut(visible(_BOUNDARY.label(part)))}"
    return written


def one_of(values: Sequence[object]) -> str:
    """The allowed values, in words."""
    return ", ".join(str(value) for value in values)


def hint(word: str, allowed: Sequence[str]) -> str:
    """What is allowed instead of a word, and what was probably meant."""
    close = difflib.get_close_matches(word, allowed, 1)
    return f"{f'did you mean {close[0]}? ' if close else ''}allowed are {one_of(allowed)}"


def sentence(
    error: ErrorDetails, model: type[BaseModel], before: str = "", *, yaml: bool = False
) -> str:
    """One pydantic error as a sentence.

    Args:
        error: An item of ``ValidationError.errors()``.
        model: What was validated, to name the keys it allows.
        before: The path of the validated value within the document.
        yaml: Speak of mappings rather than of objects.
    """
    parts = error["loc"]
    if parts and parts[-1] == "[key]":
        parts, place = parts[:-2], f"a key of {path(parts[:-2])}"
    else:
        place = path(parts)
    if before:
        place = f"{before}{'' if place.startswith('[') or not place else '.'}{place}"
    kind = error["type"]
    context: Mapping[str, Any] = error.get("ctx") or {}
    if kind == "extra_forbidden":
        return f"{place} is not a known key: {_known_keys(model, parts)}"
    if kind == "missing":
        return f"{place} is missing: {_needed(model, parts)}"
    key = parts[-1] if parts else None
    value = shown(error["input"], yaml=yaml, key=key)
    return f"{place or 'the document'} is {value}: {_mend(kind, context, error['msg'], yaml=yaml)}"


def _mend(kind: str, context: Mapping[str, Any], message: str, *, yaml: bool) -> str:
    if kind == SAID:
        return str(context["mend"])
    if kind == "literal_error":
        expected = str(context["expected"]).replace("'", "").replace(" or ", ", ")
        return f"allowed are {expected}"
    if kind in _LIMITS:
        limit = next(context[name] for name in ("ge", "le", "gt", "lt") if name in context)
        return f"it must be {_LIMITS[kind]} {limit:g}"
    for beginning, mend in _TYPES:
        if kind.startswith(beginning):
            return mend.replace("an object", "a mapping") if yaml else mend
    return message[:1].lower() + message[1:]


_LIMITS = {
    "greater_than_equal": "at least",
    "less_than_equal": "at most",
    "greater_than": "more than",
    "less_than": "less than",
}
_TYPES = (
    ("string", "it must be text"),
    ("int", "it must be a whole number"),
    ("finite_number", "it must be a finite number"),
    ("float", "it must be a number"),
    ("bool", "it must be true or false"),
    ("list", "it must be a list"),
    ("tuple", "it must be a list"),
    ("dict", "it must be an object"),
    ("mapping", "it must be an object"),
    ("model", "it must be an object"),
    ("too_short", "it must not be empty"),
)


def _known_keys(model: type[BaseModel], parts: Sequence[int | str]) -> str:
    owner = _model_at(model, parts[:-1])
    names = [field.alias or name for name, field in owner.model_fields.items()] if owner else []
    return hint(str(parts[-1]), names)


def _needed(model: type[BaseModel], parts: Sequence[int | str]) -> str:
    owner = _model_at(model, parts[:-1])
    field = None if owner is None else owner.model_fields.get(str(parts[-1]))
    return (field.description if field is not None else None) or "it is needed"


def _model_at(annotation: Any, parts: Sequence[int | str]) -> type[BaseModel] | None:
    """The model that a path leads to, through the annotations of the models above it."""
    from pydantic import BaseModel

    for part in parts:
        annotation = _bare(annotation)
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            field = annotation.model_fields.get(str(part))
            if field is None:
                return None
            annotation = field.annotation
        else:
            inner = get_args(annotation)
            if not inner:
                return None
            annotation = inner[-1] if issubclass(get_origin(annotation), Mapping) else inner[0]
    annotation = _bare(annotation)
    found = isinstance(annotation, type) and issubclass(annotation, BaseModel)
    return annotation if found else None


def _bare(annotation: Any) -> Any:
    """An optional type without its ``None``, an annotated one without its annotations."""
    import types

    if get_origin(annotation) is Annotated:
        return _bare(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        return next(arg for arg in get_args(annotation) if arg is not type(None))
    return annotation
