"""The measurements as Markdown: medians, spread, and which targets are met."""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TypeAlias

from variants import PEERS, SAME_COUNT


Rounds: TypeAlias = dict[tuple[str, str], list[list[tuple[float, float]]]]
"""By group and variant: every round's slices, processor and wall time in microseconds a call."""

INTRODUCTION = (
    "Written by `python benchmarks/overhead.py`; how it is measured stands in "
    "[README.md](README.md). Microseconds a call of processor time: the median over the rounds, "
    "with its quartiles."
)
CORE_INTRODUCTION = "Five passing findings from a verifier whose own cost is nil, except where a row says real rules."

RATIO = 1.25
UNCHOSEN_US = 15.0
IMPORT_RATIO = 1.5

TARGETS = ("FakeListChatModel", "prompt|model|parser", "OpenAI client")
SHIPPED = (
    "ours: harness.verify",
    "ours: @verified",
    "ours: verified(runnable)",
    "ours: @observed",
    "ours: VerificationHandler",
)
UNCHOSEN = ("ours: submit, not chosen", "ours: @observed, not chosen")
HANDLER = "ours: VerificationHandler, not chosen"
BARE = "bare wrapt span"
GROUP_OF = {TARGETS[0]: "langchain", TARGETS[1]: "langchain", TARGETS[2]: "openai"}

PACKAGES = (
    "aucert-otel",
    "opentelemetry-sdk",
    "langchain-core",
    "openai",
    "wrapt",
    "pydantic",
    *dict.fromkeys(peer.distribution for peer in PEERS.values()),
)


@dataclass(frozen=True)
class Spread:
    """A median with its quartiles."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: list[float]) -> Spread:
        if len(values) == 1:
            return cls(values[0], values[0], values[0])
        low, median, high = statistics.quantiles(values, n=4, method="inclusive")
        return cls(median, low, high)

    def text(self, digits: int = 0) -> str:
        return f"{self.median:.{digits}f} ({self.low:.{digits}f} to {self.high:.{digits}f})"


@dataclass(frozen=True)
class Target:
    """One promise, and whether this run kept it."""

    what: str
    limit: str
    found: str
    met: bool
    tie: bool = False
    """Not met, but the quartiles of both sides overlap: this run cannot tell them apart."""


def cpu(rounds: Rounds, group: str, name: str) -> list[float]:
    """Each round's processor time."""
    return [statistics.median(c for c, _ in slices) for slices in rounds.get((group, name), [])]


def paired(
    rounds: Rounds, group: str, name: str, base: str, op: Callable[[float, float], float]
) -> Spread | None:
    """What two variants differ by, slice by slice: what slows both cancels out."""
    pairs = zip(rounds.get((group, name), []), rounds.get((group, base), []), strict=False)
    found = [
        statistics.median(op(x, y) for (x, _), (y, _) in zip(ours, theirs, strict=True))
        for ours, theirs in pairs
    ]
    return Spread.of(found) if found else None


def minus(rounds: Rounds, group: str, name: str, base: str) -> Spread | None:
    return paired(rounds, group, name, base, lambda x, y: x - y)


def ratio(rounds: Rounds, group: str, name: str, base: str) -> Spread | None:
    return paired(rounds, group, name, base, lambda x, y: x / y)


def peers_over(rounds: Rounds, target: str) -> dict[str, Spread]:
    """What each peer adds to a target, in its own process."""
    found: dict[str, Spread] = {}
    for key, peer in PEERS.items():
        over = minus(rounds, key, f"{target}: {peer.title}", f"{target}: none")
        if over is not None:
            found[peer.title] = over
    return found


def targets(rounds: Rounds, imports: dict[str, list[float]]) -> Iterator[Target]:
    """Every promise that this run can judge."""
    for ours, hand in (
        ("harness.verify", "hand-written verify"),
        ("harness.run", "hand-written run"),
    ):
        found = ratio(rounds, "core", ours, hand)
        if found is not None:
            yield Target(
                f"{ours} over {hand}", f"at most {RATIO}", found.text(2), found.median <= RATIO
            )
    unchosen = [("core", "harness.submit, not chosen", "nothing")]
    for target in TARGETS:
        group = GROUP_OF[target]
        unchosen += [(group, f"{target}: {name}", f"{target}: none") for name in UNCHOSEN]
        unchosen.append((group, f"{target}: {HANDLER}", f"{target}: no-op callback"))
    for group, name, base in unchosen:
        found = minus(rounds, group, name, base)
        if found is not None:
            yield Target(
                f"{name}, over {base.rpartition(': ')[2]}",
                f"at most {UNCHOSEN_US:.0f} µs",
                f"{found.text(1)} µs",
                found.median <= UNCHOSEN_US,
            )
    for target in TARGETS:
        for name in SHIPPED:
            over = minus(rounds, GROUP_OF[target], f"{target}: {name}", f"{target}: none")
            for peer, theirs in peers_over(rounds, target).items() if over else ():
                assert over is not None
                yield Target(
                    f"{target}: {name} below {peer}",
                    f"below {theirs.median:.0f} µs",
                    f"{over.text()} µs",
                    over.median < theirs.median,
                    tie=over.low < theirs.high,
                )
    if len(imports) == 2:
        base, ours = imports.values()
        found = Spread.of([x / y for x, y in zip(ours, base, strict=True)])
        yield Target(
            "from aucert_otel import Cascade, Harness, verified over import opentelemetry.trace, pydantic",
            f"below {IMPORT_RATIO}",
            found.text(2),
            found.median < IMPORT_RATIO,
        )


