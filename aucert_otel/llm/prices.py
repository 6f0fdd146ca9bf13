"""What a call costs: the provider's own figure, the user's dated table, the bundled price list.

Unknown is unknown. A price that nobody knows is never 0, and a name that merely looks like a priced
model is not priced as one: deployments are mapped by hand.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TypeAlias

from aucert_otel.errors import ConfigurationError
from aucert_otel.generation import Usage
from aucert_otel.llm.pricelist import PriceList


_MTOK = Decimal(1_000_000)
_MAX_TOKENS = 10**12
"""More tokens than any call can use: such a count is a fault, not a bill."""
_AZURE = frozenset({"azure", "azure.ai.openai", "az.ai.openai", "azure.ai.inference"})
"""Providers whose model names are what a user called a deployment."""

Number: TypeAlias = int | float | str | Decimal


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens, and since when.

    Args:
        cached_input_per_mtok: For input read from the provider's cache. Without it such tokens
            cost what other input costs.
        as_of: The day from which the price holds, or on which it was looked up.

    Raises:
        ConfigurationError: a price is negative or not a number.
    """

    input_per_mtok: Number
    output_per_mtok: Number
    _: KW_ONLY
    cached_input_per_mtok: Number | None = None
    cache_write_per_mtok: Number | None = None
    as_of: date

    def __post_init__(self) -> None:
        for name in (
            "input_per_mtok",
            "output_per_mtok",
            "cached_input_per_mtok",
            "cache_write_per_mtok",
        ):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, _decimal(name, value))
        object.__setattr__(self, "as_of", _day(self.as_of))


@dataclass(frozen=True, slots=True)
class Priced:
    """What a call cost, and who says so."""

    usd: float | None
    """US dollars; ``None`` if unknown."""
    as_of: date | None = None
    """How old the price is: the row's own date, or the newest date the price list knows of."""
    source: str | None = None
    """``provider``, ``table``, or the price list's name and version."""
    unpriced: str | None = None
    """The model that could not be priced."""


class PriceBook:
    """Prices of models.

    Args:
        table: The user's own prices, by model. Several for one model are told apart by ``as_of``:
            the newest one that is not newer than the call counts.
        deployments: What a deployment, alias or fine-tune really runs, by the name that is sent:
            ``{"prod-judge": "gpt-5.1"}``. A ``provider/`` in front names the price list's provider.
        bundled: Use the price list of ``genai-prices`` (extra ``prices``) where the table has no
            row. It is read from the installed package; nothing is fetched.

    Raises:
        ConfigurationError: a row of the table is not a price, or a model has none.
    """

    def __init__(
        self,
        table: Mapping[str, Price | Iterable[Price]] | None = None,
        *,
        deployments: Mapping[str, str] | None = None,
        bundled: bool = True,
    ) -> None:
        self._table = {_fold(model): _rows(model, rows) for model, rows in (table or {}).items()}
        self._deployments = {_fold(name): model for name, model in (deployments or {}).items()}
        self._list = PriceList() if bundled else None

    def price(
        self,
        usage: Usage | None,
        model: str,
        provider: str | None = None,
        when: date | datetime | None = None,
        *,
        cache_write_tokens: int = 0,
    ) -> Priced:
        """Price one call.

        Args:
            usage: Its tokens. Cached and reasoning tokens are part of input and output.
            model: The name that was sent.
            provider: Who served it.
            when: When it was made; default: now.
            cache_write_tokens: Input tokens, also counted in ``usage``, that the provider wrote to
                its cache at a price of their own.
        """
        moment = _moment(when)
        if usage is not None and _is_amount(usage.cost_usd):
            return Priced(usage.cost_usd, moment.date(), "provider")
        tokens = None if usage is None else _Tokens.read(usage, cache_write_tokens)
        found = None
        if tokens is not None:
            runs = self._deployments.get(_fold(model))
            found = self._by_table(tokens, model, runs, moment) or self._by_list(
                tokens, model, runs, provider, moment
            )
        return found or Priced(None, unpriced=model)

    def _by_table(
        self, tokens: _Tokens, model: str, runs: str | None, when: datetime
    ) -> Priced | None:
        for name in (model, runs, None if runs is None else runs.rpartition("/")[2]):
            row = None if name is None else self._row(name, when.date())
            if row is not None:
                return Priced(tokens.at(row), row.as_of, "table")
        return None

    def _by_list(
        self, tokens: _Tokens, model: str, runs: str | None, provider: str | None, when: datetime
    ) -> Priced | None:
        if self._list is None or (runs is None and (provider or "").casefold() in _AZURE):
            return None
        if runs is not None:
            prefix, slash, rest = runs.partition("/")
            provider, model = (prefix, rest) if slash else (provider, runs)
        usd = self._list.cost(
            model,
            provider,
            when,
            input_tokens=tokens.input,
            output_tokens=tokens.output,
            cache_read_tokens=tokens.cached,
            cache_write_tokens=tokens.written,
            output_reasoning_tokens=tokens.reasoning,
        )
        return None if usd is None else Priced(float(usd), self._list.as_of(), self._list.source)

    def _row(self, model: str, day: date) -> Price | None:
        rows = self._table.get(_fold(model))
        if rows is None:
            return None
        # A call older than every row is priced by the oldest: the user has no other figure.
        return next((row for row in reversed(rows) if row.as_of <= day), rows[0])


