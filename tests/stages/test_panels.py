"""Several judges: what makes a verdict of their votes, when they are stopped, and what it costs."""

from __future__ import annotations

import asyncio
import json
import math
import threading
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.judges import kind, tokens, user_text, verdict
from support.llm_server import failing, openai

from aucert_otel import Budget, Cascade, Gate, Generation, Passage, Reason, Stage, Status, Verdict
from aucert_otel.errors import ConfigurationError
from aucert_otel.generation import Image, Usage
from aucert_otel.llm import (
    ChatMessage,
    Completion,
    ModelUnavailable,
    Recorded,
    ReplayModel,
    spending,
)
from aucert_verifiers.packaging import Limits
from aucert_verifiers.stages import (
    WORDINGS,
    Criterion,
    CrossModelVote,
    Debate,
    Expected,
    Judging,
    SelfConfidence,
    SelfConsistency,
)


GENERATION = Generation("The background is dark.", question="Is dark mode on?")
PATIENT = Judging(grace_s=20.0)


def check(verifier, generation=GENERATION):
    return asyncio.run(verifier.verify(generation))


def replay(answers, name="m", **options):
    return ReplayModel(answers, name=name, keep_requests=True, **options)


def priced(text, usd=0.001):
    return Recorded(text, usage=Usage(cost_usd=usd))


SAID = {
    "pass": verdict("pass", 80),
    "fail": verdict("fail", 80),
    "unclear": verdict("unclear", 80),
    "malformed": "pass, I would say",
    "down": ModelUnavailable("down"),
}
votes = st.lists(st.sampled_from(sorted(SAID)), min_size=1, max_size=5)


@settings(deadline=None, max_examples=60)
@given(votes)
def test_a_panel_passes_only_by_a_strict_majority_of_all_that_were_planned(said):
    panel = [replay([SAID[each]], f"m{i}") for i, each in enumerate(said)]
    report = check(CrossModelVote(panel, judging=PATIENT))
    passes, fails, down = (said.count(each) for each in ("pass", "fail", "down"))
    if passes * 2 > len(said):
        expected = (Status.OK, Verdict.PASS)
    elif fails * 2 > len(said):
        expected = (Status.OK, Verdict.FAIL)
    elif (max(passes, fails) + down) * 2 > len(said):  # those that failed could have decided it
        expected = (Status.UNAVAILABLE, Verdict.UNCLEAR)
    else:
        expected = (Status.OK, Verdict.UNCLEAR)
    assert (report.status, report.verdict) == expected
    assert len(report.votes) == len(said)
    assert report.calls == len(said)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.sampled_from(sorted(SAID)), min_size=3, max_size=3))
def test_self_consistency_settles_only_what_is_unanimous(said):
    report = check(SelfConsistency(replay([SAID[each] for each in said]), judging=PATIENT))
    if len(set(said)) == 1 and said[0] in ("pass", "fail"):
        assert report.verdict.value == said[0]
        assert report.confidence == pytest.approx(0.8)
    else:
        assert report.verdict is Verdict.UNCLEAR
        decided = set(said) - {"down"}
        disagree = len(decided - {"malformed"}) > 1 or decided & {"unclear", "malformed"}
        assert report.status is (Status.OK if disagree else Status.UNAVAILABLE)


def test_who_dissented_is_on_the_record():
    model = replay([verdict("pass", 90), verdict("fail", 60, "grey"), verdict("pass", 80)])
    report = check(SelfConsistency(model, judging=PATIENT))
    assert [str(v) for v in report.votes] == ["m:pass:0.90", "m#2:fail:0.60", "m#3:pass:0.80"]
    assert report.votes[1].why == "grey"
    (finding,) = report.findings
    assert finding.reason is Reason.INCONSISTENT
    assert (finding.measures["votes_pass"], finding.measures["votes_fail"]) == (2, 1)


