from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aucert_otel.summary import exact_interval


@pytest.mark.parametrize(
    ("hits", "trials", "low", "high"),
    [
        # from published tables of the Clopper-Pearson interval
        (0, 10, 0.0, 0.3085),
        (1, 10, 0.0025, 0.4450),
        (5, 10, 0.1871, 0.8129),
        (10, 10, 0.6915, 1.0),
        (0, 0, 0.0, 1.0),
    ],
)
def test_known_intervals(hits: int, trials: int, low: float, high: float) -> None:
    assert exact_interval(hits, trials) == pytest.approx((low, high), abs=5e-5)


@given(st.integers(1, 200).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_each_end_leaves_exactly_a_fortieth_outside(case: tuple[int, int]) -> None:
    hits, trials = case
    low, high = exact_interval(hits, trials)

    def at_most(k: int, p: float) -> float:
        return math.fsum(
            math.comb(trials, i) * p**i * (1 - p) ** (trials - i) for i in range(k + 1)
        )

    assert low <= hits / trials <= high
    if hits:
        assert 1 - at_most(hits - 1, low) == pytest.approx(0.025, rel=1e-6)
    if hits < trials:
        assert at_most(hits, high) == pytest.approx(0.025, rel=1e-6)


@given(st.integers(1, 10**7), st.floats(0, 1))
def test_large_numbers_stay_ordered(trials: int, share: float) -> None:
    hits = min(trials, int(trials * share))
    low, high = exact_interval(hits, trials)
    assert 0 <= low <= hits / trials <= high <= 1
