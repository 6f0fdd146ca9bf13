"""Read ``aucert.yaml`` into the objects an application holds."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any

from aucert_otel._sentences import one_of, path, shown, visible
from aucert_otel.audit import AuditWriter, open_sink
from aucert_otel.budget import Budget
from aucert_otel.cascade import Cascade
from aucert_otel.config.build import Problems, build_cascade
from aucert_otel.config.models import (
    DEFAULT_TENANT,
    FileModel,
    MatchModel,
    SamplingModel,
    TenantModel,
)
from aucert_otel.config.yaml_text import parse
from aucert_otel.errors import ConfigurationError, MissingExtraError
from aucert_otel.harness import Harness
from aucert_otel.sampling import Match, Sampling


@dataclass(frozen=True, slots=True)
class Tenant:
    """One tenant's settings, with what it left out taken from ``default``."""

    cascade: str
    budget: Budget
    sampling: Sampling


@dataclass(frozen=True, slots=True)
class Config:
    """A file of settings that works."""

    source: str
    """The file's name, for messages."""
    cascades: Mapping[str, Cascade]
    tenants: Mapping[str, Tenant]
    _: KW_ONLY
    audit_url: str | None = field(default=None, repr=False)  # it may hold a password
    _writers: list[AuditWriter] = field(default_factory=list, init=False, repr=False, compare=False)

    def cascade(self, name: str) -> Cascade:
        """A cascade by its name.

        Raises:
            ConfigurationError: there is none of that name.
        """
        try:
            return self.cascades[name]
        except KeyError:
            raise ConfigurationError(
                f"{self.source}: there is no cascade {shown(name)}: "
                f"known are {one_of(tuple(self.cascades))}"
            ) from None

    def tenant(self, name: str | None = None) -> Tenant:
        """A tenant's settings; those of ``default`` for a tenant the file does not name.

        Raises:
            ConfigurationError: the file names neither the tenant nor a default.
        """
        found = self.tenants.get(name or DEFAULT_TENANT) or self.tenants.get(DEFAULT_TENANT)
        if found is not None:
            return found
        if not self.tenants and len(self.cascades) == 1:
            return Tenant(next(iter(self.cascades)), Budget(), Sampling())
        if not self.tenants:
            raise ConfigurationError(
                f"{self.source}: which of the cascades {one_of(tuple(self.cascades))} to use is "
                "not said: name one, or add tenants: {default: {cascade: …}}"
            )
        raise ConfigurationError(
            f"{self.source}: there is no tenant {shown(name or DEFAULT_TENANT)} and no default: "
            f"known are {one_of(tuple(self.tenants))}"
        )

    def harness(
        self,
        tenant: str | None = None,
        *,
        cascade: str | None = None,
        audit: bool = True,
        **options: Any,
    ) -> Harness:
        """A harness with a tenant's settings.

        All harnesses of one configuration share one audit writer.

        Args:
            tenant: Whose; default: ``default``.
            cascade: Another cascade than the tenant's own.
            audit: Record decisions where the file says.
            options: Further arguments of `Harness`.

        Raises:
            ConfigurationError: there is no such tenant or cascade.
            MissingExtraError: the audit log's driver is not installed.
        """
        settings = None if cascade is not None and not self.tenants else self.tenant(tenant)
        chosen = cascade if cascade is not None or settings is None else settings.cascade
        assert chosen is not None
        return Harness(
            self.cascade(chosen),
            budget=None if settings is None else settings.budget,
            sampling=None if settings is None else settings.sampling,
            audit=self.audit_writer() if audit else None,
            **options,
        )

    def audit_writer(self) -> AuditWriter | None:
        """The writer that all harnesses share; ``None`` where no audit log is configured.

        Raises:
            MissingExtraError: the audit log's driver is not installed.
        """
        if self.audit_url is None:
            return None
        if not self._writers:
            self._writers.append(AuditWriter(open_sink(self.audit_url)))
        return self._writers[0]

    def close(self, timeout: float = 5.0) -> bool:
        """Write out what is still queued for the audit log and close it.

        Returns:
            Whether everything is stored. What is not is counted in the writer's ``dropped``.
        """
        done = True
        while self._writers:
            writer = self._writers.pop()
            done = writer.close(timeout) and done
            writer.sink.close()
        return done


def load(file: str | os.PathLike[str]) -> Config:
    """Read a file of settings.

    Raises:
        ConfigurationError: it cannot be read, or cannot work. The message lists every problem,
            each with its path, the value and what is allowed, and shows no secret.
    """
    source = visible(os.fspath(file))
    try:
        text = Path(file).read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigurationError(
            f"{source}: byte {error.start + 1} is not UTF-8: save the file as UTF-8"
        ) from None
    except OSError as error:
        raise ConfigurationError(f"{source}: cannot be read: {error.strerror}") from None
    return parse_config(text, source)


def parse_config(text: str, source: str = "aucert.yaml") -> Config:
    """Settings from a text; see `load`.

    Raises:
        ConfigurationError: as `load`.
    """
    document = parse(text, source)
    if not isinstance(document, dict):
        what = "is empty" if document is None else f"is {shown(document, yaml=True)}"
        raise ConfigurationError(f"{source} {what}: it needs at least a mapping with cascades")
    problems = Problems()
    model = problems.validate(FileModel, document)
    if model is None:
        _check_cascades(document.get("cascades"), problems)
        raise _refusal(source, problems)
    built = {name: build_cascade(name, data, problems) for name, data in model.cascades.items()}
    tenants = _tenants(model, problems)
    url = None if model.audit is None else model.audit.url
    if url is not None:
        _check_audit(url, problems)
    if problems.found:
        raise _refusal(source, problems)
    cascades = {name: cascade for name, cascade in built.items() if cascade is not None}
    return Config(source, cascades, tenants, audit_url=url)


def _check_cascades(cascades: object, problems: Problems) -> None:
    """Look into the cascades of a file that is refused anyway, so that all is said at once."""
    if isinstance(cascades, dict):
        for name, data in cascades.items():
            if isinstance(name, str) and isinstance(data, dict):
                build_cascade(name, data, problems)


def _refusal(source: str, problems: Problems) -> ConfigurationError:
    found = problems.found
    if len(found) == 1:
        return ConfigurationError(f"{source}: {found[0]}")
    listed = "\n".join(f"  {source}: {problem}" for problem in found)
    return ConfigurationError(f"{source} has {len(found)} problems:\n{listed}")


def _tenants(model: FileModel, problems: Problems) -> dict[str, Tenant]:
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
            )
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


def _check_audit(url: str, problems: Problems) -> None:
    try:
        open_sink(url).close()
    except MissingExtraError:
        pass  # said when the log is opened: reading settings needs no driver
    except ConfigurationError as error:
        problems.add("audit.url", f": {error}")
