from __future__ import annotations

import pytest
import yaml

from aucert_otel.errors import ConfigurationError
from aucert_otel.generation import Generation
from aucert_otel.verdict import Verdict
from aucert_verifiers.rules import from_config


FULL = """
name: shop rules
rules:
  - finish_reason
  - parses: json
  - matches_schema:
      schema: {type: object, required: [reply]}
  - cites_only_returned: {field: citations, required: false}
  - numbers_appear: {ignore_fields: [confidence], allow: [24, "7"]}
  - matches: {pattern: photo, ignore_case: true}
  - forbids: guarantee
  - length: {max_words: 120}
  - predicate: {function: "keyword:iskeyword", name: mine}
"""


def no_promises(generation):
    return "promise" not in generation.output


def test_a_whole_rule_set_is_built_from_yaml():
    rules = from_config(**yaml.safe_load(FULL))
    assert rules.name == "shop rules"
    assert [type(rule).__name__ for rule in rules.rules] == [
        "FinishReason",
        "Parses",
        "MatchesSchema",
        "CitesOnlyReturned",
        "NumbersAppear",
        "Matches",
        "Forbids",
        "Length",
        "Predicate",
    ]
    assert rules.rules[4].allow == ("24", "7")


def test_a_rule_without_options_is_its_name_alone_or_with_nothing_after_it():
    names = [{"cites_only_returned": {}}, {"numbers_appear": None}, "finish_reason"]
    findings = from_config(rules=names).verify(Generation("Yes.", finish_reason="stop"))
    assert [finding.verdict for finding in findings] == [Verdict.PASS] * 3


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({}, "rules is None: it must be a list of rules, each one of finish_reason, parses"),
        ({"rules": []}, "rules is []"),
        ({"rules": {"parses": "json"}}, "rules is {'parses': 'json'}"),
        ({"rules": ["parse"]}, "rules[0] is 'parse': it must be one of finish_reason, parses"),
        ({"rules": [None]}, "rules[0] is None"),
        ({"rules": [{"parses": "json", "length": {}}]}, "rules[0] is {"),
        ({"rules": [{3: 4}]}, "rules[0] is 3"),
        ({"rules": ["finish_reason", {"length": {"max_word": 3}}]},
         "rules[1].length.max_word: unknown option; allowed are min_chars, max_chars"),
        ({"rules": [{"length": {True: 3}}]}, "rules[0].length.True: unknown option"),
        ({"rules": [{"length": 5}]}, "rules[0].length is 5: it must be a mapping with any of min_chars"),
        ({"rules": ["matches"]}, "rules[0].matches: the option pattern is missing"),
        ({"rules": [{"parses": "jason"}]}, "rules[0]: parses.format is 'jason': it must be one of json"),
        ({"rules": [{"forbids": 5}]}, "rules[0]: forbids.pattern is 5"),
        ({"rules": [{"matches_schema": {"schema": "x.json"}}]}, "rules[0]: matches_schema.schema is str"),
        ({"rules": [{"predicate": "os.path"}]}, 'write it as "package.module:function"'),
        ({"rules": [{"predicate": "os:nothing"}]}, "rules[0].predicate.function is 'os:nothing'"),
        ({"rules": [{"predicate": "no_such_module:f"}]}, "cannot be imported"),
        ({"rules": [{"predicate": "os:sep"}]}, "rules[0]: predicate.function is '/'"),
        ({"rules": ["length"], "tenant": 1}, "tenant: unknown option; allowed are rules, name"),
        ({"rules": ["finish_reason"], "name": 3}, "name is 3"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_place_value_and_mend(options, says):
    with pytest.raises(ConfigurationError) as caught:
        from_config(**options)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_schema_given_by_itself_is_not_mistaken_for_options():
    with pytest.raises(ConfigurationError, match=r"rules\[0\].matches_schema.type: unknown option"):
        from_config(rules=[{"matches_schema": {"type": "object"}}])
