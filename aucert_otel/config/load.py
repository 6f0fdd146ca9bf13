"""Read ``aucert.yaml`` into the objects an application holds."""

from __future__ import annotations

import os
from pathlib import Path

from aucert_otel._sentences import shown, visible
from aucert_otel.audit import open_sink
from aucert_otel.config.build import Builder
from aucert_otel.config.chat import MODELS, clients, refuse_keys
from aucert_otel.config.config import Config
from aucert_otel.config.models import FileModel
from aucert_otel.config.problems import Problems
from aucert_otel.config.salvage import asks_models, salvage, whole_models
from aucert_otel.config.tenants import Tenant, own_cascades, read_tenants
from aucert_otel.config.yaml_text import parse
from aucert_otel.errors import ConfigurationError, MissingExtraError


__all__ = ["Config", "Tenant", "load", "parse_config"]


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
    return parse_config(text, source, Path(file).parent)


def parse_config(text: str, source: str = "aucert.yaml", folder: Path = Path()) -> Config:
    """Settings from a text; see `load`.

    Args:
        text: What would stand in the file.
        source: Its name, for messages.
        folder: Where certificates it points to are looked for.

    Raises:
        ConfigurationError: as `load`.
    """
    document = parse(text, source)
    if not isinstance(document, dict):
        what = "is empty" if document is None else f"is {shown(document, yaml=True)}"
        raise ConfigurationError(f"{source} {what}: it needs at least a mapping with cascades")
    problems = Problems()
    document = {**document, MODELS: refuse_keys(document.get(MODELS, {}), problems)}
    # What is left of a file that does not fit is read on, so that all is said in one run.
    model = problems.validate(FileModel, document) or salvage(document)
    models = clients(model.models, problems)
    builder = Builder(model.cascades, models, folder)
    # A cascade could not tell a model that is refused from one that is not there.
    usable = not problems.found or whole_models(document[MODELS], models)
    built = {
        name: builder.build(name, problems) if usable or not asks_models(data) else None
        for name, data in model.cascades.items()
    }
    tenants = read_tenants(model, built, problems)
    url = None if model.audit is None else model.audit.url
    if url is not None:
        _check_audit(url, problems)
    own = {} if problems.found else own_cascades(tenants, builder, problems)
    if problems.found:
        raise problems.refusal(source)
    return Config(
        source,
        {name: each for name, each in built.items() if each is not None},
        tenants,
        own,
        builder,
        audit_url=url,
    )


def _check_audit(url: str, problems: Problems) -> None:
    try:
        open_sink(url).close()
    except MissingExtraError:
        pass  # said when the log is opened: reading settings needs no driver
    except ConfigurationError as error:
        problems.add("audit.url", f": {error}")
