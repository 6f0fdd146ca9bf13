from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.audit import record
from support.command import aucert, environment

from aucert_otel import __version__
from aucert_otel.audit import open_sink
from aucert_otel.cli.audit import _opened
from aucert_otel.errors import ConfigurationError


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.jsonl"
    sink = open_sink(path)
    sink.append([record("t1"), record("t2\x1b[31m"), record("t3", decision="fail")])
    sink.close()
    return path


def test_the_version_and_the_commands_are_there(tmp_path: Path) -> None:
    assert aucert("--version", cwd=tmp_path).stdout.strip() == f"aucert {__version__}"
    said = aucert("--help", cwd=tmp_path).stdout
    assert all(command in said for command in ("check", "audit", "cascade", "demo"))


def test_without_typer_the_extra_is_named(tmp_path: Path) -> None:
    code = "import sys; sys.modules['typer'] = None\nfrom aucert_otel.cli import main\nmain()"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.strip() == (
        'aucert: the command line needs an extra: pip install "aucert-otel[cli]"'
    )


def test_a_whole_log_verifies_and_its_head_anchors_it(tmp_path: Path, log: Path) -> None:
    done = aucert("audit", "verify", "--url", log, cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout.startswith("whole: 3 records, each follows the one before it\nhead: ")
    head = done.stdout.splitlines()[1].removeprefix("head: ")
    again = aucert("audit", "verify", "--url", log, "--expect", head, cwd=tmp_path)
    assert again.returncode == 0
    assert "the expected hash is that of record 3" in again.stdout


def test_the_log_to_verify_may_stand_by_itself(tmp_path: Path, log: Path) -> None:
    for arguments in ((log,), (log, "--url", log), ("--url", log)):
        done = aucert("audit", "verify", *arguments, cwd=tmp_path)
        assert (done.returncode, done.stdout[:17]) == (0, "whole: 3 records,")
    done = aucert("audit", "verify", log, "--url", "other.jsonl", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "aucert: the log is named twice: give it as [URL] or as --url\n"


def test_a_head_made_anew_is_broken_until_a_head_kept_since_is_given(
    tmp_path: Path, log: Path
) -> None:
    log.with_name("log.jsonl.head").unlink()
    open_sink(log).append([record("t4")])
    done = aucert("audit", "verify", log, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout.startswith("BROKEN at record 4 (head_rebuilt): before entry 4 was written")
    head = done.stdout.splitlines()[-1].removeprefix("head: ")
    assert aucert("audit", "verify", log, "--expect", head, cwd=tmp_path).returncode == 0


@pytest.mark.parametrize("command", [("verify",), ("tail",), ("show", "t1")])
@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("notes.txt", "the audit log 'notes.txt' is not a place we can read: give jsonl:///"),
        ("gone.jsonl", "there is no audit log at 'gone.jsonl'"),
        ("gone/log.jsonl", "there is no audit log at 'gone/log.jsonl'"),
        ("sqlite:///gone.db", "there is no audit log at 'gone.db'"),
        ("folder.jsonl", "the audit log 'folder.jsonl' is a folder: name a file in it"),
        ("pipe.jsonl", "the audit log 'pipe.jsonl' is a pipe or a device: name a file"),
        ("link.jsonl", "the audit log 'link.jsonl' is a symbolic link, which is not followed"),
        ("sqlite:///notes.db", "file is not a database"),
    ],
)
def test_a_place_that_cannot_be_read_is_said_to_be_for_reading(
    tmp_path: Path, log: Path, command: tuple[str, ...], place: str, said: str
) -> None:
    (tmp_path / "folder.jsonl").mkdir()
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "link.jsonl").symlink_to(log)
    (tmp_path / "notes.db").write_text("no database at all, just a note of some length " * 9)
    done = aucert("audit", *command, "--url", place, cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert "write" not in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_log_that_may_not_be_read_is_named(
    tmp_path: Path, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(path: Path, flags: int) -> int:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr("aucert_otel.audit.jsonl.open_regular", refused)  # root may read anything
    with (
        pytest.raises(
            ConfigurationError,
            match=r"the audit log .*log\.jsonl cannot be read: Permission denied",
        ),
        _opened(str(log), None) as sink,
    ):
        sink.head()


def test_the_first_altered_record_is_named(tmp_path: Path, log: Path) -> None:
    log.write_text(
        log.read_text().replace('\\"decision\\":\\"fail\\"', '\\"decision\\":\\"pass\\"')
    )
    text = log.read_text().replace('"decision":"fail"', '"decision":"pass"')
    log.write_text(text)
    done = aucert("audit", "verify", "--url", log, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout.startswith("BROKEN at record 3 (altered): ")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("verify",), "which audit log is not said: give --url, or a aucert.yaml with audit.url"),
        (("verify", "--url", "gone.jsonl"), "there is no audit log at 'gone.jsonl'"),
        (("tail", "--url", "x://u:hunter22@h"), "there is no audit log for 'x://' URLs"),
    ],
)
def test_a_log_that_is_not_there_exits_2(
    tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    done = aucert("audit", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert said.replace(" a aucert", " an aucert") in done.stderr
    assert "hunter22" not in done.stderr


def test_tail_shows_the_last_records_without_acting_on_them(tmp_path: Path, log: Path) -> None:
    done = aucert("audit", "tail", "-n", "2", "--url", log, cwd=tmp_path)
    assert [line.split()[:4] for line in done.stdout.splitlines()] == [
        ["2", "2026-04-07T10:30:00.000Z", "pass", "ship"],
        ["3", "2026-04-07T10:30:00.000Z", "fail", "ship"],
    ]
    assert r"t2\x1b[31m" in done.stdout
    assert "\x1b" not in done.stdout


def test_show_prints_whole_records_as_json(tmp_path: Path, log: Path) -> None:
    done = aucert("audit", "show", "2", "--url", log, cwd=tmp_path)
    assert json.loads(done.stdout)["test_id"] == "t2\x1b[31m"
    missing = aucert("audit", "show", "t9", "--url", log, cwd=tmp_path)
    assert (missing.returncode, missing.stdout) == (1, "")
    assert "no record has the test id, trace id or number t9" in missing.stderr


def test_a_cascade_and_the_action_table_can_be_looked_at(tmp_path: Path) -> None:
    said = aucert("cascade", "show", cwd=tmp_path).stdout
    assert "1. rules: settles fail and pass, on the caller's thread" in said
    assert "nothing failed" in said
