"""How close a thousand verifications at once come to the time that their judges alone need.

``python benchmarks/throughput.py`` prints the table; ``--write`` also writes throughput.md beside
this file, ``--check`` exits with 1 where a target is missed. No network and no key.

Every judge answers after 200 ms, and does nothing meanwhile. So the ideal time is a matter of
arithmetic, and what is measured beyond it is ours.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import heapq
import re
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import delayed_server
from counted import Counted
from throughput_report import Size, report

from aucert_otel import Cascade, Gate, Generation, Harness, Outcome, Stage
from aucert_otel.llm import ChatModel, ChatRequest, OpenAIChat, PriceBook, ReplayModel
from aucert_verifiers.stages import (
    WORDINGS,
    CrossModelVote,
    Debate,
    SelfConfidence,
    SelfConsistency,
)


DELAY_S = 0.2
ROWS = 1_000
CONCURRENCY = 256
SHARES = (0.80, 0.15, 0.04, 0.01)
"""Of the rows, settled at stage 1, 2, 3 and 4."""
CALLS = (1, 1 + 3, 1 + 3 + 3, 1 + 3 + 3 + 7)
STEPS = (1, 2, 3, 6)
"""Calls that can only follow one another: a stage's judges are asked at the same time, and a debate
takes two rounds of arguments and then the rulings."""
TARGETS = {"async": 1.15, "sync": 1.25}
HERE = Path(__file__).parent

Drive = Callable[[Harness, Sequence[Generation]], list[Outcome]]


def settles_at(rows: int, shares: Sequence[float]) -> list[int]:
    """The stage at which each row settles, spread evenly, so that no order is a lucky one."""
    found = []
    given = [0] * len(shares)
    for row in range(1, rows + 1):
        # Whichever stage lags most behind its share; an early row is never of a rare kind.
        behind = [share * row - n for share, n in zip(shares, given, strict=True)]
        stage = behind.index(max(behind))
        given[stage] += 1
        found.append(stage + 1)
    return found


def ideal_s(durations: Sequence[float], places: int) -> float:
    """When the last row ends if each takes the first place that is free, and nothing takes time.

    The rows keep their order, as they do when they are measured.
    """
    free = [0.0] * min(places, len(durations))
    for duration in durations:
        heapq.heapreplace(free, free[0] + duration)
    return max(free)


class Bench:
    """What every judge says. Which row it is about stands in the answer under test."""

    def __init__(self, stages: Sequence[int]) -> None:
        self.stages = stages

    async def __call__(self, request: ChatRequest) -> str:
        """Answer after the delay."""
        await asyncio.sleep(DELAY_S)
        return self.say(request.messages[0].content, request.messages[-1].content)

    def say(self, system: str, shown: str) -> str:
        """The reply by which a row settles at the stage it is meant to."""
        if system.startswith(("You are the prosecutor", "You are the defender")):
            return "The second sentence says so."
        found = re.search(r"row (\d+) of", shown)
        assert found is not None
        stage = self.stages[int(found[1])]
        if "holds a debate" in system or stage == 1:
            return _verdict("pass", 98)
        # Stage 1 asks in the first wording, stage 2 in the three others, stage 3 in the first two.
        wording = next(i for i, each in enumerate(WORDINGS) if each.task in system)
        if stage == 4 and wording == 0:
            return _verdict("unclear", 80)
        return _verdict("fail" if stage > 2 and wording == 2 else "pass", 80)


def _verdict(said: str, confidence: int) -> str:
    return (
        f'{{"reasoning": "The second sentence says so.", "verdict": "{said}", '
        f'"confidence": {confidence}}}'
    )


def cascade(fast: ChatModel, strong: ChatModel, stages: int) -> Cascade:
    """The specification's cascade, or its first stage alone."""
    gate = Gate(pass_at=0.95, fail_at=0.95)
    whole = [
        Stage(SelfConfidence(fast), gate=gate),
        Stage(SelfConsistency(fast)),
        Stage(CrossModelVote([fast, strong, strong])),
        Stage(Debate(fast, strong)),
    ]
    return Cascade("throughput", whole[:stages])


def in_tasks(harness: Harness, rows: Sequence[Generation]) -> list[Outcome]:
    """The asynchronous API, from an event loop of the caller's own."""

    async def run() -> list[Outcome]:
        waiting = iter(rows)
        done: list[Outcome] = []

        async def place() -> None:
            done.extend([await harness.averify(row) for row in waiting])

        await asyncio.gather(*[place() for _ in range(CONCURRENCY)])
        return done

    return asyncio.run(run())


def in_threads(harness: Harness, rows: Sequence[Generation]) -> list[Outcome]:
    """The synchronous API, from as many threads as there are places."""
    with ThreadPoolExecutor(CONCURRENCY) as pool:
        return list(pool.map(harness.verify, rows))


