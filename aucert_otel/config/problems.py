"""What is wrong with a file: every problem is collected, none ends the reading."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from aucert_otel._sentences import sentence
from aucert_otel.errors import ConfigurationError


M = TypeVar("M", bound=BaseModel)


@dataclass(slots=True)
class Problems:
    """What is wrong with a file, one sentence each."""

    found: list[str] = field(default_factory=list)

    def add(self, place: str, said: str) -> None:
        """Note one problem at a path. What several stages say alike is noted once."""
        problem = f"{place}{said}"
        if problem not in self.found:
            self.found.append(problem)

    def validate(self, model: type[M], data: Any, before: str = "") -> M | None:
        """Data as a model; ``None`` if it does not fit, with every misfit noted."""
        try:
            return model.model_validate(data)
        except ValidationError as error:
            for each in error.errors(include_url=False):
                self.add(sentence(each, model, before, yaml=True), "")
            return None

    def refusal(self, source: str) -> ConfigurationError:
        """All of them as one error."""
        if len(self.found) == 1:
            return ConfigurationError(f"{source}: {self.found[0]}")
        listed = "\n".join(f"  {source}: {problem}" for problem in self.found)
        return ConfigurationError(f"{source} has {len(self.found)} problems:\n{listed}")
