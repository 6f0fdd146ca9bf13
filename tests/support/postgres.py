"""A real PostgreSQL server for tests: its own data folder, its own socket, gone afterwards."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


USER = "aucert"
PASSWORD = "s3cret/with@signs"  # a password that must be percent-encoded, and must never be shown


class Postgres:
    """A server on a Unix socket; it may be stopped and started again."""

    def __init__(self, binaries: Path, folder: Path) -> None:
        self.binaries = binaries
        self.folder = folder
        self.data = folder / "data"
        self._databases = 0

    def _call(self, program: str, *arguments: str) -> None:
        command = [str(self.binaries / program), *arguments]
        if os.getuid() == 0:  # the server refuses to run as root
            command = ["runuser", "-u", "postgres", "--", *command]
        done = subprocess.run(
            command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
        )
        if done.returncode:
            raise RuntimeError(f"{program} failed: {done.stdout.decode(errors='replace')}")

    def create(self) -> None:
        secret = self.folder / "password"
        secret.write_text(PASSWORD)
        if os.getuid() == 0:
            owner = pwd.getpwnam("postgres")
            for path in (self.folder, secret):
                os.chown(path, owner.pw_uid, owner.pw_gid)
        self._call(
            "initdb", "-D", str(self.data), "-U", USER, f"--pwfile={secret}",
            "--auth=scram-sha-256", "--no-sync", "--encoding=UTF8", "--locale=C",
        )  # fmt: skip

    def start(self) -> None:
        options = f"-c listen_addresses='' -c unix_socket_directories='{self.folder}' -c fsync=off"
        log = str(self.folder / "log")
        self._call(
            "pg_ctl", "-D", str(self.data), "-l", log, "-w", "-t", "60", "-o", options, "start"
        )

    def stop(self) -> None:
        self._call("pg_ctl", "-D", str(self.data), "-w", "-m", "immediate", "stop")

    def new_database(self) -> str:
        """Create an empty database and give its URL."""
        import psycopg
        from psycopg import sql

        self._databases += 1
        name = f"audit_{self._databases}"
        with psycopg.connect(
            host=str(self.folder), user=USER, password=PASSWORD, dbname="postgres", autocommit=True
        ) as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        quoted = PASSWORD.replace("/", "%2F").replace("@", "%40")
        return f"postgresql://{USER}:{quoted}@/{name}?host={self.folder}"


def _binaries() -> Path | None:
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if installed:
        return installed[-1].parent
    found = shutil.which("initdb")
    return None if found is None else Path(found).parent


@contextmanager
def running_postgres() -> Iterator[Postgres]:
    """Start a server. Without its programs the test is skipped, and fails where ``CI=true``."""
    binaries = _binaries()
    if binaries is None:
        sentence = "this test needs a PostgreSQL server: apt-get install -y postgresql"
        if os.environ.get("CI") == "true":
            pytest.fail(sentence)
        pytest.skip(sentence)
    folder = Path(tempfile.mkdtemp(prefix="aucert-pg-"))
    server = Postgres(binaries, folder)
    try:
        server.create()
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
