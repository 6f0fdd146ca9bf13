"""The whole of what leaves: span tree, events, log records and metrics, for every way a call ends."""

from __future__ import annotations

import asyncio

import pytest
from opentelemetry.trace import set_span_in_context
from support.checks import Raises, harness, judge, length, no_evidence, unsure
from support.spantree import summary

from aucert_otel import (
    Action,
    Budget,
    Estimate,
    Generation,
    OverBudget,
    Refused,
    Stage,
    Unavailable,
    Verdict,
)


LONG = "x" * 30
VETO = frozenset({Verdict.FAIL})


def verdict(verdict, action, row, stages, **more):
    """The attributes of a verify span of these tests' cascade."""
    extra = {name.replace("_", "."): value for name, value in more.items()}
    return {
        "aucert.action": action,
        "aucert.action.row": row,
        "aucert.cascade.name": "c",
        "aucert.cascade.version": "v1",
        "aucert.certified": False,
        "aucert.cost.unpriced": ["generation"],
        "aucert.cost.usd": 0.0,
        "aucert.mode": "inline",
        "aucert.sampling.probability": 1.0,
        "aucert.stage.reached": len(stages),
        "aucert.stages": stages,
        "aucert.verdict": verdict,
        **{f"aucert.{name}": value for name, value in extra.items()},
    }


def result(label, stage, score=None):
    """The evaluation event of a verdict as a whole."""
    return {
        "name": "gen_ai.evaluation.result",
        "gen_ai.evaluation.name": "aucert.verdict",
        "gen_ai.evaluation.score.label": label,
        "aucert.cascade.name": "c",
        "aucert.stage.name": stage,
        **({} if score is None else {"gen_ai.evaluation.score.value": score}),
    }


def finding(name, label, score, **more):
    """The evaluation event of one finding."""
    return {
        "name": "gen_ai.evaluation.result",
        "gen_ai.evaluation.name": name,
        "gen_ai.evaluation.score.label": label,
        "gen_ai.evaluation.score.value": score,
        **{f"aucert.{key}".replace("_", "."): value for key, value in more.items()},
    }


TOO_LONG = finding("short", "fail", 0.0, reason="length", criterion_source="article 1 v2")
SHIPPED = verdict(
    "pass", "ship", "clean", ["length=pass"], confidence=1.0, criteria_passed=["short"]
)
FAILED = {"confidence": 1.0, "criteria_failed": ["short"], "reasons": ["length"]}
REPAIRING = verdict("fail", "repair", "one_failure", ["length=fail"], **FAILED)


def verify_span(attributes, *events, **more):
    return {
        "name": "aucert.verify c",
        "attributes": attributes,
        "events": list(events),
        **more,
    }


def events_as_records(recorder):
    """Every evaluation event in the tree, in order, as the log records must repeat it."""
    found = []
    for span in sorted(recorder.spans, key=lambda s: s.end_time):
        for event in span.events:
            if event.name == "gen_ai.evaluation.result":
                attributes = {
                    k: list(v) if isinstance(v, tuple) else v for k, v in event.attributes.items()
                }
                found.append((span.name, attributes))
    return found


@pytest.fixture(params=["run", "arun"])
def run(request):
    """The synchronous and the asynchronous way in: what leaves must be the same."""
    if request.param == "run":
        return lambda h, generate, **options: h.run(generate, **options)
    return lambda h, generate, **options: asyncio.run(h.arun(generate, **options))


@pytest.fixture(autouse=True)
def said_three_times(recorder):
    """After every test here: each result left as an event and as a record that says the same."""
    yield
    records = [
        (r["on"], {k: v for k, v in r.items() if k not in ("event", "body", "on", "severity")})
        for r in recorder.records
    ]
    assert sorted(records, key=repr) == sorted(events_as_records(recorder), key=repr)
    assert recorder.balance.settled()


