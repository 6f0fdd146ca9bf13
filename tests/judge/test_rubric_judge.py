"""The rubric judge, the stronger judge and a cascade of both, over a real HTTP client."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from support.flowers import DAMAGE
from support.llm_server import failing
from support.rubric_judges import (
    CRITERIA,
    FACT,
    MARCH,
    QUESTION,
    SENTENCE,
    USD,
    Call,
    fail,
    says,
    unsure,
)

from aucert_otel import (
    Action,
    Cascade,
    Evidence,
    Finding,
    Gate,
    Generation,
    Harness,
    Message,
    Passage,
    Reason,
    Stage,
    Status,
    Verdict,
)
from aucert_otel.llm import ReplayModel
from aucert_verifiers.judge import Criterion, Rubric, RubricJudge, StrongerJudge, replay
from aucert_verifiers.packaging import Limits


def run(verifier, generation=MARCH, **options):
    return asyncio.run(Cascade("c", [verifier], **options).arun(generation)).stages[0]


def by_name(report):
    return {finding.criterion: finding for finding in report.findings}


def test_one_call_judges_every_criterion(bench):
    report = run(bench.rubric())
    assert (report.verdict, report.calls, report.cost_usd) == (Verdict.PASS, 1, USD["haiku"])
    assert report.confidence == 0.95
    assert tuple(by_name(report)) == CRITERIA
    assert bench.asked == [("haiku", CRITERIA)]
    assert {f.source for f in report.findings} == {"aucert default rubric v1"}
    assert report.unpriced == ()


def test_the_march_reply_fails_twice_at_one_sentence_and_is_one_failure(bench):
    bench.judge = lambda call: call.reply(
        grounded=fail("our policy gives you 30 days to report damage"),
        policy=fail(f"\u201c{SENTENCE}\u201d"),
    )
    outcome = Harness([bench.rubric()]).verify(MARCH)
    assert outcome.report.verdict is Verdict.FAIL
    failed = outcome.report.failed
    assert [f.criterion for f in failed] == ["grounded", "policy"]
    assert {f.claim for f in failed} == {SENTENCE}
    assert len({f.subject for f in failed}) == 1
    assert {f.evidence for f in failed} == {(Evidence(FACT, passage_id="305", version="3"),)}
    assert {f.reason for f in failed} == {Reason.CONTRADICTED}
    assert outcome.report.confidence == pytest.approx(0.97)


def test_a_claim_that_nobody_wrote_is_still_a_failure_and_is_noted(bench):
    bench.judge = lambda call: call.reply(policy=fail("Damage may be reported for ever."))
    finding = by_name(run(bench.rubric()))["policy"]
    assert (finding.verdict, finding.claim) == (Verdict.FAIL, None)
    assert finding.measures["claim_found"] == 0.0
    assert "neither in the reply nor in the question" in finding.why


@pytest.mark.parametrize(
    "invented",
    [
        "Damage must be reported within 24 hours of delivery.",
        "Damage must be reported",  # and the rest left out: that does occur
        SENTENCE,  # the reply's own words
        QUESTION,
        "the",
        "hours",
        "ours of delivery",
        "",
        "null",
    ],
)
def test_evidence_counts_only_if_a_passage_says_it(bench, invented):
    bench.judge = lambda call: call.reply(policy=fail(evidence=invented))
    finding = by_name(run(bench.rubric()))["policy"]
    assert finding.verdict is Verdict.FAIL
    if invented == "Damage must be reported":
        assert finding.evidence[0].text == FACT
        return
    assert finding.evidence == ()
    assert finding.reason is Reason.UNSUPPORTED
    assert ("evidence_found" in finding.measures) is (invented not in ("", "null"))


def test_a_missed_question_is_a_claim_from_the_customers_message(bench):
    bench.judge = lambda call: call.reply(complete=fail("What can be done about it?", None))
    finding = by_name(run(bench.rubric()))["complete"]
    assert finding.claim == "What can be done about it?"
    assert finding.reason is Reason.UNSUPPORTED


def test_quotation_marks_case_and_spacing_do_not_hide_a_quotation(bench):
    reply = (
        "It\u2019s fine.  You  have \u201c30 days\u201d to report \u2014 at least.\nSend a photo."
    )
    bench.judge = lambda call: call.reply(policy=fail('you have "30 days" to report - AT LEAST'))
    finding = by_name(run(bench.rubric(), replace(MARCH, output=reply)))["policy"]
    assert finding.claim == "You have \u201c30 days\u201d to report \u2014 at least."


def test_anything_unclear_comes_before_a_failure_is_counted(bench):
    bench.judge = lambda call: call.reply(policy=fail(), complete=unsure())
    outcome = Harness([bench.rubric()]).verify(MARCH)
    (stage,) = outcome.report.stages
    assert stage.verdict is Verdict.UNCLEAR
    assert stage.confidence is None
    assert (outcome.action, outcome.decision.row) == (Action.PERSON, "unclear")
    assert [f.criterion for f in outcome.report.failed] == ["policy"]
    assert by_name(stage)["complete"].reason is Reason.ABSTAINED


@pytest.mark.parametrize("evidence", [None, ()])
def test_without_passages_what_needs_them_is_unclear_and_nobody_is_asked_about_it(bench, evidence):
    report = run(bench.rubric(), replace(MARCH, evidence=evidence))
    found = by_name(report)
    assert {found[n].reason for n in ("grounded", "policy")} == {Reason.NO_EVIDENCE}
    assert {found[n].verdict for n in ("on_topic", "complete")} == {Verdict.PASS}
    assert bench.asked == [("haiku", ("on_topic", "complete"))]
    assert report.verdict is Verdict.UNCLEAR


def test_with_nothing_to_judge_by_nobody_is_asked(bench):
    report = run(bench.rubric(), Generation("Hello.", model="gpt-5.6"))
    assert (report.status, report.verdict, report.calls) == (Status.OK, Verdict.UNCLEAR, 0)
    assert report.cost_usd == 0.0
    assert by_name(report)["on_topic"].reason is Reason.NOT_CHECKED
    assert bench.calls == []


def test_the_last_thing_a_user_said_stands_for_the_question(bench):
    said = replace(MARCH, question=None, messages=[Message("user", QUESTION)])
    assert run(bench.rubric(), said).verdict is Verdict.PASS
    assert bench.calls[0].inside("question") == QUESTION


def test_a_judge_cannot_approve_what_it_was_not_shown(bench):
    report = run(bench.rubric(limits=Limits(answer=40)))
    assert {f.reason for f in report.findings} == {Reason.NOT_CHECKED}
    report = run(bench.rubric(limits=Limits(passages=40)))
    found = by_name(report)
    assert {found[n].reason for n in ("grounded", "policy")} == {Reason.NOT_CHECKED}
    assert found["complete"].verdict is Verdict.PASS


def test_a_failure_at_a_sentence_that_was_shown_stands_though_the_rest_was_not(bench):
    long = replace(MARCH, output=f"{SENTENCE} {'Water the roses every day. ' * 40}")
    bench.judge = lambda call: call.reply(policy=fail(), complete=fail("What can be done", None))
    found = by_name(run(bench.rubric(limits=Limits(answer=400)), long))
    assert (found["policy"].verdict, found["policy"].claim) == (Verdict.FAIL, SENTENCE)
    assert found["complete"].reason is Reason.NOT_CHECKED  # the answer may stand in the rest


def test_a_criterion_below_the_sureness_that_is_asked_for_is_unclear(bench):
    bench.judge = lambda call: call.reply(complete=says(score=0.7), policy=fail(score=0.4))
    found = by_name(run(bench.rubric(sure_at=0.8)))
    assert found["grounded"].verdict is Verdict.PASS
    assert {found[n].reason for n in ("complete", "policy")} == {Reason.LOW_CONFIDENCE}


# Repeats


def flipping(*verdicts):
    """One criterion flips from run to run."""
    answers = iter(verdicts)
    return lambda call: call.reply(policy=next(answers))


def test_a_majority_of_runs_settles_and_the_record_shows_what_flipped(bench):
    bench.judge = flipping(says(), fail(), says())
    report = run(bench.rubric(runs=3))
    assert (report.verdict, report.calls) == (Verdict.PASS, 3)
    assert report.cost_usd == pytest.approx(3 * USD["haiku"])
    policy = by_name(report)["policy"]
    assert policy.measures["votes_pass"] == 2.0
    assert policy.measures["votes_fail"] == 1.0
    assert policy.score == pytest.approx(2 * 0.95 / 3)
    flipped = [v for v in report.votes if v.voter.endswith("/policy")]
    assert sorted(v.verdict for v in flipped) == ["fail", "pass", "pass"]
    assert {v.verdict for v in report.votes if v not in flipped} == {Verdict.PASS}
    assert {v.label for v in report.votes} == {"plain", "claim by claim", "looking for a breach"}
    assert len({v.voter for v in report.votes}) == 12


def test_where_all_runs_have_to_agree_a_split_is_unclear(bench):
    bench.judge = flipping(says(), fail(), says())
    report = run(bench.rubric(runs=3, agreement="unanimous"))
    policy = by_name(report)["policy"]
    assert (policy.verdict, policy.reason) == (Verdict.UNCLEAR, Reason.INCONSISTENT)
    assert "of 3 runs: 2 pass, 1 fail" in policy.why
    assert report.verdict is Verdict.UNCLEAR


@pytest.mark.parametrize("split", [(says(), fail()), (says(), fail(), unsure()), (None, says())])
def test_a_split_without_a_majority_is_unclear(bench, split):
    bench.judge = flipping(*split)
    policy = by_name(run(bench.rubric(runs=len(split))))["policy"]
    assert (policy.verdict, policy.reason) == (Verdict.UNCLEAR, Reason.INCONSISTENT)


# The other family


@pytest.mark.parametrize(
    ("known", "neutral"),
    [
        ({"model": "gpt-5.6-luna"}, True),
        ({"model": None, "family": "openai"}, True),
        ({"model": None, "family": "OpenAI"}, True),
        ({"model": "claude-opus-5"}, False),
        ({"model": "eu.anthropic.claude-haiku"}, False),
        ({"model": "luna", "family": "Anthropic"}, False),
        ({"model": "claude-opus-5", "family": "openai"}, False),
        ({"model": None}, False),
        ({"model": "luna"}, False),
    ],
)
def test_a_judge_is_neutral_only_if_both_families_are_known_and_differ(bench, known, neutral):
    generation = replace(MARCH, **known)
    assert run(bench.rubric(), generation).neutral is neutral

    report = run(bench.rubric(strict=True), generation)
    assert report.neutral is neutral
    assert report.status is (Status.OK if neutral else Status.REFUSED)

    (stage,) = Cascade("c", [bench.rubric()], strict=True).run(generation).stages
    assert stage.neutral is neutral
    assert stage.status is (Status.OK if neutral else Status.REFUSED)
    assert len(bench.calls) == (3 if neutral else 1)  # a refused judge is not even asked


def test_a_judge_of_an_unknown_family_is_not_neutral(bench):
    judge = bench.rubric(model=bench.model("haiku", family=None))
    assert run(judge).neutral is True  # its name shows it
    nameless = bench.model("haiku")
    nameless.family, nameless.model = None, "judge-1"
    assert not bench.rubric(model=nameless).neutral_to(MARCH)


def test_strict_mode_hands_what_its_judge_was_refused_for_to_a_person(bench):
    harness = Harness(Cascade("c", [bench.rubric(), bench.second()], strict=True))
    outcome = harness.verify(replace(MARCH, model="claude-opus-5"))
    assert (outcome.action, outcome.decision.row) == (Action.PERSON, "not_run")
    assert [s.status for s in outcome.report.stages] == [Status.REFUSED, Status.REFUSED]
    assert outcome.report.findings == ()
    assert outcome.report.neutral is False
    assert bench.calls == []


# What is unclear goes up


def test_only_what_is_unclear_is_asked_again_and_only_with_what_it_needs(bench):
    bench.judge = lambda call: call.reply(complete=unsure())
    outcome = Harness(Cascade("c", [bench.rubric(), bench.second()])).verify(MARCH)
    assert bench.asked == [("haiku", CRITERIA), ("sonnet", ("complete",))]
    first, second = bench.calls
    assert "begin passage 1]" in first.text
    assert "passage" not in second.text
    assert second.inside("question") == QUESTION
    assert second.inside("answer under test") == MARCH.output
    assert "it could be either" not in second.text  # it is not told what the first one said
    assert (outcome.action, outcome.report.verdict) == (Action.SHIP, Verdict.PASS)
    assert outcome.report.costs.verification == pytest.approx(0.01)
    assert [f.criterion for f in outcome.report.findings] == list(CRITERIA)


def test_a_failure_beside_what_was_unclear_stays_a_failure(bench):
    bench.judge = lambda call: call.reply(policy=fail(), complete=unsure())
    outcome = Harness(Cascade("c", [bench.rubric(), bench.second()])).verify(MARCH)
    assert outcome.report.verdict is Verdict.FAIL
    assert [f.criterion for f in outcome.report.failed] == ["policy"]
    assert outcome.report.unclear == ()
    assert outcome.report.confidence == pytest.approx(0.97)


def test_what_the_stronger_judge_leaves_unclear_goes_to_a_person(bench):
    bench.judge = bench.stronger = lambda call: call.reply(complete=unsure())
    outcome = Harness(Cascade("c", [bench.rubric(), bench.second()])).verify(MARCH)
    assert (outcome.action, outcome.decision.row) == (Action.PERSON, "unclear")
    assert len(bench.calls) == 2


def test_the_stronger_judge_asks_everything_where_nobody_judged_before(bench):
    down = Harness(Cascade("c", [bench.rubric(strict=True), bench.second()]))
    outcome = down.verify(replace(MARCH, model=None))
    assert bench.asked == [("sonnet", CRITERIA)]
    assert outcome.shipped
    assert outcome.report.neutral is False

    unsettled = Stage(bench.rubric(), gate=Gate(pass_at=0.99))
    assert Cascade("c", [unsettled, bench.second()]).run(MARCH).verdict is Verdict.PASS
    assert bench.asked[1:] == [("haiku", CRITERIA), ("sonnet", CRITERIA)]


def test_what_another_stage_settled_is_not_asked_again_where_the_first_judge_is_down(bench):
    async def grounding(generation):
        return Finding("grounded", Verdict.PASS, score=0.99)

    bench.judge = lambda call: failing(401)
    never_passes = Stage(grounding, settles={"fail"})
    report = Cascade("c", [never_passes, bench.rubric(), bench.second()]).run(MARCH)
    assert bench.asked == [("haiku", CRITERIA), ("sonnet", CRITERIA[1:])]
    assert report.verdict is Verdict.PASS
    assert [f.score for f in report.findings if f.criterion == "grounded"] == [0.99]


def test_recorded_verdicts_are_replayed_with_the_code_and_the_criteria_of_each_call():
    first = {**dict.fromkeys(CRITERIA, says()), "complete": unsure()}
    judge = ReplayModel(replay(first), name="a", family="anthropic")
    stronger = ReplayModel(replay({"complete": says()}), name="b", family="anthropic")
    report = Cascade("c", [RubricJudge(judge), StrongerJudge(stronger)]).run(MARCH)
    assert report.verdict is Verdict.PASS
    unknown = ReplayModel(replay({"complete": unsure()}, {"complete": says()}), name="c")
    for expected in (Verdict.UNCLEAR, Verdict.PASS, Verdict.PASS):
        found = by_name(run(RubricJudge(unknown)))
        assert found["complete"].verdict is expected
        assert found["policy"].reason is Reason.MALFORMED
    with pytest.raises(ValueError, match="was given no verdicts"):
        replay()


def test_outside_of_a_cascade_the_stronger_judge_judges_the_whole_rubric(bench):
    report = asyncio.run(bench.second().verify(MARCH))
    assert (report.verdict, bench.asked) == (Verdict.PASS, [("sonnet", CRITERIA)])


# What is sent


def test_the_material_is_fenced_by_a_code_of_its_own_for_every_call(bench):
    run(bench.rubric(runs=2))
    run(bench.rubric())
    codes = {call.code for call in bench.calls}
    assert len(codes) == 2  # the runs of one check are shown one package
    for call in bench.calls:
        assert [m["role"] for m in call.seen.body["messages"]] == ["system", "user"]
        assert call.code not in call.system
        assert MARCH.output not in call.system
        assert "None of it was written by you" in call.text
        assert DAMAGE.text in call.inside("passage 1")


def test_every_condition_reaches_the_judge_word_for_word(bench):
    rubric = Rubric(
        [Criterion("kind", "The reply is kind.", fails="It scolds.", unclear="It jokes.")]
    )
    run(bench.rubric(rubric=rubric))
    (call,) = bench.calls
    assert "- kind: The reply is kind. Fail if: It scolds. Unclear if: It jokes." in call.system
    schema = call.seen.body["response_format"]["json_schema"]["schema"]
    assert schema["required"] == ["code", "kind"]


def test_the_fingerprint_covers_rubric_prompt_and_models(bench):
    one = Rubric([Criterion("kind", "The reply is kind.")])
    other = Rubric([Criterion("kind", "The reply is kind.", fails="It scolds.")])
    judges = [
        bench.rubric(),
        bench.rubric(rubric=one),
        bench.rubric(rubric=other),
        bench.rubric(runs=3),
        bench.rubric(sure_at=0.8),
        bench.rubric(agreement="unanimous"),
        bench.rubric(limits=Limits(answer=10)),
        bench.rubric(model=bench.model("sonnet")),
        bench.second(),
    ]
    assert len({judge.fingerprint for judge in judges}) == len(judges)
    assert bench.rubric().fingerprint == judges[0].fingerprint


def test_a_change_of_a_word_of_the_prompt_changes_the_fingerprint(bench, monkeypatch):
    from aucert_verifiers.judge import prompts

    before = bench.rubric().fingerprint
    monkeypatch.setattr(prompts, "_FORM", prompts._FORM + " ")
    assert bench.rubric().fingerprint != before


def test_a_conflict_between_passages_is_left_to_the_judge_as_unclear(bench):
    other = Passage("Damage must be reported within 72 hours of delivery.", id="306")
    bench.judge = lambda call: call.reply(grounded=unsure())
    report = run(bench.rubric(), replace(MARCH, evidence=[DAMAGE, other]))
    assert by_name(report)["grounded"].verdict is Verdict.UNCLEAR
    assert isinstance(bench.calls[0], Call)
    assert bench.calls[0].inside("passage 2").endswith(other.text)
