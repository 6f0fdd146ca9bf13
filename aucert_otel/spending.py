"""What calls of chat models have cost, attempt by attempt: failed and abandoned ones included."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import fields

from aucert_otel.costs import add_usd
from aucert_otel.generation import Usage


class Spending:
    """The attempts made within a block, over all models, tasks and retries.

    A call that is cancelled raises nothing that could carry its cost; it is still counted here.
    """

    __slots__ = ("_costs", "_unpriced", "attempts", "calls", "queued", "usage")

    def __init__(self) -> None:
        self.calls = 0
        """Calls of ``complete`` that were begun."""
        self.queued = 0
        """Of these, calls that wait for a free place at the moment: giving one up costs nothing."""
        self.attempts = 0
        """Requests that were made, retries included."""
        self.usage = Usage()
        """Tokens over every attempt that reported them."""
        self._costs: list[float | None] = []
        self._unpriced: dict[str, None] = {}

    @property
    def cost_usd(self) -> float | None:
        """US dollars over every attempt; ``None`` when one of them could not be priced."""
        return add_usd(*self._costs)

    @property
    def unpriced(self) -> tuple[str, ...]:
        """What could not be priced, each once."""
        return tuple(self._unpriced)

    def add(
        self, cost_usd: float | None, *, unpriced: str = "", usage: Usage | None = None
    ) -> None:
        """Count one attempt."""
        self.attempts += 1
        if cost_usd is None and unpriced:
            self._unpriced[unpriced] = None
        self._costs.append(cost_usd)
        if usage is not None:
            self.usage = add_usage(self.usage, usage)


_open: ContextVar[tuple[Spending, ...]] = ContextVar("aucert_otel.spending", default=())


@contextmanager
def spending() -> Iterator[Spending]:
    """Count what every chat model costs within this block, in this task and those it starts.

    ```python
    with spending() as spent:
        answers = await asyncio.gather(*calls)
    spent.cost_usd, spent.calls
    ```
    """
    spent = Spending()
    token = _open.set((*_open.get(), spent))
    try:
        yield spent
    finally:
        with suppress(ValueError):  # a task that is collected instead of finished ends elsewhere
            _open.reset(token)


class CallSpending(Spending):
    """The spending of one call, passed on at once to every open block."""

    __slots__ = ("_outer",)

    def __init__(self) -> None:
        super().__init__()
        self._outer = _open.get()
        for outer in self._outer:
            outer.calls += 1

    def add(
        self, cost_usd: float | None, *, unpriced: str = "", usage: Usage | None = None
    ) -> None:
        """Count one attempt here and in every open block."""
        super().add(cost_usd, unpriced=unpriced, usage=usage)
        for outer in self._outer:
            outer.add(cost_usd, unpriced=unpriced, usage=usage)

    @contextmanager
    def queueing(self) -> Iterator[Callable[[], None]]:
        """While this call waits for a free place: until the function given is called, or the end."""
        waiting = (self, *self._outer)
        for each in waiting:
            each.queued += 1

        def begun() -> None:
            nonlocal waiting
            for each in waiting:
                each.queued -= 1
            waiting = ()

        try:
            yield begun
        finally:
            begun()


_FIELDS = tuple(field.name for field in fields(Usage))


def add_usage(left: Usage, right: Usage) -> Usage:
    """Sum two usages field by field. What only one of them knows is kept, not lost."""
    if left == _NOTHING:
        return right
    total: dict[str, float | None] = {}
    for name in _FIELDS:
        known = [n for n in (getattr(left, name), getattr(right, name)) if n is not None]
        total[name] = sum(known) if known else None
    return Usage(**total)  # type: ignore[arg-type] # int fields stay int: a sum of int is int


_NOTHING = Usage()
