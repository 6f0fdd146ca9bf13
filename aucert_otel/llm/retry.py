"""The one retry policy: what is tried again, after how long, and when it is given up.

Our own, not stamina's. Stamina could wait for a Retry-After through its back-off hook, but it checks
its time limit before it sleeps, so that a long wait would pass it, and its process-wide switches
(``set_active``, ``set_testing``) would let an application's test set-up change what judges cost.
"""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from aucert_otel.errors import ConfigurationError
from aucert_otel.llm.errors import ModelError


T = TypeVar("T")
Attempt = Callable[[float], Awaitable[T]]
"""Makes one attempt within so many seconds."""
OnRetry = Callable[[ModelError, int, float], None]
"""Told of the fault, the number of the attempt that failed, and the seconds until the next one."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Exponential back-off with jitter, bounded in attempts and in time.

    Only rate limits, overload, timeouts and broken connections are tried again. Everything else
    would end the same way, and cost the same again.

    Raises:
        ConfigurationError: a setting is no number that a policy could use.
    """

    attempts: int = 4
    """Attempts in all; 1 never retries."""
    total_s: float = 120.0
    """Seconds for all attempts and the pauses between them. No pause is begun that would pass it."""
    first_wait_s: float = 0.5
    max_wait_s: float = 8.0
    retry_after_cap_s: float = 30.0
    """A server that asks for a longer pause than this gets this one."""
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    clock: Callable[[], float] = time.monotonic
    jitter: Callable[[], float] = random.random
    """A number in [0, 1), so that callers who failed together do not come back together."""

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise ConfigurationError(
                f"retry.attempts is {self.attempts!r}: give 1 (never retry) or more"
            )
        for name in ("total_s", "first_wait_s", "max_wait_s", "retry_after_cap_s"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise ConfigurationError(
                    f"retry.{name} is {value!r}: give a number of seconds from 0 up"
                )

    def wait_s(self, failed: int, retry_after_s: float | None) -> float:
        """Seconds to wait after the attempt with this number (from 1) has failed."""
        steps = min(failed - 1, 32)  # 2**32 is past every ceiling and still a float
        backoff = min(self.max_wait_s, self.first_wait_s * 2.0**steps) * (0.5 + self.jitter() / 2)
        if retry_after_s is None:
            return backoff
        # Never earlier than the server asked, and spread out after it.
        asked = min(max(retry_after_s, 0.0), self.retry_after_cap_s)
        return max(asked + self.first_wait_s * self.jitter(), backoff)

    async def run(
        self, attempt: Attempt[T], on_retry: OnRetry, idle_s: Callable[[], float] = lambda: 0.0
    ) -> T:
        """Attempt until one succeeds or there is no sense in another.

        Args:
            attempt: Makes one attempt within the seconds it is given.
            on_retry: Told before each pause.
            idle_s: Seconds since the start that do not count, since nothing was attempted in them.

        Raises:
            ModelError: the fault of the last attempt.
        """
        started = self.clock()

        def left_s() -> float:
            return max(started + self.total_s + idle_s() - self.clock(), 0.0)

        for number in range(1, self.attempts):
            try:
                return await attempt(left_s())
            except ModelError as error:
                if not error.retryable:
                    raise
                wait = self.wait_s(number, error.retry_after_s)
                if wait >= left_s():
                    raise
                on_retry(error, number, wait)
            await self.sleep(wait)
        return await attempt(left_s())
