"""Which LangChain this integration works with, said once and clearly."""

from __future__ import annotations

import re
from importlib import metadata

from aucert_otel.errors import ConfigurationError, MissingExtraError


MINIMUM = (0, 3, 0)


def require_langchain() -> None:
    """Refuse a LangChain that is absent or too old, before anything of it is imported.

    Raises:
        MissingExtraError: langchain-core is not installed.
        ConfigurationError: it is older than `MINIMUM`.
    """
    try:
        found = metadata.version("langchain-core")
    except metadata.PackageNotFoundError as error:
        raise MissingExtraError("the LangChain integration", "langchain") from error
    numbers = tuple(int(number) for number in re.findall(r"\d+", found)[:3])
    if numbers < MINIMUM:
        needed = ".".join(map(str, MINIMUM))
        raise ConfigurationError(
            f"langchain-core {found} is too old: this integration needs {needed} or newer "
            f'(pip install -U "langchain-core>={needed}")'
        )
