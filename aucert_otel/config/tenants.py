"""Tenants: whose answers are checked by which cascade, how strictly, and for how much."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field

from aucert_otel._sentences import hint, one_of, path, shown
from aucert_otel.budget import Budget
from aucert_otel.config.build import Builder, Built, Changes
from aucert_otel.config.models import (
    DEFAULT_TENANT,
    FileModel,
    MatchModel,
    SamplingModel,
    TenantModel,
)
from aucert_otel.config.problems import Problems
from aucert_otel.errors import ConfigurationError
from aucert_otel.sampling import Match, Sampling


@dataclass(frozen=True, slots=True)
class Tenant:
    """One tenant's settings, with what it left out taken from ``default``."""

    cascade: str
    budget: Budget
    sampling: Sampling
    _: KW_ONLY
    changes: Changes = field(default_factory=Changes)
    """The thresholds and models it has of its own."""


def read_tenants(
    model: FileModel, built: Mapping[str, Built | None], problems: Problems
) -> dict[str, Tenant]:
    """The file's tenants, by name.

    Args:
        model: The file.
        built: Its cascades; ``None`` where one cannot work, which was said.
        problems: Where what cannot work is noted.
    """
    common = model.tenants.get(DEFAULT_TENANT, TenantModel())
    fallback = common.cascade
    if fallback is None and len(model.cascades) == 1:
        fallback = next(iter(model.cascades))
    found = {}
    for name, tenant in model.tenants.items():
        place = path(("tenants", name))
        cascade = tenant.cascade or fallback
        allowed = one_of(tuple(model.cascades))
        if cascade is None:
            problems.add(place, f".cascade is missing: allowed are {allowed}")
        elif cascade not in model.cascades:
            # An inherited one is the default tenant's problem, and is said there.
            if tenant.cascade is not None:
                problems.add(place, f".cascade is {shown(cascade)}: allowed are {allowed}")
        else:
            budget = tenant.budget or common.budget
            sampling = tenant.sampling or common.sampling or SamplingModel()
            found[name] = Tenant(
                cascade,
                Budget() if budget is None else Budget(budget.usd, budget.seconds),
                _sampling(sampling, place, problems),
                changes=_changes(tenant, common, built[cascade], place, problems),
            )
    return found


def _changes(
    tenant: TenantModel,
    common: TenantModel,
    built: Built | None,
    place: str,
    problems: Problems,
) -> Changes:
    if built is None:
        return Changes(place)
    called = path((built.cascade.name,))
    stages = [stage.name for stage in built.cascade.stages]
    for stage in tenant.thresholds or ():
        if stage not in stages:
            at = f"{place}.thresholds.{path((stage,))}"
            problems.add(at, f" is no stage of the cascade {called}: {hint(stage, stages)}")
    if tenant.models and not built.models:
        problems.add(place, f".models: the cascade {called} asks no model: leave models out")
    # Inherited ones count where the cascade has such a stage.
    thresholds = common.thresholds if tenant.thresholds is None else tenant.thresholds
    models = common.models if tenant.models is None else tenant.models
    return Changes(
        place,
        models=dict(models or {}) if built.models else {},
        thresholds={s: each for s, each in (thresholds or {}).items() if s in stages},
    )


def own_cascades(
    tenants: Mapping[str, Tenant], builder: Builder, problems: Problems
) -> dict[str, Built]:
    """The cascades of the tenants that differ from the file's own entry."""
    found = {}
    for name, tenant in tenants.items():
        if tenant.changes:
            built = builder.build(tenant.cascade, problems, tenant.changes)
            if built is not None:
                found[name] = built
    return found


def _sampling(model: SamplingModel, place: str, problems: Problems) -> Sampling:
    return Sampling(
        model.rate,
        always=_matches(model.always, f"{place}.sampling.always", problems),
        never=_matches(model.never, f"{place}.sampling.never", problems),
        always_on_failed_rule=model.always_on_failed_rule,
    )


def _matches(models: list[MatchModel], place: str, problems: Problems) -> tuple[Match, ...]:
    found = []
    for index, model in enumerate(models):
        try:
            found.append(Match(model.tenant, model.model))
        except ConfigurationError as error:
            problems.add(f"{place}[{index}]", f": {error}")
    return tuple(found)
