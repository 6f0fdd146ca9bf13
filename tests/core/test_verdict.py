from __future__ import annotations

import json
import math
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.answers import CLAIM, failing, passing, unclear

from aucert_otel import Costs, Evidence, Finding, Reason, Report, StageReport, Status, Verdict
from aucert_otel.costs import add_usd, known_usd
from aucert_otel.verdict import combine


anything = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=12),
    st.binary(max_size=4),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)


@pytest.mark.parametrize("score", [math.nan, math.inf, -0.01, 1.01])
def test_a_score_that_is_no_probability_is_refused(score):
    with pytest.raises(ValueError, match=r"Finding\('policy'\)\.score is .* in \[0, 1\], or None"):
        passing(score=score)


def test_a_finding_that_is_no_pass_names_a_reason():
    with pytest.raises(ValueError, match="'unclear' without a reason: name one of contradicted"):
        Finding("policy", Verdict.UNCLEAR)


def test_a_plain_word_of_the_vocabulary_becomes_its_member():
    finding = Finding("policy", "fail", reason="stale_evidence")  # type: ignore[arg-type]
    assert finding.verdict is Verdict.FAIL
    assert finding.reason is Reason.STALE_EVIDENCE
    report = StageReport((finding,), verdict="fail", status="ok")  # type: ignore[arg-type]
    assert report.verdict is Verdict.FAIL
    assert report.status is Status.OK


@given(word=st.text(max_size=10).filter(lambda w: w not in set(Verdict)))
def test_a_word_outside_the_vocabulary_is_never_a_verdict(word):
    with pytest.raises(ValueError, match="allowed are pass, fail, unclear"):
        Finding("policy", word, reason=Reason.CONTRADICTED)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="allowed are pass, fail, unclear"):
        StageReport(verdict=word)  # type: ignore[arg-type]


@given(
    criterion=anything,
    verdict=st.one_of(st.sampled_from(Verdict), anything),
    score=anything,
    claim=anything,
    evidence=anything,
    reason=st.one_of(st.sampled_from(Reason), anything),
    measures=anything,
)
def test_a_finding_is_wholly_valid_or_refused(
    *, criterion, verdict, score, claim, evidence, reason, measures
):
    try:
        finding = Finding(
            criterion,
            verdict,
            score=score,
            claim=claim,
            evidence=evidence,
            reason=reason,
            measures=measures,
        )
    except (TypeError, ValueError):
        return
    assert isinstance(finding.verdict, Verdict)
    assert finding.reason is None or isinstance(finding.reason, Reason)
    assert finding.score is None or 0 <= finding.score <= 1
    assert all(isinstance(fact, Evidence) for fact in finding.evidence)
    assert isinstance(finding.subject, str)


def test_one_piece_of_evidence_need_not_be_wrapped():
    fact = Evidence("48 hours")
    assert failing(evidence=fact).evidence == (fact,)
    assert failing(evidence=[fact]).evidence == (fact,)


def test_the_subject_folds_what_two_criteria_say_of_one_sentence():
    said = failing("grounded", claim=f"  {CLAIM.upper()}. ")
    assert said.subject == failing("policy", claim=CLAIM).subject
    assert failing("complete", claim=None).subject == "criterion:complete"


@given(st.lists(st.sampled_from([passing(), failing(), unclear()]), max_size=6))
def test_any_fail_fails_then_any_unclear_is_unclear_and_silence_is_unclear(findings):
    verdicts = [f.verdict for f in findings]
    if Verdict.FAIL in verdicts:
        expected = Verdict.FAIL
    elif Verdict.UNCLEAR in verdicts or not verdicts:
        expected = Verdict.UNCLEAR
    else:
        expected = Verdict.PASS
    assert combine(findings) is expected
    assert StageReport(tuple(findings)).verdict is expected


