"""``aucert cascade``: what would be checked, and what would be done about it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from aucert_otel.action import format_table
from aucert_otel.cascade import Cascade
from aucert_otel.cli.screen import console, safe
from aucert_otel.cli.settings import settings
from aucert_otel.stage import Stage
from aucert_otel.verdict import Verdict


cascade = typer.Typer(no_args_is_help=True, help="Look at the configured cascades.")


@cascade.callback()
def _cascade() -> None:
    """Look at the configured cascades."""


@cascade.command()
def show(
    name: Annotated[str | None, typer.Argument(help="One cascade; default: all.")] = None,
    config: Annotated[
        Path | None, typer.Option(help="The settings; default: aucert.yaml, else a preset.")
    ] = None,
    tenant: Annotated[
        str | None, typer.Option(help="The cascade of this tenant, with what it changes.")
    ] = None,
) -> None:
    """Print the stages of each cascade and the action table."""
    out = console()
    found, _ = settings(config, name)
    if tenant is not None:
        shown = [found.cascade_of(tenant, cascade=name)]
    else:
        shown = list(found.cascades.values()) if name is None else [found.cascade(name)]
    for each in shown:
        out.print(safe(_described(each)), soft_wrap=True)
    out.print(safe("\nActions, the first line that matches:\n" + format_table()), soft_wrap=True)


def _described(each: Cascade) -> str:
    strict = ", strict" if each.strict else ""
    lines = [f"{each.name} (version {each.version}{strict})"]
    lines += [
        f"  {number}. {stage.name}: settles {_settles(stage)}{_certificate(stage)}, "
        + ("on the caller's thread" if stage.inline else "on the worker")
        for number, stage in enumerate(each.stages, 1)
    ]
    return "\n".join(lines)


def _settles(stage: Stage) -> str:
    verdicts = sorted(map(Verdict, stage.settles))
    gates = [(verdict, stage.gate.threshold(verdict)) for verdict in reversed(verdicts)]
    said = [
        f"{verdict} {'never' if at == math.inf else f'at {at:g}'}"
        for verdict, at in gates
        if at is not None
    ]
    return (" and ".join(verdicts) or "nothing") + (f" ({', '.join(said)})" if said else "")


def _certificate(stage: Stage) -> str:
    certificate = stage.gate.certificate
    if certificate is None:
        return ""
    return f", certificate {stage.certification()} until {certificate.expires.isoformat()}"
