"""What the APIs have in common on the wire: pictures, counts, and a schema asked for in words."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from typing import Any

from aucert_otel.errors import ConfigurationError
from aucert_otel.generation import Image


_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+)?(?:;[\w=.+-]+)*;base64,", re.IGNORECASE)


def data_url(image: Image) -> str:
    """The picture's URL; raw bytes become a data URL.

    Raises:
        ConfigurationError: the picture has neither a URL nor bytes.
    """
    if image.url is not None:
        return image.url
    if image.data is None:
        raise ConfigurationError("an Image has neither url nor data: give it one of them")
    return f"data:{image.media_type};base64,{base64.b64encode(image.data).decode()}"


def media_and_data(url: str) -> tuple[str, str] | None:
    """The media type and the base64 text of a data URL; ``None`` for any other URL."""
    found = _DATA_URL.match(url)
    return None if found is None else (found[1] or "image/png", url[found.end() :])


def in_words(schema: Mapping[str, Any]) -> str:
    """Ask for JSON in words, where a server cannot enforce it."""
    return (
        "Answer with exactly one JSON object and nothing else: no code fence, no text before or "
        f"after it. The object has to match this JSON Schema:\n{json.dumps(schema)}"
    )


def part(value: object, *path: str) -> Any:
    """What lies at a path of keys; ``None`` as soon as it does not."""
    for key in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value


def count(value: object) -> int | None:
    """A token count as a server reports it; ``None`` for anything that is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if not 0 <= value <= 10**12 or value != int(value):  # NaN fails the first
        return None
    return int(value)


def text_or_none(value: object) -> str | None:
    """A text, or ``None`` for anything else."""
    return value if isinstance(value, str) else None
