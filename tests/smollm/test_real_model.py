"""All four stages with a real model: real sampling, real log probabilities, real bad answers.

SmolLM2 has 135 million parameters, and no judgement worth the name. What is asserted is that the run
ends, that nothing is lost, and that every row's record says what happened in words we know; never
what the model thinks.
"""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import product

import pytest
import yaml
from support.command import environment
from support.smollm import MODEL

from aucert_otel import Action, Reason, Status, Verdict
from aucert_otel.llm import ChatMessage, OpenAIChat, PriceBook, complete
from aucert_verifiers.stages.prompts import TOKEN_SCHEMA


pytestmark = pytest.mark.smollm

PRICE = {"input_per_mtok": 1.0, "output_per_mtok": 2.0, "as_of": "2026-04-01"}
COLOURS = ("red", "green", "blue", "white", "grey")
THINGS = ("button", "menu", "banner", "icon")
ROWS = [
    {
        "test_id": f"{colour}-{thing}",
        "scenario_id": thing,
        "question": f"Is the {thing} {colour}?",
        "output": f"The {thing} is {colour if n % 2 else 'black'}.",
    }
    for n, (colour, thing) in enumerate(product(COLOURS, THINGS))
]
"""20 of them, so short that a small processor reads them in seconds."""
STAGES = ("self_confidence", "self_consistency", "cross_model_vote", "debate")
MAX_TOKENS = 40
WAIT_S = 3_000


def settings(url):
    model = {
        "api": "openai",
        "base_url": url,
        "model": MODEL,
        "price": PRICE,
        "timeout": 600,
        "attempts": 1,
        "concurrency": 2,
    }
    roles = {"self": "a", "panel": ["a", "b", "b"], "debaters": "a", "judge": "b"}
    common = {"models": roles, "criterion": "The answer is right.", "max_tokens": MAX_TOKENS}
    stages = [{"verifier": name, "options": {**common, "grace_s": 300}} for name in STAGES]
    stages[0]["options"]["logprobs"] = True
    stages[0]["gate"] = {"pass_at": 0.95, "fail_at": 0.95}
    return {"models": {"a": model, "b": model}, "cascades": {"small": {"stages": stages}}}


@pytest.fixture
def model(small_model):
    made = OpenAIChat(MODEL, base_url=small_model, prices=PriceBook(bundled=False))
    yield made
    made.close()


def test_sampling_and_log_probabilities_are_real(model):
    ask = [ChatMessage("user", "Is snow white? Say pass for yes and fail for no.")]
    given = {"schema": TOKEN_SCHEMA, "max_tokens": 60, "logprobs": True}
    first, again = (complete(model, ask, temperature=1.0, seed=3, **given) for _ in range(2))
    assert first.finish_reason == "stop"
    assert first.data is not None
    assert first.data["verdict"] in ("pass", "fail")
    assert first.text == again.text
    assert first.logprobs
    # The server takes a code fence off the text, and leaves its tokens where they were.
    assert first.text in "".join(each.token for each in first.logprobs)
    assert all(each.logprob <= 1e-6 and each.alternatives for each in first.logprobs)
    assert first.usage.output_tokens
    assert first.usage.input_tokens
    assert (first.cost_usd, first.unpriced) == (None, (MODEL,))


def check(rows, url, folder):
    """``aucert check`` as a user runs it: its records, and what it said."""
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "aucert.yaml").write_text(yaml.safe_dump(settings(url)))
    done = subprocess.run(
        [
            *(sys.executable, "-c", "from aucert_otel.cli import main; main()"),
            *("check", "rows.jsonl", "--config", "aucert.yaml", "--out", "out.jsonl"),
            *("--concurrency", "2"),
        ],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert f"{len(rows)} row" in done.stdout
    return [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]


def look_through(record):
    """A record says what happened in words we know, what it cost, and who voted how."""
    assert record["decision"] in [each.value for each in Verdict]
    assert record["action"] in [each.value for each in Action]
    assert record["reasoning"]
    stages = record["stages"]
    assert [each["stage"] for each in stages] == list(STAGES[: record["stage_reached"]])
    assert record["cost_usd"] == pytest.approx(sum(each["cost_usd"] for each in stages))
    for stage in stages:
        assert stage["status"] in [each.value for each in Status]
        assert stage["calls"] > 0
        assert stage["cost_usd"] > 0
        assert stage["unpriced"] == []
        assert stage["votes"]
        for vote in stage["votes"]:
            assert vote["verdict"] in [None, *(each.value for each in Verdict)]
            assert vote["reason"] in [None, *(each.value for each in Reason)]
            assert vote["verdict"] or vote["error"]
    if record["stage_reached"] == len(STAGES) and stages[-1]["status"] == "ok":
        assert [turn["speaker"] for turn in record["transcript"][:4]] == [
            *("prosecutor", "defender"),
            *("prosecutor", "defender"),
        ]


def test_rows_go_through_the_cascade_and_each_has_a_record(small_model, tmp_path):
    (record,) = check(ROWS[:1], small_model, tmp_path)
    look_through(record)


@pytest.mark.slow
def test_twenty_rows_go_through_all_four_stages(small_model, tmp_path):
    records = check(ROWS, small_model, tmp_path)
    assert sorted(r["test_id"] for r in records) == sorted(row["test_id"] for row in ROWS)
    for record in records:
        look_through(record)
    assert {stage["stage"] for record in records for stage in record["stages"]} == set(STAGES)
    reasons = {v["reason"] for r in records for s in r["stages"] for v in s["votes"]}
    assert reasons & {"truncated", "malformed"}  # a model this small does not keep to any form
