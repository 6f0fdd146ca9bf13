"""The one retry policy."""

from __future__ import annotations

import asyncio
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aucert_otel.errors import ConfigurationError
from aucert_otel.llm import BadRequest, Overloaded, RateLimited, RetryPolicy
from aucert_otel.llm.errors import ModelError


class Clock:
    """Time that passes only where somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def drive(policy: RetryPolicy, faults: list[ModelError | None], took_s: float = 0.0):
    """Run a policy over faults; what it returned or raised, and the numbers of the retries."""
    left = iter(faults)
    told: list[int] = []

    async def attempt(_: float) -> str:
        policy.clock.now += took_s  # type: ignore[attr-defined]
        fault = next(left)
        if fault is not None:
            raise fault
        return "done"

    async def run() -> object:
        try:
            return await policy.run(attempt, lambda _, number, __: told.append(number))
        except ModelError as error:
            return error

    return asyncio.run(run()), told


def policy(**options: object) -> RetryPolicy:
    clock = Clock()
    return RetryPolicy(clock=clock, sleep=clock.sleep, **{"jitter": lambda: 0.0, **options})  # type: ignore[arg-type]


def test_pauses_grow_and_stop_growing():
    made = policy(attempts=7, total_s=1000)

    result, told = drive(made, [Overloaded("x")] * 7)

    assert isinstance(result, Overloaded)
    assert told == [1, 2, 3, 4, 5, 6]
    assert made.clock.slept == [0.25, 0.5, 1.0, 2.0, 4.0, 4.0]


def test_what_would_end_the_same_way_is_not_tried_again():
    made = policy()
    fault = BadRequest("x")

    assert drive(made, [fault]) == (fault, [])


def test_no_pause_is_begun_that_would_pass_the_time_for_all():
    made = policy(total_s=10.0)

    result, told = drive(made, [RateLimited("x", retry_after_s=20.0)])

    assert isinstance(result, RateLimited)
    assert told == []
    assert made.clock.slept == []


def test_time_spent_in_attempts_counts():
    made = policy(attempts=10, total_s=10.0)

    _, told = drive(made, [Overloaded("x")] * 10, took_s=4.0)

    assert told == [1, 2]


def test_one_attempt_never_retries():
    assert drive(policy(attempts=1), [Overloaded("x")])[1] == []


def test_a_longer_pause_than_allowed_is_cut():
    assert policy().wait_s(1, 3600.0) == 30.0


@given(
    failed=st.integers(1, 10**6),
    asked=st.none() | st.floats(allow_nan=False),
    jitter=st.floats(0, 1, exclude_max=True),
)
def test_a_pause_is_never_earlier_than_asked_nor_longer_than_allowed(failed, asked, jitter):
    made = policy(jitter=lambda: jitter)

    wait = made.wait_s(failed, asked)

    assert 0.0 <= wait <= made.retry_after_cap_s + made.first_wait_s
    if asked is not None:
        assert wait >= min(asked, made.retry_after_cap_s)


@pytest.mark.parametrize(
    "options", [{"attempts": 0}, {"total_s": -1.0}, {"first_wait_s": float("nan")}]
)
def test_a_policy_that_cannot_work_is_refused(options):
    (name,) = options
    with pytest.raises(ConfigurationError, match=f"retry.{name} is"):
        RetryPolicy(**options)


def test_a_callers_deadline_ends_a_pause():
    forever = RetryPolicy(first_wait_s=3600.0, max_wait_s=3600.0, total_s=1e6)

    async def attempt(_: float) -> str:
        raise Overloaded("x")

    async def run() -> None:
        async with asyncio.timeout(0.05):
            await forever.run(attempt, lambda *_: None)

    started = time.monotonic()
    with pytest.raises(TimeoutError):
        asyncio.run(run())
    assert time.monotonic() - started < 600  # it did not sleep the hour
