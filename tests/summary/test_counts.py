"""From records to counts, and from counts to the targets."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aucert_otel.summary import Checked, Counts, Measure, Met, measures


def record(
    decision: str = "pass",
    costs: tuple[float | None, ...] = (0.001,),
    seconds: float = 1.0,
    **more: Any,
) -> dict[str, Any]:
    stages = [
        {"stage": f"s{number}", "status": "ok", "cost_usd": usd, "calls": 1}
        for number, usd in enumerate(costs, 1)
    ]
    known = [usd for usd in costs if usd is not None]
    return {
        "cascade": "c",
        "decision": decision,
        "stage_reached": len(costs),
        "stages": stages,
        "cost_usd": sum(known) if len(known) == len(costs) else None,
        "latency_ms": seconds * 1000,
        **more,
    }


def counted(*records: dict[str, Any], gold: str | None = None) -> Counts:
    counts = Counts()
    for each in records:
        counts.add(Checked.of(each), gold)
    return counts


def measured(counts: Counts, name: str, meaning: str | None = None) -> Measure:
    (found,) = [
        each for each in measures(counts) if each.name == name and meaning in (None, each.meaning)
    ]
    return found


def test_a_stage_s_cost_is_that_of_the_tests_that_reached_it() -> None:
    counts = counted(
        *[record()] * 3,
        record(costs=(0.001, 0.004)),
        record("unclear", (0.001, 0.002)),
    )
    (table,) = counts.stage_tables(1000)
    first, second = table.lines
    assert (first.reached, first.resolved, first.usd) == (1.0, 0.6, pytest.approx(0.001))
    assert (second.reached, second.resolved, second.usd) == (0.4, 0.2, pytest.approx(0.003))
    assert table.unresolved == pytest.approx(0.2)
    assert table.monthly_usd == pytest.approx(30_000 * 0.011 / 5)


def test_a_stage_the_budget_kept_from_beginning_was_not_reached() -> None:
    over = record("unclear")
    over["stages"].append({"stage": "s2", "status": "over_budget", "cost_usd": 0.0, "calls": 0})
    (table,) = counted(over).stage_tables(1000)
    assert [line.reached for line in table.lines] == [1, 0]


def test_a_stage_that_nobody_reached_has_its_line() -> None:
    (table,) = counted(record()).stage_tables(1000, {"c": ("s1", "s2")})
    assert [(line.stage, line.reached, line.usd) for line in table.lines] == [
        ("s1", 1, 0.001),
        ("s2", 0, None),
    ]


def test_a_run_without_a_known_cost_is_counted_and_is_not_zero() -> None:
    counts = counted(record(), record(costs=(None,)))
    (table,) = counts.stage_tables(1000)
    assert (table.unpriced, table.lines[0].usd) == (1, 0.001)
    assert (counts.unpriced, measured(counts, "cost").rows) == (1, 1)


def test_a_false_positive_is_a_good_answer_failed() -> None:
    counts = counted(*[record("fail")] * 2, *[record()] * 6, record("unclear"), gold="pass")
    for each in ("pass", "fail", "fail", "unclear"):
        counts.add(Checked.of(record(each)), "fail")
    fpr, fnr = measured(counts, "FPR"), measured(counts, "FNR")
    assert (fpr.hits, fpr.rows) == (2, 9)
    assert (fnr.hits, fnr.rows) == (1, 4)


@pytest.mark.parametrize(
    ("failed", "rows", "met"),
    [
        (0, 100, Met.MET),  # at most 3.6 %
        (0, 50, Met.NOT_ENOUGH),  # at most 7.1 %
        (5, 100, Met.NOT_ENOUGH),
        (20, 100, Met.NOT_MET),  # at least 12.7 %
        (0, 0, Met.NOT_ENOUGH),
    ],
)
def test_a_rate_is_decided_where_its_interval_lies_on_one_side(
    failed: int, rows: int, met: Met
) -> None:
    counts = counted(*[record("fail")] * failed, *[record()] * (rows - failed), gold="pass")
    assert measured(counts, "FPR").met is met


@pytest.mark.parametrize(
    ("settled", "met"), [(100, Met.MET), (75, Met.NOT_ENOUGH), (50, Met.NOT_MET)]
)
def test_about_80_percent_is_within_five_points_of_it(settled: int, met: Met) -> None:
    later = record(costs=(0.001, 0.003))
    counts = counted(*[record()] * settled, *[later] * (100 - settled))
    assert measured(counts, "stage 1").met is met


def test_a_mean_cost_needs_rows_whose_cost_is_known() -> None:
    few = counted(*[record()] * 29)
    many = counted(*[record()] * 30)
    dear = counted(*[record(costs=(0.05,))] * 30)
    unknown = counted(*[record()] * 30, record(costs=(None,)))
    found = [measured(each, "cost").met for each in (few, many, dear, unknown)]
    assert found == [Met.NOT_ENOUGH, Met.MET, Met.NOT_MET, Met.NOT_ENOUGH]


@pytest.mark.parametrize(
    ("fast", "slow", "met"),
    [(72, 0, Met.MET), (71, 0, Met.NOT_ENOUGH), (95, 5, Met.NOT_ENOUGH), (80, 20, Met.NOT_MET)],
)
def test_a_95th_percentile_is_decided_by_how_many_are_slower(
    fast: int, slow: int, met: Met
) -> None:
    counts = counted(*[record(seconds=1)] * fast, *[record(seconds=6)] * slow)
    found = measured(counts, "latency", "p95")
    assert found.met is met
    assert found.value == (6 if slow > 5 else 1)
    assert measured(counts, "latency", "p50").value == 1


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
fields = st.sampled_from(
    ["cascade", "decision", "stage_reached", "stages", "cost_usd", "latency_ms", "x"]
)


@given(st.lists(st.dictionaries(fields, json_values), max_size=4))
def test_any_record_is_counted(records: list[dict[str, Any]]) -> None:
    counts = counted(*records)
    assert counts.rows == len(records)
    for table in counts.stage_tables(1000):
        for line in table.lines:
            assert 0 <= line.resolved <= 1
            assert 0 <= line.reached <= 1
    assert len(measures(counts)) == 6