def render(
    rounds: Rounds, imports: dict[str, list[float]], absent: dict[str, str], size: str
) -> tuple[str, int]:
    """The report, and how many targets were missed."""
    judged = list(targets(rounds, imports))
    lines = [
        "# Overhead",
        "",
        INTRODUCTION,
        "",
        *_about(absent, size),
        "",
        "## Targets",
        "",
        "| Promise | Target | Found | Met |",
        "| --- | --- | --- | --- |",
        *[f"| {_cell(t.what)} | {t.limit} | {t.found} | {_met(t)} |" for t in judged],
        "",
        *_core(rounds),
        *[line for target in TARGETS for line in _target(rounds, target, absent)],
        *_imports(imports),
    ]
    missed = sum(not (each.met or each.tie) for each in judged)
    return "\n".join(lines).rstrip() + "\n", missed


def _met(target: Target) -> str:
    if target.met:
        return "yes"
    return "tie" if target.tie else "**no**"


def _about(absent: dict[str, str], size: str) -> Iterator[str]:
    yield f"- {datetime.now(UTC).date()}, {size}"
    yield f"- {_processor()}, {os.cpu_count()} cores, {platform.system()}"
    yield f"- {platform.python_implementation()} {platform.python_version()}"
    versions = [f"{name} {found}" for name in PACKAGES if (found := _version(name)) is not None]
    yield f"- {', '.join(versions)}"
    if absent:
        yield f"- not installed, so not measured: {', '.join(absent)}"


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    listing = Path("/proc/cpuinfo")
    lines = listing.read_text(encoding="utf-8").splitlines() if listing.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def _core(rounds: Rounds) -> Iterator[str]:
    names = [name for group, name in rounds if group == "core"]
    if not names:
        return
    yield from (
        "## The harness alone",
        "",
        CORE_INTRODUCTION,
        "",
        "| Call | µs | Wall clock µs | Against hand-written | Against the same count |",
        "| --- | ---: | ---: | ---: | ---: |",
    )
    for name in names:
        hand = {"harness.verify": "hand-written verify", "harness.run": "hand-written run"}.get(
            name, ""
        )
        found = [ratio(rounds, "core", name, hand + how) for how in ("", SAME_COUNT) if hand]
        against = [each.text(2) for each in found if each] or ["", ""]
        yield _row(rounds, "core", name, name, " | ".join(against))
    yield ""


def _target(rounds: Rounds, target: str, absent: dict[str, str]) -> Iterator[str]:
    group = GROUP_OF[target]
    prefix = f"{target}: "
    names = [name for found, name in rounds if found == group and name.startswith(prefix)]
    peers = {
        key: peer
        for key, peer in PEERS.items()
        if peer.library == group and (names or (key, f"{prefix}{peer.title}") in rounds)
    }
    if not names and not peers:
        return
    yield from (
        f"## {_cell(target)}",
        "",
        "| Variant | µs | Wall clock µs | Over none |",
        "| --- | ---: | ---: | ---: |",
    )
    for name in names:
        over = minus(rounds, group, name, f"{prefix}none")
        shown = "" if name.endswith(": none") or over is None else over.text()
        yield _row(rounds, group, name, name.removeprefix(prefix), shown)
    if names and f"{prefix}{BARE}" not in names:
        yield f"| {BARE} | not installed | | |"
    for key, peer in peers.items():
        if peer.distribution in absent:
            yield f"| {peer.title} | not installed | | |"
            continue
        over = minus(rounds, key, f"{prefix}{peer.title}", f"{prefix}none")
        if over is not None:
            yield _row(rounds, key, f"{prefix}{peer.title}", peer.title, over.text())
    yield ""


def _row(rounds: Rounds, group: str, name: str, shown: str, last: str) -> str:
    found = Spread.of(cpu(rounds, group, name))
    wall = statistics.median(wall for slices in rounds[group, name] for _, wall in slices)
    digits = 0 if found.median >= 20 else 1
    return f"| {_cell(shown)} | {found.text(digits)} | {wall:.{digits}f} | {last} |"


def _imports(imports: dict[str, list[float]]) -> Iterator[str]:
    if not imports:
        return
    yield from ("## Import", "", "| Import | ms |", "| --- | ---: |")
    for name, values in imports.items():
        yield f"| {name} | {Spread.of(values).text(0)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
