"""`as_passages`: whatever a document's metadata holds, unknown stays unknown and nothing crashes."""

from __future__ import annotations

import logging
from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.messages import ToolMessage

from aucert_integrations.langchain import as_passages, evidence
from aucert_integrations.langchain.evidence import tool_passage
from aucert_otel import Passage


@pytest.fixture(autouse=True)
def _no_notes_yet():
    evidence.unreadable.clear()


def passage(**metadata):
    (made,) = as_passages([Document(page_content="text", metadata=metadata)])
    return made


def test_every_field_of_the_metadata_is_read():
    metadata = {
        "id": 305,
        "version": 3,
        "latest_version": "4",
        "superseded_by": "306",
        "effective_from": "2026-03-01",
        "source_type": "policy",
        "page": 2,
    }
    made = passage(**metadata)
    assert made == Passage(
        "text",
        id="305",
        version="3",
        latest_version="4",
        superseded_by="306",
        effective_from=date(2026, 3, 1),
        source_type="policy",
    )
    assert made.metadata == metadata


def test_the_metadata_is_carried_by_reference():
    document = Document(page_content="text", metadata={"lock": object()})
    (made,) = as_passages([document])
    assert made.metadata is document.metadata


@pytest.mark.parametrize(
    ("metadata", "own", "expected"),
    [
        ({"id": "118", "source": "a.md"}, "uuid", "118"),
        ({"source": "a.md"}, "uuid", "uuid"),
        ({"source": "a.md"}, None, "a.md"),
        ({}, None, None),
        ({"id": 0}, None, "0"),
    ],
)
def test_the_id_an_answer_can_cite_comes_first(metadata, own, expected):
    document = Document(page_content="text", metadata=metadata, id=own)
    assert as_passages([document])[0].id == expected


@pytest.mark.parametrize(
    "value",
    [
        "2026-03-01",
        " 2026-03-01 ",
        "2026-03-01T10:00:00Z",
        date(2026, 3, 1),
        datetime(2026, 3, 1, 10, tzinfo=UTC),
    ],
)
def test_dates_are_read_in_every_usual_form(value):
    assert passage(effective_from=value).effective_from == date(2026, 3, 1)


def test_a_date_that_is_none_is_not_known_counted_and_said_once(caplog):
    with caplog.at_level(logging.WARNING, "aucert_otel.langchain"):
        assert [passage(effective_from=bad).effective_from for bad in ("soon", 20260301)] == [
            None,
            None,
        ]
    assert evidence.unreadable == {"effective_from": 2}
    (record,) = caplog.records
    assert record.getMessage() == (
        "a document's metadata['effective_from'] is a str that cannot be read; it counts as not "
        "known. Give an ISO date such as 2026-03-01 (logged once for this field)"
    )


def test_nobody_knows_and_found_nothing_are_two_things():
    assert (as_passages(None), as_passages([])) == (None, ())


def test_texts_passages_and_dicts_are_taken_too():
    made = as_passages(["a", Passage("b", id="1"), {"text": "c", "id": 2}])
    assert made == (Passage("a"), Passage("b", id="1"), Passage("c", id="2"))
    assert as_passages("a") == (Passage("a"),)
    assert as_passages(Document(page_content="d")) == (Passage("d"),)


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        ([3], "evidence holds a int: give Document or Passage objects"),
        ([{"body": "x"}], "evidence holds a dict"),
        (7, "evidence is int: give a list"),
    ],
)
def test_anything_else_is_named(bad, sentence):
    with pytest.raises(TypeError, match=sentence):
        as_passages(bad)


FIELDS = ["id", "source", "version", "latest_version", "superseded_by", "effective_from"]
ANYTHING = st.one_of(
    st.none(), st.text(), st.integers(), st.floats(), st.booleans(), st.binary(), st.dates(),
    st.datetimes(), st.lists(st.integers()), st.dictionaries(st.text(), st.integers()),
)  # fmt: skip


@given(st.dictionaries(st.sampled_from([*FIELDS, "source_type"]), ANYTHING), st.text())
def test_any_metadata_makes_a_passage_of_known_types(metadata, text):
    (made,) = as_passages([Document(page_content=text, metadata=metadata)])
    assert made.text == text
    for name in ("id", "version", "latest_version", "superseded_by", "source_type"):
        value = getattr(made, name)
        assert value is None or (isinstance(value, str) and value)
    assert made.effective_from is None or type(made.effective_from) is date


def test_tool_results_are_passages_of_their_own_type():
    message = ToolMessage("ships on Monday", tool_call_id="c1", name="status")
    assert tool_passage(message, None) == Passage("ships on Monday", id="c1", source_type="tool")
    assert tool_passage(message, None).metadata == {"tool": "status"}
    assert tool_passage("plain", "status") == Passage("plain", source_type="tool")
    assert tool_passage(7, None) == Passage("7", source_type="tool")


def test_a_failed_tool_is_no_evidence():
    assert tool_passage(ToolMessage("boom", tool_call_id="c1", status="error"), None) is None
    assert tool_passage("", None) is None
    assert tool_passage(object(), None) is None
