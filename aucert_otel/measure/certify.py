"""From what calibration found to certificates, and to the file a gate points to."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any, Final

import yaml

from aucert_otel._sentences import shown, visible
from aucert_otel.certificate import Certificate
from aucert_otel.errors import ConfigurationError
from aucert_otel.measure.calibrate import StageResult
from aucert_otel.stage import Gate, Stage
from aucert_otel.verdict import Verdict


FILE_VERSION: Final = 1
"""Rises when a key of the file changes its meaning."""

_HEAD: Final = (
    "# Certificates made by `aucert calibrate`. A gate points to one as FILE#STAGE, or FILE#STAGE@STRATUM.\n"
    "# Each is bound to its check and its dates; editing one by hand makes it worthless.\n"
)


@dataclass(frozen=True, slots=True)
class Source:
    """What certificates are issued on."""

    dataset: str
    """The labelled answers: a name and a digest."""
    alpha: float
    issued: date
    days: int
    """How long they speak."""


def certify(
    results: Sequence[StageResult],
    stages: Mapping[str, Stage | str],
    source: Source,
) -> list[Certificate]:
    """A certificate for each calibrated stage, also where nothing was certified.

    Args:
        results: What `calibrate` found.
        stages: The stages of the cascade by name. Where only judgements are known, the fingerprint
            of the check instead: its certificate says nothing of the stages before it.
        source: What they are issued on.

    Raises:
        ConfigurationError: a check has no fingerprint, so nothing can be bound to it.
    """
    found: list[Certificate] = []
    before: dict[str | None, tuple[str, ...]] = {}
    for result in results:
        stage = stages[result.stage]
        after = before.get(result.stratum, ())
        if isinstance(stage, str):
            fingerprint: str | None = stage
        else:
            fingerprint = stage.fingerprint
        if not result.kept:
            if fingerprint is None:
                raise ConfigurationError(
                    f"the check of stage {result.stage!r} has no fingerprint, so no certificate can be "
                    "bound to it: give the verifier a fingerprint that changes whenever it does"
                )
            known = None if isinstance(stage, str) else after
            certificate = _certificate(result, fingerprint, source, known)
            found.append(certificate)
            if not isinstance(stage, str):
                stage = Stage(
                    stage.check,
                    name=stage.name,
                    settles=frozenset(result.tested),
                    gate=Gate(certificate=certificate),
                )
        if not isinstance(stage, str):
            before[result.stratum] = (*after, stage.terms)
    return found


def _certificate(
    result: StageResult, fingerprint: str, source: Source, after: tuple[str, ...] | None
) -> Certificate:
    return Certificate(
        fingerprint,
        source.alpha,
        result.delta,
        source.issued,
        source.issued + timedelta(days=source.days),
        settles=result.settles,
        pass_at=result.threshold(Verdict.PASS),
        fail_at=result.threshold(Verdict.FAIL),
        stage=result.stage,
        stratum=result.stratum,
        dataset=source.dataset,
        n=result.arrived,
        after=after,
    )


def reference(certificate: Certificate) -> str:
    """How a gate names it within its file: ``STAGE`` or ``STAGE@STRATUM``."""
    if certificate.stratum is None:
        return certificate.stage
    return f"{certificate.stage}@{certificate.stratum}"


def write_certificates(path: Path, certificates: Iterable[Certificate]) -> None:
    """Write a file of certificates, whole or not at all.

    Raises:
        ConfigurationError: two of them would have one name.
        OSError: it cannot be written.
    """
    named: dict[str, Any] = {}
    for each in certificates:
        name = reference(each)
        if name in named:
            raise ConfigurationError(
                f"two certificates would be called {shown(name)}: name the stage without @"
            )
        named[name] = each.to_dict()
    document = {"aucert_certificates": FILE_VERSION, "certificates": named}
    text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=100)
    if yaml.safe_load(text) != document:
        # Some characters are letters to us and line breaks to YAML: then all are written as escapes.
        text = yaml.safe_dump(document, sort_keys=False, width=100)
    beside = path.with_name(f"{path.name}.new")
    beside.write_text(_HEAD + text, "utf-8")
    os.replace(beside, path)  # noqa: PTH105 - the same, and says that it replaces


def read_certificates(path: Path) -> dict[str, Certificate]:
    """The certificates of a file, by the name a gate uses.

    Raises:
        ConfigurationError: it is no file of certificates. The message names the key and the mend.
        OSError: it cannot be read.
    """
    from aucert_otel.config.yaml_text import parse  # settings load certificates: not at the top

    try:
        text = path.read_text("utf-8")
    except UnicodeDecodeError:
        raise ConfigurationError(f"{path} is not UTF-8: save it as UTF-8") from None
    document = parse(text, str(path))
    if not isinstance(document, dict) or document.get("aucert_certificates") != FILE_VERSION:
        raise ConfigurationError(
            f"{path} is no file of certificates (aucert_certificates: {FILE_VERSION}): make one with "
            "aucert calibrate --out"
        )
    given: Any = document.get("certificates")
    if not isinstance(given, dict):
        raise ConfigurationError(
            f"{path}: certificates is {shown(given, yaml=True)}: it is a mapping"
        )
    return {
        str(name): Certificate.from_dict(each, f"{path}: certificates.{visible(str(name))[:60]}")
        for name, each in given.items()
    }


def load_certificate(pointer: str, folder: Path = Path()) -> Certificate:
    """The certificate a gate points to.

    Args:
        pointer: ``FILE#STAGE`` or ``FILE#STAGE@STRATUM``.
        folder: Where a relative file is looked for: the folder of the settings.

    Raises:
        ConfigurationError: the pointer, the file or the certificate is not there.
    """
    name, mark, stage = pointer.partition("#")
    if not (name and mark and stage):
        raise ConfigurationError(
            f"certificate is {shown(pointer)}: write the file and the stage, such as "
            "certificate.yaml#self_confidence"
        )
    path = folder / name
    try:
        found = read_certificates(path)
    except OSError as error:
        raise ConfigurationError(f"certificate {path}: {error.strerror or error}") from None
    if stage not in found:
        raise ConfigurationError(
            f"{path} has no certificate {shown(stage)}: it has {', '.join(map(shown, found)) or 'none'}"
        )
    return found[stage]
