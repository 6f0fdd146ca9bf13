"""The demo's articles and scenarios, read from the files beside this one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from importlib.resources import files
from typing import Any, Final

import yaml

from aucert_otel import ConfigurationError


DEFAULT_SCENARIO: Final = "citation"
DEFAULT_CEILING: Final = 150
"""Tokens the scripted model may write unless its scenario says otherwise."""


@dataclass(frozen=True, slots=True)
class Article:
    """One help article."""

    id: str
    title: str
    version: str
    latest_version: str
    effective_from: date
    source_type: str
    text: str


@dataclass(frozen=True, slots=True)
class Scenario:
    """One customer, what the scripted model answers, and what becomes of it."""

    name: str
    title: str
    question: str
    drafts: tuple[str, ...]
    input_tokens: int
    expected: Mapping[str, Any]
    """``drafts`` and ``action``."""
    max_tokens: int = DEFAULT_CEILING
    note: str = ""


def _read(name: str) -> Any:
    return yaml.safe_load(files(__package__).joinpath(name).read_text("utf-8"))


def articles() -> list[Article]:
    """Every article of the company."""
    return [Article(**fields) for fields in _read("articles.yaml")]


def scenarios() -> dict[str, Scenario]:
    """Every scenario by its name, in the order they are told."""
    found = [
        Scenario(**{**fields, "drafts": tuple(fields["drafts"])})
        for fields in _read("scenarios.yaml")
    ]
    return {scenario.name: scenario for scenario in found}


def scenario(name: str) -> Scenario:
    """One scenario.

    Raises:
        ConfigurationError: there is none of that name.
    """
    known = scenarios()
    if name not in known:
        raise ConfigurationError(f"there is no scenario {name!r}: known are {', '.join(known)}")
    return known[name]
