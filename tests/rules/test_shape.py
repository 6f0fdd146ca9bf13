from __future__ import annotations

import pytest

from aucert_otel.errors import ConfigurationError
from aucert_otel.generation import TRUNCATED, Generation
from aucert_otel.verdict import Reason, Verdict
from aucert_verifiers.rules import FinishReason, Forbids, Length, Parses, Rules


@pytest.mark.parametrize("reason", sorted(TRUNCATED))
def test_an_answer_cut_off_at_its_ceiling_fails_with_the_fact(reason):
    (finding,) = Rules(FinishReason()).verify(Generation("We will", finish_reason=reason))
    assert (finding.verdict, finding.reason, finding.score) == (
        Verdict.FAIL,
        Reason.TRUNCATED,
        0.0,
    )
    (evidence,) = finding.evidence
    assert evidence.origin == "rule"
    assert evidence.text == (f"the answer was cut off at its token ceiling: finish_reason={reason}")


@pytest.mark.parametrize("reason", ["stop", "STOP", "end_turn", "tool_calls", "completed"])
def test_an_answer_the_model_ended_itself_passes(reason):
    (finding,) = Rules(FinishReason()).verify(Generation("Yes.", finish_reason=reason))
    assert (finding.criterion, finding.verdict) == ("finish_reason", Verdict.PASS)
    assert finding.score == 1.0


def test_silence_about_the_finish_is_never_a_pass():
    assert Rules(FinishReason()).verify(Generation("Yes.")) == ()


@pytest.mark.parametrize(
    ("reason", "why"),
    [
        ("content_filter", Reason.REFUSED),
        ("SAFETY", Reason.REFUSED),
        ("", Reason.OUT_OF_VOCABULARY),
    ],
)
def test_a_withheld_or_unknown_end_is_unclear_and_ends_the_set(reason, why):
    rules = Rules(FinishReason(), Length(min_chars=100))
    (finding,) = rules.verify(Generation("We", finish_reason=reason))
    assert (finding.verdict, finding.reason, finding.score) == (Verdict.UNCLEAR, why, None)


def test_a_providers_own_word_for_finished_can_be_named():
    rules = Rules(FinishReason(finished=("fertig",)))
    (finding,) = rules.verify(Generation("Ja.", finish_reason="FERTIG"))
    assert finding.verdict is Verdict.PASS


def test_a_cut_off_answer_is_one_failure_whatever_order_the_rules_came_in():
    rules = Rules(Length(min_chars=100), Parses("json"), FinishReason())
    findings = rules.verify(Generation('{"reply": "We wi', finish_reason="length"))
    assert [finding.criterion for finding in findings] == ["finish_reason"]


def test_an_answer_that_does_not_parse_ends_the_set():
    rules = Rules(Forbids("x"), Parses(), FinishReason())
    findings = rules.verify(Generation("xxx", finish_reason="stop"))
    assert [f.criterion for f in findings] == ["finish_reason", "parses"]


GOOD = {
    "json": ['{"a": [1, 2.5, null, "ü"]}', "3", '"text"', " [] ", '{"a": {"a": 1}}'],
    "yaml": ["a: 1\nb: [x, y]", "a: &x {k: 1}\nb: *x", "- 2026-12-01", ""],
    "toml": ['a = 1\n[b]\nc = "x"', ""],
    "xml": ["<a b='1'>&lt;<c/></a>", "<?xml version='1.0' encoding='utf-16'?><a/>"],
    "csv": ["a,b\n1,2\n", 'a,"b\nc"\r\n1,2', "one"],
    "python": ["x = 1\n", "def f():\n    return '\\d'\n", "1 is 1"],
}
BAD = {
    "json": ["", "{", "{'a': 1}", "NaN", "[Infinity]", "1e999", '{"a": 1, "a": 2}', "{} {}",
             "```json\n{}\n```", "9" * 5000, "\ufeff{}", "[1,]"],
    "yaml": ["a: [", "!!python/object:os.system {}", "!!int x", "!!bool x", "!!timestamp x", "2026-99-99",
             "--- a\n--- b", "a: *nowhere", "&a [*a]", "\x00", "\ud800", "{[a]: b}"],
    "toml": ["a = ", "a = 1\na = 2", "a = 9999-99-99", "\x00"],
    "xml": ["", "<a>", "<a/><b/>", "text", "<!DOCTYPE a><a/>", "<a>\ud800</a>", "<a>\x00</a>",
            "<a>&nope;</a>"],
    "csv": ["", "a,b\n1", '"open', 'a"b",c\n"x" y,z'],
    "python": ["def", "x = (", "\x00", "x = '\ud800'", "1" * 5000],
}  # fmt: skip


