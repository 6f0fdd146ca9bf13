from __future__ import annotations

import subprocess
import sys

import pytest

from aucert_otel.errors import ConfigurationError
from aucert_otel.generation import Generation
from aucert_otel.verdict import Reason, Verdict
from aucert_verifiers.rules import MatchesSchema, Parses, Rules


REPLY = {
    "type": "object",
    "properties": {
        "reply": {"type": "string", "minLength": 1},
        "citations": {"type": "array", "items": {"$ref": "#/$defs/id"}, "uniqueItems": True},
    },
    "required": ["reply"],
    "additionalProperties": False,
    "$defs": {"id": {"type": "integer"}},
}


def check(text, schema=REPLY, **options):
    return Rules(MatchesSchema(schema, **options)).verify(Generation(text))


def test_an_answer_that_fits_passes():
    (finding,) = check('{"reply": "Yes.", "citations": [118, 140]}')
    assert (finding.criterion, finding.verdict) == ("schema", Verdict.PASS)


def test_all_that_does_not_fit_is_one_failure_that_names_the_places():
    (finding,) = check('{"reply": "", "citations": [118, "x"], "more": 1}')
    assert (finding.verdict, finding.reason) == (Verdict.FAIL, Reason.SCHEMA)
    text = " | ".join(evidence.text for evidence in finding.evidence)
    assert "at $.citations[1]: 'x' is not of type 'integer'" in text
    assert "at $.reply" in text
    assert "'more' was unexpected" in text
    assert "3 places" in finding.why


def test_an_answer_that_is_no_json_is_malformed():
    (finding,) = check("Yes.")
    assert (finding.verdict, finding.reason) == (Verdict.FAIL, Reason.MALFORMED)


def test_what_does_not_parse_is_not_counted_again_by_the_schema():
    findings = Rules(MatchesSchema(REPLY), Parses()).verify(Generation("Yes."))
    assert [finding.criterion for finding in findings] == ["parses"]


def test_a_fence_is_read_when_allowed():
    (finding,) = check('```\n{"reply": "Yes."}\n```', allow_fence=True)
    assert finding.verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("items", "verdict"),
    [
        ("[1, true]", Verdict.PASS),
        ("[1, 1.0]", Verdict.FAIL),
        ('[{"a": 1, "b": [2]}, {"b": [2], "a": 1}]', Verdict.FAIL),
        ("[[1], [true]]", Verdict.PASS),
        ('[null, false, 0, "", {}, []]', Verdict.PASS),
    ],
)
def test_items_are_unique_as_json_means_it(items, verdict):
    (finding,) = check(items, {"uniqueItems": True})
    assert finding.verdict is verdict


def test_a_hundred_thousand_hostile_items_are_compared_in_linear_time():
    text = "[" + ",".join(f'{{"a":{n}}}' for n in range(60_000)) + "]"
    (finding,) = check(text, {"uniqueItems": True})
    assert finding.verdict is Verdict.PASS


def test_an_answer_a_recursive_schema_cannot_follow_is_unclear():
    tree = {"anyOf": [{"type": "null"}, {"type": "array", "items": {"$ref": "#"}}]}
    (finding,) = check("[" * 60 + "]" * 60, tree)
    assert finding.verdict is not Verdict.FAIL
    (deeper,) = check("[" * 100_000, tree)
    assert deeper.reason is Reason.MALFORMED


def test_a_huge_message_is_cut_to_size():
    (finding,) = check('{"reply": [' + "1," * 100_000 + "1]}")
    assert all(len(evidence.text) < 500 for evidence in finding.evidence)


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        ({"type": "objct"}, "is no JSON Schema"),
        ({"properties": 3}, "is no JSON Schema"),
        ("reply.json", "is str"),
        ({"const": {1, 2}}, "cannot stand in JSON"),
        ({"$ref": "https://example.com/schema.json"}, "nothing is fetched"),
        ({"properties": {"a": {"items": {"$ref": "other.json"}}}}, "'other.json'"),
        ({"$ref": "#/$defs/missing"}, "'#/$defs/missing'"),
        ({"$schema": "https://example.com/draft", "type": "string"}, "a draft nobody knows"),
    ],
)
def test_a_schema_that_cannot_work_is_refused_when_the_rule_is_built(schema, says):
    with pytest.raises(ConfigurationError) as caught:
        MatchesSchema(schema)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    "draft", ["draft-07/schema#", "draft/2019-09/schema", "draft/2020-12/schema"]
)
def test_every_draft_refers_within_itself_and_to_its_own_meta_schema(draft):
    scheme = "http" if "07" in draft else "https"
    address = f"{scheme}://json-schema.org/{draft}"
    schema = {"$schema": address, "properties": {"a": {"$ref": "#/definitions/b"}, "s": {"$ref": address}},
              "definitions": {"b": {"type": "string"}}}  # fmt: skip
    assert check('{"a": "x", "s": {"type": "string"}}', schema)[0].verdict is Verdict.PASS
    assert check('{"a": 1}', schema)[0].verdict is Verdict.FAIL
    assert check('{"s": {"type": 1}}', schema)[0].verdict is Verdict.FAIL


def test_the_schema_is_compiled_from_a_copy():
    schema = {"type": "string"}
    rules = Rules(MatchesSchema(schema))
    schema["type"] = "integer"
    assert rules.verify(Generation('"x"'))[0].verdict is Verdict.PASS


def test_without_jsonschema_the_message_names_the_extra():
    code = (
        "import sys; sys.modules['jsonschema'] = None\n"
        "from aucert_otel.errors import MissingExtraError\n"
        "from aucert_verifiers.rules import MatchesSchema\n"
        "try: MatchesSchema({})\n"
        "except MissingExtraError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert 'pip install "aucert-otel[schema]"' in done.stdout


def test_importing_the_rules_loads_no_optional_library():
    code = (
        "import sys, aucert_verifiers.rules\n"
        "print([m for m in ('jsonschema', 'yaml', 'referencing') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"
