from __future__ import annotations

import asyncio
import dataclasses
import gc
import math
import threading
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.answers import Judge, Says, failing, passing, unclear

from aucert_otel import (
    Budget,
    Cascade,
    Certificate,
    ConfigurationError,
    Estimate,
    Finding,
    Gate,
    Generation,
    OverBudget,
    Reason,
    Refused,
    Stage,
    StageReport,
    Status,
    Unavailable,
    Verdict,
)


ANSWER = Generation("Your bouquet is on its way.")
TODAY = datetime.now(UTC).date()
DAY = timedelta(days=1)
FAIL_ONLY = frozenset({Verdict.FAIL})


def run(*stages, strict=False, budget=None, answer=ANSWER):
    return Cascade("c", stages, strict=strict).run(answer, budget)


def certificate(fingerprint="judge-1", issued=TODAY - DAY, expires=TODAY + DAY):
    return Certificate(fingerprint, alpha=0.05, delta=0.05, issued=issued, expires=expires)


def test_the_first_stage_that_settles_ends_the_run():
    later = Judge((passing(),))
    report = run(Says((passing(),), name="first"), later)
    assert (report.verdict, report.settled, report.stage) == (Verdict.PASS, True, "first")
    assert later.seen == []


def test_a_stage_settles_only_what_it_may():
    report = run(Stage(Says((passing("cited"),)), settles=FAIL_ONLY), Judge((failing("policy"),)))
    assert (report.verdict, report.stage_reached, report.stage) == (Verdict.FAIL, 2, "judge")
    assert [s.veto for s in report.stages] == [True, False]


def test_a_veto_stage_alone_never_passes_an_answer():
    report = run(Stage(Says((passing(),)), settles=FAIL_ONLY))
    assert (report.verdict, report.settled, report.confidence) == (Verdict.UNCLEAR, False, None)


@pytest.mark.parametrize("found", [(), (unclear(),), (passing(), unclear("tone")), StageReport()])
def test_unclear_never_settles_and_no_findings_are_unclear(found):
    report = run(Says(found))
    assert (report.verdict, report.settled) == (Verdict.UNCLEAR, False)
    assert report.missing == ()


@pytest.mark.parametrize(
    ("finding", "gate", "settles"),
    [
        (passing(score=0.95), Gate(pass_at=0.95), True),
        (passing(score=0.949), Gate(pass_at=0.95), False),
        (passing(score=None), Gate(pass_at=0.0), False),
        (passing(score=None), Gate(fail_at=0.9), True),
        (failing(score=0.05), Gate(fail_at=0.95), True),
        (failing(score=0.06), Gate(fail_at=0.95), False),
        (failing(score=None), Gate(fail_at=0.0), False),
        (failing(score=None), Gate(pass_at=0.9), True),
    ],
)
def test_a_gate_admits_a_verdict_at_its_threshold_and_never_an_unknown_confidence(
    finding, gate, settles
):
    report = run(Stage(Says(finding), gate=gate))
    assert report.settled is settles
    assert report.verdict is (finding.verdict if settles else Verdict.UNCLEAR)


def test_a_pass_is_as_sure_as_its_least_sure_criterion_and_a_fail_as_its_surest_failure():
    assert run(Says((passing("a", 0.75), passing("b", 0.5)))).confidence == 0.5
    assert run(Says((passing("a", 0.75), passing("b", None)))).confidence is None
    found = (failing("a", score=0.25), failing("b", score=0.5), passing("c", 1.0))
    assert run(Says(found)).confidence == 0.75


def test_a_confidence_the_stage_states_itself_counts():
    report = StageReport((passing(score=0.25),), confidence=0.96)
    assert run(Stage(Says(report), gate=Gate(pass_at=0.95))).settled


