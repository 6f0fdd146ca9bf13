"""Where ``--out`` may point, and that two runs never share it."""

from __future__ import annotations

import fcntl
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.command import ROOT, aucert


EXAMPLE = ROOT / "examples" / "support.jsonl"
AUDITED = "cascades: {{support: {{preset: rules}}}}\naudit: {{url: '{url}'}}\n"


@contextmanager
def special(path: Path, kind: str) -> Iterator[None]:
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "device":
        path.symlink_to("/dev/full")
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(path))
            yield
        return
    yield


@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("kind", ["pipe", "folder", "device", "socket"])
def test_only_a_regular_file_is_written_to(
    tmp_path: Path, kind: str, linked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # a socket's name must be short
    with special(Path("out"), kind):
        if linked:
            Path("link").symlink_to("out")
        name = "link" if linked else "out"
        done = aucert("check", EXAMPLE, "--out", name, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == f"aucert: --out {name} is a {kind}: name a file"


@pytest.mark.parametrize("kind", ["pipe", "folder", "device"])
def test_certificates_too_go_to_a_regular_file(tmp_path: Path, kind: str) -> None:
    with special(tmp_path / "out", kind):
        done = aucert("calibrate", EXAMPLE, "--out", "out", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == f"aucert: --out out is a {kind}: name a file"


@pytest.mark.parametrize("how", ["itself", "link", "hard link"])
@pytest.mark.parametrize(
    ("url", "file"),
    [
        ("jsonl:///log.jsonl", "log.jsonl"),
        ("jsonl:///log.jsonl", "log.jsonl.head"),
        ("log.jsonl", "log.jsonl.head.tmp"),
        ("sqlite:///log.db", "log.db"),
        ("sqlite:///log.db", "log.db-wal"),
    ],
)
def test_the_audit_log_is_never_the_output(tmp_path: Path, url: str, file: str, how: str) -> None:
    (tmp_path / "a.yaml").write_text(AUDITED.format(url=url))
    name = file
    if how == "link":
        (tmp_path / "link").symlink_to(file)  # the log need not be there yet
        name = "link"
    elif how == "hard link":
        (tmp_path / file).write_text("")
        (tmp_path / "link").hardlink_to(tmp_path / file)
        name = "link"
    done = aucert("check", EXAMPLE, "--config", "a.yaml", "--out", name, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == (
        f"aucert: --out {name} is the audit log, or a file that belongs to it: name another file"
    )
    assert not (tmp_path / file).exists() or (tmp_path / file).read_bytes() == b""


def test_beside_the_audit_log_an_output_is_written(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(AUDITED.format(url="jsonl:///log.jsonl"))
    done = aucert("check", EXAMPLE, "--config", "a.yaml", "--out", "out.jsonl", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert aucert("audit", "verify", "log.jsonl", cwd=tmp_path).returncode == 0
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 4


def test_a_second_run_on_one_output_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    aucert("check", EXAMPLE, "--out", "out.jsonl", cwd=tmp_path)
    torn = out.read_bytes() + b'{"line":'  # what another run is writing just now
    out.write_bytes(torn)
    with out.open("ab") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        done = aucert("check", EXAMPLE, "--out", "out.jsonl", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == (
        "aucert: another run is writing to out.jsonl: wait until it has ended, or name another --out"
    )
    assert out.read_bytes() == torn
    again = aucert("check", EXAMPLE, "--out", "out.jsonl", cwd=tmp_path)
    assert again.returncode == 0
    assert [json.loads(line)["line"] for line in out.read_text().splitlines()] == [1, 2, 3, 4]
