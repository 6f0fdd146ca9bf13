from __future__ import annotations

import functools
import re

import pytest

from aucert_otel.errors import ConfigurationError
from aucert_otel.generation import Generation
from aucert_otel.verdict import Finding, Reason, Verdict
from aucert_verifiers.rules import Forbids, Matches, Predicate, Rules


def check(rule, text):
    return Rules(rule).verify(Generation(text))


def test_a_required_pattern_that_is_missing_fails_with_what_is_required():
    assert check(Matches("photo"), "Send a photo.")[0].verdict is Verdict.PASS
    (finding,) = check(Matches("photo", fact="A damage reply asks for a photo."), "Fine.")
    assert (finding.criterion, finding.reason) == ("required", Reason.REQUIRED)
    assert finding.evidence[0].text == "A damage reply asks for a photo."
    (plain,) = check(Matches("photo", name="asks for a photo"), "Fine.")
    assert (plain.criterion, plain.evidence[0].text) == (
        "asks for a photo",
        "the answer must match 'photo'",
    )


def test_a_forbidden_pattern_fails_once_for_each_sentence_it_is_in():
    rule = Forbids("guarantee|promise", ignore_case=True)
    findings = check(rule, "Hello. We GUARANTEE it and promise it. We promise. Bye.")
    assert [finding.claim for finding in findings] == [
        "We GUARANTEE it and promise it.",
        "We promise.",
    ]
    assert {finding.reason for finding in findings} == {Reason.FORBIDDEN}
    assert all(finding.evidence for finding in findings)
    assert check(rule, "Hello.")[0].verdict is Verdict.PASS


@pytest.mark.parametrize(
    "text", ['{"reply": "we \\u0070romise"}', "we pro\u200bmise", '{"a": {"b": ["promise"]}}']
)
def test_an_escape_or_an_invisible_character_hides_nothing(text):
    assert check(Forbids("promise"), text)[0].verdict is Verdict.FAIL


def test_a_compiled_pattern_keeps_its_flags():
    assert check(Matches(re.compile("PHOTO", re.IGNORECASE)), "photo")[0].verdict is Verdict.PASS


@pytest.mark.parametrize("kind", [Matches, Forbids])
def test_an_answer_too_long_to_read_is_unclear_never_a_pass(kind):
    (finding,) = check(kind("x", max_chars=10), "x" * 11)
    assert (finding.verdict, finding.reason) == (Verdict.UNCLEAR, Reason.NOT_CHECKED)


def polite(generation):
    """The answer says please."""
    return "please" in generation.output


@pytest.mark.parametrize(
    ("said", "verdict", "fact"),
    [
        (True, Verdict.PASS, None),
        (None, Verdict.PASS, None),
        (False, Verdict.FAIL, "the answer must meet the rule mine"),
        ("order 7 is not yours", Verdict.FAIL, "order 7 is not yours"),
    ],
)
def test_a_predicate_answers_with_true_false_or_the_fact(said, verdict, fact):
    (finding,) = check(Predicate(lambda _: said, name="mine"), "Yes.")
    assert (finding.criterion, finding.verdict) == ("mine", verdict)
    assert [e.text for e in finding.evidence] == ([fact] if fact else [])


def test_a_plain_function_is_a_rule_by_itself_and_its_docstring_is_the_fact():
    (finding,) = check(polite, "Yes.")
    assert (finding.criterion, finding.reason) == ("polite", Reason.PREDICATE)
    assert finding.evidence[0].text == (
        "the answer must meet the rule polite: The answer says please."
    )


def test_a_predicate_may_return_a_finding_of_its_own():
    own = Finding("tone", Verdict.UNCLEAR, reason=Reason.ABSTAINED)
    assert check(Predicate(lambda _: own), "Yes.") == (own,)


def test_a_predicate_that_raises_is_no_verdict():
    with pytest.raises(ZeroDivisionError):
        check(Predicate(lambda _: 1 / 0), "Yes.")


@pytest.mark.parametrize("said", [1, 0.5, "", " ", [], object()])
def test_a_predicate_that_says_nothing_sensible_raises(said):
    with pytest.raises(TypeError, match="return True, False, None"):
        check(Predicate(lambda _: said), "Yes.")


async def waiting(generation):
    return True


class Waiting:
    async def __call__(self, generation):
        return True


def test_a_coroutine_from_a_plain_function_is_closed_and_refused():
    with pytest.raises(TypeError, match="coroutine"):
        check(Predicate(lambda _: waiting(None)), "Yes.")


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: Matches("(a"), "matches.pattern is '(a', which is no regular expression"),
        (lambda: Forbids(""), "forbids.pattern is ''"),
        (lambda: Forbids(3), "forbids.pattern is 3"),
        (lambda: Forbids("a", fact=" "), "forbids.fact is ' '"),
        (lambda: Matches("a", max_chars=0), "matches.max_chars is 0"),
        (lambda: Matches("a", ignore_case=1), "matches.ignore_case is 1"),
        (lambda: Predicate(3), "predicate.function is 3"),
        (lambda: Predicate(dict), "predicate.function is <class 'dict'>"),
        (lambda: Predicate(waiting), "is asynchronous"),
        (lambda: Predicate(Waiting()), "is asynchronous"),
    ],
)
def test_a_rule_that_cannot_work_is_refused(build, says):
    with pytest.raises(ConfigurationError) as caught:
        build()
    assert says in str(caught.value)


def test_a_partial_is_named_by_its_type_or_by_the_user():
    (finding,) = check(Predicate(functools.partial(lambda a, b: True, 1)), "Yes.")
    assert finding.criterion == "partial"
