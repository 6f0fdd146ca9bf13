"""Our statistics beside those of two libraries that nobody needs at run time."""

from __future__ import annotations

import warnings
from importlib import import_module

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from aucert_otel.measure import DEFAULT_GRID, clopper_pearson, fixed_sequence, wilson
from aucert_otel.measure.sequence import count


COUNTS = st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
SHARES = st.floats(0.02, 0.5)


@settings(deadline=None)
@given(COUNTS, st.floats(0.5, 0.99))
def test_intervals_are_those_of_statsmodels(counts, confidence):
    proportion = import_module("statsmodels.stats.proportion")
    for made, method in ((clopper_pearson, "beta"), (wilson, "wilson")):
        expected = proportion.proportion_confint(*counts, 1 - confidence, method=method)
        assert made(*counts, confidence) == pytest.approx(expected, abs=1e-9)


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 60), st.floats(0, 0.4)), min_size=6, max_size=6),
    SHARES,
    SHARES,
)
def test_the_sequence_stops_where_mapies_does(bands, alpha, delta):
    control = import_module("mapie.risk_control.fwer_control")
    settled = np.cumsum([n for n, _ in bands])
    errors = np.cumsum([int(n * rate) for n, rate in bands])
    chances = binom.cdf(errors, settled, alpha)
    found = fixed_sequence(
        DEFAULT_GRID, settled.tolist(), errors.tolist(), alpha=alpha, delta=delta
    )
    valid = control.control_fwer(chances, delta, "fixed_sequence")
    certified = None if found.certified is None else found.certified.threshold
    assert certified == (DEFAULT_GRID[max(valid)] if len(valid) else None)


@settings(deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([0.1, 0.15, 0.2]))
def test_thresholds_are_those_of_mapies_controller(seed, alpha):
    """The whole way: scores and labels in, the threshold for a precision of 1 - alpha out."""
    control = import_module("mapie.risk_control")
    random = np.random.default_rng(seed)
    confidence = random.uniform(0, 1, 600)
    right = random.uniform(size=600) < 0.5 + confidence / 2
    settled, errors = count(zip(confidence.tolist(), right.tolist(), strict=True), DEFAULT_GRID)
    # Where the observed rate is not monotonic, the controller chooses an order of its own.
    assume((np.diff(np.divide(errors, settled)) > 0).all())
    controller = control.BinaryClassificationController(
        predict_function=lambda scores: np.column_stack([1 - scores, scores]),
        risk="precision",
        target_level=1 - alpha,
        confidence_level=0.9,
        list_predict_params=np.array(DEFAULT_GRID[::-1]),
        fwer_method="fixed_sequence",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # it remarks that none, or all, are valid
        controller.calibrate(confidence, right.astype(int))
    found = fixed_sequence(DEFAULT_GRID, settled, errors, alpha=alpha, delta=1 - 0.9)
    ours = 1.0 if found.certified is None else found.certified.threshold
    theirs = min(controller.valid_predict_params, default=1.0)
    # It rounds the count of errors up from a product such as 2.0000000000000013, and so may count
    # one too many: then it is the more conservative of the two.
    chances = np.ravel(controller.p_values)[::-1]
    exact = binom.cdf(errors, settled, alpha)
    assert (chances >= exact * (1 - 1e-9)).all()
    if np.allclose(chances, exact, rtol=1e-9):
        assert theirs == ours
    else:
        assert theirs >= ours
