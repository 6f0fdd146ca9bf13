"""A log in a database: SQLite or PostgreSQL, through SQLAlchemy.

Only `aucert_otel.audit.open_sink` imports this module, since SQLAlchemy is an extra.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from aucert_otel.audit.canonical import plain
from aucert_otel.audit.chain import (
    GENESIS,
    UNREADABLE_HEAD,
    Damage,
    Entry,
    Head,
    Rebuilt,
    link,
    with_mark,
)
from aucert_otel.audit.record import AuditRecord
from aucert_otel.audit.sinks import SinkError
from aucert_otel.errors import ConfigurationError, MissingExtraError


logger = logging.getLogger("aucert_otel.audit")

INDEXED = ("test_id", "tenant", "decision", "action", "trace_id", "timestamp")
"""The fields of a record that are columns too, so that a query need not read the JSON."""

_WIDTH = 255  # a longer value does not fit into an index entry; the record keeps it whole
_LOCK = 0x6175636572740001  # "aucert": the advisory lock that orders all writers
_WAIT_S = 30

_metadata = sa.MetaData()
_big = sa.BigInteger().with_variant(sa.Integer, "sqlite")
AUDIT = sa.Table(
    "aucert_audit",
    _metadata,
    sa.Column("seq", _big, primary_key=True, autoincrement=False),
    sa.Column("prev_hash", sa.String(64), nullable=False),
    sa.Column("hash", sa.String(64), nullable=False),
    *(sa.Column(name, sa.String(_WIDTH), index=True) for name in INDEXED),
    sa.Column("record", sa.Text, nullable=False),
)
HEAD = sa.Table(
    "aucert_audit_head",
    _metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("last_seq", _big, nullable=False),
    sa.Column("hash", sa.String(64), nullable=False),
)


class SqlSink:
    """A hash-chained log in a table, for any number of writing processes.

    Records and head are written in one transaction. Writers are ordered by ``BEGIN IMMEDIATE`` on
    SQLite (in WAL mode, synced in full) and by an advisory lock on PostgreSQL. The tables are
    created at the first append; no connection is made before.

    Args:
        url: ``sqlite+pysqlite:///path`` or ``postgresql+psycopg://…``.

    Raises:
        ConfigurationError: the URL cannot be read. The message shows none of it.
        MissingExtraError: the driver is not installed.
    """

    def __init__(self, url: str) -> None:
        parsed = _parse(url)
        self.place = parsed.set(query={}).render_as_string(hide_password=True)
        self._password = parsed.password
        self._sqlite = parsed.get_backend_name() == "sqlite"
        self._file = Path(parsed.database) if self._sqlite and parsed.database else None
        try:
            self._engine = _sqlite_engine(parsed) if self._sqlite else _postgres_engine(parsed)
        except ModuleNotFoundError as error:
            raise MissingExtraError("an audit log in PostgreSQL", "postgresql") from error
        self._ready = False
        self._pid = os.getpid()

    def __repr__(self) -> str:
        return f"SqlSink({self.place!r})"

    @property
    def files(self) -> tuple[Path, ...]:
        """The database and what SQLite keeps beside it; none for a server."""
        if self._file is None:
            return ()
        return tuple(Path(f"{self._file}{end}") for end in ("", "-wal", "-shm", "-journal"))

    def append(self, records: Sequence[AuditRecord]) -> None:
        """Store records in one transaction that is durable when this returns.

        Raises:
            ValueError, TypeError: a record cannot be written as JSON.
            SinkError: the database failed; nothing was stored, unless the connection died during
                the commit.
        """
        if not records:
            return
        lines = [record.to_json() for record in records]  # before the lock: it may raise
        columns = [
            _columns({name: plain(getattr(record, name)) for name in INDEXED}) for record in records
        ]
        self._create_file()
        ready, self._ready = self._ready, False  # after a failure look at the tables again
        with self._transaction(write=True) as connection:
            if not ready:
                _metadata.create_all(connection)
            head, rebuilt = self._end(connection)
            if rebuilt is not None:
                lines[0] = with_mark(lines[0], rebuilt)
            entries = link(head, lines)
            connection.execute(
                AUDIT.insert(),
                [
                    {
                        "seq": entry.seq,
                        "prev_hash": entry.prev_hash,
                        "hash": entry.hash,
                        "record": entry.record_json,
                        **extra,
                    }
                    for entry, extra in zip(entries, columns, strict=True)
                ],
            )
            connection.execute(
                HEAD.update().values(last_seq=entries[-1].seq, hash=entries[-1].hash)
            )
        self._ready = True

    def entries(self) -> Iterator[Entry]:
        """Every entry by number, read in steps of 500; none if there is no table yet.

        Raises:
            SinkError: the database cannot be read.
        """
        yield from self._read(sa.select(AUDIT).order_by(AUDIT.c.seq))

    def last(self, n: int) -> list[Entry]:
        """The last ``n`` entries, oldest first.

        Raises:
            SinkError: the database cannot be read.
        """
        newest = self._read(sa.select(AUDIT).order_by(AUDIT.c.seq.desc()).limit(n))
        return list(newest)[::-1]

    def find(self, key: str) -> list[Entry]:
        """The entries with this test id, trace id or number, oldest first.

        Raises:
            SinkError: the database cannot be read.
        """
        column_key = _column(key)
        matches = [AUDIT.c.test_id == column_key, AUDIT.c.trace_id == column_key]
        if key.isascii() and key.isdigit() and len(key) <= 18:
            matches.append(AUDIT.c.seq == int(key))
        return list(self._read(sa.select(AUDIT).where(sa.or_(*matches)).order_by(AUDIT.c.seq)))

    def head(self) -> Head | None:
        """The head's row; `UNREADABLE_HEAD` where it holds something else.

        Raises:
            SinkError: the database cannot be read.
        """
        with self._transaction() as connection:
            if not sa.inspect(connection).has_table(HEAD.name):
                return None
            return _head(connection)

    def close(self) -> None:
        """Close the pooled connections."""
        self._engine.dispose(close=os.getpid() == self._pid)

    def _end(self, connection: sa.Connection) -> tuple[Head, Rebuilt | None]:
        """The end to append to, under the writers' lock, and why the head is made anew if it is."""
        head = _head(connection)
        newest = connection.execute(
            sa.select(AUDIT.c.seq, AUDIT.c.hash).order_by(AUDIT.c.seq.desc()).limit(1)
        ).first()
        if head is None or not head.sound:
            lost = Rebuilt.MISSING if head is None else Rebuilt.UNREADABLE
            why = None if head is None and newest is None else lost
            if why is not None:
                logger.warning(
                    "audit log %s has lost its head (%s): rebuilt from its last entry, which the next "
                    "entry says",
                    self.place,
                    why.value,
                )
            end = Head() if newest is None else Head(newest.seq, newest.hash)
            connection.execute(HEAD.delete())
            connection.execute(HEAD.insert().values(id=1, last_seq=end.count, hash=end.hash))
            return end, why
        count = 0 if newest is None else newest.seq
        if count != head.count:
            logger.error(
                "audit log %s ends in entry %d and its head says %d: `aucert audit verify` will "
                "name the first entry that is wrong",
                self.place,
                count,
                head.count,
            )
        # Past whatever somebody put there, or its number would stop every further record.
        return Head(max(count, head.count), head.hash), None

    def _read(self, query: sa.Select[Any]) -> Iterator[Entry]:
        with self._transaction() as connection:
            if not sa.inspect(connection).has_table(AUDIT.name):
                return
            streaming = connection.execution_options(stream_results=True, yield_per=500)
            with streaming.execute(query) as result:
                for row in result.mappings():
                    yield _entry(row)

    @contextmanager
    def _transaction(self, *, write: bool = False) -> Iterator[sa.Connection]:
        if os.getpid() != self._pid:
            # The parent's connections belong to the parent: forget them, do not close them.
            self._engine.dispose(close=False)
            self._pid = os.getpid()
        try:
            with (
                self._engine.connect() as plain,
                plain.execution_options(aucert_write=write) as connection,
                connection.begin(),
            ):
                if write and not self._sqlite:
                    _lock_postgres(connection)
                yield connection
        except SQLAlchemyError as error:
            raise SinkError(self._sentence(error)) from None

    def _sentence(self, error: SQLAlchemyError) -> str:
        cause = str(getattr(error, "orig", None) or error).strip().partition("\n")[0]
        if self._password:
            cause = cause.replace(self._password, "***")
        return f"the audit log {self.place} failed: {type(error).__name__}: {cause}"

    def _create_file(self) -> None:
        # SQLite would create it readable for everyone; its journal files follow its mode.
        if self._file is not None:
            with suppress(FileExistsError):
                os.close(os.open(self._file, os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


def _head(connection: sa.Connection) -> Head | None:
    row = connection.execute(sa.select(HEAD.c.last_seq, HEAD.c.hash)).first()
    if row is None:
        return None
    head = Head(row.last_seq, row.hash)
    return head if head.sound else UNREADABLE_HEAD


def _parse(url: str) -> URL:
    mend = "percent-encode special characters in its user and password (@ is %40, / is %2F)"
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        raise ConfigurationError(f"the audit log's database URL cannot be read: {mend}") from None
    if "@" in (parsed.host or ""):
        raise ConfigurationError(f"the audit log's database URL holds more than one @: {mend}")
    if parsed.get_backend_name() != "sqlite" and not parsed.database:
        raise ConfigurationError(
            "the audit log's database URL names no database: postgresql://user:password@host/database"
        )
    return parsed


def _sqlite_engine(url: URL) -> sa.Engine:
    # A new connection each time is cheap, and nothing is carried across a fork.
    engine = sa.create_engine(
        url, poolclass=NullPool, hide_parameters=True, connect_args={"timeout": _WAIT_S}
    )

    @event.listens_for(engine, "connect")
    def configure(connection: Any, _record: object) -> None:
        connection.isolation_level = None  # the driver begins nothing: we do, below
        if connection.execute("PRAGMA journal_mode").fetchone() != ("wal",):
            connection.execute("PRAGMA journal_mode=WAL")  # stays with the file
        connection.execute("PRAGMA synchronous=FULL")

    @event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> None:
        write = connection.get_execution_options().get("aucert_write")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

    return engine


def _postgres_engine(url: URL) -> sa.Engine:
    # A dead or silent server must be noticed in bounded time. What the URL says goes first.
    bounds = {
        "connect_timeout": 10,
        "tcp_user_timeout": _WAIT_S * 1000,
        "keepalives_idle": 10,
        "application_name": "aucert-otel",
    }
    arguments = {name: value for name, value in bounds.items() if name not in url.query}
    return sa.create_engine(
        url,
        pool_size=1,
        max_overflow=4,
        pool_pre_ping=True,
        hide_parameters=True,
        connect_args=arguments,
    )


def _lock_postgres(connection: sa.Connection) -> None:
    connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{_WAIT_S}s'")
    # "Acknowledged" means on the disk, also where the server was set up to be faster than that.
    connection.exec_driver_sql(
        "SELECT set_config('synchronous_commit', 'on', true) "
        "WHERE current_setting('synchronous_commit') = 'off'"
    )
    connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))


def _column(value: object) -> str | None:
    # PostgreSQL text cannot hold NUL
    return None if value is None else str(value).replace("\0", "\N{REPLACEMENT CHARACTER}")[:_WIDTH]


def _columns(record: Mapping[str, Any]) -> dict[str, str | None]:
    return {name: _column(record.get(name)) for name in INDEXED}


def _entry(row: sa.RowMapping) -> Entry:
    previous, digest, record = row[AUDIT.c.prev_hash], row[AUDIT.c.hash], row[AUDIT.c.record]
    # A hand on the database may have left NULL or bytes where we wrote text.
    if not all(isinstance(text, str) for text in (previous, digest, record)):
        return Entry(row[AUDIT.c.seq], GENESIS, GENESIS, "", Damage.UNREADABLE)
    entry = Entry(row[AUDIT.c.seq], previous, digest, record)
    if _columns(entry.record) != {name: row[AUDIT.c[name]] for name in INDEXED}:
        return replace(entry, damage=Damage.COLUMNS)
    return entry
