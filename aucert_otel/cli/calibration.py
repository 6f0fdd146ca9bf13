"""What a calibration found, as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from aucert_otel.measure import StageResult, Tested, Why, clopper_pearson
from aucert_otel.verdict import Verdict


_HEAD = ("stage", "stratum", "verdict", "arrive", "settled", "at", "cover", "error", "95% interval")


def table(results: Sequence[StageResult]) -> Iterator[str]:
    """One line for each stage, stratum and verdict: what is settled there, and if that is certified.

    Where nothing is certified, the counts are those of the threshold at which the tests ended.
    """
    lines: list[tuple[tuple[str, ...], str]] = [(_HEAD, "")]
    for result in results:
        if result.kept:
            kept = (result.stage, result.stratum or "all", "", f"{result.arrived:,}")
            lines.append(((*kept, *[""] * 5), "its gate is kept as it was"))
        for verdict, tested in result.tested.items():
            lines.append(_line(result, verdict, tested))
    columns = list(zip(*(cells for cells, _ in lines), strict=True))
    widths = [max(map(len, column)) for column in columns]
    for cells, said in lines:
        padded = [
            cell.ljust(width) if index < 3 else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        yield f"{'  '.join(padded)}  {said}".rstrip()


def _line(result: StageResult, verdict: Verdict, tested: Tested) -> tuple[tuple[str, ...], str]:
    cells: tuple[str, ...] = (
        result.stage,
        result.stratum or "all",
        verdict.value,
        f"{result.arrived:,}",
    )
    step = tested.certified or (tested.steps[0] if tested.steps else None)
    if step is None:
        return (*cells, *["-"] * 5), why(result, tested)
    interval = "-"
    if step.settled:
        low, high = clopper_pearson(step.errors, step.settled)
        interval = f"{low:.1%} to {high:.1%}"
    return (
        *cells,
        f"{step.settled:,}",
        f"{step.threshold:g}",
        f"{step.settled / result.arrived:.1%}" if result.arrived else "-",
        f"{step.errors / step.settled:.1%}" if step.settled else "-",
        interval,
    ), why(result, tested)


def why(result: StageResult, tested: Tested) -> str:
    """The outcome of one sequence of tests, in a sentence."""
    step = tested.certified
    if step is not None:
        return f"certified: at most {step.bound:.1%} wrong"
    if tested.why is Why.NOT_JUDGED:
        return (
            f"not certified: {result.not_judged:,} that would arrive were settled before it in this "
            "run; run the check with gates that settle nothing (settles: [])"
        )
    first = tested.steps[0]
    if tested.why is Why.TOO_FEW:
        return (
            f"not certified: {first.settled:,} settled at {first.threshold:g}, and at least "
            f"{tested.needed:,} are needed"
        )
    return f"not certified: up to {first.bound:.1%} wrong at {first.threshold:g}"
