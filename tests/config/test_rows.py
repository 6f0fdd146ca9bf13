from __future__ import annotations

import io
import json
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aucert_otel import InvalidRowError, Verdict
from aucert_otel.rows import read_row, read_rows


def problem(data: object) -> str:
    with pytest.raises(InvalidRowError) as caught:
        read_row(data, "line 7")
    return str(caught.value)


def passage(**fields: object) -> dict[str, object]:
    return {"output": "a", "evidence": [{"text": "x"}, {"text": "y", **fields}]}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"question": "q"}, "line 7: output is missing: every row needs the answer's text"),
        ({"output": None}, "line 7: output is null: it must be text"),
        (
            {"output": {"reply": "hi"}},
            (
                "line 7: output is an object: it must be text: write a structured answer as a string "
                "that holds its JSON"
            ),
        ),
        (
            passage(id={"a": 1}),
            "line 7: evidence[1].id is an object: it must be text or a whole number",
        ),
        (passage(id=True), "line 7: evidence[1].id is true: it must be text or a whole number"),
        (passage(id=[212]), "line 7: evidence[1].id is a list: it must be text or a whole number"),
        (
            passage(version=2.5),
            "line 7: evidence[1].version is 2.5: it must be text or a whole number",
        ),
        (
            passage(effective_from="in June"),
            (
                'line 7: evidence[1].effective_from is "in June": write a date as YYYY-MM-DD, such as '
                "2026-03-01"
            ),
        ),
        (
            {"output": "a", "as_of": 20260301},
            "line 7: as_of is 20260301: write a date as YYYY-MM-DD, such as 2026-03-01",
        ),
        ({"output": "a", "evidence": "x"}, 'line 7: evidence is "x": it must be a list'),
        (
            {"output": "a", "evidence": [{"id": 1}]},
            "line 7: evidence[0].text is missing: every passage needs its text",
        ),
        (
            {"output": "a", "gold": "maybe"},
            'line 7: gold is "maybe": allowed are "pass" and "fail"',
        ),
        (
            {"output": "a", "usage": {"input_tokens": -1}},
            "line 7: usage.input_tokens is -1: it must be at least 0",
        ),
        ([1], "line 7: the row is a list: it must be a JSON object with at least output"),
        (
            {"model": 3, "as_of": "x"},
            "line 7: output is missing: every row needs the answer's text (and 2 more in this row)",
        ),
    ],
)
def test_a_bad_row_is_one_sentence_with_place_value_and_mend(data: object, said: str) -> None:
    assert problem(data) == said


def test_what_a_row_says_reaches_the_generation() -> None:
    row = read_row(
        {
            "output": "a",
            "test_id": 12,
            "as_of": "2026-03-02T10:00:00Z",
            "evidence": [
                {"text": "x", "id": 305, "version": 3, "effective_from": "2025-11-01", "rank": 1}
            ],
            "messages": [{"role": "assistant", "content": None}],
            "images": [{"data": "aGk="}],
            "gold": "fail",
            "colour": "red",
        }
    )
    found = row.generation
    assert (found.test_id, found.as_of, row.gold) == ("12", date(2026, 3, 2), Verdict.FAIL)
    assert found.evidence is not None
    assert (found.evidence[0].id, found.evidence[0].version) == ("305", "3")
    assert found.images[0].data == b"hi"
    assert row.unknown == ("colour", "evidence[].rank")


def test_no_evidence_and_unknown_evidence_stay_two_facts() -> None:
    assert read_row({"output": "a"}).generation.evidence is None
    assert read_row({"output": "a", "evidence": []}).generation.evidence == ()


def test_a_refusal_shows_no_secret_and_no_control_character() -> None:
    said = problem({"output": "a", "as_of": "sk-abcdefghijklmnopqrstuvwxyz\x1b[2J\u202e"})
    assert "abcdef" not in said
    assert said.isprintable()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"nope", "not JSON at column 1 (expecting value): write one JSON object a line"),
        (b"\xff{}", "byte 1 is not UTF-8: save the file as UTF-8"),
        (b'{"output": NaN}', "NaN is not JSON: write null for an unknown number"),
        (b'{"output":"x","output":"y"}', 'the key "output" stands twice in one object: keep one'),
        (b"[" * 100_000, "the JSON is nested too deeply to be an answer"),
        (b'{"output":' + b"9" * 5000 + b"}", "a number has too many digits to be read"),
        (b'"' + b"x" * 2000, "the line is longer than 2,000 bytes: one line is one answer"),
    ],
)
def test_a_bad_line_is_named_and_the_rest_is_read(line: bytes, said: str) -> None:
    limit = 2000 if line.startswith(b'"') else 200_000
    text = b'{"output":"first"}\n\n' + line + b'\n{"output":"last"}'
    first, bad, last = read_rows(io.BytesIO(text), max_bytes=limit)
    assert first.row is not None
    assert last.row is not None
    assert (bad.number, bad.problem) == (3, f"line 3: {said}")
    assert (last.number, last.row.generation.output) == (4, "last")


def test_equal_lines_have_equal_digests_wherever_they_stand() -> None:
    one, other = read_rows(io.BytesIO(b'{"output":"a"}\n \n{"output":"a"} \r\n'))
    assert one.digest == other.digest


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["output", "evidence", "id", "text", "as_of", "usage", "gold", "x"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(json_values)
def test_any_json_is_a_row_or_one_printable_sentence(value: object) -> None:
    said = "line 1: "
    try:
        assert isinstance(read_row(value, "line 1").generation.output, str)
    except InvalidRowError as error:
        said = str(error)
    assert said.startswith("line 1: ")
    assert said.isprintable()


@given(st.lists(st.binary(max_size=40), max_size=5))
def test_any_bytes_are_read_to_the_end(lines: list[bytes]) -> None:
    text = b"\n".join([*lines, json.dumps({"output": "end"}).encode()])
    *_, last = read_rows(io.BytesIO(text), max_bytes=30)
    assert last.row is not None
    assert last.row.generation.output == "end"
