"""The log as a database."""

from __future__ import annotations

import logging
import sqlite3
import stat
import subprocess
from contextlib import closing

import pytest
from support.audit import child, record
from support.postgres import PASSWORD

from aucert_otel.audit import AuditWriter, SinkError, open_sink, verify_sink


def test_sqlite_is_for_its_owner_only_and_syncs_in_full(tmp_path):
    sink = open_sink(f"sqlite:///{tmp_path}/audit.db")
    sink.append([record("a")])
    assert stat.S_IMODE((tmp_path / "audit.db").stat().st_mode) == 0o600
    with sink._engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2


def test_the_indexed_columns_are_there_to_be_queried(tmp_path):
    sink = open_sink(f"sqlite:///{tmp_path}/audit.db")
    sink.append([record("a", tenant="acme", decision="fail", action="person")])
    with closing(sqlite3.connect(tmp_path / "audit.db")) as connection:
        rows = connection.execute(
            "SELECT test_id, tenant, decision, action, trace_id, timestamp FROM aucert_audit"
        )
        assert rows.fetchall() == [
            (
                "a",
                "acme",
                "fail",
                "person",
                "0af7651916cd43dd8448eb211c80319c",
                "2026-04-07T10:30:00.000Z",
            )
        ]
        indexes = connection.execute("SELECT count(*) FROM sqlite_master WHERE type = 'index'")
        assert indexes.fetchone() == (6,)


def test_opening_makes_no_connection_so_a_dead_database_does_not_stop_the_start(tmp_path):
    open_sink("postgresql://u:p@localhost:1/nowhere")
    open_sink(f"sqlite:///{tmp_path}/audit.db")
    assert list(tmp_path.iterdir()) == []


def test_a_dead_database_is_one_sentence_without_its_password():
    sink = open_sink("postgresql://u:hunter2@127.0.0.1:1/nowhere")
    for call in (lambda: sink.append([record()]), sink.head, lambda: list(sink.entries())):
        with pytest.raises(SinkError) as caught:
            call()
        assert "postgresql+psycopg://u:***@127.0.0.1:1/nowhere" in str(caught.value)
        assert "hunter2" not in str(caught.value)
        assert caught.value.__cause__ is None
        assert "\n" not in str(caught.value)
    assert "hunter2" not in repr(sink)


def test_a_database_that_fails_never_shows_the_record(tmp_path):
    sink = open_sink(f"sqlite:///{tmp_path}/audit.db")
    sink.append([record("a")])
    with closing(sqlite3.connect(tmp_path / "audit.db")) as connection, connection:
        connection.execute("DROP TABLE aucert_audit")
        connection.execute("CREATE TABLE aucert_audit (seq INTEGER PRIMARY KEY, hash TEXT)")
    with pytest.raises(SinkError) as caught:
        sink.append([record("private customer")])
    assert "private customer" not in str(caught.value)


def test_tables_dropped_under_a_running_sink_are_made_again(tmp_path):
    sink = open_sink(f"sqlite:///{tmp_path}/audit.db")
    sink.append([record("a")])
    for name in ("audit.db", "audit.db-wal", "audit.db-shm"):
        (tmp_path / name).unlink(missing_ok=True)
    with pytest.raises(SinkError):
        sink.append([record("b")])
    sink.append([record("b")])
    assert verify_sink(sink).checked == 1


FULL_DISK = """
import resource, sys
from support.audit import record
from aucert_otel.audit import SinkError, open_sink, verify_sink
sink = open_sink(sys.argv[1])
sink.append([record("a")])
resource.setrlimit(resource.RLIMIT_FSIZE, (sink._file.stat().st_size + 8192, resource.RLIM_INFINITY))
try:
    sink.append([record("too much", reasoning="r" * 200_000)])
except SinkError as error:
    print("refused")
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
sink.append([record("b")])
print(verify_sink(sink).ok, [e.record["test_id"] for e in sink.entries()])
"""


