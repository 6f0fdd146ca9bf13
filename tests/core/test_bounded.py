"""Whatever checks, generators, budgets and tables do, an answer is handled once and within bounds."""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass, field
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from support.answers import ARTICLE, FACT

from aucert_otel import (
    Action,
    Budget,
    Cascade,
    Estimate,
    Finding,
    Generation,
    Harness,
    Outcome,
    Policy,
    Reason,
    Refused,
    Stage,
    StageReport,
    Status,
    Unavailable,
    Usage,
    Verdict,
)
from aucert_otel.action import TABLE, Row


COSTS = st.sampled_from([None, 0.0, 0.125, 0.5])

FINDING = st.builds(
    lambda criterion, verdict, score, claim, evidence, reason: Finding(
        criterion,
        verdict,
        score=score,
        claim=claim,
        evidence=evidence,
        reason=None if verdict is Verdict.PASS else reason,
    ),
    st.sampled_from(["policy", "grounded", "complete"]),
    st.sampled_from([Verdict.PASS, Verdict.PASS, Verdict.FAIL, Verdict.UNCLEAR]),
    st.sampled_from([None, 0.0, 0.5, 1.0]),
    st.sampled_from([None, "a sentence", "another"]),
    st.sampled_from([(), (FACT,)]),
    st.sampled_from([Reason.CONTRADICTED, Reason.STALE_EVIDENCE, Reason.TRUNCATED]),
)
MENDABLE = Finding(
    "policy", Verdict.FAIL, claim="a sentence", evidence=(FACT,), reason=Reason.CONTRADICTED
)
FOUND = st.one_of(
    # Half of what is found is ordinary, so that runs get as far as a second round.
    st.just((MENDABLE,)),
    st.just((MENDABLE,)),
    st.just((Finding("policy", Verdict.PASS, score=1.0),)),
    st.lists(FINDING, min_size=1, max_size=3),
    st.builds(
        lambda findings, verdict, status, cost: StageReport(
            tuple(findings), verdict=verdict, status=status, cost_usd=cost
        ),
        st.lists(FINDING, max_size=3),
        st.sampled_from([None, *Verdict]),
        st.sampled_from([Status.OK, Status.OK, *Status]),
        COSTS,
    ),
    st.sampled_from([Unavailable(), Refused(), ValueError(), "garbage", None, ()]),
)
DRAFT = st.one_of(
    COSTS,  # a draft that cost this
    st.sampled_from([ConnectionError("down"), TypeError("broken")]),
)
TABLES = st.one_of(
    st.just(TABLE),
    st.lists(
        st.builds(
            lambda action, answer: Row("custom", "custom", action, lambda _: answer),
            st.sampled_from(Action),
            st.booleans(),
        ),
        max_size=3,
    ).map(lambda rows: (*rows, *TABLE)),
)


@dataclass
class World:
    """One run: what checks find on the n-th draft, what generators write, and what is allowed."""

    stages: list[tuple[bool, frozenset[Verdict], float | None, list[Any]]]
    drafts: list[Any]
    can_repair: bool
    escalates: bool
    table: tuple[Row, ...]
    fail_open: bool
    budget: Budget
    written: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def stage(self, number: int) -> Stage:
        waits, settles, estimate, founds = self.stages[number]

        def find(generation: Generation) -> Any:
            found = founds[int(generation.output) - 1]
            if isinstance(found, BaseException):
                raise found
            return found

        async def afind(generation: Generation) -> Any:
            return find(generation)

        return Stage(
            afind if waits else find,
            name=f"s{number}",
            settles=settles,
            estimate=Estimate(usd=estimate),
        )

    def write(self, who: str) -> Any:
        def write(request: Any) -> Generation:
            self.asked.append("repair" if request is not None else who)
            draft = self.drafts[len(self.asked) - 1]
            if isinstance(draft, BaseException):
                raise draft
            self.written.append(who)
            return Generation(
                str(len(self.asked)), evidence=(ARTICLE,), usage=Usage(cost_usd=draft)
            )

        return write

    def run(self, *, asynchronous: bool) -> Outcome:
        harness = Harness(
            Cascade("c", [self.stage(n) for n in range(len(self.stages))]),
            policy=Policy(self.table, fail_open=self.fail_open),
            budget=self.budget,
        )
        options: dict[str, Any] = {
            "can_repair": self.can_repair,
            "escalate": self.write("escalate") if self.escalates else None,
        }
        if asynchronous:
            return asyncio.run(harness.arun(self.write("first"), **options))
        return harness.run(self.write("first"), **options)


