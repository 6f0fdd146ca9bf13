"""Cost by stage: what a test pays, and what a month costs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aucert_otel.summary import (
    SPECIFIED_SHARES,
    StageShare,
    StageTable,
    assumed,
    stage_table,
)


STAGES = ("self_confidence", "self_consistency", "cross_model_vote", "debate")
SPECIFIED_USD = (0.001, 0.003, 0.01, 0.05)


def specified(tests_per_day: float = 1000) -> StageTable:
    stages = [(name, usd, True) for name, usd in zip(STAGES, SPECIFIED_USD, strict=True)]
    return assumed("app-tests", stages, tests_per_day=tests_per_day)


def test_the_specification_s_costs_come_to_78_dollars_a_month() -> None:
    """It says $52.35, since $1.35 should be $13.50 and a test pays for the stages it passed too."""
    table = specified()
    assert [line.reached for line in table.lines] == pytest.approx([1, 0.2, 0.05, 0.01])
    assert [line.cumulative_usd for line in table.lines] == pytest.approx(
        [0.001, 0.004, 0.014, 0.064]
    )
    assert [line.monthly_usd for line in table.lines] == pytest.approx([30, 18, 15, 15])
    assert table.monthly_usd == pytest.approx(78)
    assert table.average_usd == pytest.approx(0.0026)
    assert table.unresolved == pytest.approx(0)


def test_what_each_test_pays_where_it_ends_comes_to_the_same() -> None:
    paid = [line.resolved * (line.cumulative_usd or 0) for line in specified().lines]
    assert 30_000 * sum(paid) == pytest.approx(78)


shares = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=6)


@given(shares)
def test_the_average_is_the_same_by_stage_and_by_end(
    given_shares: list[tuple[float, float]],
) -> None:
    left, found = 1.0, []
    for part, usd in given_shares:
        resolved = left * part
        found.append(StageShare("s", left, resolved, usd))
        left -= resolved
    table = stage_table("c", found)
    by_end = sum(line.resolved * (line.cumulative_usd or 0.0) for line in table.lines)
    by_end += table.unresolved * (table.lines[-1].cumulative_usd or 0.0)
    assert table.average_usd == pytest.approx(by_end, abs=1e-9)
    assert table.monthly_usd == pytest.approx(30_000 * by_end, abs=1e-4)


def test_an_unknown_cost_makes_the_average_unknown_and_is_never_zero() -> None:
    table = stage_table("c", [StageShare("a", 1, 0.5, 0.001), StageShare("b", 0.5, 0.5, None)])
    assert table.lines[1].cumulative_usd is None
    assert table.lines[1].monthly_usd is None
    assert (table.average_usd, table.monthly_usd) == (None, None)


def test_a_stage_nobody_reaches_costs_nothing() -> None:
    table = stage_table("c", [StageShare("a", 1, 1, 0.001), StageShare("b", 0, 0, None)])
    assert table.average_usd == pytest.approx(0.001)


def test_the_first_stage_alone_leaves_a_fifth_to_people() -> None:
    table = assumed("mvp", [("self_confidence", 0.001, True)])
    assert table.unresolved == pytest.approx(1 - SPECIFIED_SHARES[0])


def test_a_rule_before_the_judges_is_assumed_to_settle_nothing() -> None:
    table = assumed("c", [("rules", 0.0, False), ("self_confidence", 0.001, True)])
    assert [line.resolved for line in table.lines] == [0, 0.8]