@pytest.mark.parametrize(
    ("fingerprint", "given", "settles"),
    [
        ("judge-1", None, False),
        ("judge-1", certificate(), True),
        ("judge-1", certificate(issued=TODAY, expires=TODAY), True),
        ("judge-1", certificate(expires=TODAY - DAY), False),
        ("judge-1", certificate(issued=TODAY + DAY), False),
        ("judge-2", certificate(), False),
        (None, certificate(), False),
        (None, certificate(fingerprint=None), False),
    ],
    ids=[
        "none",
        "valid",
        "one day",
        "expired",
        "not yet",
        "foreign",
        "unbound",
        "bound to nothing",
    ],
)
def test_strict_mode_lets_only_a_certified_stage_approve(fingerprint, given, settles):
    stage = Stage(Says((passing(),), fingerprint=fingerprint), gate=Gate(certificate=given))
    strict = run(stage, strict=True)
    assert (strict.settled, strict.certified) == (settles, settles)
    relaxed = run(stage)
    assert (relaxed.settled, relaxed.certified) == (True, settles)


def test_strict_mode_lets_an_uncertified_stage_reject():
    assert run(Says((failing(),)), strict=True).verdict is Verdict.FAIL


class OddError(Exception):
    cost_usd = "three"


class ChargedError(Exception):
    cost_usd = 0.25


@pytest.mark.parametrize("kind", [Says, Judge])
@pytest.mark.parametrize(
    ("error", "status", "cost"),
    [
        (Refused(), Status.REFUSED, 0.0),
        (OverBudget(), Status.OVER_BUDGET, 0.0),
        (Unavailable(), Status.UNAVAILABLE, 0.0),
        (TimeoutError(), Status.UNAVAILABLE, 0.0),
        (ConnectionResetError(), Status.UNAVAILABLE, 0.0),
        (ValueError("secret sk-12345"), Status.ERROR, 0.0),
        (StopIteration(), Status.ERROR, 0.0),
        (ChargedError(), Status.ERROR, 0.25),
        (OddError(), Status.ERROR, None),
    ],
    ids=repr,
)
def test_a_check_that_raises_has_a_status_and_no_verdict(kind, error, status, cost):
    report = run(kind(error))
    (stage,) = report.stages
    if kind is Judge and cost == 0.0:
        cost = None  # it waited for somebody, and nobody said what that cost
        assert stage.unpriced == (stage.stage,)
    assert (stage.status, stage.verdict, stage.cost_usd) == (status, Verdict.UNCLEAR, cost)
    assert report.missing == (stage,)
    assert report.verdict is Verdict.UNCLEAR
    assert "sk-12345" not in (stage.error or "")


def garbage():
    yield None
    yield {"verdict": "pass"}
    yield "pass"
    yield b"pass"
    yield True
    yield 1.0
    yield [passing(), "pass"]
    yield [None]
    yield Finding
    yield StageReport(findings=("pass",), verdict=Verdict.PASS)  # type: ignore[arg-type]
    yield StageReport(findings=None, verdict=Verdict.PASS)  # type: ignore[arg-type]
    yield StageReport((passing(),), unpriced=None)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [Says, Judge])
@pytest.mark.parametrize("found", list(garbage()), ids=repr)
def test_what_is_no_finding_is_an_error_and_never_a_verdict(kind, found):
    report = run(kind(found))
    assert [s.status for s in report.stages] == [Status.ERROR]
    assert report.verdict is Verdict.UNCLEAR


@given(
    found=st.recursive(
        st.one_of(st.none(), st.booleans(), st.floats(), st.text(), st.binary(), st.integers()),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)
        ),
        max_leaves=5,
    )
)
def test_nothing_a_check_returns_is_a_pass_but_findings(found):
    report = run(Says(found))
    assert report.verdict is Verdict.UNCLEAR
    assert report.stages[0].status is (Status.OK if found in ([], {}) else Status.ERROR)


@pytest.mark.parametrize("score", [math.nan, math.inf, 1.5, "0.9"])
def test_a_score_that_is_no_probability_is_an_error_of_the_check(score):
    def check(generation):
        return Finding("policy", Verdict.PASS, score=score)

    assert run(check).stages[0].status is Status.ERROR


def test_a_coroutine_from_a_plain_function_is_an_error_and_is_closed():
    async def late():
        return passing()

    report = run(Stage(lambda generation: late(), name="late"))
    assert report.stages[0].status is Status.ERROR
    gc.collect()  # a coroutine nobody closed would warn here


def test_a_coroutine_from_a_blocking_function_is_awaited():
    async def late():
        return passing()

    assert run(Says(late(), blocking=True)).verdict is Verdict.PASS