def test_shipped(recorder, run):
    h = harness(length, telemetry=recorder.telemetry())
    assert run(h, lambda _: "short").action is Action.SHIP
    assert recorder.tree == [
        {
            "name": "aucert.generate reply",
            "attributes": summary(SHIPPED),
            "children": [verify_span(SHIPPED, result("pass", "length", 1.0))],
        }
    ]
    assert [record["severity"] for record in recorder.records] == ["INFO"]
    assert {k: v for k, v in recorder.metrics.items() if "background" not in k} == {
        "aucert.criteria": [
            (
                {
                    "aucert.cascade.name": "c",
                    "aucert.criterion": "short",
                    "aucert.verdict": "pass",
                },
                1,
            )
        ],
        "aucert.verification.duration": [
            ({"aucert.cascade.name": "c", "aucert.mode": "inline"}, 1)
        ],
        "aucert.verifications": [
            (
                {
                    "aucert.action": "ship",
                    "aucert.cascade.name": "c",
                    "aucert.mode": "inline",
                    "aucert.stage.reached": 1,
                    "aucert.verdict": "pass",
                },
                1,
            )
        ],
    }


def test_repaired_and_shipped(recorder, run):
    h = harness(length, telemetry=recorder.telemetry())
    outcome = run(h, lambda request: LONG if request is None else "short")
    assert outcome.action is Action.SHIP
    repaired = {**SHIPPED, "aucert.repair.outcome": "passed"}
    assert recorder.tree == [
        {
            "name": "aucert.generate reply",
            "attributes": summary(repaired),
            "children": [
                verify_span(REPAIRING, result("fail", "length", 1.0), TOO_LONG),
                {
                    "name": "aucert.repair",
                    "attributes": {
                        "aucert.action": "ship",
                        "aucert.repair.criteria": ["short"],
                        "aucert.repair.outcome": "passed",
                    },
                    "children": [verify_span(repaired, result("pass", "length", 1.0))],
                },
            ],
        }
    ]
    assert [record["severity"] for record in recorder.records] == ["WARN", "WARN", "INFO"]
    assert recorder.metrics["aucert.repairs"] == [
        (
            {
                "aucert.cascade.name": "c",
                "aucert.criterion": "short",
                "aucert.repair.outcome": "passed",
            },
            1,
        )
    ]


def test_a_repair_that_fails_goes_to_a_person(recorder, run):
    h = harness(length, telemetry=recorder.telemetry())
    assert run(h, lambda _: LONG).action is Action.PERSON
    spent = verdict("fail", "person", "spent", ["length=fail"], repair_outcome="failed", **FAILED)
    assert recorder.tree == [
        {
            "name": "aucert.generate reply",
            "attributes": summary(spent),
            "children": [
                verify_span(REPAIRING, result("fail", "length", 1.0), TOO_LONG),
                {
                    "name": "aucert.repair",
                    "attributes": {
                        "aucert.action": "person",
                        "aucert.repair.criteria": ["short"],
                        "aucert.repair.outcome": "failed",
                    },
                    "children": [verify_span(spent, result("fail", "length", 1.0), TOO_LONG)],
                },
            ],
        }
    ]


def test_a_repair_whose_generator_raises_keeps_the_first_draft_for_a_person(recorder, run):
    def generate(request):
        if request is not None:
            raise LookupError("a canary")
        return LONG

    h = harness(length, telemetry=recorder.telemetry())
    outcome = run(h, generate)
    assert (outcome.action, outcome.repair.outcome) == (Action.PERSON, "error")
    (root,) = recorder.tree
    assert root["attributes"]["aucert.action"] == "person"
    assert root["attributes"]["aucert.repair.outcome"] == "error"
    first, repair = root["children"]
    assert first == verify_span(REPAIRING, result("fail", "length", 1.0), TOO_LONG)
    assert repair["name"] == "aucert.repair"
    assert "children" not in repair
    assert repair["attributes"] == {
        "aucert.action": "person",
        "aucert.repair.criteria": ["short"],
        "aucert.repair.outcome": "error",
        "error.type": "LookupError",
    }
    assert "canary" not in recorder.everything()


def test_escalated(recorder, run):
    h = harness(no_evidence, telemetry=recorder.telemetry())
    outcome = run(h, lambda _: "bad", escalate=lambda _: "better")
    assert outcome.action is Action.SHIP
    first = verdict(
        "fail",
        "escalate",
        "stronger",
        ["no_evidence=fail"],
        confidence=0.75,
        criteria_failed=["kind"],
        reasons=["forbidden"],
    )
    second = verdict(
        "pass",
        "ship",
        "clean",
        ["no_evidence=pass"],
        confidence=0.75,
        criteria_passed=["kind"],
    )
    assert recorder.tree == [
        {
            "name": "aucert.generate reply",
            "attributes": summary(second),
            "children": [
                verify_span(
                    first,
                    result("fail", "no_evidence", 0.75),
                    finding("kind", "fail", 0.25, reason="forbidden"),
                ),
                {
                    "name": "aucert.escalate",
                    "attributes": {"aucert.action": "ship"},
                    "children": [verify_span(second, result("pass", "no_evidence", 0.75))],
                },
            ],
        }
    ]


