"""From validated settings to cascades. Every problem is collected, none ends the reading."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from aucert_otel._sentences import one_of, path, sentence, shown
from aucert_otel.budget import Estimate
from aucert_otel.cascade import Cascade
from aucert_otel.config.models import StageModel, StagesModel
from aucert_otel.config.presets import fill, preset, preset_names
from aucert_otel.errors import ConfigurationError, MissingExtraError
from aucert_otel.stage import Gate, Stage
from aucert_otel.verdict import Verdict
from aucert_otel.verifier import ENTRY_POINT_GROUP, Verifier, load_verifier, waits


M = TypeVar("M", bound=BaseModel)


@dataclass(slots=True)
class Problems:
    """What is wrong with a file, one sentence each."""

    found: list[str] = field(default_factory=list)

    def add(self, place: str, said: str) -> None:
        """Note one problem at a path."""
        self.found.append(f"{place}{said}")

    def validate(self, model: type[M], data: Any, before: str = "") -> M | None:
        """Data as a model; ``None`` if it does not fit, with every misfit noted."""
        try:
            return model.model_validate(data)
        except ValidationError as error:
            for each in error.errors(include_url=False):
                self.found.append(sentence(each, model, before, yaml=True))
            return None


def build_cascade(name: str, data: Mapping[str, Any], problems: Problems) -> Cascade | None:
    """One entry of ``cascades``; ``None`` if something is wrong with it, which is then noted."""
    place = path(("cascades", name))
    if "preset" in data:
        return _from_preset(name, data, place, problems)
    model = problems.validate(StagesModel, data, place)
    if model is None:
        return None
    stages = [
        _stage(stage, each := f"{place}.stages[{index}]", f"{each}.options", problems)
        for index, stage in enumerate(model.stages)
    ]
    return _cascade(name, stages, place, problems, strict=model.strict)


def _from_preset(
    name: str, data: Mapping[str, Any], place: str, problems: Problems
) -> Cascade | None:
    chosen = data["preset"]
    if not isinstance(chosen, str) or chosen not in preset_names():
        said = shown(chosen, yaml=True)
        problems.add(place, f".preset is {said}: allowed are {one_of(preset_names())}")
        return None
    model = preset(chosen)
    given = {key: parameter.default for key, parameter in model.parameters.items()}
    before = len(problems.found)
    strict = data.get("strict", False)
    if not isinstance(strict, bool):
        problems.add(place, f".strict is {shown(strict, yaml=True)}: it must be true or false")
    for key, value in data.items():
        if key in given:
            given[key] = value
        elif key not in ("preset", "strict"):
            allowed = ["preset", "strict", *given]
            problems.add(f"{place}.{path((key,))}", f" is not a known key: {_hint(key, allowed)}")
    if len(problems.found) > before:
        return None
    stages = [
        _stage(
            stage.model_copy(update={"options": fill(stage.options, given)}), place, place, problems
        )
        for stage in model.stages
    ]
    return _cascade(name, stages, place, problems, strict=strict)


def _hint(word: str, allowed: list[str]) -> str:
    close = difflib.get_close_matches(word, allowed, 1)
    return f"{f'did you mean {close[0]}? ' if close else ''}allowed are {one_of(allowed)}"


def _stage(model: StageModel, place: str, options: str, problems: Problems) -> Stage | None:
    known = sorted({entry.name for entry in entry_points(group=ENTRY_POINT_GROUP)})
    if model.verifier not in known:
        said = shown(model.verifier, yaml=True)
        problems.add(place, f".verifier is {said}: {_hint(model.verifier, known)}")
        return None
    try:
        verifier = load_verifier(model.verifier, **model.options)
    except MissingExtraError as error:
        problems.add(place, f": {error}")
        return None
    except ConfigurationError as error:
        # A verifier that names the path within its options is taken at its word.
        said = str(error)
        within = any(said.startswith((f"{k} ", f"{k}[", f"{k}.", f"{k}:")) for k in model.options)
        problems.add(options, f".{said}" if within else f": {said}")
        return None
    return Stage(
        verifier,
        name=model.name or "",
        settles=frozenset(Verdict(verdict) for verdict in model.settles),
        gate=Gate(model.gate.pass_at, model.gate.fail_at),
        estimate=_estimate(verifier),
    )


def _estimate(verifier: Verifier) -> Estimate:
    """What a verifier says one run of it costs. One that waits and does not say is unknown."""
    said = getattr(verifier, "estimate", None)
    if isinstance(said, Estimate):
        return said
    return Estimate(usd=None) if waits(verifier) else Estimate()


def _cascade(
    name: str, stages: list[Stage | None], place: str, problems: Problems, *, strict: bool
) -> Cascade | None:
    built = [stage for stage in stages if stage is not None]
    if len(built) != len(stages):
        return None
    try:
        return Cascade(name, built, strict=strict)
    except ConfigurationError as error:
        problems.add(place, f": {error}")
        return None
