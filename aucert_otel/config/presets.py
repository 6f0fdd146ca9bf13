"""Presets: cascades that are shipped as data, with gaps their user may fill."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from aucert_otel.config.models import PresetModel
from aucert_otel.config.yaml_text import parse


@cache
def preset_names() -> tuple[str, ...]:
    """The presets that are shipped."""
    folder = files("aucert_otel.presets")
    return tuple(
        sorted(
            each.name.removesuffix(".yaml")
            for each in folder.iterdir()
            if each.name.endswith(".yaml")
        )
    )


@cache
def preset(name: str) -> PresetModel:
    """A preset by its name, one of `preset_names`."""
    text = files("aucert_otel.presets").joinpath(f"{name}.yaml").read_text("utf-8")
    return PresetModel.model_validate(parse(text, f"preset {name}"))


def fill(value: Any, given: Mapping[str, Any]) -> Any:
    """Options with every ``${name}`` replaced by what was given for it, of whatever type."""
    if isinstance(value, str) and value.startswith("${") and value.endswith("}"):
        return given[value[2:-1]]
    if isinstance(value, dict):
        return {key: fill(item, given) for key, item in value.items()}
    if isinstance(value, list):
        return [fill(item, given) for item in value]
    return value
