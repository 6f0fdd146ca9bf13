"""What a cascade's calibration is conditioned on, and how it spends delta."""

from __future__ import annotations

import pytest

from aucert_otel import ConfigurationError, Verdict
from aucert_otel.measure import Judged, Planned, Trial, Why, calibrate, enough


PASS, FAIL, UNCLEAR = Verdict.PASS, Verdict.FAIL, Verdict.UNCLEAR
GRID = (0.9, 0.7)
PASS_ONLY = frozenset({PASS})


def said(stage, confidence=0.95, right=True, verdict=PASS):
    return Judged(stage, verdict, confidence, right)


def found(trials, *plan, alpha=0.2, delta=0.1, **more):
    stages = [each if isinstance(each, Planned) else Planned(each, PASS_ONLY) for each in plan]
    return calibrate(trials, stages, grid=GRID, alpha=alpha, delta=delta, **more)


def test_each_verdict_has_a_threshold_of_its_own():
    trials = [Trial((said("a", 0.75),))] * 60 + [Trial((said("a", 0.95, False, FAIL),))] * 60
    trials += [Trial((said("a", 0.95),))] * 60
    (result,) = found(trials, Planned("a"))
    assert (result.threshold(PASS), result.threshold(FAIL)) == (0.7, None)
    assert result.settles == PASS_ONLY
    assert result.tested[FAIL].why is Why.ERRORS
    assert {tested.delta for tested in result.tested.values()} == {0.05}


def test_a_later_stage_is_measured_on_what_arrives_there_and_not_on_the_rest():
    # The second judge is right about what the first settles, and wrong about what it escalates.
    easy = Trial((said("a", 0.95), said("b", 0.95)))
    hard = Trial((said("a", 0.1), said("b", 0.95, right=False)))
    first, second = found([easy] * 100 + [hard] * 30, "a", "b")
    assert (first.arrived, first.threshold(PASS)) == (130, 0.7)
    assert (second.arrived, second.threshold(PASS)) == (30, None)
    assert second.tested[PASS].why is Why.ERRORS
    (alone,) = found(
        [Trial((trial.judged[1],)) for trial in [easy] * 100 + [hard] * 30], "b", alpha=0.3
    )
    assert alone.threshold(PASS) == 0.7


def test_what_no_certified_gate_settles_arrives_at_the_next_stage():
    wrong = Trial((said("a", 0.95, right=False), said("b", 0.95)))
    first, second = found([wrong] * 100, "a", "b")
    assert first.settles == frozenset()
    assert (second.arrived, second.threshold(PASS)) == (100, 0.7)


def test_a_stage_whose_arrivals_were_settled_before_it_in_the_labelled_run_is_not_certified():
    # Certified is nothing, so everything would arrive at b, which was asked about the rest only.
    settled = Trial((said("a", 0.95, right=False),), settled=True)
    asked = Trial((said("a", 0.1), said("b", 0.95)))
    _, second, third = found([settled] * 30 + [asked] * 100, "a", "b", "c")
    assert (second.arrived, second.not_judged, second.tested[PASS].why) == (130, 30, Why.NOT_JUDGED)
    assert (third.not_judged, third.tested[PASS].why) == (30, Why.NOT_JUDGED)


def test_an_answer_that_ended_without_a_gate_arrives_nowhere_else():
    ended = Trial((said("a", None, verdict=UNCLEAR),))
    asked = Trial((said("a", 0.1), said("b", 0.95)))
    _, second = found([ended] * 30 + [asked] * 100, "a", "b")
    assert (second.arrived, second.not_judged) == (100, 0)


def test_neither_an_unclear_verdict_nor_an_unknown_confidence_settles():
    trials = [Trial((said("a", 0.99, verdict=UNCLEAR),)), Trial((said("a", None),))] * 50
    (result,) = found(trials, "a")
    assert result.tested[PASS].steps[0].settled == 0


def test_delta_is_split_over_stages_and_over_the_ways_the_gates_before_could_have_come_out():
    trial = Trial((said("a", 0.1), said("b", 0.1), said("c", 0.1)))
    first, second, third = found([trial], "a", "b", "c", delta=0.3)
    assert [each.delta for each in (first, second, third)] == pytest.approx([0.1] * 3)
    levels = [each.tested[PASS].delta for each in (first, second, third)]
    assert levels == pytest.approx([0.1, 0.1 / 3, 0.1 / 9])  # two thresholds or none
    both = found([trial], Planned("a"), Planned("b"), "c", delta=0.3)
    assert both[1].tested[PASS].delta == pytest.approx(0.1 / 2 / 9)


def test_rows_that_are_not_linked_pay_for_no_gates_before_them():
    trials = [Trial((said("a"),)), Trial((said("b"),))]
    assert [each.tested[PASS].delta for each in found(trials, "a", "b")] == [0.05, 0.05]


def test_a_kept_stage_costs_nothing_and_settles_what_it_settled_in_the_run():
    rules = Planned("rules", kept=True)
    rejected = Trial((said("rules", None, verdict=FAIL),), settled=True)
    asked = Trial((said("rules", None), said("judge", 0.95)))
    kept, judge = found([rejected] * 30 + [asked] * 50, rules, "judge")
    assert (kept.kept, kept.tested, kept.delta) == (True, {}, 0.0)
    assert (judge.arrived, judge.not_judged, judge.tested[PASS].delta) == (50, 0, 0.1)


def test_strata_are_separate_statements_unless_delta_is_shared():
    trials = [Trial((said("a", right=s == "easy"),), stratum=s) for s in ("easy", "hard") * 50]
    easy, hard = found(trials, "a")
    assert (easy.stratum, easy.threshold(PASS), hard.threshold(PASS)) == ("easy", 0.7, None)
    assert easy.tested[PASS].delta == 0.1
    assert found(trials, "a", together=True)[0].tested[PASS].delta == 0.05


def test_what_is_needed_is_what_the_level_asks_for():
    trials = [Trial((said("a"),))] * 5
    (result,) = found(trials, "a", alpha=0.1)
    assert (result.tested[PASS].why, result.tested[PASS].needed) == (Why.TOO_FEW, enough(0.1, 0.1))


@pytest.mark.parametrize(
    ("judged", "sentence"),
    [
        ((said("a"), said("x")), "not planned"),
        ((said("b"), said("a")), "not the order"),
        ((said("a"), said("a")), "not the order"),
    ],
)
def test_answers_that_do_not_fit_the_plan_are_refused(judged, sentence):
    with pytest.raises(ConfigurationError, match=sentence):
        found([Trial(judged)], "a", "b")
