"""The command line as a user runs it: a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


ROOT = Path(__file__).parents[2]


def environment(**changes: str) -> dict[str, str]:
    """A child's environment: this checkout's packages, 80 columns, no OTLP endpoint."""
    paths = os.pathsep.join(str(ROOT / part) for part in (".", "verifiers", "integrations"))
    kept = {key: value for key, value in os.environ.items() if not key.startswith("OTEL_")}
    return {**kept, "PYTHONPATH": paths, "COLUMNS": "80", "TERM": "dumb", **changes}


def aucert(
    *arguments: str | Path, cwd: Path, stdin: bytes = b"", **changes: str
) -> subprocess.CompletedProcess[str]:
    """Run ``aucert`` to its end."""
    done = subprocess.run(
        [sys.executable, "-c", "from aucert_otel.cli import main; main()", *map(str, arguments)],
        cwd=cwd,
        env=environment(**changes),
        input=stdin,
        capture_output=True,
        timeout=120,
        check=False,
    )
    return subprocess.CompletedProcess(
        done.args, done.returncode, done.stdout.decode(), done.stderr.decode()
    )
