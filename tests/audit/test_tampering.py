"""Every way to falsify a stored log is named, with the first entry it touches."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.audit import record

from aucert_otel.audit import Damage, Fault, Head, open_sink, verify, verify_sink
from aucert_otel.audit.chain import entry_hash, link


N = 6
position = st.integers(1, N)
per_file = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The bytes of an untouched log, and a folder to falsify copies in."""
    folder = tmp_path_factory.mktemp("log")
    sink = open_sink(folder / "audit.jsonl")
    sink.append([record(f"entry {n}", tenant=f"tenant-{n}") for n in range(1, N + 1)])
    return folder, (folder / "audit.jsonl").read_bytes().splitlines(keepends=True)


def verdict_on(written, lines):
    folder, _ = written
    (folder / "audit.jsonl").write_bytes(b"".join(lines))
    return verify_sink(open_sink(folder / "audit.jsonl"))


@per_file
@given(position, st.data())
def test_jsonl_any_changed_byte_is_seen(written, at, data):
    lines = list(written[1])
    line = bytearray(lines[at - 1])
    where = data.draw(st.integers(0, len(line) - 1))
    line[where] = data.draw(st.integers(0, 255).filter(lambda b: b != line[where]))
    lines[at - 1] = bytes(line)
    report = verdict_on(written, lines)
    assert report.broken is not None
    assert report.broken.seq == at
    assert report.broken.fault is Fault.ALTERED


@per_file
@given(st.integers(1, N - 1))
def test_jsonl_a_deleted_entry_is_missing(written, at):
    lines = list(written[1])
    del lines[at - 1]
    report = verdict_on(written, lines)
    assert (report.broken.seq, report.broken.fault) == (at, Fault.MISSING)


@per_file
@given(position)
def test_jsonl_entries_cut_off_the_end_are_truncated(written, at):
    report = verdict_on(written, written[1][: at - 1])
    assert (report.broken.seq, report.broken.fault) == (at, Fault.TRUNCATED)


@per_file
@given(position, st.data())
def test_jsonl_a_log_cut_off_anywhere_names_the_first_entry_that_is_not_whole(written, at, data):
    lines = list(written[1][:at])
    lines[-1] = lines[-1][: data.draw(st.integers(1, len(lines[-1]) - 1))]
    report = verdict_on(written, lines)
    assert report.broken.seq == at


@per_file
@given(st.lists(position, min_size=2, max_size=2, unique=True))
def test_jsonl_swapped_entries_are_reordered(written, two):
    a, b = sorted(two)
    lines = list(written[1])
    lines[a - 1], lines[b - 1] = lines[b - 1], lines[a - 1]
    report = verdict_on(written, lines)
    assert (report.broken.seq, report.broken.fault) == (a, Fault.REORDERED)


@per_file
@given(position, st.integers(0, N))
def test_jsonl_an_entry_put_in_again_is_duplicated_or_out_of_order(written, which, where):
    lines = list(written[1])
    lines.insert(where, written[1][which - 1])
    report = verdict_on(written, lines)
    if which <= where + 1:  # beside itself, the second of the two is the copy
        assert (report.broken.seq, report.broken.fault) == (which, Fault.DUPLICATED)
    else:  # it came too early: the entry whose place it took is further on
        assert (report.broken.seq, report.broken.fault) == (where + 1, Fault.REORDERED)


@per_file
@given(st.integers(0, N), st.binary(max_size=40))
def test_jsonl_a_foreign_line_is_seen_where_it_stands(written, where, junk):
    lines = list(written[1])
    lines.insert(where, junk.replace(b"\n", b"") + b"\n")
    report = verdict_on(written, lines)
    assert (report.broken.seq, report.broken.fault) == (where + 1, Fault.ALTERED)


def chain(n=N):
    return link(Head(), [record(f"entry {k}").to_json() for k in range(1, n + 1)])


@settings(deadline=None)
@given(st.integers(1, N))
def test_an_entry_replaced_with_a_fresh_hash_is_named(at):
    entries = chain()
    head = Head(N, entries[-1].hash)
    forged = link(Head(at - 1, entries[at - 1].prev_hash), [record("forged").to_json()])
    entries[at - 1 : at] = forged
    report = verify(iter(entries), head)
    assert (report.broken.seq, report.broken.fault) == (at, Fault.ALTERED)


@settings(deadline=None)
@given(st.integers(0, N - 1))
def test_an_inserted_entry_with_a_fresh_hash_shares_its_number_with_the_true_one(after):
    entries = chain()
    head = Head(N, entries[-1].hash)
    previous = entries[after - 1].hash if after else Head().hash
    entries[after:after] = link(Head(after, previous), [record("forged").to_json()])
    report = verify(iter(entries), head)
    assert report.broken.seq == after + 1


def test_a_full_rewrite_with_its_head_shows_only_against_an_anchor():
    anchor = chain()[-1].hash
    forged = link(Head(), [record("all forged").to_json()] * N)
    head = Head(N, forged[-1].hash)
    assert verify(forged, head).ok
    report = verify(forged, head, expect=anchor)
    assert report.broken.fault is Fault.NOT_ANCHORED


def test_a_log_without_its_head_is_not_called_whole():
    report = verify(chain(), None)
    assert (report.broken.seq, report.broken.fault) == (N, Fault.NO_HEAD)


