"""What every sink promises, on real files and real databases."""

from __future__ import annotations

import os
import signal

import pytest
from support.audit import child, record

from aucert_otel.audit import Fault, open_sink, show, tail, verify_sink


@pytest.fixture
def sink(url):
    opened = open_sink(url)
    yield opened
    opened.close()


def ids(sink):
    return [entry.record["test_id"] for entry in sink.entries()]


def test_an_empty_log_is_whole_and_has_no_entries(sink):
    assert verify_sink(sink).ok
    assert tail(sink) == []
    assert show(sink, "anything") == []


def test_records_come_back_in_order_as_they_were_written(sink):
    written = [record("a", tenant="Zoë \U0001f33b \u2028 \n\0"), record("b"), record("c")]
    sink.append(written[:1])
    sink.append(written[1:])
    entries = list(sink.entries())
    assert [entry.seq for entry in entries] == [1, 2, 3]
    assert [entry.record for entry in entries] == [one.to_dict() for one in written]
    report = verify_sink(sink)
    assert report.ok
    assert (report.checked, report.beyond_head, report.torn) == (3, 0, False)
    assert report.head is not None
    assert report.head.hash == report.last_hash == entries[-1].hash


def test_appending_nothing_changes_nothing(sink):
    sink.append([])
    assert verify_sink(sink).checked == 0


def test_a_record_that_is_no_json_is_refused_and_nothing_of_its_batch_is_stored(sink):
    sink.append([record("a")])
    with pytest.raises(ValueError, match="nan"):
        sink.append([record("b"), record("c", cost_usd=float("nan"))])
    with pytest.raises(TypeError, match="object"):
        sink.append([record("d", findings=({"x": object()},))])
    assert ids(sink) == ["a"]
    sink.append([record("e")])
    assert verify_sink(sink).ok


def test_very_long_and_odd_ids_are_stored_whole_and_found(sink):
    long = "x" * 5000 + "\0\ud800'\"\\"
    sink.append([record("other"), record(long, trace_id=None)])
    stored = list(sink.entries())[1].record["test_id"]
    assert stored == "x" * 5000 + "\0\\ud800'\"\\"
    assert [entry.seq for entry in show(sink, stored)] == [2]
    assert show(sink, "x" * 300) == []
    assert show(sink, "\udcff") == []  # an argument the shell could not decode
    assert verify_sink(sink).ok


def test_show_finds_by_test_id_trace_id_and_number(sink):
    sink.append([record("a", trace_id="f" * 32), record("b"), record("3", trace_id="f" * 32)])
    assert [e.seq for e in show(sink, "a")] == [1]
    assert [e.seq for e in show(sink, "f" * 32)] == [1, 3]
    assert [e.seq for e in show(sink, 2)] == [2]
    assert [e.seq for e in show(sink, "3")] == [3]
    assert show(sink, "9" * 40) == []


def test_tail_gives_the_last_entries_oldest_first(sink):
    sink.append([record(str(n)) for n in range(5)])
    assert [e.seq for e in tail(sink, 2)] == [4, 5]
    assert [e.seq for e in tail(sink, 99)] == [1, 2, 3, 4, 5]
    assert tail(sink, 0) == []


def test_an_anchor_kept_elsewhere_proves_what_was_written_before_it(sink):
    sink.append([record("a"), record("b")])
    anchor = verify_sink(sink).last_hash
    sink.append([record("c")])
    report = verify_sink(sink, expect=anchor.upper())
    assert (report.ok, report.anchored_at, report.checked) == (True, 2, 3)
    other = verify_sink(sink, expect="f" * 64)
    assert other.broken is not None
    assert other.broken.fault is Fault.NOT_ANCHORED


def test_four_processes_append_at_once_and_the_chain_holds(url):
    writers = [child(url, f"p{n}", "50", "4") for n in range(4)]
    said = [writer.communicate(timeout=300) for writer in writers]
    assert [writer.returncode for writer in writers] == [0] * 4, [err for _, err in said]
    sink = open_sink(url)
    stored = ids(sink)
    acknowledged = [name for out, _ in said for name in out.split()]
    assert len(stored) == 800
    assert sorted(stored) == sorted(acknowledged)
    for n in range(4):  # each writer's own records keep their order
        mine = [name for name in stored if name.startswith(f"p{n}-")]
        assert mine == said[n][0].split()
    assert verify_sink(sink).ok
    sink.close()


@pytest.mark.parametrize("killed_after", [1, 7, 23])
def test_what_was_acknowledged_survives_kill_9(url, killed_after):
    writer = child(url, "k", "100000", "3")
    acknowledged = []
    for line in writer.stdout:
        acknowledged.append(line.strip())
        if len(acknowledged) == killed_after * 3:
            os.kill(writer.pid, signal.SIGKILL)
            break
    rest, _ = writer.communicate(timeout=60)
    # a line is complete only with its end: the kill may have cut the pipe's last one
    acknowledged += rest.split("\n")[:-1]
    sink = open_sink(url)
    assert verify_sink(sink).ok
    stored = ids(sink)[: len(acknowledged)]
    assert stored == acknowledged
    sink.append([record("after the crash")])
    report = verify_sink(sink)
    assert report.ok
    assert (report.beyond_head, report.torn) == (0, False)
    assert ids(sink)[-1] == "after the crash"
    sink.close()


def test_a_sink_works_on_both_sides_of_a_fork(sink):
    sink.append([record("before")])
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            sink.append([record(f"child-{n}") for n in range(3)])
            code = 0
        finally:
            os._exit(code)
    sink.append([record("parent")])
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    sink.append([record("parent again")])
    assert len(ids(sink)) == 6
    assert verify_sink(sink).ok
