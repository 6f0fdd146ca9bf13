"""The record: the specification's fields, no content unless it may leave, always valid JSON."""

from __future__ import annotations

import json
import re
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry.trace import SpanContext
from support.audit import record

from aucert_otel._version import __version__
from aucert_otel.action import Action, Decision
from aucert_otel.audit import record_of, record_of_outcome
from aucert_otel.certificate import Certification
from aucert_otel.costs import Costs
from aucert_otel.generation import Generation
from aucert_otel.outcome import Draft, Outcome
from aucert_otel.repair import Failure, RepairRecord
from aucert_otel.report import Report, StageReport, Turn
from aucert_otel.verdict import Evidence, Finding, Reason, Status, Verdict


SEED = {
    "test_id": "uuid",
    "scenario_id": "uuid",
    "stage_reached": 1,
    "confidence_scores": [0.982],
    "decision": "pass",
    "reasoning": "Self-confidence score 98.2% exceeds 95% threshold",
    "cost_usd": 0.001,
    "latency_ms": 1200,
    "timestamp": "2026-04-07T10:30:00.000Z",
}


@dataclass
class Capture:
    def content(self, text):
        return text.replace("secret", "[masked]")

    def label(self, text):
        return text.replace("secret", "[masked]")


def holds(name):
    return Finding(name, Verdict.PASS, score=0.99)


def failed(name, reason=Reason.CONTRADICTED):
    return Finding(
        name, Verdict.FAIL, score=0.01, why="private why", claim="private claim", reason=reason,
        evidence=(Evidence("private evidence", "rule", "118", "3"),), source="article 118 v3",
        measures={"contradiction": 0.996},
    )  # fmt: skip


def unclear(name, reason=Reason.NO_EVIDENCE):
    return Finding(name, Verdict.UNCLEAR, reason=reason)


def report(*stages, verdict=Verdict.PASS, settled=True, **more):
    return Report(tuple(stages), verdict, settled=settled, **more)


def test_the_seeds_record_comes_out_field_for_field():
    stage = StageReport(
        (holds("screen"),), stage="self_confidence", confidence=0.982, cost_usd=0.001
    )
    found = report(stage, confidence=0.982, costs=Costs(verification=0.001), latency_s=1.2)
    written = record_of(
        Generation("home screen", test_id="uuid", scenario_id="uuid"),
        found,
        threshold=0.95,
        timestamp=datetime(2026, 4, 7, 10, 30, tzinfo=UTC),
    ).to_dict()
    assert {name: written[name] for name in SEED} == SEED


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (
            report(StageReport(tuple(holds(c) for c in "abcde"), stage="rules")),
            "rules settled pass: 5 of 5 criteria hold",
        ),
        (
            report(StageReport((failed("cited_ids"), holds("length")), stage="rules"), verdict=Verdict.FAIL),
            "rules settled fail: cited_ids (contradicted)",
        ),
        (
            report(
                StageReport((holds("length"),), stage="rules"),
                StageReport((unclear("policy"),), stage="judge"),
                verdict=Verdict.UNCLEAR, settled=False,
            ),
            "unsettled after judge: policy unclear (no_evidence)",
        ),
        (
            report(
                StageReport((holds("length"),), stage="rules"),
                StageReport(stage="judge", status=Status.UNAVAILABLE, error="ConnectError"),
                verdict=Verdict.UNCLEAR, settled=False,
            ),
            "judge did not run: unavailable",
        ),
        (
            report(
                StageReport(stage="schema", status=Status.ERROR, veto=True),
                StageReport((holds("policy"),), stage="judge", confidence=0.99),
                confidence=0.99,
            ),
            "judge settled pass: 1 of 1 criteria hold at confidence 99%; schema did not run: error",
        ),
        (
            report(
                StageReport(tuple(failed(f"c{n}") for n in range(8)), stage="rules"), verdict=Verdict.FAIL
            ),
            "rules settled fail: c0 (contradicted), c1 (contradicted), c2 (contradicted), c3 (contradicted), c4 (contradicted) and 3 more",
        ),
        (
            report(
                StageReport((holds("a"),), stage="self_confidence", confidence=0.9),
                verdict=Verdict.UNCLEAR, settled=False, confidence=0.9,
            ),
            "unsettled after self_confidence at confidence 90%",
        ),
        (report(verdict=Verdict.UNCLEAR, settled=False), "no stage ran"),
    ],
)  # fmt: skip
def test_the_reasoning_says_what_settled_it_or_what_kept_it_from_being_settled(found, sentence):
    assert record_of(Generation("x"), found).reasoning == sentence


