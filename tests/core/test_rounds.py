from __future__ import annotations

import asyncio

import pytest
from opentelemetry import trace
from support.answers import (
    ARTICLE,
    FACT,
    Judge,
    Says,
    Writer,
    failing,
    good_words,
    passing,
    unclear,
)

from aucert_otel import (
    Action,
    Budget,
    Cascade,
    ConfigurationError,
    Estimate,
    Generation,
    Harness,
    Policy,
    Stage,
    StageReport,
    Unavailable,
)
from aucert_otel.action import TABLE, Row
from aucert_otel.telemetry import Instruments, Telemetry


BAD = "Damage can be reported within 30 days."
GOOD = "Damage must be reported within 48 hours."


def harness(*stages, table=TABLE, fail_open=False, **more):
    return Harness(
        Cascade("c", stages or [good_words()]), policy=Policy(table, fail_open=fail_open), **more
    )


def always(action):
    return (Row("always", "always", action, lambda _: True),)


def test_a_clean_answer_ships_as_it_is():
    native = object()
    writer = Writer([Generation(GOOD, raw=native)])
    outcome = harness().run(writer)
    assert (outcome.action, outcome.shipped, outcome.output) == (Action.SHIP, True, native)
    assert (outcome.first, outcome.repair, outcome.request) == (None, None, None)
    assert writer.requests == [None]
    assert len(outcome.drafts) == 1


def test_one_failure_with_its_fact_is_repaired_and_the_whole_check_runs_again():
    first, last = Says((passing("cited"),), name="first"), Judge((passing("tone"),))
    rules = Stage(first, settles=frozenset())
    writer = Writer([BAD, GOOD])
    outcome = harness(rules, Stage(good_words(), settles={"fail"}), last).run(writer)
    assert (outcome.action, outcome.output) == (Action.SHIP, GOOD)
    assert first.seen == [BAD, GOOD]
    assert last.seen == [GOOD]
    none, request = writer.requests
    assert none is None
    assert request.draft == BAD
    assert request.failed[0].evidence == (FACT,)
    assert outcome.repair.outcome == "passed"
    assert [d.generation.output for d in outcome.drafts] == [BAD, GOOD]
    assert outcome.first.report.failed[0].criterion == "policy"


def test_a_repair_that_fails_goes_to_a_person_with_both_drafts_and_reports():
    writer = Writer([BAD, f"Still {BAD}"])
    outcome = harness().run(writer, escalate=Writer([GOOD]))
    assert (outcome.action, outcome.decision.row, outcome.output) == (Action.PERSON, "spent", None)
    assert [d.generation.output for d in outcome.drafts] == [BAD, f"Still {BAD}"]
    assert all(d.report.failed for d in outcome.drafts)
    assert outcome.repair.outcome == "failed"
    assert len(writer.requests) == 2


def test_a_repair_that_breaks_something_else_does_not_ship():
    second = Stage(good_words("48 hours"), name="other", settles={"fail"})
    outcome = harness(Stage(good_words(), settles={"fail"}), second).run(Writer([BAD, GOOD]))
    assert outcome.action is Action.PERSON


def test_what_a_repair_cannot_help_goes_to_the_stronger_generator_once_and_unasked():
    strong = Writer([GOOD])

    def check(generation):
        return passing() if generation.output == GOOD else failing(evidence=())

    outcome = harness(check).run(Writer([BAD]), escalate=strong)
    assert (outcome.action, outcome.output, strong.requests) == (Action.SHIP, GOOD, [None])
    assert (outcome.first.generation.output, outcome.repair) == (BAD, None)


def test_after_an_escalation_there_is_no_repair():
    writer, strong = Writer([BAD]), Writer([BAD])
    outcome = harness().run(writer, escalate=strong, can_repair=False)
    assert (outcome.action, outcome.decision.row) == (Action.PERSON, "spent")
    assert (len(writer.requests), len(strong.requests)) == (1, 1)


def test_whether_a_repair_is_possible_is_asked_only_where_something_failed():
    asked = []

    def can_repair():
        asked.append("can it?")
        return False

    assert harness().run(Writer([GOOD]), can_repair=can_repair).shipped
    assert asked == []
    strong = Writer([GOOD])
    assert harness().run(Writer([BAD]), escalate=strong, can_repair=can_repair).shipped
    assert (len(asked), strong.requests) == (1, [None])


@pytest.mark.parametrize(("usd", "repaired"), [(1.0, True), (0.99, False)])
def test_a_repair_starts_only_when_the_whole_round_fits_the_money_left(usd, repaired):
    # Spent: 0.25 for the check. A round: 0.5 for writing and 0.25 for checking.
    writer = Writer([BAD, GOOD], cost_usd=0.5)
    outcome = harness(good_words(cost_usd=0.25)).run(writer, budget=Budget(usd=usd))
    assert outcome.shipped is repaired
    assert len(writer.requests) == 1 + repaired
    if repaired:
        costs = outcome.costs
        assert (costs.verification, costs.generation, costs.repair) == (0.5, 0.5, 0.5)
        assert costs.total == 1.5


