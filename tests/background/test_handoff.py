"""Work handed to another thread's loop: in order, in one wake-up, and without keeping anybody alive."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref

import pytest

from aucert_otel._handoff import Inbox
from aucert_otel.background import Worker


class Loop:
    """Counts how often it is woken, and runs what it is told when it is let."""

    def __init__(self):
        self.woken = []

    def call_soon_threadsafe(self, call):
        self.woken.append(call)

    def run(self):
        calls, self.woken = self.woken, []
        for call in calls:
            call()


def test_a_burst_wakes_the_loop_once_and_arrives_in_order():
    loop, found = Loop(), []
    inbox = Inbox(loop)
    for number in range(100):
        inbox.put(lambda number=number: found.append(number))
    assert len(loop.woken) == 1
    loop.run()
    assert found == list(range(100))
    inbox.put(lambda: found.append("later"))
    assert len(loop.woken) == 1
    loop.run()
    assert found[-1] == "later"


def test_what_is_put_while_the_loop_works_through_the_burst_is_not_lost():
    loop, found = Loop(), []
    inbox = Inbox(loop)
    inbox.put(lambda: inbox.put(lambda: found.append("from within")))
    while loop.woken:
        loop.run()
    assert found == ["from within"]


def test_a_thousand_threads_lose_nothing():
    worker, found = Worker(), []

    async def note(number):
        found.append(number)
        return number

    threads = [
        threading.Thread(target=lambda n=n: found.append(-worker.run(note(n)))) for n in range(200)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == sorted([*range(200), *(-n for n in range(200))])


def test_a_closed_loop_is_told_nothing_and_nobody_hears_of_it():
    worker = Worker()
    release = threading.Event()

    async def slow():
        await worker.in_thread(release.wait)

    async def leaves():
        task = asyncio.ensure_future(worker.arun(slow()))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(leaves())
    release.set()
    assert worker.run(_answer()) == 42


def test_a_caller_s_loop_is_not_kept_alive():
    worker = Worker()
    loop = asyncio.new_event_loop()
    assert loop.run_until_complete(worker.arun(_answer())) == 42
    loop.close()
    gone = weakref.ref(loop)
    del loop
    worker.run(_answer())  # what the worker still held of the last call is let go
    gc.collect()
    assert gone() is None


def test_cancelled_before_it_began_it_never_begins():
    worker, begun = Worker(), []
    entered, release = threading.Event(), threading.Event()

    async def blocks():
        entered.set()
        release.wait()

    async def begins():
        begun.append(True)

    blocked = threading.Thread(target=lambda: worker.run(blocks()))
    blocked.start()
    assert entered.wait(20.0)

    async def leaves():
        task = asyncio.ensure_future(worker.arun(begins()))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(leaves())
    release.set()
    blocked.join()
    assert worker.run(_answer()) == 42
    assert begun == []


async def _answer():
    return 42
