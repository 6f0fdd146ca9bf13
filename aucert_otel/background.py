"""The SDK's own event loop: one daemon thread a process, for everything that waits.

Judges, models and executors run here, so that one asynchronous implementation serves synchronous
and asynchronous callers, inside or outside a running loop. Sampled verifications queue here too:
the queue is bounded, what does not fit is dropped and counted, and nobody who offers work waits.
"""

from __future__ import annotations

import atexit
import contextvars
import os
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

from aucert_otel._pool import DaemonPool
from aucert_otel._safe import Guard, describe, swallow, warn_once


if TYPE_CHECKING:
    import asyncio

    from aucert_otel._handoff import Inbox

T = TypeVar("T")
Job = Callable[[], Coroutine[Any, Any, None] | None]
"""Does its work at once and returns nothing, or returns what has to be awaited."""

EXIT_TIMEOUT_S = 5.0
"""How long interpreter exit waits for verifications that were accepted."""

_CANCEL_TIMEOUT_S = 0.5
"""How long exit then waits for cancelled verifications to end their spans."""

_GUARD = Guard("background")


class LateError(Exception):
    """Work that should have ended itself by now, and has not: something blocks this loop."""


class Worker:
    """An event loop on a daemon thread, and a bounded queue of verifications in front of it.

    Args:
        max_pending: Verifications accepted and not finished; the next one is dropped.
        concurrency: Verifications that run at the same time.
    """

    def __init__(self, *, max_pending: int = 2048, concurrency: int = 64) -> None:
        self.max_pending = max_pending
        self.concurrency = concurrency
        self.dropped: Counter[str] = Counter()
        self._jobs: deque[tuple[Job, contextvars.Context]] = deque()
        self._pending = 0
        self._running = 0
        self._pumping = False
        self._closed = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._idle = threading.Condition()
        import asyncio  # a third of our import time, and many a process never waits for anything

        self._loop = asyncio.new_event_loop()
        self._cancelled = asyncio.CancelledError
        from aucert_otel._handoff import Handed, Inbox

        self._inbox = Inbox(self._loop)
        self._handed: set[Handed[Any]] = set()
        self._outboxes: WeakKeyDictionary[asyncio.AbstractEventLoop, Inbox] = WeakKeyDictionary()
        self._pool = DaemonPool(32, "aucert-blocking")
        self._thread = threading.Thread(target=self._main, name="aucert-otel", daemon=True)
        self._thread.start()

    def _main(self) -> None:
        import asyncio

        asyncio.set_event_loop(self._loop)
        while True:
            try:
                self._loop.run_forever()
            except (KeyboardInterrupt, SystemExit) as error:
                # A check that calls sys.exit() stops the loop it runs on. Its own caller is told;
                # everybody else's checks go on.
                swallow("background loop", RuntimeError(type(error).__qualname__))

    @property
    def pending(self) -> int:
        """Verifications accepted and not finished."""
        return self._pending

    def run(self, work: Coroutine[Any, Any, T], within: float | None = None) -> T:
        """Run a coroutine on this loop and wait for it on the caller's thread.

        Raises:
            LateError: it was not done ``within`` seconds; it is cancelled and left alone.
            RuntimeError: called from this loop's own thread, which would wait for itself.
        """
        if threading.current_thread() is self._thread:
            work.close()
            raise RuntimeError(
                "a verifier called the synchronous API from aucert_otel's own event loop, which "
                "would wait for itself: use averify/arun inside an asynchronous verifier"
            )
        from aucert_otel._handoff import Bell, Handed

        bell: Bell[T] = Bell()
        handed = Handed(work, self._handed, bell.ring)
        self._inbox.put(handed.start)
        try:
            if bell.wait(within):
                return bell.result()
        except BaseException:
            self._inbox.put(handed.cancel)
            raise
        self._inbox.put(handed.cancel)
        raise LateError

    async def arun(self, work: Coroutine[Any, Any, T], within: float | None = None) -> T:
        """Run a coroutine on this loop and await it on the caller's; cancellation reaches it.

        Raises:
            LateError: as for `run`.
        """
        import asyncio

        if threading.current_thread() is self._thread:
            return await asyncio.create_task(work)
        from aucert_otel._handoff import Handed, deliver_to

        loop = asyncio.get_running_loop()
        waiting: asyncio.Future[T] = loop.create_future()
        handed = Handed(work, self._handed, deliver_to(waiting, self._back_to(loop)))
        self._inbox.put(handed.start)
        try:
            if within is None:
                return await waiting
            done, _ = await asyncio.wait({waiting}, timeout=within)
            if done:
                return waiting.result()
        except BaseException:  # cancelled; or what it raised itself, and then this does nothing
            waiting.cancel()
            self._inbox.put(handed.cancel)
            raise
        waiting.cancel()
        self._inbox.put(handed.cancel)
        raise LateError

    async def join(self, work: Coroutine[Any, Any, T]) -> T:
        """Await a coroutine on this loop; for who is on it already that is nothing but ``await``."""
        if threading.current_thread() is self._thread:
            return await work
        return await self.arun(work)

    def _back_to(self, loop: asyncio.AbstractEventLoop) -> Inbox:
        found = self._outboxes.get(loop)
        if found is None:
            from aucert_otel._handoff import Inbox

            found = self._outboxes.setdefault(loop, Inbox(loop))
        return found

    async def in_thread(self, function: Callable[..., T], *args: Any) -> T:
        """Call a blocking function on a worker thread, in the context of the caller."""
        import asyncio

        call = partial(contextvars.copy_context().run, function, *args)
        return await asyncio.wrap_future(self._pool.submit(call))

    def offer(self, job: Job) -> bool:
        """Queue a verification without ever blocking; ``False`` when it was dropped and counted."""
        with self._idle:
            if self._closed or self._pending >= self.max_pending:
                self.dropped["closed" if self._closed else "queue_full"] += 1
                return False
            self._pending += 1
            # The caller's own context: jobs of different callers leave in one batch.
            self._jobs.append((job, contextvars.copy_context()))
            wake = not self._pumping
            self._pumping = True
        if wake:
            self._loop.call_soon_threadsafe(self._pump)
        return True

    def _pump(self) -> None:
        with self._idle:
            free = self.concurrency - self._running
            batch = [self._jobs.popleft() for _ in range(min(free, len(self._jobs)))]
            self._running += len(batch)
            self._pumping = False
        for job, context in batch:
            context.run(self._begin, job)

    def _begin(self, job: Job) -> None:
        """Run a job. Only what has to be awaited gets a task: that costs more than most rules do."""
        rest = None
        done = False
        try:
            with _GUARD:
                rest = job()
                done = True
        except BaseException as error:  # noqa: BLE001 - as below: it would end the loop's callback, unheard
            warn_once(f"a verification in the background broke: {describe(error)}")
        if rest is None:
            self._ended(done=done)
            return
        task = self._loop.create_task(self._finish(rest))
        self._tasks.add(task)  # the loop itself holds tasks only weakly
        task.add_done_callback(self._tasks.discard)

    async def _finish(self, rest: Coroutine[Any, Any, None]) -> None:
        done = False
        try:
            with _GUARD:
                await rest
                done = True
        except self._cancelled:
            raise
        except BaseException as error:  # noqa: BLE001 - nobody awaits this task: asyncio would print the message
            warn_once(f"a verification in the background broke: {describe(error)}")
        finally:
            self._ended(done=done)

    def _ended(self, *, done: bool) -> None:
        with self._idle:
            if not (done or self._closed):  # what exit cuts off is counted there
                self.dropped["error"] += 1
            self._running -= 1
            self._pending -= 1
            more = bool(self._jobs) and not self._pumping
            self._pumping = self._pumping or more
            self._idle.notify_all()
        if more:
            self._loop.call_soon(self._pump)

    def flush(self, timeout: float) -> bool:
        """Wait up to ``timeout`` seconds for what was accepted; whether all of it has finished."""
        deadline = time.monotonic() + timeout
        with self._idle:
            while self._pending:
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                self._idle.wait(left)
        return True

    def close(self, timeout: float) -> bool:
        """Accept nothing more, drain, and drop and count what does not finish in time.

        The loop itself goes on: a later exit handler of the application may still verify.
        """
        with self._idle:
            before, self._closed = self._closed, True
        if before or self.flush(timeout):
            return not self._pending
        with self._idle:
            self.dropped["exit"] += self._pending
            self._pending -= len(self._jobs)
            self._jobs.clear()
        self._loop.call_soon_threadsafe(self._cancel)
        self.flush(_CANCEL_TIMEOUT_S)
        return False

    def _cancel(self) -> None:
        for task in self._tasks:  # so that their spans end, as cancelled
            task.cancel()


