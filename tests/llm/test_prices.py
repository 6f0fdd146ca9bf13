"""What a call costs, and who says so."""

from __future__ import annotations

from datetime import UTC, date, datetime
from fractions import Fraction

import pytest
from genai_prices import Usage as ListUsage
from genai_prices import calc_price
from hypothesis import given
from hypothesis import strategies as st

from aucert_otel.errors import ConfigurationError
from aucert_otel.generation import Usage
from aucert_otel.llm import Price, PriceBook


DAY = date(2026, 4, 1)
BOOK = PriceBook()


def test_the_seeds_stage_one_costs_what_it_says():
    book = PriceBook({"deepseek-v3.2": Price(0.27, 1.10, as_of=DAY)})

    priced = book.price(Usage(3000, 172), "deepseek-v3.2", "deepseek")

    assert priced.usd == pytest.approx(0.0009992, rel=1e-12)
    assert (priced.as_of, priced.source, priced.unpriced) == (DAY, "table", None)


def test_cached_and_reasoning_tokens_are_parts_and_never_added():
    book = PriceBook({"m": Price(10, 100, cached_input_per_mtok=1, as_of=DAY)}, bundled=False)

    assert book.price(Usage(1000, 100, 400, 90), "m").usd == pytest.approx(
        (600 * 10 + 400 * 1 + 100 * 100) / 1e6, rel=1e-15
    )


def test_without_a_rate_of_their_own_cached_tokens_cost_like_others():
    book = PriceBook({"m": Price(10, 100, as_of=DAY)}, bundled=False)

    assert book.price(Usage(1000, 100, 400), "m").usd == book.price(Usage(1000, 100), "m").usd


def test_what_is_written_to_a_cache_has_its_rate():
    book = PriceBook({"m": Price(10, 0, cache_write_per_mtok=12.5, as_of=DAY)}, bundled=False)

    assert book.price(Usage(1000, 0), "m", cache_write_tokens=400).usd == pytest.approx(0.011)


def test_the_newest_row_that_is_not_newer_than_the_call_counts():
    rows = [Price(3, 0, as_of=date(2026, 9, 1)), Price(1, 0, as_of=date(2026, 1, 1))]
    book = PriceBook({"m": rows}, bundled=False)
    usage = Usage(1_000_000, 0)

    assert book.price(usage, "m", when=date(2026, 8, 31)).usd == 1.0
    assert book.price(usage, "m", when=datetime(2026, 9, 1, tzinfo=UTC)).usd == 3.0
    assert book.price(usage, "m", when=date(2020, 1, 1)).as_of == date(2026, 1, 1)


def test_what_the_provider_says_wins():
    book = PriceBook({"m": Price(1, 1, as_of=DAY)})

    priced = book.price(Usage(10, 10, cost_usd=0.25), "m", when=DAY)

    assert (priced.usd, priced.source, priced.as_of) == (0.25, "provider", DAY)


@pytest.mark.parametrize("cost", [float("nan"), float("inf"), -1.0, True, "1"])
def test_what_the_provider_says_may_be_no_amount(cost):
    book = PriceBook({"m": Price(1, 1, as_of=DAY)})

    assert book.price(Usage(1_000_000, 0, cost_usd=cost), "m").source == "table"


@pytest.mark.parametrize(
    "usage",
    [
        None,
        Usage(),
        Usage(10),
        Usage(output_tokens=10),
        Usage(-3, 10),
        Usage(10, -1),
        Usage(float("nan"), 1),
        Usage(float("inf"), 1),
        Usage(1.5, 1),
        Usage(True, 1),
        Usage("10", 1),
        Usage(10**15, 1),
        Usage(10, 10, cached_input_tokens=11),
        Usage(10, 10, reasoning_tokens=11),
        Usage(10, 10, cached_input_tokens=-1),
    ],
)
def test_tokens_that_cannot_be_billed_are_unknown(usage):
    book = PriceBook({"m": Price(1, 1, as_of=DAY)})

    assert book.price(usage, "m").usd is None
    assert book.price(usage, "m").unpriced == "m"
    assert book.price(usage, "gpt-4o", "openai").usd is None


@pytest.mark.parametrize(
    ("model", "provider"),
    [
        ("nobody-knows", "openai"),
        ("gpt-4o", "custom"),
        ("gpt-4o", "openai-compatible"),
        ("gpt-4o", "azure.ai.openai"),
        ("prod-gpt-4o", "openai"),
        ("text-embedding-3-small", "openai"),
        ("", None),
    ],
)
def test_unknown_is_absent_and_named_and_never_nothing(model, provider):
    priced = BOOK.price(Usage(10, 10), model, provider)

    assert priced.usd is None
    assert priced.unpriced == model
    assert priced.source is None


def test_a_deployment_is_priced_as_what_it_is_mapped_to():
    book = PriceBook(
        {"own": Price(1, 1, as_of=DAY)},
        deployments={"prod": "gpt-4o", "judge": "openai/gpt-4o", "mine": "own"},
    )
    usage = Usage(1000, 100)

    assert book.price(usage, "prod", "azure.ai.openai").usd == pytest.approx(0.0035)
    assert book.price(usage, "judge", "custom").usd == pytest.approx(0.0035)
    assert book.price(usage, "Mine", "custom").source == "table"


