"""The two tables a check ends with, as lines of text. What is in them is computed elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

from aucert_otel.cli.screen import cut, plural, usd
from aucert_otel.summary import DAYS_A_MONTH, Measure, StageTable, Unit


def by_stage(table: StageTable, title: str = "by stage") -> list[str]:
    """Cost and resolution by stage, and how the monthly cost comes about."""
    rows = [
        (
            f"  {line.number} {cut(line.stage, 24)}",
            share(line.reached),
            usd(line.usd) if line.reached or line.usd is not None else "-",
            usd(line.cumulative_usd) if line.reached or line.usd is not None else "-",
            share(line.resolved),
            usd(line.monthly_usd),
        )
        for line in table.lines
    ]
    if table.unresolved > 0.00005:
        rows.append(("  none: to a person", "", "", "", share(table.unresolved), ""))
    rows.append(("  average, and all", "", usd(table.average_usd), "", "", usd(table.monthly_usd)))
    head = (
        f"{title}, {cut(table.cascade, 24)}",
        "reached",
        "cost/test",
        "cumulative",
        "resolved",
        "monthly",
    )
    lines = _aligned([head, *rows])
    lines += [
        "  a test that reaches stage k pays for the stages 1 to k; monthly is",
        f"  {table.tests_per_day:,.15g} tests a day x {DAYS_A_MONTH} days x reached x cost/test",
    ]
    if table.unpriced:
        lines.append(
            f"  {plural(table.unpriced, 'run')} of a stage without a known cost: the others stand for "
            f"{'it' if table.unpriced == 1 else 'them'}"
        )
    return lines


def against_targets(measures: Sequence[Measure]) -> list[str]:
    """What was measured, beside the targets, and what the error rates mean."""
    head = ("against the targets", "target", "measured", "95% interval", "rows", "")
    rows = [
        (
            f"  {measure.name}, {measure.meaning}",
            measure.target,
            "-" if measure.value is None else _value(measure.value, measure.unit),
            _interval(measure),
            _rows(measure),
            measure.met or "",
        )
        for measure in measures
    ]
    return [
        *_aligned([head, *rows], left={0, 5}),
        "  FPR: of the rows with gold pass, those decided fail. FNR: of the rows with gold",
        "  fail, those decided pass. Unclear is an error in neither: a person decides.",
    ]


def _rows(measure: Measure) -> str:
    return f"{measure.rows:,}" if measure.hits is None else f"{measure.hits:,} of {measure.rows:,}"


def _interval(measure: Measure) -> str:
    if measure.interval is None:
        return "-" if measure.target else ""
    low, high = (_value(end, measure.unit) for end in measure.interval)
    return f"{low} to {high}"


def _value(value: float, unit: Unit) -> str:
    if unit is Unit.SHARE:
        return share(value)
    if unit is Unit.USD:
        return usd(value)
    return "< 0.1 s" if value < 0.1 else f"{value:,.1f} s"


def share(value: float) -> str:
    """One decimal, and more where that would read as none at all."""
    return f"{value:.1%}" if value == 0 or value >= 0.001 else f"{value:.4%}"


def _aligned(
    rows: Sequence[Sequence[str]], left: frozenset[int] | set[int] = frozenset({0})
) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if index in left else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
