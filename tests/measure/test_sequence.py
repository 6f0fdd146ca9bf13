from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aucert_otel import ConfigurationError
from aucert_otel.measure import DEFAULT_GRID, Why, fixed_sequence, upper_bound
from aucert_otel.measure.sequence import check_grid, count


GRID = (0.9, 0.8, 0.7)


def sequence(settled, errors, alpha=0.1, delta=0.1):
    return fixed_sequence(GRID, settled, errors, alpha=alpha, delta=delta)


def test_the_last_threshold_before_the_first_that_fails_is_certified():
    found = sequence([50, 100, 200], [0, 4, 60])
    assert found.certified is not None
    assert (found.certified.threshold, found.certified.errors, found.why) == (0.8, 4, None)
    assert [step.threshold for step in found.steps] == [0.9, 0.8, 0.7]
    assert found.certified.bound == upper_bound(4, 100, 0.1)


def test_what_comes_after_a_failure_is_not_looked_at():
    found = sequence([50, 100, 2000], [0, 60, 60])
    assert found.certified is not None
    assert found.certified.threshold == 0.9
    assert len(found.steps) == 2


def test_a_grid_that_holds_to_its_end_certifies_its_last_threshold():
    assert sequence([50, 100, 200], [0, 0, 0]).certified.threshold == 0.7


@pytest.mark.parametrize(
    ("settled", "errors", "why"),
    [
        ([0, 500, 500], [0, 0, 0], Why.TOO_FEW),
        ([21, 500, 500], [0, 0, 0], Why.TOO_FEW),
        ([22, 500, 500], [1, 1, 1], Why.ERRORS),
        ([500, 500, 500], [50, 50, 50], Why.ERRORS),
    ],
)
def test_nothing_certified_is_a_result_with_its_reason(settled, errors, why):
    found = sequence(settled, errors)
    assert (found.certified, found.why, len(found.steps)) == (None, why, 1)
    assert found.needed == 22


JUDGED = st.lists(
    st.tuples(st.none() | st.floats(0, 1) | st.sampled_from(DEFAULT_GRID), st.booleans())
)


@settings(deadline=None)
@given(JUDGED)
def test_counts_are_those_of_comparing_each_confidence_with_each_threshold(judged):
    settled, errors = count(judged, DEFAULT_GRID)
    for index, threshold in enumerate(DEFAULT_GRID):
        above = [
            right
            for confidence, right in judged
            if confidence is not None and confidence >= threshold
        ]
        assert (settled[index], errors[index]) == (len(above), above.count(False))


@settings(deadline=None)
@given(JUDGED, st.floats(0.01, 0.5), st.floats(0.01, 0.5))
def test_every_threshold_down_to_the_certified_one_is_within_alpha(judged, alpha, delta):
    settled, errors = count(judged, DEFAULT_GRID)
    found = fixed_sequence(DEFAULT_GRID, settled, errors, alpha=alpha, delta=delta)
    good = [step for step in found.steps if step.bound <= alpha]
    assert found.certified == (good[-1] if good else None)
    assert found.steps[: len(good)] == tuple(good)
    assert (found.certified is None) == (found.why is not None)


@pytest.mark.parametrize(
    "grid", [(), (0.5, 0.9), (0.9, 0.9), (1.1, 0.5), (float("nan"),), (0.5, -0.1)]
)
def test_a_grid_that_is_no_descent_of_confidences_is_refused(grid):
    with pytest.raises(ConfigurationError, match="the grid is"):
        check_grid(grid)


@pytest.mark.parametrize(
    ("alpha", "delta"), [(0, 0.1), (1, 0.1), (0.1, 0), (0.1, 1.5), (float("nan"), 0.1)]
)
def test_alpha_and_delta_are_shares(alpha, delta):
    with pytest.raises(ConfigurationError, match="give a share between 0 and 1"):
        sequence([50, 100, 200], [0, 0, 0], alpha, delta)