def test_a_check_may_yield_its_findings():
    def check(generation):
        yield passing("a")
        yield failing("b")

    assert run(check).verdict is Verdict.FAIL

    def breaks(generation):
        yield passing("a")
        raise ValueError

    assert run(breaks).stages[0].status is Status.ERROR


def test_an_object_with_an_asynchronous_call_is_awaited():
    class Check:
        async def __call__(self, generation):
            return passing()

    assert run(Check()).verdict is Verdict.PASS


def test_a_cancelled_task_inside_a_check_is_an_error_of_the_check():
    async def check(generation):
        inner = asyncio.ensure_future(asyncio.Event().wait())
        inner.cancel()
        await inner

    assert run(check).stages[0].status is Status.ERROR


def test_cancelling_the_caller_is_no_status():
    begun = threading.Event()
    ended = threading.Event()

    async def check(generation):
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async def main():
        task = asyncio.ensure_future(Cascade("c", [check]).arun(ANSWER))
        await asyncio.to_thread(begun.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(ended.wait, 10)

    asyncio.run(main())


def test_an_interrupt_on_the_callers_thread_reaches_the_caller():
    with pytest.raises(KeyboardInterrupt):
        run(Says(KeyboardInterrupt()))


class PanicError(BaseException):
    """What an extension module raises when it breaks."""


@pytest.mark.parametrize("kind", [Says, Judge])
@pytest.mark.parametrize(
    "error",
    [
        SystemExit(3),
        PanicError("x"),
        BaseExceptionGroup("x", [PanicError()]),
        asyncio.CancelledError(),
    ],
    ids=repr,
)
def test_a_check_that_exits_panics_or_cancels_itself_has_not_run(kind, error):
    (stage,) = run(kind(error)).stages
    assert (stage.status, stage.verdict) == (Status.ERROR, Verdict.UNCLEAR)


def test_a_check_that_cancels_its_own_task_cancels_nobody_else():
    async def check(generation):
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)

    async def main():
        report = await Cascade("c", [check]).arun(Generation("x"))
        assert asyncio.current_task().cancelling() == 0
        return report

    assert asyncio.run(main()).stages[0].status is Status.ERROR


class UnspeakableError(Exception):
    """An exception that cannot even be looked at."""

    @property
    def cost_usd(self):
        raise RuntimeError

    def __str__(self):
        raise RuntimeError


@pytest.mark.parametrize("cost", [10**400, float("nan"), "x", None])
def test_an_exception_with_a_hostile_cost_has_an_unknown_one(cost):
    error = ChargedError()
    error.cost_usd = cost
    assert run(Says(error)).stages[0].cost_usd is None


def test_an_exception_that_cannot_be_looked_at_is_an_error_of_unknown_cost():
    (stage,) = run(Says(UnspeakableError())).stages
    assert (stage.status, stage.cost_usd) == (Status.ERROR, None)


def test_a_verdict_of_fail_without_findings_stands_against_later_stages():
    below = Stage(Says(StageReport(verdict=Verdict.FAIL, confidence=0.1)), gate=Gate(fail_at=0.9))
    report = run(below, Judge((passing(),), name="judge"))
    assert not report.clean
    assert report.failed


def test_a_broken_stage_hands_on_to_the_next():
    report = run(Judge(Unavailable(), name="a"), Judge((passing(),), name="b"))
    assert (report.verdict, report.stage, report.missing) == (Verdict.PASS, "b", ())


def test_a_later_stage_speaks_for_the_criteria_it_names():
    first = Stage(Says((failing(score=0.4), passing("tone"))), gate=Gate(fail_at=0.9))
    report = run(first, Judge((passing("policy"),)))
    assert report.verdict is Verdict.PASS
    assert {f.criterion: f.verdict.value for f in report.findings} == {
        "policy": "pass",
        "tone": "pass",
    }


@pytest.mark.parametrize("reason", [Reason.STALE_EVIDENCE, Reason.CONFLICTING_EVIDENCE])
@pytest.mark.parametrize("verdict", [Verdict.FAIL, Verdict.UNCLEAR])
def test_stale_or_conflicting_evidence_ends_the_run(reason, verdict):
    later = Judge((passing(),))
    bad = Finding("grounded", verdict, reason=reason)
    report = run(Stage(Says((bad, passing("cited"))), settles=frozenset()), later)
    assert later.seen == []
    assert (report.verdict, report.stage_reached) == (Verdict.UNCLEAR, 1)


