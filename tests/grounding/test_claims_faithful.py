"""The free check of every split, in both directions."""

from __future__ import annotations

import pytest

from aucert_verifiers.grounding.faithful import MAX_LISTED, missing_numbers


@pytest.mark.parametrize(
    ("said", "among", "missing"),
    [
        (["within 48 hours"], ["within 48 hours"], ()),
        (["within 48 hours"], ["within two days"], ()),
        (["within two days"], ["within 48 hours"], ()),
        (["within 48 hours"], ["within forty-eight hours"], ()),
        (["within 48 hours"], ["within 72 hours"], ("48",)),
        (["within two days"], ["within 72 hours"], ("two days",)),
        (["costs $1,500"], ["costs 1.5k dollars"], ()),
        (["costs $1,500"], ["costs $1500.00"], ()),
        (["costs $15"], ["costs $1500"], ("15",)),
        (["by March 5"], ["by 5 March"], ()),
        (["by March 5"], ["by May 5"], ("March 5",)),
        (["1. Send it.\n2. Wait."], ["Send it. Wait."], ()),
        (["48時間以内"], ["48時間以内"], ()),
        (["٤٨ ساعة"], ["48 ساعة"], ()),
        (["30 days", "5 days"], ["30 days"], ("5",)),
        ([], ["30 days"], ()),
        (["no numbers"], [], ()),
    ],
)
def test_numbers_that_are_not_there_are_named(said, among, missing):
    assert missing_numbers(said, among) == missing


def test_not_more_than_a_few_are_named():
    assert len(missing_numbers([" ".join(map(str, range(100, 900)))], [""])) == MAX_LISTED
