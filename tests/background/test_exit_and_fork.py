"""What was accepted is finished when the process ends, and a fork neither loses nor doubles anything."""

from __future__ import annotations

import time

import pytest
from support.process import finish, run, start

from aucert_otel.background import EXIT_TIMEOUT_S


SETUP = """
    import os, sys, asyncio, threading, aucert_otel
    from aucert_otel import Finding, Generation, Harness, Verdict
    async def judge(g):
        await asyncio.sleep(0)
        return Finding("fine", Verdict.PASS)
    class Blocking:
        name, blocking = "blocking", True
        def verify(self, g):
            return Finding("fine", Verdict.PASS)
    def outputs(h, count, name):
        for index in range(count):
            assert h.submit(Generation("x", tenant=f"{name}-{index}"))
"""


def http(sink):
    return {
        "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
        "OTEL_EXPORTER_OTLP_ENDPOINT": sink.http_endpoint,
    }


def tenants(sink):
    """Who was verified, from the verify spans; sorted, so that doubles show."""
    return sorted(
        span["attributes"]["aucert.tenant"]
        for span in sink.spans
        if span["name"].startswith("aucert.verify")
    )


def expected(name, count):
    return sorted(f"{name}-{index}" for index in range(count))


@pytest.mark.parametrize("check", ["judge", "Blocking()", "lambda g: []"])
@pytest.mark.parametrize("order", ["before", "after"])
def test_all_that_was_submitted_arrives_although_the_program_just_ends(sink, check, order):
    configure = "aucert_otel.configure()"
    run(
        SETUP
        + f"""
    {configure if order == "before" else ""}
    h = Harness([{check}])
    outputs(h, 1, "first")
    {configure if order == "after" else ""}
    outputs(h, 50, "t")
""",
        **http(sink),
    )
    assert set(tenants(sink)) >= set(expected("t", 50))
    assert len(tenants(sink)) == len(set(tenants(sink)))
    statuses = {
        span["attributes"]["aucert.stages"][0].partition("=")[2]
        for span in sink.spans
        if span["name"].startswith("aucert.verify")
    }
    assert "error" not in statuses


def test_what_a_last_exit_handler_or_thread_still_submits_or_verifies_is_not_lost(sink):
    out = run(
        SETUP
        + """
    import atexit
    h = Harness([judge])
    atexit.register(lambda: print(h.verify(Generation("x", tenant="late")).action))
    aucert_otel.configure()
    outputs(h, 1, "main")
    def lingers():
        threading.main_thread().join()
        outputs(h, 10, "thread")
    threading.Thread(target=lingers).start()
""",
        **http(sink),
    )
    assert out == "ship\n"
    assert set(tenants(sink)) >= {"main-0", *expected("thread", 10)}


STUCK = {
    "asynchronous": "async def stuck(g): await asyncio.Event().wait()",
    "on the loop": "async def stuck(g): threading.Event().wait()",
    "blocking": (
        "class Stuck:\n"
        "        name, blocking = 'stuck', True\n"
        "        def verify(self, g): threading.Event().wait()\n"
        "    stuck = Stuck()"
    ),
}


@pytest.mark.parametrize("kind", STUCK)
def test_a_stuck_check_does_not_keep_the_process_and_is_counted(sink, kind):
    process = start(
        SETUP
        + f"""
    aucert_otel.configure()
    aucert_otel.background.EXIT_TIMEOUT_S = 0.5
    {STUCK[kind]}
    h = Harness([stuck])
    outputs(h, 3, "t")
    print("end", flush=True)
""",
        **http(sink),
    )
    assert process.stdout.readline() == "end\n"
    started = time.monotonic()
    finish(process)
    assert time.monotonic() - started < EXIT_TIMEOUT_S + 10.0
    assert sink.metrics["aucert.background.dropped"] == [({"aucert.drop.reason": "exit"}, 3)]
    if kind != "on the loop":  # nobody can interrupt that one
        assert {span["status"] for span in sink.spans} == {"ERROR"}


def test_a_forked_child_verifies_and_flushes_and_the_parent_goes_on(sink):
    out = run(
        SETUP
        + """
    h = Harness([judge, Blocking()])
    aucert_otel.configure()
    outputs(h, 20, "before")
    children = []
    for number in range(3):
        pid = os.fork()
        if pid == 0:
            outputs(h, 10, f"child{number}")
            assert h.verify(Generation("x", tenant=f"inline{number}")).shipped
            done = h.flush(30.0)
            sys.stdout.flush()
            os._exit(0 if done else 9)
        children.append(pid)
    outputs(h, 20, "parent")
    assert h.verify(Generation("x", tenant="parent-inline")).shipped
    assert h.flush(30.0)
    print([os.waitpid(pid, 0)[1] for pid in children])
""",
        **http(sink),
    )
    assert out == "[0, 0, 0]\n"
    children = [f"child{n}-{i}" for n in range(3) for i in range(10)]
    assert tenants(sink) == sorted(
        [
            *expected("before", 20),
            *expected("parent", 20),
            *children,
            *[f"inline{n}" for n in range(3)],
            "parent-inline",
        ]
    )


def test_children_of_multiprocessing_drain_what_they_accepted(sink):
    out = run(
        SETUP
        + """
    import multiprocessing
    h = Harness([judge])
    def work(name):
        outputs(h, 10, name)
        return h.flush(30.0)
    if __name__ == "__main__":
        aucert_otel.configure()
        outputs(h, 10, "parent")
        with multiprocessing.get_context("fork").Pool(2) as pool:
            print(pool.map(work, ["a", "b", "c", "d"]))
            pool.close()
            pool.join()
""",
        **http(sink),
    )
    assert out == "[True, True, True, True]\n"
    assert tenants(sink) == sorted(
        name for n in ["a", "b", "c", "d", "parent"] for name in expected(n, 10)
    )


def test_a_fork_while_other_threads_are_busy_leaves_the_child_no_locked_lock():
    out = run(
        SETUP
        + """
    from support.providers import Recorder
    h = Harness([judge], telemetry=Recorder(keep=False).telemetry())
    stop = threading.Event()
    def busy():
        while not stop.is_set():
            h.submit(Generation("x"))
            h.verify(Generation("x"))
    threads = [threading.Thread(target=busy) for _ in range(4)]
    for thread in threads:
        thread.start()
    results = []
    for _ in range(20):
        pid = os.fork()
        if pid == 0:
            h.submit(Generation("y"))
            os._exit(0 if h.verify(Generation("y")).shipped and h.flush(30.0) else 9)
        results.append(os.waitpid(pid, 0)[1])
    stop.set()
    for thread in threads:
        thread.join()
    print(set(results))
""",
        timeout=90.0,
    )
    assert out == "{0}\n"
