"""One JSON object, or a problem: never a guess."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aucert_otel.llm import JsonProblem, Malformed, parse_object


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "empty"),
        ("  \n", "empty"),
        ("```json\n```", "empty"),
        ("```json\n\n```", "empty"),
        ("Hallucinated.", "not_json"),
        ("pass", "not_json"),
        ("[]", "not_an_object"),
        ('"pass"', "not_an_object"),
        ("1e9", "not_an_object"),
        ("True", "not_json"),
        ("{'verdict': 'pass'}", "not_json"),
        ("{verdict: pass}", "not_json"),
        ("{}{}", "several_objects"),
        ('{"a": 1}\n{"a": 2}', "several_objects"),
        ('{"a": 1} so it passes', "trailing_text"),
        ('{"a": 1},', "trailing_text"),
        ('Here: {"a": 1}', "not_json"),
        ("{", "truncated"),
        ('{"a', "truncated"),
        ('{"a"', "truncated"),
        ('{"a": ', "truncated"),
        ('{"a": tr', "truncated"),
        ('{"a": [1, 2', "truncated"),
        ('{"a": -', "truncated"),
        ('{"a": 1.', "truncated"),
        ('{"a": 1e-', "truncated"),
        ('{"a": "\\u00', "truncated"),
        ('{"a": "\\', "truncated"),
        ('{"a": 1,}', "not_json"),
        ('{"a": NaN}', "not_finite"),
        ('{"a": -Infinity}', "not_finite"),
        ('{"a": 1e999}', "not_finite"),
        ('{"a": ' + "9" * 5000 + "}", "not_finite"),
        ('{"a": 1, "a": 2}', "duplicate_key"),
        ('{"b": {"a": 1, "a": 1}}', "duplicate_key"),
        ('{"a": ' + "[" * 40 + "]" * 40 + "}", "too_deep"),
        ('{"a": ' + "[" * 100_000, "too_deep"),
        ('{"a": "' + "x" * 300_000 + '"}', "too_large"),
        ('```\n{"a": 1}\n```\n```\n{"a": 2}\n```', "not_json"),
        ('text\n```json\n{"a": 1}\n```', "not_json"),
        ('```json\n{"a": 1}\n``` done', "not_json"),
        ('```json\n{"a": 1', "not_json"),
        ('<<{"a": 1}>>', "not_json"),
    ],
)
def test_what_is_not_one_object_is_a_problem(text, problem):
    assert parse_object(text) == Malformed(JsonProblem(problem))


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1}',
        ' \n{"a": 1}\n',
        '```json\n{"a": 1}\n```',
        '```\n{"a": 1}\n```\n',
        '```JSON\r\n{"a": 1}\r\n```',
    ],
)
def test_one_object_is_read(text):
    assert parse_object(text) == {"a": 1}


def test_a_fence_inside_a_string_is_content():
    assert parse_object('{"a": "```json\\n{}\\n```"}') == {"a": "```json\n{}\n```"}


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**15), 10**15)
    | st.floats(-1e300, 1e300)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text(), VALUES, max_size=5)


@given(OBJECTS)
def test_every_object_survives(value):
    assert parse_object(json.dumps(value)) == value
    assert parse_object(json.dumps(value, ensure_ascii=False, indent=1)) == value


@given(OBJECTS, st.data())
def test_no_beginning_of_an_object_is_ever_read(value, data):
    text = json.dumps(value)
    cut = data.draw(st.integers(0, len(text) - 1))

    found = parse_object(text[:cut])

    assert isinstance(found, Malformed)
    assert found.kind in (JsonProblem.TRUNCATED, JsonProblem.EMPTY)


@given(OBJECTS, OBJECTS, st.sampled_from(["", " ", "\n", ",", " then "]))
def test_two_objects_are_never_read(first, second, between):
    found = parse_object(json.dumps(first) + between + json.dumps(second))

    assert isinstance(found, Malformed)


@given(st.text())
def test_no_text_raises(text):
    found = parse_object(text)

    assert isinstance(found, (dict, Malformed))


@given(st.text(alphabet='{}[]",:0123456789truefalsn \\`\n'))
def test_whatever_is_read_is_what_json_says(text):
    found = parse_object(text)

    if isinstance(found, dict):
        inside = text.strip().removeprefix("```").removesuffix("```")
        assert found == json.loads(inside.removeprefix("json"))