def test_a_full_disk_raises_and_leaves_the_database_as_it_was(tmp_path):
    process = child(f"sqlite:///{tmp_path}/audit.db", code=FULL_DISK)
    said, error = process.communicate(timeout=60)
    assert said.splitlines() == ["refused", "True ['a', 'b']"], error


def test_a_reader_does_not_stop_a_writer(tmp_path):
    sink = open_sink(f"sqlite:///{tmp_path}/audit.db")
    sink.append([record(str(n)) for n in range(3)])
    reading = sink.entries()
    next(reading)
    sink.append([record("meanwhile")])
    assert len(list(reading)) == 2
    assert verify_sink(sink).checked == 4


def test_sqlite_locked_for_long_is_an_error_that_may_be_tried_again(tmp_path, monkeypatch):
    monkeypatch.setattr("aucert_otel.audit.sql._WAIT_S", 0.01)
    sink = open_sink(f"sqlite:///{tmp_path}/audit.db")
    sink.append([record("a")])
    with closing(sqlite3.connect(tmp_path / "audit.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(SinkError, match="locked"):
            sink.append([record("b")])
    sink.append([record("b")])
    assert verify_sink(sink).checked == 2


def test_postgresql_is_durable_even_where_the_server_was_told_to_be_fast(postgres):
    url = postgres.new_database()
    sink = open_sink(url + "&options=-csynchronous_commit%3Doff")
    with sink._transaction() as connection:
        assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == "off"
    with sink._transaction(write=True) as connection:
        assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == "on"
    sink.close()


def test_a_wrong_password_is_not_shown(postgres):
    url = postgres.new_database().replace("s3cret%2F", "wrong%2F")
    with pytest.raises(SinkError) as caught:
        open_sink(url).append([record()])
    assert "password authentication failed" in str(caught.value)
    assert "wrong/" not in str(caught.value)
    assert "wrong%2F" not in str(caught.value)


def test_records_wait_while_the_database_is_dead_and_are_stored_when_it_is_back(postgres, caplog):
    caplog.set_level(logging.INFO)
    sink = open_sink(postgres.new_database())
    writer = AuditWriter(sink, retry_s=0.05, max_retry_s=0.2)
    writer.put(record("before"))
    assert writer.flush(60)
    postgres.stop()
    try:
        for n in range(50):
            assert writer.put(record(f"while dead {n}"))
        assert not writer.flush(0.3)
        assert writer.pending == 50
    finally:
        postgres.start()
    assert writer.flush(60)
    assert writer.put(record("after"))
    assert writer.close(60)
    stored = [entry.record["test_id"] for entry in sink.entries()]
    assert stored == ["before", *(f"while dead {n}" for n in range(50)), "after"]
    assert verify_sink(sink).ok
    assert dict(writer.dropped) == {}
    assert caplog.text.count("records wait in memory") == 1
    assert "can be written again" in caplog.text
    assert PASSWORD not in caplog.text
    sink.close()


def test_the_package_needs_no_sqlalchemy_until_a_database_is_opened():
    code = "import sys, aucert_otel.audit; print('sqlalchemy' in sys.modules, 'psycopg' in sys.modules)"
    said, error = child(code=code).communicate(timeout=60)
    assert said.split() == ["False", "False"], error


@pytest.mark.parametrize(
    ("hidden", "url", "extra"),
    [("sqlalchemy", "sqlite:///x.db", "sql"), ("psycopg", "postgresql://h/d", "postgresql")],
)
def test_a_missing_driver_names_its_extra(hidden, url, extra):
    code = f"""
import sys
sys.modules[{hidden!r}] = None
from aucert_otel.audit import open_sink
from aucert_otel.errors import MissingExtraError
try:
    open_sink({url!r})
except MissingExtraError as error:
    print(error)
"""
    process = child(code=code, stdin=subprocess.DEVNULL)
    said, error = process.communicate(timeout=60)
    assert f"aucert-otel[{extra}]" in said, error