def test_an_answer_out_of_money_or_time_is_not_judged():
    dear = Stage(Judge((passing(),)), estimate=Estimate(usd=0.05))
    for budget in (Budget(usd=0.04), Budget(seconds=0)):
        (stage,) = run(dear, budget=budget).stages
        assert (stage.status, stage.stage, stage.cost_usd) == (Status.OVER_BUDGET, "judge", 0.0)
    assert dear.check.seen == []  # type: ignore[attr-defined]
    assert run(dear, budget=Budget(usd=0.05)).verdict is Verdict.PASS


def test_a_rule_runs_whatever_is_left():
    assert run(Says((failing(),)), budget=Budget(usd=0, seconds=0)).verdict is Verdict.FAIL


def test_what_a_stage_spent_is_missing_for_the_next():
    paid = Judge(StageReport((unclear(),), cost_usd=0.75), name="a")
    first = Stage(paid, estimate=Estimate(usd=0.75))
    second = Stage(Judge(StageReport((passing(),)), name="b"), estimate=Estimate(usd=0.5))
    report = run(first, second, budget=Budget(usd=1))
    assert [s.status for s in report.stages] == [Status.OK, Status.OVER_BUDGET]
    assert run(first, second, budget=Budget(usd=1.25)).verdict is Verdict.PASS


def test_an_unknown_cost_is_absent_and_leaves_no_known_money():
    first = Judge(
        StageReport((unclear(),), cost_usd=None, unpriced=("judge-x", "judge-x")), name="a"
    )
    first = Stage(first, estimate=Estimate(usd=0.01))
    second = Stage(Judge((passing(),), name="b"), estimate=Estimate(usd=0.0))
    report = run(first, second)
    assert (report.costs.verification, report.costs.unpriced) == (None, ("judge-x",))
    assert run(first, second, budget=Budget(usd=100)).stages[1].status is Status.OVER_BUDGET


def test_a_check_that_waits_and_names_no_cost_has_an_unknown_one():
    judge = Judge((passing(),), name="judge")
    report = run(judge)
    assert (report.costs.verification, report.costs.unpriced) == (None, ("judge",))
    # Nothing shows that an unknown price fits a limit on money.
    assert run(judge, budget=Budget(usd=100)).stages[0].status is Status.OVER_BUDGET


def test_a_check_that_waits_may_say_that_it_is_free():
    judge = Stage(Judge((passing(),), name="judge"), estimate=Estimate(usd=0.0))
    report = run(judge, budget=Budget(usd=0))
    assert (report.verdict, report.costs.verification) == (Verdict.PASS, 0.0)


def test_a_judge_that_outlasts_the_deadline_is_over_budget():
    async def check(generation):
        await asyncio.Event().wait()

    report = run(check, budget=Budget(seconds=0.05))
    assert report.stages[0].status is Status.OVER_BUDGET


VERSIONS = [
    Stage(Says((), fingerprint="1"), name="a"),
    Stage(Says((), fingerprint="2"), name="a"),
    Stage(Says((), fingerprint="1"), name="b"),
    Stage(Says((), fingerprint="1"), name="a", settles=FAIL_ONLY),
    Stage(Says((), fingerprint="1"), name="a", gate=Gate(pass_at=0.9)),
    Stage(Says((), fingerprint="1"), name="a", gate=Gate(fail_at=0.9)),
    Stage(Says((), fingerprint="1"), name="a", gate=Gate(certificate=certificate())),
]


