"""The price list that ``genai-prices`` brings along, read offline and fast.

Its own calculation takes a fifth of a millisecond. Nearly every model has flat prices, so the rates
are looked up once for a model and a day, and only tiered prices go through the library's own.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from importlib import metadata
from typing import TYPE_CHECKING, Any

from aucert_otel._safe import Guard


if TYPE_CHECKING:
    from genai_prices.data_snapshot import DataSnapshot
    from genai_prices.types import ModelInfo, Provider

_GUARD = Guard("prices")
_MTOK = Decimal(1_000_000)
_MAX_KNOWN = 1024

_RATES = ("input_mtok", "cache_read_mtok", "cache_write_mtok", "output_mtok")
# Prices by modality or by kind of output; a model with one of them is left to the library.
_OTHERS = (
    "output_reasoning_mtok",
    "input_text_mtok",
    "output_text_mtok",
    "cache_text_read_mtok",
    "cache_text_write_mtok",
)

# Where the GenAI conventions and the price list name a provider differently.
_PROVIDERS = {
    "x_ai": "x-ai",
    "mistral_ai": "mistral",
    "moonshot_ai": "moonshotai",
    "azure.ai.openai": "azure",
    "az.ai.openai": "azure",
    "azure.ai.inference": "azure",
    "gcp.gemini": "google",
    "gcp.gen_ai": "google",
    "gcp.vertex_ai": "google",
    "aws.bedrock": "aws",
    "together_ai": "together",
    "fireworks_ai": "fireworks",
}


class PriceList:
    """Costs by the bundled price list. Without the extra ``prices`` every model is unknown."""

    __slots__ = ("_flat", "_snapshot", "source")

    def __init__(self) -> None:
        self._snapshot: DataSnapshot | None = None
        self._flat: dict[tuple[str, str | None, date], tuple[Decimal, ...] | ModelInfo | None] = {}
        try:
            self.source = f"genai-prices {metadata.version('genai-prices')}"
        except metadata.PackageNotFoundError:
            self.source = ""

    def as_of(self) -> date | None:
        """How new the list is at least: its last price changes that have taken effect.

        The package does not say when its data was taken. Where the application keeps it up to
        date itself, it is the day of the last update.
        """
        snapshot = self._current()
        if snapshot is None:
            return None
        return snapshot.timestamp.date() if snapshot.from_auto_update else _newest(snapshot)

    def cost(
        self, model: str, provider: str | None, when: datetime, **tokens: int
    ) -> Decimal | None:
        """US dollars for these tokens; ``None`` if the list does not know the model."""
        with _GUARD:
            return self._cost(model, provider, when, tokens)
        return None

    def _cost(
        self, model: str, provider: str | None, when: datetime, tokens: dict[str, int]
    ) -> Decimal | None:
        snapshot = self._current()
        if snapshot is None:
            return None
        key = (model, provider, when.date())  # prices change at midnight UTC
        if key not in self._flat:
            if len(self._flat) >= _MAX_KNOWN:
                self._flat.clear()
            self._flat[key] = _look_up(snapshot, model, provider, when)
        rates = self._flat[key]
        if rates is None:
            return None
        if not isinstance(rates, tuple):
            served_by, _ = _find(snapshot, model, provider)
            return _by_library(rates, served_by, when, tokens)
        plain, read, write, output = rates
        cached, written = tokens["cache_read_tokens"], tokens["cache_write_tokens"]
        return (
            (tokens["input_tokens"] - cached - written) * plain
            + cached * read
            + written * write
            + tokens["output_tokens"] * output
        ) / _MTOK

    def _current(self) -> DataSnapshot | None:
        if not self.source:
            return None
        from genai_prices.data_snapshot import get_snapshot

        snapshot = get_snapshot()
        if snapshot is not self._snapshot:  # the application updated it
            self._snapshot = snapshot
            self._flat.clear()
        return snapshot


def _look_up(
    snapshot: DataSnapshot, model: str, provider: str | None, when: datetime
) -> tuple[Decimal, ...] | ModelInfo | None:
    """Flat rates, the model itself where its prices are not flat, or ``None`` if it has none."""
    try:
        _, info = _find(snapshot, model, provider)
    except LookupError:
        return None
    prices = info.get_prices(when)
    plain, read, write, output = (getattr(prices, name, None) for name in _RATES)
    if plain is None or output is None or getattr(prices, "requests_kcount", None) is not None:
        return None  # the library would bill what has no rate, or a fee for each call, at nothing
    hours = isinstance(info.prices, list) and any(_by_the_hour(p) for p in info.prices)
    rates = (plain, plain if read is None else read, plain if write is None else write, output)
    flat = all(isinstance(rate, Decimal) for rate in rates)
    if hours or not flat or any(getattr(prices, name, None) is not None for name in _OTHERS):
        return info
    return rates


def _find(snapshot: DataSnapshot, model: str, provider: str | None) -> tuple[Provider, ModelInfo]:
    """The provider and the model by their exact names.

    Raises:
        LookupError: the list does not know them. The library itself would take any provider whose
            name contains a known one, and so bill a server of your own as somebody else's.
    """
    if provider is not None:
        provider = _PROVIDERS.get(provider.casefold(), provider.casefold())
        if not any(known.id == provider for known in snapshot.providers):
            raise LookupError(provider)
    return snapshot.find_provider_model(model, None, provider, None)


def _by_library(
    info: ModelInfo, served_by: Provider, when: datetime, tokens: dict[str, int]
) -> Decimal | None:
    from genai_prices import Usage

    usage = Usage(**tokens)
    total = info.calc_price(usage, served_by, genai_request_timestamp=when).total_price
    return total if total.is_finite() and total >= 0 else None


def _by_the_hour(conditional: Any) -> bool:
    """Whether a price holds only at some time of day."""
    return hasattr(conditional.constraint, "start_time")


_newest_of: tuple[DataSnapshot, date, date | None] | None = None


def _newest(snapshot: DataSnapshot) -> date | None:
    """The last day, not in the future, from which prices of two providers changed.

    Changes are entered ahead where a provider announces them, so that one alone proves nothing
    about how new the list is.
    """
    global _newest_of  # noqa: PLW0603 - a cache of one entry: 2,000 models take a millisecond
    today = datetime.now(UTC).date()
    if _newest_of is None or _newest_of[0] is not snapshot or _newest_of[1] != today:
        changed: dict[date, set[str]] = {}
        for provider in snapshot.providers:
            for info in provider.models:
                for price in info.prices if isinstance(info.prices, list) else ():
                    start = getattr(price.constraint, "start_date", None)
                    if start is not None and start <= today:
                        changed.setdefault(start, set()).add(provider.id)
        days = [day for day, providers in changed.items() if len(providers) > 1]
        _newest_of = (snapshot, today, max(days, default=None))
    return _newest_of[2]
