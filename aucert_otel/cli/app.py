"""The commands, put together."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import EntryPoint, entry_points
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

from aucert_otel._safe import describe
from aucert_otel._version import __version__
from aucert_otel.cli import EXIT_INTERRUPTED, EXIT_NOBODY_READS, EXIT_UNUSABLE
from aucert_otel.cli.audit import audit
from aucert_otel.cli.calibrate import calibrate
from aucert_otel.cli.cascade import cascade
from aucert_otel.cli.check import check
from aucert_otel.cli.screen import console, safe
from aucert_otel.errors import AucertError


COMMAND_GROUP: Final = "aucert_otel.commands"
"""Packages register further commands under this group: functions, or groups of them, for typer."""


class _Group(TyperGroup):
    """Gives what ends a command from outside our exit codes, before typer gives it its own."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Parse the command line; ``--help`` prints here."""
        with _exit_codes():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        with _exit_codes():
            return super().invoke(ctx)


@contextmanager
def _exit_codes() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        raise SystemExit(EXIT_INTERRUPTED) from None
    except BrokenPipeError:
        raise SystemExit(EXIT_NOBODY_READS) from None


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"aucert {__version__}")
        raise typer.Exit


def _root(
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Verdicts for LLM answers: check every finished answer and do exactly one thing about it."""


def build() -> typer.Typer:
    """The application with every command there is."""
    app = typer.Typer(
        name="aucert",
        cls=_Group,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    app.callback()(_root)
    app.command()(check)
    app.command()(calibrate)
    app.add_typer(audit, name="audit")
    app.add_typer(cascade, name="cascade")
    taken = {"check", "calibrate", "audit", "cascade"}
    for entry in sorted(entry_points(group=COMMAND_GROUP), key=lambda each: each.name):
        if entry.name not in taken:
            taken.add(entry.name)
            command = _load(entry)
            if isinstance(command, typer.Typer):
                app.add_typer(command, name=entry.name)
            else:
                app.command(entry.name)(command)
    return app


def _load(entry: EntryPoint) -> Callable[..., Any] | typer.Typer:
    try:
        command: Callable[..., Any] | typer.Typer = entry.load()
    except Exception as error:  # noqa: BLE001 - another package's code must not take our commands away
        problem = str(error) if isinstance(error, AucertError) else describe(error)

        def broken() -> None:
            raise typer.Exit(_say(f"the command {entry.name} cannot be loaded: {problem}"))

        broken.__doc__ = "Not available: its package cannot be loaded."
        return broken
    return command


def _say(problem: str) -> int:
    console(stderr=True).print(safe(f"aucert: {problem}"))
    return EXIT_UNUSABLE


def run(arguments: list[str] | None = None) -> int:
    """Run one command line and return its exit code.

    Raises:
        AucertError: what a command refuses to work with.
    """
    try:
        build()(args=sys.argv[1:] if arguments is None else arguments, prog_name="aucert")
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    except OSError as error:
        named = f"{error.filename}: " if error.filename else ""
        return _say(f"{named}{error.strerror or type(error).__name__}")
    return 0
