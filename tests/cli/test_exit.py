"""How the command line ends: interrupted, unread, or with nothing it could do."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.audit import record
from support.command import ROOT, aucert, environment

from aucert_otel.audit import open_sink


EXAMPLE = ROOT / "examples" / "support.jsonl"

INTERRUPTED = """
import os, signal, sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == MODULE:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
from aucert_otel.cli import main
main()
"""


@pytest.mark.parametrize(
    "module", ["typer", "rich", "yaml", "aucert_otel.config", "aucert_verifiers.rules"]
)
def test_ctrl_c_while_something_is_imported_ends_with_130_and_no_traceback(
    tmp_path: Path, module: str
) -> None:
    code = INTERRUPTED.replace("MODULE", repr(module))
    done = subprocess.run(
        [sys.executable, "-c", code, "check", str(EXAMPLE)],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (130, "")
    assert "Traceback" not in done.stderr


@pytest.fixture
def log(tmp_path: Path) -> Path:
    sink = open_sink(tmp_path / "log.jsonl")
    sink.append([record(str(n)) for n in range(3)])
    return tmp_path / "log.jsonl"


COMMANDS = pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["check", str(EXAMPLE)],
        ["check", str(EXAMPLE), "--out", "-"],
        ["check", str(EXAMPLE), "--estimate"],
        ["cascade", "show"],
        ["audit", "verify", "log.jsonl"],
        ["audit", "tail", "--url", "log.jsonl"],
        ["audit", "tail", "--json", "--url", "log.jsonl"],
        ["audit", "show", "1", "--url", "log.jsonl"],
    ],
    ids=" ".join,
)


def shell(line: str, arguments: list[str], cwd: Path) -> subprocess.CompletedProcess[str]:
    code = "from aucert_otel.cli import main; main()"
    return subprocess.run(
        ["/bin/sh", "-c", line, sys.executable, "-c", code, *arguments],
        cwd=cwd,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@COMMANDS
@pytest.mark.usefixtures("log")
def test_a_reader_that_went_away_ends_it_quietly_with_141(
    tmp_path: Path, arguments: list[str]
) -> None:
    # The pipe's reader is gone before anything can be written to it.
    line = 'mkfifo gone; (exec 5<gone) & exec 4>gone; wait; "$0" "$@" >&4 4>&-; echo $?'
    done = shell(line, arguments, tmp_path)
    assert done.stdout == "141\n", done.stderr
    assert "Traceback" not in done.stderr
    assert "Broken" not in done.stderr
    assert "ignored" not in done.stderr


@COMMANDS
@pytest.mark.usefixtures("log")
def test_an_output_that_is_full_is_said_and_exits_2(tmp_path: Path, arguments: list[str]) -> None:
    done = shell('"$0" "$@" >/dev/full', arguments, tmp_path)
    assert done.returncode == 2
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    assert "ignored" not in done.stderr


@COMMANDS
@pytest.mark.usefixtures("log")
def test_a_standard_output_that_is_closed_at_the_start_is_refused(
    tmp_path: Path, arguments: list[str]
) -> None:
    done = shell('"$0" "$@" >&-', arguments, tmp_path)
    assert (done.returncode, done.stderr) == (
        2,
        "aucert: standard output is closed: send it to /dev/null instead\n",
    )


def test_a_standard_error_that_is_closed_takes_nothing_away(tmp_path: Path) -> None:
    done = shell('"$0" "$@" 2>&-', ["check", str(EXAMPLE)], tmp_path)
    assert done.returncode == 0
    assert done.stdout.startswith("4 rows checked\n")


@pytest.mark.parametrize("estimate", [[], ["--estimate"]])
class TestRowsThatCannotBeChecked:
    def test_an_input_of_bad_rows_only_exits_2(self, tmp_path: Path, estimate: list[str]) -> None:
        (tmp_path / "bad.jsonl").write_text("nope\n{}\n[]\n")
        done = aucert("check", "bad.jsonl", *estimate, cwd=tmp_path)
        assert done.returncode == 2
        assert done.stderr.splitlines()[-1] == "no row of bad.jsonl could be checked"
        assert "3 bad rows left out" in done.stdout

    def test_one_good_row_is_enough(self, tmp_path: Path, estimate: list[str]) -> None:
        (tmp_path / "in.jsonl").write_text('nope\n{"output": "x"}\n')
        assert aucert("check", "in.jsonl", *estimate, cwd=tmp_path).returncode == 0

    @pytest.mark.parametrize("text", ["", "\n\n"])
    def test_an_empty_input_is_no_fault_and_is_said(
        self, tmp_path: Path, estimate: list[str], text: str
    ) -> None:
        (tmp_path / "empty.jsonl").write_text(text)
        done = aucert("check", "empty.jsonl", *estimate, cwd=tmp_path)
        assert done.returncode == 0
        assert done.stderr.splitlines()[-1] == "empty.jsonl holds no row"
        assert done.stdout.startswith("0 rows ")

    def test_a_mistake_in_the_settings_is_said_once_and_not_once_a_row(
        self, tmp_path: Path, estimate: list[str]
    ) -> None:
        (tmp_path / "a.yaml").write_text(
            "cascades: {a: {preset: rules}}\ntenants: {acme: {cascade: a}}\n"
        )
        rows = [{"output": "x"}, {"output": "y", "tenant": "other"}] * 3
        (tmp_path / "in.jsonl").write_text("\n".join(map(json.dumps, rows)))
        done = aucert("check", "in.jsonl", "--config", "a.yaml", *estimate, cwd=tmp_path)
        assert done.returncode == 2
        assert done.stderr.splitlines() == [
            "settings: a.yaml",
            'line 1: a.yaml: there is no tenant "default" and no default: known are acme',
            'line 2: a.yaml: there is no tenant "other" and no default: known are acme',
            "2 further rows left out for the same reason as line 1",
            "2 further rows left out for the same reason as line 2",
            "no row of in.jsonl could be checked",
        ]
