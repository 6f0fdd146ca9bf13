"""The output file of a check: one line a row, and where an interrupted run goes on.

A row is done when the file holds a record with the digest of its line, made by the same version of
a cascade. So a row that moved is not checked twice, a row that changed is checked anew, and of
three equal rows three are checked. A file with records of another version is refused: two versions'
verdicts in one file would be counted together.

It is a regular file, and one run at a time has it: whatever else is there is refused before anything
is read from it or written to it.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final, Protocol

from aucert_otel._sentences import shown
from aucert_otel.errors import ConfigurationError
from aucert_otel.summary.count import Checked, count


_BEGINNING: Final = b'{"line":'
"""How every line of ours begins; a torn one may hold only a part of it."""


@dataclass(frozen=True, slots=True)
class Past:
    """What the summary needs of a record."""

    line: int
    test_id: str
    action: str
    reasoning: str
    checked: Checked


class _Stream(Protocol):
    def write(self, data: memoryview, /) -> int: ...

    def close(self) -> None: ...


@dataclass(slots=True)
class OutFile:
    """An output file, opened to go on."""

    done: dict[str, list[Past]] = field(default_factory=dict)
    torn: bool = False
    """The last line was cut off by an interrupted run, and was removed."""
    _stream: _Stream | None = None

    def take(self, digest: str) -> Past | None:
        """A record of this line that is not taken yet."""
        past = self.done.get(digest)
        return past.pop() if past else None

    def write(self, line: int, digest: str, record: Mapping[str, Any], gold: str | None) -> Past:
        """Append a record. It is in the operating system's hands when this returns.

        Raises:
            OSError: the file cannot be written.
        """
        row = {"line": line, "input": digest, **record, "gold": gold}
        if self._stream is not None:
            text = json.dumps(row, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
            data = memoryview(text.encode() + b"\n")
            while data:
                data = data[self._stream.write(data) :]
        return _past(row)

    def close(self) -> None:
        """Close the file."""
        if self._stream is not None:
            self._stream.close()


def open_out(
    path: str | None,
    source: str,
    versions: Collection[tuple[str, str]],
    out: BinaryIO,
    taken: Collection[Path] = (),
) -> OutFile:
    """Open an output file, reading what an earlier run left in it.

    Args:
        path: The file; ``-`` writes to ``out``, ``None`` writes nothing.
        source: The input, which may not be the same file.
        versions: Names and versions of the cascades this run may use.
        out: Standard output, as bytes.
        taken: The files of the audit log, which may not be the same file either.

    Raises:
        ConfigurationError: the file is something else, was written by another cascade, or another
            run is writing to it.
        OSError: it cannot be read or written.
    """
    if path is None:
        return OutFile()
    if path == "-":
        return OutFile(_stream=_Unclosed(out))
    file = Path(path)
    refuse_no_file(file)
    if source != "-" and file.exists() and file.samefile(source):
        raise ConfigurationError(f"--out {path} is the input itself: name another file")
    if any(_same(file, each) for each in taken):
        raise ConfigurationError(
            f"--out {path} is the audit log, or a file that belongs to it: name another file"
        )
    done: dict[str, list[Past]] = {}
    stream = open(file, "a+b", buffering=0, opener=_opener)  # noqa: SIM115 - closed by OutFile.close; a Path takes no opener
    try:
        _lock(stream, path)
        # A reader of the same file, should its name mean another by now.
        with os.fdopen(os.dup(stream.fileno()), "rb") as reader:
            reader.seek(0)
            whole = _read(reader, path, done, versions)
        torn = whole < stream.seek(0, os.SEEK_END)
        if torn:
            stream.truncate(whole)
    except BaseException:
        stream.close()
        raise
    return OutFile(done, torn, stream)


def refuse_no_file(path: Path) -> None:
    """Refuse what ``--out`` cannot be: a folder, a pipe or a device.

    Raises:
        ConfigurationError: it is one of them.
        OSError: it cannot be looked at.
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISREG(mode):
        kinds = ((stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"))
        kind = next((named for test, named in kinds if test(mode)), "a device")
        raise ConfigurationError(f"--out {path} is {kind}: name a file")


def _opener(path: str, flags: int) -> int:
    # Should a pipe have come into its place since it was looked at, nobody waits for it.
    fd = os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY, 0o666)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise ConfigurationError(f"--out {path} is no regular file: name a file")
    return fd


def _same(file: Path, other: Path) -> bool:
    if file.exists() and other.exists():
        return file.samefile(other)
    return file.resolve() == other.resolve()


def _lock(stream: BinaryIO, path: str) -> None:
    try:
        import fcntl
    except ImportError:  # no POSIX locks on this system: two runs are the user's to keep apart
        return
    try:
        fcntl.flock(stream.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise ConfigurationError(
            f"another run is writing to {path}: wait until it has ended, or name another --out"
        ) from None


class _Unclosed:
    """Standard output: flushed a line at a time, and left open."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def write(self, data: memoryview, /) -> int:
        written = self._stream.write(data)
        self._stream.flush()
        return written

    def close(self) -> None:
        """Leave it open."""


def _read(
    stream: BinaryIO,
    path: str,
    done: dict[str, list[Past]],
    versions: Collection[tuple[str, str]],
) -> int:
    """Read the records of an earlier run; returns the length of what is whole."""
    whole = 0
    for number, line in enumerate(stream, 1):
        if not line.endswith(b"\n"):
            if not line.startswith(_BEGINNING) and not _BEGINNING.startswith(line):
                raise _foreign(path, number)
            break
        whole += len(line)
        record = _record(line)
        if record is None:
            raise _foreign(path, number)
        made_by = (str(record["cascade"]), str(record["cascade_version"]))
        if made_by not in versions:
            allowed = ", ".join(f"{name} {version}" for name, version in sorted(versions))
            raise ConfigurationError(
                f"{path} line {number} was written by the cascade {shown(made_by[0])} version "
                f"{shown(made_by[1])}, and this run uses {allowed}: name another --out"
            )
        done.setdefault(str(record["input"]), []).append(_past(record))
    return whole


_FIELDS: Final = frozenset({"input", "cascade", "cascade_version", "decision", "stage"})


def _record(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) and record.keys() >= _FIELDS else None


def _foreign(path: str, number: int) -> ConfigurationError:
    return ConfigurationError(
        f"{path} line {number} is not a record of aucert check: name another --out, nothing in "
        "this file was changed"
    )


def _past(record: Mapping[str, Any]) -> Past:
    return Past(
        count(record.get("line")),
        str(record.get("test_id") or ""),
        str(record.get("action") or ""),
        str(record.get("reasoning") or ""),
        Checked.of(record),
    )
