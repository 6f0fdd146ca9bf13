"""The four stages from the command line: a file of settings, real HTTP, a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.command import ROOT, aucert, environment
from support.llm_server import Answer, LlmServer, failing
from support.scripted_check import KEYS, ROLES, Script, argues, says


MVP = f"{{app-tests: {{preset: aucert-mvp, models: {ROLES}}}}}"

DARK_MODE = "Navigate to Settings → Toggle dark mode → Verify background changes"
ADD_TO_CART = 'Verify "Add to Cart" button is disabled when item is out of stock'
SPINNER = "Verify loading spinner disappears within 3 seconds"
SEARCH = "Verify search results update when filter is applied"
RULING = (
    "Defender's argument is correct. Visual diff shows identical items in different order. "
    "The filter is a sort operation, not a filter."
)

SEED_FIELDS = {
    "test_id",
    "scenario_id",
    "stage_reached",
    "confidence_scores",
    "decision",
    "reasoning",
    "cost_usd",
    "latency_ms",
    "timestamp",
}


@pytest.fixture
def script() -> Iterator[Script]:
    with LlmServer() as server:
        yield Script(server)


def write(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def a_test(question: str, name: str, **more: Any) -> dict[str, Any]:
    return {
        "test_id": name,
        "scenario_id": f"scenario-{name}",
        "question": question,
        "output": "The screen shows what was expected.",
        **more,
    }


def unsure(said: str = "pass", confidence: float = 70) -> Answer:
    return says(said, confidence)


def split() -> dict[str, Answer]:
    return {
        "search for a fault fast": says("pass", 80),
        "own result first fast": says("fail", 80),
        "statement by statement fast": says("pass", 80),
    }


def worked_examples(script: Script) -> None:
    script.row(DARK_MODE, {"direct fast": says("pass", 98.2, "The background is dark.")})
    script.row(
        ADD_TO_CART,
        {
            "direct fast": says("fail", 87),
            "search for a fault fast": says("fail", 87, "Button appears tappable"),
            "own result first fast": says("fail", 91, "Button lacks disabled styling"),
            "statement by statement fast": says("fail", 85, "Button does not have reduced opacity"),
        },
    )
    script.row(
        SPINNER,
        {
            "direct fast": [unsure(), says("fail", 80, "Spinner still visible in frame 3")],
            **split(),
            "direct strong": says("pass", 85, "Spinner is transitioning out", usd=0.0045),
            "search for a fault strong": says("pass", 90, "2.8s, within threshold", usd=0.0045),
        },
    )
    script.row(
        SEARCH,
        {
            "direct fast": [unsure(), says("fail", 60)],
            **split(),
            "direct strong": says("unclear", 50, usd=0.0045),
            "search for a fault strong": says("unclear", 50, usd=0.0045),
            "prosecutor 1": argues("Results list is identical before and after"),
            "defender 1": argues("note item 2 and item 3 swapped"),
            "prosecutor 2": argues("A filter removes items."),
            "defender 2": argues("The control is labelled as a sort."),
            **{f"ruling {n}": says("pass", 90, RULING, usd=0.01) for n in (1, 2, 3)},
        },
    )


def test_the_worked_examples_end_where_the_specification_says(
    script: Script, tmp_path: Path
) -> None:
    worked_examples(script)
    script.settings(tmp_path)
    source = write(
        tmp_path / "in.jsonl",
        a_test(DARK_MODE, "dark", gold="pass"),
        a_test(ADD_TO_CART, "cart", gold="fail"),
        a_test(SPINNER, "spinner", gold="pass"),
        a_test(SEARCH, "search", gold="pass"),
    )
    done = aucert("check", source, "--out", "out.jsonl", cwd=tmp_path, **KEYS)
    assert done.returncode == 0, done.stderr
    dark, cart, spinner, search = read(tmp_path / "out.jsonl")
    assert all(row.keys() >= SEED_FIELDS for row in (dark, cart, spinner, search))
    found = [
        (row["test_id"], row["stage_reached"], row["decision"], row["action"])
        for row in (dark, cart, spinner, search)
    ]
    assert found == [
        ("dark", 1, "pass", "ship"),
        ("cart", 2, "fail", "person"),
        ("spinner", 3, "pass", "ship"),
        ("search", 4, "pass", "ship"),
    ]
    costs = [row["cost_usd"] for row in (dark, cart, spinner, search)]
    assert costs == [pytest.approx(usd) for usd in (0.001, 0.004, 0.014, 0.064)]
    own = [row["stages"][-1] for row in (dark, cart, spinner, search)]
    assert [stage["cost_usd"] for stage in own] == [
        pytest.approx(usd) for usd in (0.001, 0.003, 0.01, 0.05)
    ]
    assert [stage["calls"] for stage in own] == [1, 3, 3, 7]
    assert [script.asked[q] for q in (DARK_MODE, ADD_TO_CART, SPINNER, SEARCH)] == [1, 4, 7, 14]
    assert dark["confidence_scores"] == [0.982]
    assert dark["reasoning"] == "Self-confidence score 98.2% exceeds 95% threshold"
    assert [vote["why"] for vote in cart["stages"][1]["votes"]] == [
        "Button appears tappable",
        "Button lacks disabled styling",
        "Button does not have reduced opacity",
    ]
    assert dark["transcript"] == cart["transcript"] == spinner["transcript"] == []
    assert [(turn["speaker"], turn["round"]) for turn in search["transcript"]] == [
        ("prosecutor", 1),
        ("defender", 1),
        ("prosecutor", 2),
        ("defender", 2),
        ("judge", 1),
        ("judge", 2),
        ("judge", 3),
    ]
    assert search["transcript"][-1]["text"] == RULING
    for key in KEYS.values():
        assert key not in done.stdout + done.stderr + (tmp_path / "out.jsonl").read_text()


def test_a_run_ends_with_both_tables(script: Script, tmp_path: Path) -> None:
    worked_examples(script)
    script.settings(tmp_path)
    source = write(
        tmp_path / "in.jsonl",
        a_test(DARK_MODE, "dark", gold="pass"),
        a_test(ADD_TO_CART, "cart", gold="fail"),
        a_test(SPINNER, "spinner", gold="pass"),
        a_test(SEARCH, "search", gold="pass"),
    )
    done = aucert("check", source, "--tests-per-day", "2000", cwd=tmp_path, **KEYS)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    start = lines.index(next(line for line in lines if line.startswith("by stage")))
    assert [line.split() for line in lines[start + 1 : start + 6]] == [
        ["1", "self_confidence", "100.0%", "$0.0010", "$0.0010", "25.0%", "$60.00"],
        ["2", "self_consistency", "75.0%", "$0.0030", "$0.0040", "25.0%", "$135.00"],
        ["3", "cross_model_vote", "50.0%", "$0.0100", "$0.0140", "25.0%", "$300.00"],
        ["4", "debate", "25.0%", "$0.0500", "$0.0640", "25.0%", "$750.00"],
        ["average,", "and", "all", "$0.0208", "$1,245.00"],
    ]
    assert lines[start + 7].strip() == "2,000 tests a day x 30 days x reached x cost/test"
    targets = {
        words[0].strip(): words[1:]
        for words in (line.split("  ") for line in (each.strip() for each in lines[start + 9 :]))
        if len(words) > 2
    }
    said = {
        name: [word.strip() for word in words if word.strip()] for name, words in targets.items()
    }
    assert said["FPR, good answers failed"][:3] == ["< 5%", "0.0%", "0.0% to 70.8%"]
    assert said["FNR, bad answers passed"][:3] == ["< 10%", "0.0%", "0.0% to 97.5%"]
    assert said["stage 1, resolved there"] == [
        "~80%",
        "25.0%",
        "0.6% to 80.6%",
        "1 of 4",
        "not enough data",
    ]
    assert said["cost, mean"] == ["< $0.005", "$0.0208", "-", "4", "not enough data"]
    assert said["latency, p95"][0] == "< 5 s"
    assert "FPR: of the rows with gold pass, those decided fail." in done.stdout


def test_a_tenant_s_threshold_decides_about_its_rows_only(script: Script, tmp_path: Path) -> None:
    script.row("row-one", {"direct fast": says("pass", 96)})
    script.row("row-two", {"direct fast": says("pass", 96)})
    script.settings(
        tmp_path,
        cascades=MVP,
        tenants="{default: {cascade: app-tests}, acme: {thresholds: {self_confidence: 0.97}}}",
    )
    source = write(
        tmp_path / "in.jsonl",
        a_test("row-one", "one"),
        a_test("row-two", "two", tenant="acme"),
    )
    done = aucert("check", source, "--out", "out.jsonl", cwd=tmp_path, **KEYS)
    assert done.returncode == 0, done.stderr
    one, two = read(tmp_path / "out.jsonl")
    assert (one["decision"], one["action"]) == ("pass", "ship")
    assert (two["decision"], two["action"]) == ("unclear", "person")
    assert one["cascade"] == two["cascade"] == "app-tests"
    assert one["cascade_version"] != two["cascade_version"]
    again = aucert("check", source, "--out", "out.jsonl", cwd=tmp_path, **KEYS)
    assert "2 rows checked, 2 of them by an earlier run" in again.stdout
    assert len(script.server.requests) == 2


def test_money_that_would_be_passed_ends_the_run_and_a_person_decides(
    script: Script, tmp_path: Path
) -> None:
    script.row("row-one", {"direct fast": says("pass", 70)})
    script.settings(tmp_path, tenants="{default: {budget: {usd: 0.003}}}")
    source = write(tmp_path / "in.jsonl", a_test("row-one", "one"))
    done = aucert("check", source, "--out", "out.jsonl", cwd=tmp_path, **KEYS)
    assert done.returncode == 0, done.stderr
    (row,) = read(tmp_path / "out.jsonl")
    assert (row["decision"], row["action"]) == ("unclear", "person")
    assert [stage["status"] for stage in row["stages"]] == [
        "ok",
        "over_budget",
        "over_budget",
        "over_budget",
    ]
    assert row["cost_usd"] == pytest.approx(0.001)
    assert script.asked["row-one"] == 1
    assert "not run   1 row had a check that did not run" in done.stdout
    assert "none: to a person" in done.stdout
    second = next(line for line in done.stdout.splitlines() if "2 self_consistency" in line)
    assert second.split()[2] == "0.0%"


def test_time_that_runs_out_is_no_verdict(script: Script, tmp_path: Path) -> None:
    never = threading.Event()
    script.row("row-one", {"direct fast": Answer(says("pass", 99).body, gate=never)})
    script.settings(tmp_path, tenants="{default: {budget: {seconds: 0.3}}}")
    source = write(tmp_path / "in.jsonl", a_test("row-one", "one"))
    done = aucert("check", source, "--out", "out.jsonl", cwd=tmp_path, **KEYS)
    never.set()
    assert done.returncode == 0, done.stderr
    (row,) = read(tmp_path / "out.jsonl")
    assert (row["decision"], row["action"]) == ("unclear", "person")
    assert {stage["status"] for stage in row["stages"]} == {"over_budget"}


def test_a_server_that_fails_is_no_verdict(script: Script, tmp_path: Path) -> None:
    script.row("row-one", {"direct fast": failing(500)})
    script.settings(tmp_path, cascades=MVP)
    source = write(tmp_path / "in.jsonl", a_test("row-one", "one"))
    done = aucert("check", source, "--out", "out.jsonl", cwd=tmp_path, **KEYS)
    assert done.returncode == 0, done.stderr
    (row,) = read(tmp_path / "out.jsonl")
    assert (row["decision"], row["action"]) == ("unclear", "person")
    assert row["stages"][0]["status"] == "unavailable"


@pytest.mark.parametrize("value", ["", "  "])
def test_a_missing_key_is_said_before_anything_is_called(
    script: Script, tmp_path: Path, value: str
) -> None:
    script.settings(tmp_path)
    source = write(tmp_path / "in.jsonl", a_test("row-one", "one"))
    done = aucert("check", source, cwd=tmp_path, FAST_KEY=KEYS["FAST_KEY"], STRONG_KEY=value)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == (
        "aucert: aucert.yaml: models.strong: model 'gpt-5.1-codex': the environment variable "
        "STRONG_KEY holds no key: set it, or name another one with api_key_env"
    )
    assert KEYS["FAST_KEY"] not in done.stdout + done.stderr
    assert script.server.requests == []


def test_an_estimate_calls_nothing_and_needs_no_key(script: Script, tmp_path: Path) -> None:
    script.settings(tmp_path)
    # 2,000 characters of answer and no question are 500 tokens, beside 500 of instructions.
    source = write(tmp_path / "in.jsonl", *[{"output": "x" * 2_000}] * 10)
    done = aucert("check", source, "--estimate", cwd=tmp_path, FAST_KEY="", STRONG_KEY="")
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert lines[0] == ["10", "rows", "to", "check;", "nothing", "was", "called"]
    assert lines[3:8] == [
        ["1", "self_confidence", "100.0%", "$0.0010", "$0.0010", "80.0%", "$30.00"],
        ["2", "self_consistency", "20.0%", "$0.0030", "$0.0040", "15.0%", "$18.00"],
        ["3", "cross_model_vote", "5.0%", "$0.0030", "$0.0070", "4.0%", "$4.50"],
        ["4", "debate", "1.0%", "$0.0070", "$0.0140", "1.0%", "$2.10"],
        ["average,", "and", "all", "$0.0018", "$54.60"],
    ]
    assert "these rows: $0.0182 as assumed, $0.1400 if every row needs every stage" in done.stdout
    assert script.server.requests == []


def test_ctrl_c_while_a_judge_is_asked_keeps_what_is_done(script: Script, tmp_path: Path) -> None:
    held = threading.Event()
    script.row("row-one", {"direct fast": says("pass", 99)})
    late = says("pass", 99)
    script.row("row-two", {"direct fast": [Answer(late.body, gate=held), late]})
    script.settings(tmp_path, cascades=MVP)
    source = write(tmp_path / "in.jsonl", a_test("row-one", "one"), a_test("row-two", "two"))
    command = ("check", str(source), "--out", "out.jsonl", "--concurrency", "1")
    running = subprocess.Popen(
        [sys.executable, "-c", "from aucert_otel.cli import main; main()", *command],
        cwd=tmp_path,
        env=environment(**KEYS),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    script.server.wait_for_requests(2)  # one at a time: the first row is checked by now
    os.kill(running.pid, signal.SIGINT)
    _, errors = running.communicate(timeout=60)
    held.set()
    assert running.returncode == 130
    assert b"1 row under way abandoned: the same command goes on from here" in errors
    assert [row["test_id"] for row in read(tmp_path / "out.jsonl")] == ["one"]
    done = aucert(*command, cwd=tmp_path, **KEYS)
    assert "2 rows checked, 1 of them by an earlier run" in done.stdout
    assert [row["test_id"] for row in read(tmp_path / "out.jsonl")] == ["one", "two"]


def test_the_example_of_app_tests_can_be_estimated_and_shown(tmp_path: Path) -> None:
    settings = ROOT / "examples" / "app-tests.yaml"
    rows = ROOT / "examples" / "app-tests.jsonl"
    done = aucert("check", rows, "--config", settings, "--estimate", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "4 rows to check; nothing was called" in done.stdout
    assert "unknown" not in done.stdout
    shown = aucert("cascade", "show", "--tenant", "acme", "--config", settings, cwd=tmp_path)
    assert "1. self_confidence: settles fail and pass (pass at 0.97, fail at 0.97)" in shown.stdout
    assert "4. debate: settles fail and pass, on the worker" in shown.stdout
