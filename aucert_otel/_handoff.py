"""Coroutines handed to another thread's event loop, and their results handed back.

`asyncio.run_coroutine_threadsafe` wakes the other loop for every coroutine, and is woken for every
result. Each time that is a system call, at which one thread gives the interpreter away and the other
takes it. With hundreds of answers under way this costs more than the rest of the verification, so
here a burst wakes a loop once.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
import weakref
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Generic, TypeVar


T = TypeVar("T")


class Inbox:
    """Calls for one event loop from other threads, made there in the order in which they came."""

    __slots__ = ("_calls", "_loop", "_waking")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = weakref.ref(loop)  # whoever keeps inboxes by loop must not keep the loops
        self._calls: deque[Callable[[], object]] = deque()
        self._waking = False

    def put(self, call: Callable[[], object]) -> None:
        """Have a call made on the loop. What a loop that was closed meanwhile is told is lost.

        No lock: whoever finds the flag set has appended before `_drain` clears it, and two who find
        it clear wake the loop twice, which is once too often and no harm.
        """
        self._calls.append(call)
        if not self._waking:
            self._waking = True
            loop = self._loop()
            with suppress(RuntimeError):
                if loop is not None:
                    loop.call_soon_threadsafe(self._drain)

    def _drain(self) -> None:
        self._waking = False
        while self._calls:
            self._calls.popleft()()


class Handed(Generic[T]):
    """One coroutine, from the thread that wants its result to the loop that runs it."""

    __slots__ = ("_context", "_deliver", "_held", "_work", "task")

    def __init__(
        self,
        work: Coroutine[Any, Any, T],
        held: set[Handed[Any]],
        deliver: Callable[[asyncio.Task[T]], object],
    ) -> None:
        self._work = work
        self._held = held
        self._deliver = deliver
        self._context = contextvars.copy_context()
        self.task: asyncio.Task[T] | None = None

    def start(self) -> None:
        """Begin it, on the loop that runs it and in the context of whoever handed it over."""
        self._held.add(self)  # the loop itself holds tasks only weakly
        task = asyncio.get_running_loop().create_task(self._work, context=self._context)
        self.task = task
        task.add_done_callback(self._done)

    def cancel(self) -> None:
        """Cancel it, on the same loop and after `start`."""
        if self.task is not None:
            self.task.cancel()

    def _done(self, task: asyncio.Task[T]) -> None:
        self._held.discard(self)
        if not task.cancelled():
            task.exception()  # looked at: a caller that has left is no reason to complain
        self._deliver(task)


def deliver_to(future: asyncio.Future[T], back: Inbox) -> Callable[[asyncio.Task[T]], object]:
    """A result's way back to a future of another loop."""

    def settle(task: asyncio.Task[T]) -> None:
        if future.done():  # whoever waited has left
            return
        if task.cancelled():
            future.cancel()
        elif (error := task.exception()) is not None:
            future.set_exception(error)
        else:
            future.set_result(task.result())

    return lambda task: back.put(lambda: settle(task))


class Bell(Generic[T]):
    """A result's way back to a thread that waits for it."""

    __slots__ = ("_lock", "_task")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lock.acquire()
        self._task: asyncio.Task[T] | None = None

    def ring(self, task: asyncio.Task[T]) -> None:
        """Called on the loop when it is done."""
        self._task = task
        self._lock.release()

    def wait(self, within: float | None) -> bool:
        """Whether it was done within so many seconds."""
        return self._lock.acquire(timeout=-1 if within is None else max(0.0, within))

    def result(self) -> T:
        """What came of it.

        Raises:
            BaseException: whatever it raised.
        """
        assert self._task is not None
        return self._task.result()
