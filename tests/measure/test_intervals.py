from __future__ import annotations

import math
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from aucert_otel.errors import MissingExtraError
from aucert_otel.measure import clopper_pearson, enough, upper_bound, wilson
from aucert_otel.summary import exact_interval


COUNTS = st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
SHARES = st.floats(0.001, 0.999)


@settings(deadline=None)
@given(COUNTS, st.floats(0.5, 0.999))
def test_the_exact_interval_is_that_of_scipys_binomial_test(counts, confidence):
    hits, trials = counts
    expected = binomtest(hits, trials).proportion_ci(confidence, method="exact")
    assert clopper_pearson(hits, trials, confidence) == pytest.approx(
        (expected.low, expected.high), abs=1e-9
    )


@settings(deadline=None)
@given(COUNTS, st.floats(0.5, 0.999))
def test_the_score_interval_is_that_of_scipys_binomial_test(counts, confidence):
    hits, trials = counts
    expected = binomtest(hits, trials).proportion_ci(confidence, method="wilson")
    assert wilson(hits, trials, confidence) == pytest.approx(
        (expected.low, expected.high), abs=1e-9
    )


@settings(deadline=None)
@given(COUNTS)
def test_the_interval_that_needs_no_scipy_is_the_same(counts):
    assert exact_interval(*counts) == pytest.approx(clopper_pearson(*counts), abs=1e-9)


@settings(deadline=None)
@given(COUNTS, SHARES, SHARES)
def test_the_bound_is_within_alpha_exactly_where_the_binomial_test_rejects(counts, alpha, delta):
    errors, trials = counts
    chance = binom.cdf(errors, trials, alpha)
    if not math.isclose(chance, delta, rel_tol=1e-6):  # there rounding decides
        assert (upper_bound(errors, trials, delta) <= alpha) == (chance <= delta)


@settings(deadline=None)
@given(SHARES, SHARES)
def test_enough_is_the_smallest_spotless_sample_that_certifies(alpha, delta):
    needed = enough(alpha, delta)
    assert upper_bound(0, needed, delta) <= alpha
    assert needed == 1 or upper_bound(0, needed - 1, delta) > alpha


def test_without_trials_nothing_is_known():
    assert clopper_pearson(0, 0) == wilson(0, 0) == (0.0, 1.0)
    assert upper_bound(0, 0, 0.1) == 1.0


@pytest.mark.parametrize("made", [clopper_pearson, wilson, upper_bound])
@pytest.mark.parametrize("numbers", [(-1, 3, 0.5), (4, 3, 0.5), (1, 3, 0.0), (1, 3, 1.0)])
def test_impossible_counts_and_shares_are_refused(made, numbers):
    with pytest.raises(ValueError, match=r"count from 0|give one between"):
        made(*numbers)


def test_without_scipy_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(MissingExtraError, match=r'pip install "aucert-otel\[measure\]"'):
        clopper_pearson(1, 2)
