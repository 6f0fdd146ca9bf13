"""Arbitrary replies of a judge: never an exception, and never a pass that was not asked for in form."""

from __future__ import annotations

import asyncio
import json

from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.rubric_judges import CRITERIA, FACT, MARCH, QUESTION, fail, says, unsure

from aucert_otel import Cascade, Reason, Verdict
from aucert_otel.llm import Recorded, ReplayModel
from aucert_otel.llm.model import Completion
from aucert_otel.llm.parse import Malformed, parse_object
from aucert_verifiers.judge import RubricJudge, Settings
from aucert_verifiers.judge.kin import neutral
from aucert_verifiers.judge.quotes import Material, Quoted
from aucert_verifiers.judge.reading import read
from aucert_verifiers.packaging import Limits


CODE = "c0de1234"
SETTINGS = Settings(nonce=lambda: CODE)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)
words = st.sampled_from(["pass", "fail", "unclear", "PASS", "p\u0430ss", "passed", ""])
verdicts = st.fixed_dictionaries(
    {
        "why": st.just("x") | json_values,
        "verdict": words | json_values,
        "score": st.floats() | st.sampled_from([0, 1, 0.5]) | json_values,
    },
    optional={
        "claim": st.none() | st.sampled_from([QUESTION, MARCH.output, ""]) | json_values,
        "evidence": st.none() | st.sampled_from([FACT, "x", ""]) | json_values,
        "final": json_values,
    },
)
replies = st.fixed_dictionaries(
    {},
    optional={
        "code": st.just(CODE) | json_values,
        "extra": json_values,
        **dict.fromkeys(CRITERIA, verdicts | json_values),
    },
)


def completion(text):
    found = parse_object(text)
    bad = isinstance(found, Malformed)
    return Completion(
        text,
        data=None if bad else found,
        problem=found.kind if bad else None,
        model="m",
        provider="p",
    )


def really_passes(data, name):
    """The rule, written down a second time."""
    if data.get("code") != CODE or not set(data) <= {"code", *CRITERIA}:
        return False
    said = data.get(name)
    if not isinstance(said, dict):
        return False
    keys = set(said)
    if not {"why", "verdict", "score"} <= keys <= {"why", "verdict", "score", "claim", "evidence"}:
        return False
    score, why = said["score"], said["why"]
    return (
        isinstance(why, str)
        and why.strip() != ""
        and isinstance(score, int | float)
        and not isinstance(score, bool)
        and 0.5 <= score <= 1
        and isinstance(said["verdict"], str)
        and said["verdict"].strip().lower() == "pass"
        and all(said.get(k) is None or isinstance(said[k], str) for k in ("claim", "evidence"))
    )


@given(replies)
@example({"code": CODE, **{name: says() for name in CRITERIA}})
@example({"code": CODE, "grounded": says(), "policy": fail(), "on_topic": unsure()})
@settings(max_examples=400, deadline=None)
def test_a_criterion_passes_only_by_a_whole_and_consistent_verdict_with_the_code(data):
    text = json.dumps(data)
    read_back = parse_object(text)
    found = read(completion(text), CRITERIA, code=CODE)
    assert tuple(found) == CRITERIA
    for name, judged in found.items():
        passes = not isinstance(read_back, Malformed) and really_passes(read_back, name)
        assert (judged.verdict is Verdict.PASS) is passes
        if judged.verdict is Verdict.UNCLEAR:
            assert judged.reason is not None
        if judged.verdict is not Verdict.PASS:
            continue
        assert judged.reason is None


@given(st.text() | replies.map(json.dumps))
@settings(max_examples=200, deadline=None)
def test_any_reply_gives_a_finding_for_each_criterion_and_never_raises(text):
    model = ReplayModel([Recorded(text)], name="judge", family="other")
    (stage,) = Cascade("c", [RubricJudge(model, settings=SETTINGS)]).run(MARCH).stages
    if stage.findings:
        assert [f.criterion for f in stage.findings] == list(CRITERIA)
    assert stage.calls == 1
    for finding in stage.findings:
        if finding.verdict is not Verdict.PASS:
            assert finding.reason is not None
        for fact in finding.evidence:
            assert fact.text in MARCH.evidence[0].text
        if finding.claim is not None:
            assert finding.claim in MARCH.output or finding.claim in QUESTION


@given(
    st.lists(
        st.sampled_from([says(), fail(), unsure(), None, says("pass", 0.1), says("x")]),
        min_size=1,
        max_size=5,
    ),
    st.sampled_from(["majority", "unanimous"]),
)
@settings(max_examples=60, deadline=None)
def test_what_settles_a_criterion_is_more_than_half_of_the_planned_runs(said, agreement):
    answers = iter(
        {"code": CODE, **{n: says() for n in CRITERIA if n != "policy"}}
        | ({} if each is None else {"policy": each})
        for each in said
    )
    model = ReplayModel(answers, name="judge", family="other")
    judge = RubricJudge(
        model, settings=Settings(runs=len(said), agreement=agreement, nonce=lambda: CODE)
    )
    report = asyncio.run(judge.verify(MARCH))
    policy = next(f for f in report.findings if f.criterion == "policy")
    for verdict, example_ in ((Verdict.PASS, says()), (Verdict.FAIL, fail())):
        votes = said.count(example_)
        enough = votes == len(said) or (agreement == "majority" and 2 * votes > len(said))
        assert (policy.verdict is verdict) is enough
    assert report.calls == len(said)
    assert len({v.voter for v in report.votes}) == 4 * len(said)
    if policy.verdict is Verdict.UNCLEAR and len(set(map(str, said))) > 1 and len(said) > 1:
        kinds = {v.verdict for v in report.votes if v.voter.endswith("/policy")}
        assert len(kinds) == 1 or policy.reason is Reason.INCONSISTENT


@given(st.text(max_size=200), st.integers(0, 199), st.integers(1, 60))
@settings(max_examples=300, deadline=None)
def test_what_is_found_is_part_of_the_text_it_was_looked_for_in(text, begin, length):
    import unicodedata

    quotation = text[begin : begin + length]
    found = Quoted.of(text).find(quotation)
    if found is not None:
        spaced = " ".join(unicodedata.normalize("NFC", text).split())
        assert found in spaced


@given(st.text(max_size=80))
@settings(max_examples=200, deadline=None)
def test_a_quotation_is_never_found_where_nothing_of_it_stands(quotation):
    material = Material(MARCH, Limits())
    found = material.evidence(quotation)
    if found is not None:
        assert found.text in MARCH.evidence[0].text
        assert len(quotation.strip()) >= 6


def test_a_quotation_from_a_million_characters_is_found_quickly_enough_to_be_tested():
    text = "The rose is red. " * 60_000 + "Report damage within 48 hours."
    assert Quoted.of(text).find("report damage within") == "Report damage within 48 hours."
    assert Quoted.of("a" * 100_000).find("a" * 50_000) is None


@given(st.text(max_size=12) | st.none(), st.text(max_size=12) | st.none())
def test_no_unknown_family_is_neutral(model, family):
    from dataclasses import replace

    judge = ReplayModel([], name="judge-1", model="judge-1")
    assert judge.family is None
    assert not neutral([judge], replace(MARCH, model=model, family=family))
