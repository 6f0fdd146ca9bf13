"""One setting, ``audit.url``, says where the records go."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from aucert_otel.errors import ConfigurationError, MissingExtraError


if TYPE_CHECKING:
    from aucert_otel.audit.jsonl import JsonlSink
    from aucert_otel.audit.sql import SqlSink


Sink: TypeAlias = "JsonlSink | SqlSink"

_FORMS = (
    "give jsonl:///audit.jsonl, a path that ends in .jsonl, sqlite:///aucert.db or "
    "postgresql://user:password@host/database"
)


def open_sink(url: str | os.PathLike[str], *, must_exist: bool = False) -> Sink:
    """Open the audit log at a URL. No connection is made before it is used.

    The path of ``jsonl:`` and ``sqlite:`` URLs follows one rule: after three slashes it is
    relative to the working folder, after four it is absolute.

    Args:
        url: ``jsonl:///path``, a bare path ending in ``.jsonl``, ``sqlite:///path`` or
            ``postgresql://…``.
        must_exist: Refuse a log in a file that is not there, instead of creating it at the first
            append. For those who only read.

    Raises:
        ConfigurationError: the URL is none of these, its folder does not exist, or the log does
            not although it must. The message never shows a password.
        MissingExtraError: the database's driver is not installed.
    """
    text = os.fspath(url)
    scheme, separator, rest = text.partition("://")
    if not separator:
        if not text.endswith(".jsonl"):
            # It may be a mistyped URL with a password in it, so only a plain name is shown.
            shown = f"{text!r} " if "@" not in text else ""
            wanted = "read" if must_exist else "write to"
            raise ConfigurationError(
                f"the audit log {shown}is not a place we can {wanted}: {_FORMS}"
            )
        return _jsonl(text, must_exist=must_exist)
    kind, _, driver = scheme.lower().partition("+")
    if kind == "jsonl" and not driver:
        path = _path(kind, rest)
        if not path.endswith(".jsonl"):
            raise ConfigurationError(f"the audit log {text!r} must name a file that ends in .jsonl")
        return _jsonl(path, must_exist=must_exist)
    if kind == "sqlite" and driver in {"", "pysqlite"}:
        path = _path(kind, rest)
        _check_place(Path(path), must_exist=must_exist)
        return _sql(f"sqlite+pysqlite:///{path}")
    if kind in {"postgresql", "postgres"} and driver in {"", "psycopg"}:
        return _sql(f"postgresql+psycopg://{rest}")
    raise ConfigurationError(f"there is no audit log for {scheme + '://'!r} URLs: {_FORMS}")


def _path(kind: str, rest: str) -> str:
    path = rest.partition("?")[0].removeprefix("/")
    if not rest.startswith("/"):
        raise ConfigurationError(
            f"an audit URL that starts {kind + '://'!r} needs a third slash before its path, such "
            f"as {kind}:///aucert.{'db' if kind == 'sqlite' else 'jsonl'}"
        )
    if not path or path == ":memory:":
        raise ConfigurationError(
            f"the audit URL '{kind}://{rest}' names no file: a log in memory is lost with its "
            f"process, so {_FORMS}"
        )
    return path


def files_of(url: str | os.PathLike[str]) -> tuple[Path, ...]:
    """The files that a log at a URL consists of, whether they are there yet or not.

    Raises:
        ConfigurationError, MissingExtraError: as `open_sink`.
    """
    sink = open_sink(url)
    sink.close()
    return sink.files


def _check_place(path: Path, *, must_exist: bool) -> None:
    if must_exist and not os.path.lexists(path):
        raise ConfigurationError(f"there is no audit log at {os.fspath(path)!r}")
    if not path.parent.is_dir():
        rooted = Path("/", path.parent).is_dir() and not path.is_absolute()
        mend = "write four slashes for an absolute path" if rooted else "create it first"
        raise ConfigurationError(
            f"the folder {os.fspath(path.parent)!r} of the audit log does not exist: {mend}"
        )
    if path.is_dir():
        raise ConfigurationError(
            f"the audit log {os.fspath(path)!r} is a folder: name a file in it"
        )
    if path.exists() and not path.is_file():
        raise ConfigurationError(
            f"the audit log {os.fspath(path)!r} is a pipe or a device: name a file"
        )


def _jsonl(path: str, *, must_exist: bool) -> JsonlSink:
    from aucert_otel.audit.jsonl import JsonlSink

    _check_place(Path(path), must_exist=must_exist)
    if Path(path).is_symlink():
        raise ConfigurationError(
            f"the audit log {path!r} is a symbolic link, which is not followed: name the file itself"
        )
    return JsonlSink(path)


def _sql(url: str) -> SqlSink:
    try:
        from aucert_otel.audit.sql import SqlSink
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "sqlalchemy":
            raise
        raise MissingExtraError("an audit log in a database", "sql") from error
    return SqlSink(url)
