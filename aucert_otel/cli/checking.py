"""The run behind ``aucert check``: rows in, a bounded number checked at once, records out in order."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Final

from aucert_otel._sentences import visible
from aucert_otel.audit import AuditWriter, record_of_outcome
from aucert_otel.audit.record import Boundary
from aucert_otel.cli.outfile import OutFile, Past
from aucert_otel.cli.screen import plural
from aucert_otel.cli.tally import Tally
from aucert_otel.config import Config
from aucert_otel.errors import ConfigurationError
from aucert_otel.generation import Generation
from aucert_otel.harness import Harness
from aucert_otel.outcome import Outcome
from aucert_otel.rows import InputLine, Row


_AHEAD: Final = 4
"""Rows in flight for each that is checked, so that one slow row does not hold up the others."""

_AUDIT_AHEAD: Final = 5_000
"""Records that may wait for the audit log; its queue takes twice as many before it drops any."""


@dataclass(frozen=True, slots=True)
class Harnesses:
    """The harness of each tenant."""

    config: Config
    cascade: str | None
    tenant: str | None
    """Whose settings a row without a tenant gets."""

    def of(self, generation: Generation) -> Harness:
        """The harness for this answer.

        Raises:
            ConfigurationError: the settings name neither its tenant nor a default, or a model's key
                is missing.
        """
        # Without its audit log: the records of a check say so, and are made by the check.
        return self.config.harness(generation.tenant, cascade=self.cascade, audit=False)

    def check_ready(self) -> None:
        """Refuse here, rather than once a row, what would keep every row from being checked.

        Raises:
            ConfigurationError: the tenant is not known, or a model's key is missing.
            MissingExtraError: a model's client is not installed.
        """
        if self.cascade is not None:
            self.config.harness(cascade=self.cascade, audit=False)
            return
        if self.tenant is not None:
            self.config.tenant(self.tenant)
        for tenant in self.config.tenants or [self.tenant]:
            self.config.harness(tenant, audit=False)

    def prepared(self, line: InputLine, row: Row) -> Generation:
        """The row's answer, with a tenant if one was given and an id to find it by."""
        generation = row.generation
        return replace(
            generation,
            tenant=generation.tenant or self.tenant,
            test_id=generation.test_id or f"line-{line.number}",
        )


@dataclass(slots=True)
class Alike:
    """Problems of the settings that rows meet: each is said once, and counted."""

    _rows: dict[str, list[int]] = field(default_factory=dict)
    """The first line that met a problem, and how many did."""

    def first(self, line: int, problem: str) -> str | None:
        """The sentence for a row, if it is the first to meet this problem."""
        met = self._rows.setdefault(problem, [line, 0])
        met[1] += 1
        return f"line {line}: {problem}" if met[1] == 1 else None

    def more(self) -> list[str]:
        """A sentence for each problem that further rows met."""
        return [
            f"{plural(count - 1, 'further row')} left out for the same reason as line {line}"
            for line, count in self._rows.values()
            if count > 1
        ]


class Feed:
    """Lines read on a thread of their own: a slow pipe never holds up what is being checked."""

    def __init__(self, lines: Iterator[InputLine], ahead: int) -> None:
        self._lines = lines
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[InputLine | BaseException | None] = asyncio.Queue()
        self._room = threading.Semaphore(ahead)
        self._stopped = False
        # A daemon: nothing can wake a thread that waits for a pipe.
        threading.Thread(target=self._read, name="aucert-rows", daemon=True).start()

    def _read(self) -> None:
        last: BaseException | None = None
        try:
            for line in self._lines:
                self._room.acquire()
                if self._stopped:
                    return
                self._send(line)
        except Exception as error:  # noqa: BLE001 - raised again where the lines are consumed
            last = error
        self._send(last)

    def _send(self, item: InputLine | BaseException | None) -> None:
        if not self._loop.is_closed():
            try:
                self._loop.call_soon_threadsafe(self._queue.put_nowait, item)
            except RuntimeError:  # the loop closed just now: nobody reads on
                self._stopped = True

    def stop(self) -> None:
        """End the iteration now, whatever was read ahead."""
        self._stopped = True
        self._queue.put_nowait(None)
        self._room.release()

    async def __aiter__(self) -> AsyncIterator[InputLine]:
        while not self._stopped:
            item = await self._queue.get()
            if item is None or self._stopped:
                return
            if isinstance(item, BaseException):
                raise item
            self._room.release()
            yield item


