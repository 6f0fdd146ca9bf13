"""Anything can be split and read: nothing raises, places lie inside, and no text takes for ever."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.flowers import MARCH_REPLY

from aucert_otel import Generation, Passage
from aucert_verifiers.grounding.currency import Currency
from aucert_verifiers.grounding.passages import passage_sentences
from aucert_verifiers.grounding.quantities import compare, compare_all, quantities
from aucert_verifiers.grounding.splitter import RuleSplitter


RULES = RuleSplitter()
LARGE = 100_000
MEDIUM = 20_000

UNITS = [
    "1", "(", ")", "1 ", "1-", "1/", "1.1.", "1,", ",111", "$", "%", ".", ". ", "A. ", "Mr. ", "\n", "\n\n", " ", "\t", "- a\n",
    "* ", "|", "|a|b|\n", "|-", "```\n", "> ", "#", "**", "_", "= ", "you are; ", "a, and the ", "I am sorry ", "it is ", "the a ",
    "to to ", "for a to be ", "yes, ", "thanks ", "one ", "twenty-", "hundred and ", "half a ", "not ", "no more than ", "between 1 and ",
    "5 days and ", "March ", "May 1 ", "from 1 to ", "at least ", "1\u00bd ", "\u00bd", "\u0301", "\u200b", "\u202e", "\x00", "\ud800",
    "\U0001f600", "\u3002", "\u061f", "\u0663", "\u6642\u9593", "e-", "http://", "www.", "'", '"', "\u201c", "send a photo and ", "which is ",
    "The limit is 5. ", "You must pay 5 dollars and are done. ", "within the window ", "1. ", "1) ", "\r", "\u2028",
]  # fmt: skip
LONG = (
    "1",
    "(",
    "1 ",
    "1.1.",
    ",111",
    ". ",
    "A. ",
    "Mr. ",
    "\n",
    " ",
    "- a\n",
    "**",
    "you are; ",
    "to to ",
    "not ",
    "e-",
)


@pytest.mark.parametrize(
    ("unit", "size"), [*((u, MEDIUM) for u in UNITS), *((u, LARGE) for u in LONG)]
)
def test_much_of_anything_is_split_and_read(unit, size):
    text = unit * (size // len(unit))
    split = RULES.split(text)
    assert 0.0 <= split.covered <= 1.0
    assert all(0 <= c.start <= c.end <= len(text) for c in split.claims)
    assert all(0 <= q.start <= q.end <= len(text) for q in quantities(text))
    assert passage_sentences(text) is not None


@pytest.mark.parametrize("unit", UNITS)
def test_passages_of_anything_are_assessed(unit):
    text = unit * (5_000 // len(unit))
    evidence = (Passage(text, id="a"), Passage(f"x {text}", id="b"))
    found = Currency().assess(Generation("...", evidence=evidence))
    assert len(found.standings) == 2


TEXTS = st.one_of(
    st.text(max_size=400),
    st.lists(st.sampled_from(UNITS), max_size=40).map("".join),
    st.lists(
        st.one_of(
            st.sampled_from(MARCH_REPLY.split()), st.sampled_from(UNITS), st.text(max_size=5)
        ),
        max_size=40,
    ).map(" ".join),
)


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_splitting_never_raises_and_every_claim_has_its_place(reply):
    split = RULES.split(reply)
    assert split.ok
    for claim in split.claims:
        assert claim.text.strip()
        assert 0 <= claim.start <= claim.end <= len(reply)
        assert " ".join(reply[claim.start : claim.end].split()) or claim.start == claim.end
    for each in split.unreadable:
        assert 0 <= each.start <= each.end <= len(reply)


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_what_rules_split_invents_no_number(reply):
    assert RULES.split(reply).invented == ()


@settings(max_examples=300, deadline=None)
@given(TEXTS, TEXTS)
def test_quantities_lie_inside_and_comparing_never_raises(one, other):
    for text in (one, other):
        for each in quantities(text):
            assert 0 <= each.start <= each.end <= len(text)
            assert each.low <= each.high
            assert each.low == each.low  # no NaN
    assert compare(one, other).claim == one
    assert compare_all(one, [other, one]) is not None


@settings(max_examples=200, deadline=None)
@given(TEXTS)
def test_a_text_never_contradicts_itself(text):
    for sentence in passage_sentences(text):
        assert compare(sentence.text, sentence.text).kind.value != "contradicts"


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 999_999), st.sampled_from(["hours", "days", "weeks", "books", "%"]))
def test_a_number_is_read_as_it_is_written_with_and_without_commas(number, unit):
    (plain,) = quantities(f"exactly {number} {unit}")
    (grouped,) = quantities(f"exactly {number:,} {unit}")
    assert plain.low == grouped.low
