"""What the reference pages list is what the code has: names, rows, rules, options, fields, words."""

from __future__ import annotations

import ast
import inspect
import re
from dataclasses import fields

import pytest
from support.checks import harness, judge, length, no_evidence, unsure
from support.pages import DOCS, PAGES, ROOT, fences, name_in, prose, rows, section, text_of, ticked

import aucert_otel
from aucert_otel import Generation, Passage, Reason, Stage, Status
from aucert_otel.action import TABLE
from aucert_otel.audit import AuditRecord, Fault
from aucert_otel.telemetry import Boundary, names
from aucert_verifiers import rules


TELEMETRY = text_of(DOCS / "telemetry.md")
NAMES = {
    key: value
    for key, value in vars(names).items()
    if key.isupper() and not key.startswith(("SCOPE", "OPERATION", "ENV"))
}


def used() -> set[str]:
    """The constants that some code writes with."""
    written = "\n".join(
        path.read_text("utf-8")
        for path in (ROOT / "aucert_otel").rglob("*.py")
        if path.name != "names.py"
    )
    return set(re.findall(r"\bnames\.([A-Z_]+)\b", written))


def test_every_name_that_leaves_the_process_is_in_the_reference():
    described = ticked(TELEMETRY)
    assert {NAMES[key] for key in used() & NAMES.keys()} - described == set()


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md"], ids=lambda page: page.name)
def test_every_telemetry_name_that_a_page_mentions_exists(page):
    mentioned = {
        word
        for tick in ticked(text_of(page))
        for word in re.findall(r"(?:aucert|gen_ai)(?:\.\w+)+", tick)
        if not re.search(r"\.(yaml|db|jsonl)$", word)
    }
    assert mentioned - set(NAMES.values()) == set()


def types() -> dict[str, str]:
    """The documented type of each attribute."""
    return {
        name: kind
        for row in rows(TELEMETRY)
        if len(row) == 4
        for name, kind in zip(
            re.findall(r"`([^`]+)`", row[0]), row[1].replace(", ", " ").split() * 2, strict=False
        )
    }


OTEL = {str: "string", bool: "boolean", int: "int", float: "double", tuple: "string[]"}


def test_every_attribute_that_is_written_has_the_type_the_reference_says(recorder):
    telemetry = recorder.telemetry(Boundary(capture_content=True), every_finding=True)
    answers = iter(["a long answer that is too long", "short"])
    harness(length, no_evidence, unsure, judge, telemetry=telemetry).verify(
        Generation("bad and much too long", tenant="acme", model="m")
    )
    veto = Stage(length, settles={"fail"})
    harness(veto, judge, telemetry=telemetry).run(lambda request: next(answers))
    harness(length, judge, telemetry=telemetry).run(
        lambda request: "bad, and much too long for it", escalate=lambda r: "ok", can_repair=False
    )
    harness(judge, telemetry=telemetry).verify(Generation("x"))

    documented = types()
    written = [
        (key, value)
        for span in recorder.spans
        for attributes in (span.attributes, *(event.attributes for event in span.events))
        for key, value in (attributes or {}).items()
    ]
    assert len({key for key, _ in written}) > 30
    for key, value in written:
        assert documented[key] == OTEL[type(value)], key


def test_every_metric_has_the_kind_the_unit_and_the_attributes_the_reference_says(recorder):
    telemetry = recorder.telemetry()
    answers = iter(["a long answer that is too long", "short"])
    veto = Stage(length, settles={"fail"})
    harness(veto, judge, telemetry=telemetry).run(lambda request: next(answers), tenant="acme")
    table = {name_in(row[0]): row[1:] for row in rows(section(TELEMETRY, "## Metrics"))[1:]}
    kinds = {"Sum": "counter", "Gauge": "gauge", "Histogram": "histogram"}

    data = recorder.reader.get_metrics_data()
    seen = [m for r in data.resource_metrics for s in r.scope_metrics for m in s.metrics]
    assert {"aucert.verifications", "aucert.repairs", "aucert.criteria"} <= {m.name for m in seen}
    for metric in seen:
        kind, unit, attributes = table[metric.name]
        assert kind == kinds[type(metric.data).__name__]
        assert unit == f"`{metric.unit}`"
        if attributes.startswith("`"):
            listed = set(re.findall(r"`([^`]+)`", attributes))
            assert {key for point in metric.data.data_points for key in point.attributes} == listed