_lock = threading.Lock()
_worker: Worker | None = None
_inherited: Worker | None = None


def worker() -> Worker:
    """The process's worker, started at first use."""
    global _worker  # noqa: PLW0603 - one a process, by design
    found = _worker
    if found is not None:
        return found
    with _lock:
        if _worker is None:
            _worker = Worker()
            _register_exit(os.getpid())
        return _worker


def current_worker() -> Worker | None:
    """The worker if one was started, for those who only want to look."""
    return _worker


def _register_exit(pid: int) -> None:
    # Exit handlers run last in, first out, and a provider that is set up after our first use shuts
    # down before our own handler. So we drain earlier, where the interpreter waits for its threads,
    # and once more at the end for what other threads have submitted since.
    early = getattr(threading, "_register_atexit", None)
    with _GUARD:
        if early is not None:
            early(_drain_early, pid)
    atexit.register(_drain, pid)


def _drain_early(pid: int) -> None:
    found = _worker
    if os.getpid() == pid and found is not None:
        with _GUARD:
            if not found.flush(EXIT_TIMEOUT_S):
                found.close(0.0)


def _drain(pid: int) -> None:
    found = _worker
    if os.getpid() == pid and found is not None:
        with _GUARD:
            found.close(EXIT_TIMEOUT_S)


def _after_fork() -> None:
    # Threads do not survive a fork: the child starts its own worker, the parent finishes its queue.
    # The parent's loop is kept, since its collection here would complain that it was never closed.
    global _worker, _inherited, _lock  # noqa: PLW0603 - same
    _inherited = _worker
    _worker = None
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)