@pytest.mark.parametrize("budget", [Budget(usd=100), Budget(seconds=0)])
def test_a_round_of_unknown_price_or_without_time_is_not_started(budget):
    writer, strong = Writer([BAD]), Writer([BAD])
    outcome = harness().run(writer, escalate=strong, budget=budget)
    assert writer.requests == [None]
    assert outcome.action is Action.PERSON
    assert len(strong.requests) == (budget.seconds is None)


def test_what_the_repair_cost_is_missing_for_checking_it():
    def verdict(generation):
        found = failing() if generation.output == BAD else passing()
        return StageReport((found,), cost_usd=0.125)

    class Check:
        name = "judge"

        async def verify(self, generation):
            return verdict(generation)

    stage = Stage(Check(), estimate=Estimate(usd=0.125))
    prices = {BAD: 0.125, GOOD: 0.25}
    outcome = harness(stage, price=lambda g: prices[g.output]).run(
        Writer([BAD, GOOD]), budget=Budget(usd=0.4375)
    )
    assert (outcome.action, outcome.decision.row) == (Action.PERSON, "not_run")
    assert outcome.costs.verification == 0.125
    assert outcome.costs.repair == 0.25


@pytest.mark.parametrize("run", ["repair", "escalate"])
def test_a_generator_that_fails_the_second_time_leaves_the_first_draft_to_a_person(run, traced):
    error = ConnectionError("down")
    if run == "repair":
        first, strong = Writer([BAD, error]), None
    else:
        first, strong = Writer([BAD]), Writer([error])
    made = harness(telemetry=traced.telemetry)
    outcome = made.run(first, escalate=strong, can_repair=run == "repair")
    assert (outcome.action, outcome.generation.output) == (Action.PERSON, BAD)
    assert outcome.first.generation is outcome.generation
    assert (outcome.repair.outcome if outcome.repair else None) == (
        "error" if run == "repair" else None
    )
    # Whoever raised may have been paid all the same.
    assert (outcome.costs.repair, outcome.costs.total) == (None, None)
    assert "generation" in outcome.costs.unpriced
    assert traced.span(f"aucert.{run}").attributes["error.type"] == "ConnectionError"


@pytest.mark.parametrize(
    "error",
    [ValueError("x"), KeyboardInterrupt(), SystemExit(3), GeneratorExit(), StopIteration(7)],
)
def test_what_the_first_draft_raises_passes_through_unchanged(error, traced):
    with pytest.raises(type(error)) as raised:
        harness(telemetry=traced.telemetry).run(Writer([error]))
    assert raised.value is error
    assert (error.__cause__, error.__context__) == (None, None)
    assert traced.names == ["aucert.generate answer"]


def test_what_the_first_draft_raises_passes_through_unchanged_for_asynchronous_callers():
    error = ValueError("x")

    async def write(request):
        raise error

    async def main():
        with pytest.raises(ValueError, match="x") as raised:
            await harness().arun(write)
        return raised.value

    assert asyncio.run(main()) is error


@pytest.mark.parametrize("error", [KeyboardInterrupt(), asyncio.CancelledError()])
def test_an_interrupt_during_a_repair_is_no_answer(error, traced):
    with pytest.raises(type(error)) as raised:
        harness(telemetry=traced.telemetry).run(Writer([BAD, error]))
    assert raised.value is error
    assert sorted(traced.names) == [
        "aucert.generate answer",
        "aucert.repair",
        "aucert.verify c",
    ]


@pytest.mark.parametrize("drafts", [[], [BAD]], ids=["first draft", "repair"])
def test_cancelling_reaches_the_generator_and_the_caller(drafts, traced):
    async def main():
        waiting = asyncio.Event()
        ended = []
        left = list(drafts)

        async def write(request):
            if left:
                return left.pop()
            try:
                waiting.set()
                await asyncio.Event().wait()
            finally:
                ended.append(True)

        task = asyncio.ensure_future(harness(telemetry=traced.telemetry).arun(write))
        await waiting.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ended == [True]

    asyncio.run(main())
    assert traced.names[-1] == "aucert.generate answer"
    assert trace.get_current_span() is trace.INVALID_SPAN


@pytest.mark.parametrize("action", list(Action))
@pytest.mark.parametrize("escalates", [True, False])
@pytest.mark.parametrize("can_repair", [True, False])
def test_no_table_can_cause_a_loop(action, escalates, can_repair):
    writer, strong = Writer([BAD, BAD]), Writer([BAD])
    outcome = harness(table=always(action)).run(
        writer, escalate=strong if escalates else None, can_repair=can_repair
    )
    again = (action is Action.REPAIR and can_repair) or (action is Action.ESCALATE and escalates)
    assert len(writer.requests) + len(strong.requests) == 1 + again
    assert outcome.action is (Action.SHIP if action is Action.SHIP else Action.PERSON)
    assert (outcome.first is not None) is again