def test_evaluations_differ_in_wording_and_temperature_and_none_repeats_stage_1():
    model = replay(lambda _: verdict("pass"))
    check(SelfConfidence(model))
    report = check(SelfConsistency(model))
    systems = [request.messages[0].content for request in model.requests]
    assert len(set(systems)) == 4
    assert [request.temperature for request in model.requests] == [0.0, 0.0, 0.5, 1.0]
    assert [vote.label for vote in report.votes] == [
        "search for a fault, temperature 0",
        "own result first, temperature 0.5",
        "statement by statement, temperature 1",
    ]


def test_a_model_that_takes_no_temperature_is_varied_by_wording_alone(court):
    ok = verdict("pass")

    def answer(seen):
        if "temperature" in seen.body:
            return failing(400, message="Unsupported parameter: temperature", param="temperature")
        return openai(ok, usage=tokens(0.001))

    court.server.answer = answer
    report = check(court.stages()["self_consistency"])
    assert report.verdict is Verdict.PASS
    assert [vote.label for vote in report.votes] == [each.name for each in WORDINGS[1:]]


def test_judges_of_a_panel_are_blind_to_each_other(court):
    court.otherwise(verdict("pass", 90, "because of the secret reasoning"))
    check(court.stages()["cross_model_vote"])
    texts = [repr(seen.body["messages"]) for seen in court.server.requests]
    assert len(texts) == 3
    assert not any("secret reasoning" in text for text in texts)
    assert sorted(map(kind, court.server.requests)) == [
        "direct fast",
        "direct strong",
        "search for a fault strong",
    ]


async def after(event, answer):
    await event.wait()
    return answer


def test_a_decided_panel_gives_up_what_is_under_way_and_says_that_its_price_is_unknown():
    async def run():
        never = asyncio.Event()
        late = replay(lambda _: after(never, verdict("fail")), "late")
        quick = [replay([priced(verdict("pass"))], name) for name in ("a", "b")]
        return await CrossModelVote([*quick, late], judging=Judging(grace_s=0.0)).verify(GENERATION)

    report = asyncio.run(run())
    assert report.verdict is Verdict.PASS
    assert [str(vote) for vote in report.votes] == ["a:pass:0.90", "b:pass:0.90", "late:skipped"]
    assert report.calls == 3
    assert report.confidence == pytest.approx(0.6)


def test_an_abandoned_request_is_on_the_bill_as_unpriced(court):
    gate = threading.Event()
    court.otherwise(verdict("pass"))
    court.says("direct fast", replace(openai(verdict("fail")), gate=gate))
    stage = court.stages()["cross_model_vote"]
    stage.judging = replace(stage.judging, grace_s=0.0)

    def answer(seen, usual=court.server.answer):
        if kind(seen) != "direct fast":  # the others reply once it is really under way
            court.server.wait_for_requests(3)
        return usual(seen)

    court.server.answer = answer
    report = check(stage)
    gate.set()
    assert report.verdict is Verdict.PASS
    assert report.cost_usd is None
    assert report.unpriced == ("deepseek-v3.2 (abandoned)",)


@pytest.mark.parametrize("grace_s", [0.0, 3600.0])
def test_a_call_that_was_given_up_before_it_was_sent_cost_nothing(court, grace_s):
    gate = threading.Event()
    court.otherwise(verdict("pass"))
    court.says("own result first fast", replace(openai("x"), gate=gate))
    fast, strong = court.model("fast", concurrency=1), court.model("strong")
    # The grace is for what is under way; a call that still waits for a place is not.
    stage = CrossModelVote([fast, strong, strong], judging=Judging(grace_s=grace_s))

    async def run():
        ask = [ChatMessage("system", WORDINGS[2].task), ChatMessage("user", "x")]
        other = asyncio.ensure_future(fast.complete(ask))  # it holds the only place there is
        await asyncio.to_thread(court.server.wait_for_requests, 1)
        report = await asyncio.wait_for(stage.verify(GENERATION), 60)
        gate.set()
        await other
        return report

    report = asyncio.run(run())
    assert report.verdict is Verdict.PASS
    assert str(report.votes[0]) == "fast:skipped"
    assert (report.cost_usd, report.unpriced) == (pytest.approx(0.002), ())
    assert "direct fast" not in court.asked