@dataclass(frozen=True, slots=True)
class _Tokens:
    """Token counts that can be billed."""

    input: int
    output: int
    cached: int
    written: int
    reasoning: int

    @classmethod
    def read(cls, usage: Usage, written: int) -> _Tokens | None:
        """The counts, or ``None`` where one is missing, impossible, or greater than its whole."""
        whole = (_count(usage.input_tokens), _count(usage.output_tokens))
        parts = [
            0 if part is None else _count(part)
            for part in (usage.cached_input_tokens, written, usage.reasoning_tokens)
        ]
        if None in whole or None in parts:
            return None
        tokens = cls(*whole, *parts)  # type: ignore[arg-type] # None was ruled out above
        if tokens.cached + tokens.written > tokens.input or tokens.reasoning > tokens.output:
            return None
        return tokens

    def at(self, price: Price) -> float:
        """What they cost; computed exactly and rounded once."""
        cached = price.cached_input_per_mtok
        written = price.cache_write_per_mtok
        plain = self.input - self.cached - self.written
        total = (
            plain * Decimal(price.input_per_mtok)
            + self.cached * Decimal(price.input_per_mtok if cached is None else cached)
            + self.written * Decimal(price.input_per_mtok if written is None else written)
            + self.output * Decimal(price.output_per_mtok)
        )
        return float(total / _MTOK)


def _count(value: object) -> int | None:
    """A token count as it can be billed; ``None`` for NaN, negative, fractional and absurd ones."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if not math.isfinite(value) or not 0 <= value <= _MAX_TOKENS or value != int(value):
        return None
    return int(value)


def _is_amount(value: object) -> bool:
    return (
        isinstance(value, (int, float))
        and not isinstance(value, bool)
        and math.isfinite(value)
        and value >= 0
    )


def _fold(name: str) -> str:
    return name.strip().casefold()


def _rows(model: str, rows: Price | Iterable[Price]) -> tuple[Price, ...]:
    found = (rows,) if isinstance(rows, Price) else tuple(rows)
    for row in found:
        if not isinstance(row, Price):
            raise ConfigurationError(
                f"prices[{model!r}] has a {type(row).__name__}: give a Price(input_per_mtok, "
                "output_per_mtok, as_of=date)"
            )
    if not found:
        raise ConfigurationError(
            f"prices[{model!r}] is empty: give a Price, or leave the model out"
        )
    return tuple(sorted(found, key=lambda row: row.as_of))


def _decimal(name: str, value: object) -> Decimal:
    try:
        amount = Decimal(str(value)) if not isinstance(value, bool) else Decimal("NaN")
    except ArithmeticError:
        amount = Decimal("NaN")
    if not amount.is_finite() or amount < 0:
        raise ConfigurationError(
            f"price.{name} is {value!r}: give US dollars for a million tokens, from 0 up"
        )
    return amount


def _day(value: object) -> date:
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    try:
        return date.fromisoformat(str(value))
    except ValueError:
        raise ConfigurationError(
            f"price.as_of is {value!r}: give a day such as 2026-04-01"
        ) from None


def _moment(when: date | datetime | None) -> datetime:
    if when is None:
        return datetime.now(UTC)
    if isinstance(when, datetime):
        return when.astimezone(UTC) if when.tzinfo is not None else when.replace(tzinfo=UTC)
    return datetime(when.year, when.month, when.day, tzinfo=UTC)