@pytest.mark.parametrize("status", [s for s in Status if s is not Status.OK])
def test_a_check_that_did_not_run_has_no_opinion(status):
    report = StageReport((passing(),), verdict=Verdict.PASS, confidence=1.0, status=status)
    assert report.verdict is Verdict.UNCLEAR
    assert report.confidence is None


@pytest.mark.parametrize("confidence", [math.nan, -1, 2])
def test_a_confidence_out_of_range_is_refused(confidence):
    with pytest.raises(ValueError, match=r"StageReport\.confidence is .* in \[0, 1\]"):
        StageReport((passing(),), confidence=confidence)


@pytest.mark.parametrize("cost", [math.nan, math.inf, -0.5])
def test_a_cost_that_is_no_amount_is_refused(cost):
    with pytest.raises(ValueError, match=r"StageReport\.cost_usd is .* or None where nobody knows"):
        StageReport((passing(),), cost_usd=cost)


@given(st.lists(st.one_of(st.none(), st.floats(0, 1e6)), max_size=5))
def test_one_unknown_amount_makes_the_sum_unknown(parts):
    total = add_usd(*parts)
    if None in parts:
        assert total is None
    else:
        assert total == pytest.approx(sum(parts))


def test_the_total_is_known_only_when_every_part_is():
    assert Costs(verification=0.25, generation=0.5, repair=0.125).total == 0.875
    assert Costs(verification=0.25).total is None


@given(anything)
def test_an_amount_somebody_else_reported_is_known_or_unknown(amount):
    known = known_usd(amount)
    assert known is None or (0 <= known < math.inf and known == amount)


def stage(*findings, **more):
    return StageReport(findings, **more)


def test_a_later_stage_speaks_for_the_criteria_it_names():
    report = Report(
        (
            stage(failing("policy"), passing("tone")),
            stage(passing("policy"), unclear("complete")),
        ),
        Verdict.UNCLEAR,
    )
    assert {(f.criterion, f.verdict) for f in report.findings} == {
        ("policy", Verdict.PASS),
        ("tone", Verdict.PASS),
        ("complete", Verdict.UNCLEAR),
    }
    assert report.failed == ()
    assert [f.criterion for f in report.unclear] == ["complete"]


def test_every_claim_under_a_criterion_stands():
    first, second = failing(claim="a"), failing(claim="b")
    report = Report((stage(passing("policy")), stage(first, second)), Verdict.FAIL, settled=True)
    assert report.failed == (first, second)


@pytest.mark.parametrize("status", [s for s in Status if s.did_not_run])
def test_a_stage_that_broke_speaks_against_the_answer_and_never_for_it(status):
    broken = stage(passing("policy"), failing("tone", claim="x"), status=status)
    report = Report((stage(failing("policy")), broken), Verdict.UNCLEAR)
    assert {f.criterion for f in report.failed} == {"policy", "tone"}
    alone = Report((stage(passing("policy"), status=status),), Verdict.UNCLEAR)
    assert alone.findings == ()


def test_a_settling_stage_makes_up_for_a_broken_one_but_not_for_a_broken_veto():
    broken = stage(status=Status.ERROR)
    veto = stage(status=Status.UNAVAILABLE, veto=True)
    skipped = stage(status=Status.SKIPPED, veto=True)
    last = stage(passing())
    settled = Report((broken, veto, skipped, last), Verdict.PASS, settled=True)
    assert settled.missing == (veto,)
    unsettled = Report((broken, veto, skipped, last), Verdict.UNCLEAR)
    assert unsettled.missing == (broken, veto)


def test_an_empty_report_reached_no_stage():
    report = Report((), Verdict.UNCLEAR)
    assert (report.stage_reached, report.stage, report.findings) == (0, "", ())


def test_reports_can_be_pickled_and_verdicts_are_plain_words_in_json():
    report = Report((stage(failing()),), Verdict.FAIL, settled=True)
    assert pickle.loads(pickle.dumps(report)) == report
    assert json.dumps([report.verdict, Reason.STALE_EVIDENCE]) == '["fail", "stale_evidence"]'
