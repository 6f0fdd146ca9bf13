from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aucert_otel import Budget, ConfigurationError, Estimate
from aucert_otel.budget import Meter


MONEY = st.one_of(st.none(), st.floats(0, 10))


@pytest.mark.parametrize("value", [-1, math.nan, math.inf, "5", [1]])
@pytest.mark.parametrize("name", ["usd", "seconds"])
def test_a_limit_that_is_none_is_refused_with_its_name(name, value):
    with pytest.raises(
        ConfigurationError, match=rf"budget\.{name} is .*: give a number of {name} from 0 up"
    ):
        Budget(**{name: value})


def test_without_limits_everything_fits():
    meter = Meter(Budget())
    meter.charge(None)
    assert meter.fits(Estimate(usd=None, seconds=1e9))
    assert meter.remaining_s == math.inf


@given(limit=st.floats(0, 10), spent=st.lists(MONEY, max_size=4), step=MONEY)
def test_a_step_fits_only_what_is_known_to_be_left(limit, spent, step):
    meter = Meter(Budget(usd=limit))
    for amount in spent:
        meter.charge(amount)
    known = None not in spent and step is not None
    assert meter.fits(Estimate(usd=step)) == (known and meter.spent_usd + step <= limit)


def test_no_time_left_fits_nothing_not_even_a_step_that_takes_none():
    assert not Meter(Budget(seconds=0)).fits(Estimate())


def test_a_step_longer_than_what_is_left_does_not_fit():
    meter = Meter(Budget(seconds=1000))
    assert meter.fits(Estimate(seconds=10))
    assert not meter.fits(Estimate(seconds=1001))
    assert 0 <= meter.elapsed_s < 1000 - meter.remaining_s + 1
