from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.audit import record
from support.command import aucert, environment

from aucert_otel import __version__
from aucert_otel.audit import open_sink


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
