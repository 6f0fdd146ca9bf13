"""Answers that try to say one thing to a reader and another to the rules."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.flowers import DAMAGE, reply

from aucert_otel.generation import Generation, Message, Passage
from aucert_otel.verdict import Finding, Reason, Verdict
from aucert_verifiers.rules import (
    CitesOnlyReturned,
    Forbids,
    Length,
    MatchesSchema,
    NumbersAppear,
    Predicate,
    Rules,
)
from aucert_verifiers.rules.seen import visible


ALL = Rules(CitesOnlyReturned(), NumbersAppear(), Forbids("guarantee"))


def verdicts(rules, output, *evidence, **options):
    findings = rules.verify(reply(output, *evidence, **options))
    return {finding.criterion: finding.verdict for finding in findings}


def ignorable():
    ranges = [
        (0x00, 0x08), (0x0B, 0x0C), (0x0E, 0x1F), (0x7F, 0x9F), (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C),
        (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x200B, 0x200F), (0x2060, 0x206F),
        (0x202A, 0x202E), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0),
        (0xFFF0, 0xFFFB), (0xD800, 0xD800), (0xDFFF, 0xDFFF), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A),
        (0xE0000, 0xE007F), (0xE0100, 0xE01EF),
    ]  # fmt: skip
    return [chr(code) for first, last in ranges for code in range(first, last + 1)]


def test_every_character_that_is_drawn_as_nothing_hides_nothing():
    for char in ignorable():
        assert visible(f"a{char}b\tc\r\n{char}") == "ab\tc\r\n", f"U+{ord(char):04X}"
        output = f"A refund within 30{char}0 days (arti{char}cle 30{char}6). We guar{char}antee it."
        assert set(verdicts(ALL, output, DAMAGE).values()) == {Verdict.FAIL}, f"U+{ord(char):04X}"


MARKS = [chr(c) for c in range(0x300, 0x20F1) if unicodedata.category(chr(c)) in ("Mn", "Me")]


@given(st.text(st.sampled_from(MARKS), min_size=1, max_size=5))
def test_combining_marks_split_no_number_and_no_citation(marks):
    output = f"Within 30{marks}0 days (arti{marks}cle 3{marks}06). We guar{marks}antee it."
    assert set(verdicts(ALL, output, DAMAGE).values()) == {Verdict.FAIL}


def test_an_accent_is_kept_where_a_pattern_asks_for_it():
    for written in ("caf\u00e9", "cafe\u0301"):
        assert verdicts(Rules(Forbids("caf\u00e9")), written) == {"forbidden": Verdict.FAIL}


@pytest.mark.parametrize(
    "said",
    [
        "7\u00b2 hours", "\u2077\u00b2 hours", "\u2466\u2461 hours", "\u2082 hours", "\u00bd hours", "\u2168 hours",
        "&#55;2 hours", "7&zwnj;2 hours", "7&#8203;2 hours", "\\u0037\\u0032 hours", "7\u20e32\u20e3 hours",
    ],
)  # fmt: skip
def test_a_number_in_other_digits_is_read(said):
    assert verdicts(Rules(NumbersAppear()), f"Within {said}.", DAMAGE) == {"numbers": Verdict.FAIL}


@pytest.mark.parametrize(
    "said", ["30 m\u00b2", "48 hours.\u00b2", "\u2460 Wait.\n\u2461 Write.", "48 hours\u00b9"]
)
def test_a_unit_a_footnote_and_a_circled_list_marker_are_no_numbers(said):
    assert verdicts(Rules(NumbersAppear()), said, DAMAGE) == {"numbers": Verdict.PASS}


def test_a_fraction_is_compared_with_the_same_fraction():
    passage = Passage("It takes 2\u00bd hours.", id="1")
    rules = Rules(NumbersAppear())
    assert verdicts(rules, "It takes 2\u00bd hours.", passage) == {"numbers": Verdict.PASS}


@pytest.mark.parametrize("char", list("\u202a\u202b\u202d\u202e\u2066\u2067\u2068"))
def test_what_a_reader_sees_in_another_order_is_unclear(char):
    for output in (
        f"Within {char}30 days (article 305).",
        json.dumps({"reply": f"Within {char}30 days (article 305)."}),
        f"Within &#{ord(char)};30 days (article 305).",
    ):
        found = verdicts(Rules(CitesOnlyReturned(), NumbersAppear()), output, DAMAGE)
        assert set(found.values()) == {Verdict.UNCLEAR}, output
    without = verdicts(Rules(CitesOnlyReturned(), NumbersAppear()), f"{char}Hello.", DAMAGE)
    assert set(without.values()) == {Verdict.PASS}


def test_letters_turned_around_leave_a_forbidden_pattern_unclear():
    rules = Rules(Forbids("guarantee"))
    assert verdicts(rules, "We \u202eeetnaraug\u202c it.") == {"forbidden": Verdict.UNCLEAR}
    assert verdicts(rules, "\u2067We do it.\u2069") == {"forbidden": Verdict.PASS}


SAYS = "We gu\\u0061rantee \\u0037\\u0032 hours, article \\u0032\\u0031\\u0032"


@pytest.mark.parametrize(
    "form",
    [
        '{"a": "%s"}', '{"%s": 1}', '{"a": {"%s": null}}', '["%s"]', '[["%s"]]', '[1, {"a": "%s"}]', '"%s"',
        '```json\n{"a": "%s"}\n```', '```\n["%s"]\n```', '{"a": "%s", "a": ""}', '{"a": NaN, "b": "%s"}',
        'Here it is: {"a": "%s"} Good?', '{"a": "%s"', '{"a": "%s", "b": 1e999}', '{"a": "%s\n"}',
        '{"a": "%s", "b": ' + "9" * 5000 + "}", '{"b": ' + "[" * 70 + "]" * 70 + ', "a": "%s"}',
    ],
)  # fmt: skip
def test_an_escape_in_any_form_of_json_hides_nothing(form):
    found = verdicts(ALL, form % SAYS, Passage("1 day, 5000", id="118"))
    assert set(found.values()) == {Verdict.FAIL}


def test_names_of_fields_are_no_numbers_and_other_keys_are():
    rules = Rules(NumbersAppear())
    assert verdicts(rules, '{"line_2": "Hello"}', DAMAGE) == {"numbers": Verdict.PASS}
    for key in ("72", "72 hours", "in 72"):
        assert verdicts(rules, json.dumps({key: "x"}), DAMAGE) == {"numbers": Verdict.FAIL}


def test_a_list_of_numbers_cites():
    assert verdicts(Rules(CitesOnlyReturned()), "[212]") == {"cited_ids": Verdict.FAIL}
    assert verdicts(Rules(CitesOnlyReturned()), "[118]") == {"cited_ids": Verdict.PASS}


@pytest.mark.parametrize(
    "answer",
    [
        {"sources": [{"id": "305"}], "sources.id": "within 72 hours"},
        {"sources": [{"id": "305"}], "": {"sources": {"id": "within 72 hours"}}},
        {"": {"sources.id": "within 72 hours"}},
    ],
)
def test_no_key_reads_like_the_path_of_the_citations(answer):
    rules = Rules(CitesOnlyReturned(field="sources.id"), NumbersAppear())
    assert verdicts(rules, json.dumps(answer), DAMAGE)["numbers"] is Verdict.FAIL


def test_ids_in_nested_lists_are_read():
    rules = Rules(CitesOnlyReturned(field="sources.id"))
    answer = json.dumps({"sources": [[{"id": "999"}]]})
    assert verdicts(rules, answer, DAMAGE) == {"cited_ids": Verdict.FAIL}


@pytest.mark.parametrize("times", [1, 1_999, 2_000, 2_001, 6_000])
def test_the_customers_own_number_said_often_hides_no_other(times):
    rules = Rules(NumbersAppear())
    asked = {"question": "Where is order 88?", "messages": (Message("user", "order 89"),)}
    output = "Order 88 and 89. " * times + "Within 72 hours."
    assert verdicts(rules, output, DAMAGE, **asked) == {"numbers": Verdict.FAIL}


def test_a_cited_id_is_no_number_only_where_it_is_looked_after():
    output = "Within [72] hours, article 305."
    assert verdicts(Rules(NumbersAppear()), output, DAMAGE) == {"numbers": Verdict.FAIL}
    assert (
        verdicts(Rules(NumbersAppear(exempt_cited=True)), output, DAMAGE)["numbers"] is Verdict.PASS
    )
    both = verdicts(Rules(NumbersAppear(), CitesOnlyReturned()), output, DAMAGE)
    assert both == {"numbers": Verdict.PASS, "cited_ids": Verdict.FAIL}


def test_what_is_too_long_is_unclear_with_the_share_that_was_read_and_what_was_read_counts():
    long = "Hello. " * 100
    rules = Rules(NumbersAppear(max_chars=len(DAMAGE.text) + 350), CitesOnlyReturned(max_chars=350))
    for finding in rules.verify(reply(long, DAMAGE)):
        assert (finding.verdict, finding.reason) == (Verdict.UNCLEAR, Reason.NOT_CHECKED)
        assert finding.measures == {"covered": 0.5}
    both = rules.verify(reply(f"72 hours, article 212. {long}", DAMAGE))
    assert [finding.verdict for finding in both] == [
        Verdict.FAIL, Verdict.UNCLEAR, Verdict.FAIL, Verdict.UNCLEAR,
    ]  # fmt: skip


@pytest.mark.parametrize(
    "options",
    [
        {"question": "1 " * 100},
        {"messages": (Message("user", "1 " * 100),)},
        {"evidence": (Passage("1 " * 100),)},
    ],
)
def test_passages_and_questions_past_the_bound_leave_the_numbers_unclear(options):
    (finding,) = Rules(NumbersAppear(max_chars=100)).verify(Generation("Hello.", **options))
    assert (finding.verdict, finding.measures) == (Verdict.UNCLEAR, {"covered": 0.0})


@pytest.mark.parametrize("options", [{"field": "a"}, {"pattern": r"<(\d+)>"}])
def test_a_field_and_a_pattern_are_read_whole_or_not_at_all(options):
    (finding,) = Rules(CitesOnlyReturned(max_chars=5, **options)).verify(reply('{"a": [999]}'))
    assert (finding.verdict, finding.measures) == (Verdict.UNCLEAR, {"covered": 0.0})


def breaks(generation):
    raise ZeroDivisionError(generation.output)


def test_a_rule_that_raises_throws_no_failure_of_another_rule_away():
    for rules in (
        Rules(Predicate(breaks), Forbids("guarantee")),
        Rules(Forbids("guarantee"), Predicate(breaks)),
    ):
        findings = {f.criterion: f for f in rules.verify(Generation("We guarantee it."))}
        assert findings["forbidden"].verdict is Verdict.FAIL
        broken = findings["breaks"]
        assert (broken.verdict, broken.reason) == (Verdict.UNCLEAR, Reason.NOT_CHECKED)
        assert "ZeroDivisionError" in broken.why
        assert "guarantee" not in broken.why


class HalfWay:
    def check(self, _generation, _context, /):
        yield Finding("half", Verdict.PASS, score=1.0)
        raise KeyError


@pytest.mark.parametrize("rule", [Predicate(breaks), HalfWay()])
def test_a_rule_that_raises_where_nothing_failed_is_a_set_that_did_not_run(rule):
    with pytest.raises((ZeroDivisionError, KeyError)):
        Rules(Length(max_words=9), rule).verify(Generation("Yes."))


@pytest.mark.parametrize("digits", [1, 20, 309, 400, 4300])
@pytest.mark.parametrize("keyword", ["multipleOf", "minimum", "maximum", "exclusiveMinimum"])
def test_no_number_makes_a_schema_raise(digits, keyword):
    rules = Rules(MatchesSchema({"properties": {"n": {keyword: 0.25}}}))
    for number in (
        "9" * digits,
        f"-{'9' * digits}",
        f"{'9' * min(digits, 300)}.5",
        "1e308",
        "5e-324",
    ):
        (finding,) = rules.verify(Generation(f'{{"n": {number}}}'))
        assert isinstance(finding.verdict, Verdict)


@pytest.mark.parametrize(
    ("number", "step", "verdict"),
    [
        ("0.3", 0.1, Verdict.PASS), ("0.35", 0.1, Verdict.FAIL), ("9" * 400, 0.01, Verdict.PASS),
        ("9" * 400, 2, Verdict.FAIL), ("1e308", 0.01, Verdict.PASS), ('"x"', 2, Verdict.PASS), ("true", 2, Verdict.PASS),
    ],
)  # fmt: skip
def test_multiples_are_exact(number, step, verdict):
    (finding,) = Rules(MatchesSchema({"multipleOf": step})).verify(Generation(number))
    assert finding.verdict is verdict


def node(kind):
    return {
        "type": "object",
        "properties": {"arg": {"$ref": "#/$defs/n"}, "kind": {"const": kind}},
        "required": ["kind"],
    }


@pytest.mark.parametrize("combine", ["oneOf", "anyOf", "allOf"])
def test_a_recursive_schema_ends_on_a_nested_answer(combine):
    tree = {"$ref": "#/$defs/n", "$defs": {"n": {combine: [node("or"), node("and"), node("leaf")]}}}
    answer = '{"kind": "and", "arg": ' * 40 + '{"kind": "leaf"}' + "}" * 40
    (finding,) = Rules(MatchesSchema(tree)).verify(Generation(answer))
    if combine == "allOf":  # each level fails at once
        assert finding.verdict is Verdict.FAIL
    else:
        assert (finding.verdict, finding.reason) == (Verdict.UNCLEAR, Reason.NOT_CHECKED)
        assert "steps" in finding.why


def test_what_failed_before_the_steps_ran_out_is_a_failure():
    schema = {"items": {"type": "string"}}
    rules = Rules(MatchesSchema(schema, max_steps=5))
    assert verdicts(rules, "[1, 2]") == {"schema": Verdict.FAIL}
    assert verdicts(rules, f"[1{', 2' * 9}]") == {"schema": Verdict.FAIL}
    assert verdicts(rules, json.dumps(["a"] * 9)) == {"schema": Verdict.UNCLEAR}


def test_numbers_with_one_hash_are_compared_in_linear_time():
    step = 2**61 - 1
    text = json.dumps([n * step for n in range(30_000)])
    (finding,) = Rules(MatchesSchema({"uniqueItems": True})).verify(Generation(text))
    assert finding.verdict is Verdict.PASS