@pytest.mark.parametrize(
    ("confidence", "says"),
    [
        (0.95, "95% meets 95%"),
        (0.99999, "99.99% exceeds 95%"),
        (1.0, "100% exceeds 95%"),
        (0.9499, "94.99% is below 95%"),
    ],
)
def test_a_confidence_never_reads_higher_than_it_is(confidence, says):
    found = report(StageReport((holds("a"),), stage="self_confidence"), confidence=confidence)
    said = record_of(Generation("x"), found, threshold=0.95).reasoning
    assert said == f"Self-confidence score {says} threshold"


def test_without_content_capture_no_content_is_in_the_record():
    stage = StageReport(
        (failed("a"),), stage="debate", transcript=(Turn("prosecutor", "private turn", 1),)
    )
    repair = RepairRecord(
        (Failure("a", "private claim", (Evidence("private evidence"),), Reason.SCHEMA, {}),),
        "failed",
    )
    found = report(stage, verdict=Verdict.FAIL)
    first = (Generation("private draft"), found)
    text = record_of(
        Generation("private output", question="private question"), found, repair=repair, first=first
    ).to_json()
    assert "private" not in text
    written = json.loads(text)
    assert written["findings"][0]["evidence"][0] == {
        "text": None, "origin": "rule", "passage_id": "118", "version": "3",
    }  # fmt: skip
    assert written["transcript"] == [{"speaker": "prosecutor", "round": 1, "text": None}]
    assert written["drafts"] == []
    assert written["repair"]["outcome"] == "failed"
    assert written["repair"]["records"][0]["reason"] == "schema"


def test_with_content_capture_both_drafts_and_the_debate_are_kept_masked():
    stage = StageReport(
        (failed("a"),), stage="debate",
        transcript=(Turn("prosecutor", "a secret fails", 1), Turn("judge", "PASS", 3)),
    )  # fmt: skip
    found = report(stage, verdict=Verdict.FAIL)
    better = report(StageReport((holds("a"),), stage="debate"))
    written = record_of(
        Generation("second", tenant="secret gmbh"),
        better,
        first=(Generation("first secret"), found),
        boundary=Capture(),
    ).to_dict()
    assert written["drafts"] == [
        {"output": "first [masked]", "verdict": "fail"},
        {"output": "second", "verdict": "pass"},
    ]
    assert written["tenant"] == "[masked] gmbh"
    debated = record_of(Generation("x"), found, boundary=Capture()).to_dict()
    assert debated["transcript"] == [
        {"speaker": "prosecutor", "round": 1, "text": "a [masked] fails"},
        {"speaker": "judge", "round": 3, "text": "PASS"},
    ]
    assert debated["findings"][0]["claim"] == "private claim"


def test_a_record_without_test_id_gets_one_and_the_generation_does_not():
    generation = Generation("x")
    one, two = (record_of(generation, report()).test_id for _ in range(2))
    assert uuid.UUID(one) != uuid.UUID(two)
    assert generation.test_id is None


def test_stages_are_described_with_what_they_cost_and_why_they_did_not_run():
    stages = (
        StageReport(
            (holds("a"),),
            stage="rules",
            confidence=1.0,
            latency_s=0.00002,
            certificate=Certification.VALID,
        ),
        StageReport((holds("a"),), stage="vote", confidence=1.0, certificate=Certification.EXPIRED),
        StageReport(
            stage="judge",
            status=Status.REFUSED,
            error="Refused",
            cost_usd=None,
            unpriced=("m",),
            calls=2,
        ),
    )
    written = record_of(
        Generation("x"), report(*stages, settled=False, verdict=Verdict.UNCLEAR)
    ).to_dict()
    assert written["stages"] == [
        {
            "stage": "rules", "verdict": "pass", "confidence": 1.0, "status": "ok", "error": None,
            "cost_usd": 0.0, "unpriced": [], "latency_ms": 0.02, "calls": 0, "certified": True,
            "certificate": "valid", "votes": [],
        },
        {
            "stage": "vote", "verdict": "pass", "confidence": 1.0, "status": "ok", "error": None,
            "cost_usd": 0.0, "unpriced": [], "latency_ms": 0.0, "calls": 0, "certified": False,
            "certificate": "expired", "votes": [],
        },
        {
            "stage": "judge", "verdict": "unclear", "confidence": None, "status": "refused",
            "error": "Refused", "cost_usd": None, "unpriced": ["m"], "latency_ms": 0.0, "calls": 2,
            "certified": False, "certificate": "none", "votes": [],
        },
    ]  # fmt: skip
    assert written["confidence_scores"] == [1.0, 1.0]
    assert (written["stage"], written["stage_reached"]) == ("judge", 3)


