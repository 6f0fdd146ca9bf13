"""``aucert rubric``, found by the command line through its entry point."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from aucert_otel.cli.screen import console, plural, safe
from aucert_verifiers.judge.check import Sources, check_rubric
from aucert_verifiers.judge.config import DEFAULT
from aucert_verifiers.judge.rubric import Rubric, default_rubric


EXIT_PROBLEMS = 1

rubric = typer.Typer(no_args_is_help=True, help="Look at the rubrics that judges go by.")


@rubric.callback()
def _rubric() -> None:
    """Look at the rubrics that judges go by."""


@rubric.command()
def check(
    file: Annotated[str, typer.Argument(help='A rubric in YAML, or "default".')],
    sources: Annotated[
        Path | None,
        typer.Option(help="The sources as they stand today: a folder, or a YAML or JSON file."),
    ] = None,
) -> None:
    """Report criteria that are badly phrased or whose source has changed.

    Reported are criteria phrased as defects, without a fail or an unclear condition, without a source,
    and those whose source is another by now. Exit 1 if anything is reported, 2 if a file is unusable.
    """
    found = default_rubric() if file == DEFAULT else Rubric.load(file)
    problems = check_rubric(found, None if sources is None else Sources.load(sources))
    out = console()
    for problem in problems:
        out.print(safe(problem), soft_wrap=True)
    said = f"{found.name}: {len(found.criteria)} criteria, {plural(len(problems), 'problem')}"
    if sources is None:
        said += "; whether sources changed was not looked at (--sources)"
    out.print(safe(said), soft_wrap=True)
    if problems:
        raise typer.Exit(EXIT_PROBLEMS)
