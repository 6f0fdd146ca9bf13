"""The queue before a sink: it never waits, never raises, and counts what it loses."""

from __future__ import annotations

import gc
import logging
import os
import threading
import time
import weakref

import pytest
from support.audit import child, record

from aucert_otel.audit import AuditWriter, SinkError, open_sink, verify_sink


class Gate:
    """A real sink whose appends can be held back, or made to fail."""

    def __init__(self, sink):
        self.sink = sink
        self.open = threading.Event()
        self.open.set()
        self.error = None
        self.calls = []
        self.called = threading.Event()

    def append(self, records):
        self.calls.append(len(records))
        self.called.set()
        self.open.wait(60)
        if self.error is not None:
            raise self.error
        self.sink.append(records)

    def __getattr__(self, name):
        return getattr(self.sink, name)


@pytest.fixture
def sink(tmp_path):
    return Gate(open_sink(tmp_path / "audit.jsonl"))


def ids(sink):
    return [entry.record["test_id"] for entry in sink.entries()]


def test_records_are_stored_in_order_and_flush_says_when(sink):
    writer = AuditWriter(sink)
    names = [str(n) for n in range(1500)]
    assert all(writer.put(record(name)) for name in names)
    assert writer.flush(60)
    assert ids(sink) == names
    assert verify_sink(sink).ok
    assert (writer.pending, dict(writer.dropped)) == (0, {})
    assert writer.close(60)


def test_what_piles_up_is_stored_in_batches(sink):
    writer = AuditWriter(sink, max_batch=10)
    sink.open.clear()
    for n in range(25):
        writer.put(record(str(n)))
    sink.called.wait(60)
    sink.open.set()
    assert writer.close(60)
    assert max(sink.calls) == 10
    assert sum(sink.calls) == 25


def test_no_thread_starts_before_the_first_record(sink):
    before = threading.active_count()
    writer = AuditWriter(sink)
    assert threading.active_count() == before
    assert writer.flush(0)
    assert writer.close(0)
    assert threading.active_count() == before


def test_a_full_queue_drops_counts_logs_once_and_tells_the_hook(sink, caplog):
    seen = []
    writer = AuditWriter(sink, max_queue=3, on_drop=lambda *drop: seen.append(drop))
    sink.open.clear()
    assert [writer.put(record(str(n))) for n in range(5)] == [True, True, True, False, False]
    assert dict(writer.dropped) == {"full": 2}
    assert seen == [("full", 1), ("full", 1)]
    assert caplog.text.count("audit records are dropped: full") == 1
    assert not writer.flush(0)
    sink.open.set()
    assert writer.flush(60)
    assert ids(sink) == ["0", "1", "2"]
    assert writer.close(60)


def test_the_dropped_counts_cannot_be_changed_from_outside(sink):
    with pytest.raises(TypeError):
        AuditWriter(sink).dropped["full"] = 0


def test_a_closed_writer_accepts_nothing_and_counts_it(sink):
    writer = AuditWriter(sink)
    writer.put(record("a"))
    assert writer.close(60)
    assert not writer.put(record("b"))
    assert dict(writer.dropped) == {"closed": 1}
    assert ids(sink) == ["a"]
    assert writer.close(60)


def test_close_keeps_its_deadline_and_counts_what_it_leaves(sink):
    writer = AuditWriter(sink, max_batch=2)
    sink.open.clear()
    for n in range(5):
        writer.put(record(str(n)))
    sink.called.wait(60)
    start = time.monotonic()
    assert not writer.close(0.05)
    assert time.monotonic() - start < 30
    assert dict(writer.dropped) == {"exit": 5}
    thread = writer._thread
    sink.open.set()
    thread.join(60)
    assert not thread.is_alive()


class Panic(BaseException):
    """What foreign code may raise: an extension's panic is no Exception."""


