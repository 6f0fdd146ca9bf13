"""The judges from plain data and from aucert.yaml, and what is refused in which words."""

from __future__ import annotations

import pytest
from support.rubric_judges import CRITERIA

from aucert_otel import ConfigurationError, load_verifier
from aucert_otel.config import parse_config
from aucert_otel.llm import ReplayModel
from aucert_verifiers import judge
from aucert_verifiers.judge import Rubric, RubricJudge, StrongerJudge, default_rubric


JUDGE, STRONGER = ReplayModel([], name="judge"), ReplayModel([], name="stronger")
MODELS = {"judge": JUDGE, "stronger": STRONGER, "splitter": JUDGE}
KIND = {"name": "tone", "criteria": {"kind": {"holds": "The reply is kind.", "needs": "question"}}}


def test_the_registered_judges_pick_their_models_by_role():
    first, second = (load_verifier(n, models=MODELS) for n in ("rubric", "stronger_judge"))
    assert (type(first), first.name, first.model) == (RubricJudge, "rubric", JUDGE)
    assert (type(second), second.name, second.model) == (StrongerJudge, "stronger_judge", STRONGER)
    assert first.rubric is second.rubric is default_rubric()
    assert first.rubric.names == CRITERIA


def test_options_reach_the_judge(tmp_path):
    file = tmp_path / "rubric.yaml"
    file.write_text('criteria: {kind: {holds: "The reply is kind."}}')
    made = judge.rubric(
        models=MODELS,
        name="tone",
        rubric=str(file),
        runs=3,
        agreement="unanimous",
        sure_at=0.8,
        strict=True,
        temperature=0.2,
        limits={"answer": 50},
        expected={"seconds": 2},
        max_tokens=None,
    )
    assert made.rubric.names == ("kind",)
    assert made.name == "tone"
    settings = made.settings
    assert (settings.runs, settings.agreement, settings.sure_at) == (3, "unanimous", 0.8)
    assert (settings.strict, settings.temperature, settings.limits.answer) == (True, 0.2, 50)
    assert made.estimate.seconds == 2
    inline = load_verifier("rubric", models=MODELS, rubric=KIND).rubric
    assert (inline.name, inline.criteria[0].needs) == ("tone", ("question",))


YAML = """
models:
  haiku: {api: openai, base_url: http://127.0.0.1:1/v1, model: claude-haiku-4-5, family: anthropic}
  sonnet: {api: openai, base_url: http://127.0.0.1:1/v1, model: claude-sonnet-5, family: anthropic}
cascades:
  support:
    stages:
      - verifier: rules
        settles: [fail]
        options: {rules: [finish_reason]}
      - verifier: rubric
        options: {models: {judge: haiku}, runs: 3}
      - verifier: stronger_judge
        options: {models: {stronger: sonnet}}
tenants: {default: {cascade: support}}
"""


