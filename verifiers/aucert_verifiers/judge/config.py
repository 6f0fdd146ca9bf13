"""The rubric judges from plain data and named models: the registered entry points.

Both take the models of a whole cascade by role and pick their own: ``judge`` and ``stronger``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aucert_otel._sentences import shown
from aucert_otel.errors import ConfigurationError
from aucert_otel.llm.model import ChatModel
from aucert_verifiers.judge.judge import RubricJudge, StrongerJudge
from aucert_verifiers.judge.rubric import Rubric, default_rubric
from aucert_verifiers.judge.settings import Settings
from aucert_verifiers.packaging import Limits
from aucert_verifiers.stages.base import Expected
from aucert_verifiers.stages.config import _kind, _made, _model, _name, _number


DEFAULT = "default"
"""The name of the rubric that is shipped."""
_OPTIONS = (
    "models",
    "name",
    "rubric",
    "runs",
    "agreement",
    "sure_at",
    "strict",
    "temperature",
    "limits",
    "expected",
    "max_tokens",
)


def rubric(**options: Any) -> RubricJudge:
    """Build the rubric judge. Options: ``models`` (role ``judge``), and those both judges take.

    Both take ``name``, ``rubric`` (``default``, the path of a YAML file, or a mapping), ``runs``,
    ``agreement`` (``majority`` or ``unanimous``), ``sure_at``, ``strict``, ``temperature``,
    ``limits``, ``expected`` and ``max_tokens``. An option that is null is left out.

    Raises:
        ConfigurationError: an option cannot work as given; the message begins with its path.
    """
    given = _known(options)
    return RubricJudge(
        _role(given, "judge", "rubric"),
        rubric=_rubric(given.get("rubric", DEFAULT)),
        settings=_settings(given),
        name=_name(given, "rubric"),
    )


def stronger_judge(**options: Any) -> StrongerJudge:
    """Build the judge for what is unclear. Options: ``models`` (role ``stronger``), and as above.

    Raises:
        ConfigurationError: an option cannot work as given; the message begins with its path.
    """
    given = _known(options)
    return StrongerJudge(
        _role(given, "stronger", "stronger_judge"),
        rubric=_rubric(given.get("rubric", DEFAULT)),
        settings=_settings(given),
        name=_name(given, "stronger_judge"),
    )


def _known(options: Mapping[str, Any]) -> dict[str, Any]:
    for option in options:
        if option not in _OPTIONS:
            raise ConfigurationError(f"{option}: unknown option; allowed are {', '.join(_OPTIONS)}")
    return {key: value for key, value in options.items() if value is not None}


def _role(options: Mapping[str, Any], role: str, stage: str) -> ChatModel:
    """The model of a role. Other roles are other stages' business."""
    models = options.get("models")
    if not isinstance(models, Mapping):
        raise ConfigurationError(
            f"models is {_kind(models)}: it must be a mapping of roles to models, with one for {role}"
        )
    if models.get(role) is None:
        given = ", ".join(map(str, models)) or "none"
        raise ConfigurationError(
            f"models.{role} is missing: the stage {stage} needs it; given are {given}"
        )
    return _model(models[role], f"models.{role}")


def _rubric(given: object) -> Rubric:
    if isinstance(given, Rubric):
        return given
    if given == DEFAULT:
        return default_rubric()
    try:
        if isinstance(given, str):
            return Rubric.load(given)
        if isinstance(given, Mapping):
            return Rubric.from_data(given)
    except ConfigurationError as error:
        raise ConfigurationError(f"rubric: {error}") from None
    raise ConfigurationError(
        f"rubric is {shown(given, yaml=True)}: it must be {DEFAULT!r}, the path of a YAML file, or a "
        "mapping with criteria"
    )


def _settings(options: Mapping[str, Any]) -> Settings:
    numbers = {
        name: _number(options[name], name, None)
        for name in ("runs", "sure_at", "temperature", "max_tokens")
        if name in options
    }
    others = {name: options[name] for name in ("agreement", "strict") if name in options}
    if "limits" in options:
        others["limits"] = _made(Limits, options["limits"], "limits")
    if "expected" in options:
        others["expected"] = _made(Expected, options["expected"], "expected")
    return Settings(**numbers, **others)