def test_verification_reads_a_stream_once_and_keeps_none_of_it():
    def endless():
        at = Head()
        for _ in range(20_000):
            (entry,) = link(at, ['{"a":1}'])
            yield entry
            at = Head(entry.seq, entry.hash)

    *_, last = endless()
    assert verify(endless(), Head(20_000, last.hash)).checked == 20_000


# -- the database ---------------------------------------------------------------------------------


@pytest.fixture(params=["sqlite", "postgresql"])
def table(request, tmp_path):
    """A filled log, and a way to run SQL on it behind its back."""
    if request.param == "sqlite":
        sink = open_sink(f"sqlite:///{tmp_path}/audit.db")

        def run(statement):
            with closing(sqlite3.connect(tmp_path / "audit.db")) as connection, connection:
                connection.execute(statement)

    else:
        sink = open_sink(request.getfixturevalue("postgres").new_database())

        def run(statement):
            with sink._engine.begin() as connection:
                connection.exec_driver_sql(statement)

    sink.append([record(f"entry {n}", tenant=f"tenant-{n}") for n in range(1, N + 1)])
    yield sink, run
    sink.close()


@pytest.mark.parametrize("at", [1, 3, N])
@pytest.mark.parametrize(
    ("statement", "fault"),
    [
        (
            "UPDATE aucert_audit SET record = replace(record, 'pass', 'fail') WHERE seq = {at}",
            "altered",
        ),
        ("UPDATE aucert_audit SET record = record || ' ' WHERE seq = {at}", "altered"),
        ("UPDATE aucert_audit SET hash = prev_hash WHERE seq = {at}", "altered"),
        ("UPDATE aucert_audit SET prev_hash = hash WHERE seq = {at}", "altered"),
        ("UPDATE aucert_audit SET decision = 'fail' WHERE seq = {at}", "altered"),
        ("UPDATE aucert_audit SET tenant = NULL WHERE seq = {at}", "altered"),
        ("DELETE FROM aucert_audit WHERE seq >= {at}", "truncated"),
    ],
)
def test_sql_a_changed_or_cut_table_names_its_first_wrong_row(table, at, statement, fault):
    sink, run = table
    run(statement.format(at=at))
    report = verify_sink(sink)
    assert (report.broken.seq, report.broken.fault) == (at, fault)


@pytest.mark.parametrize("at", [1, 3, N - 1])
def test_sql_a_deleted_row_is_missing(table, at):
    sink, run = table
    run(f"DELETE FROM aucert_audit WHERE seq = {at}")
    report = verify_sink(sink)
    assert (report.broken.seq, report.broken.fault) == (at, Fault.MISSING)


def test_sql_swapped_rows_are_seen(table):
    sink, run = table
    for old, new in ((2, -2), (4, 2), (-2, 4)):
        run(f"UPDATE aucert_audit SET seq = {new} WHERE seq = {old}")
    assert verify_sink(sink).broken.seq == 2


def test_sql_a_copied_row_is_seen_and_does_not_stop_later_records(table, caplog):
    sink, run = table
    columns = "prev_hash, hash, test_id, tenant, decision, action, trace_id, timestamp, record"
    run(
        f"INSERT INTO aucert_audit (seq, {columns}) SELECT {N + 1}, {columns} FROM aucert_audit WHERE seq = 2"
    )
    assert verify_sink(sink).broken.seq == N + 1
    sink.append([record("later")])
    assert "its head says" in caplog.text
    assert list(sink.entries())[-1].record["test_id"] == "later"
    assert verify_sink(sink).broken.seq == N + 1


def test_sql_a_cut_table_keeps_taking_records_and_still_shows_the_cut(table, caplog):
    sink, run = table
    run(f"DELETE FROM aucert_audit WHERE seq > {N - 2}")
    sink.append([record("later")])
    assert "its head says" in caplog.text
    report = verify_sink(sink)
    assert (report.broken.seq, report.broken.fault) == (N - 1, Fault.MISSING)


def test_sql_a_deleted_head_is_seen_and_then_rebuilt_with_a_warning(table, caplog):
    sink, run = table
    run("DELETE FROM aucert_audit_head")
    assert verify_sink(sink).broken.fault is Fault.NO_HEAD
    sink.append([record("later")])
    assert "lost its head" in caplog.text
    report = verify_sink(sink)
    assert (report.broken.seq, report.broken.fault) == (N + 1, Fault.HEAD_REBUILT)


def test_sqlite_bytes_where_text_was_are_damage(tmp_path):
    sink = open_sink(f"sqlite:///{tmp_path}/audit.db")
    sink.append([record("a")])
    with closing(sqlite3.connect(tmp_path / "audit.db")) as connection, connection:
        connection.execute("UPDATE aucert_audit SET record = x'00ff'")
    assert [entry.damage for entry in sink.entries()] == [Damage.UNREADABLE]
    assert verify_sink(sink).broken.seq == 1


def test_the_hash_binds_number_predecessor_and_record():
    hashes = {
        entry_hash(1, "a", "b"),
        entry_hash(11, "a", "b"),
        entry_hash(1, "ab", ""),
        entry_hash(1, "", "ab"),
    }
    assert len(hashes) == 4


def test_sqlite_a_record_made_to_break_a_parser_is_damage(tmp_path):
    sink = open_sink(f"sqlite:///{tmp_path}/audit.db")
    sink.append([record("a")])
    with closing(sqlite3.connect(tmp_path / "audit.db")) as connection, connection:
        connection.execute("UPDATE aucert_audit SET record = ?", ("[" * 200_000,))
    assert verify_sink(sink).broken.seq == 1
