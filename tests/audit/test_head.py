"""The head beside a log: made anew only with a word in the chain, and never trusted as it stands."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.audit import record

from aucert_otel.audit import Fault, SinkError, open_sink, verify_sink
from aucert_otel.audit.jsonl import JsonlSink
from aucert_otel.errors import ConfigurationError


@pytest.fixture
def sink(tmp_path: Path) -> JsonlSink:
    sink = JsonlSink(tmp_path / "audit.jsonl")
    for name in "abcde":
        sink.append([record(name)])
    return sink


def cut(sink: JsonlSink, keep: int) -> None:
    lines = sink.path.read_bytes().splitlines(keepends=True)
    sink.path.write_bytes(b"".join(lines[:keep]))


def test_cutting_entries_and_deleting_the_head_does_not_heal_itself(sink: JsonlSink) -> None:
    cut(sink, 3)
    sink.head_path.unlink()
    for name in "fgh":
        sink.append([record(name)])
        report = verify_sink(sink)
        assert report.broken is not None
        assert (report.broken.seq, report.broken.fault) == (4, Fault.HEAD_REBUILT)
    assert [e.record.get("head_rebuilt") for e in sink.entries()] == [
        *[None] * 3,
        "missing",
        None,
        None,
    ]


def test_a_head_kept_since_accepts_the_rebuilding_and_an_older_one_does_not(
    sink: JsonlSink,
) -> None:
    older = verify_sink(sink).last_hash
    sink.head_path.unlink()
    sink.append([record("f")])
    kept = verify_sink(sink).last_hash
    sink.append([record("g")])
    report = verify_sink(sink, kept)
    assert (report.ok, report.checked, report.anchored_at) == (True, 7, 6)
    again = verify_sink(sink, older).broken
    assert again is not None
    assert again.fault is Fault.HEAD_REBUILT


def test_the_word_about_the_head_is_covered_by_the_hash(sink: JsonlSink) -> None:
    sink.head_path.unlink()
    sink.append([record("f")])
    text = sink.path.read_text()
    assert text.count('"head_rebuilt":"missing",') == 1
    sink.path.write_text(text.replace('"head_rebuilt":"missing",', ""))
    broken = verify_sink(sink).broken
    assert broken is not None
    assert (broken.seq, broken.fault) == (6, Fault.ALTERED)


def test_entries_after_the_head_are_taken_up_with_a_word_in_the_chain(sink: JsonlSink) -> None:
    head = sink.head_path.read_bytes()
    sink.append([record("f")])
    sink.head_path.write_bytes(head)  # as after a kill between the two
    sink.append([record("g")])
    report = verify_sink(sink)
    assert (report.ok, report.caught_up) == (True, 1)
    assert [e.record.get("head_rebuilt") for e in sink.entries()][-2:] == [None, "behind"]


def test_what_an_application_writes_is_not_taken_for_a_word_about_the_head(
    sink: JsonlSink,
) -> None:
    sink.append([record('","head_rebuilt":"missing"', findings=({"head_rebuilt": "missing"},))])
    report = verify_sink(sink)
    assert (report.ok, report.caught_up) == (True, 0)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2),
    max_leaves=4,
)
HEADS = st.one_of(
    st.binary(max_size=30),
    st.fixed_dictionaries(
        {
            "count": JSON | st.integers(-9, 9) | st.just(10**400),
            "hash": JSON | st.just("x") | st.just("0" * 64),
            "size": JSON | st.integers(-9, 9),
        }
    ).map(lambda value: json.dumps(value).encode()),
)


@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(HEADS)
def test_no_head_somebody_made_up_passes_and_none_stops_later_records(
    tmp_path_factory: pytest.TempPathFactory, head: bytes
) -> None:
    sink = JsonlSink(tmp_path_factory.mktemp("log") / "audit.jsonl")
    sink.append([record("a"), record("b")])
    cut(sink, 1)
    sink.head_path.write_bytes(head)
    report = verify_sink(sink)
    # A head that is behind by its form is as good as one left by a kill, and is said to be.
    assert not report.ok or report.beyond_head == 1
    sink.append([record("c")])
    assert [e.record.get("test_id") for e in sink.entries()][-1] == "c"
    report = verify_sink(sink)
    assert not report.ok or report.caught_up == 1


@pytest.mark.parametrize(
    ("count", "digest"), [(-5, "'x'"), (5, "'x'"), ("'many'", "'x'"), (10**18, f"'{'a' * 64}'")]
)
def test_sql_a_head_somebody_made_up_is_broken_now_and_later(
    tmp_path: Path, count: object, digest: str
) -> None:
    sink = open_sink(f"sqlite:///{tmp_path}/audit.db")
    sink.append([record("a"), record("b")])
    with closing(sqlite3.connect(tmp_path / "audit.db")) as connection, connection:
        connection.execute(f"UPDATE aucert_audit_head SET last_seq = {count}, hash = {digest}")
    broken = verify_sink(sink).broken
    assert broken is not None
    assert broken.fault is Fault.NO_HEAD
    sink.append([record("c")])
    broken = verify_sink(sink).broken
    assert broken is not None
    assert (broken.seq, broken.fault) == (3, Fault.HEAD_REBUILT)


@pytest.mark.parametrize("kind", ["link", "hard link", "fifo"])
def test_nothing_is_written_through_what_lies_where_the_draft_goes(
    sink: JsonlSink, tmp_path: Path, kind: str
) -> None:
    victim, draft = tmp_path / "victim", tmp_path / "audit.jsonl.head.tmp"
    victim.write_text("precious")
    if kind == "link":
        draft.symlink_to(victim)
    elif kind == "hard link":
        draft.hardlink_to(victim)
    else:
        os.mkfifo(draft)
    sink.append([record("f")])
    assert victim.read_text() == "precious"
    assert not sink.head_path.is_symlink()
    assert verify_sink(sink).ok


@pytest.mark.parametrize("kind", ["link", "fifo"])
def test_a_head_that_is_no_file_is_broken_and_is_replaced(
    sink: JsonlSink, tmp_path: Path, kind: str
) -> None:
    moved = tmp_path / "elsewhere"
    sink.head_path.rename(moved)
    if kind == "link":
        sink.head_path.symlink_to(moved)
    else:
        os.mkfifo(sink.head_path)
    broken = verify_sink(sink).broken
    assert broken is not None
    assert broken.fault is Fault.NO_HEAD
    before = moved.read_bytes()
    sink.append([record("f")])
    assert moved.read_bytes() == before
    assert sink.head_path.is_file()


def special(path: Path, kind: str) -> None:
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "link":
        path.with_name("target.jsonl").write_text("")
        path.symlink_to(path.with_name("target.jsonl"))
    elif kind == "device":
        path.symlink_to("/dev/full")
    else:
        path.symlink_to(path.with_name("nowhere.jsonl"))


KINDS = pytest.mark.parametrize("kind", ["fifo", "link", "device", "dangling link"])


@KINDS
def test_a_log_that_is_no_regular_file_is_refused_when_it_is_opened(
    tmp_path: Path, kind: str
) -> None:
    path = tmp_path / "audit.jsonl"
    special(path, kind)
    with pytest.raises(ConfigurationError, match=r"name (a|the) file"):
        open_sink(path)


@KINDS
def test_what_took_the_place_of_a_log_is_neither_read_nor_written(
    tmp_path: Path, kind: str
) -> None:
    path = tmp_path / "audit.jsonl"
    sink = open_sink(path)
    special(path, kind)
    with pytest.raises(SinkError, match=r"name (a|the) file"):
        sink.append([record("a")])
    with pytest.raises(SinkError, match=r"name (a|the) file"):
        list(sink.entries())
    assert not (tmp_path / "nowhere.jsonl").exists()
