"""``aucert audit``: read the log of decisions, and check that nobody changed it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from aucert_otel.audit import AuditSink, ChainReport, Entry, Fault, SinkError, open_sink, queries
from aucert_otel.cli.screen import console, cut, json_text, plural, safe
from aucert_otel.cli.settings import DEFAULT_FILE
from aucert_otel.config import load
from aucert_otel.errors import ConfigurationError


audit = typer.Typer(no_args_is_help=True, help="Read the audit log, and check that it is whole.")

Url = Annotated[
    str | None,
    typer.Option("--url", help="The log, such as sqlite:///aucert.db or a file in .jsonl."),
]
Settings = Annotated[
    Path | None,
    typer.Option("--config", help=f"Settings whose audit.url is used; default: {DEFAULT_FILE}."),
]


@contextmanager
def _opened(url: str | None, config: Path | None) -> Iterator[AuditSink]:
    if url is None:
        if config is None and not Path(DEFAULT_FILE).is_file():
            raise ConfigurationError(
                f"which audit log is not said: give --url, or an {DEFAULT_FILE} with audit.url"
            )
        found = load(config or DEFAULT_FILE)
        url = found.audit_url
        if url is None:
            raise ConfigurationError(f"{found.source} has no audit.url: add one, or give --url")
    sink = open_sink(url, must_exist=True)
    try:
        yield sink
    except SinkError as error:
        raise ConfigurationError(str(error)) from error
    except OSError as error:
        named = f" {error.filename}" if error.filename else ""
        raise ConfigurationError(
            f"the audit log{named} cannot be read: {error.strerror or type(error).__name__}"
        ) from error
    finally:
        sink.close()


@audit.callback()
def _audit() -> None:
    """Read the audit log, and check that it is whole."""


@audit.command()
def show(
    key: Annotated[str, typer.Argument(help="A test id, a trace id, or a record's number.")],
    url: Url = None,
    config: Settings = None,
) -> None:
    """Print the records of one answer, whole, as JSON. Exit 1 if there are none."""
    with _opened(url, config) as sink:
        found = queries.show(sink, key)
    if not found:
        console(stderr=True).print(safe(f"no record has the test id, trace id or number {key}"))
        raise typer.Exit(1)
    for entry in found:
        typer.echo(json_text({"seq": entry.seq, "hash": entry.hash, **_record(entry)}))


@audit.command()
def tail(
    count: Annotated[int, typer.Option("-n", min=1, help="How many records.")] = 10,
    json: Annotated[bool, typer.Option("--json", help="Whole records, one a line.")] = False,
    url: Url = None,
    config: Settings = None,
) -> None:
    """Print the last records, oldest first, one line each."""
    with _opened(url, config) as sink:
        entries = queries.tail(sink, count)
    out = console()
    for entry in entries:
        if json:
            line = {"seq": entry.seq, "hash": entry.hash, **_record(entry)}
            typer.echo(json_text(line, indent=None))
        else:
            out.print(safe(_line(entry)), soft_wrap=True)


def _record(entry: Entry) -> dict[str, Any]:
    return entry.record if entry.damage is None else {"damage": entry.damage.value, **entry.record}


def _line(entry: Entry) -> str:
    if entry.damage is not None and not entry.record:
        return f"{entry.seq:>6}  damaged: {entry.damage.value}"
    record = entry.record
    said = "  ".join(
        str(record.get(key) or "-") for key in ("timestamp", "decision", "action", "test_id")
    )
    return f"{entry.seq:>6}  {said}  {cut(str(record.get('reasoning') or ''), 80)}"


@audit.command()
def verify(
    expect: Annotated[
        str | None,
        typer.Option(help="A head's hash kept outside the log: proves everything up to it."),
    ] = None,
    where: Annotated[
        str | None, typer.Argument(metavar="[URL]", help="The log; the same as --url.")
    ] = None,
    url: Url = None,
    config: Settings = None,
) -> None:
    """Check the hash chain. Exit 0 whole, 1 broken (the first such record is named), 2 unusable."""
    if where is not None and url is not None and where != url:
        raise ConfigurationError("the log is named twice: give it as [URL] or as --url")
    with _opened(where or url, config) as sink:
        report = queries.verify_sink(sink, expect)
    out = console()
    out.print(safe(_verdict(report)), soft_wrap=True)
    if not report.ok:
        raise typer.Exit(1)


def _verdict(report: ChainReport) -> str:
    broken = report.broken
    if broken is not None:
        said = (
            f"BROKEN at record {broken.seq} ({broken.fault.value}): {broken.detail}\n"
            f"{plural(report.checked, 'record')} from the first on hold."
        )
        return f"{said}\nhead: {report.last_hash}" if broken.fault is Fault.HEAD_REBUILT else said
    lines = [f"whole: {plural(report.checked, 'record')}, each follows the one before it"]
    if report.anchored_at is not None:
        lines.append(f"the expected hash is that of record {report.anchored_at}")
    if report.beyond_head:
        lines.append(f"{plural(report.beyond_head, 'record')} came after the head was last written")
    if report.caught_up:
        lines.append(
            f"a writer found records after the head {plural(report.caught_up, 'time')}, as a kill "
            "leaves them, and made it anew"
        )
    if report.torn:
        lines.append("after the last record is the beginning of one that was never acknowledged")
    lines.append(f"head: {report.last_hash}")
    if report.anchored_at is None and report.checked:
        lines.append("keep the head where the log's writers cannot reach it, and give it back as")
        lines.append("--expect: only that shows a log rewritten together with its head")
    return "\n".join(lines)
