"""An absent or old LangChain gets one clear sentence, before anything of it is imported."""

from __future__ import annotations

from importlib import metadata

import pytest

from aucert_integrations.langchain._requires import require_langchain
from aucert_otel import ConfigurationError, MissingExtraError


@pytest.mark.parametrize("version", ["0.3.0", "0.3.63", "1.8.3", "1.0.0rc1", "2.0"])
def test_a_supported_version_is_taken(version, monkeypatch):
    monkeypatch.setattr(metadata, "version", lambda _: version)
    require_langchain()


@pytest.mark.parametrize("version", ["0.2.43", "0.1.0", "0.2"])
def test_an_old_version_is_named_together_with_the_one_needed(version, monkeypatch):
    monkeypatch.setattr(metadata, "version", lambda _: version)
    with pytest.raises(ConfigurationError) as caught:
        require_langchain()
    assert str(caught.value) == (
        f"langchain-core {version} is too old: this integration needs 0.3.0 or newer "
        '(pip install -U "langchain-core>=0.3.0")'
    )


def test_a_missing_langchain_names_the_extra(monkeypatch):
    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    with pytest.raises(MissingExtraError, match=r'pip install "aucert-otel\[langchain\]"'):
        require_langchain()