def test_the_version_changes_with_whatever_can_change_a_verdict():
    versions = [Cascade("c", [stage]).version for stage in VERSIONS]
    versions.append(Cascade("c", VERSIONS[:1], strict=True).version)
    versions.append(Cascade("c", [VERSIONS[0], VERSIONS[2]]).version)
    versions.append(Cascade("c", [VERSIONS[2], VERSIONS[0]]).version)
    assert len(set(versions)) == len(versions)
    assert Cascade("other", [dataclasses.replace(VERSIONS[0])]).version == versions[0]
    assert Cascade("c", VERSIONS[:1], version="v7").version == "v7"


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Cascade("c", []), "cascade 'c' has no stages"),
        (
            lambda: Cascade("c", [Says(()), Says(())]),
            r"two stages of one name in \['check', 'check'\]",
        ),
        (
            lambda: Stage(Says(()), settles={"unclear"}),
            "settles 'unclear': allowed are 'pass', 'fail'",
        ),
        (lambda: Stage(Says(()), settles=["maybe"]), "stage 'check' settles 'maybe'"),
        (lambda: Gate(pass_at=1.1), r"gate\.pass_at is 1\.1: a confidence lies in \[0, 1\]"),
        (lambda: Gate(fail_at=math.nan), r"gate\.fail_at is nan"),
    ],
)
def test_a_cascade_that_cannot_work_is_refused(make, sentence):
    with pytest.raises(ConfigurationError, match=sentence):
        make()


@pytest.mark.parametrize("given", ["fail", ["fail"], {"fail"}, {Verdict.FAIL}])
def test_what_a_stage_settles_may_be_given_in_plain_words(given):
    assert Stage(Says(()), settles=given).settles == FAIL_ONLY


FOUND = st.one_of(
    st.sampled_from(
        [
            (),
            (passing("a", 0.9),),
            (passing("b", None),),
            (failing("a", score=0.2),),
            (unclear("b"), passing("a", 0.6)),
            (Finding("a", Verdict.UNCLEAR, reason=Reason.STALE_EVIDENCE),),
            StageReport((passing("c"),), cost_usd=0.5, calls=2),
            StageReport((unclear("c"),), cost_usd=None),
            StageReport((passing("c"),), status=Status.SKIPPED),
            Unavailable(),
            Refused(),
            ValueError(),
            "garbage",
        ]
    )
)
STAGES = st.lists(
    st.tuples(
        st.sampled_from([Says, Judge]),
        FOUND,
        st.sampled_from(
            [FAIL_ONLY, frozenset({Verdict.PASS}), frozenset(Verdict) - {Verdict.UNCLEAR}]
        ),
        st.sampled_from([Gate(), Gate(0.95, 0.95), Gate(0.5, 0.5)]),
        st.sampled_from([Estimate(), Estimate(usd=0.4), Estimate(usd=None)]),
    ),
    min_size=1,
    max_size=4,
)
BUDGETS = st.sampled_from(
    [None, Budget(usd=0.5), Budget(usd=0), Budget(seconds=0), Budget(seconds=99)]
)


def cascade_of(rows, strict):
    return Cascade(
        "c",
        [
            Stage(kind(found), name=f"s{n}", settles=settles, gate=gate, estimate=estimate)
            for n, (kind, found, settles, gate, estimate) in enumerate(rows)
        ],
        strict=strict,
    )


def without_clock(report):
    stages = tuple(dataclasses.replace(s, latency_s=0.0) for s in report.stages)
    return dataclasses.replace(report, latency_s=0.0, stages=stages)


@given(rows=STAGES, strict=st.booleans(), budget=BUDGETS)
def test_synchronous_and_asynchronous_callers_get_one_report(rows, strict, budget):
    cascade = cascade_of(rows, strict)
    alone = without_clock(cascade.run(ANSWER, budget))
    assert without_clock(asyncio.run(cascade.arun(ANSWER, budget))) == alone


@given(rows=STAGES, strict=st.booleans(), budget=BUDGETS)
def test_a_verdict_is_only_what_the_last_stage_settled(rows, strict, budget):
    report = cascade_of(rows, strict).run(ANSWER, budget)
    last = report.stages[-1]
    stage = rows[report.stage_reached - 1]
    if report.settled:
        assert last.status is Status.OK
        assert last.verdict is report.verdict
        assert report.verdict in stage[2]
        assert stage[3].admits(report.verdict, last.confidence)
        assert not (strict and report.verdict is Verdict.PASS)  # nothing here is certified
    else:
        assert (report.verdict, report.confidence) == (Verdict.UNCLEAR, None)
    assert all(s.verdict is Verdict.UNCLEAR for s in report.stages if s.status is not Status.OK)
