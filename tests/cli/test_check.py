from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.command import ROOT, aucert, environment

from aucert_otel.audit import open_sink, tail
from aucert_otel.config.presets import preset_names


EXAMPLE = ROOT / "examples" / "support.jsonl"
SETTINGS = ROOT / "examples" / "aucert.yaml"


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def write(path: Path, *lines: object) -> Path:
    path.write_text("".join(f"{x if isinstance(x, str) else json.dumps(x)}\n" for x in lines))
    return path


def test_the_example_is_checked_and_summed_up(tmp_path: Path) -> None:
    done = aucert("check", EXAMPLE, "--config", SETTINGS, "--out", "out.jsonl", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert lines == [" ".join(line.split()) for line in SUMMARY]


SUMMARY = [
    "4 rows checked",
    "verdicts  2 pass, 2 fail",
    "actions   2 ship, 2 repair",
    "",
    "by stage, support  reached  cost/test  cumulative  resolved  monthly",
    "  1 rules           100.0%         $0          $0    100.0%       $0",
    "  average, and all                 $0                             $0",
    "  a test that reaches stage k pays for the stages 1 to k; monthly is",
    "  1,000 tests a day x 30 days x reached x cost/test",
    "",
    "against the targets        target   measured     95% interval    rows",
    "  FPR, good answers failed    < 5%       0.0%    0.0% to 97.5%  0 of 1  not enough data",
    "  FNR, bad answers passed    < 10%      33.3%    0.8% to 90.6%  1 of 3  not enough data",
    "  stage 1, resolved there     ~80%     100.0%  39.8% to 100.0%  4 of 4  not enough data",
    "  cost, mean              < $0.005         $0                -       4  not enough data",
    "  latency, p50                        < 0.1 s                        4",
    "  latency, p95               < 5 s    < 0.1 s                -       4  not enough data",
    "  FPR: of the rows with gold pass, those decided fail. FNR: of the rows with gold",
    "  fail, those decided pass. Unclear is an error in neither: a person decides.",
    "",
    "does not ship:",
    "  line 1: citation -> repair: rules settled fail: cited_ids (unsupported)",
    "  line 3: truncated -> repair: rules settled fail: finish_reason (truncated)",
    "records: out.jsonl",
]


def test_an_output_row_is_an_audit_record(tmp_path: Path) -> None:
    aucert("check", EXAMPLE, "--config", SETTINGS, "--out", "out.jsonl", cwd=tmp_path)
    first, *_ = rows(tmp_path / "out.jsonl")
    wanted = [
        "test_id",
        "scenario_id",
        "stage_reached",
        "stage",
        "confidence_scores",
        "decision",
        "action",
        "reasoning",
        "findings",
        "stages",
        "cost_usd",
        "latency_ms",
        "timestamp",
        "cascade",
        "cascade_version",
        "tenant",
        "trace_id",
        "span_id",
        "transcript",
        "gold",
        "line",
    ]
    assert set(wanted) <= first.keys()
    assert (first["test_id"], first["stage_reached"], first["decision"], first["action"]) == (
        "citation",
        1,
        "fail",
        "repair",
    )
    assert (first["mode"], first["gold"]) == ("check", "fail")
    assert first["findings"][1]["why"] == (
        "the answer cites article 212, but search returned articles 118 and 140"
    )


def test_records_quote_nothing_where_that_is_not_wanted(tmp_path: Path) -> None:
    aucert("check", EXAMPLE, "--no-content", "--out", "out.jsonl", cwd=tmp_path)
    assert "article 212" not in (tmp_path / "out.jsonl").read_text()


def test_bad_rows_are_named_counted_and_do_not_stop_the_rest(tmp_path: Path) -> None:
    source = write(
        tmp_path / "in.jsonl",
        {"output": "fine", "finish_reason": "stop"},
        {"question": "q"},
        {"output": "x", "evidence": [{"text": "t", "id": [212]}]},
        {"output": "x", "evidence": [{"text": "t", "effective_from": "soon"}]},
        "nope",
        {"output": "fine too", "finish_reason": "stop", "rank": 1},
    )
    done = aucert("check", source, "--out", "out.jsonl", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr.splitlines()[1:] == [
        "line 2: output is missing: every row needs the answer's text",
        "line 3: evidence[0].id is a list: it must be text or a whole number",
        (
            'line 4: evidence[0].effective_from is "soon": write a date as YYYY-MM-DD, such as '
            "2026-03-01"
        ),
        "line 5: not JSON at column 1 (expecting value): write one JSON object a line",
        "nobody reads the key rank (1 row)",
    ]
    assert done.stdout.splitlines()[0] == "2 rows checked; 4 bad rows left out"
    assert [row["test_id"] for row in rows(tmp_path / "out.jsonl")] == ["line-1", "line-6"]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            "cascades: [",
            (
                "aucert: bad.yaml: line 1, column 12: expected the node content, but found "
                "'<stream end>'"
            ),
        ),
        (
            "cascades: {a: {preset: ruls}}",
            'aucert: bad.yaml: cascades.a.preset is "ruls": allowed are '
            + ", ".join(preset_names()),
        ),
    ],
)
def test_unusable_settings_exit_2_with_one_sentence(
    tmp_path: Path, settings: str, said: str
) -> None:
    (tmp_path / "bad.yaml").write_text(settings)
    done = aucert("check", EXAMPLE, "--config", "bad.yaml", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr.strip()) == (2, "", said)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nope.jsonl",), "aucert: nope.jsonl: No such file or directory"),
        ((".",), "aucert: . is a folder: name a file of JSON lines"),
        ((str(EXAMPLE), "--out", str(EXAMPLE)), "is the input itself: name another file"),
        ((str(EXAMPLE), "--cascade", "x"), "there is no aucert.yaml here and no preset 'x'"),
        ((str(EXAMPLE), "--config", str(SETTINGS), "--cascade", "x"), 'no cascade "x": known are'),
    ],
)
def test_unusable_input_exits_2(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    done = aucert("check", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr


def test_a_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    lines = EXAMPLE.read_text().splitlines()
    source = write(tmp_path / "in.jsonl", *lines[:2])
    first = aucert("check", source, "--out", "out.jsonl", cwd=tmp_path)
    before = (tmp_path / "out.jsonl").read_bytes()
    (tmp_path / "out.jsonl").write_bytes(before + b'{"line":3,"input":"torn')
    write(source, *lines, lines[0])
    again = aucert("check", source, "--out", "out.jsonl", cwd=tmp_path)
    assert (first.returncode, again.returncode) == (0, 0)
    assert "the last line was cut off by an interrupted run" in again.stderr
    assert again.stdout.splitlines()[0] == "5 rows checked, 2 of them by an earlier run"
    written = (tmp_path / "out.jsonl").read_bytes()
    assert written.startswith(before)
    assert [row["line"] for row in rows(tmp_path / "out.jsonl")] == [1, 2, 3, 4, 5]
    whole = aucert("check", source, "--out", "whole.jsonl", cwd=tmp_path)
    assert whole.stdout.splitlines()[1:-1] == again.stdout.splitlines()[1:-1]


@pytest.mark.parametrize("text", ["my notes", "my notes\n", '{"line":1}\n', "[]\n"])
def test_a_file_that_is_not_ours_is_left_alone(tmp_path: Path, text: str) -> None:
    (tmp_path / "notes.txt").write_text(text)
    done = aucert("check", EXAMPLE, "--out", "notes.txt", cwd=tmp_path)
    assert done.returncode == 2
    assert "notes.txt line 1 is not a record of aucert check" in done.stderr
    assert (tmp_path / "notes.txt").read_text() == text


def test_records_of_another_cascade_are_not_added_to(tmp_path: Path) -> None:
    aucert("check", EXAMPLE, "--out", "out.jsonl", cwd=tmp_path)
    done = aucert("check", EXAMPLE, "--config", SETTINGS, "--out", "out.jsonl", cwd=tmp_path)
    assert done.returncode == 2
    assert 'was written by the cascade "rules" version' in done.stderr


def test_standard_input_and_output(tmp_path: Path) -> None:
    done = aucert("check", "-", "--out", "-", cwd=tmp_path, stdin=EXAMPLE.read_bytes())
    assert done.returncode == 0
    assert [json.loads(line)["test_id"] for line in done.stdout.splitlines()] == [
        "citation",
        "clean",
        "truncated",
        "march",
    ]
    assert "4 rows checked" in done.stderr


def test_an_estimate_calls_nothing_and_says_that_rules_are_free(tmp_path: Path) -> None:
    done = aucert("check", EXAMPLE, "--estimate", cwd=tmp_path)
    assert (done.returncode, done.stdout.splitlines()) == (
        0,
        [
            "4 rows to check; nothing was called",
            "no model is asked: these rows cost $0",
        ],
    )


def test_a_row_s_tenant_chooses_the_cascade(tmp_path: Path) -> None:
    (tmp_path / "aucert.yaml").write_text(
        "cascades:\n  lax: {preset: rules, rules: [finish_reason]}\n"
        "  short: {preset: rules, rules: [finish_reason, {length: {max_words: 1}}]}\n"
        "tenants: {default: {cascade: lax}, acme: {cascade: short}}\n"
    )
    answer = {"output": "two words", "finish_reason": "stop"}
    source = write(tmp_path / "in.jsonl", answer, {**answer, "tenant": "acme"})
    done = aucert("check", source, "--out", "out.jsonl", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = [(row["cascade"], row["decision"]) for row in rows(tmp_path / "out.jsonl")]
    assert found == [("lax", "pass"), ("short", "fail")]


def test_decisions_go_to_the_audit_log_as_checks(tmp_path: Path) -> None:
    (tmp_path / "aucert.yaml").write_text(
        "cascades: {rules: {preset: rules}}\naudit: {url: 'jsonl:///log.jsonl'}\n"
    )
    assert aucert("check", EXAMPLE, cwd=tmp_path).returncode == 0
    sink = open_sink(tmp_path / "log.jsonl")
    found = [(entry.record["test_id"], entry.record["mode"]) for entry in tail(sink)]
    assert found[0] == ("citation", "check")
    assert len(found) == 4
    assert aucert("audit", "verify", cwd=tmp_path).returncode == 0


def test_hostile_ids_do_not_reach_the_terminal(tmp_path: Path) -> None:
    source = write(
        tmp_path / "in.jsonl",
        {"output": "x", "finish_reason": "length", "test_id": "\x1b[31m[bold]\u202e"},
        {"output": "x", "\x1b]0;owned\x07": 1, "gold": "\x1b[2J"},
    )
    done = aucert("check", source, cwd=tmp_path)
    assert r"\x1b[31m[bold]\u202e -> " in done.stdout
    assert "\x1b" not in done.stdout + done.stderr


def test_ctrl_c_keeps_what_is_done_and_the_next_run_goes_on(tmp_path: Path) -> None:
    line = EXAMPLE.read_bytes().splitlines(keepends=True)[0]
    running = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "from aucert_otel.cli import main; main()",
            *("check", "-", "--out", "-"),
        ],
        cwd=tmp_path,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert running.stdin is not None
    assert running.stdout is not None
    running.stdin.write(line)
    running.stdin.flush()
    assert json.loads(running.stdout.readline())["test_id"] == "citation"
    os.kill(running.pid, signal.SIGINT)  # it waits for a second line that never comes
    assert running.wait(timeout=60) == 130
    running.stdin.close()
    assert running.stderr is not None
    assert "the same command goes on from here" in running.stderr.read().decode()
    running.stdout.close()
    running.stderr.close()


def test_a_full_disk_is_one_sentence(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    with open("/dev/full", "wb") as full:  # noqa: PTH123 - a device
        done = subprocess.run(
            [
                sys.executable,
                "-c",
                "from aucert_otel.cli import main; main()",
                *("check", str(EXAMPLE), "--out", "-"),
            ],
            cwd=tmp_path,
            env=environment(),
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
    assert done.returncode != 0
    assert b"No space left on device" in done.stderr
