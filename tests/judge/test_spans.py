"""The whole span tree of a judged answer, and what the audit record keeps of it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from support.rubric_judges import MARCH, fail, unsure

from aucert_otel import Cascade, Harness
from aucert_otel.audit import open_sink
from aucert_otel.report import NOT_NEUTRAL
from aucert_otel.telemetry import default_telemetry, set_default_telemetry


@pytest.fixture(autouse=True)
def telemetry(recorder):
    """The clients of judges write to the process's telemetry."""
    before = default_telemetry()
    set_default_telemetry(recorder.telemetry())
    yield
    set_default_telemetry(before)


def chat(model, usd):
    return {
        "aucert.llm.attempts": 1,
        "aucert.llm.cost.usd": usd,
        "aucert.llm.name": "haiku" if "haiku" in model else "sonnet",
        "aucert.llm.price.as_of": "2026-04-01",
        "aucert.llm.price.source": "table",
        "gen_ai.operation.name": "chat",
        "gen_ai.output.type": "json",
        "gen_ai.provider.name": "custom",
        "gen_ai.request.model": model,
        "gen_ai.response.finish_reasons": ["stop"],
        "gen_ai.response.id": "chatcmpl-1",
        "gen_ai.response.model": "served-1",
        "gen_ai.usage.input_tokens": round(usd * 1_000_000),
        "gen_ai.usage.output_tokens": 0,
        "server.address": "127.0.0.1",
    }


def stage_span(name, model, usd, **attributes):
    shown = {
        "aucert.judge.neutral": True,
        "aucert.stage.calls": 1,
        "aucert.stage.cost.usd": usd,
        "aucert.stage.name": name,
        "aucert.stage.status": "ok",
        **{f"aucert.stage.{key}": value for key, value in attributes.items()},
    }
    return {
        "name": f"aucert.stage {name}",
        "attributes": shown,
        "children": [{"name": f"chat {model}", "attributes": chat(model, usd)}],
    }


def plain(node):
    """A node without the server's port, which changes, and without its events."""
    found = {key: value for key, value in node.items() if key != "events"}
    found["attributes"] = {
        key: value for key, value in node["attributes"].items() if key != "server.port"
    }
    if "children" in node:
        found["children"] = [plain(child) for child in node["children"]]
    return found


def test_the_whole_tree_of_a_judge_and_the_stronger_one(bench, recorder):
    bench.judge = lambda call: call.reply(policy=fail(), complete=unsure())
    cascade = Cascade("support", [bench.rubric(), bench.second()], version="1")
    Harness(cascade, telemetry=recorder.telemetry()).verify(MARCH)
    assert recorder.balance.settled()
    (root,) = recorder.tree
    verify = plain(root)
    summary = verify.pop("attributes")
    assert verify == {
        "name": "aucert.verify support",
        "children": [
            stage_span(
                "rubric",
                "claude-haiku-4-5",
                0.0025,
                verdict="unclear",
                votes=[
                    "haiku/grounded:pass:0.95",
                    "haiku/policy:fail:0.97",
                    "haiku/on_topic:pass:0.95",
                    "haiku/complete:unclear:abstained",
                ],
            ),
            stage_span(
                "stronger_judge",
                "claude-sonnet-5",
                0.0075,
                verdict="fail",
                confidence=0.97,
                votes=["sonnet/complete:pass:0.95"],
            ),
        ],
    }
    assert summary == {
        "aucert.action": "repair",
        "aucert.action.row": "one_failure",
        "aucert.cascade.name": "support",
        "aucert.cascade.version": "1",
        "aucert.certified": False,
        "aucert.confidence": 0.97,
        "aucert.cost.unpriced": ["gpt-5.6-luna"],
        "aucert.cost.usd": 0.01,
        "aucert.criteria.failed": ["policy"],
        "aucert.criteria.passed": ["grounded", "on_topic", "complete"],
        "aucert.mode": "inline",
        "aucert.reasons": ["contradicted"],
        "aucert.sampling.probability": 1.0,
        "aucert.stage.reached": 2,
        "aucert.stages": ["rubric=unclear", "stronger_judge=fail"],
        "aucert.verdict": "fail",
    }
    assert MARCH.output not in recorder.everything()


def test_a_judge_of_the_same_family_says_so_on_its_span(bench, recorder):
    kin = replace(MARCH, model="claude-opus-5")
    Harness([bench.rubric()], telemetry=recorder.telemetry()).verify(kin)
    assert recorder.span("aucert.stage rubric").attributes["aucert.judge.neutral"] is False


def test_a_judge_that_a_strict_cascade_refuses_has_a_span_and_no_calls(bench, recorder):
    kin = replace(MARCH, model="claude-opus-5")
    strict = Cascade("support", [bench.rubric()], strict=True)
    Harness(strict, telemetry=recorder.telemetry()).verify(kin)
    (root,) = recorder.tree
    assert root["children"] == [
        {
            "name": "aucert.stage rubric",
            "status": "ERROR: refused",
            "attributes": {
                "aucert.judge.neutral": False,
                "aucert.stage.calls": 0,
                "aucert.stage.cost.usd": 0.0,
                "aucert.stage.error": NOT_NEUTRAL,
                "aucert.stage.name": "rubric",
                "aucert.stage.status": "refused",
            },
        }
    ]
    assert bench.calls == []


def test_the_audit_record_keeps_the_votes_and_whether_the_judge_was_neutral(bench, tmp_path):
    path = tmp_path / "audit.jsonl"
    answers = iter([fail(), fail(), None])
    bench.judge = lambda call: call.reply(policy=next(answers))
    with Harness([bench.rubric(runs=3)], audit=open_sink(f"jsonl:///{path}")) as harness:
        harness.verify(MARCH)
    record = json.loads(path.read_text())
    (stage,) = record.get("record", record)["stages"]
    assert stage["neutral"] is True
    said = sorted((v["verdict"], v["reason"]) for v in stage["votes"] if "/policy" in v["voter"])
    assert said == [("fail", None), ("fail", None), ("unclear", "malformed")]
    (policy,) = [f for f in record.get("record", record)["findings"] if f["verdict"] == "fail"]
    assert policy["measures"]["votes_unclear"] == 1.0
    assert policy["source"] == "aucert default rubric v1"
