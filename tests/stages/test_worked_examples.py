"""The specification's four worked examples, through the whole cascade and a real HTTP client."""

from __future__ import annotations

import json
from uuid import uuid4

import pytest
from support.judges import verdict

from aucert_otel import Action, Generation, Harness, Verdict
from aucert_otel.audit import open_sink
from aucert_otel.telemetry import Boundary


SEED_FIELDS = [
    "test_id",
    "scenario_id",
    "stage_reached",
    "confidence_scores",
    "decision",
    "reasoning",
    "cost_usd",
    "latency_ms",
    "timestamp",
]


def stage_1_unsure(court, said="pass", confidence=70):
    court.says("direct fast", verdict(said, confidence), usd=0.001)


def stage_2_split(court, *said):
    for wording, each in zip(
        ("search for a fault", "own result first", "statement by statement"), said, strict=True
    ):
        court.says(f"{wording} fast", verdict(each, 80), usd=0.001)


@pytest.fixture
def run(court, recorder, tmp_path):
    """Run a test's observation through the cascade; give the outcome and its audit record."""

    def run(question, output):
        path = tmp_path / "audit.jsonl"
        telemetry = recorder.telemetry(Boundary(capture_content=True))
        generation = Generation(
            output, question=question, test_id=str(uuid4()), scenario_id=str(uuid4())
        )
        with Harness(
            court.cascade(), audit=open_sink(f"jsonl:///{path}"), telemetry=telemetry
        ) as harness:
            outcome = harness.verify(generation)
        (line,) = path.read_text().splitlines()
        record = json.loads(line)
        record = record.get("record", record)
        assert not set(SEED_FIELDS) - record.keys()
        assert record["test_id"] == generation.test_id
        assert record["scenario_id"] == generation.scenario_id
        return outcome, record

    return run


def test_dark_mode_passes_at_stage_1(court, run):
    court.says("direct fast", verdict("pass", 98.2, "The background is dark."), usd=0.001)
    outcome, record = run(
        "Navigate to Settings → Toggle dark mode → Verify background changes",
        "The background changed from white to dark grey.",
    )
    assert (outcome.report.verdict, outcome.action) == (Verdict.PASS, Action.SHIP)
    assert outcome.report.stage == "self_confidence"
    assert [s.calls for s in outcome.report.stages] == [1]
    assert court.asked == ["direct fast"]
    assert record["stage_reached"] == 1
    assert record["confidence_scores"] == [0.982]
    assert record["decision"] == "pass"
    assert record["cost_usd"] == 0.001
    assert "98.2%" in record["reasoning"]


def test_add_to_cart_fails_at_stage_2_by_three_of_three(court, run):
    stage_1_unsure(court, "fail", 87)
    court.says("search for a fault fast", verdict("fail", 87, "Button appears tappable"))
    court.says("own result first fast", verdict("fail", 91, "Button lacks disabled styling"))
    court.says(
        "statement by statement fast", verdict("fail", 85, "Button does not have reduced opacity")
    )
    outcome, record = run(
        'Verify "Add to Cart" button is disabled when item is out of stock',
        "The button is shown disabled.",
    )
    stage = outcome.report.stages[-1]
    assert (outcome.report.verdict, stage.stage) == (Verdict.FAIL, "self_consistency")
    assert (stage.calls, stage.cost_usd) == (3, pytest.approx(0.003))
    assert stage.confidence == pytest.approx((0.87 + 0.91 + 0.85) / 3)
    assert [str(vote) for vote in stage.votes] == [
        "fast:fail:0.87",
        "fast#2:fail:0.91",
        "fast#3:fail:0.85",
    ]
    assert record["stage_reached"] == 2
    assert record["decision"] == "fail"
    assert record["cost_usd"] == pytest.approx(0.004)
    assert [v["why"] for v in record["stages"][1]["votes"]] == [
        "Button appears tappable",
        "Button lacks disabled styling",
        "Button does not have reduced opacity",
    ]
    assert len(court.asked) == 4


def to_stage_3(court):
    stage_1_unsure(court)
    stage_2_split(court, "pass", "fail", "pass")