WORLDS = st.builds(
    World,
    stages=st.lists(
        st.tuples(
            st.booleans(),
            st.sampled_from(
                [
                    frozenset({Verdict.FAIL}),
                    frozenset({Verdict.PASS}),
                    frozenset({Verdict.PASS, Verdict.FAIL}),
                ]
            ),
            COSTS,
            st.lists(FOUND, min_size=3, max_size=3),
        ),
        min_size=1,
        max_size=2,
    ),
    drafts=st.tuples(COSTS, DRAFT, DRAFT).map(list),
    can_repair=st.sampled_from([True, True, False]),
    escalates=st.booleans(),
    table=TABLES,
    fail_open=st.booleans(),
    budget=st.sampled_from(
        [Budget(), Budget(), Budget(usd=0.5), Budget(usd=2), Budget(seconds=0), Budget(seconds=99)]
    ),
)


@settings(max_examples=400, deadline=None)
@given(world=WORLDS, asynchronous=st.booleans())
def test_an_answer_is_handled_once_and_within_bounds(world, asynchronous):
    outcome = world.run(asynchronous=asynchronous)

    # At most one further round, of one kind.
    assert world.asked[0] == "first"
    assert len(world.asked) <= 2
    assert world.asked.count("first") == 1
    if not world.can_repair:
        assert "repair" not in world.asked

    # Exactly one action, and it is one that ends the matter.
    assert outcome.action in (Action.SHIP, Action.PERSON)
    assert outcome.shipped is (outcome.action is Action.SHIP)
    assert (outcome.output is None) is not outcome.shipped

    # Every draft that was written is kept, once, and the last one is what was judged.
    assert len(outcome.drafts) == len(world.written)
    assert (outcome.first is not None) is (len(world.asked) == 2)
    assert (outcome.repair is not None) is ("repair" in world.asked)
    if outcome.shipped:
        assert outcome.output == str(len(world.asked))
    if len(world.written) < len(world.asked):
        assert outcome.action is Action.PERSON or world.table is not TABLE or world.fail_open
        assert outcome.generation.output == "1"

    # The table that comes with the package ships nothing that failed or is unclear.
    report = outcome.report
    if outcome.shipped and world.table is TABLE:
        assert not report.failed
        assert not report.unclear
        assert (report.verdict is Verdict.PASS and not report.missing) or (
            world.fail_open and report.missing
        )


@settings(max_examples=200, deadline=None)
@given(world=WORLDS)
def test_costs_add_up_and_what_is_unknown_stays_unknown(world):
    outcome = world.run(asynchronous=False)
    costs = outcome.costs
    rounds = [outcome.report] if outcome.first is None else [outcome.first.report, outcome.report]
    if len(world.written) < len(world.asked):
        rounds = rounds[:1]
    checks = [stage.cost_usd for report in rounds for stage in report.stages]
    assert costs.verification == (None if None in checks else math.fsum(checks))
    assert costs.generation == world.drafts[0]
    if len(world.asked) == 1:
        assert costs.repair == 0.0
    elif len(world.written) == 1:
        assert costs.repair is None
    else:
        assert costs.repair == world.drafts[1]
    if costs.generation is None or costs.repair is None:
        assert costs.total is None
        assert costs.unpriced

    # The package's own table starts a round only when all of it fits the money left.
    limit = world.budget.usd
    if limit is not None and "repair" in world.asked and world.table is TABLE:
        first = rounds[0].costs.verification
        assert first is not None
        assert world.drafts[0] is not None
        assert first + first + world.drafts[0] <= limit
