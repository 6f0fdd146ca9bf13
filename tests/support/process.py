"""A Python of its own, for what is true of a whole process: providers, exits, forks, imports."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path


ROOT = Path(__file__).parents[2]


def start(code: str, *options: str, **environment: str) -> subprocess.Popen[str]:
    """Start a Python that can import the packages and this one, with none of our OTEL_* settings."""
    paths = [ROOT, ROOT / "tests", ROOT / "verifiers", ROOT / "integrations"]
    inherited = {name: text for name, text in os.environ.items() if not name.startswith("OTEL_")}
    return subprocess.Popen(
        [sys.executable, *options, "-c", textwrap.dedent(code)],
        env=inherited | {"PYTHONPATH": os.pathsep.join(map(str, paths))} | environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def finish(process: subprocess.Popen[str], timeout: float = 60.0) -> tuple[str, str]:
    """What it printed on standard output and standard error, once it has ended without a fault."""
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        raise AssertionError(f"it did not end: {process.communicate()}") from None
    assert process.returncode == 0, err
    assert "Traceback" not in err, err
    return out, err


def run(code: str, *options: str, timeout: float = 60.0, **environment: str) -> str:
    """Run code to its end; what it printed."""
    return finish(start(code, *options, **environment), timeout)[0]