def test_loading_spinner_passes_at_stage_3_by_two_of_three(court, run):
    to_stage_3(court)
    court.says(
        "direct fast",
        verdict("pass", 70),
        verdict("fail", 80, "Spinner still visible in frame 3"),
        usd=0.001,
    )
    court.says(
        "direct strong",
        verdict("pass", 85, "Spinner is transitioning out, partially visible due to animation"),
        usd=0.0045,
    )
    court.says(
        "search for a fault strong",
        verdict("pass", 90, "Frame timing shows spinner at 2.8s, within threshold"),
        usd=0.0045,
    )
    outcome, record = run(
        "Verify loading spinner disappears within 3 seconds", "The spinner is gone after 2.8 s."
    )
    stage = outcome.report.stages[-1]
    assert (outcome.report.verdict, outcome.action) == (Verdict.PASS, Action.SHIP)
    assert stage.stage == "cross_model_vote"
    assert (stage.calls, stage.cost_usd) == (3, pytest.approx(0.01))
    assert [str(vote) for vote in stage.votes] == [
        "fast:fail:0.80",
        "strong:pass:0.85",
        "strong#2:pass:0.90",
    ]
    assert record["stage_reached"] == 3
    assert record["cost_usd"] == pytest.approx(0.014)
    assert stage.unpriced == ()


def test_search_results_pass_at_stage_4_with_seven_calls_and_a_transcript(court, run, recorder):
    to_stage_3(court)
    for call in ("direct strong", "search for a fault strong"):
        court.says(call, verdict("unclear", 50), usd=0.0045)
    prosecutor = (
        "Results list is identical before and after applying the 'Price: Low to High' filter"
    )
    defender = (
        "Results are the same items but the order has changed — note item 2 and item 3 swapped"
    )
    court.says("prosecutor 1", prosecutor, usd=0.005)
    court.says("defender 1", defender, usd=0.005)
    court.says("prosecutor 2", "A filter removes items.", usd=0.005)
    court.says("defender 2", "The control is labelled as a sort.", usd=0.005)
    ruling = (
        "Defender's argument is correct. Visual diff shows identical items in different order. The "
        "filter is a sort operation, not a filter."
    )
    for number in (1, 2, 3):
        court.says(f"ruling {number}", verdict("pass", 90, ruling), usd=0.01)
    outcome, record = run(
        "Verify search results update when filter is applied", "The results are updated."
    )
    stage = outcome.report.stages[-1]
    assert (outcome.report.verdict, outcome.action) == (Verdict.PASS, Action.SHIP)
    assert (stage.stage, stage.calls) == ("debate", 7)
    assert stage.cost_usd == pytest.approx(0.05)
    assert record["cost_usd"] == pytest.approx(0.064)
    assert record["stage_reached"] == 4
    assert [(t["speaker"], t["round"]) for t in record["transcript"]] == [
        ("prosecutor", 1),
        ("defender", 1),
        ("prosecutor", 2),
        ("defender", 2),
        ("judge", 1),
        ("judge", 2),
        ("judge", 3),
    ]
    assert record["transcript"][0]["text"] == prosecutor
    assert record["transcript"][1]["text"] == defender
    assert record["transcript"][-1]["text"] == ruling
    span = recorder.span("aucert.stage debate")
    assert span.attributes["aucert.stage.votes"] == (
        "strong:pass:0.90",
        "strong#2:pass:0.90",
        "strong#3:pass:0.90",
    )


def test_the_mvp_hands_what_is_below_the_threshold_to_a_person(court):
    from aucert_otel import Gate, Stage

    stage_1_unsure(court, "pass", 94.9)
    first = court.stages()["self_confidence"]
    harness = Harness([Stage(first, gate=Gate(pass_at=0.95, fail_at=0.95))])
    outcome = harness.verify(Generation("x", question="y"))
    assert (outcome.report.verdict, outcome.action) == (Verdict.UNCLEAR, Action.PERSON)
    stage_1_unsure(court, "pass", 95)
    assert harness.verify(Generation("x", question="y")).shipped
