"""The public API as a user writes it. Never run: `mypy --strict` checks it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from typing import Any, assert_type

from aucert_otel import (
    Action,
    Budget,
    Cascade,
    Costs,
    Decision,
    Draft,
    Estimate,
    Evidence,
    Finding,
    Gate,
    Generation,
    HandedToPerson,
    Harness,
    Match,
    Message,
    Outcome,
    Passage,
    Policy,
    Reason,
    Refused,
    RepairRecord,
    RepairRequest,
    Report,
    Sampling,
    Stage,
    StageReport,
    Status,
    Turn,
    Unavailable,
    Usage,
    Verdict,
    Verifier,
    decide,
    format_table,
    load_verifier,
    observed,
    verified,
)
from aucert_otel.action import TABLE, Row, Situation


# Verifiers: a function, a coroutine function, an object.


def polite(generation: Generation) -> Finding:
    if "please" in generation.output:
        return Finding("polite", Verdict.PASS, score=1.0)
    fact = Evidence("no please", origin="rule")
    return Finding(
        "polite", Verdict.FAIL, claim=generation.output, evidence=(fact,), reason=Reason.REQUIRED
    )


async def judge(generation: Generation) -> list[Finding]:
    if generation.evidence is None:
        raise Unavailable
    raise Refused


class Panel:
    name = "panel"
    fingerprint = "panel/1"

    async def verify(self, generation: Generation, /) -> StageReport:
        return StageReport((), status=Status.SKIPPED, transcript=(Turn("judge", "pass"),))


panel: Verifier = Panel()
assert_type(load_verifier("rules", rules=[]), Verifier)

# A cascade and its report.

cascade = Cascade(
    "support",
    [
        polite,
        Stage(judge, settles=frozenset({Verdict.FAIL}), gate=Gate(fail_at=0.9)),
        Stage(panel, name="panel", estimate=Estimate(usd=0.01, seconds=2)),
    ],
    strict=True,
)
generation = Generation(
    "please wait",
    question="when?",
    messages=(Message("user", "when?"),),
    evidence=(Passage("tomorrow", id="1"),),
    usage=Usage(input_tokens=10),
)
report = cascade.run(generation, Budget(usd=0.02, seconds=5))
assert_type(report, Report)
assert_type(report.verdict, Verdict)
assert_type(report.confidence, float | None)
assert_type(report.findings, tuple[Finding, ...])
assert_type(report.stages, tuple[StageReport, ...])
assert_type(report.costs, Costs)
assert_type(report.costs.total, float | None)

# The action table.

table: tuple[Row, ...] = (Row("mine", "always", Action.PERSON, lambda _: True), *TABLE)
decision = decide(Situation(report, can_repair=True), table)
assert_type(decision, Decision)
assert_type(decision.action, Action)
assert_type(format_table(table), str)

# The harness.


def price(generation: Generation) -> float | None:
    return generation.usage.cost_usd if generation.usage else None


harness = Harness(
    cascade,
    policy=Policy(table, fail_open=False),
    budget=Budget(seconds=5),
    sampling=Sampling(0.1, always=(Match(tenant="acme"),)),
    price=price,
)


def write(request: RepairRequest | None) -> str:
    return "please" if request is None else request.render()


async def awrite(request: RepairRequest | None) -> Generation:
    return Generation("please")


outcome = harness.run(write, escalate=write, question="when?")
assert_type(outcome, Outcome)
assert_type(outcome.action, Action)
assert_type(outcome.shipped, bool)
assert_type(outcome.first, Draft | None)
assert_type(outcome.repair, RepairRecord | None)
assert_type(outcome.request, RepairRequest | None)
assert_type(outcome.drafts, tuple[Draft, ...])
assert_type(outcome.trace_id, str | None)
outcome.or_else("a person will answer")
outcome.or_else(HandedToPerson)
assert_type(harness.verify(generation), Outcome)
assert_type(harness.submit(generation), bool)
assert_type(harness.flush(timeout=2.0), bool)


async def main() -> None:
    assert_type(await cascade.arun(generation), Report)
    assert_type(await harness.averify(generation), Outcome)
    assert_type(await harness.arun(awrite), Outcome)
    assert_type(await acoroutine("when?"), str)
    async for chunk in astream("when?"):
        assert_type(chunk, str)


with Harness([polite]) as small:
    assert_type(small, Harness)

# Decorators keep the type of what they decorate.


def documents(arguments: Mapping[str, Any]) -> list[str]:
    return list(arguments["docs"])


def stronger(q: str, docs: list[str]) -> str:
    return q


@verified(harness, otherwise=HandedToPerson, question="q", evidence=documents, escalate=stronger)
def answer(q: str, docs: list[str], repair: RepairRequest | None = None) -> str:
    return q


@verified(harness, otherwise="a person will answer", tenant="acme")
async def acoroutine(q: str) -> str:
    return q


@verified(harness, otherwise=lambda outcome: [outcome.decision.why])
def stream(q: str) -> Generator[str, None, int]:
    yield q
    return 1


@observed(harness, question="q")
async def astream(q: str) -> AsyncGenerator[str, None]:
    yield q


@observed(harness, read=lambda reply: str(reply["text"]))
def structured(q: str) -> dict[str, str]:
    return {"text": q}


assert_type(answer("when?", []), str)
assert_type(stream("when?"), Generator[str, None, int])
assert_type(structured("when?"), dict[str, str])
keeps: Callable[[str], dict[str, str]] = structured


class Agent:
    @classmethod
    @verified(harness, otherwise="no")
    def create(cls, q: str) -> str:
        return q

    @staticmethod
    @observed(harness)
    def stateless(q: str) -> str:
        return q

    @verified(harness, otherwise="no", question="q")
    def reply(self, q: str) -> str:
        return q


assert_type(Agent.create("q"), str)
assert_type(Agent.stateless("q"), str)
assert_type(Agent().reply("q"), str)
