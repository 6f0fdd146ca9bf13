from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.answers import CLAIM, failing, passing, unclear

from aucert_otel import (
    Action,
    ConfigurationError,
    Finding,
    Reason,
    Report,
    StageReport,
    Status,
    Verdict,
    decide,
    format_table,
)
from aucert_otel.action import TABLE, Row, Situation, failures


def report(*findings, verdict=None, status=Status.OK, **stage):
    one = StageReport(tuple(findings), status=status, **stage)
    verdict = verdict or one.verdict
    return Report((one,), verdict, settled=verdict is not Verdict.UNCLEAR)


STALE = Finding("grounded", Verdict.FAIL, reason=Reason.STALE_EVIDENCE, claim=CLAIM)
BROKEN = report(status=Status.UNAVAILABLE)
ONE = report(failing(), passing("tone"))
TWO = report(failing(claim="a"), failing("complete", claim="b"))
EVERYTHING = {"can_repair": True, "can_escalate": True}

FIRST_MATCH = {
    "fail_open": (Action.SHIP, Situation(BROKEN, fail_open=True)),
    "not_run": (Action.PERSON, Situation(BROKEN, **EVERYTHING)),
    "evidence": (Action.PERSON, Situation(report(STALE), **EVERYTHING)),
    "unclear": (Action.PERSON, Situation(report(passing(), unclear("tone")), **EVERYTHING)),
    "clean": (Action.SHIP, Situation(report(passing()), **EVERYTHING)),
    "spent": (Action.PERSON, Situation(ONE, spent=True, **EVERYTHING)),
    "one_failure": (Action.REPAIR, Situation(ONE, **EVERYTHING)),
    "stronger": (Action.ESCALATE, Situation(TWO, **EVERYTHING)),
    "failed": (Action.PERSON, Situation(TWO, can_repair=True)),
}


def test_every_row_has_its_situation_and_the_order_is_the_designs():
    assert [row.name for row in TABLE] == list(FIRST_MATCH)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_a_row_decides_the_situation_that_it_is_the_first_to_match(row):
    action, situation = FIRST_MATCH[row.name]
    decision = decide(situation)
    assert (decision.action, decision.row, decision.why) == (action, row.name, row.condition)
    without = [other for other in TABLE if other is not row]
    assert decide(situation, without).row != row.name


@pytest.mark.parametrize(
    ("situation", "row"),
    [
        (Situation(report(passing(), status=Status.SKIPPED)), "unclear"),
        (Situation(report(failing(), status=Status.ERROR), fail_open=True), "not_run"),
        (Situation(report(unclear(), status=Status.ERROR), fail_open=True), "not_run"),
        (Situation(report(passing()), fail_open=True), "clean"),
        (Situation(report()), "unclear"),
        (Situation(report(STALE, unclear("tone")), can_repair=True), "evidence"),
        (Situation(report(failing(), unclear("tone")), can_repair=True), "unclear"),
        # A gate held the failure back, so nothing settled: unclear, and not a free pass.
        (Situation(report(failing(), verdict=Verdict.UNCLEAR), can_repair=True), "unclear"),
        (Situation(report(failing(), verdict=Verdict.PASS), can_repair=True), "one_failure"),
        (Situation(report(verdict=Verdict.FAIL), can_repair=True), "failed"),
        (Situation(report(failing(evidence=())), can_repair=True), "failed"),
        (Situation(report(failing(evidence=())), **EVERYTHING), "stronger"),
        (Situation(ONE, round_fits=False, **EVERYTHING), "stronger"),
        (Situation(ONE, round_fits=False, time_left=False, **EVERYTHING), "failed"),
        (Situation(ONE, can_escalate=True), "stronger"),
        (Situation(ONE), "failed"),
        (Situation(report(passing()), spent=True), "clean"),
    ],
)
def test_situations_between_the_rows(situation, row):
    assert decide(situation).row == row


def test_two_criteria_that_trip_over_one_sentence_are_one_failure():
    march = report(failing("grounded"), failing("policy", claim=f"{CLAIM}."))
    assert list(map(len, failures(march).values())) == [2]
    assert decide(Situation(march, can_repair=True)).action is Action.REPAIR


def test_one_criterion_failing_on_two_sentences_is_two_failures():
    twice = report(failing(claim="a"), failing(claim="b"))
    assert len(failures(twice)) == 2
    assert decide(Situation(twice, can_repair=True)).action is Action.PERSON


def test_the_evidence_may_come_with_either_criterion():
    march = report(failing("grounded"), failing("policy", evidence=()))
    assert decide(Situation(march, can_repair=True)).action is Action.REPAIR


def test_the_table_prints_as_numbered_lines():
    lines = format_table().splitlines()
    assert len(lines) == len(TABLE)
    for number, (line, row) in enumerate(zip(lines, TABLE, strict=True), 1):
        assert line.startswith(f"{number}. {row.condition}")
        assert line.endswith(f"-> {row.action.value}")


def test_the_table_can_be_replaced_and_what_no_row_matches_goes_to_a_person():
    cautious = [Row("always", "always", Action.PERSON, lambda _: True), *TABLE]
    assert decide(Situation(report(passing())), cautious).row == "always"
    assert decide(Situation(report(passing())), []).action is Action.PERSON
    assert decide(Situation(report(passing())), []).row == "no_row"
    assert format_table([]) == ""


def test_a_row_with_an_action_that_does_not_exist_is_refused():
    with pytest.raises(
        ConfigurationError, match="row 'x' has the action 'loop': allowed are ship, repair"
    ):
        Row("x", "always", "loop", lambda _: True)  # type: ignore[arg-type]
    assert Row("x", "always", "ship", lambda _: True).action is Action.SHIP  # type: ignore[arg-type]


FINDINGS = st.lists(
    st.one_of(
        st.builds(passing, st.sampled_from("abc")),
        st.builds(unclear, st.sampled_from("abc"), st.sampled_from(Reason)),
        st.builds(
            failing,
            st.sampled_from("abc"),
            claim=st.sampled_from([None, "x", "y"]),
            reason=st.sampled_from(Reason),
            evidence=st.sampled_from([(), failing().evidence]),
        ),
    ),
    max_size=4,
)


@given(
    findings=FINDINGS,
    status=st.sampled_from(Status),
    flags=st.fixed_dictionaries(
        {
            f.name: st.booleans()
            for f in dataclasses.fields(Situation)
            if f.name not in ("report", "_")
        }
    ),
)
def test_whatever_is_found_only_a_clean_answer_ships_and_only_a_fresh_one_is_written_again(
    findings, status, flags
):
    situation = Situation(report(*findings, status=status), **flags)
    action = decide(situation).action
    if action is Action.SHIP and not flags["fail_open"]:
        assert situation.report.verdict is Verdict.PASS
    if action is Action.SHIP:
        assert not situation.report.failed
        assert not situation.report.unclear
    if flags["spent"] or status is not Status.OK:
        assert action in (Action.SHIP, Action.PERSON)
    if action is Action.REPAIR:
        assert flags["can_repair"]
        assert flags["round_fits"]
    if action is Action.ESCALATE:
        assert flags["can_escalate"]
        assert flags["time_left"]
