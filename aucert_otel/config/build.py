"""From validated settings to cascades. Every problem is collected, none ends the reading."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from aucert_otel._sentences import hint, one_of, path, shown
from aucert_otel.budget import Estimate
from aucert_otel.cascade import Cascade
from aucert_otel.config.chat import MODELS, resolve
from aucert_otel.config.models import ChangedModel, GateModel, StageModel, StagesModel
from aucert_otel.config.presets import fill, preset, preset_names
from aucert_otel.config.problems import Problems
from aucert_otel.config.salvage import salvage_stages
from aucert_otel.errors import ConfigurationError, MissingExtraError
from aucert_otel.stage import Gate, Stage
from aucert_otel.verdict import Verdict
from aucert_otel.verifier import ENTRY_POINT_GROUP, Verifier, load_verifier, waits


if TYPE_CHECKING:
    from aucert_otel.llm.client import HttpChatModel


_REFUSED: Final = object()
"""Stands for roles of which something was said already."""


@dataclass(frozen=True, slots=True)
class Changes:
    """How a tenant's cascade differs from the one it is based on."""

    place: str = ""
    """Where they stand, for sentences about what cannot work."""
    _: KW_ONLY
    models: Mapping[str, Any] = field(default_factory=dict)
    thresholds: Mapping[str, GateModel] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    """Further options for every stage that asks models."""

    def __bool__(self) -> bool:
        return bool(self.models or self.thresholds or self.options)


@dataclass(frozen=True, slots=True)
class Built:
    """A cascade, and the models it asks."""

    cascade: Cascade
    models: Mapping[str, HttpChatModel]
    """By name."""


@dataclass(frozen=True, slots=True)
class Builder:
    """Builds the entries of ``cascades``.

    Args:
        cascades: The entries, as they stand in the file.
        models: The file's chat models, by name.
        folder: Where files it names are looked for.
    """

    cascades: Mapping[str, Mapping[str, Any]]
    models: Mapping[str, HttpChatModel]
    folder: Path = Path()

    def build(self, name: str, problems: Problems, changes: Changes | None = None) -> Built | None:
        """One cascade; ``None`` if something is wrong with it, which is then noted."""
        build = _Build(name, self.models, problems, changes or Changes(), self.folder)
        cascade = build.cascade(self.cascades[name])
        return None if cascade is None else Built(cascade, build.used)