@pytest.mark.parametrize(
    "error",
    [
        OSError(28, "No space left"),
        SinkError("gone"),
        RuntimeError("third party"),
        Panic("third party"),
        KeyboardInterrupt("third party"),
        SystemExit("third party"),
        GeneratorExit("third party"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_failing_sink_is_tried_again_until_it_works_and_nothing_is_lost(sink, error, caplog):
    caplog.set_level(logging.WARNING)
    writer = AuditWriter(sink, retry_s=0.001, max_retry_s=0.002)
    sink.error = error
    for n in range(3):
        writer.put(record(str(n)))
    assert not writer.flush(0.05)
    while len(sink.calls) < 4:
        sink.called.clear()
        sink.called.wait(60)
    sink.error = None
    assert writer.flush(60)
    assert ids(sink) == ["0", "1", "2"]
    assert dict(writer.dropped) == {}
    assert caplog.text.count("records wait in memory") == 1
    assert "can be written again" in caplog.text
    assert "third party" not in caplog.text  # a foreign message may hold a secret
    assert writer.close(60)


def test_a_flush_ends_the_pause_after_a_failure(sink):
    writer = AuditWriter(sink, retry_s=3600, max_retry_s=3600)
    sink.error = OSError("down")
    writer.put(record("a"))
    sink.called.wait(60)
    assert not writer.flush(0)
    sink.error = None
    assert writer.flush(60)
    assert writer.close(60)


def test_the_queue_stays_bounded_while_the_sink_is_dead(sink):
    writer = AuditWriter(sink, max_queue=10, retry_s=0.001, max_retry_s=0.002)
    sink.error = SinkError("dead")
    accepted = sum(writer.put(record(str(n))) for n in range(1000))
    assert accepted == 10
    assert writer.pending == 10
    assert writer.dropped["full"] == 990
    assert not writer.close(0.01)
    assert dict(writer.dropped) == {"full": 990, "exit": 10}


def test_one_bad_record_does_not_take_its_batch_with_it(sink, caplog):
    writer = AuditWriter(sink)
    sink.open.clear()
    writer.put(record("first"))
    sink.called.wait(60)
    for name, cost in (("a", 0.0), ("bad", float("nan")), ("b", 0.0)):
        writer.put(record(name, cost_usd=cost))
    sink.open.set()
    assert not writer.flush(60)  # one of them was lost
    assert writer.flush(60)  # and that was said
    assert ids(sink) == ["first", "a", "b"]
    assert dict(writer.dropped) == {"rejected": 1}
    assert "ValueError" in caplog.text
    assert writer.close(60)


def test_a_record_may_be_built_on_the_writers_thread(sink):
    writer = AuditWriter(sink, retry_s=0.001, max_retry_s=0.002)
    built = []

    def build(name):
        built.append((name, threading.current_thread().name))
        if name == "bad":
            raise KeyError(name)
        return record(name)

    sink.error = OSError("down")
    for name in ("a", "bad", "b"):
        writer.put(lambda name=name: build(name))
    while len(sink.calls) < 3:
        sink.called.clear()
        sink.called.wait(60)
    sink.error = None
    assert not writer.flush(60)
    assert ids(sink) == ["a", "b"]
    assert dict(writer.dropped) == {"rejected": 1}
    assert {thread for _, thread in built} == {"aucert-audit"}
    assert [name for name, _ in built].count("a") == 1  # a retry does not build again
    assert writer.close(60)


@pytest.fixture
def said_by_threads(monkeypatch):
    """What reaches `threading.excepthook`: a thread that dies prints its exception there."""
    said = []
    monkeypatch.setattr(threading, "excepthook", said.append)
    return said


@pytest.mark.parametrize("kind", [Panic, KeyboardInterrupt, SystemExit])
def test_nothing_a_builder_a_sink_or_a_hook_raises_ends_the_writers_thread(
    sink, kind, said_by_threads, caplog
):
    def hook(reason, count):
        raise kind("secret of the hook")

    def build():
        raise kind("secret of the builder")

    writer = AuditWriter(sink, retry_s=0.001, max_retry_s=0.002, on_drop=hook)
    writer.put(build)
    writer.put(record("a"))
    assert not writer.flush(60)
    sink.error = kind("secret of the sink")
    sink.called.clear()
    writer.put(record("b"))
    assert sink.called.wait(60)
    sink.error = None
    assert writer.flush(60)
    assert ids(sink) == ["a", "b"]
    assert dict(writer.dropped) == {"rejected": 1}
    assert writer._thread.is_alive()
    assert writer.close(60)
    assert said_by_threads == []
    assert kind.__name__ in caplog.text
    assert "secret" not in caplog.text


def test_ctrl_c_while_the_caller_itself_drains_is_the_callers(sink, monkeypatch):
    def no_thread(self):
        raise RuntimeError("can't start new thread at interpreter shutdown")

    monkeypatch.setattr(threading.Thread, "start", no_thread)
    writer = AuditWriter(sink)
    writer.put(record("a"))
    sink.error = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        writer.close(60)
    sink.error = None
    assert writer.close(60)
    assert ids(sink) == ["a"]


def test_a_raising_hook_does_not_reach_the_caller(sink, monkeypatch):
    monkeypatch.delenv("AUCERT_OTEL_RAISE", raising=False)

    def hook(reason, count):
        raise RuntimeError("the user's own")

    writer = AuditWriter(sink, max_queue=0, on_drop=hook)
    assert writer.put(record()) is False
    assert dict(writer.dropped) == {"full": 1}


def test_many_threads_put_at_once(sink):
    writer = AuditWriter(sink, max_queue=100_000)

    def work(k):
        for n in range(200):
            writer.put(record(f"{k}-{n}"))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert writer.flush(60)
    stored = ids(sink)
    assert len(stored) == len(set(stored)) == 1600
    for k in range(8):
        assert [s for s in stored if s.startswith(f"{k}-")] == [f"{k}-{n}" for n in range(200)]
    assert writer.close(60)


def test_a_put_from_a_finalizer_in_the_middle_of_a_put_does_not_deadlock(sink):
    writer = AuditWriter(sink)

    class Thing:
        pass

    with writer._changed:  # as if a put were under way on this thread
        thing = Thing()
        weakref.finalize(thing, lambda: writer.put(record("from a finalizer")))
        del thing
        gc.collect()
    assert writer.flush(60)
    assert ids(sink) == ["from a finalizer"]
    assert writer.close(60)


def test_after_a_fork_parent_and_child_write_each_their_own(sink):
    writer = AuditWriter(sink)
    sink.open.clear()
    writer.put(record("parent before"))
    sink.called.wait(60)
    writer.put(record("parent queued"))
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            sink.open = threading.Event()
            sink.open.set()
            own = writer.pending == 0 and writer.put(record("child"))
            code = 0 if own and writer.flush(60) else 2
        finally:
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert ids(sink) == ["child"]
    sink.open.set()
    assert writer.flush(60)
    assert sorted(ids(sink)) == ["child", "parent before", "parent queued"]
    assert verify_sink(sink).ok
    assert writer.close(60)


AT_EXIT = """
import sys
from support.audit import record
from aucert_otel.audit import AuditWriter, open_sink
writer = AuditWriter(open_sink(sys.argv[1]))
for n in range(2000):
    writer.put(record(str(n)))
"""


def test_the_queue_is_drained_when_the_interpreter_exits(tmp_path):
    url = f"sqlite:///{tmp_path}/audit.db"
    process = child(url, code=AT_EXIT)
    said, error = process.communicate(timeout=120)
    assert (process.returncode, said, error) == (0, "", "")
    assert ids(open_sink(url)) == [str(n) for n in range(2000)]


EXIT_WITH_A_DEAD_SINK = """
from support.audit import record
from aucert_otel.audit import AuditWriter, open_sink
writer = AuditWriter(
    open_sink("postgresql://u:hunter2@127.0.0.1:1/x"), exit_timeout_s=0.2,
    on_drop=lambda reason, count: print(reason, count, flush=True),
)
for n in range(7):
    writer.put(record(str(n)))
"""


def test_a_dead_sink_does_not_keep_the_interpreter_and_the_loss_is_told():
    process = child(code=EXIT_WITH_A_DEAD_SINK)
    said, error = process.communicate(timeout=60)
    assert (process.returncode, said) == (0, "exit 7\n")
    assert "audit records are dropped: exit" in error
    assert "hunter2" not in error


EXIT_WITHOUT_THREADS = """
import sys, threading
from support.audit import record
from aucert_otel.audit import AuditWriter, open_sink
sink = open_sink(sys.argv[1])
writer = AuditWriter(sink)
def refuse(self):
    raise RuntimeError("can't start new thread at interpreter shutdown")
threading.Thread.start = refuse
print(writer.put(record("a")), writer.put(record("b")), writer.close(30))
print([entry.record["test_id"] for entry in sink.entries()])
"""


def test_where_no_thread_can_be_started_close_writes_by_itself(tmp_path):
    process = child(str(tmp_path / "audit.jsonl"), code=EXIT_WITHOUT_THREADS)
    said, error = process.communicate(timeout=60)
    assert said.splitlines() == ["True True True", "['a', 'b']"], error


IN_A_PROCESS_POOL = """
import multiprocessing, sys
from support.audit import record
from aucert_otel.audit import AuditWriter, open_sink
writer = AuditWriter(open_sink(sys.argv[1]))
def work(name):
    writer.put(record(name))
if __name__ == "__main__":
    writer.put(record("parent"))
    context = multiprocessing.get_context("fork")
    children = [context.Process(target=work, args=(f"child {n}",)) for n in range(3)]
    for one in children:
        one.start()
    for one in children:
        one.join()
"""


def test_worker_processes_drain_although_they_run_no_exit_handlers(tmp_path):
    path = tmp_path / "audit.jsonl"
    process = child(str(path), code=IN_A_PROCESS_POOL)
    _, error = process.communicate(timeout=120)
    assert process.returncode == 0, error
    assert sorted(ids(open_sink(path))) == ["child 0", "child 1", "child 2", "parent"]
    assert verify_sink(open_sink(path)).ok


def test_a_flush_during_a_failing_attempt_is_not_forgotten(sink):
    writer = AuditWriter(sink, retry_s=3600, max_retry_s=3600)
    sink.error = OSError("down")
    writer.put(record("a"))
    sink.called.wait(60)
    for _ in range(3):  # several failures in a row, each hurried on by a flush
        sink.called.clear()
        writer.flush(0)
        sink.called.wait(60)
    sink.error = None
    assert writer.flush(60)
    assert writer.close(60)