def test_a_reply_within_the_grace_is_counted_and_paid():
    async def run():
        decided = asyncio.Event()

        async def last():
            decided.set()
            return priced(verdict("pass"))

        panel = [
            replay([priced(verdict("pass"))], "a"),
            replay(lambda _: last(), "b"),
            replay(lambda _: after(decided, priced(verdict("fail"), 0.004)), "late"),
        ]
        return await CrossModelVote(panel, judging=PATIENT).verify(GENERATION)

    report = asyncio.run(asyncio.wait_for(run(), 30))
    assert report.verdict is Verdict.PASS
    assert [str(v) for v in report.votes][2] == "late:fail:0.90"
    assert (report.cost_usd, report.unpriced) == (pytest.approx(0.006), ())


@pytest.mark.parametrize("said", [["unclear", "malformed"], ["pass", "fail", "unclear"]])
def test_a_panel_stops_once_no_majority_is_possible(said):
    async def run():
        never = asyncio.Event()
        late = replay(lambda _: after(never, verdict("pass")), "late")
        quick = [replay([SAID[each]], f"m{i}") for i, each in enumerate(said)]
        return await CrossModelVote([*quick, late], judging=Judging(grace_s=0.0)).verify(GENERATION)

    report = asyncio.run(asyncio.wait_for(run(), 30))
    assert (report.status, report.verdict) == (Status.OK, Verdict.UNCLEAR)
    assert report.findings[0].reason is Reason.INCONSISTENT
    assert str(report.votes[-1]) == "late:skipped"


def test_a_panel_stops_once_too_many_have_failed():
    async def run():
        never = asyncio.Event()
        late = replay(lambda _: after(never, verdict("pass")), "late")
        down = [replay([SAID["down"]], name) for name in ("a", "b")]
        return await CrossModelVote([*down, late], judging=Judging(grace_s=0.0)).verify(GENERATION)

    report = asyncio.run(asyncio.wait_for(run(), 30))
    assert (report.status, report.verdict) == (Status.UNAVAILABLE, Verdict.UNCLEAR)
    assert report.error == "a: ModelUnavailable; b: ModelUnavailable"


def test_self_consistency_stops_once_it_cannot_be_unanimous():
    async def run():
        never = asyncio.Event()
        said = iter([verdict("pass"), verdict("fail")])

        def answer(request):
            if WORDINGS[3].task in request.messages[0].content:
                return after(never, verdict("pass"))
            return next(said)

        model = replay(answer)
        return await SelfConsistency(model, judging=Judging(grace_s=0.0)).verify(GENERATION)

    report = asyncio.run(run())
    assert report.findings[0].reason is Reason.INCONSISTENT
    assert [vote.status for vote in report.votes] == [Status.OK, Status.OK, Status.SKIPPED]


@pytest.mark.parametrize(
    "make",
    [
        SelfConfidence,
        SelfConsistency,
        lambda model: CrossModelVote([model, model, model]),
        lambda model: Debate(model, model),
    ],
)
def test_cancelling_a_stage_ends_all_of_its_calls(make):
    begun: list[str] = []
    ended: list[str] = []
    changed = threading.Condition()

    def note(notes):
        with changed:
            notes.append("x")
            changed.notify_all()

    def wait_for(state):
        with changed:
            assert changed.wait_for(state, 20)

    async def answer():
        note(begun)
        try:
            await asyncio.Event().wait()
        finally:
            note(ended)

    async def run():
        task = asyncio.ensure_future(make(replay(lambda _: answer())).verify(GENERATION))
        await asyncio.to_thread(wait_for, lambda: begun)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    wait_for(lambda: len(ended) == len(begun))  # they end on the SDK's own loop


def test_a_budget_of_seconds_ends_a_stage_as_over_budget():
    model = replay(lambda _: after(asyncio.Event(), ""))
    report = Cascade("c", [SelfConsistency(model)]).run(GENERATION, Budget(seconds=0.05))
    assert [stage.status for stage in report.stages] == [Status.OVER_BUDGET]
    assert report.verdict is Verdict.UNCLEAR