def test_unclear_goes_to_a_person(recorder, run):
    h = harness(unsure, telemetry=recorder.telemetry())
    assert run(h, lambda _: "hm").action is Action.PERSON
    unclear = verdict(
        "unclear",
        "person",
        "unclear",
        ["unsure=unclear"],
        criteria_unclear=["clear"],
        reasons=["abstained"],
    )
    assert recorder.tree == [
        {
            "name": "aucert.generate reply",
            "attributes": summary(unclear),
            "children": [
                verify_span(
                    unclear,
                    result("unclear", "unsure"),
                    finding("clear", "unclear", 0.5, reason="abstained"),
                )
            ],
        }
    ]


def test_a_stage_that_waits_is_a_span_and_its_cost_is_counted(recorder, run):
    h = harness(
        Stage(length, settles=VETO), judge, telemetry=recorder.telemetry(), price=lambda _: 0.25
    )
    assert run(h, lambda _: "short").shipped
    passed = verdict(
        "pass",
        "ship",
        "clean",
        ["length=pass", "judge=pass"],
        confidence=0.875,
        criteria_passed=["short", "faithful"],
    ) | {"aucert.cost.usd": 0.0078125, "aucert.cost.total_usd": 0.2578125}
    del passed["aucert.cost.unpriced"]
    stage = {
        "name": "aucert.stage",
        "aucert.stage.name": "length",
        "aucert.stage.status": "ok",
        "aucert.stage.verdict": "pass",
        "aucert.stage.confidence": 1.0,
        "aucert.stage.calls": 0,
        "aucert.stage.cost.usd": 0.0,
    }
    assert recorder.tree == [
        {
            "name": "aucert.generate reply",
            "attributes": summary(passed),
            "children": [
                verify_span(
                    passed,
                    stage,
                    result("pass", "judge", 0.875),
                    children=[
                        {
                            "name": "aucert.stage judge",
                            "attributes": {
                                "aucert.stage.calls": 2,
                                "aucert.stage.confidence": 0.875,
                                "aucert.stage.cost.usd": 0.0078125,
                                "aucert.stage.name": "judge",
                                "aucert.stage.status": "ok",
                                "aucert.stage.verdict": "pass",
                            },
                        }
                    ],
                )
            ],
        }
    ]
    ((attributes, cost),) = recorder.metrics["aucert.verification.cost"]
    assert (attributes["aucert.stage.name"], cost) == ("judge", 0.0078125)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (ValueError("a canary"), "error"),
        (Refused("a canary"), "refused"),
        (Unavailable("a canary"), "unavailable"),
        (ConnectionError("a canary"), "unavailable"),
        (OverBudget("a canary"), "over_budget"),
    ],
)
def test_a_stage_that_did_not_run_is_an_error_span_and_never_a_verdict(
    recorder, run, error, status
):
    h = harness(Raises(error), telemetry=recorder.telemetry())
    assert run(h, lambda _: "hm").action is Action.PERSON
    missing = verdict("unclear", "person", "not_run", [f"judge={status}"])
    assert recorder.tree == [
        {
            "name": "aucert.generate reply",
            "attributes": summary(missing),
            "children": [
                verify_span(
                    missing,
                    result("unclear", "judge"),
                    children=[
                        {
                            "name": "aucert.stage judge",
                            "status": f"ERROR: {status}",
                            "attributes": {
                                "aucert.stage.calls": 0,
                                "aucert.stage.cost.usd": 0.0,
                                "aucert.stage.error": (
                                    f"{type(error).__name__} at checks.py:<line>"
                                ),
                                "aucert.stage.name": "judge",
                                "aucert.stage.status": status,
                            },
                        }
                    ],
                )
            ],
        }
    ]
    assert recorder.metrics["aucert.verifier.errors"] == [
        (
            {
                "aucert.cascade.name": "c",
                "aucert.mode": "inline",
                "aucert.stage.name": "judge",
                "aucert.stage.status": status,
            },
            1,
        )
    ]
    assert "canary" not in recorder.everything()


