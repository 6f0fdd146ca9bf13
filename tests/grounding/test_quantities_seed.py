"""The specification's own sentences: a number counts only for what it governs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aucert_verifiers.grounding.quantities import compare, quantities


REFUND = "A refund can be requested within 30 days of delivery."
DAMAGE = "Damage must be reported within 48 hours of delivery."


@pytest.mark.parametrize(
    ("claim", "refund", "damage"),
    [
        ("Damage must be reported within 30 days of delivery.", "unrelated", "contradicts"),
        ("Damage must be reported within two days of delivery.", "unrelated", "supports"),
        ("You have 48 hours from delivery to report damage.", "unrelated", "supports"),
        (REFUND, "supports", "unrelated"),
        ("A refund can be requested within 60 days of delivery.", "contradicts", "unrelated"),
    ],
)
def test_a_number_counts_only_for_what_it_governs(claim, refund, damage):
    assert [compare(claim, sentence).kind.value for sentence in (REFUND, DAMAGE)] == [
        refund,
        damage,
    ]


def test_a_relation_names_both_sentences():
    claim = "Damage must be reported within 30 days of delivery."
    found = compare(claim, DAMAGE)
    assert (found.claim, found.sentence) == (claim, DAMAGE)


@given(st.text(max_size=300), st.text(max_size=300))
def test_any_text_can_be_read_and_compared(claim, sentence):
    for each in quantities(claim):
        assert 0 <= each.start <= each.end <= len(claim)
    assert compare(claim, sentence).kind


@pytest.mark.parametrize(
    "text", ["9" * 50_000, "(" * 50_000, "1 " * 25_000, "one hundred " * 5_000]
)
def test_hostile_text_ends(text):
    quantities(text)
