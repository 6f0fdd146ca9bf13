"""Worker threads that never keep the interpreter alive.

`concurrent.futures.ThreadPoolExecutor` joins its threads at exit, so that one stuck check would
keep a process from ever ending, and it takes no work while the interpreter shuts down, which is
when accepted verifications are drained.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any


if TYPE_CHECKING:
    from concurrent.futures import Future


class DaemonPool:
    """Up to ``size`` daemon threads, started as they are needed and then kept."""

    def __init__(self, size: int, name: str) -> None:
        self._size = size
        self._name = name
        self._work: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._free = 0
        """Threads waiting for work, less the work they have not picked up yet."""

    def submit(self, function: Callable[[], Any]) -> Future[Any]:
        """Have a thread call ``function``."""
        from concurrent.futures import Future

        future: Future[Any] = Future()
        with self._lock:
            grow = self._free <= 0 and self._threads < self._size
            self._free -= 1
            self._threads += grow
        self._work.put((future, function))
        if grow:
            threading.Thread(
                target=self._serve, name=f"{self._name}-{self._threads}", daemon=True
            ).start()
        return future

    def _serve(self) -> None:
        while True:
            with self._lock:
                self._free += 1
            future, function = self._work.get()
            if future.set_running_or_notify_cancel():
                _call(future, function)
            # An idle thread must not keep the last caller's objects alive.
            del future, function


def _call(future: Future[Any], function: Callable[[], Any]) -> None:
    try:
        result = function()
    except StopIteration as error:
        # asyncio cannot carry it: whoever waits would wait for ever.
        failure = RuntimeError("a function on a worker thread raised StopIteration")
        failure.__cause__ = error
        future.set_exception(failure)
    except BaseException as error:  # noqa: BLE001 - handed to whoever waits for the future
        future.set_exception(error)
    else:
        future.set_result(result)
