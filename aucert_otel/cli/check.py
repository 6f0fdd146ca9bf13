"""``aucert check``: verify finished answers from a file."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, BinaryIO

import typer
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, SpinnerColumn, TimeElapsedColumn

from aucert_otel.audit.urls import files_of
from aucert_otel.cli import EXIT_INTERRUPTED, EXIT_UNUSABLE
from aucert_otel.cli.checking import Check, Harnesses
from aucert_otel.cli.estimate import say_estimate
from aucert_otel.cli.outfile import open_out
from aucert_otel.cli.screen import console, cut, plural, safe
from aucert_otel.cli.settings import settings
from aucert_otel.cli.tally import Tally, summary
from aucert_otel.errors import ConfigurationError
from aucert_otel.rows import InputLine, read_rows
from aucert_otel.telemetry.boundary import Boundary


def check(  # noqa: PLR0917 - typer reads the options off the signature
    source: Annotated[
        str, typer.Argument(metavar="INPUT", help="Answers as JSON lines; - reads standard input.")
    ],
    config: Annotated[
        Path | None, typer.Option(help="The settings; default: aucert.yaml, else a preset.")
    ] = None,
    cascade: Annotated[
        str | None, typer.Option(help="The cascade for every row, instead of its tenant's.")
    ] = None,
    tenant: Annotated[str | None, typer.Option(help="The tenant of rows that name none.")] = None,
    out: Annotated[
        str | None,
        typer.Option(
            help="Where the records go, one JSON line a row; - for standard output. A run that was "
            "interrupted goes on where it stopped."
        ),
    ] = None,
    concurrency: Annotated[int, typer.Option(min=1, max=1024, help="Rows checked at once.")] = 8,
    tests_per_day: Annotated[
        float, typer.Option(min=0, help="How many there are, for the monthly cost.")
    ] = 1000,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Call nothing; say what it would cost.")
    ] = False,
    content: Annotated[
        bool, typer.Option(help="Whether records quote the answer, its claims and the evidence.")
    ] = True,
) -> None:
    """Verify finished answers. Exit 0 ran, 2 unusable input or settings, 130 interrupted."""
    errors = console(stderr=True)
    found, where = settings(config, cascade)
    errors.print(safe(where))
    harnesses = Harnesses(found, cascade, tenant)
    with _opened(source) as stream:
        lines = read_rows(stream)
        if estimate:
            rows, bad = say_estimate(lines, harnesses, errors, tests_per_day)
            say_unusable(source, rows, bad, errors)
            return
        harnesses.check_ready()
        run = _Run(harnesses, source, out, concurrency, content, tests_per_day)
        _check(lines, run, errors)


@dataclass(frozen=True, slots=True)
class _Run:
    harnesses: Harnesses
    source: str
    out: str | None
    concurrency: int
    content: bool
    tests_per_day: float


@contextmanager
def _opened(source: str) -> Iterator[BinaryIO]:
    if source != "-" and Path(source).is_dir():
        raise ConfigurationError(f"{source} is a folder: name a file of JSON lines")
    if source == "-":
        # A reader of our own, and never closed: after Ctrl-C a thread still waits inside it, and
        # closing it, or the interpreter's own, would wait for that thread.
        yield open(0, "rb", closefd=False)  # noqa: SIM115 - see above; 0 is no path
        return
    with Path(source).open("rb") as stream:
        yield stream


def _check(lines: Iterator[InputLine], run: _Run, errors: Console) -> None:
    found, out = run.harnesses.config, run.out
    exporting = _export()
    with ExitStack() as stack:
        records = open_out(
            out,
            run.source,
            found.versions(run.harnesses.cascade),
            sys.stdout.buffer,
            () if found.audit_url is None else files_of(found.audit_url),
        )
        stack.callback(records.close)
        if records.torn:
            errors.print(
                safe(
                    f"{out}: the last line was cut off by an interrupted run; its row is checked again"
                )
            )
        audit = found.audit_writer()
        check = Check(
            run.harnesses,
            records,
            lambda problem: errors.print(safe(problem), soft_wrap=True),
            Boundary(run.content),
            audit,
            run.concurrency,
        )
        with _progress(run.source, errors, check):
            tally = check.run(lines)
        stored = found.close(timeout=30.0)
    if exporting:
        from aucert_otel.telemetry.flush import flush_providers

        if not flush_providers(10.0):
            errors.print(safe("not every span reached the OTLP endpoint"))
    dropped = 0 if audit is None else sum(audit.dropped.values())
    if dropped or not stored:
        errors.print(safe(f"{plural(dropped, 'record')} did not reach the audit log"))
    check.say_alike()
    _say(tally, errors if out == "-" else console(), errors, run)
    say_unusable(run.source, tally.counts.rows, tally.bad, errors, ended=not check.interrupted)
    if check.interrupted:
        left = f"; {plural(check.abandoned, 'row')} under way abandoned" if check.abandoned else ""
        errors.print(safe(f"interrupted{left}: the same command goes on from here"))
        raise typer.Exit(EXIT_INTERRUPTED)


def say_unusable(source: str, rows: int, bad: int, errors: Console, *, ended: bool = True) -> None:
    """Say that an input held nothing to check.

    Raises:
        typer.Exit: it held rows, and none of them could be checked. An empty input is no fault.
    """
    if rows or not ended:
        return
    if not bad:
        errors.print(safe(f"{source} holds no row"), soft_wrap=True)
        return
    errors.print(safe(f"no row of {source} could be checked"), soft_wrap=True)
    raise typer.Exit(EXIT_UNUSABLE)


def _say(tally: Tally, screen: Console, errors: Console, run: _Run) -> None:
    for key, count in sorted(tally.unknown.items())[:20]:
        errors.print(safe(f"nobody reads the key {cut(key, 60)} ({plural(count, 'row')})"))
    if len(tally.unknown) > 20:
        errors.print(safe(f"nor {len(tally.unknown) - 20} further keys"))
    stages = {
        name: tuple(stage.name for stage in each.stages)
        for name, each in run.harnesses.config.cascades.items()
    }
    for line in summary(tally, stages, run.tests_per_day):
        screen.print(safe(line), soft_wrap=True)
    if run.out not in (None, "-"):
        screen.print(safe(f"records: {run.out}"), soft_wrap=True)


@contextmanager
def _progress(source: str, errors: Console, check: Check) -> Iterator[None]:
    if not errors.is_terminal:
        yield
        return
    bar = Progress(
        SpinnerColumn(), MofNCompleteColumn(), TimeElapsedColumn(), console=errors, transient=True
    )
    with bar:
        task = bar.add_task("rows", total=_count_lines(source))
        check.step = lambda: bar.advance(task)
        yield


def _count_lines(source: str) -> int | None:
    if source == "-" or not Path(source).is_file():
        return None
    with Path(source).open("rb") as stream:
        return sum(block.count(b"\n") for block in iter(lambda: stream.read(1 << 20), b""))


def _export() -> bool:
    """Send spans over OTLP where an endpoint is set, so that records carry trace ids."""
    if not os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT"):
        return False
    from aucert_otel.telemetry.configure import configure

    configure()
    return True
