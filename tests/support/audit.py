"""Builders for audit tests, and a child process that appends."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from aucert_otel.audit import AuditRecord, open_sink


ROOT = Path(__file__).parents[2]


def record(name: str = "t", **changes: object) -> AuditRecord:
    """A small record."""
    values: dict[str, object] = {
        "test_id": name,
        "scenario_id": None,
        "stage_reached": 1,
        "confidence_scores": (0.982,),
        "decision": "pass",
        "reasoning": "rules settled pass: 5 of 5 criteria hold",
        "cost_usd": 0.001,
        "latency_ms": 1.25,
        "timestamp": "2026-04-07T10:30:00.000Z",
        "stage": "rules",
        "action": "ship",
        "trace_id": "0af7651916cd43dd8448eb211c80319c",
        **changes,
    }
    return AuditRecord(**values)  # type: ignore[arg-type]


def child(*arguments: str, code: str | None = None, **options: object) -> subprocess.Popen[str]:
    """Start a Python that can import the package and this module."""
    paths = [ROOT, ROOT / "tests", ROOT / "verifiers", ROOT / "integrations"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))}
    command = ["-c", code] if code is not None else ["-m", "support.audit"]
    return subprocess.Popen(
        [sys.executable, *command, *arguments],
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **options,  # type: ignore[call-overload]
    )


def main(arguments: Sequence[str]) -> None:
    """Append ``times`` batches of ``size`` records; print each batch's ids once acknowledged."""
    url, name, times, size = arguments[0], arguments[1], int(arguments[2]), int(arguments[3])
    sink = open_sink(url)
    for turn in range(times):
        names = [f"{name}-{turn}-{index}" for index in range(size)]
        sink.append([record(one, reasoning="r" * 2000) for one in names])
        sys.stdout.write("\n".join(names) + "\n")
        sys.stdout.flush()
    sink.close()


if __name__ == "__main__":
    main(sys.argv[1:])
