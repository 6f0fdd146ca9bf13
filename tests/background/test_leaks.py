"""A hundred thousand runs that end badly leave nothing behind: no span, no memory, no changed exception."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import itertools
import sys

import pytest
from support.checks import harness, length, unsure
from support.providers import Recorder

from aucert_otel import Generation, observed, verified


RUNS = 100_000
WARM = 20_000
TURNS = 12
"""Ways to end badly in one turn of the wheel below."""


class Boom(Exception):  # noqa: N818 - it stands for anything at all
    """What user code raises here."""


async def judge(generation):
    await asyncio.sleep(0)
    return ()


def objects():
    """How many objects are alive, and how many blocks they take."""
    gc.collect()
    return len(gc.get_objects()), sys.getallocatedblocks()


class Wheel:
    """User code of every flavour, and the ways in which its callers let it down."""

    def __init__(self, recorder):  # noqa: C901 - one small function of each flavour
        telemetry = recorder.telemetry()
        self.rules = harness(length, unsure, telemetry=telemetry)
        self.judged = harness(judge, telemetry=telemetry)
        self.boom = Boom("unchanged")
        self.wrong = []
        boom = self.boom

        @verified(self.rules, otherwise="no")
        def raises():
            raise boom

        @verified(self.rules, otherwise="no")
        async def araises():
            raise boom

        @verified(self.rules, otherwise="no")
        def chunks():
            yield from ("a", "b", "c")

        @verified(self.rules, otherwise="no")
        async def achunks():
            for chunk in ("a", "b", "c"):
                yield chunk

        @observed(self.rules)
        def stream():
            yield from ("a", "b", "c")

        @observed(self.rules)
        async def astream():
            for chunk in ("a", "b", "c"):
                yield chunk

        @observed(self.rules)
        def breaks():
            yield "a"
            raise boom

        @verified(self.judged, otherwise="no")
        async def answers():
            return "a"

        self.raises, self.araises, self.chunks, self.achunks = raises, araises, chunks, achunks
        self.stream, self.astream, self.breaks, self.answers = stream, astream, breaks, answers

    def expect(self, error):
        if error is not self.boom:
            self.wrong.append(error)
        # As every application does that raises one object again and again.
        error.__traceback__ = error.__context__ = None

    async def turn(self):
        try:
            self.raises()
        except BaseException as error:
            self.expect(error)
        try:
            await self.araises()
        except BaseException as error:
            self.expect(error)
        try:
            list(self.breaks())
        except BaseException as error:
            self.expect(error)
        for abandoned in (self.chunks(), self.stream()):
            next(abandoned)
            del abandoned
        closed = self.stream()
        next(closed)
        closed.close()
        for early in (self.achunks(), self.astream()):
            await anext(early)
            await early.aclose()
        async for _ in self.astream():
            break  # the loop's own hook closes it
        task = asyncio.ensure_future(self.answers())
        await asyncio.sleep(0)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        never_awaited_further = self.judged.arun(lambda _: "a")
        never_awaited_further.send(None)
        never_awaited_further.close()
        self.rules.submit(Generation("a"))


def test_runs_that_end_badly_leave_nothing_behind():
    recorder = Recorder(keep=False)
    wheel = Wheel(recorder)

    async def turns(count):
        for _ in itertools.repeat(None, count // TURNS):
            await wheel.turn()

    async def settle():
        assert await asyncio.to_thread(wheel.rules.flush, 60.0)
        assert await asyncio.to_thread(recorder.balance.settled, 60.0)

    async def scenario():
        await turns(WARM)
        await settle()
        counted = [objects()]
        for _ in range(2):
            await turns((RUNS - WARM) // 2)
            await settle()
            counted.append(objects())
        return counted

    (before, blocks_before), (middle, blocks_middle), (after, blocks_after) = asyncio.run(
        scenario()
    )
    assert wheel.wrong == []
    assert recorder.balance.started > RUNS // 2  # not every way gets as far as each of its spans
    assert recorder.balance.settled()
    # One object left behind in every hundred runs would be four hundred in each half. What is loaded
    # once, whenever that happens to be, shows in one half alone.
    assert min(middle - before, after - middle) < 250
    assert min(blocks_middle - blocks_before, blocks_after - blocks_middle) < 2_500


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, GeneratorExit, Boom])
def test_whatever_user_code_raises_arrives_as_the_same_object(recorder, kind):
    error = kind("x")

    def raises(_):
        raise error

    async def araises(_):
        raise error

    h = harness(length, telemetry=recorder.telemetry())
    caught = []
    for call in (lambda: h.run(raises), lambda: drain(h.arun(araises))):
        try:
            call()
        except BaseException as raised:
            caught.append(raised)
    assert [one is error for one in caught] == [True, True]
    assert error.__context__ is None
    assert recorder.balance.settled()


def drain(coroutine):
    """Run a coroutine that never really waits, without a loop that has opinions about exceptions."""
    coroutine.send(None)
