"""The stages from plain data: what the presets hand over, and what is refused in which words."""

from __future__ import annotations

import pytest

from aucert_otel.config.presets import fill, preset, preset_names
from aucert_otel.errors import ConfigurationError
from aucert_otel.llm import ReplayModel
from aucert_verifiers import stages


FAST, STRONG = ReplayModel([], name="fast"), ReplayModel([], name="strong")
MODELS = {"self": FAST, "panel": [FAST, STRONG, STRONG], "debaters": FAST, "judge": STRONG}


@pytest.mark.parametrize("name", ["aucert", "aucert-mvp"])
def test_a_preset_builds_its_stages_from_roles(name):
    assert name in preset_names()
    model = preset(name)
    given = {key: each.default for key, each in model.parameters.items()} | {"models": MODELS}
    built = [
        getattr(stages, each.verifier)(**fill(each.options, given), name=each.name)
        for each in model.stages
    ]
    names = ["self_confidence", "self_consistency", "cross_model_vote", "debate"]
    assert [each.name for each in built] == names[: 1 if name == "aucert-mvp" else 4]
    assert [each.verifier for each in model.stages] == [each.name for each in built]
    first, *others = model.stages
    assert (first.gate.pass_at, first.gate.fail_at) == (0.95, 0.95)
    assert all(each.gate.pass_at is None for each in others)
    assert all(set(each.settles) == {"pass", "fail"} for each in model.stages)


def test_options_reach_the_stage():
    made = stages.self_confidence(
        models=MODELS,
        criterion={"name": "tone", "statement": "It is polite."},
        limits={"answer": 50},
        expected={"seconds": 2},
        max_tokens=300,
        grace_s=0,
        logprobs=True,
    )
    assert made.judging.criterion == stages.Criterion("tone", "It is polite.")
    assert (made.judging.limits.answer, made.judging.max_tokens) == (50, 300)
    assert (made.judging.grace_s, made.estimate.seconds) == (0, 2)
    assert (
        stages.debate(models=MODELS, criterion="It is short.").judging.criterion.name == "correct"
    )
    two = stages.debate(models={**MODELS, "debaters": [FAST, STRONG]})
    assert two.sides == {"prosecutor": FAST, "defender": STRONG}


@pytest.mark.parametrize(
    ("build", "options", "said"),
    [
        ("self_confidence", {}, "models is missing: it must be a mapping of the roles self, panel"),
        ("self_confidence", {"models": "fast"}, "models is 'fast': it must be a mapping"),
        (
            "self_confidence",
            {"models": {"judge": STRONG}},
            "models.self is missing: the stage self_confidence needs it; given are judge",
        ),
        (
            "self_confidence",
            {"models": {"self": "fast"}},
            "models.self is 'fast': it must be a chat",
        ),
        ("self_confidence", {"models": {"self": ReplayModel}}, "models.self is a type: it must be"),
        ("debate", {"models": {**MODELS, "jury": FAST}}, "models.jury is not a known role"),
        ("debate", {"models": {**MODELS, "debaters": [FAST] * 3}}, "models.debaters has 3 models"),
        ("cross_model_vote", {"models": {"panel": []}}, "models.panel is empty"),
        ("cross_model_vote", {"models": {"panel": [FAST, None]}}, "models.panel[1] is missing"),
        (
            "cross_model_vote",
            {"models": {"panel": [FAST, ReplayModel([], name="fast")]}},
            "models.panel has two models called 'fast'",
        ),
        ("self_confidence", {"models": MODELS, "logprob": True}, "logprob: unknown option"),
        ("self_confidence", {"models": MODELS, "logprobs": 1}, "logprobs is 1: it must be true"),
        ("self_confidence", {"models": MODELS, "name": ""}, "name is ''"),
        ("self_confidence", {"models": MODELS, "criterion": " "}, "criterion.statement is ' '"),
        ("self_confidence", {"models": MODELS, "criterion": {"name": "x"}}, "criterion needs name"),
        ("self_confidence", {"models": MODELS, "criterion": 3}, "criterion is a int"),
        ("self_confidence", {"models": MODELS, "limits": {"answr": 1}}, "limits.answr is not a"),
        ("self_confidence", {"models": MODELS, "limits": {"answer": "1"}}, "limits.answer is '1'"),
        ("self_confidence", {"models": MODELS, "expected": {"seconds": -1}}, "expected.seconds is"),
        ("self_confidence", {"models": MODELS, "max_tokens": 0}, "max_tokens is 0"),
        ("self_confidence", {"models": MODELS, "grace_s": True}, "grace_s is a bool"),
        ("self_confidence", {"models": MODELS, "grace_s": -1}, "grace_s is -1"),
    ],
)
def test_what_cannot_work_is_refused_with_its_path(build, options, said):
    with pytest.raises(ConfigurationError) as refused:
        getattr(stages, build)(**options)
    assert str(refused.value).startswith(said)