def asleep(_: Harness, rows: Sequence[Generation]) -> list[Outcome]:
    """Nothing but the sleeps: what this machine and the event loop make of the ideal time."""

    async def run() -> None:
        waiting = iter(settles_at(len(rows), SHARES))

        async def place() -> None:
            for stage in waiting:
                for _ in range(STEPS[stage - 1]):
                    await asyncio.sleep(DELAY_S)

        await asyncio.gather(*[place() for _ in range(CONCURRENCY)])

    asyncio.run(run())
    return []


@dataclass
class Case:
    """One way of running the rows, and what it took."""

    name: str
    drive: Drive
    harness: Harness
    stages: Sequence[int]
    counted: Counted | None
    """What counts the spans, where there are any."""
    target: float | None = None
    wall_s: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)

    @property
    def ideal_s(self) -> float:
        """The time that the calls alone need."""
        return ideal_s([STEPS[stage - 1] * DELAY_S for stage in self.stages], CONCURRENCY)

    @property
    def calls(self) -> int:
        """How many there are."""
        return sum(CALLS[stage - 1] for stage in self.stages)

    @property
    def ratio(self) -> float:
        """The median over the ideal."""
        return statistics.median(self.wall_s) / self.ideal_s

    def run(self) -> None:
        """Verify every row once, and make sure that it was what was planned."""
        rows = [
            Generation(f"This is row {i} of a test. The button is shown.", question="Is it shown?")
            for i in range(len(self.stages))
        ]
        gc.collect()
        gc.freeze()  # modules and fixtures are not what is measured
        cpu, wall = time.process_time(), time.perf_counter()
        outcomes = self.drive(self.harness, rows)
        self.wall_s.append(time.perf_counter() - wall)
        self.cpu_s.append(time.process_time() - cpu)
        if self.drive is asleep:
            return
        reached = Counter(len(outcome.report.stages) for outcome in outcomes)
        assert reached == Counter(self.stages), reached
        assert all(outcome.shipped for outcome in outcomes)
        made = sum(stage.calls for outcome in outcomes for stage in outcome.report.stages)
        assert made == self.calls, made
        if self.counted is not None:  # every row, stage and call must have had its span
            planned = len(self.stages) + sum(self.stages) + self.calls
            assert self.counted.take() == planned


def cases(url: str, counted: Counted | None) -> Iterator[Case]:
    """Everything that is measured, with or without OpenTelemetry's SDK."""
    traced = "" if counted is None else ", traced"
    spread, alone = settles_at(ROWS, SHARES), [1] * ROWS

    def scripted(stages: Sequence[int]) -> list[ChatModel]:
        return [ReplayModel(Bench(stages), name=name) for name in ("fast", "strong")]

    harness = Harness(cascade(*scripted(spread), 4))
    if counted is None:
        yield Case("nothing but the sleeps", asleep, harness, spread, None)
    free = PriceBook(bundled=False)
    served = [
        OpenAIChat(name, name=name, base_url=url, prices=free, concurrency=4 * CONCURRENCY)
        for name in ("fast", "strong")
    ]
    for mode, drive in (("async", in_tasks), ("sync", in_threads)):
        for what, models, stages in (
            ("four stages", scripted(spread), spread),
            ("one call", scripted(alone), alone),
        ):
            harness = Harness(cascade(models[0], models[1], max(stages)))
            # The targets are about a run in which most of the time goes to the calls.
            target = TARGETS[mode] if stages is spread else None
            yield Case(f"{mode}, {what}{traced}", drive, harness, stages, counted, target)
        harness = Harness(cascade(*served, 4))
        yield Case(f"{mode}, four stages over HTTP{traced}", drive, harness, spread, counted)


def measured(found: list[Case], rounds: int) -> list[Case]:
    """Run the cases in turns."""
    for turn in range(rounds + 1):
        for case in found:
            case.run()
            if turn == 0:  # imports, connections and threads' stacks
                case.wall_s.clear()
                case.cpu_s.clear()
    return found


def main() -> int:
    """Measure, print, and say whether the targets are met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="only cases whose name contains this")
    parser.add_argument("--no-http", action="store_true", help="leave the rows over HTTP out")
    parser.add_argument("--write", action="store_true", help="write throughput.md")
    parser.add_argument("--check", action="store_true", help="exit 1 where a target is missed")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        bench = Bench(settles_at(ROWS, SHARES))
        asyncio.run(delayed_server.serve(bench.say, DELAY_S))
        return 0
    with delayed_server.running(__file__, "--serve") as url:

        def chosen(counted: Counted | None) -> list[Case]:
            return [
                case
                for case in cases(url, counted)
                if given.only in case.name and not (given.no_http and "HTTP" in case.name)
            ]

        found = measured(chosen(None), given.rounds)
        counted = Counted()
        counted.provide()  # from here on whatever is verified is traced
        found += measured(chosen(counted), given.rounds)
    size = Size(ROWS, CONCURRENCY, DELAY_S, SHARES, given.rounds)
    text = report(found, size)
    print(text)
    if given.write:
        (HERE / "throughput.md").write_text(text)
    missed = [case.name for case in found if case.target is not None and case.ratio > case.target]
    print("missed: " + ", ".join(missed) if missed else "all targets met")
    return int(given.check and bool(missed))


if __name__ == "__main__":
    sys.exit(main())
