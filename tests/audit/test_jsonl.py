"""The log as a file: what a crash, a full disk or a hand may leave, and what the next writer does."""

from __future__ import annotations

import os
import stat

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.audit import child, record

from aucert_otel.audit import Fault, tail, verify_sink
from aucert_otel.audit.jsonl import JsonlSink


@pytest.fixture
def path(tmp_path):
    return tmp_path / "audit.jsonl"


@pytest.fixture
def sink(path):
    return JsonlSink(path)


def ids(sink):
    return [entry.record.get("test_id") for entry in sink.entries()]


def test_the_log_and_its_head_are_for_their_owner_only(sink, path):
    sink.append([record("a")])
    for file in (path, path.with_name("audit.jsonl.head")):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert sorted(p.name for p in path.parent.iterdir()) == ["audit.jsonl", "audit.jsonl.head"]


def test_a_batch_costs_one_sync(sink, monkeypatch):
    sink.append([record("the first also syncs the folder")])
    synced = []
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(os.fstat(fd).st_size))
    sink.append([record(str(n)) for n in range(100)])
    assert synced == [sink.path.stat().st_size]


def test_a_line_is_plain_json_for_any_reader(sink, path):
    import json

    sink.append([record("ä \u2028 \n")])
    (line,) = path.read_bytes().splitlines(keepends=True)
    assert json.loads(line)["record"]["test_id"] == "ä \u2028 \n"


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.data())
def test_a_batch_cut_off_anywhere_by_a_crash_is_taken_up_without_loss(tmp_path_factory, data):
    """The state after kill -9 between the write and the head: any prefix of the last batch."""
    path = tmp_path_factory.mktemp("log") / "audit.jsonl"
    sink = JsonlSink(path)
    sink.append([record("a"), record("b")])
    acknowledged, head = path.read_bytes(), sink.head_path.read_bytes()
    sink.append([record("c"), record("d")])
    whole = path.read_bytes()
    cut = data.draw(st.integers(len(acknowledged), len(whole)))
    path.write_bytes(whole[:cut])
    sink.head_path.write_bytes(head)

    whole_lines = whole[:cut].count(b"\n")
    torn = not whole[:cut].endswith(b"\n")
    report = verify_sink(sink)
    assert report.ok
    assert (report.checked, report.beyond_head, report.torn) == (whole_lines, whole_lines - 2, torn)

    later = JsonlSink(path)
    later.append([record("e")])
    assert ids(later) == [*["a", "b", "c", "d"][:whole_lines], "e"]
    assert later.torn == torn
    report = verify_sink(later)
    assert (report.ok, report.beyond_head, report.torn) == (True, 0, False)


def test_cutting_off_a_torn_line_is_logged(sink, path, caplog):
    sink.append([record("a")])
    with path.open("ab") as file:
        file.write(b'{"hash":"0')
    sink.append([record("b")])
    assert "torn line of 10 bytes" in caplog.text
    assert sink.torn == 1


def test_a_crash_before_the_first_head_leaves_a_log_that_is_whole(sink, path):
    sink.append([record("a")])
    line = path.read_bytes()
    path.unlink()
    sink.head_path.write_bytes(b'{"count": 0, "hash": "' + b"0" * 64 + b'", "size": 0}')
    path.write_bytes(line)
    assert verify_sink(sink).ok
    sink.append([record("b")])
    assert ids(sink) == ["a", "b"]


def test_entries_missing_at_the_end_stay_missing_after_the_next_append(sink, path, caplog):
    sink.append([record(str(n)) for n in range(4)])
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:2]) + lines[2][:50])
    sink.append([record("later")])
    assert "entries are missing at its end" in caplog.text
    assert ids(sink) == ["0", "1", None, "later"]
    assert verify_sink(sink).broken.seq == 3
    path.write_bytes(b"".join(lines[:2]))
    sink.append([record("later still")])
    report = verify_sink(sink)
    assert (report.broken.seq, report.broken.fault) == (3, Fault.MISSING)


@pytest.mark.parametrize("foreign", [b"not ours\n", b"not ours\nnor this", b"\0\0\0\n"])
def test_foreign_lines_are_left_to_be_seen_and_later_records_are_kept(sink, path, foreign, caplog):
    sink.append([record("a")])
    with path.open("ab") as file:
        file.write(foreign)
    sink.append([record("b")])
    sink.append([record("c")])
    assert "that we did not write" in caplog.text
    assert foreign.strip() in path.read_bytes()
    assert ids(sink)[-2:] == ["b", "c"]
    report = verify_sink(sink)
    assert (report.broken.seq, report.broken.fault) == (2, Fault.ALTERED)


