"""How what happened stands to the specification's targets.

The positive is the alarm: a check that says fail. So

- the false positive rate is the share of good answers (gold: pass) that were decided fail,
- the false negative rate is the share of bad answers (gold: fail) that were decided pass.

An answer that stays unclear is an error in neither: a person decides it. So the rates are to be read
beside the share that stays unclear.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean, stdev
from typing import Final

from aucert_otel.summary.count import Counts
from aucert_otel.summary.intervals import exact_interval


FPR_BELOW: Final = 0.05
FNR_BELOW: Final = 0.10
FIRST_STAGE_FROM: Final = 0.75
"""The specification says about 80 %; within five points of it is about."""
MEAN_USD_BELOW: Final = 0.005
P95_S_BELOW: Final = 5.0

_ENOUGH_FOR_A_MEAN: Final = 30
"""Below it, a mean of a few cheap answers says nothing about the dear ones that are rare."""
_Z: Final = 1.959964


class Met(StrEnum):
    """Whether a target is met. The rows decide it only where their interval lies on one side."""

    MET = "met"
    NOT_MET = "not met"
    NOT_ENOUGH = "not enough data"


class Unit(StrEnum):
    """What a measure is measured in."""

    SHARE = "share"
    USD = "usd"
    SECONDS = "seconds"


@dataclass(frozen=True, slots=True)
class Measure:
    """One measured quantity beside its target."""

    name: str
    meaning: str
    unit: Unit
    value: float | None
    """``None``: no row says anything about it."""
    rows: int
    """The rows it was measured on."""
    hits: int | None = None
    """For a rate: how many of them."""
    interval: tuple[float, float] | None = None
    """Where the true value lies with 95 % confidence: exact for a rate, normal for a mean."""
    target: str = ""
    met: Met | None = None
    """``None``: there is no target."""


def measures(counts: Counts) -> tuple[Measure, ...]:
    """Error rates, resolution, cost and latency, each beside its target."""
    gold = counts.gold
    good = sum(n for (said, _), n in gold.items() if said == "pass")
    bad = sum(n for (said, _), n in gold.items() if said == "fail")
    return (
        _rate("FPR", "good answers failed", gold["pass", "fail"], good, FPR_BELOW),
        _rate("FNR", "bad answers passed", gold["fail", "pass"], bad, FNR_BELOW),
        _first_stage(counts),
        _mean_cost(counts),
        *_latencies(counts.seconds),
    )


def _rate(name: str, meaning: str, hits: int, rows: int, below: float) -> Measure:
    low, high = exact_interval(hits, rows)
    return Measure(
        name,
        meaning,
        Unit.SHARE,
        hits / rows if rows else None,
        rows,
        hits,
        (low, high) if rows else None,
        f"< {below:.0%}",
        _below(low, high, below),
    )


def _below(low: float, high: float, limit: float) -> Met:
    return Met.MET if high < limit else Met.NOT_MET if low >= limit else Met.NOT_ENOUGH


def _first_stage(counts: Counts) -> Measure:
    low, high = exact_interval(counts.first_stage, counts.rows)
    met = Met.NOT_ENOUGH
    if low >= FIRST_STAGE_FROM:
        met = Met.MET
    elif high < FIRST_STAGE_FROM:
        met = Met.NOT_MET
    return Measure(
        "stage 1",
        "resolved there",
        Unit.SHARE,
        counts.first_stage / counts.rows if counts.rows else None,
        counts.rows,
        counts.first_stage,
        (low, high) if counts.rows else None,
        "~80%",
        met,
    )


def _mean_cost(counts: Counts) -> Measure:
    known = counts.usd
    mean = fmean(known) if known else None
    interval, met = None, Met.NOT_ENOUGH
    if mean is not None and len(known) >= _ENOUGH_FOR_A_MEAN:
        reach = _Z * stdev(known) / math.sqrt(len(known))
        interval = (max(0.0, mean - reach), mean + reach)
        # A row whose cost is unknown may have cost anything.
        if not counts.unpriced:
            met = _below(*interval, MEAN_USD_BELOW)
    return Measure(
        "cost",
        "mean",
        Unit.USD,
        mean,
        len(known),
        interval=interval,
        target=f"< ${MEAN_USD_BELOW:g}",
        met=met,
    )


def _latencies(seconds: Sequence[float]) -> tuple[Measure, Measure]:
    ranked = sorted(seconds)
    slow = sum(each >= P95_S_BELOW for each in ranked)
    # The 95th percentile is below a limit where fewer than one in twenty is slower than it.
    met = _below(*exact_interval(slow, len(ranked)), 0.05)
    middle, high = (_quantile(ranked, share) for share in (0.50, 0.95))
    name, rows = "latency", len(ranked)
    return (
        Measure(name, "p50", Unit.SECONDS, middle, rows),
        Measure(name, "p95", Unit.SECONDS, high, rows, target=f"< {P95_S_BELOW:g} s", met=met),
    )


def _quantile(ranked: Sequence[float], share: float) -> float | None:
    """The smallest value that at least this share of them does not pass."""
    return ranked[max(0, math.ceil(share * len(ranked)) - 1)] if ranked else None
