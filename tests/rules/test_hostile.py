"""Answers made to break the reader: every built-in rule says something, in bounded time.

The bound is pytest's own patience: a quadratic reader needs hours for these.
"""

from __future__ import annotations

import os
import signal
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aucert_otel.generation import Generation, Passage
from aucert_otel.verdict import Reason, Verdict
from aucert_verifiers.rules import (
    CitesOnlyReturned,
    FinishReason,
    Forbids,
    Length,
    Matches,
    MatchesSchema,
    NumbersAppear,
    Parses,
    Rules,
)
from aucert_verifiers.rules.numbers import number_keys, numbers_in
from aucert_verifiers.rules.text import Text, sentence_starts


MEGABYTE = 1_000_000
FORMATS = ("json", "yaml", "toml", "xml", "csv", "python")
PASSAGES = (Passage("It takes 3 to 5 days and costs $4.99.", id="118"),)

UNITS = [
    "a", "1", ".", "1,", ",111", "1.1", "1. ", "1.\n", "[", "[1", "[1,", "[1]", "[doc:", "article ", "articles 1, ",
    "articles 1 and ", "Art. ", "!", '."', "\n", " ", "。", "\u200b", "\u202e", "\x00", "\ud800", "٣", "\uff15,", "-", '"', "\\",
    "section 1 and ", "§", "§ 1", "\u3010", "\u30101 ", "[^1 ", "[doc 1 ", "article (", "article (1 ", "article **", "articles 1\n- ",
    "a\u0301", "1\u0338", "\u00b2", "\u2460", "&#", "&amp;", "\\u0031", "*", "_1", "\U000e0061", "[source: 1 x",
    "<a>", "{", "forty-", "may 1", "jan", '{"a":', "'", "a.", "&a ", "*a ", "- ", "? ", "(", "not ", "-x", "x[", "a,b\n",
]  # fmt: skip


@pytest.fixture(scope="module")
def everything():
    return Rules(
        FinishReason(), CitesOnlyReturned(), NumbersAppear(), Forbids("x"), Matches("y"),
        Length(max_words=9), MatchesSchema({"type": "object", "uniqueItems": True}),
    )  # fmt: skip


@pytest.mark.parametrize("unit", UNITS)
def test_a_megabyte_of_anything_is_judged(unit, everything):
    text = unit * (MEGABYTE // len(unit))
    findings = everything.verify(Generation(text, evidence=PASSAGES))
    assert Verdict.FAIL in {finding.verdict for finding in findings}
    assert all(len(finding.why) < 5000 and len(finding.claim or "") < 1000 for finding in findings)
    assert numbers_in(Passage(text[:100_000])) is not None


@pytest.mark.parametrize("tail", ["x", "1", ".", "]", " "])
@pytest.mark.parametrize("unit", ["1,111", ",111", ".1", "1", "[1,", "!.", "1;", ' "'])
def test_a_megabyte_that_nearly_matches_is_read_once(unit, tail):
    text = "[1" + unit * (MEGABYTE // len(unit)) + tail
    Rules(CitesOnlyReturned(), NumbersAppear()).verify(Generation(text, evidence=PASSAGES))
    assert sentence_starts(text)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("unit", UNITS)
def test_every_parser_survives_as_much_of_anything_as_it_reads(name, unit):
    text = unit * (50_000 // len(unit))
    (finding,) = Rules(Parses(name)).verify(Generation(text))
    assert finding.verdict is Verdict.PASS or finding.evidence


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    ("opening", "closing"),
    [("[", "]"), ("{'a':", "}"), ('{"a":', "}"), ("<a>", "</a>"), ("(", ")")],
)
def test_nesting_without_end_is_malformed_or_refused(name, opening, closing):
    text = opening * 100_000 + closing * 100_000
    (finding,) = Rules(Parses(name, max_chars=MEGABYTE)).verify(Generation(text))
    nests = {"yaml": "[{", "toml": "[{(<", "csv": ""}.get(name)
    if nests is None or opening[0] in nests:
        assert (finding.verdict, finding.reason) == (Verdict.FAIL, Reason.MALFORMED)


def test_brackets_inside_strings_are_no_nesting():
    (finding,) = Rules(Parses()).verify(Generation('["' + "[{" * 1000 + '\\"[", "]"]'))
    assert finding.verdict is Verdict.PASS


BILLION_LAUGHS_XML = (
    '<!DOCTYPE l [<!ENTITY a "ha">'
    + "".join(
        f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    )
    + "]><l>&i;</l>"
)
BILLION_LAUGHS_YAML = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)
MERGE_BOMB_YAML = "a: &a {x: 1}\n" + "".join(
    f"{b}: &{b} {{<<: [{', '.join([f'*{a}'] * 9)}]}}\n"
    for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("xml", BILLION_LAUGHS_XML, "DOCTYPE"),
        ("xml", '<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>', "DOCTYPE"),
        ("yaml", BILLION_LAUGHS_YAML, "aliases expand"),
        ("yaml", MERGE_BOMB_YAML, "aliases expand"),
        ("yaml", "&a [&b [*a]]", "contains itself"),
    ],
)
def test_a_bomb_is_refused_before_it_goes_off(name, text, says):
    (finding,) = Rules(Parses(name)).verify(Generation(text))
    assert (finding.verdict, finding.reason) == (Verdict.FAIL, Reason.MALFORMED)
    assert says in finding.why


text = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from("0123456789.,[]{}()'\" \n-:article&*<>!\u200b\u202e\ud800\x00。"),
    )
)


@given(text, st.sampled_from(FORMATS))
def test_no_parser_raises_on_any_text(answer, name):
    (finding,) = Rules(Parses(name)).verify(Generation(answer))
    assert finding.verdict is Verdict.PASS or finding.evidence[0].origin == "rule"


@given(text, st.none() | st.lists(st.builds(Passage, text, id=st.none() | text), max_size=3))
@settings(max_examples=300)
def test_no_rule_raises_every_failure_has_evidence_and_the_same_answer_gets_the_same_verdict(
    answer, evidence
):
    rules = Rules(
        CitesOnlyReturned(), NumbersAppear(), Forbids("a."), Matches("b"), Length(max_words=3),
        CitesOnlyReturned(field="a", required=True, name="field"), FinishReason(),
    )  # fmt: skip
    generation = Generation(
        answer, evidence=None if evidence is None else tuple(evidence), finish_reason="stop"
    )
    findings = rules.verify(generation)
    for finding in findings:
        if finding.verdict is Verdict.FAIL:
            assert finding.score == 0.0
            assert finding.evidence
            assert all(e.text and e.origin == "rule" for e in finding.evidence)
    assert rules.verify(generation) == findings


@given(st.integers(0, 10**9), st.integers(0, 999), st.booleans(), text)
def test_a_number_copied_from_a_passage_always_passes(whole, cents, grouped, noise):
    number = f"{whole:,}.{cents:03}" if grouped else f"{whole}.{cents:03}"
    passage = Passage(f"{noise}\nThe price is {number} euros.\n{noise}", id="1")
    rules = Rules(NumbersAppear())
    (finding,) = rules.verify(Generation(f"You pay {number} euros.", evidence=(passage,)))
    assert finding.verdict is Verdict.PASS


@given(text, st.integers(10**12, 10**15))
def test_a_number_that_stands_nowhere_always_fails(noise, number):
    passage = Passage(noise, id="1")
    if str(number) in numbers_in(passage):
        return
    (finding,) = Rules(NumbersAppear()).verify(
        Generation(f"You pay {number} euros.", evidence=(passage,))
    )
    assert (finding.verdict, finding.claim) == (Verdict.FAIL, f"You pay {number} euros.")


@given(st.integers(0, 10**12), st.integers(0, 5))
def test_a_number_is_compared_by_value_however_it_is_written(number, zeros):
    written = {
        f"{number}",
        f"{number:,}",
        "0" * zeros + str(number),
        f"{number}.{'0' * (zeros + 1)}",
    }
    assert len({number_keys(each) for each in written}) == 1


@given(text)
def test_sentences_cover_the_text_in_order(answer):
    starts = sentence_starts(answer)
    assert starts[0] == 0
    assert starts == sorted(set(starts))
    assert all(start < len(answer) for start in starts[1:])


@pytest.mark.parametrize(
    ("answer", "sentences"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        (
            "See Art. 5 here. It costs 4.99 e.g. today.",
            ["See Art. 5 here.", "It costs 4.99 e.g. today."],
        ),
        ('He said "no." Then left.', ['He said "no."', "Then left."]),
        ("1. Send a photo.\n2. Wait.", ["1. Send a photo.", "2. Wait."]),
        ("It takes 5. Then 6.", ["It takes 5.", "Then 6."]),
        ("三十日です。はい\uff01そう\uff1f", ["三十日です。", "はい\uff01", "そう\uff1f"]),
        ("Wait... what?! Yes", ["Wait...", "what?!", "Yes"]),
        ("a\n\n b", ["a", "b"]),
    ],
)
def test_sentences_end_where_people_end_them(answer, sentences):
    whole = Text(answer)
    found = list(dict.fromkeys(whole.sentence(position) for position in range(len(answer))))
    assert [sentence for sentence in found if sentence] == sentences


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_forked_while_a_thread_parses_can_parse_too():
    rules = Rules(Parses("python"))
    busy = Generation(f"x = [{'1,' * 20_000}]")
    stop = threading.Event()

    def parse():
        while not stop.is_set():
            rules.verify(busy)

    thread = threading.Thread(target=parse)
    thread.start()
    try:
        for _ in range(10):
            child = os.fork()
            if not child:
                signal.alarm(20)  # a child that hangs is ended by it
                try:
                    (finding,) = rules.verify(Generation("x = 1"))
                    os._exit(0 if finding.verdict is Verdict.PASS else 1)
                finally:
                    os._exit(2)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        thread.join()
