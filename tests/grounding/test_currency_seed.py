"""Whether a passage may support a claim, by the specification's own June example."""

from __future__ import annotations

from datetime import date

import pytest

from aucert_otel import Generation, Passage, Reason
from aucert_verifiers.grounding.currency import Currency, Problem


JUNE = date(2026, 6, 15)
OLD = Passage(
    "Damage must be reported within 48 hours of delivery.",
    id="305",
    version="3",
    latest_version="4",
    effective_from=date(2025, 11, 1),
    source_type="policy",
)


def standings(*passages, as_of=JUNE):
    return Currency().assess(Generation("x", evidence=passages, as_of=as_of)).standings


def test_the_old_version_of_an_article_supports_nothing():
    (found,) = standings(OLD)
    assert not found.usable
    assert (found.problems, found.reason) == ((Problem.NOT_LATEST,), Reason.STALE_EVIDENCE)
    assert found.why == "it is version 3, and the latest is 4"


@pytest.mark.parametrize(
    ("passage", "problem", "reason"),
    [
        (Passage("x", superseded_by="306"), Problem.SUPERSEDED, Reason.STALE_EVIDENCE),
        (
            Passage("x", effective_from=date(2026, 7, 1)),
            Problem.NOT_YET_IN_FORCE,
            Reason.STALE_EVIDENCE,
        ),
        (Passage("x", source_type="ticket"), Problem.SOURCE_TYPE, Reason.STALE_EVIDENCE),
        (Passage("  \n"), Problem.EMPTY, Reason.NO_EVIDENCE),
    ],
)
def test_each_problem_has_its_name(passage, problem, reason):
    (found,) = standings(passage)
    assert (found.problems, found.reason) == ((problem,), reason)


def test_what_nobody_filled_in_is_recorded_and_not_assumed():
    (found,) = standings(Passage("Damage must be reported within 48 hours."))
    assert found.usable
    assert set(found.not_checked) >= {"version", "effective_from", "source_type"}


def test_two_passages_that_disagree_on_one_condition_conflict():
    new = Passage("Damage must be reported within 72 hours of delivery.", id="306")
    old = Passage(OLD.text, id="305")
    found = standings(old, new)
    assert [bool(each.conflicts) for each in found] == [True, True]
