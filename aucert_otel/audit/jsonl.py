"""A log as a file: one JSON object a line, with its head in a file beside it."""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from aucert_otel.audit.chain import (
    GENESIS,
    UNREADABLE_HEAD,
    Damage,
    Entry,
    Head,
    Rebuilt,
    entry_hash,
    link,
    with_mark,
)
from aucert_otel.audit.files import open_regular, sync_folder
from aucert_otel.audit.record import AuditRecord
from aucert_otel.audit.sinks import SinkError
from aucert_otel.errors import ConfigurationError


logger = logging.getLogger("aucert_otel.audit")

# The form of a line is fixed to the byte, so that the hash covers the record exactly as it stands.
_LINE = re.compile(
    rb'\{"hash":"([0-9a-f]{64})","prev_hash":"([0-9a-f]{64})","record":(\{.*\}),"seq":([1-9][0-9]{0,17})\}',
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class _Mark:
    """A head together with the size in bytes of the log it belongs to."""

    count: int = 0
    hash: str = GENESIS
    size: int = 0

    @property
    def head(self) -> Head:
        return Head(self.count, self.hash)


_UNREADABLE = _Mark(UNREADABLE_HEAD.count, UNREADABLE_HEAD.hash)
_MAX_MARK_BYTES = 4096


class JsonlSink:
    """A hash-chained log in a file, for any number of writing processes on one machine.

    Each append takes the file's lock, writes its lines with one ``write``, syncs once and then
    replaces the head. A crash in between leaves whole lines, which the next writer adopts, and at
    most one torn line, which it cuts off, counts in `torn` and logs. Nothing is open between
    appends, so a sink may be used on both sides of a fork.

    Neither file is followed through a symbolic link, and neither may be a pipe or a device. A head
    that had to be made anew is noted in the next entry; see `aucert_otel.audit.chain`.

    The file and its head belong together. Move or rotate both, while no process writes.

    Args:
        path: The log. It is created with mode 0600; its head is ``path`` + ``.head``.

    Raises:
        ConfigurationError: there are no POSIX file locks on this system.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        try:
            import fcntl
        except ImportError:
            raise ConfigurationError(
                f"the audit log {os.fspath(path)!r} needs POSIX file locks, which this system does "
                "not have: use sqlite:///aucert.db"
            ) from None
        self._flock = fcntl.flock
        self._exclusive, self._shared, self._unlock = fcntl.LOCK_EX, fcntl.LOCK_SH, fcntl.LOCK_UN
        self.path = Path(path)
        self.head_path = Path(f"{os.fspath(path)}.head")
        self.torn = 0
        """Torn lines this sink has cut off."""

    def __repr__(self) -> str:
        return f"JsonlSink({os.fspath(self.path)!r})"

    @property
    def files(self) -> tuple[Path, ...]:
        """The log, its head, and the head's draft."""
        return self.path, self.head_path, self._draft

    @property
    def _draft(self) -> Path:
        return Path(f"{os.fspath(self.head_path)}.tmp")

    def append(self, records: Sequence[AuditRecord]) -> None:
        """Store records and sync them to the disk.

        Raises:
            ValueError, TypeError: a record cannot be written as JSON.
            OSError: the file cannot be written; it is as it was.
            SinkError: what is there is no regular file.
        """
        if not records:
            return
        lines = [record.to_json() for record in records]  # before the lock: it may raise
        with self._locked(os.O_RDWR | os.O_APPEND | os.O_CREAT, self._exclusive) as fd:
            mark, rebuilt = self._settled(fd)
            if rebuilt is not None:
                lines[0] = with_mark(lines[0], rebuilt)
            entries = link(mark.head, lines)
            data = b"".join(_line(entry) for entry in entries)
            last = entries[-1]
            try:
                _write_all(fd, data)
                os.fsync(fd)
                self._write_mark(_Mark(last.seq, last.hash, mark.size + len(data)))
            except OSError:
                # Disk full, most likely. Only here: after any other exception nobody knows
                # whether the head was replaced, and the next writer finds out.
                os.ftruncate(fd, mark.size)
                raise

    def entries(self) -> Iterator[Entry]:
        """Every entry, as it stands in the file; none if there is no file.

        Raises:
            OSError: the file cannot be read.
            SinkError: what is there is no regular file.
        """
        try:
            fd = open_regular(self.path, os.O_RDONLY)
        except FileNotFoundError:
            return
        with os.fdopen(fd, "rb") as file:
            for line in file:
                yield _entry(line)

    def head(self) -> Head | None:
        """The head kept beside the file; `UNREADABLE_HEAD` where something else is in its place.

        Raises:
            OSError: it cannot be read.
            SinkError: the log is no regular file.
        """
        try:
            with self._locked(os.O_RDONLY, self._shared):
                mark = self._read_mark()
        except FileNotFoundError:
            mark = self._read_mark()
        return None if mark is None else mark.head

    def close(self) -> None:
        """Nothing is open between appends."""

    @contextmanager
    def _locked(self, flags: int, kind: int) -> Iterator[int]:
        fd = open_regular(self.path, flags)
        try:
            self._flock(fd, kind)
            try:
                yield fd
            finally:
                # Unlock by name: a child forked meanwhile holds a copy of fd, and closing ours
                # alone would leave the lock with it.
                self._flock(fd, self._unlock)
        finally:
            os.close(fd)

    def _settled(self, fd: int) -> tuple[_Mark, Rebuilt | None]:
        """The end to append to, once what a crash or a hand has left there is dealt with.

        Returns:
            The end, and why the head was made anew if it was.
        """
        size = os.fstat(fd).st_size
        mark = self._read_mark()
        if mark is not None and mark.head.sound:
            end = self._end(fd, mark, size)
            return end, Rebuilt.BEHIND if end.count > mark.count else None
        why = Rebuilt.MISSING if mark is None else Rebuilt.UNREADABLE
        if size:
            logger.warning(
                "audit log %s has lost its head (%s): rebuilt from its entries, which the next entry "
                "says",
                self.path,
                why.value,
            )
        else:
            sync_folder(self.path.parent)  # or the new file itself may be lost
        # From its first entry on a log has a head, so one that has none was tampered with.
        self._write_mark(_Mark())
        return self._end(fd, _Mark(), size), why if size or mark is not None else None

    def _end(self, fd: int, mark: _Mark, size: int) -> _Mark:
        if size > mark.size:
            return self._adopt(fd, mark, size)
        if size < mark.size:
            logger.error(
                "audit log %s is %d bytes long and was %d: entries are missing at its end, and "
                "`aucert audit verify` will name the first",
                self.path,
                size,
                mark.size,
            )
            return _Mark(mark.count, mark.hash, _end_line(fd, size))
        return mark

    def _adopt(self, fd: int, mark: _Mark, size: int) -> _Mark:
        """Take in whole entries after the mark; cut off a torn one; leave anything else to be seen."""
        with os.fdopen(os.dup(fd), "rb") as file:
            file.seek(mark.size)
            mark, rest = _follow(file, mark)
            foreign = rest and (rest.endswith(b"\n") or file.read(1))
        if foreign:
            logger.error(
                "audit log %s holds something at byte %d that we did not write: `aucert audit "
                "verify` will name the entry",
                self.path,
                mark.size,
            )
            return _Mark(mark.count, mark.hash, _end_line(fd, size))
        if rest:
            os.ftruncate(fd, mark.size)
            self.torn += 1
            logger.warning(
                "audit log %s ended in a torn line of %d bytes, left by a crash and never "
                "acknowledged: cut off after entry %d",
                self.path,
                size - mark.size,
                mark.count,
            )
        return mark

    def _read_mark(self) -> _Mark | None:
        try:
            with os.fdopen(open_regular(self.head_path, os.O_RDONLY), "rb") as file:
                value = json.loads(file.read(_MAX_MARK_BYTES))
            mark = _Mark(value["count"], value["hash"], value["size"])
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError, RecursionError, SinkError):
            mark = _UNREADABLE
        if type(mark.size) is int and mark.size >= 0 and mark.head.sound:
            return mark
        logger.warning("the head of audit log %s cannot be read", self.path)
        return _UNREADABLE

    def _write_mark(self, mark: _Mark) -> None:
        """Replace the head at once. It needs no sync: an older head is caught up from the log."""
        draft = self._draft
        text = json.dumps({"count": mark.count, "hash": mark.hash, "size": mark.size})
        # One that a crash has left is removed, and never written through: it may be a link by now.
        draft.unlink(missing_ok=True)
        fd = open_regular(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        try:
            _write_all(fd, text.encode() + b"\n")
        except OSError:
            with suppress(OSError):
                draft.unlink()
            raise
        finally:
            os.close(fd)
        draft.replace(self.head_path)


def _line(entry: Entry) -> bytes:
    return (
        f'{{"hash":"{entry.hash}","prev_hash":"{entry.prev_hash}",'
        f'"record":{entry.record_json},"seq":{entry.seq}}}\n'
    ).encode()


def _entry(line: bytes) -> Entry:
    match = _LINE.fullmatch(line, 0, len(line) - 1) if line.endswith(b"\n") else None
    if match is not None:
        digest, previous, record, seq = match.groups()
        with suppress(UnicodeDecodeError):
            return Entry(int(seq), previous.decode(), digest.decode(), record.decode())
    damage = Damage.UNREADABLE if line.endswith(b"\n") else Damage.TORN
    return Entry(0, "", "", line.decode("utf-8", "backslashreplace"), damage)


def _follow(file: BinaryIO, mark: _Mark) -> tuple[_Mark, bytes]:
    """Read on while entries follow; give the new end and the first line that does not."""
    for line in file:
        entry = _entry(line)
        if entry.damage or (entry.seq, entry.prev_hash) != (mark.count + 1, mark.hash):
            return mark, line
        if entry.hash != entry_hash(entry.seq, entry.prev_hash, entry.record_json):
            return mark, line
        mark = _Mark(entry.seq, entry.hash, mark.size + len(line))
    return mark, b""


def _end_line(fd: int, size: int) -> int:
    """End a broken last line, so that the next entry starts on its own; give the size after it."""
    if size == 0 or os.pread(fd, 1, size - 1) == b"\n":
        return size
    _write_all(fd, b"\n")
    return size + 1


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