def test_a_price_of_nothing_is_a_price():
    book = PriceBook({"local": Price(0, 0, as_of=DAY)}, bundled=False)

    assert book.price(Usage(10, 10), "local").usd == 0.0


def test_the_price_list_says_its_version_and_how_new_it_is():
    priced = BOOK.price(Usage(10, 10), "gpt-4o", "openai")

    assert priced.source is not None
    assert priced.source.startswith("genai-prices ")
    assert priced.as_of is not None
    assert date(2025, 1, 1) < priced.as_of <= datetime.now(UTC).date()


def test_without_a_list_only_the_table_knows():
    assert PriceBook(bundled=False).price(Usage(10, 10), "gpt-4o", "openai").usd is None


@pytest.mark.parametrize(
    ("provider", "ours", "model"),
    [
        ("openai", "openai", "gpt-4o"),
        ("openai", "openai", "gpt-5.1-codex"),
        ("openai", "openai", "gpt-4o-mini-2024-07-18"),
        ("deepseek", "deepseek", "deepseek-chat"),
        ("deepseek", "deepseek", "deepseek-v3.2"),
        ("anthropic", "anthropic", "claude-sonnet-4-5-20250929"),
        ("anthropic", "anthropic", "claude-3-5-haiku-latest"),
        ("google", "gcp.gemini", "gemini-2.5-pro"),
        ("mistral", "mistral_ai", "mistral-large-latest"),
        ("groq", "groq", "llama-3.1-8b-instant"),
        ("openrouter", "openrouter", "deepseek/deepseek-chat"),
        ("aws", "aws.bedrock", "anthropic.claude-3-5-sonnet-20240620-v1:0"),
    ],
)
@given(
    tokens=st.tuples(
        st.integers(0, 400_000), st.integers(0, 10_000), st.floats(0, 1), st.floats(0, 1)
    ),
    day=st.dates(date(2025, 6, 1), date(2027, 6, 1)),
)
def test_it_agrees_with_the_price_lists_own_calculation(provider, ours, model, tokens, day):
    given_in, given_out, cached, reasoning = tokens
    usage = Usage(given_in, given_out, int(given_in * cached), int(given_out * reasoning))
    when = datetime(day.year, day.month, day.day, 12, tzinfo=UTC)

    expected = calc_price(
        ListUsage(
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cache_read_tokens=usage.cached_input_tokens,
            output_reasoning_tokens=usage.reasoning_tokens,
        ),
        model,
        provider_id=provider,
        genai_request_timestamp=when,
    )

    assert BOOK.price(usage, model, ours, when).usd == float(expected.total_price)


COUNTS = st.integers(0, 10**9)
RATES = st.decimals(0, 10**4, allow_nan=False, places=6)


@given(st.tuples(COUNTS, COUNTS, COUNTS), st.tuples(RATES, RATES, RATES))
def test_the_sum_is_exact_and_rounded_once(tokens, rates):
    plain, cached, output = tokens
    rate_in, rate_cached, rate_out = rates
    price = Price(rate_in, rate_out, cached_input_per_mtok=rate_cached, as_of=DAY)
    book = PriceBook({"m": price}, bundled=False)

    usd = book.price(Usage(plain + cached, output, cached), "m").usd

    exact = (
        plain * Fraction(rate_in) + cached * Fraction(rate_cached) + output * Fraction(rate_out)
    ) / 10**6
    assert usd == pytest.approx(float(exact), rel=1e-15, abs=0)


ANYTHING = st.none() | st.integers() | st.floats() | st.booleans() | st.text(max_size=3)


@given(st.builds(Usage, *[ANYTHING] * 5), st.integers(-5, 5))
def test_whatever_usage_says_the_cost_is_an_amount_or_unknown(usage, written):
    book = PriceBook({"m": Price(1, 1, as_of=DAY)}, bundled=False)

    priced = book.price(usage, "m", cache_write_tokens=written)

    assert (priced.usd is None) == (priced.unpriced == "m")
    if priced.usd is not None:
        assert 0 <= priced.usd < float("inf")


@pytest.mark.parametrize("value", [-1, float("nan"), float("inf"), "cheap", True])
def test_a_price_that_is_none_is_refused(value):
    with pytest.raises(ConfigurationError, match=r"price\.output_per_mtok is"):
        Price(1, value, as_of=DAY)


def test_a_row_that_is_no_price_and_a_day_that_is_none_are_refused():
    with pytest.raises(ConfigurationError, match=r"prices\['m'\] has a dict"):
        PriceBook({"m": [{"input": 1}]})
    with pytest.raises(ConfigurationError, match=r"prices\['m'\] is empty"):
        PriceBook({"m": []})
    with pytest.raises(ConfigurationError, match=r"price.as_of is 'April'"):
        Price(1, 1, as_of="April")
    assert Price(1, 1, as_of="2026-04-01").as_of == DAY