def test_unknown_costs_are_unknown_and_never_zero():
    costs = Costs(verification=None, generation=0.01, unpriced=("model x",))
    written = record_of(Generation("x"), report(costs=costs)).to_dict()
    assert (written["cost_usd"], written["total_usd"], written["generation_usd"]) == (
        None,
        None,
        0.01,
    )
    assert written["unpriced"] == ["model x"]
    known = Costs(verification=0.001, generation=0.01, repair=0.02)
    assert record_of(Generation("x"), report(), costs=known).total_usd == pytest.approx(0.031)


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (datetime(2026, 4, 7, 10, 30, tzinfo=UTC), "2026-04-07T10:30:00.000Z"),
        (
            datetime(2026, 4, 7, 12, 30, 0, 123999, tzinfo=timezone(timedelta(hours=2))),
            "2026-04-07T10:30:00.123Z",
        ),
        (datetime(2026, 4, 7, 10, 30), "2026-04-07T10:30:00.000Z"),  # noqa: DTZ001 - a naive one is what is tested
    ],
)
def test_the_timestamp_is_rfc_3339_in_utc(moment, text):
    assert record_of(Generation("x"), report(), timestamp=moment).timestamp == text


def test_the_timestamp_is_now_if_none_is_given():
    before = datetime.now(UTC) - timedelta(milliseconds=1)
    stamped = record_of(Generation("x"), report()).timestamp
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", stamped)
    assert before <= datetime.fromisoformat(stamped) <= datetime.now(UTC)


@pytest.mark.parametrize(
    ("given_ids", "written"),
    [
        ((0xAF, 0xB7), ("af".zfill(32), "b7".zfill(16))),
        ((0, 0), (None, None)),
        (("", None), (None, None)),
        (("a" * 32, "b" * 16), ("a" * 32, "b" * 16)),
    ],
)
def test_trace_and_span_ids_are_hex_or_absent(given_ids, written):
    made = record_of(Generation("x"), report(), trace_id=given_ids[0], span_id=given_ids[1])
    assert (made.trace_id, made.span_id) == written


def test_an_outcome_of_the_harness_is_written_whole():
    found = report(
        StageReport((failed("a"),), stage="rules"),
        verdict=Verdict.FAIL,
        cascade="grounded",
        cascade_version="v1",
    )
    outcome = Outcome(
        Generation("second", tenant="acme", model="m"),
        found,
        Decision(Action.PERSON, "already repaired", "why"),
        first=Draft(Generation("first"), found),
        repair=RepairRecord((), "failed", cost_usd=0.1, seconds=2.0),
        costs=Costs(verification=0.2, generation=0.3, repair=0.1),
        span_context=SpanContext(0xAB, 0xCD, is_remote=False),
    )
    written = record_of_outcome(
        outcome, mode="sampled", sampling_probability=0.1, boundary=Capture()
    ).to_dict()
    assert written["action"] == "person"
    assert (written["trace_id"], written["span_id"]) == ("ab".zfill(32), "cd".zfill(16))
    assert written["action_row"] == "already repaired"
    assert [draft["output"] for draft in written["drafts"]] == ["first", "second"]
    assert written["repair"] == {
        "outcome": "failed",
        "cost_usd": 0.1,
        "latency_ms": 2000.0,
        "records": [],
    }
    assert written["total_usd"] == pytest.approx(0.6)
    assert (written["mode"], written["sampling_probability"]) == ("sampled", 0.1)
    assert (written["cascade"], written["cascade_version"], written["model"]) == (
        "grounded",
        "v1",
        "m",
    )
    assert (written["schema_version"], written["sdk_version"]) == (1, __version__)


