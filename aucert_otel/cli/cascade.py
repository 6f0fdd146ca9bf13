"""``aucert cascade``: what would be checked, and what would be done about it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from aucert_otel.action import format_table
from aucert_otel.cascade import Cascade
from aucert_otel.cli.screen import console, safe
from aucert_otel.cli.settings import settings
from aucert_otel.stage import Stage


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
) -> None:
    """Print the stages of each cascade and the action table."""
    out = console()
    found, _ = settings(config, name)
    for each in found.cascades.values() if name is None else [found.cascade(name)]:
        out.print(safe(_described(each)), soft_wrap=True)
    out.print(safe("\nActions, the first line that matches:\n" + format_table()), soft_wrap=True)


def _described(each: Cascade) -> str:
    strict = ", strict" if each.strict else ""
    lines = [f"{each.name} (version {each.version}{strict})"]
    lines += [
        f"  {number}. {stage.name}: settles {' and '.join(sorted(stage.settles))}{_gate(stage)}, "
        + ("on the caller's thread" if stage.inline else "on the worker")
        for number, stage in enumerate(each.stages, 1)
    ]
    return "\n".join(lines)


def _gate(stage: Stage) -> str:
    gates = (("pass", stage.gate.pass_at), ("fail", stage.gate.fail_at))
    said = [f"{verdict} at {at:g}" for verdict, at in gates if at is not None]
    return f" ({', '.join(said)})" if said else ""