def test_a_stage_that_does_not_fit_the_budget_has_no_span_but_says_so(recorder, run):
    dear = Stage(judge, name="judge", estimate=Estimate(usd=1.0))
    h = harness(dear, telemetry=recorder.telemetry(), budget=Budget(usd=0.5))
    assert run(h, lambda _: "hm").action is Action.PERSON
    missing = verdict("unclear", "person", "not_run", ["judge=over_budget"])
    assert recorder.tree == [
        {
            "name": "aucert.generate reply",
            "attributes": summary(missing),
            "children": [verify_span(missing, result("unclear", "judge"))],
        }
    ]


@pytest.mark.parametrize("error", [ValueError("a canary"), StopIteration("a canary")])
def test_what_the_generator_raises_arrives_unchanged(recorder, error):
    def generate(_):
        raise error

    h = harness(length, telemetry=recorder.telemetry())
    with pytest.raises(type(error)) as caught:
        h.run(generate)
    assert caught.value is error
    (root,) = recorder.tree
    assert root["name"] == "aucert.generate reply"
    assert root["status"].startswith("ERROR")
    assert list(root["attributes"]) == ["error.type"]
    assert "events" not in root
    assert "canary" not in recorder.everything()


def test_what_an_asynchronous_generator_raises_arrives_unchanged(recorder):
    error = ValueError("a canary")

    async def generate(_):
        raise error

    h = harness(length, telemetry=recorder.telemetry())
    with pytest.raises(ValueError, match="canary") as caught:
        asyncio.run(h.arun(generate))
    assert caught.value is error
    assert error.__cause__ is None
    assert error.__context__ is None
    assert recorder.outline == ["aucert.generate reply"]


def test_a_cancelled_run_ends_every_span_as_an_error(recorder):
    async def scenario():
        entered = asyncio.Event()
        loop = asyncio.get_running_loop()

        async def waits_for_ever(generation):
            loop.call_soon_threadsafe(entered.set)
            await asyncio.Event().wait()

        h = harness(waits_for_ever, telemetry=recorder.telemetry())
        task = asyncio.create_task(h.arun(lambda _: "hm"))
        await entered.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(scenario())
    assert recorder.balance.settled()
    (root,) = recorder.tree
    (verify,) = root["children"]
    (stage,) = verify["children"]
    for span in (root, verify, stage):
        assert span["status"] == "ERROR: CancelledError"
        assert span["attributes"] == {"error.type": "CancelledError"}
        assert "events" not in span
    assert recorder.records == []


def test_verify_alone_is_one_span_below_the_callers_own(recorder):
    h = harness(length, telemetry=recorder.telemetry())
    tracer = recorder.tracers.get_tracer("app")
    with tracer.start_as_current_span("request"):
        outcome = h.verify(Generation("short", tenant="acme", model="m"))
    expected = {
        **SHIPPED,
        "aucert.tenant": "acme",
        "aucert.cost.unpriced": ["m"],
    }
    assert recorder.tree == [
        {
            "name": "request",
            "children": [verify_span(expected, result("pass", "length", 1.0))],
        }
    ]
    context = recorder.span("aucert.verify c").context
    assert outcome.trace_id == f"{context.trace_id:032x}"
    assert outcome.span_id == f"{context.span_id:016x}"


def test_a_submitted_answer_is_verified_below_a_span_that_has_ended(recorder):
    h = harness(length, telemetry=recorder.telemetry())
    span = recorder.tracers.get_tracer("app").start_span("request")
    span.end()
    assert h.submit(Generation("short"), context=set_span_in_context(span))
    assert h.flush(20.0)
    assert recorder.tree == [
        {
            "name": "request",
            "children": [
                verify_span({**SHIPPED, "aucert.mode": "sampled"}, result("pass", "length", 1.0))
            ],
        }
    ]


def test_every_finding_leaves_if_asked_for(recorder):
    h = harness(
        Stage(length, settles=VETO), no_evidence, telemetry=recorder.telemetry(every_finding=True)
    )
    h.verify(Generation("short"))
    names = [record["gen_ai.evaluation.name"] for record in recorder.records]
    assert names == ["aucert.verdict", "short", "kind"]
    assert {record["gen_ai.evaluation.score.label"] for record in recorder.records} == {"pass"}
