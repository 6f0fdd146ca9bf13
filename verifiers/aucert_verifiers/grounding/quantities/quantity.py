"""A quantity in a sentence: how much, of what, and what it is about."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from enum import StrEnum


class Dimension(StrEnum):
    """What kind of thing a number measures. Numbers of two kinds are never compared."""

    COUNT = "count"
    MONEY = "money"
    PERCENT = "percent"
    DURATION = "duration"
    DATE = "date"
    WEEKDAY = "weekday"
    TIME = "time"
    ORDINAL = "ordinal"
    MEASURE = "measure"


class Comparator(StrEnum):
    """How a number bounds what it is about. ``EXACTLY`` also stands for a number on its own."""

    EXACTLY = "exactly"
    AT_LEAST = "at_least"
    AT_MOST = "at_most"
    MORE_THAN = "more_than"
    LESS_THAN = "less_than"
    ABOUT = "about"


@dataclass(frozen=True, slots=True)
class Role:
    """What a number is about. Words are folded: stemmed, with synonyms as one word."""

    words: frozenset[str] = frozenset()
    """What tells this number's subject from others: ``damage``, ``suite``."""
    generic: frozenset[str] = frozenset()
    """Words that go with many subjects, such as ``request`` or ``fee``. They count for less."""
    conditions: frozenset[str] = frozenset()
    """Those of ``words`` that only limit where it applies: "on weekends", "for suites"."""
    anchor: frozenset[str] = frozenset()
    """From when a time counts: ``deliver`` in "within 48 hours of delivery"."""
    before: bool | None = None
    """The time lies before the anchor, or after it; ``None`` where nothing says."""
    negated: bool = False
    """The clause denies: "is not refunded within 30 days"."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """One number, or a range, with its unit and its role.

    Durations are in seconds, or in months where they are said in months or years, as ages are. Money is in its
    currency, a date in days since the year 1 (or its month and day), a time of day in minutes.
    """

    text: str
    """As the sentence writes it, comparator excluded."""
    start: int
    end: int
    _: KW_ONLY
    dimension: Dimension
    low: float
    high: float
    """The same as ``low`` unless it is a range."""
    unit: str = ""
    """``seconds``, ``months``, ``business-day`` (in seconds), ``age``, ``usd``, ``kg``, or the folded noun that is counted."""
    per: str = ""
    """For a rate: the folded word after "per" or "each"."""
    comparator: Comparator = Comparator.EXACTLY
    spread: float = 0.0
    """How far off it can be without being another quantity: a business day is no fixed time."""
    uncertain: bool = False
    """It can be read as another number: "03/04/2026", "1.000"."""
    role: Role = field(default_factory=Role)

    @property
    def is_range(self) -> bool:
        """It has two ends: "3 to 5 days"."""
        return self.high > self.low


class RelationKind(StrEnum):
    """How a sentence's numbers stand to a claim's."""

    CONTRADICTS = "contradicts"
    """About the same thing they say another number."""
    SUPPORTS = "supports"
    """Every number of the claim is there, about the same thing. It speaks for the numbers only."""
    UNRELATED = "unrelated"
    """There is no number, or none about the same thing."""
    UNKNOWN = "unknown"
    """They are about the same thing, or may be, and cannot be compared."""


@dataclass(frozen=True, slots=True)
class Relation:
    """How the numbers of one sentence stand to those of one claim."""

    kind: RelationKind
    claim: str
    """The claim, as it was given."""
    sentence: str
    """The sentence that decides, as it was given."""
    _: KW_ONLY
    ours: Quantity | None = None
    """The claim's number that decides."""
    theirs: Quantity | None = None
    """The sentence's number that decides."""
    match: float = 0.0
    """How well the two roles fit, in [0, 1]."""
    agreeing: int = 0
    """How many of the claim's numbers the sentence has, about the same thing."""
    beyond: frozenset[str] = frozenset()
    """Folded words of the claim that the sentence does not say. Where there are many, the claim says
    more than its numbers, and agreement of the numbers settles little."""
    why: str = ""
    """One sentence. It quotes both texts, so it is treated as content."""
