"""What a cascade hands to a stage that goes by what was found before, and what strict mode asks."""

from __future__ import annotations

import pytest

from aucert_otel import (
    Cascade,
    Finding,
    Generation,
    Reason,
    Stage,
    StageReport,
    Status,
    Unavailable,
    Verdict,
)


ANSWER = Generation("x")


def found(criterion, verdict="pass"):
    reason = None if verdict == "pass" else Reason.ABSTAINED
    return Finding(criterion, verdict, reason=reason)


def rule(generation):
    return [found("rule"), found("tone", "unclear")]


async def broken(generation):
    raise Unavailable


class After:
    """A stage that goes by what was found before it, and remembers it."""

    def __init__(self, name="after"):
        self.name = name
        self.seen = []

    async def verify(self, generation):
        raise AssertionError("in a cascade verify_after is called")

    async def verify_after(self, generation, earlier):
        self.seen.append([(f.criterion, f.verdict.value) for f in earlier])
        return found("tone")


class AfterInThread(After):
    blocking = True

    def verify(self, generation):
        raise AssertionError("in a cascade verify_after is called")

    def verify_after(self, generation, earlier):
        self.seen.append([(f.criterion, f.verdict.value) for f in earlier])
        return found("tone")


class Inline(After):
    def verify(self, generation):
        return found("tone")

    def verify_after(self, generation, earlier):
        raise AssertionError("a check on the caller's thread is handed nothing")


@pytest.mark.parametrize("kind", [After, AfterInThread])
def test_a_stage_that_asks_is_handed_the_findings_that_stand(kind):
    after = kind()
    first = Stage(rule, settles={"fail"})
    cascade = Cascade("c", [first, broken, after])
    assert cascade.run(ANSWER).verdict is Verdict.PASS
    assert after.seen == [[("rule", "pass"), ("tone", "unclear")]]
    Cascade("c", [after]).run(ANSWER)
    assert after.seen[1:] == [[]]


def test_of_two_stages_that_judged_a_criterion_the_later_one_stands():
    async def judge(generation):
        return [found("tone", "fail"), found("other", "unclear")]

    after = After()
    first = Stage(rule, settles={"fail"})
    Cascade("c", [first, Stage(judge, settles={"pass"}), after]).run(ANSWER)
    assert after.seen == [[("rule", "pass"), ("tone", "fail"), ("other", "unclear")]]


def test_a_check_on_the_callers_thread_is_handed_nothing():
    stage = Stage(Inline())
    assert stage.inline
    assert stage.follows is None
    assert Cascade("c", [stage]).run(ANSWER).verdict is Verdict.PASS


class Judge:
    name = "judge"

    def __init__(self, neutral):
        self.neutral = neutral

    def neutral_to(self, generation):
        if self.neutral is None:
            raise RuntimeError("no idea")
        return self.neutral

    async def verify(self, generation):
        return StageReport((found("tone"),), neutral=self.neutral)


@pytest.mark.parametrize(
    ("neutral", "status"), [(True, "ok"), (False, "refused"), (None, "refused")]
)
def test_a_strict_cascade_refuses_a_judge_that_does_not_say_it_is_neutral(neutral, status):
    report = Cascade("c", [Judge(neutral)], strict=True).run(ANSWER)
    (stage,) = report.stages
    assert stage.status == status
    assert (stage.findings == ()) is (status == "refused")
    assert report.neutral is (neutral is True)
    assert report.verdict is Verdict.UNCLEAR  # nothing here is certified

    report = Cascade("c", [Judge(neutral)]).run(ANSWER)
    assert report.verdict is Verdict.PASS
    assert report.neutral is neutral


def test_a_report_that_says_its_judge_was_not_neutral_never_settles_a_strict_cascade():
    async def judge(generation):
        fact = Finding("tone", "fail", reason=Reason.UNSUPPORTED)
        return StageReport((fact,), neutral=False)

    assert Cascade("c", [judge]).run(ANSWER).verdict is Verdict.FAIL
    strict = Cascade("c", [judge], strict=True).run(ANSWER)
    assert (strict.verdict, strict.settled, strict.neutral) == (Verdict.UNCLEAR, False, False)


def test_a_report_without_a_judge_says_nothing_of_neutrality():
    report = Cascade("c", [rule]).run(ANSWER)
    assert report.neutral is None
    assert report.stages[0].status is Status.OK
