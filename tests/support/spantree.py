"""Exported spans, log records and metrics as plain, deterministic data, for asserting whole trees.

Ids and timestamps are gone, line numbers in error labels are normalised, and empty parts are left out,
so that a test can write down the complete tree that it expects.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan


_LINE = re.compile(r"(\.py):\d+$")


def tree(spans: Iterable[ReadableSpan | Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The spans as nested plain data: one entry for each root, children in order of their start.

    A span whose parent was not exported is a root and says ``"remote_parent": True``.
    """
    known = [_plain(span) for span in spans]
    ids = {span["id"] for span in known}
    by_parent: dict[Any, list[dict[str, Any]]] = {}
    for span in sorted(known, key=lambda s: (s["start"], s["end"])):
        by_parent.setdefault(span["parent"] if span["parent"] in ids else None, []).append(span)
    return [_node(span, by_parent) for span in by_parent.get(None, [])]


def outline(spans: Iterable[ReadableSpan | Mapping[str, Any]]) -> list[Any]:
    """Only the names: a string for a leaf, ``(name, [children])`` for the rest."""

    def names(node: dict[str, Any]) -> Any:
        children = [names(child) for child in node.get("children", [])]
        return (node["name"], children) if children else node["name"]

    return [names(node) for node in tree(spans)]


def normalised(value: Any) -> Any:
    """A value without what changes from run to run: tuples are lists, line numbers are gone."""
    if isinstance(value, (tuple, list)):
        return [normalised(item) for item in value]
    if isinstance(value, str):
        return _LINE.sub(r"\1:<line>", value)
    return value


def attributes_of(attributes: Mapping[str, Any] | None) -> dict[str, Any]:
    """Attributes, sorted and normalised."""
    return {key: normalised(value) for key, value in sorted((attributes or {}).items())}


def _node(span: dict[str, Any], by_parent: dict[Any, list[dict[str, Any]]]) -> dict[str, Any]:
    node: dict[str, Any] = {"name": span["name"]}
    if span["parent"] is not None and span in by_parent.get(None, []):
        node["remote_parent"] = True
    if span["status"] != "UNSET":
        node["status"] = ": ".join(filter(None, (span["status"], span["description"])))
    for key in ("attributes", "events"):
        if span[key]:
            node[key] = span[key]
    children = [_node(child, by_parent) for child in by_parent.get(span["id"], [])]
    if children:
        node["children"] = children
    return node


def _plain(span: ReadableSpan | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(span, ReadableSpan):
        return {
            "id": span.context.span_id if span.context else None,
            "parent": span.parent.span_id if span.parent else None,
            "start": span.start_time,
            "end": span.end_time,
            "name": span.name,
            "status": span.status.status_code.name,
            "description": span.status.description,
            "attributes": attributes_of(span.attributes),
            "events": [_event(event.name, event.attributes) for event in span.events],
        }
    return {
        "id": span["span_id"],
        "parent": span["parent_span_id"] or None,
        "start": span["start"],
        "end": span["end"],
        "name": span["name"],
        "status": span["status"],
        "description": span["description"],
        "attributes": attributes_of(span["attributes"]),
        "events": [_event(event["name"], event["attributes"]) for event in span["events"]],
    }


def _event(name: str, attributes: Mapping[str, Any] | None) -> dict[str, Any]:
    return {"name": name, **attributes_of(attributes)}


def summary(attributes: dict[str, Any]) -> dict[str, Any]:
    """What the generate span repeats of a verify span's attributes."""
    return {
        key: value
        for key, value in attributes.items()
        if key
        not in {
            "aucert.action.row",
            "aucert.criteria.passed",
            "aucert.mode",
            "aucert.stages",
        }
    }
