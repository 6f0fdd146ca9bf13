from __future__ import annotations

import json

import pytest
from support.flowers import CARE, DAMAGE, DELIVERY, MARCH_REPLY, reply

from aucert_otel.errors import ConfigurationError
from aucert_otel.generation import Generation, Message, Passage
from aucert_otel.verdict import Reason, Verdict
from aucert_verifiers.rules import CitesOnlyReturned, NumbersAppear, Rules


def check(generation, **options):
    return Rules(NumbersAppear(**options)).verify(generation)


def verdict(output, passage, **options):
    (finding,) = check(reply(output, Passage(passage, id="1")), **options)
    return finding.verdict


def test_the_march_reply_passes_since_a_numbers_role_is_not_this_rules_to_check():
    (finding,) = check(reply(MARCH_REPLY, DAMAGE))
    assert (finding.criterion, finding.verdict) == ("numbers", Verdict.PASS)


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("1,000 roses", "1000 roses"),
        ("1000 roses", "1,000 roses"),
        ("1'000", "1\u00a0000"),
        ("1,234,567.50", "1234567.5"),
        ("5.0", "5"),
        ("05", "5"),
        ("$49.99!", "it is 49.99 dollars"),
        ("a 48-hour window", "48 hours"),
        ("48h", "within 48 hours"),
        ("10%", "10 percent"),
        ("٤٨ hours", "48 hours"),
        ("\uff14\uff18 hours", "48 hours"),
        ("\u22125 °C", "-5 °C"),
        ("0.5", ".5 litres"),
        ("2026-03-14", "March 14, 2026"),
        ("14/3/2026", "14th of March 2026"),
        ("14.03.2026", "2026-03-14"),
        ("at 10:30", "10:30"),
        ("48 hours", "forty-eight hours"),
        ("2 weeks", "Two weeks"),
        ("30 and 20", "thirty or twenty"),
        ("00", "0"),
    ],
)
def test_numbers_are_compared_by_value(said, written):
    assert verdict(f"It is {said} then", written) is Verdict.PASS


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("60 days", "30 days"),
        ("49.9", "49.99"),
        ("100", "1000"),
        ("1,000", "1"),
        ("3", "you may return it"),
        ("5", "you may return it"),
        ("2026-04-14", "2026-03-14"),
        ("order 12346", "order 12345"),
        ("3\u200b0 days", "3 days"),
        ("60. That is how many days you have", "30 days"),
        ("60", ""),
    ],
)
def test_a_number_no_passage_holds_fails(said, written):
    assert verdict(said, written) is Verdict.FAIL


def test_a_failure_carries_the_sentence_and_the_numbers_there_are():
    generation = reply(
        "Hello. You have 60 days, or 90 at most. Roses keep for 7 days. Bye.", CARE, DAMAGE
    )
    (finding,) = check(generation)
    assert finding.claim == "You have 60 days, or 90 at most."
    assert finding.reason is Reason.UNSUPPORTED
    assert [(e.text, e.origin) for e in finding.evidence] == [
        (
            (
                "60 and 90 appear in no passage the answer rests on: the numbers in passages 140 and "
                "305 are 7, 30 and 48"
            ),
            "rule",
        )
    ]


def test_each_wrong_sentence_is_one_finding():
    findings = check(reply("It takes 8 days. It costs $9. It takes 8 days."))
    assert [finding.claim for finding in findings] == ["It takes 8 days.", "It costs $9."]


def test_only_the_passages_the_answer_cites_count():
    assert check(reply("Roses keep for 7 days [140]."))[0].verdict is Verdict.PASS
    (finding,) = check(reply("Roses keep for 7 days [118]."))
    assert finding.verdict is Verdict.FAIL
    assert "passage 118" in finding.evidence[0].text


def test_a_wrong_citation_is_not_counted_again_by_its_numbers():
    rules = Rules(CitesOnlyReturned(), NumbersAppear())
    wrong, numbers = rules.verify(reply("According to article 212 it takes 5 days."))
    assert (wrong.verdict, numbers.verdict) == (Verdict.FAIL, Verdict.PASS)


def test_cited_ids_and_list_markers_are_no_numbers():
    text = (
        "1. See article 118.\n2. See articles 118 and 140, or [118, 140].\n 3) It takes 5 days.\n4."
    )
    (finding,) = check(reply(text))
    assert finding.claim == "4."


def test_citations_are_read_the_way_the_set_reads_them():
    rules = Rules(NumbersAppear(), CitesOnlyReturned(pattern=r"<(\d+)>"))
    findings = rules.verify(reply("It takes 5 days <118>."))
    assert {finding.verdict for finding in findings} == {Verdict.PASS}


def test_the_customers_own_numbers_may_be_repeated():
    asked = reply("Order 55123 of 9 roses is on its way.", DELIVERY, question="Where is order 55123?",
                  messages=(Message("user", "I bought 9 roses"), Message("assistant", "12 roses?")))  # fmt: skip
    assert check(asked)[0].verdict is Verdict.PASS
    assert check(asked, allow_from_question=False)[0].verdict is Verdict.FAIL
    said = reply("12 roses.", DELIVERY, messages=(Message("assistant", "12 roses?"),))
    assert check(said)[0].verdict is Verdict.FAIL


def test_more_numbers_can_be_allowed():
    assert verdict("We are there 24/7", "", allow=("24", 7)) is Verdict.PASS


def test_nobody_knowing_what_search_returned_is_unclear_only_if_it_matters():
    (unknown,) = check(Generation("It takes 5 days."))
    assert (unknown.verdict, unknown.reason) == (Verdict.UNCLEAR, Reason.NO_EVIDENCE)
    assert check(Generation("It takes days."))[0].verdict is Verdict.PASS
    (nothing,) = check(Generation("It takes 5 days.", evidence=()))
    assert nothing.verdict is Verdict.FAIL
    assert "search returned nothing" in nothing.evidence[0].text


def test_a_structured_answer_is_read_by_its_values():
    text = json.dumps({"reply": "It takes 5 days.", "citations": [118], "score": 0.93, "v2": True})
    rules = Rules(CitesOnlyReturned(field="citations"), NumbersAppear())
    _, finding = rules.verify(reply(text))
    assert (finding.verdict, finding.claim) == (Verdict.FAIL, "score: 0.93")
    assert check(reply(text), ignore_fields=("score", "citations"))[0].verdict is Verdict.PASS
    assert check(reply(text), fields="reply")[0].verdict is Verdict.PASS


def test_one_endless_sentence_makes_few_findings():
    findings = check(reply(" ".join(str(n) for n in range(1000, 9000))))
    assert len(findings) == 20
    assert findings[-1].measures["more"] > 0
    assert all(len(finding.claim) < 500 for finding in findings)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"allow": ("many",)}, "numbers_appear.allow holds 'many'"),
        ({"allow": True}, "numbers_appear.allow holds True"),
        ({"fields": 3}, "numbers_appear.fields is 3"),
        ({"ignore_fields": [None]}, "numbers_appear.ignore_fields is [None]"),
        ({"allow_from_question": "no"}, "numbers_appear.allow_from_question is 'no'"),
    ],
)
def test_an_option_that_cannot_work_is_refused(options, says):
    with pytest.raises(ConfigurationError) as caught:
        NumbersAppear(**options)
    assert says in str(caught.value)