@pytest.mark.parametrize(("name", "text"), [(n, t) for n, texts in GOOD.items() for t in texts])
def test_well_formed_text_parses(name, text):
    (finding,) = Rules(Parses(name)).verify(Generation(text))
    assert (finding.criterion, finding.verdict) == ("parses", Verdict.PASS), finding.why


@pytest.mark.parametrize(("name", "text"), [(n, t) for n, texts in BAD.items() for t in texts])
def test_malformed_text_fails_with_the_fact_of_where_and_why(name, text):
    (finding,) = Rules(Parses(name)).verify(Generation(text))
    assert (finding.verdict, finding.reason) == (Verdict.FAIL, Reason.MALFORMED)
    assert finding.evidence[0].text.startswith("the answer is not valid ")
    assert len(finding.evidence[0].text) < 400


def test_the_fact_names_line_and_column():
    (finding,) = Rules(Parses()).verify(Generation('{"a": 1,\n "b" 2}'))
    assert "line 2 column 6" in finding.evidence[0].text


def test_a_fence_is_read_only_when_allowed_and_only_when_it_is_whole():
    fenced = Generation('```json\n{"a": 1}\n```\n')
    (strict,) = Rules(Parses()).verify(fenced)
    assert "wrapped in a code fence" in strict.why
    (allowed,) = Rules(Parses(allow_fence=True)).verify(fenced)
    assert allowed.verdict is Verdict.PASS
    (halved,) = Rules(Parses(allow_fence=True)).verify(Generation('```json\n{"a": 1}'))
    assert halved.verdict is Verdict.FAIL


def test_an_answer_past_the_bound_fails_rather_than_being_read():
    (finding,) = Rules(Parses(max_chars=5)).verify(Generation("[1, 2, 3]"))
    assert "9 characters, more than the 5" in finding.why


@pytest.mark.parametrize(
    ("options", "text", "fact"),
    [
        ({"max_words": 2}, "one two three", "the answer has 3 words; at most 2 are allowed"),
        ({"min_words": 2}, "one", "the answer has 1 words; at least 2 are needed"),
        ({"max_chars": 2}, "abc", "the answer has 3 characters; at most 2 are allowed"),
        ({"min_chars": 2}, "", "the answer has 0 characters; at least 2 are needed"),
    ],
)
def test_a_length_outside_its_bounds_fails_with_both_numbers(options, text, fact):
    (finding,) = Rules(Length(**options)).verify(Generation(text))
    assert (finding.reason, finding.evidence[0].text) == (Reason.LENGTH, fact)


def test_bounds_are_inclusive():
    rule = Length(min_chars=3, max_chars=3, min_words=1, max_words=1)
    (finding,) = Rules(rule).verify(Generation("abc"))
    assert finding.verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (Length, "give at least one of"),
        (lambda: Length(max_words=-1), "length.max_words is -1"),
        (lambda: Length(max_words=True), "length.max_words is True"),
        (lambda: Length(min_chars=5, max_chars=4), "no answer can meet both"),
        (lambda: Parses("jason"), "parses.format is 'jason': it must be one of json, yaml"),
        (lambda: Parses(allow_fence="yes"), "parses.allow_fence is 'yes'"),
        (lambda: Parses(max_chars=0), "parses.max_chars is 0"),
        (lambda: FinishReason(finished=(1,)), "finish_reason.finished is (1,)"),
        (lambda: FinishReason(name=" "), "finish_reason.name is ' '"),
    ],
)
def test_a_setting_that_cannot_work_is_refused_in_a_sentence(build, says):
    with pytest.raises(ConfigurationError) as caught:
        build()
    assert says in str(caught.value)
