"""What can still be read of a file that does not fit, so that every problem is said in one run.

Nothing here notes a problem: what does not fit was noted when the whole was validated.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from aucert_otel.config.chat import MODELS
from aucert_otel.config.models import (
    AuditModel,
    FileModel,
    JudgeModel,
    StageModel,
    StagesModel,
    TenantModel,
)
from aucert_otel.config.presets import preset, preset_names


M = TypeVar("M", bound=BaseModel)


def salvage(document: Mapping[str, Any]) -> FileModel:
    """The parts of a document that can be looked at by themselves.

    A tenant is kept only with a cascade of its own: what it would take from ``default`` is not
    known. A cascade that is no mapping is kept empty, so that its name counts as known.
    """
    cascades = {
        name: each if isinstance(each, dict) else {}
        for name, each in _named(document.get("cascades")).items()
    }
    tenants = {
        name: found
        for name, each in _named(document.get("tenants")).items()
        if cascades and (found := _tenant(each)) is not None
    }
    models = {
        name: model
        for name, each in _named(document.get(MODELS)).items()
        if (model := _fitting(JudgeModel, each)) is not None
    }
    audit = _fitting(AuditModel, document.get("audit"))
    return FileModel.model_construct(models=models, cascades=cascades, tenants=tenants, audit=audit)


def salvage_stages(data: Mapping[str, Any]) -> list[tuple[int, StageModel]]:
    """The stages of a cascade that can be looked at by themselves, with their numbers from 0."""
    stages = data.get("stages")
    found = []
    for index, each in enumerate(stages if isinstance(stages, list) else ()):
        model = _fitting(StageModel, each)
        if model is None and isinstance(each, dict):
            # Its verifier and its options; how it settles is what does not fit.
            kept = {key: each[key] for key in ("verifier", "options") if key in each}
            model = _fitting(StageModel, kept)
        if model is not None:
            found.append((index, model))
    return found


def whole_models(document: object, clients: Mapping[str, object]) -> bool:
    """Whether every model of a file works, so that a cascade that asks some can be judged."""
    return isinstance(document, Mapping) and document.keys() == clients.keys()


def asks_models(data: Mapping[str, Any]) -> bool:
    """Whether a cascade, as it stands in the file, has roles for models."""
    chosen = data.get("preset")
    if isinstance(chosen, str) and chosen in preset_names():
        return MODELS in preset(chosen).parameters
    model = _fitting(StagesModel, data)
    stages = [] if model is None else model.stages
    stages = stages or [each for _, each in salvage_stages(data)]
    return any(MODELS in stage.options for stage in stages)


def _tenant(data: object) -> TenantModel | None:
    model = _fitting(TenantModel, data)
    if model is None and isinstance(data, Mapping):
        model = _fitting(TenantModel, {"cascade": data.get("cascade")})
    return None if model is None or model.cascade is None else model


def _named(data: object) -> dict[str, Any]:
    if not isinstance(data, Mapping):
        return {}
    return {name: each for name, each in data.items() if isinstance(name, str) and name.strip()}


def _fitting(model: type[M], data: object) -> M | None:
    try:
        return model.model_validate(data)
    except ValidationError:
        return None
