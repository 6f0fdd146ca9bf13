"""Which settings a command works with: a file that was named, one that lies here, or a preset."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import yaml

from aucert_otel.config import Config, load, parse_config
from aucert_otel.config.presets import preset_names
from aucert_otel.errors import ConfigurationError


DEFAULT_FILE: Final = "aucert.yaml"
DEFAULT_PRESET: Final = "rules"


def settings(config: Path | None, cascade: str | None) -> tuple[Config, str]:
    """The settings, and a sentence on where they come from.

    Raises:
        ConfigurationError: the file is refused, or there is neither a file nor such a preset.
    """
    if config is not None or Path(DEFAULT_FILE).is_file():
        found = load(config or DEFAULT_FILE)
        if cascade is not None:
            found.cascade(cascade)
        return found, f"settings: {found.source}"
    name = cascade or DEFAULT_PRESET
    if name not in preset_names():
        raise ConfigurationError(
            f"there is no {DEFAULT_FILE} here and no preset {name!r}: known presets are "
            f"{', '.join(preset_names())}; name a file with --config"
        )
    text = yaml.safe_dump({"cascades": {name: {"preset": name}}})
    return parse_config(
        text, "the built-in presets"
    ), f"settings: no {DEFAULT_FILE} here, so the preset {name} with its defaults"