def test_a_stage_that_does_not_fit_the_money_left_is_never_begun(court):
    court.otherwise(verdict("pass", 50))
    judging = replace(court.judging, expected=Expected(1000, 0))
    model = court.model("fast")
    checks = [SelfConfidence(model, judging=judging), SelfConsistency(model, judging=judging)]
    never_enough = Gate(pass_at=1.0, fail_at=1.0)
    cascade = Cascade("c", [Stage(c, gate=never_enough, estimate=c.estimate) for c in checks])
    report = cascade.run(GENERATION, Budget(usd=0.0035))
    assert [stage.status for stage in report.stages] == [Status.OK, Status.OVER_BUDGET]
    assert (report.verdict, court.asked) == (Verdict.UNCLEAR, ["direct fast"])


def test_what_is_spent_is_the_sum_over_every_attempt(court):
    court.otherwise(verdict("pass"), usd=0.001)
    court.says("own result first fast", failing(500), openai(verdict("pass"), usage=tokens(0.002)))
    with spending() as spent:
        report = check(court.stages()["self_consistency"])
    assert report.cost_usd == pytest.approx(0.004)
    assert report.cost_usd == spent.cost_usd
    assert (report.calls, spent.attempts) == (3, 4)


class Foreign:
    """A model of somebody else's, which keeps no bill of ours."""

    provider = "mine"
    family = None

    def __init__(self, does, name="foreign"):
        self.name = self.model = name
        self.does = does

    def complete(self, messages, **options):
        return self.does()


async def raising(error):
    raise error


async def giving(value):
    return value


def at_once():
    raise RuntimeError("secret prompt")


def answered(**more):
    text = verdict("pass", 99)
    return Completion(text, data=json.loads(text), model="foreign", provider="mine", **more)


@pytest.mark.parametrize(
    ("does", "error"),
    [
        (at_once, "RuntimeError"),
        (lambda: raising(RuntimeError("secret prompt")), "RuntimeError"),
        (lambda: raising(asyncio.CancelledError()), "CancelledError"),
        (lambda: giving(None), "TypeError"),
        (lambda: None, "TypeError"),
    ],
)
def test_whatever_a_model_of_somebody_elses_does_is_a_status(does, error):
    report = check(SelfConfidence(Foreign(does)))
    assert (report.status, report.error) == (Status.ERROR, f"foreign: {error}")
    assert (report.cost_usd, report.unpriced) == (None, ("foreign",))
    others = [replay([verdict("pass")], name) for name in ("a", "b")]
    panel = check(CrossModelVote([Foreign(does), *others], judging=PATIENT))
    assert panel.verdict is Verdict.PASS


@pytest.mark.parametrize(("says", "usd"), [(0.25, 0.25), (None, None), (float("nan"), None)])
def test_a_model_of_somebody_elses_says_what_it_cost_or_is_unpriced(says, usd):
    report = check(SelfConfidence(Foreign(lambda: giving(answered(cost_usd=says)))))
    assert (report.verdict, report.cost_usd) == (Verdict.PASS, usd)
    assert report.unpriced == (() if usd is not None else ("foreign",))


def test_a_model_of_somebody_elses_that_is_given_up_is_unpriced():
    async def run():
        never = asyncio.Event()
        late = Foreign(never.wait, "late")
        panel = [replay([verdict("pass")], "a"), replay([verdict("pass")], "b"), late]
        return await CrossModelVote(panel, judging=Judging(grace_s=0.0)).verify(GENERATION)

    report = asyncio.run(run())
    assert (report.verdict, report.cost_usd) == (Verdict.PASS, None)
    assert report.unpriced == ("late (abandoned)",)


