"""The shape of ``aucert.yaml``, for pydantic. A key that is not here is refused.

Where a verifier needs more than its own options (a judge needs a model), its room adds a field to
`FileModel` and hands what it makes of it to the preset's parameters; nothing else here changes.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from aucert_otel._sentences import SAID


Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]


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


Name = Annotated[str, BeforeValidator(_name)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class GateModel(_Strict):
    """How sure a stage must be before its verdict settles."""

    pass_at: Share | None = None
    fail_at: Share | None = None


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
    budget: BudgetModel | None = None
    sampling: SamplingModel | None = None


class AuditModel(_Strict):
    """Where decisions are recorded."""

    url: Name = Field(description="the audit log needs a place, such as sqlite:///aucert.db")


class FileModel(_Strict):
    """The file as a whole. A cascade has two forms and is validated in the one it chose."""

    cascades: Annotated[dict[Name, dict[str, Any]], Field(min_length=1)] = Field(
        description="name at least one cascade"
    )
    tenants: dict[Name, TenantModel] = {}
    audit: AuditModel | None = None


DEFAULT_TENANT: Final = "default"
