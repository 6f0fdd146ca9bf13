"""The four stages from plain data and named models: the registered entry points.

Every factory takes the models of a whole cascade by role, and picks its own: ``self`` (stages 1 and
2), ``panel`` (a list), ``debaters`` (one model, or the prosecutor and the defender) and ``judge``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

from aucert_otel.errors import ConfigurationError
from aucert_otel.llm.model import ChatModel
from aucert_verifiers.packaging import Limits
from aucert_verifiers.stages.base import Expected, Judging
from aucert_verifiers.stages.cross_model_vote import CrossModelVote
from aucert_verifiers.stages.debate import Debate
from aucert_verifiers.stages.prompts import CORRECT, Criterion
from aucert_verifiers.stages.self_confidence import SelfConfidence
from aucert_verifiers.stages.self_consistency import SelfConsistency


ROLES = ("self", "panel", "debaters", "judge")
_COMMON = ("models", "name", "criterion", "limits", "expected", "max_tokens", "grace_s")
_T = TypeVar("_T")


def self_confidence(**options: Any) -> SelfConfidence:
    """Build stage 1. Options: ``models`` (role ``self``), ``logprobs``, and those all stages take.

    All stages take ``name``, ``criterion`` (a statement, or a mapping with ``name`` and
    ``statement``), ``limits``, ``expected``, ``max_tokens`` and ``grace_s``.

    Raises:
        ConfigurationError: an option cannot work as given; the message begins with its path.
    """
    _known(options, "logprobs")
    logprobs = options.get("logprobs", False)
    if not isinstance(logprobs, bool):
        raise ConfigurationError(f"logprobs is {logprobs!r}: it must be true or false")
    return SelfConfidence(
        _one(options, "self", "self_confidence"),
        logprobs=logprobs,
        judging=_judging(options),
        name=_name(options, "self_confidence"),
    )


def self_consistency(**options: Any) -> SelfConsistency:
    """Build stage 2. Options: ``models`` (role ``self``), and those all stages take.

    Raises:
        ConfigurationError: an option cannot work as given; the message begins with its path.
    """
    _known(options)
    return SelfConsistency(
        _one(options, "self", "self_consistency"),
        judging=_judging(options),
        name=_name(options, "self_consistency"),
    )


def cross_model_vote(**options: Any) -> CrossModelVote:
    """Build stage 3. Options: ``models`` (role ``panel``), and those all stages take.

    Raises:
        ConfigurationError: an option cannot work as given; the message begins with its path.
    """
    _known(options)
    panel = _several(options, "panel", "cross_model_vote")
    try:
        return CrossModelVote(
            panel, judging=_judging(options), name=_name(options, "cross_model_vote")
        )
    except ConfigurationError as error:
        said = str(error)
        raise ConfigurationError(f"models.{said}" if said.startswith("panel") else said) from None


def debate(**options: Any) -> Debate:
    """Build stage 4. Options: ``models`` (roles ``debaters`` and ``judge``), and what all take.

    Raises:
        ConfigurationError: an option cannot work as given; the message begins with its path.
    """
    _known(options)
    sides = _several(options, "debaters", "debate")
    if len(sides) > 2:
        raise ConfigurationError(
            f"models.debaters has {len(sides)} models: give one for both sides, or the prosecutor and "
            "the defender"
        )
    return Debate(
        sides[0],
        _one(options, "judge", "debate"),
        defender=sides[-1],
        judging=_judging(options),
        name=_name(options, "debate"),
    )


def _known(options: Mapping[str, Any], *own: str) -> None:
    allowed = (*_COMMON, *own)
    for option in options:
        if option not in allowed:
            raise ConfigurationError(f"{option}: unknown option; allowed are {', '.join(allowed)}")


def _name(options: Mapping[str, Any], default: str) -> str:
    name = options.get("name", default)
    if not isinstance(name, str) or not name.strip():
        raise ConfigurationError(f"name is {name!r}: it must be a text")
    return name


def _role(options: Mapping[str, Any], role: str, stage: str) -> Any:
    models = options.get("models")
    if not isinstance(models, Mapping):
        raise ConfigurationError(
            f"models is {_kind(models)}: it must be a mapping of the roles {', '.join(ROLES)} to models"
        )
    unknown = [key for key in models if key not in ROLES]
    if unknown:
        raise ConfigurationError(
            f"models.{unknown[0]} is not a known role: allowed are {', '.join(ROLES)}"
        )
    if models.get(role) is None:
        given = ", ".join(map(str, models)) or "none"
        raise ConfigurationError(
            f"models.{role} is missing: the stage {stage} needs it; given are {given}"
        )
    return models[role]


def _one(options: Mapping[str, Any], role: str, stage: str) -> ChatModel:
    return _model(_role(options, role, stage), f"models.{role}")


def _several(options: Mapping[str, Any], role: str, stage: str) -> tuple[ChatModel, ...]:
    found = _role(options, role, stage)
    if not isinstance(found, list | tuple):
        return (_model(found, f"models.{role}"),)
    if not found:
        raise ConfigurationError(f"models.{role} is empty: give at least one model")
    return tuple(_model(each, f"models.{role}[{i}]") for i, each in enumerate(found))


def _model(found: object, place: str) -> ChatModel:
    if isinstance(found, type) or not isinstance(found, ChatModel):
        raise ConfigurationError(
            f"{place} is {_kind(found)}: it must be a chat model, in a file the name of one that "
            "stands under models"
        )
    return found


def _kind(value: object) -> str:
    if value is None:
        return "missing"
    return repr(value[:60]) if isinstance(value, str) else f"a {type(value).__name__}"


def _judging(options: Mapping[str, Any]) -> Judging:
    return Judging(
        criterion=_criterion(options.get("criterion")),
        limits=_made(Limits, options.get("limits"), "limits"),
        expected=_made(Expected, options.get("expected"), "expected"),
        max_tokens=_number(options.get("max_tokens"), "max_tokens", None),
        grace_s=_number(options.get("grace_s"), "grace_s", Judging().grace_s),
    )


def _criterion(given: object) -> Criterion:
    if given is None:
        return CORRECT
    if isinstance(given, str):
        return Criterion(CORRECT.name, given)
    return _made(Criterion, given, "criterion")


def _made(kind: type[_T], given: object, place: str) -> _T:
    allowed = [field.name for field in fields(kind)]  # type: ignore[arg-type] # all three are dataclasses
    if given is None:
        return kind()
    if not isinstance(given, Mapping):
        raise ConfigurationError(
            f"{place} is {_kind(given)}: it must be a mapping with any of {', '.join(allowed)}"
        )
    for key, value in given.items():
        if key not in allowed:
            raise ConfigurationError(
                f"{place}.{key} is not a known key: allowed are {', '.join(allowed)}"
            )
        if kind is not Criterion:
            _number(value, f"{place}.{key}", None)
    try:
        return kind(**given)
    except TypeError:
        raise ConfigurationError(f"{place} needs {' and '.join(allowed)}") from None


def _number(given: object, place: str, default: Any) -> Any:
    if given is None:
        return default
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise ConfigurationError(f"{place} is {_kind(given)}: it must be a number")
    return given