def test_the_json_is_canonical():
    text = record("ä", tenant=None, findings=({"b": 1, "a": (1, 2)},)).to_json()
    assert text == json.dumps(
        json.loads(text), sort_keys=True, separators=(",", ":"), ensure_ascii=False
    )
    assert "ä" in text
    assert "\n" not in text


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_a_number_json_does_not_have_is_refused(number):
    for bad in (record(cost_usd=number), record(findings=({"measures": {"x": [number]}},))):
        with pytest.raises(ValueError, match="audit record cannot hold"):
            bad.to_json()
        with pytest.raises(ValueError, match="audit record cannot hold"):
            bad.to_dict()


def test_what_other_peoples_checks_put_in_place_of_text_does_not_get_in_the_way():
    class Odd:
        def __str__(self):
            raise RuntimeError("never called")

    odd = Odd()
    finding = Finding(
        "a",
        Verdict.FAIL,
        reason=Reason.SCHEMA,
        evidence=(Evidence(odd, 7, odd, 3),),
        source=odd,
        why=odd,
        measures={"x": odd, "y": 10**400, "z": True},
    )
    stage = StageReport((finding,), stage="theirs", error=odd, unpriced=(odd,))
    generation = Generation("x", test_id=17, tenant=odd, model=odd)
    made = record_of(generation, report(stage, verdict=Verdict.FAIL), boundary=Capture())
    written = json.loads(made.to_json())
    assert written["test_id"] == "17"
    assert written["tenant"].endswith("Odd>")
    assert written["findings"][0]["evidence"][0]["passage_id"].endswith("Odd>")
    assert written["findings"][0]["measures"] == {"x": None, "y": None, "z": 1.0}


def test_a_users_object_is_refused_and_not_serialised_blindly():
    with pytest.raises(TypeError, match="cannot hold a object"):
        record(findings=({"x": object()},)).to_json()


text = st.text(st.characters(exclude_categories=()))  # lone surrogates and NUL included
number = st.none() | st.floats(0, 1)
dollars = st.none() | st.floats(0, 1e9)
findings = st.builds(
    Finding,
    text,
    st.sampled_from(Verdict),
    score=number,
    why=text,
    claim=st.none() | text,
    evidence=st.lists(
        st.builds(Evidence, text, text, st.none() | text, st.none() | text), max_size=2
    ).map(tuple),
    reason=st.sampled_from(Reason),
    source=st.none() | text,
    measures=st.dictionaries(text, st.floats() | st.integers() | st.booleans(), max_size=2),
)
stages = st.builds(
    StageReport,
    st.lists(findings, max_size=2).map(tuple),
    confidence=number,
    status=st.sampled_from(Status),
    error=st.none() | text,
    cost_usd=dollars,
    unpriced=st.lists(text, max_size=2).map(tuple),
    latency_s=st.floats(),
    calls=st.integers(),
    transcript=st.lists(st.builds(Turn, text, text, st.integers()), max_size=2).map(tuple),
    stage=text,
)
reports = st.builds(
    Report,
    st.lists(stages, max_size=3).map(tuple),
    st.sampled_from(Verdict),
    confidence=number,
    settled=st.booleans(),
    costs=st.builds(
        Costs,
        verification=dollars,
        generation=number,
        repair=number,
    ),
    latency_s=st.floats(),
    cascade=text,
    cascade_version=text,
)
generations = st.builds(
    Generation,
    text,
    test_id=st.none() | text,
    scenario_id=st.none() | text,
    tenant=st.none() | text,
    model=st.none() | text,
)


options = st.fixed_dictionaries(
    {
        "action_row": st.none() | text,
        "boundary": st.sampled_from([None, Capture()]),
        "first": st.none() | st.tuples(generations, reports),
        "threshold": number,
        "sampling_probability": st.none() | st.floats(),
        "trace_id": st.none() | text,
    }
)


@settings(
    deadline=None, suppress_health_check=[HealthCheck.too_slow]
)  # building the examples is slow on a busy machine
@given(generations, reports, options)
def test_a_record_is_made_of_anything_and_its_json_round_trips(generation, found, more):
    made = record_of(generation, found, action="ship", **more)
    line = made.to_json()
    line.encode()  # no lone surrogate is left
    assert "\n" not in line
    assert json.loads(line) == made.to_dict()
    assert made.to_json() == line
    assert made.decision in {"pass", "fail", "unclear"}
