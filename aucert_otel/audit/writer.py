"""The queue between the application and a sink: nobody who has something to record waits for it."""

from __future__ import annotations

import atexit
import logging
import os
import random
import sys
import threading
import time
import weakref
from collections import Counter, deque
from collections.abc import Callable, Mapping
from itertools import islice
from types import MappingProxyType
from typing import TypeAlias

from aucert_otel._safe import Guard, describe
from aucert_otel.audit.record import AuditRecord
from aucert_otel.audit.sinks import AuditSink, SinkError


logger = logging.getLogger("aucert_otel.audit")

_GUARD = Guard("audit")

Builder: TypeAlias = Callable[[], AuditRecord]
"""Builds a record when the writer gets to it."""


class AuditWriter:
    """A bounded queue of records with one daemon thread that appends them to a sink.

    The thread starts at the first record. A record stays in the queue until the sink has
    acknowledged it, so the bound holds for everything that is not on the disk yet. While a sink
    fails, with whatever exception, its records are tried again with growing, jittered pauses. After a fork the child starts
    with an empty queue and its own thread; what was queued before is the parent's to write.

    What is not stored is counted in `dropped`: ``full`` and ``closed`` (`put` said ``False``),
    ``rejected`` (the record cannot be built or written as JSON) and ``exit`` (`close` ran out of time).

    Args:
        sink: Where records go. It is closed by whoever opened it, not by the writer.
        max_queue: Records not yet acknowledged; the next one is dropped.
        max_batch: Records handed to the sink at once.
        retry_s: The first pause after a failure, in seconds. It doubles up to ``max_retry_s``.
        exit_timeout_s: Seconds that interpreter exit waits for the queue.
        on_drop: Called as ``on_drop(reason, count)`` for every drop, on whichever thread sees it.
    """

    def __init__(
        self,
        sink: AuditSink,
        *,
        max_queue: int = 10_000,
        max_batch: int = 500,
        retry_s: float = 0.1,
        max_retry_s: float = 10.0,
        exit_timeout_s: float = 5.0,
        on_drop: Callable[[str, int], None] | None = None,
    ) -> None:
        self.sink = sink
        self._max_queue = max_queue
        self._max_batch = max_batch
        self._retry_s = retry_s
        self._max_retry_s = max_retry_s
        self._exit_timeout_s = exit_timeout_s
        self._on_drop = on_drop
        self._start_anew()
        _writers.add(self)

    def _start_anew(self) -> None:
        # Its lock is re-entrant: a finalizer or a signal handler may put while a put is under way.
        self._changed = threading.Condition(threading.RLock())
        self._queue: deque[AuditRecord | Builder] = deque()
        self._built: deque[AuditRecord] = deque()  # the queue's first records, as they are stored
        self._thread: threading.Thread | None = None
        self._closed = False
        self._abandoned = False
        self._hurry = False
        self._failures = 0
        self._accepted = 0
        self._finished = 0
        self._lost = 0
        self._dropped: Counter[str] = Counter()

    @property
    def dropped(self) -> Mapping[str, int]:
        """Records that were not stored, by reason."""
        return MappingProxyType(self._dropped)

    @property
    def pending(self) -> int:
        """Records accepted and not acknowledged yet."""
        return len(self._queue)

    def put(self, record: AuditRecord | Builder) -> bool:
        """Queue a record. It never waits for the sink and never raises.

        Args:
            record: The record, or a function that builds it. The function runs on the writer's
                thread, off the caller's clock; what it closes over should be frozen.

        Returns:
            Whether it was accepted. If not, it was counted in `dropped`.
        """
        with self._changed:
            refused = "closed" if self._closed else None
            if refused is None and len(self._queue) >= self._max_queue:
                refused = "full"
            if refused is None:
                self._queue.append(record)
                self._accepted += 1
                if self._thread is None or not self._thread.is_alive():
                    self._start()
                elif len(self._queue) == 1:
                    self._changed.notify_all()
        if refused is not None:
            self._drop(refused, 1)
        return refused is None

    def flush(self, timeout: float) -> bool:
        """Wait up to ``timeout`` seconds until every record accepted before is acknowledged.

        Returns:
            Whether all of them are. A record that was lost after it had been accepted makes the
            next flush say ``False``, once.
        """
        with self._changed:
            target = self._accepted
            self._hurry = True  # a pause after a failure ends now
            self._changed.notify_all()
            done = self._changed.wait_for(lambda: self._finished >= target, timeout)
            lost, self._lost = self._lost, 0
            return done and not lost

    def close(self, timeout: float = 5.0) -> bool:
        """Accept nothing more and drain for up to ``timeout`` seconds.

        Returns:
            Whether everything that was accepted is acknowledged. What is not is dropped as
            ``exit``, and counted; a batch the sink holds at this moment may still be stored.
        """
        deadline = time.monotonic() + timeout
        with self._changed:
            self._closed = True
            self._hurry = True
            self._changed.notify_all()
            inline = self._thread is None and bool(self._queue)
        if inline:  # no thread could be started, as at the very end of an interpreter
            self._drain(deadline)
        done = self.flush(max(0.0, deadline - time.monotonic()))
        with self._changed:
            self._abandoned = True
            left = len(self._queue)
            self._queue.clear()
            self._finished += left
            self._changed.notify_all()
        if left:
            self._drop("exit", left)
        return done

    def _start(self) -> None:
        thread = threading.Thread(target=self._run, name="aucert-audit", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # the interpreter is shutting down: close() drains instead
            return
        self._thread = thread
        if self not in _at_exit:
            _at_exit.add(self)
            _register_exit(weakref.ref(self))

    def _run(self) -> None:
        while True:
            try:
                if not self._wait_for_work():
                    return
                self._store_some()
            except BaseException as error:  # noqa: BLE001 - nothing may end this thread silently: its message would reach the screen, its records nobody
                self._failed(error)

    def _drain(self, deadline: float) -> None:
        while self._queue and time.monotonic() < deadline:
            self._store_some()
            if self._failures:
                break

    def _wait_for_work(self) -> bool:
        """Wait for records, and after a failure for the pause to end; ``False`` when all is done."""
        with self._changed:
            if self._failures and not self._abandoned:
                self._changed.wait_for(lambda: self._hurry or self._abandoned, self._pause())
            self._changed.wait_for(lambda: self._queue or self._closed)
            self._hurry = False
            return bool(self._queue) and not self._abandoned

    def _pause(self) -> float:
        # Who waits for close() has little time: its retries do not grow apart.
        grown = self._retry_s * 2.0 ** (0 if self._closed else min(self._failures - 1, 30))
        return min(grown, self._max_retry_s) * random.uniform(0.5, 1.0)  # noqa: S311 - jitter, not a secret

    def _store_some(self) -> None:
        batch = self._build()
        if not batch:
            return
        try:
            self.sink.append(batch)
        except (ValueError, TypeError):
            self._store_singly(batch)
        except BaseException as error:
            if self._passes(error):
                raise
            self._failed(error)
        else:
            self._finish(len(batch))

    def _build(self) -> list[AuditRecord]:
        """The next batch. A record that cannot be built is dropped when its turn comes."""
        with self._changed:
            waiting = list(islice(self._queue, len(self._built), self._max_batch))
        for item in waiting:
            try:
                record = item if isinstance(item, AuditRecord) else item()
            except BaseException as error:
                if self._passes(error):
                    raise
                if not self._built:
                    self._drop("rejected", 1, describe(error))
                    self._finish(1, lost=True)
                break
            self._built.append(record)
        return list(self._built)

    def _store_singly(self, batch: list[AuditRecord]) -> None:
        """One record of a batch is at fault; the others are not lost with it."""
        for record in batch:
            try:
                self.sink.append([record])
            except (ValueError, TypeError) as error:
                self._drop("rejected", 1, describe(error))
                self._finish(1, lost=True)
            except BaseException as error:
                if self._passes(error):
                    raise
                self._failed(error)
                return
            else:
                self._finish(1)

    def _finish(self, count: int, *, lost: bool = False) -> None:
        # Counted and logged before a flush is told: who waited for it sees both.
        if self._failures and not lost:
            logger.warning(
                "the audit log can be written again after %d failed attempts", self._failures
            )
            self._failures = 0
        with self._changed:
            if self._abandoned:  # close() has counted these already
                return
            for _ in range(count):
                self._queue.popleft()
                if self._built:
                    self._built.popleft()
            self._finished += count
            self._lost += count if lost else 0
            self._changed.notify_all()

    def _passes(self, error: BaseException) -> bool:
        """Whether an exception is for the thread it came up on: Ctrl-C, while a caller drains.

        On the writer's own thread nothing passes: any sink and any builder, ours or not, may raise
        anything, and the thread lives on.
        """
        return not isinstance(error, Exception) and threading.current_thread() is not self._thread

    def _failed(self, error: BaseException) -> None:
        with self._changed:
            self._failures += 1
            first = self._failures == 1
        if first:
            # A SinkError's sentence is ours and shows no secret; others' messages may.
            said = str(error) if isinstance(error, SinkError) else describe(error)
            logger.error(
                "audit records wait in memory, since the log cannot be written (logged once, tried "
                "again until it can): %s",
                said,
            )

    def _drop(self, reason: str, count: int, why: str = "") -> None:
        with self._changed:
            first = not self._dropped[reason]
            self._dropped[reason] += count
        if first:
            logger.error(
                "audit records are dropped: %s%s (logged once, counted in AuditWriter.dropped)",
                reason,
                f", {why}" if why else "",
            )
        if self._on_drop is not None:
            try:
                with _GUARD:
                    self._on_drop(reason, count)
            except BaseException as error:
                if self._passes(error) or isinstance(error, Exception):
                    raise
                logger.error("on_drop of the audit log raised %s", describe(error))  # noqa: TRY400 - a traceback would show the message


_writers: weakref.WeakSet[AuditWriter] = weakref.WeakSet()
_at_exit: weakref.WeakSet[AuditWriter] = weakref.WeakSet()


def _register_exit(writer: weakref.ref[AuditWriter]) -> None:
    # Exit handlers run last in, first out: registered at first use, ours runs before those of
    # whatever was set up earlier.
    atexit.register(_drain_at_exit, writer)
    processes = sys.modules.get("multiprocessing.util")
    if processes is not None:  # its children leave without running exit handlers
        processes.Finalize(None, _drain_at_exit, args=(writer,), exitpriority=100)


def _drain_at_exit(reference: weakref.ref[AuditWriter]) -> None:
    writer = reference()
    if writer is not None and not writer._closed:
        writer.close(writer._exit_timeout_s)


def _after_fork() -> None:
    _at_exit.clear()
    for writer in list(_writers):
        closed = writer._closed
        writer._start_anew()
        writer._closed = closed


os.register_at_fork(after_in_child=_after_fork)
