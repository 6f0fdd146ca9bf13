"""``aucert calibrate`` as a user runs it, from labelled answers to a gate that obeys."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.command import aucert

from aucert_otel.measure import read_certificates


SETTINGS = """
cascades:
  app:
    stages:
      - {verifier: rules, name: first, settles: [], options: {rules: [{forbids: {pattern: never}}]}}
      - {verifier: rules, name: second, settles: [], options: {rules: [{length: {max_words: 3}}]}}
"""


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def judgements(right: int, wrong: int, **more: Any) -> list[dict[str, Any]]:
    row = {"confidence": 0.95, "verdict": "pass", "gold": "pass", "stage": "judge", **more}
    return [row] * right + [row | {"gold": "fail"}] * wrong


def test_judgements_become_a_table_and_certificates_by_stratum(tmp_path: Path) -> None:
    rows = judgements(60, 0, lang="en", fingerprint="f") + judgements(
        30, 30, lang="de", fingerprint="f"
    )
    write(tmp_path / "gold.jsonl", [*rows, {"verdict": "pass"}, {"verdict": "maybe"}])
    done = aucert(
        "calibrate",
        "gold.jsonl",
        "--by",
        "lang",
        "--grid",
        "0.9,0.5",
        "--out",
        "c.yaml",
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines() == [
        'line 122: verdict is "maybe": allowed are pass, fail, unclear'
    ]
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert lines == [
        "120 labelled answers; 1 bad row left out; 1 without gold",
        "alpha 0.1: at most that share of what a stage settles is wrong; delta 0.1 for each stratum",
        "stage stratum verdict arrive settled at cover error 95% interval",
        "judge de fail 60 0 0.9 0.0% - - not certified: 0 settled at 0.9, and at least 29 are needed",
        "judge de pass 60 60 0.9 100.0% 50.0% 36.8% to 63.2% not certified: up to 61.3% wrong at 0.9",
        "judge en fail 60 0 0.9 0.0% - - not certified: 0 settled at 0.9, and at least 29 are needed",
        "judge en pass 60 60 0.5 100.0% 0.0% 0.0% to 6.0% certified: at most 4.9% wrong",
        "certificates: c.yaml",
        "gate: {certificate: c.yaml#judge@de}",
        "gate: {certificate: c.yaml#judge@en}",
    ]
    made = read_certificates(tmp_path / "c.yaml")
    assert [(name, sorted(each.settles), each.pass_at) for name, each in made.items()] == [
        ("judge@de", [], None),
        ("judge@en", ["pass"], 0.5),
    ]


def test_records_of_a_check_are_calibrated_stage_by_stage(tmp_path: Path) -> None:
    (tmp_path / "aucert.yaml").write_text(SETTINGS)
    good, bad = {"output": "one two", "gold": "pass"}, {"output": "we never", "gold": "fail"}
    write(tmp_path / "in.jsonl", [good, bad] * 40)
    checked = aucert("check", "in.jsonl", "--cascade", "app", "--out", "gold.jsonl", cwd=tmp_path)
    assert checked.returncode == 0, checked.stderr
    done = aucert("calibrate", "gold.jsonl", "--alpha", "0.2", "--out", "c.yaml", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    first, second = read_certificates(tmp_path / "c.yaml").values()
    assert (first.pass_at, first.fail_at, first.n, first.after) == (0.5, 0.5, 80, ())
    assert (second.n, second.settles) == (0, frozenset())
    assert second.after == (f"first ({first.fingerprint}): fail at 0.5, pass at 0.5",)
    shown = aucert("calibrate", "gold.jsonl", "--alpha", "0.2", cwd=tmp_path)
    assert shown.stdout.splitlines() == done.stdout.splitlines()[:-3]


def test_records_of_other_checks_are_not_certified(tmp_path: Path) -> None:
    (tmp_path / "aucert.yaml").write_text(SETTINGS)
    write(tmp_path / "in.jsonl", [{"output": "one two", "gold": "pass"}])
    aucert("check", "in.jsonl", "--cascade", "app", "--out", "gold.jsonl", cwd=tmp_path)
    (tmp_path / "aucert.yaml").write_text(SETTINGS.replace("never", "always"))
    done = aucert("calibrate", "gold.jsonl", "--out", "c.yaml", cwd=tmp_path)
    assert done.returncode == 2
    assert "a certificate would be bound to checks that were not measured" in done.stderr
    assert not (tmp_path / "c.yaml").exists()
    shown = aucert("calibrate", "gold.jsonl", cwd=tmp_path)
    assert shown.returncode == 0
    assert "every stage is calibrated, since its settings are not known" in shown.stderr


def test_nothing_certified_is_no_error(tmp_path: Path) -> None:
    write(tmp_path / "gold.jsonl", judgements(3, 0))
    done = aucert("calibrate", "gold.jsonl", cwd=tmp_path)
    assert done.returncode == 0
    assert "not certified: 3 settled at 0.95, and at least 29 are needed" in done.stdout


@pytest.mark.parametrize(
    ("rows", "options", "sentence"),
    [
        ([], [], "has no labelled answer (0 bad rows, 0 without gold)"),
        (judgements(1, 0), ["--grid", "0.5,0.9"], "the grid is [0.5, 0.9]: it must descend"),
        (judgements(1, 0), ["--grid", "high"], '--grid is "high": write numbers with commas'),
        (judgements(1, 0), ["--alpha", "0"], "alpha is 0.0: give a share between 0 and 1"),
        (judgements(1, 0), ["--stage", "x"], '--stage is "x": allowed are judge'),
        (judgements(1, 0), ["--out", "gold.jsonl"], "--out gold.jsonl is the input itself"),
        (judgements(1, 0), ["--out", "c.yaml"], 'stage "judge" name no fingerprint'),
        (
            judgements(1, 0, fingerprint="a") + judgements(1, 0, fingerprint="b"),
            ["--out", "c.yaml"],
            'stage "judge" name several fingerprints',
        ),
        (
            [*judgements(1, 0), {"gold": "pass", "decision": "unclear", "stages": []}],
            [],
            "mixes records of aucert check with single judgements",
        ),
    ],
)
def test_what_cannot_be_calibrated_is_refused_in_one_sentence(
    tmp_path: Path, rows: list[dict[str, Any]], options: list[str], sentence: str
) -> None:
    write(tmp_path / "gold.jsonl", rows)
    done = aucert("calibrate", "gold.jsonl", *options, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["gold.jsonl"]