@dataclass(frozen=True, slots=True)
class _Build:
    name: str
    models: Mapping[str, HttpChatModel]
    problems: Problems
    changes: Changes
    folder: Path
    used: dict[str, HttpChatModel] = field(default_factory=dict)

    @property
    def place(self) -> str:
        return path(("cascades", self.name))

    def cascade(self, data: Mapping[str, Any]) -> Cascade | None:
        if "preset" in data:
            found = self._from_preset(data)
        else:
            model = self.problems.validate(StagesModel, data, self.place)
            if model is None:
                self._stages(salvage_stages(data))
            found = (
                None
                if model is None
                else (self._stages(list(enumerate(model.stages))), model.strict)
            )
        if found is None:
            return None
        stages, strict = found
        built = [stage for stage in stages if stage is not None]
        if len(built) != len(stages):
            return None
        try:
            return Cascade(self.name, built, strict=strict)
        except ConfigurationError as error:
            self.problems.add(self.place, f": {error}")
            return None

    def _stages(self, models: list[tuple[int, StageModel]]) -> list[Stage | None]:
        stages = []
        for index, stage in models:
            place = f"{self.place}.stages[{index}]"
            options = dict(stage.options)
            if MODELS in options:
                options[MODELS] = self._roles(options[MODELS], f"{place}.options.{MODELS}")
            filled = stage.model_copy(update={"options": options})
            stages.append(self._stage(filled, place, f"{place}.options", f"{place}.gate"))
        return stages

    def _from_preset(self, data: Mapping[str, Any]) -> tuple[list[Stage | None], bool] | None:
        chosen, problems = data["preset"], self.problems
        if not isinstance(chosen, str) or chosen not in preset_names():
            said = shown(chosen, yaml=True)
            problems.add(self.place, f".preset is {said}: allowed are {one_of(preset_names())}")
            return None
        model = preset(chosen)
        given = {key: parameter.default for key, parameter in model.parameters.items()}
        before = len(problems.found)
        beside = {key: value for key, value in data.items() if key in ChangedModel.model_fields}
        changed = problems.validate(ChangedModel, beside, self.place)
        for key, value in data.items():
            if key in given:
                given[key] = value
            elif key not in beside:
                said = hint(str(key), [*ChangedModel.model_fields, *given])
                problems.add(f"{self.place}.{path((str(key),))}", f" is not a known key: {said}")
        stages = [stage.name or stage.verifier for stage in model.stages]
        for stage in changed.gates if changed is not None else ():
            if stage not in stages:
                at = f"{self.place}.gates.{path((stage,))}"
                problems.add(at, f" is no stage of this preset: {hint(stage, stages)}")
        if MODELS in given:
            given[MODELS] = self._roles(given[MODELS], f"{self.place}.{MODELS}")
        fits = changed is not None and len(problems.found) == before
        changed = changed or ChangedModel(preset=chosen)
        built = [
            self._stage(
                stage.model_copy(
                    update={
                        "options": fill(stage.options, given),
                        "gate": changed.gates.get(name, stage.gate),
                    }
                ),
                self.place,
                self.place,
                f"{self.place}.gates.{name}",
            )
            for name, stage in zip(stages, model.stages, strict=True)
        ]
        return (built, changed.strict) if fits else None

    def _roles(self, given: Any, place: str) -> Any:
        """Roles with their models; what is no mapping is left to the verifier to refuse.

        Returns:
            `_REFUSED` where a name is wrong, so that no stage says of it that it is missing.
        """
        if not isinstance(given, Mapping):
            return given
        changed = self.changes.models
        before = len(self.problems.found)
        own = {role: each for role, each in given.items() if role not in changed}
        found = resolve(own, self.models, place, self.problems)
        at = f"{self.changes.place}.{MODELS}"
        found |= resolve(changed, self.models, at, self.problems)
        for each in found.values():
            models = each if isinstance(each, list) else [each]
            self.used.update({model.name: model for model in models if model is not None})
        return found if len(self.problems.found) == before else _REFUSED

    def _stage(self, model: StageModel, place: str, options: str, gate: str) -> Stage | None:
        problems, changes = self.problems, self.changes
        if model.options.get(MODELS) is _REFUSED:
            return None
        known = sorted({entry.name for entry in entry_points(group=ENTRY_POINT_GROUP)})
        if model.verifier not in known:
            said = shown(model.verifier, yaml=True)
            problems.add(place, f".verifier is {said}: {hint(model.verifier, known)}")
            return None
        given = model.options | (dict(changes.options) if MODELS in model.options else {})
        try:
            verifier = load_verifier(model.verifier, **given)
        except MissingExtraError as error:
            problems.add(place, f": {error}")
            return None
        except ConfigurationError as error:
            # A verifier that names the path within its options is taken at its word. One that found
            # several problems says each on a line of its own.
            for said in str(error).splitlines():
                at = changes.place if changes.models and said.startswith(MODELS) else options
                within = any(said.startswith((f"{k} ", f"{k}[", f"{k}.", f"{k}:")) for k in given)
                problems.add(at, f".{said}" if within else f": {said}")
            return None
        stage = Stage(
            verifier,
            name=model.name or "",
            settles=frozenset(Verdict(verdict) for verdict in model.settles),
            estimate=_estimate(verifier),
        )
        return self._gated(stage, model.gate, gate)

    def _gated(self, stage: Stage, model: GateModel, place: str) -> Stage | None:
        """The stage with its gate, and with what the tenant changes about it."""
        changed = self.changes.thresholds.get(stage.name)
        try:
            gate = self._gate(model)
            if changed is not None:
                place = f"{self.changes.place}.thresholds.{path((stage.name,))}"
                if changed.certificate is not None:
                    gate = self._gate(changed)
                else:
                    gate = replace(gate, **changed.model_dump(exclude_unset=True))
        except ConfigurationError as error:
            self.problems.add(place, f": {error}")
            return None
        return replace(stage, gate=gate)

    def _gate(self, model: GateModel) -> Gate:
        certificate = None
        if model.certificate is not None:
            from aucert_otel.measure.certify import load_certificate

            certificate = load_certificate(model.certificate, self.folder)
        return Gate(model.pass_at, model.fail_at, certificate)


def _estimate(verifier: Verifier) -> Estimate:
    """What a verifier says one run of it costs. One that waits and does not say is unknown."""
    said = getattr(verifier, "estimate", None)
    if isinstance(said, Estimate):
        return said
    return Estimate(usd=None) if waits(verifier) else Estimate()
