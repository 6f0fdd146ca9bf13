"""What a retrieved document's metadata says about itself, as the fields of a passage."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

from aucert_otel.generation import Passage


_log = logging.getLogger("aucert_otel")

unreadable: Counter[str] = Counter()
"""How often a document's metadata field held something that cannot be read, by field."""

_TEXT_FIELDS = ("version", "latest_version", "superseded_by", "source_type")


def passage_of(text: str, fields: Mapping[str, Any], own_id: object = None) -> Passage:
    """A document's text and metadata as a passage.

    The keys ``id, version, latest_version, superseded_by, effective_from, source_type`` become the
    passage's fields, and the whole metadata stays with it by reference. A key that is absent, or holds
    something else (a date that is not a date), is ``None``, which checks read as "not known"; the
    latter is counted in `unreadable` and logged once for each field.

    Args:
        text: What the document says.
        fields: Its metadata.
        own_id: Its id, where the metadata has none; failing both, its ``source``.
    """
    return Passage(
        text,
        id=_text("id", fields.get("id"))
        or _text("id", own_id)
        or _text("source", fields.get("source")),
        effective_from=_date(fields.get("effective_from")),
        metadata=fields,
        **{name: _text(name, fields[name]) for name in _TEXT_FIELDS if name in fields},
    )


def _text(field: str, value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value or None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    if field != "source":
        _note(field, value)
    return None


def _date(value: object) -> date | None:
    if value is None:
        return None
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    if isinstance(value, str):
        try:
            return datetime.fromisoformat(value.strip()).date()
        except ValueError:
            pass
    _note("effective_from", value)
    return None


def _note(field: str, value: object) -> None:
    unreadable[field] += 1
    if unreadable[field] == 1:
        # The class, never the value: it may be content.
        _log.warning(
            "a document's metadata[%r] is a %s that cannot be read; it counts as not known. Give %s "
            "(logged once for this field)",
            field,
            type(value).__name__,
            "an ISO date such as 2026-03-01" if field == "effective_from" else "a text",
        )
