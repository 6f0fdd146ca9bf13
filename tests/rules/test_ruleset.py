from __future__ import annotations

import pickle
import re
from dataclasses import dataclass

import pytest
from support.flowers import reply

from aucert_otel.errors import ConfigurationError
from aucert_otel.generation import Generation
from aucert_otel.verdict import Finding, Verdict
from aucert_otel.verifier import Verifier, as_verifier, waits
from aucert_verifiers.rules import (
    CitesOnlyReturned,
    FinishReason,
    Forbids,
    Length,
    Matches,
    MatchesSchema,
    NumbersAppear,
    Parses,
    Predicate,
    Rules,
)


def no_promises(generation):
    return "promise" not in generation.output


def test_a_rule_set_is_a_verifier_that_runs_on_the_callers_thread():
    rules = Rules(Length(max_words=5))
    assert isinstance(rules, Verifier)
    assert as_verifier(rules) is rules
    assert rules.name == "rules"
    assert not waits(rules)


def test_a_good_reply_gets_one_pass_for_each_rule_and_allocates_no_finding():
    rules = Rules(
        FinishReason(), CitesOnlyReturned(), NumbersAppear(), Forbids("x"), Length(max_words=9)
    )
    generation = reply("It takes 5 days [118].", finish_reason="stop")
    first, second = rules.verify(generation), rules.verify(generation)
    assert [f.criterion for f in first] == [
        "finish_reason",
        "cited_ids",
        "numbers",
        "forbidden",
        "length",
    ]
    assert {f.verdict for f in first} == {Verdict.PASS}
    assert all(one is other for one, other in zip(first, second, strict=True))


@dataclass(frozen=True)
class Shouts:
    loud: int = 3

    def check(self, generation, context, /):
        return [Finding("calm", Verdict.PASS, score=1.0) for _ in range(self.loud)]


def test_a_rule_of_ones_own_is_anything_with_a_check():
    assert len(Rules(Shouts(2), Length(min_chars=0)).verify(Generation("Yes."))) == 3


@pytest.mark.parametrize(
    ("rules", "says"),
    [((), "at least one"), ((Length,), "call it, Length(...)"), (("json",), "'json' is no rule")],
)
def test_what_is_no_rule_set_is_refused(rules, says):
    with pytest.raises(ConfigurationError) as caught:
        Rules(*rules)
    assert says in str(caught.value)


def test_the_fingerprint_changes_with_every_rule_option_and_function():
    sets = [
        Rules(Length(max_words=5)),
        Rules(Length(max_words=6)),
        Rules(Length(max_words=5), FinishReason()),
        Rules(Matches("a")),
        Rules(Forbids("a")),
        Rules(Forbids("a", ignore_case=True)),
        Rules(Parses("json")),
        Rules(Parses("yaml")),
        Rules(Matches(re.compile("a" * 300 + "b"))),
        Rules(Matches(re.compile("a" * 300 + "c"))),
        Rules(Predicate(no_promises)),
        Rules(Predicate(no_promises, version="2")),
        Rules(Predicate(lambda generation: "a" in generation.output, name="no_promises")),
        Rules(Predicate(lambda generation: "b" in generation.output, name="no_promises")),
        Rules(Shouts(1)),
        Rules(Shouts(2)),
    ]
    assert len({rules.fingerprint for rules in sets}) == len(sets)


def test_the_fingerprint_is_the_same_for_the_same_rules():
    def build():
        return Rules(NumbersAppear(allow={"24", "7"}), CitesOnlyReturned(), Predicate(no_promises))

    assert build().fingerprint == build().fingerprint


def test_a_rule_set_can_be_pickled():
    schema = MatchesSchema({"type": "object"}, name="shape")
    rules = Rules(CitesOnlyReturned(), Forbids("x"), Predicate(no_promises), schema)
    again = pickle.loads(pickle.dumps(rules))
    assert again == rules
    assert again.fingerprint == rules.fingerprint
    assert again.verify(reply("See [9].")) == rules.verify(reply("See [9]."))
