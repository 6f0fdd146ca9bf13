"""Which LlamaIndex this integration works with, said once and clearly."""

from __future__ import annotations

import re
from importlib import metadata

from aucert_otel.errors import ConfigurationError, MissingExtraError


MINIMUM = (0, 12, 0)


def require_llama_index() -> None:
    """Refuse a LlamaIndex that is absent or too old, before anything of it is imported.

    Raises:
        MissingExtraError: llama-index-core is not installed.
        ConfigurationError: it is older than `MINIMUM`.
    """
    try:
        found = metadata.version("llama-index-core")
    except metadata.PackageNotFoundError as error:
        raise MissingExtraError("the LlamaIndex integration", "llama-index") from error
    numbers = tuple(int(number) for number in re.findall(r"\d+", found)[:3])
    if numbers < MINIMUM:
        needed = ".".join(map(str, MINIMUM))
        raise ConfigurationError(
            f"llama-index-core {found} is too old: this integration needs {needed} or newer "
            f'(pip install -U "llama-index-core>={needed}")'
        )
