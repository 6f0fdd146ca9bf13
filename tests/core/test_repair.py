from __future__ import annotations

import json
import pickle

import pytest
from support.answers import ARTICLE, CLAIM, FACT, failing, passing

from aucert_otel import (
    Evidence,
    Generation,
    Passage,
    Reason,
    RepairRequest,
    Report,
    StageReport,
    Verdict,
)
from aucert_otel.repair import CEILING_FACTOR, repair_request


MESSAGE = "My bouquet was delivered yesterday and half the roses..."


def request_for(*findings, **generation) -> RepairRequest:
    given = {"question": MESSAGE, "evidence": (ARTICLE,), **generation}
    report = Report((StageReport(findings),), Verdict.FAIL, settled=True)
    return repair_request(Generation(f"{CLAIM}. We are sorry.", **given), report)


def test_the_request_has_the_shape_the_generator_was_told_of():
    request = request_for(failing(measures={"contradiction": 0.996}), passing("tone"))
    assert request.to_dict() == {
        "mode": "repair",
        "customer_message": MESSAGE,
        "passages": [{"article": "305", "version": "3", "text": ARTICLE.text}],
        "draft": f"{CLAIM}. We are sorry.",
        "failed": [
            {
                "criterion": "policy",
                "claim": CLAIM,
                "evidence": {"article": "305", "sentence": FACT.text},
                "reason": "contradicted",
                "entailment": {"contradiction": 0.996},
            }
        ],
        "instruction": "Fix only the failed claim and keep every other statement.",
    }


def test_only_what_failed_is_asked_to_change_and_every_fact_comes_along():
    second = Evidence("47 hours is in time.", passage_id="306", version="1")
    request = request_for(failing("grounded", evidence=(FACT, second)), failing("policy"))
    grounded, policy = request.to_dict()["failed"]
    assert grounded["further_evidence"] == [
        {"article": "306", "version": "1", "sentence": "47 hours is in time."}
    ]
    assert "further_evidence" not in policy
    assert request.criteria == ["grounded", "policy"]
    assert request.ceiling_factor == 1.0


def test_an_answer_cut_off_gets_a_higher_ceiling():
    request = request_for(failing("finished", reason=Reason.TRUNCATED))
    assert request.ceiling_factor == CEILING_FACTOR > 1
    assert "cut off" in request.to_dict()["instruction"]


def test_what_nobody_knows_is_left_out():
    rule = Evidence("search returned 118 and 140", origin="rule")
    request = request_for(
        failing(evidence=(rule,), claim=None),
        question=None,
        evidence=(Passage("text"),),
    ).to_dict()
    assert request["customer_message"] is None
    assert request["passages"] == [{"text": "text"}]
    assert request["failed"][0]["evidence"] == {"sentence": "search returned 118 and 140"}
    assert "entailment" not in request["failed"][0]
    assert request_for(failing(evidence=())).to_dict()["failed"][0]["evidence"] is None
    assert request_for(failing(), evidence=None).to_dict()["passages"] == []


def test_the_rendered_request_holds_the_same_as_json():
    request = request_for(failing(), question="Blumen für Zoë „heute“?")
    text = request.render()
    assert json.loads(text[text.index("{") :]) == request.to_dict()
    assert "Zoë" in text


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_request_can_be_sent_to_another_process(protocol):
    request = request_for(failing())
    assert pickle.loads(pickle.dumps(request, protocol)) == request
