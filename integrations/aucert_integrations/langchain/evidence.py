"""Documents, tool results and explicit metadata as passages."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from typing import Any

from langchain_core.documents import Document
from langchain_core.messages import ToolMessage

from aucert_integrations.langchain.content import content_text
from aucert_otel.generation import Passage


EVIDENCE = "aucert_evidence"
QUESTION = "aucert_question"
TENANT = "aucert_tenant"
"""Keys of ``config={"metadata": {...}}`` that say outright what would otherwise be gathered."""

_log = logging.getLogger("aucert_otel.langchain")

unreadable: Counter[str] = Counter()
"""How often a document's metadata field held something that cannot be read, by field."""

_TEXT_FIELDS = ("version", "latest_version", "superseded_by", "source_type")


def as_passages(documents: object) -> tuple[Passage, ...] | None:
    """Documents as passages; texts, passages and plain dicts are taken as well.

    The metadata keys ``id, version, latest_version, superseded_by, effective_from, source_type``
    become the passage's fields, and the whole metadata stays with it by reference. A key that is
    absent, or holds something else (a date that is not a date), is ``None``, which checks read as
    "not known"; the latter is counted in `unreadable` and logged once for each field. Without an
    ``id`` in its metadata a passage has the document's own id, else its ``source``.

    Args:
        documents: A list, one document, or ``None``, which stays "nobody knows".

    Raises:
        TypeError: something else is among them.
    """
    if documents is None:
        return None
    if isinstance(documents, (str, Passage, Document, Mapping)):
        documents = (documents,)
    if not isinstance(documents, Iterable):
        raise TypeError(
            f"evidence is {type(documents).__name__}: give a list of documents, texts or passages"
        )
    return tuple(_passage(item) for item in documents)


def _passage(item: object) -> Passage:
    if isinstance(item, Passage):
        return item
    if isinstance(item, str):
        return Passage(item)
    if isinstance(item, Document):
        return _from_fields(item.page_content, item.metadata, getattr(item, "id", None))
    if isinstance(item, Mapping) and isinstance(item.get("text"), str):
        return _from_fields(item["text"], item, None)
    raise TypeError(
        f"evidence holds a {type(item).__name__}: give Document or Passage objects, texts, or dicts "
        "with a 'text'"
    )


def _from_fields(text: str, fields: Mapping[str, Any], own_id: object) -> Passage:
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


def tool_passage(output: object, name: str | None) -> Passage | None:
    """A tool's result as a passage; ``None`` where it failed or returned nothing that is text."""
    if isinstance(output, ToolMessage):
        if getattr(output, "status", None) == "error":
            return None
        text, call_id, name = content_text(output.content), output.tool_call_id, output.name or name
    elif isinstance(output, str):
        text, call_id = output, None
    elif isinstance(output, (int, float)):
        text, call_id = str(output), None
    else:
        return None
    if not text:
        return None
    return Passage(text, id=call_id, source_type="tool", metadata={"tool": name} if name else {})
