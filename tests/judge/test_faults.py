"""Whatever a judge's server does: never a pass that no judge gave, never an exception, always a name."""

from __future__ import annotations

import importlib.util
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from support.judges import tokens
from support.llm_server import failing, openai
from support.rubric_judges import CRITERIA, MARCH, says

from aucert_otel import Action, Budget, Cascade, Harness, Reason, Status, Verdict
from aucert_otel.llm import RetryPolicy, Timeouts


def matrix():
    """The faults that every other judge is held against."""
    path = Path(__file__).parents[1] / "stages" / "test_faults.py"
    spec = importlib.util.spec_from_file_location("faults_of_the_stages", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module.DOWN, module.never


DOWN, never = matrix()


def whole(**criteria):
    return lambda call: call.reply(**criteria)


def edited(*changes):
    """A reply that passes everything, with its text changed."""

    def answer(call):
        text = call.reply()
        for old, new in changes:
            assert old in text
            text = text.replace(old, new, 1)
        return text

    return answer


def wrapped(form):
    return lambda call: form.format(call.reply())


ALL = {  # every criterion is unclear for this reason
    "prose around fenced JSON": (wrapped("Here:\n```json\n{}\n```\nPass!"), Reason.MALFORMED),
    "two JSON objects": (lambda c: c.reply() * 2, Reason.MALFORMED),
    "trailing text": (wrapped("{} Pass."), Reason.MALFORMED),
    "a list": (wrapped("[{}]"), Reason.MALFORMED),
    "a bare word": (lambda c: "pass", Reason.MALFORMED),
    "truncated JSON": (lambda c: c.reply()[:-40], Reason.TRUNCATED),
    "cut at the token ceiling": (
        lambda c: openai(c.reply(), finish_reason="length", usage=tokens(0.0025)),
        Reason.TRUNCATED,
    ),
    "NaN": (edited(("0.95", "NaN")), Reason.MALFORMED),
    "Infinity": (edited(("0.95", "Infinity")), Reason.MALFORMED),
    "1e999": (edited(("0.95", "1e999")), Reason.MALFORMED),
    "the same criterion twice": (
        lambda c: c.reply()[:-1] + f', "policy": {json.dumps(says())}}}',
        Reason.MALFORMED,
    ),
    "the same key twice": (
        edited(('"verdict": "pass"', '"verdict": "pass", "verdict": "pass"')),
        Reason.MALFORMED,
    ),
    "another code": (edited(('"code": "', '"code": "0')), Reason.FORGED),
    "a code in capitals": (
        lambda c: c.reply().replace(c.code, c.code.upper() + "A"),
        Reason.FORGED,
    ),
    "no code": (lambda c: json.dumps({n: says() for n in CRITERIA}), Reason.MALFORMED),
    "a verdict for the whole": (edited(('"code"', '"verdict": "pass", "code"')), Reason.MALFORMED),
    "a criterion nobody asked for": (edited(('"code"', '"kind": {}, "code"')), Reason.MALFORMED),
    "criteria in a list": (
        lambda c: json.dumps({"code": c.code, "criteria": [says()]}),
        Reason.MALFORMED,
    ),
}
ONE = {  # of one criterion alone
    "missing": (None, Reason.MALFORMED),
    "null": (None, Reason.MALFORMED),
    "a word": ("pass", Reason.MALFORMED),
    "true": (True, Reason.MALFORMED),
    "a list of verdicts": ([says()], Reason.MALFORMED),
    "no verdict": ({"why": "x", "score": 0.9}, Reason.MALFORMED),
    "no score": ({"why": "x", "verdict": "pass"}, Reason.MALFORMED),
    "no reason": ({"score": 0.9, "verdict": "pass"}, Reason.MALFORMED),
    "an empty reason": (says(why="  "), Reason.MALFORMED),
    "a reason that is no text": (says(why=["x"]), Reason.MALFORMED),
    "another key": ({**says(), "final": "fail"}, Reason.MALFORMED),
    "a claim that is no text": (says("fail", 0.0, claim=["x"]), Reason.MALFORMED),
    "evidence that is an object": (says("fail", 0.0, evidence={"a": 1}), Reason.MALFORMED),
    "-0.1": (says(score=-0.1), Reason.MALFORMED),
    "1.0001": (says(score=1.0001), Reason.MALFORMED),
    "95": (says(score=95), Reason.MALFORMED),
    "a percentage": (says(score="95%"), Reason.MALFORMED),
    "a score that is true": (says(score=True), Reason.MALFORMED),
    "a score that is null": (says(score=None), Reason.MALFORMED),
    "Hallucinated.": (says("Hallucinated."), Reason.OUT_OF_VOCABULARY),
    "another language": (says("bestanden"), Reason.OUT_OF_VOCABULARY),
    "another script": (says("合格"), Reason.OUT_OF_VOCABULARY),
    "look-alike letters": (says("p\u0430ss"), Reason.OUT_OF_VOCABULARY),
    "pass or fail": (says("pass|fail"), Reason.OUT_OF_VOCABULARY),
    "a verdict that is an object": (says({"pass": True}), Reason.OUT_OF_VOCABULARY),
    "true as a verdict": (says(True), Reason.OUT_OF_VOCABULARY),
    "a pass that is improbable": (says("pass", 0.2), Reason.INCONSISTENT),
    "a fail that is probable": (says("fail", 0.9), Reason.INCONSISTENT),
    "unclear": (says("unclear", 0.5), Reason.ABSTAINED),
}


@pytest.fixture
def check(bench, recorder):
    """Check the March reply by the rubric judge alone."""

    def check(answer, *, impatient=False, generation=MARCH, **settings):
        bench.judge = answer
        options = {"retry": RetryPolicy(attempts=1)} if impatient else {}
        if impatient:
            options["timeouts"] = Timeouts(connect_s=5, read_s=5, total_s=0.5)
        judge = bench.rubric(model=bench.model("haiku", **options), **settings)
        outcome = Harness([judge], telemetry=recorder.telemetry()).verify(generation)
        assert recorder.balance.settled()
        (report,) = outcome.report.stages
        return outcome, report

    yield check
    never.set()
    never.clear()


@pytest.mark.parametrize("name", DOWN)
def test_a_server_that_fails_is_a_status_and_is_named(bench, check, name):
    case = DOWN[name]
    outcome, report = check(lambda call: case.answer, impatient=case.impatient)
    assert (report.status, report.verdict) == (case.status, Verdict.UNCLEAR)
    assert case.named in report.error
    assert report.findings == ()
    assert [v.verdict for v in report.votes] == [None]
    assert (outcome.action, outcome.decision.row) == (Action.PERSON, "not_run")
    assert report.neutral is True
    assert "sk-secret" not in repr(outcome)
    if name in ("cut within the answer", "timeout", "slow drip", "HTML body"):
        assert report.cost_usd is None  # it was sent, and nobody saw the bill
        assert report.unpriced


@pytest.mark.parametrize("name", DOWN)
def test_a_judge_that_is_down_is_made_up_for_by_the_stronger_one(bench, name):
    case = DOWN[name]
    bench.judge = lambda call: case.answer
    options = {}
    if case.impatient:
        options = {
            "retry": RetryPolicy(attempts=1),
            "timeouts": Timeouts(connect_s=5, read_s=5, total_s=0.5),
        }
    judge = bench.rubric(model=bench.model("haiku", **options))
    report = Cascade("c", [judge, bench.second()]).run(MARCH)
    never.set()
    never.clear()
    assert [s.status for s in report.stages] == [case.status, Status.OK]
    assert report.verdict is Verdict.PASS
    assert report.missing == ()
    assert bench.asked[-1] == ("sonnet", CRITERIA)


@pytest.mark.parametrize("name", ALL)
def test_a_reply_that_is_not_what_was_asked_for_is_unclear_and_says_why(check, name):
    answer, reason = ALL[name]
    outcome, report = check(answer)
    assert (report.status, report.verdict, report.confidence) == (Status.OK, Verdict.UNCLEAR, None)
    assert [(f.verdict, f.reason) for f in report.findings] == [(Verdict.UNCLEAR, reason)] * 4
    assert {v.reason for v in report.votes} == {reason}
    assert all(v.error for v in report.votes)
    assert (outcome.action, outcome.decision.row) == (Action.PERSON, "unclear")
    assert report.cost_usd == 0.0025


@pytest.mark.parametrize("name", ONE)
def test_one_bad_verdict_is_unclear_and_leaves_the_others_alone(check, name):
    said, reason = ONE[name]
    answer = edited((json.dumps(says()), "null")) if name == "null" else whole(policy=said)
    outcome, report = check(answer)
    found = {f.criterion: f for f in report.findings}
    bad = found.pop("grounded" if name == "null" else "policy")
    assert (bad.verdict, bad.reason) == (Verdict.UNCLEAR, reason)
    assert {f.verdict for f in found.values()} == {Verdict.PASS}
    assert report.verdict is Verdict.UNCLEAR
    assert not outcome.shipped


@pytest.mark.parametrize(
    "answer",
    [
        wrapped("```json\n{}\n```"),
        wrapped("  {}\n"),
        edited(('"pass"', '"PASS"')),
        edited(('"pass"', '" pass "')),
        edited((', "claim": null, "evidence": null', "")),
        edited(("0.95", "1")),
        whole(policy=says("pass", 0.5)),
    ],
)
def test_one_whole_object_counts_even_in_a_fence(check, answer):
    assert check(answer)[0].shipped


@pytest.mark.parametrize("name", DOWN)
def test_a_run_that_fails_is_no_vote_and_keeps_its_place(bench, check, name):
    case = DOWN[name]
    if case.impatient:
        pytest.skip("the good runs share the bad one's patience, so that speed would decide")

    def answer(call):
        return case.answer if "single claims" in call.system else call.reply()

    outcome, report = check(answer, runs=3)
    assert outcome.shipped
    assert [f.score for f in report.findings] == pytest.approx([0.95 * 2 / 3] * 4)
    (missing,) = [v for v in report.votes if v.verdict is None]
    assert (missing.status, missing.error) == (case.status, case.named)

    outcome, report = check(answer, runs=2)  # one of two is not more than half
    assert (report.status, report.verdict) == (case.status, Verdict.UNCLEAR)
    assert report.error == f"haiku#2: {case.named}"


def test_retries_are_on_the_bill(bench, check):
    answers = iter([failing(500)])
    outcome, report = check(lambda call: next(answers, None) or call.reply())
    assert outcome.shipped
    assert (report.calls, len(bench.calls)) == (1, 2)
    assert report.cost_usd == 0.0025


def test_a_budget_without_room_for_the_judge_asks_nobody(bench):
    harness = Harness([bench.rubric()], budget=Budget(usd=0.0001))
    (stage,) = harness.verify(MARCH).report.stages
    assert (stage.status, stage.calls) == (Status.OVER_BUDGET, 0)
    assert bench.calls == []


def test_no_key_reaches_a_span_or_an_error(check, recorder):
    key = "sk-secret-0123456789abcdef"
    _, report = check(lambda call: failing(401, message=f"key {key} is wrong"))
    assert key not in report.error
    assert key not in repr([dict(s.attributes) for s in recorder.spans])


def test_a_model_that_raises_anything_is_a_status(bench):
    class Broken:
        name = provider = model = "broken"
        family = "other"

        async def complete(self, messages, **options):
            raise RuntimeError(messages[-1].content)

    (stage,) = Cascade("c", [bench.rubric(model=Broken())]).run(MARCH).stages
    assert (stage.status, stage.error) == (Status.ERROR, "broken: RuntimeError")
    assert (stage.cost_usd, bool(stage.unpriced)) == (None, True)


def test_half_a_character_in_the_material_is_still_judged(bench):
    answer = replace(MARCH, output="half \ud83d a character, \x00\x1b[2J and \r\n a line")
    assert Cascade("c", [bench.rubric()]).run(answer).verdict is Verdict.PASS