@pytest.mark.parametrize(
    "head", [None, b"", b"[]", b"{}", b'{"count": "x", "hash": 1, "size": []}', b"\xff"]
)
def test_a_lost_or_broken_head_is_seen_and_then_rebuilt_with_a_warning(sink, head, caplog):
    sink.append([record("a"), record("b")])
    sink.head_path.unlink()
    if head is not None:
        sink.head_path.write_bytes(head)
    assert verify_sink(sink).broken.fault is Fault.NO_HEAD
    sink.append([record("c")])
    assert "lost its head" in caplog.text
    report = verify_sink(sink)
    assert (report.broken.seq, report.broken.fault) == (3, Fault.HEAD_REBUILT)
    assert report.checked == 3
    assert ids(sink) == ["a", "b", "c"]


def test_a_log_deleted_while_its_head_stayed_is_seen(sink, path):
    sink.append([record("a")])
    path.unlink()
    report = verify_sink(sink)
    assert (report.broken.seq, report.broken.fault) == (1, Fault.TRUNCATED)
    sink.append([record("b")])
    assert verify_sink(sink).broken.seq == 1


FULL_DISK = """
import resource, sys
from support.audit import record
from aucert_otel.audit import open_sink, verify_sink
sink = open_sink(sys.argv[1])
sink.append([record("a"), record("b")])
size = sink.path.stat().st_size
for limit in (size + 100, size + 1, size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    try:
        sink.append([record("too much")] * 3)
    except OSError as error:
        print(type(error).__name__, sink.path.stat().st_size == size, verify_sink(sink).ok)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
sink.append([record("c")])
print(verify_sink(sink).ok, [e.record["test_id"] for e in sink.entries()])
"""


def test_a_full_disk_raises_and_leaves_the_log_as_it_was(path):
    process = child(str(path), code=FULL_DISK)
    said, error = process.communicate(timeout=60)
    assert said.splitlines() == ["OSError True True"] * 3 + ["True ['a', 'b', 'c']"], error


FULL_FOR_THE_HEAD = """
import resource, sys
from support.audit import record
from aucert_otel.audit import open_sink, verify_sink
sink = open_sink(sys.argv[1])
sink.append([record("a")])
size = sink.path.stat().st_size
write_all = __import__("aucert_otel.audit.jsonl", fromlist=["x"])
real = write_all._write_all
def limited(fd, data):
    if bytes(data[:9]) == b'{"count":':
        resource.setrlimit(resource.RLIMIT_FSIZE, (20, resource.RLIM_INFINITY))
    real(fd, data)
write_all._write_all = limited
try:
    sink.append([record("no room for its head")])
except OSError as error:
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    print(type(error).__name__, sink.path.stat().st_size == size, verify_sink(sink).ok)
"""


def test_no_room_for_the_head_takes_the_lines_back(path):
    process = child(str(path), code=FULL_FOR_THE_HEAD)
    said, error = process.communicate(timeout=60)
    assert said.splitlines() == ["OSError True True"], error


def test_a_log_that_cannot_be_written_raises_oserror(tmp_path):
    sink = JsonlSink(tmp_path / "gone" / "audit.jsonl")
    with pytest.raises(FileNotFoundError):
        sink.append([record()])
    assert list(sink.entries()) == []


def test_tail_shows_a_damaged_entry_as_damaged(sink, path):
    sink.append([record("a")])
    with path.open("ab") as file:
        file.write(b"junk\n")
    assert [entry.damage for entry in tail(sink, 2)] == [None, "unreadable"]


def test_a_child_forked_while_the_lock_is_held_does_not_keep_it(sink):
    read, write = os.pipe()
    with sink._locked(os.O_RDWR | os.O_APPEND | os.O_CREAT, sink._exclusive):
        pid = os.fork()
        if pid == 0:
            os.close(write)
            os.read(read, 1)  # lives, holding a copy of the descriptor, until told to end
            os._exit(0)
    try:
        sink.append([record("not blocked")])
    finally:
        os.write(write, b"x")
        os.waitpid(pid, 0)
        os.close(read)
        os.close(write)
    assert verify_sink(sink).ok
