"""How probable each of a few labels was."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aucert_otel.llm import TokenLogprob, label_probabilities


LABELS = ("pass", "fail")


def token(text: str, *alternatives: tuple[str, float]) -> TokenLogprob:
    """A token with what could have stood there, as probabilities."""
    pairs = tuple((other, math.log(p)) for other, p in alternatives)
    return TokenLogprob(text, dict(pairs).get(text, -0.5), pairs)


def test_a_closed_answer():
    tokens = (token("pass", ("pass", 0.6), ("fail", 0.2), (" pass", 0.1), ("maybe", 0.1)),)

    found = label_probabilities(tokens, LABELS)

    assert found == pytest.approx({"pass": 0.7 / 0.9, "fail": 0.2 / 0.9})


def test_the_value_of_a_key_whatever_the_analysis_says():
    tokens = (
        token('{"analysis": "I would not pass'),
        token(' this", '),
        token('"verdict": '),
        token('"fail', ('"fail', 0.9), ('"pass', 0.05), ("null", 0.05)),
        token('"}'),
    )

    found = label_probabilities(tokens, LABELS, key="verdict")

    assert found == pytest.approx({"pass": 0.05 / 0.95, "fail": 0.9 / 0.95})


def test_a_label_in_pieces_counts_by_its_first():
    tokens = (
        token('{"verdict":"'),
        token("P", ("P", 0.8), ("F", 0.2)),
        token("ASS"),
        token('"}'),
    )

    found = label_probabilities(tokens, LABELS, key="verdict")

    assert found == pytest.approx({"pass": 0.8, "fail": 0.2})


@pytest.mark.parametrize(
    "tokens",
    [
        None,
        (),
        (token("Hallucinated."),),
        (token("  "),),
        (token('{"other": "pass"}'),),
        (token('{"verdict": "pass", "verdict": "fail"}'),),
        (token('{"verdict": "passable"}'),),
        (token('{"verdict": true}'),),
        (token('{"verdict": "pas"}'),),
    ],
)
def test_where_nothing_can_be_said_nothing_is(tokens):
    assert label_probabilities(tokens, LABELS, key="verdict") is None


@given(
    st.lists(
        st.builds(
            TokenLogprob,
            st.text(alphabet='{}":verdictpasfl ', max_size=8),
            st.floats(),
            st.lists(st.tuples(st.text(max_size=5), st.floats()), max_size=4).map(tuple),
        ),
        max_size=6,
    ).map(tuple),
    st.sampled_from([None, "verdict"]),
)
def test_it_is_none_or_a_distribution(tokens, key):
    found = label_probabilities(tokens, LABELS, key=key)

    if found is not None:
        assert set(found) == set(LABELS)
        assert all(0.0 <= share <= 1.0 for share in found.values())
        assert math.fsum(found.values()) == pytest.approx(1.0)
