"""What the benchmarks state, as tests: certificates keep their word, and LLMBar comes out right."""

from __future__ import annotations

import pytest
from support.script import benchmark


@pytest.mark.slow
def test_certificates_are_violated_at_most_at_the_rate_delta_on_simulated_truth():
    certificates = benchmark("certificates")
    rates = list(certificates.rates(1_000))
    assert {rate.alpha for rate in rates} == {0.1, 0.15, 0.2}
    assert [rate for rate in rates if not rate.kept] == []
    # Otherwise the test would be passed by certifying nothing, or by truths that cannot be violated.
    assert max(rate.violated for rate in rates) > 50
    assert sum(rate.certified for rate in rates) > 10_000


def test_a_rule_that_ignored_the_bound_would_be_found_out():
    rate = benchmark("certificates").Rate("naive", 0.1, 100, 1_000, 1_000, 150, 1.0)
    assert not rate.kept


@pytest.fixture(scope="module")
def llmbar():
    return benchmark("llmbar")


def judges(llmbar, items, *names):
    known = {item.generation.test_id: item for item in items}
    return [llmbar.SameWinner(name, llmbar.replay(name, items), known) for name in names]


@pytest.mark.parametrize(
    ("names", "shipped", "right"),
    [
        # counted from the data, without any of our code
        (("GPT-4",), 195, 170),
        (("PaLM2", "GPT-4"), 206, 164),
        (("ChatGPT", "PaLM2", "GPT-4"), 209, 108),
    ],
)
def test_the_replayed_cascade_ships_what_the_record_says(llmbar, names, shipped, right):
    items = llmbar.read(llmbar.DATA, "Vanilla")
    whole = llmbar.cascade(judges(llmbar, items, *names), lambda _: llmbar.Gate())
    found = llmbar.tallies(llmbar.running(whole), items)["all"]
    assert (found.items, found.shipped, found.right) == (209, shipped, right)


def test_by_stratum_only_the_natural_half_is_certified_and_only_that_ships(llmbar):
    items = llmbar.read(llmbar.DATA, "Vanilla")
    chain = judges(llmbar, items, "ChatGPT", "PaLM2", "GPT-4")
    found = llmbar.certificates(chain, items, by=True, alpha=0.2)
    certified = [key for key, each in found.items() if each.settles]
    assert certified == [("Natural", "ChatGPT")]
    shipped = llmbar.tallies(llmbar.obeying(chain, found, by=True), items)
    assert {stratum for stratum, tally in shipped.items() if tally.shipped} == {"all", "Natural"}


def test_a_judge_that_named_no_winner_is_not_guessed(llmbar):
    items = [i for i in llmbar.read(llmbar.DATA, "Metrics") if None in i.recorded["Falcon"]]
    whole = llmbar.cascade(judges(llmbar, items, "Falcon"), lambda _: llmbar.Gate())
    assert items
    assert llmbar.tallies(llmbar.running(whole), items)["all"].shipped == 0