def test_the_action_table_page_has_every_row_in_order_with_its_action():
    text = section(text_of(DOCS / "action-table.md"), "## The rows")
    shown = [(name_in(row[0]), name_in(row[1])) for row in rows(text)[1:]]
    assert shown == [(row.name, row.action.value) for row in TABLE]


def test_the_printed_action_table_is_the_one_in_the_code():
    text = text_of(DOCS / "action-table.md")
    assert f"{aucert_otel.format_table()}\n" in fences(text, "text")


def test_every_rule_has_a_section_with_every_option_and_what_it_cannot_see():
    text = text_of(DOCS / "rules.md")
    for name in rules.__all__:
        kind = getattr(rules, name)
        if not inspect.isclass(kind) or name in {"Rules", "Rule", "Context"}:
            continue
        heading = "Matches and Forbids" if name in {"Matches", "Forbids"} else name
        own = section(text, f"## {heading}")
        described = ticked(own)
        for option in inspect.signature(kind).parameters.keys() - {"name"}:
            assert option in described, f"{name}.{option}"
        criterion = inspect.signature(kind).parameters["name"].default
        assert criterion in described or name == "Predicate"
        assert "cannot see" in own or name == "Predicate"
        assert fences(own, "python")


def test_every_field_of_an_audit_record_and_every_fault_of_a_chain_is_described():
    text = text_of(DOCS / "audit.md")
    listed = {
        name
        for row in rows(section(text, "## The record"))[1:]
        for name in re.findall(r"`([^`]+)`", row[0])
    }
    assert listed == {field.name for field in fields(AuditRecord)}
    assert {fault.value for fault in Fault} <= ticked(section(text, "## The chain"))


def test_every_status_every_reason_and_every_field_of_an_answer_is_described():
    concepts = text_of(DOCS / "concepts.md")
    statuses = rows(section(concepts, "## Verdict and status"))[1:]
    assert [name_in(row[0]) for row in statuses] == [status.value for status in Status]

    assert {reason.value for reason in Reason} <= ticked(text_of(DOCS / "own-checks.md"))
    for kind, heading in ((Generation, "## Generation"), (Passage, "## Passage and its currency")):
        own = ticked(section(concepts, heading))
        assert {field.name for field in fields(kind)} - {"_", "metadata"} <= own


def test_every_drop_reason_that_the_code_counts_is_described():
    telemetry = ticked(section(TELEMETRY, "## Metrics"))
    assert {"queue_full", "closed", "exit", "error"} <= telemetry
    worker = (ROOT / "aucert_otel" / "background.py").read_text("utf-8")
    counted = set(re.findall(r'dropped\["(\w+)"\]|"(closed)" if|else "(queue_full)"', worker))
    assert {reason for found in counted for reason in found if reason} <= telemetry


def test_what_a_page_calls_public_can_be_imported():
    text = section(text_of(DOCS / "support.md"), "## What is public")
    for module in re.findall(r"`(aucert_\w+(?:\.\w+)*)`", text):
        assert __import__(module, fromlist=["x"]), module


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_public_name_that_code_on_a_page_imports_is_public(page):
    for block in fences(text_of(page), "python"):
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("aucert_"):
                module = __import__(node.module, fromlist=["x"])
                public = getattr(module, "__all__", None) or vars(module)
                assert {alias.name for alias in node.names} <= set(public), node.module


def test_the_prose_is_plain():
    for page in PAGES:
        for line in prose(text_of(page)).splitlines():
            assert "—" not in line, f"{page.name}: {line}"
            if not line.startswith("|"):
                assert len(line) <= 120, f"{page.name}: {line}"
