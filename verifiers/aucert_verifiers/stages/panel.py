"""Several judges at the same time: ask them, stop as soon as it is decided, and count their votes."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from aucert_otel.llm.model import ChatModel
from aucert_otel.report import Vote
from aucert_otel.verdict import Reason, Status, Verdict
from aucert_verifiers.stages.evaluation import Bill, Evaluation


T = TypeVar("T")

_ENDING_S = 1.0
"""How long a call that was given up may take to end its span and count its attempt."""


@dataclass(slots=True)
class Seat(Generic[T]):
    """One place on a panel: who sits there, what it is asked, and what came of it."""

    voter: str
    model: ChatModel
    run: Callable[[Bill], Awaitable[T]]
    bill: Bill = field(init=False)
    result: T | None = None
    """``None`` while it has not replied, and for ever if it was given up."""

    def __post_init__(self) -> None:
        self.bill = Bill(self.model.model)


async def hear(
    seats: Sequence[Seat[T]],
    enough: Callable[[Sequence[T]], bool] = lambda _: False,
    grace_s: float = 0.0,
) -> None:
    """Ask all seats at once, until everybody has replied or enough have.

    Once enough is said, calls that are under way get a short grace: a reply that still comes has a
    known price. After it they are given up; what they cost then is nobody's to know, and is listed
    as unpriced on their bill. Calls that had not begun, or still wait for a free place, are never
    made. Cancellation ends them all.

    Args:
        seats: Whom to ask. What they say, and what it costs, is left in them.
        enough: Whether the replies so far, in the order of the seats, make the others' pointless.
        grace_s: Seconds for what is under way when enough is said.
    """
    if len(seats) == 1:  # nobody to wait for beside it, so no task of its own
        await _take(seats[0])
    else:
        await _hear(seats, enough, grace_s)


async def _hear(
    seats: Sequence[Seat[T]], enough: Callable[[Sequence[T]], bool], grace_s: float
) -> None:
    tasks = {asyncio.ensure_future(_take(seat)): seat for seat in seats}
    pending = set(tasks)
    try:
        while pending and not enough([s.result for s in seats if s.result is not None]):
            _, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
        if pending and grace_s > 0:
            await _grace({task for task in pending if tasks[task].bill.under_way}, pending, grace_s)
    finally:
        left = [task for task in tasks if not task.done()]
        for task in left:
            task.cancel()
        if left:  # they count the attempt that is given up, and end its span
            await asyncio.wait(left, timeout=_ENDING_S)
        for task in tasks:
            if task.done() and not task.cancelled():
                task.exception()  # fetched, so that nobody warns about it
    for task in tasks:
        if task.done() and not task.cancelled():
            task.result()


async def _grace(
    begun: set[asyncio.Task[None]], pending: set[asyncio.Task[None]], grace_s: float
) -> None:
    for task in pending - begun:  # now, or the grace would let them go out after all
        task.cancel()
    if begun:
        await asyncio.wait(begun, timeout=grace_s)


async def _take(seat: Seat[T]) -> None:
    seat.result = await seat.run(seat.bill)


def evaluations(seats: Sequence[Seat[Evaluation]]) -> tuple[Evaluation, ...]:
    """What every seat said; one that was given up is on the record as skipped."""
    return tuple(
        seat.result
        or Evaluation(
            Vote(seat.voter, status=Status.SKIPPED, error="decided without it"), ran=False
        )
        for seat in seats
    )


@dataclass(frozen=True, slots=True)
class Tally:
    """The votes of a planned panel. Who failed or was not heard still counts as a seat."""

    planned: int
    heard: tuple[Evaluation, ...]

    def count(self, verdict: Verdict) -> int:
        """How many votes a verdict has."""
        return sum(each.verdict is verdict for each in self.heard)

    @property
    def failed(self) -> tuple[Evaluation, ...]:
        """Those who were asked and could not vote."""
        return tuple(each for each in self.heard if each.failed)

    @property
    def most(self) -> int:
        """The votes of whichever of pass and fail has more."""
        return max(self.count(Verdict.PASS), self.count(Verdict.FAIL))

    @property
    def open(self) -> int:
        """Seats that were not heard."""
        return self.planned - sum(each.ran for each in self.heard)

    @property
    def majority(self) -> Verdict | None:
        """The verdict that more than half of the planned panel gave."""
        for verdict in (Verdict.PASS, Verdict.FAIL):
            if 2 * self.count(verdict) > self.planned:
                return verdict
        return None

    @property
    def decided(self) -> bool:
        """The seats not heard cannot change whether, and for what, there is a majority."""
        return self.majority is not None or 2 * (self.most + self.open) <= self.planned

    @property
    def unanimous(self) -> Verdict | None:
        """The one verdict that every planned seat gave; `Verdict.UNCLEAR` is none to agree on."""
        for verdict in (Verdict.PASS, Verdict.FAIL):
            if self.count(verdict) == self.planned:
                return verdict
        return None

    @property
    def cannot_agree(self) -> bool:
        """Somebody differs, is unclear or is missing, so that there is no unanimity any more."""
        said = {each.verdict for each in self.heard if each.ran}
        return len(said) > 1 or bool(said - {Verdict.PASS, Verdict.FAIL})

    def confidence(self, verdict: Verdict) -> float | None:
        """How sure the panel is: the mean of what its judges state, times their share of the panel.

        So it is never more than the share of the planned panel that stands behind the verdict.
        """
        stated = [each.vote.confidence for each in self.heard if each.verdict is verdict]
        known = [value for value in stated if value is not None]
        if len(known) != len(stated) or not known:
            return None
        return sum(known) / self.planned

    @property
    def reason(self) -> Reason:
        """Why there is no verdict: they differ, or else what they have in common."""
        reasons = Counter(each.vote.reason for each in self.heard if each.verdict is not None)
        if len(reasons) == 1 and (only := next(iter(reasons))) is not None:
            return only
        return Reason.INCONSISTENT


def status_of(failed: Sequence[Evaluation]) -> Status:
    """The status of a stage that could not be carried out as planned, from those who failed.

    One kind of fault is named as it is. Of several, `Status.UNAVAILABLE` is the one that a later
    attempt may find mended; `Status.ERROR` stands for the rest.
    """
    kinds = {each.vote.status for each in failed}
    if len(kinds) == 1:
        return kinds.pop()
    return Status.UNAVAILABLE if Status.UNAVAILABLE in kinds else Status.ERROR


def names(models: Sequence[ChatModel]) -> tuple[str, ...]:
    """A name for every seat: a model that sits there again is numbered."""
    seen: Counter[str] = Counter()
    found = []
    for model in models:
        seen[model.name] += 1
        number = seen[model.name]
        found.append(model.name if number == 1 else f"{model.name}#{number}")
    return tuple(found)
