"""What aucert-otel costs, side by side with nothing, with hand-written code and with its peers.

Every variant runs on the same providers, in turns, in one run; see README.md beside this file.
Prints a table and writes it to overhead.md.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from report import Rounds, render
from variants import GROUPS, PEERS


HERE = Path(__file__).resolve().parent

IMPORTS = {
    "opentelemetry.trace, pydantic": "import opentelemetry.trace, pydantic",
    # The package itself loads its rooms when they are first used, so what is timed is what users hold.
    "aucert_otel: Cascade, Harness, verified": "from aucert_otel import Cascade, Harness, verified",
}

# Every process gets the same clean start; what a peer sends home or reads from outside is off.
ENVIRONMENT = {
    **{key: value for key, value in os.environ.items() if not key.startswith("OTEL_")},
    "PYTHONHASHSEED": "0",
    "AUCERT_OTEL_RAISE": "1",
    "TRACELOOP_TELEMETRY": "false",
}


@dataclass
class Worker:
    """One group of variants in a process of its own."""

    group: str
    process: subprocess.Popen[str] = field(init=False)
    absent: str | None = None
    variants: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - lives as long as the process
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "variants.py"), self.group],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env=ENVIRONMENT,
        )

    def hello(self) -> None:
        """Wait until the group is built and proven."""
        said = self._read()
        self.absent = said.get("absent")
        self.variants = tuple(said.get("ready", ()))

    def round(self, calls: int) -> dict[str, list[tuple[float, float]]]:
        """Measure every variant of the group, slice by slice."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{calls}\n")
        self.process.stdin.flush()
        return {
            name: [(cpu, wall) for cpu, wall in slices] for name, slices in self._read().items()
        }

    def _read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            self._errors.seek(0)
            raise SystemExit(f"group {self.group} ended early:\n{self._errors.read()[-4000:]}")
        said: dict[str, Any] = json.loads(line)
        return said

    def close(self) -> None:
        """End the process and wait for it."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.process.wait()
        self._errors.close()


@contextlib.contextmanager
def started(groups: list[str]) -> Iterator[list[Worker]]:
    """A process for each group, all of them ready."""
    workers: list[Worker] = []
    try:
        for group in groups:
            worker = Worker(group)
            workers.append(worker)
            worker.hello()
        yield workers
    finally:
        for worker in workers:
            worker.close()


def import_times(rounds: int) -> dict[str, list[float]]:
    """Milliseconds of processor time for each import, each in a new interpreter, in turns."""
    found: dict[str, list[float]] = {name: [] for name in IMPORTS}
    with tempfile.TemporaryDirectory() as cache:
        # Compiling is not importing, whatever the environment says about byte code.
        environment = {**ENVIRONMENT, "PYTHONPYCACHEPREFIX": cache}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for turn in range(rounds + 1):
            for name, statement in IMPORTS.items():
                taken = _import_time(statement, environment)
                if turn:  # the first one writes the byte code
                    found[name].append(taken * 1e3)
    return found


def _import_time(statement: str, environment: dict[str, str]) -> float:
    program = f"import time; t = time.process_time(); {statement}; print(time.process_time() - t)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    return float(done.stdout)


def measured(groups: list[str], rounds: int, calls: int) -> tuple[Rounds, dict[str, str]]:
    """All rounds of all groups, and the groups that are absent with the reason."""
    found: Rounds = {}
    with started(groups) as workers:
        absent = {w.group: w.absent for w in workers if w.absent is not None}
        present = [w for w in workers if w.absent is None]
        for turn in range(rounds + 1):
            for worker in present:
                for name, value in worker.round(calls).items():
                    if turn:  # the first round warms every path up
                        found.setdefault((worker.group, name), []).append(value)
            note = "warm" if turn == 0 else f"round {turn} of {rounds}"
            print(note, file=sys.stderr, flush=True)
    return found, absent


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, prog="benchmarks/overhead.py")
    parser.add_argument("--rounds", type=int, default=15, help="rounds, of which the median counts")
    parser.add_argument("--calls", type=int, default=400, help="calls a round of every variant")
    parser.add_argument(
        "--only",
        default="",
        metavar="GROUPS",
        help=f"comma-separated, of: {', '.join(GROUPS)}, imports; nothing is written then",
    )
    parser.add_argument("--out", type=Path, default=HERE / "overhead.md", help="where to write")
    parser.add_argument("--check", action="store_true", help="exit 1 where a target is missed")
    options = parser.parse_args()
    wanted = [name.strip() for name in options.only.split(",") if name.strip()]
    if options.rounds < 1 or options.calls < 1:
        parser.error("--rounds and --calls are counts: give numbers from 1 up")
    if unknown := [name for name in wanted if name not in (*GROUPS, "imports")]:
        parser.error(f"--only {unknown[0]!r} is no group: allowed are {', '.join(GROUPS)}, imports")
    groups = [name for name in GROUPS if not wanted or name in wanted]
    found, absent = measured(groups, options.rounds, options.calls) if groups else ({}, {})
    imports = import_times(options.rounds) if not wanted or "imports" in wanted else {}
    text, missed = render(
        found,
        imports,
        {PEERS[g].distribution if g in PEERS else why: why for g, why in absent.items()},
        f"{options.rounds} rounds of {options.calls} calls",
    )
    print(text)
    if not wanted:
        options.out.write_text(text, encoding="utf-8")
    return 1 if options.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
