"""What throughput.py measured, as a table with what it means."""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from throughput import Case


@dataclass(frozen=True)
class Size:
    """What was run."""

    rows: int
    concurrency: int
    delay_s: float
    shares: Sequence[float]
    rounds: int


def report(found: Sequence[Case], size: Size) -> str:
    """The table, and how it came about."""
    lines = [
        "| | ideal | median | range | ratio | target | processor |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for case in found:
        target = "" if case.target is None else f"{case.target:.2f}"
        lines.append(
            f"| {case.name} | {case.ideal_s:.2f} s | {statistics.median(case.wall_s):.2f} s "
            f"| {min(case.wall_s):.2f} to {max(case.wall_s):.2f} s | {case.ratio:.2f} | {target} "
            f"| {statistics.median(case.cpu_s):.2f} s |"
        )
    return TEXT.format(
        rows=size.rows,
        concurrency=size.concurrency,
        delay=round(size.delay_s * 1000),
        shares="/".join(f"{share * 100:.0f}" for share in size.shares),
        calls=found[0].calls,
        rounds=size.rounds,
        table="\n".join(lines),
        day=datetime.now(UTC).date(),
        python=platform.python_version(),
        cores=os.cpu_count(),
    )


TEXT = """\
# Throughput

Written by `python benchmarks/throughput.py --write` on {day}: Python {python}, {cores} cores, median of
{rounds} rounds in which the rows of the table take turns.

{rows:,} rows, {concurrency} at the same time, every judge a scripted one that answers after {delay} ms.
Of the rows {shares} % settle at stage 1, 2, 3 and 4, which makes {calls:,} calls. Where a row says
**traced**, real OpenTelemetry providers hand every span, record and metric to an exporter that counts and
drops them; their own work, on the same cores, is part of what is measured.

{table}

- **ideal** is what the calls alone need: a row's calls follow one another as its stages do (1, 2, 3 or 6
  steps of {delay} ms; the judges of one stage are asked at the same time), each row begins in the order of
  the file as soon as one of the {concurrency} places is free, and nothing else takes any time.
- **nothing but the sleeps** are as many tasks that only wait, with none of our code: how near this machine
  comes to the ideal when there is no work at all.
- **one call** is stage 1 alone, for all rows: four waves of 256, each of which begins and ends as fast as one
  core works. It has no target and shows what a row costs.
- **sync** is `harness.verify` from {concurrency} threads. **async** is `harness.averify` from as many tasks
  on an event loop of the caller's own.
- **over HTTP** asks the same judges through the OpenAI-compatible client, served by another process on the
  same machine. It is for information: client, server and benchmark share the cores.
- **processor** is the whole process's time over all its threads.
"""