def test_a_file_of_settings_builds_the_judges():
    config = parse_config(YAML)
    rules, first, second = config.cascades["support"].stages
    assert rules.judges is None
    assert first.judges is first.check
    assert (first.check.model.name, first.check.settings.runs) == ("haiku", 3)
    assert (second.check.model.name, second.follows) == ("sonnet", second.check)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"models": None}, "models is missing: it must be a mapping of roles to models"),
        ({"models": {"stronger": STRONGER}}, "models.judge is missing: the stage rubric needs it"),
        ({"models": {"judge": "haiku"}}, "models.judge is 'haiku': it must be a chat model"),
        ({"rubrics": "x"}, "rubrics: unknown option; allowed are models, name, rubric"),
        ({"rubric": 7}, "rubric is 7: it must be 'default', the path of a YAML file"),
        ({"rubric": "/nowhere.yaml"}, "rubric: /nowhere.yaml: the rubric cannot be read"),
        ({"rubric": {"criteria": {}}}, "rubric: criteria is a mapping: it must be a mapping of"),
        ({"runs": 0}, "runs is 0: give a whole number from 1 up"),
        ({"runs": 1.5}, "runs is 1.5: give a whole number"),
        ({"runs": "three"}, "runs is 'three': it must be a number"),
        ({"agreement": "most"}, "agreement is 'most': it must be one of majority, unanimous"),
        ({"sure_at": 80}, "sure_at is 80: a sureness lies in [0, 1]"),
        ({"temperature": -1}, "temperature is -1: give a number from 0 up"),
        ({"strict": "yes"}, "strict is 'yes': it must be true or false"),
        ({"max_tokens": 0}, "max_tokens is 0: give a whole number"),
        ({"limits": {"reply": 5}}, "limits.reply is not a known key"),
    ],
)
def test_what_cannot_work_is_refused_with_its_path(options, said):
    with pytest.raises(ConfigurationError) as error:
        load_verifier("rubric", **{"models": MODELS, **options})
    assert str(error.value).startswith(said)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ([], "rubric is an empty list: it must be a mapping with name, criteria"),
        ({}, "rubric.criteria is missing"),
        ({"criteria": ["x"]}, "criteria is a list: it must be a mapping of names to criteria"),
        ({"criteria": {"a": "x"}}, 'criteria.a is "x": it must be a mapping with holds, fails'),
        ({"criteria": {"a": {}}}, "criteria.a.holds is missing"),
        ({"criteria": {"a": {"holds": " "}}}, 'criteria.a.holds is " ": it must be the condition'),
        ({"criteria": {"a": {"hold": "x"}}}, "criteria.a.hold is not a known key"),
        ({"criteria": {"a": {"holds": "x" * 3000}}}, "criteria.a.holds is "),
        ({"criteria": {"a": {"holds": "x", "fails": 7}}}, "criteria.a.fails is 7"),
        ({"criteria": {"code": {"holds": "x"}}}, 'criteria has the name "code"'),
        ({"criteria": {"On Topic": {"holds": "x"}}}, 'criteria has the name "On Topic"'),
        ({"criteria": {7: {"holds": "x"}}}, "criteria has the name 7"),
        ({"criteria": {"a": {"holds": "x", "needs": "tools"}}}, 'criteria.a.needs names "tools"'),
        ({"criteria": {"a": {"holds": "x", "needs": 7}}}, "criteria.a.needs is 7"),
        (
            {"criteria": {"a": {"holds": "x", "needs": [["question"]]}}},
            "criteria.a.needs names a list",
        ),
        ({"criteria": {"a": {"holds": "x", "source": {}}}}, "criteria.a.source.name is missing"),
        (
            {"criteria": {"a": {"holds": "x", "source": {"name": "s", "version": 1.5}}}},
            "criteria.a.source.version is 1.5",
        ),
        (
            {"criteria": {"a": {"holds": "x", "source": {"name": "s", "sha256": "abc"}}}},
            'criteria.a.source.sha256 is "abc"',
        ),
        ({"name": "", "criteria": {"a": {"holds": "x"}}}, 'name is "": it must be a text'),
        (
            {"criteria": {f"c{n}": {"holds": "x"} for n in range(33)}},
            "criteria has 33 entries: give 1 to 32",
        ),
    ],
)
def test_what_is_no_rubric_is_refused_with_its_path(data, said):
    with pytest.raises(ConfigurationError) as error:
        Rubric.from_data(data)
    assert str(error.value).startswith(said)


def test_a_criterion_twice_is_refused_with_its_line(tmp_path):
    file = tmp_path / "r.yaml"
    file.write_text("criteria:\n  a: {holds: x}\n  a: {holds: y}\n")
    with pytest.raises(ConfigurationError, match="line 3, column 3: the key a stands twice"):
        Rubric.load(file)


def test_the_default_rubric_is_the_specifications_word_for_word():
    said = {c.name: f"{c.holds} Fail if {c.fails} Unclear if {c.unclear}" for c in default_rubric()}
    assert said == {
        "grounded": "Every factual claim in the reply is supported by a passage. Fail if A passage "
        "contradicts a claim, or none supports it. Unclear if Two passages disagree about the claim.",
        "policy": "Every deadline or refund term in the reply matches the passage for the same kind "
        "of request. Fail if A term belongs to another kind of request or contradicts its passage. "
        "Unclear if No passage states the term.",
        "on_topic": "The reply answers the request the customer made. Fail if It answers a different "
        "request. Unclear if The request could mean two things.",
        "complete": "Every question in the customer's message gets an answer or a handoff to a "
        "person. Fail if One is left unanswered. Unclear if You cannot tell whether a sentence is a "
        "question.",
    }