@dataclass(slots=True)
class Check:
    """One run over one input.

    Args:
        report: Called with each sentence about a bad row.
        boundary: What the output rows may hold.
        audit: Where decisions are recorded besides, if the settings say so.
        step: Called after each line, for the progress bar.
    """

    harnesses: Harnesses
    out: OutFile
    report: Callable[[str], None]
    boundary: Boundary
    audit: AuditWriter | None = None
    concurrency: int = 8
    step: Callable[[], None] = lambda: None
    tally: Tally = field(default_factory=Tally)
    interrupted: bool = False
    alike: Alike = field(default_factory=Alike)
    abandoned: int = 0
    """Rows whose check was under way when the run was interrupted."""

    def run(self, lines: Iterator[InputLine]) -> Tally:
        """Check every line, and return the counts.

        Ctrl-C ends the run: what is checked is written, what is under way is abandoned.

        Raises:
            OSError: the input cannot be read, or the output cannot be written.
        """
        asyncio.run(self._run(lines))
        return self.tally

    async def _run(self, lines: Iterator[InputLine]) -> None:
        feed = Feed(lines, self.concurrency * _AHEAD)
        waiting: asyncio.Queue[_Started | None] = asyncio.Queue(self.concurrency * _AHEAD)
        under_way: set[asyncio.Task[Outcome]] = set()
        reader = asyncio.create_task(self._read(feed, waiting, under_way))
        writer = asyncio.create_task(self._write(waiting))
        loop = asyncio.get_running_loop()

        def interrupt() -> None:
            self.interrupted = True
            loop.remove_signal_handler(signal.SIGINT)  # a second Ctrl-C ends the process
            feed.stop()
            for task in under_way:
                task.cancel()

        main = threading.current_thread() is threading.main_thread()
        if main:
            loop.add_signal_handler(signal.SIGINT, interrupt)
        try:
            # Whichever fails ends the run; that the reader is done does not.
            await asyncio.wait({reader, writer}, return_when=asyncio.FIRST_EXCEPTION)
        finally:
            feed.stop()
            ending = {reader, writer, *under_way}
            for task in ending:
                task.cancel()
            await asyncio.gather(*ending, return_exceptions=True)
            if main:
                loop.remove_signal_handler(signal.SIGINT)
        for task in (writer, reader):
            if not task.cancelled():
                task.result()

    async def _read(
        self,
        feed: Feed,
        waiting: asyncio.Queue[_Started | None],
        under_way: set[asyncio.Task[Outcome]],
    ) -> None:
        limit = asyncio.Semaphore(self.concurrency)
        async for line in feed:
            started = self._start(line, limit)
            if started is not None:
                under_way.add(started.task)
                started.task.add_done_callback(under_way.discard)
                await waiting.put(started)
        await waiting.put(None)

    def _start(self, line: InputLine, limit: asyncio.Semaphore) -> _Started | None:
        if line.row is None:
            self._refuse(line.problem or "")
            return None
        self.tally.unknown.update(line.row.unknown)
        past = self.out.take(line.digest)
        if past is not None:
            self.tally.resumed += 1
            self._count(past, line.row)
            return None
        generation = self.harnesses.prepared(line, line.row)
        try:
            harness = self.harnesses.of(generation)
        except ConfigurationError as error:
            # What is wrong is in the settings, and many rows may meet it.
            self._refuse(self.alike.first(line.number, str(error)))
            return None
        return _Started(line, line.row, asyncio.create_task(_check(harness, generation, limit)))

    def say_alike(self) -> None:
        """Report how many further rows met a problem that was said once."""
        for sentence in self.alike.more():
            self.report(visible(sentence))

    def _refuse(self, problem: str | None) -> None:
        self.tally.bad += 1
        if problem is not None:
            self.report(visible(problem))
        self.step()

    def _count(self, past: Past, row: Row) -> None:
        self.tally.add(past, row.gold)
        self.step()

    async def _write(self, waiting: asyncio.Queue[_Started | None]) -> None:
        while (started := await waiting.get()) is not None:
            await asyncio.wait({started.task})
            if started.task.cancelled():
                self.abandoned += 1
            else:
                self._record(started, started.task.result())

    def _record(self, started: _Started, outcome: Outcome) -> None:
        make = partial(
            record_of_outcome,
            outcome,
            mode="check",
            sampling_probability=1.0,
            timestamp=datetime.now(UTC),
        )
        record = make(boundary=self.boundary).to_dict()
        gold = started.row.gold
        past = self.out.write(
            started.line.number, started.line.digest, record, None if gold is None else gold.value
        )
        if self.audit is not None:
            if self.audit.pending >= _AUDIT_AHEAD:
                self.audit.flush(
                    30.0
                )  # a file is read faster than a log is synced: wait, drop nothing
            content = self.harnesses.of(outcome.generation).telemetry.boundary
            self.audit.put(partial(make, boundary=content))
        self._count(past, started.row)


@dataclass(frozen=True, slots=True)
class _Started:
    line: InputLine
    row: Row
    task: asyncio.Task[Outcome]


async def _check(harness: Harness, generation: Generation, limit: asyncio.Semaphore) -> Outcome:
    async with limit:
        return await harness.averify(generation)
