"""What the caller gets back: the output to use, the one action, and everything behind it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, TypeAlias, TypeGuard

from opentelemetry.trace import SpanContext, format_span_id, format_trace_id

from aucert_otel.action import Action, Decision
from aucert_otel.costs import Costs
from aucert_otel.errors import ConfigurationError, HandedToPerson
from aucert_otel.generation import Generation
from aucert_otel.repair import RepairRecord, RepairRequest
from aucert_otel.report import Report


@dataclass(frozen=True, slots=True)
class Draft:
    """An answer and what was found about it."""

    generation: Generation
    report: Report


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one call of the harness.

    Args:
        generation: The last draft.
        report: What was found about it.
        first: After a repair or an escalation, the first draft and its report.
        repair: After a repair, what it was meant to mend and whether it did.
        request: What to send the generator, where the action is `Action.REPAIR` and the caller
            makes the repair (`Harness.verify`).
        costs: US dollars over every round.
    """

    generation: Generation
    report: Report
    decision: Decision
    _: KW_ONLY
    first: Draft | None = None
    repair: RepairRecord | None = None
    request: RepairRequest | None = None
    costs: Costs = field(default_factory=Costs)
    span_context: SpanContext | None = field(default=None, repr=False)
    """The verify span of the last round; ``None`` where nothing is traced."""

    @property
    def trace_id(self) -> str | None:
        """The trace the verdict is on, as 32 hex digits."""
        return None if self.span_context is None else format_trace_id(self.span_context.trace_id)

    @property
    def span_id(self) -> str | None:
        """The verify span, as 16 hex digits."""
        return None if self.span_context is None else format_span_id(self.span_context.span_id)

    @property
    def action(self) -> Action:
        """The one thing to do about the answer."""
        return self.decision.action

    @property
    def shipped(self) -> bool:
        """Whether the answer may be used."""
        return self.decision.action is Action.SHIP

    @property
    def output(self) -> Any:
        """The answer to use: the native object if there was one, else the text.

        ``None`` unless the action is ship, so that a rejected draft is not used by mistake; it
        stays in ``generation``.
        """
        return self.generation.value if self.shipped else None

    @property
    def drafts(self) -> tuple[Draft, ...]:
        """Every draft with its report, in order."""
        last = Draft(self.generation, self.report)
        if self.first is None or self.first.generation is self.generation:
            return (last,)  # no second draft: there was no further round, or its generator raised
        return (self.first, last)

    def or_else(self, otherwise: Otherwise) -> Any:
        """The answer if it ships, else what ``otherwise`` makes of this outcome.

        Raises:
            BaseException: ``otherwise`` returned an exception: ``or_else(HandedToPerson)``.
        """
        if self.shipped:
            return self.output
        if _raises(otherwise):
            # An exception that knows nothing of outcomes gets our sentence, never the whole outcome:
            # its message would carry answer and evidence into every error log.
            known = issubclass(otherwise, HandedToPerson)
            raise otherwise(self if known else str(HandedToPerson(self)))
        result = otherwise(self) if callable(otherwise) else otherwise
        if isinstance(result, BaseException):
            raise result
        return result


Otherwise: TypeAlias = Callable[[Outcome], Any] | str
"""What the caller gets where an answer may not be used.

A text is returned as it is; a function is called with the `Outcome`, and what it returns is
returned, or raised if it is an exception. So ``otherwise=HandedToPerson`` raises.
"""


def _raises(otherwise: Otherwise) -> TypeGuard[type[BaseException]]:
    return isinstance(otherwise, type) and issubclass(otherwise, BaseException)


def check_otherwise(otherwise: object, place: str) -> None:
    """Refuse what cannot be what a caller gets.

    Raises:
        ConfigurationError: it is neither a text nor a function of the outcome.
    """
    if not isinstance(otherwise, str) and not callable(otherwise):
        raise ConfigurationError(
            f"{place} was given otherwise={otherwise!r}: give the text the caller gets when an answer may "
            "not be used, a function of the Outcome, or HandedToPerson to raise"
        )