def test_the_debate_is_seven_calls_in_order_and_the_judge_reads_the_sides_in_both(court):
    for side in ("prosecutor", "defender"):
        for number in (1, 2):
            court.says(f"{side} {number}", f"<{side} {number}>")
    court.otherwise(verdict("pass", 80, "sound"))
    report = check(court.stages()["debate"])
    assert (report.calls, len(court.asked)) == (7, 7)
    assert set(court.asked[:2]) == {"prosecutor 1", "defender 1"}
    assert set(court.asked[2:4]) == {"prosecutor 2", "defender 2"}
    assert set(court.asked[4:]) == {"ruling 1", "ruling 2", "ruling 3"}
    by_call = {kind(seen): user_text(seen) for seen in court.server.requests}
    assert "<defender 1>" not in by_call["prosecutor 1"]
    assert "<prosecutor 1>" not in by_call["defender 1"]
    assert "<defender 1>" in by_call["prosecutor 2"]
    assert "<prosecutor 1>" in by_call["defender 2"]
    firsts = []
    for number in (1, 2, 3):
        text = by_call[f"ruling {number}"]
        order = sorted(
            ("<prosecutor 1>", "<defender 1>", "<prosecutor 2>", "<defender 2>"), key=text.index
        )
        firsts.append(order[0].strip("<>").split()[0])
        assert order[0][:4] == order[2][:4]
    assert firsts == ["prosecutor", "defender", "prosecutor"]
    assert [(t.speaker, t.round, t.text) for t in report.transcript[:2]] == [
        ("prosecutor", 1, "<prosecutor 1>"),
        ("defender", 1, "<defender 1>"),
    ]
    assert report.findings[0].measures["order_changes_verdict"] == 0.0
    assert report.votes[1].label.endswith("defender first")


def test_a_judge_that_follows_the_order_is_found_out(court):
    for call in ("prosecutor 1", "prosecutor 2", "defender 1", "defender 2"):
        court.says(call, "x")
    court.otherwise(verdict("fail", 90))
    court.says("ruling 2", verdict("pass", 90))
    report = check(court.stages()["debate"])
    assert report.verdict is Verdict.FAIL
    assert report.confidence == pytest.approx(0.6)
    assert report.findings[0].measures["order_changes_verdict"] == 1.0


def test_pictures_go_to_every_judge(court):
    court.otherwise(verdict("pass"))
    check(
        court.stages()["cross_model_vote"],
        replace(GENERATION, images=(Image(data=b"png"),)),
    )
    for seen in court.server.requests:
        text, picture = seen.body["messages"][1]["content"]
        assert picture["image_url"]["url"] == "data:image/png;base64,cG5n"
        assert "The background is dark." in text["text"]


def token_logprobs(share):
    tokens_ = ['{"verdict', '":"', "pass", '"}']
    content = [{"token": t, "logprob": 0.0, "top_logprobs": []} for t in tokens_]
    content[2]["logprob"] = math.log(share)
    content[2]["top_logprobs"] = [
        {"token": "pass", "logprob": math.log(share)},
        {"token": "fail", "logprob": math.log(1 - share)},
    ]
    return {"content": content}


def test_the_probability_of_the_token_stands_beside_the_stated_confidence(court):
    court.says("direct fast", verdict("pass", 98))
    court.says(
        "token fast",
        openai('{"verdict":"pass"}', logprobs=token_logprobs(0.6), usage=tokens(0.001)),
    )
    report = check(SelfConfidence(court.model("fast"), logprobs=True, judging=court.judging))
    (finding,) = report.findings
    assert finding.measures["token_probability"] == pytest.approx(0.6)
    assert finding.measures["stated_confidence"] == 0.98
    assert (report.confidence, report.calls) == (0.98, 2)
    assert report.cost_usd == pytest.approx(0.002)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (openai('{"verdict":"pass"}'), "no log probabilities"),
        (openai("pass", logprobs=token_logprobs(0.6)), "no log probabilities"),
        (failing(401), "AuthenticationFailed (HTTP 401)"),
    ],
)
def test_without_log_probabilities_the_stage_stands_and_says_so(court, answer, error):
    court.says("direct fast", verdict("pass", 98))
    court.says("token fast", answer)
    report = check(SelfConfidence(court.model("fast"), logprobs=True, judging=court.judging))
    assert (report.verdict, report.confidence) == (Verdict.PASS, 0.98)
    assert "token_probability" not in report.findings[0].measures
    assert [(v.voter, v.error) for v in report.votes[1:]] == [("fast#token", error)]