def test_a_table_that_asks_for_what_nobody_can_do_says_so():
    decision = harness(table=always(Action.ESCALATE)).run(Writer([BAD])).decision
    assert decision.why == "always, but this call has nobody to escalate"


def test_a_table_that_raises_sends_to_a_person(guards_swallow):
    table = (Row("broken", "broken", Action.SHIP, lambda s: s.nothing), *TABLE)
    outcome = harness(table=table).run(Writer([GOOD]))
    assert (outcome.action, outcome.decision.row) == (Action.PERSON, "table_error")


def test_fail_open_ships_what_nobody_could_check_and_says_so():
    stages = [Judge(Unavailable())]
    assert harness(*stages).run(Writer([GOOD])).action is Action.PERSON
    outcome = harness(*stages, fail_open=True).run(Writer([GOOD]))
    assert (outcome.action, outcome.decision.row) == (Action.SHIP, "fail_open")
    broken = StageReport((failing(),), status="error")
    assert harness(Says(broken), fail_open=True).run(Writer([GOOD])).action is Action.PERSON


def test_unclear_is_never_sent_to_repair():
    writer = Writer([GOOD])
    outcome = harness(Says((unclear(),))).run(writer, escalate=Writer([GOOD]))
    assert (outcome.action, outcome.decision.row) == (Action.PERSON, "unclear")
    assert writer.requests == [None]


def test_verify_says_what_to_do_and_hands_over_the_request():
    made = harness()
    outcome = made.verify(Generation(BAD, question="q", evidence=(ARTICLE,)))
    assert (outcome.action, outcome.output, outcome.request.message) == (Action.REPAIR, None, "q")
    shipped = asyncio.run(made.averify(Generation(GOOD)))
    assert (shipped.action, shipped.request, shipped.output) == (Action.SHIP, None, GOOD)


@pytest.mark.parametrize("answer", [None, 3, {"text": GOOD}, b"bytes"])
def test_an_answer_of_another_kind_is_refused_with_the_mend(answer):
    with pytest.raises(
        TypeError, match=f"returned {type(answer).__name__}: return the answer's text"
    ):
        harness().run(lambda request: answer)


def test_a_coroutine_function_needs_the_asynchronous_call():
    async def write(request):
        return GOOD

    with pytest.raises(TypeError, match=r"write is a coroutine function: use arun\(\)"):
        harness().run(write)
    assert asyncio.run(harness().arun(write)).output == GOOD
    assert asyncio.run(harness().arun(lambda request: GOOD)).output == GOOD


def test_a_field_that_does_not_exist_is_refused_before_anybody_writes():
    writer = Writer([GOOD])
    with pytest.raises(ConfigurationError, match=r"run\(\) was given qestion, .* allowed are"):
        harness().run(writer, qestion="q")
    assert writer.requests == []


def test_what_is_known_beforehand_is_on_every_draft():
    known = {"question": "q", "tenant": "acme", "evidence": (ARTICLE,)}
    outcome = harness().run(lambda request: GOOD if request else BAD, **known)
    for draft in outcome.drafts:
        assert (draft.generation.question, draft.generation.tenant) == ("q", "acme")
        assert draft.generation.evidence == (ARTICLE,)
    own = harness().run(lambda request: Generation(GOOD, tenant="own"), **known)
    assert (own.generation.tenant, own.generation.question) == ("own", "q")


@pytest.mark.parametrize("price", [float("nan"), -1, "free", None])
def test_a_price_that_is_none_is_unknown(price):
    outcome = harness(price=lambda generation: price).run(Writer([GOOD]))
    assert (outcome.costs.generation, outcome.costs.total) == (None, None)
    assert outcome.costs.unpriced == ("generation",)


def test_a_price_list_that_raises_does_not_reach_the_application(guards_swallow):
    outcome = harness(price=lambda generation: 1 / 0).run(Writer([GOOD]))
    assert outcome.shipped
    assert outcome.costs.generation is None


def test_the_generator_runs_under_the_generate_span_and_nothing_stays_current(traced):
    names = []

    def write(request):
        names.append(trace.get_current_span().name)
        return BAD if request is None else GOOD

    before = trace.get_current_span()
    outcome = harness(telemetry=traced.telemetry).run(write, name="reply")
    assert names == ["aucert.generate reply", "aucert.repair"]
    assert trace.get_current_span() is before
    assert outcome.trace_id == f"{traced.span('aucert.repair').context.trace_id:032x}"
    assert traced.names == [
        "aucert.verify c",
        "aucert.verify c",
        "aucert.repair",
        "aucert.generate reply",
    ]


def test_without_tracing_there_is_no_trace_id():
    telemetry = Telemetry(Instruments(trace.NoOpTracerProvider()))
    outcome = harness(telemetry=telemetry).run(Writer([GOOD]))
    assert (outcome.trace_id, outcome.span_id) == (None, None)
