"""The record of single votes: what it may hold, and where it goes."""

from __future__ import annotations

import pytest

from aucert_otel import Generation, Reason, Report, StageReport, Status, Verdict
from aucert_otel.audit import record_of
from aucert_otel.report import Vote
from aucert_otel.telemetry.attributes import stage_attributes


VOTES = (
    Vote("a", Verdict.PASS, confidence=0.914, why="quotes the answer", label="direct"),
    Vote("b", Verdict.UNCLEAR, reason=Reason.MALFORMED, error="not_json"),
    Vote("b#2", status=Status.UNAVAILABLE, error="RateLimited (HTTP 429)"),
)


def test_a_vote_reads_as_who_what_and_how_sure():
    assert [str(vote) for vote in VOTES] == [
        "a:pass:0.91",
        "b:unclear:malformed",
        "b#2:unavailable",
    ]


@pytest.mark.parametrize("status", [s for s in Status if s is not Status.OK])
def test_a_judge_that_did_not_run_has_no_verdict(status):
    with pytest.raises(ValueError, match="never a verdict"):
        Vote("a", Verdict.PASS, status=status)


@pytest.mark.parametrize("confidence", [-0.1, 1.1, float("nan")])
def test_a_confidence_lies_between_0_and_1(confidence):
    with pytest.raises(ValueError, match="must be in"):
        Vote("a", Verdict.PASS, confidence=confidence)


def test_words_outside_the_vocabulary_are_refused():
    with pytest.raises(ValueError, match=r"Vote\.verdict is 'Hallucinated\.'"):
        Vote("a", "Hallucinated.")
    assert Vote("a", "pass", status="ok", reason=None).verdict is Verdict.PASS


def test_votes_are_an_attribute_of_the_stage_without_their_reasoning():
    stage = StageReport(verdict=Verdict.PASS, votes=VOTES, stage="panel")
    attributes = stage_attributes(stage, label=str)
    assert attributes["aucert.stage.votes"] == [str(vote) for vote in VOTES]
    assert "quotes" not in repr(attributes)
    assert "aucert.stage.votes" not in stage_attributes(StageReport(), label=str)


def test_votes_are_on_the_record_and_their_reasoning_is_content():
    stage = StageReport(verdict=Verdict.PASS, votes=VOTES, stage="panel")
    report = Report((stage,), Verdict.PASS, settled=True)
    (written,) = record_of(Generation("x"), report).to_dict()["stages"]
    assert written["votes"][0] == {
        "voter": "a",
        "verdict": "pass",
        "confidence": 0.914,
        "reason": None,
        "why": None,
        "status": "ok",
        "error": None,
        "label": "direct",
    }
    assert [v["error"] for v in written["votes"][1:]] == ["not_json", "RateLimited (HTTP 429)"]
