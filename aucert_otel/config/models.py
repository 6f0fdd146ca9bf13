"""The shape of ``aucert.yaml``, for pydantic. A key that is not here is refused."""

from __future__ import annotations

import re
from datetime import date, datetime
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from aucert_otel._sentences import SAID


Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Seconds = Annotated[float, Field(gt=0, le=3600, allow_inf_nan=False)]


def _name(value: object) -> object:
    """Text; a bare number or word that YAML read as something else needs quotes."""
    if isinstance(value, str) and value.strip():
        return value
    mend = "it must not be empty" if isinstance(value, str) else "it must be text"
    if isinstance(value, bool | int | float):
        mend = "it must be text: write it in quotes"
    raise PydanticCustomError(SAID, "{mend}", {"mend": mend})


def _listed(value: object) -> object:
    """One item may stand without its brackets."""
    return [value] if isinstance(value, str) else value


def _variable(value: object) -> object:
    """The name of an environment variable, which no key looks like."""
    if isinstance(value, str) and re.fullmatch(r"[A-Z_][A-Z0-9_]{0,99}", value):
        return value
    mend = (
        "it must be the name of an environment variable in capitals, such as OPENAI_API_KEY; a key "
        "itself does not belong in the file"
    )
    raise PydanticCustomError(SAID, "{mend}", {"mend": mend})


def _day(value: object) -> object:
    """A date; YAML reads a bare one as such, and one in quotes as text."""
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    try:
        return date.fromisoformat(value)  # type: ignore[arg-type] # what is no text is refused below
    except (TypeError, ValueError):
        mend = "write a date as YYYY-MM-DD, such as 2026-04-01"
        raise PydanticCustomError(SAID, "{mend}", {"mend": mend}) from None


def _threshold(value: object) -> object:
    """One number stands for both verdicts."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return {"pass_at": value, "fail_at": value}
    return value


Name = Annotated[str, BeforeValidator(_name)]
Variable = Annotated[str, BeforeValidator(_variable)]
Day = Annotated[date, BeforeValidator(_day)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class PriceModel(_Strict):
    """What a model costs, in US dollars for a million tokens."""

    input_per_mtok: Amount = Field(description="write US dollars for a million tokens")
    output_per_mtok: Amount = Field(description="write US dollars for a million tokens")
    cached_input_per_mtok: Amount | None = None
    cache_write_per_mtok: Amount | None = None
    as_of: Day = Field(description="write the day on which the price was looked up")


class JudgeModel(_Strict):
    """A chat model that judges: where it is served, what it costs."""

    api: Literal["openai", "anthropic"] = Field(description="allowed are openai, anthropic")
    model: Name = Field(description="every model needs its name, as it is sent")
    base_url: Name | None = None
    family: Name | None = None
    provider: Name | None = None
    api_key_env: Variable | None = None
    price: PriceModel | None = None
    deployment_of: Name | None = None
    timeout: Seconds | None = None
    attempts: Annotated[int, Field(ge=1, le=10)] | None = None
    concurrency: Annotated[int, Field(ge=1, le=4096)] = 64


class GateModel(_Strict):
    """How sure a stage must be before its verdict settles, and the evidence that this is enough."""

    pass_at: Share | None = None
    fail_at: Share | None = None
    certificate: Name | None = None


Gates = dict[Name, Annotated[GateModel, BeforeValidator(_threshold)]]
"""Gates by the name of their stage."""


class ChangedModel(_Strict):
    """What may stand beside a preset and its parameters."""

    preset: Name
    strict: bool = False
    gates: Gates = {}


class StageModel(_Strict):
    """A registered verifier, and what it may settle."""

    verifier: Name = Field(description="every stage needs the name of a registered verifier")
    name: Name | None = None
    settles: Annotated[list[Literal["pass", "fail"]], BeforeValidator(_listed)] = ["pass", "fail"]
    gate: GateModel = GateModel()
    options: dict[str, Any] = {}


class StagesModel(_Strict):
    """A cascade written out stage by stage."""

    stages: Annotated[list[StageModel], Field(min_length=1)] = Field(
        description="a cascade needs a preset, or a list of stages"
    )
    strict: bool = False


class ParameterModel(_Strict):
    """What a preset lets its user set."""

    description: str
    default: Any = None


class PresetModel(StagesModel):
    """A cascade with gaps: an option ``${name}`` is filled from the parameter of that name."""

    description: str
    parameters: dict[str, ParameterModel] = {}


class BudgetModel(_Strict):
    """What checking and mending one answer may cost."""

    usd: Amount | None = None
    seconds: Amount | None = None


class MatchModel(_Strict):
    """Answers a sampling rule is about."""

    tenant: Name | None = None
    model: Name | None = None


class SamplingModel(_Strict):
    """Which finished answers are verified in the background."""

    rate: Share = 1.0
    always: list[MatchModel] = []
    never: list[MatchModel] = []
    always_on_failed_rule: bool = False


class TenantModel(_Strict):
    """One tenant's settings; what it leaves out it takes from ``default``."""

    cascade: Name | None = None
    thresholds: Gates | None = None
    models: dict[Name, Any] | None = None
    budget: BudgetModel | None = None
    sampling: SamplingModel | None = None


class AuditModel(_Strict):
    """Where decisions are recorded."""

    url: Name = Field(description="the audit log needs a place, such as sqlite:///aucert.db")


class FileModel(_Strict):
    """The file as a whole. A cascade has two forms and is validated in the one it chose."""

    models: dict[Name, JudgeModel] = {}
    cascades: Annotated[dict[Name, dict[str, Any]], Field(min_length=1)] = Field(
        description="name at least one cascade"
    )
    tenants: dict[Name, TenantModel] = {}
    audit: AuditModel | None = None


DEFAULT_TENANT: Final = "default"