@pytest.mark.parametrize("said", ["pass", "fail"])
def test_the_score_is_the_probability_that_the_criterion_holds(said):
    report = check(SelfConfidence(replay([verdict(said, 90)])))
    assert report.confidence == 0.9
    assert report.findings[0].score == pytest.approx(0.9 if said == "pass" else 0.1)


@pytest.mark.parametrize("stage", [SelfConfidence, SelfConsistency])
def test_a_judge_cannot_approve_an_answer_it_was_not_shown_whole(stage):
    model = replay(lambda _: verdict("pass", 99))
    judging = Judging(limits=Limits(answer=100), grace_s=20.0)
    report = check(stage(model, judging=judging), replace(GENERATION, output="x" * 400))
    (finding,) = report.findings
    assert (finding.verdict, finding.reason) == (Verdict.UNCLEAR, Reason.NOT_CHECKED)
    assert finding.measures["covered"] == 0.25


def test_missing_support_is_not_found_in_passages_that_were_not_shown():
    generation = replace(GENERATION, evidence=(Passage("p" * 1000),))
    for said, expected in (("fail", Verdict.UNCLEAR), ("pass", Verdict.PASS)):
        judging = Judging(limits=Limits(passages=100))
        report = check(SelfConfidence(replay([verdict(said, 99)]), judging=judging), generation)
        assert report.verdict is expected


def test_a_fingerprint_changes_with_the_model_the_criterion_and_every_parameter():
    a, b = replay([], "a"), replay([], "b")
    other = Judging(criterion=Criterion("correct", "It is short."))
    made = [
        SelfConfidence(a),
        SelfConfidence(b),
        SelfConfidence(a, logprobs=True),
        SelfConfidence(a, temperature=None),
        SelfConfidence(a, judging=other),
        SelfConfidence(a, judging=Judging(limits=Limits(answer=1))),
        SelfConsistency(a),
        SelfConsistency(a, temperatures=(0.0, 0.1, 0.2)),
        CrossModelVote([a, b, b]),
        CrossModelVote([a, a, b]),
        Debate(a, b),
        Debate(b, a),
        Debate(a, b, defender=b),
    ]
    assert len({each.fingerprint for each in made}) == len(made)
    same = SelfConfidence(replay([], "a"), judging=Judging(nonce=lambda: "code", grace_s=9.0))
    assert same.fingerprint == made[0].fingerprint
    renamed = ReplayModel([], name="alias", model="a")
    assert SelfConfidence(renamed).fingerprint == made[0].fingerprint


def test_estimates_count_every_call_and_an_unknown_price_stays_unknown(court):
    judging = Judging(expected=Expected(1000, 0, seconds=2.0))
    fast, strong = court.model("fast"), court.model("strong")
    made = {
        SelfConfidence(fast, judging=judging): (0.001, 2),
        SelfConfidence(fast, logprobs=True, judging=judging): (0.002, 2),
        SelfConsistency(fast, judging=judging): (0.003, 2),
        CrossModelVote([fast, strong, strong], judging=judging): (0.003, 2),
        Debate(fast, strong, judging=judging): (0.007, 6),
    }
    for stage, (usd, seconds) in made.items():
        assert stage.estimate.usd == pytest.approx(usd)
        assert stage.estimate.seconds == seconds
    assert SelfConfidence(replay([])).estimate.usd is None


def test_a_panel_without_seats_and_two_models_of_one_name_are_refused():
    with pytest.raises(ConfigurationError, match="no seats"):
        CrossModelVote([])
    with pytest.raises(ConfigurationError, match="two models called 'm'"):
        CrossModelVote([replay([]), replay([])])
    with pytest.raises(ConfigurationError, match="at least two"):
        SelfConsistency(replay([]), temperatures=(0.0,), wordings=WORDINGS[:1])


def test_a_stage_may_stand_under_another_name():
    stage = Stage(SelfConfidence(replay([]), name="first"))
    assert (stage.name, stage.inline) == ("first", False)
