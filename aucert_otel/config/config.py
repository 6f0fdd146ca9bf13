"""A file of settings that works: cascades, tenants, and the harnesses made of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

from aucert_otel._sentences import one_of, shown
from aucert_otel.audit import AuditWriter, open_sink
from aucert_otel.budget import Budget
from aucert_otel.cascade import Cascade
from aucert_otel.config.build import Builder, Built, Changes
from aucert_otel.config.chat import check_ready
from aucert_otel.config.models import DEFAULT_TENANT
from aucert_otel.config.problems import Problems
from aucert_otel.config.rates import Rate, rates
from aucert_otel.config.tenants import Tenant
from aucert_otel.errors import ConfigurationError
from aucert_otel.harness import Harness
from aucert_otel.sampling import Sampling


@dataclass(frozen=True, slots=True)
class Config:
    """A file of settings that works. Safe to share between threads."""

    source: str
    """The file's name, for messages."""
    built: Mapping[str, Built] = field(repr=False)
    """The cascades by name, each with the models it asks."""
    tenants: Mapping[str, Tenant]
    own: Mapping[str, Built] = field(repr=False)
    """The cascades of the tenants that have thresholds or models of their own."""
    _builder: Builder = field(repr=False, compare=False)
    _: KW_ONLY
    audit_url: str | None = field(default=None, repr=False)  # it may hold a password
    _writers: list[AuditWriter] = field(default_factory=list, init=False, repr=False, compare=False)
    _harnesses: dict[tuple[str | None, str | None, bool], Harness] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @property
    def cascades(self) -> Mapping[str, Cascade]:
        """The cascades by name, without any tenant's changes."""
        return {name: each.cascade for name, each in self.built.items()}

    def cascade(self, name: str) -> Cascade:
        """A cascade by its name, without any tenant's changes.

        Raises:
            ConfigurationError: there is none of that name.
        """
        return self._named(name).cascade

    def _named(self, name: str) -> Built:
        try:
            return self.built[name]
        except KeyError:
            raise ConfigurationError(
                f"{self.source}: there is no cascade {shown(name)}: "
                f"known are {one_of(tuple(self.built))}"
            ) from None

    def tenant(self, name: str | None = None) -> Tenant:
        """A tenant's settings; those of ``default`` for a tenant the file does not name.

        Raises:
            ConfigurationError: the file names neither the tenant nor a default.
        """
        found = self.tenants.get(name or DEFAULT_TENANT) or self.tenants.get(DEFAULT_TENANT)
        if found is not None:
            return found
        if not self.tenants and len(self.built) == 1:
            return Tenant(next(iter(self.built)), Budget(), Sampling())
        if not self.tenants:
            raise ConfigurationError(
                f"{self.source}: which of the cascades {one_of(tuple(self.built))} to use is "
                "not said: name one, or add tenants: {default: {cascade: …}}"
            )
        raise ConfigurationError(
            f"{self.source}: there is no tenant {shown(name or DEFAULT_TENANT)} and no default: "
            f"known are {one_of(tuple(self.tenants))}"
        )

    def cascade_of(self, tenant: str | None = None, *, cascade: str | None = None) -> Cascade:
        """The cascade that checks a tenant's answers, with the tenant's thresholds and models.

        Args:
            tenant: Whose; default: ``default``.
            cascade: Another cascade than the tenant's own, as it stands in the file.

        Raises:
            ConfigurationError: there is no such tenant or cascade.
        """
        return self._of(tenant, cascade).cascade

    def versions(self, cascade: str | None = None) -> set[tuple[str, str]]:
        """Name and version of every cascade a tenant may be checked by, or of the named one."""
        used = (
            [*self.built.values(), *self.own.values()]
            if cascade is None
            else [self._named(cascade)]
        )
        return {(each.cascade.name, each.cascade.version) for each in used}

    def rates(self, tenant: str | None = None, *, cascade: str | None = None) -> tuple[Rate, ...]:
        """What each stage of `cascade_of` costs by the token. Nothing is called.

        Raises:
            ConfigurationError: there is no such tenant or cascade.
        """
        chosen = self._of(tenant, cascade)
        changes = Changes() if cascade is not None else self.tenant(tenant).changes

        def build(expected: Mapping[str, float]) -> Cascade | None:
            asked = replace(changes, options={"expected": dict(expected)})
            probe = self._builder.build(chosen.cascade.name, Problems(), asked)
            return None if probe is None else probe.cascade

        return rates(chosen.cascade, build)

    def harness(
        self,
        tenant: str | None = None,
        *,
        cascade: str | None = None,
        audit: bool = True,
        **options: Any,
    ) -> Harness:
        """A tenant's harness. Without further options it is made once and kept.

        All harnesses of one configuration share one audit writer, and the clients of its models
        with the caps on their concurrency.

        Args:
            tenant: Whose; default: ``default``.
            cascade: Another cascade than the tenant's own.
            audit: Record decisions where the file says.
            options: Further arguments of `Harness`.

        Raises:
            ConfigurationError: there is no such tenant or cascade, or a model's key is missing.
            MissingExtraError: a model's client or the audit log's driver is not installed.
        """
        key = (tenant if tenant in self.tenants else None, cascade, audit)
        if not options and key in self._harnesses:
            return self._harnesses[key]
        chosen = self._of(tenant, cascade)
        settings = None if cascade is not None and not self.tenants else self.tenant(tenant)
        check_ready(chosen.models, self.source)
        made = Harness(
            chosen.cascade,
            budget=None if settings is None else settings.budget,
            sampling=None if settings is None else settings.sampling,
            audit=self.audit_writer() if audit else None,
            **options,
        )
        return made if options else self._harnesses.setdefault(key, made)

    def _of(self, tenant: str | None, cascade: str | None) -> Built:
        if cascade is not None:
            return self._named(cascade)
        settings = self.tenant(tenant)
        name = tenant if tenant in self.tenants else DEFAULT_TENANT
        return self.own.get(name or DEFAULT_TENANT) or self._named(settings.cascade)

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
        """Write out what is still queued for the audit log, close it, and close connections.

        Returns:
            Whether everything is stored. What is not is counted in the writer's ``dropped``.
        """
        done = True
        while self._writers:
            writer = self._writers.pop()
            done = writer.close(timeout) and done
            writer.sink.close()
        if self._harnesses:
            self._harnesses.clear()
            for model in self._builder.models.values():
                model.close()
        return done
