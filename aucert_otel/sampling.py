"""Which finished answers are verified in the background, and with what probability."""

from __future__ import annotations

import random
from dataclasses import dataclass

from opentelemetry import trace
from opentelemetry.context import Context

from aucert_otel.errors import ConfigurationError
from aucert_otel.generation import Generation


_SPACE = 1 << 64


@dataclass(frozen=True, slots=True)
class Match:
    """Answers a rule is about: every field that is given must be equal."""

    tenant: str | None = None
    model: str | None = None

    def __post_init__(self) -> None:
        if self.tenant is None and self.model is None:
            raise ConfigurationError(
                "a sampling rule matches nothing in particular: give it a tenant, a model or both"
            )

    def covers(self, generation: Generation) -> bool:
        """Whether this answer is one of them."""
        return self.tenant in (None, generation.tenant) and self.model in (None, generation.model)


@dataclass(frozen=True, slots=True)
class Sampling:
    """How many answers are verified, and which ones always or never.

    The decision is a function of the trace id (its lower 64 bits, as OpenTelemetry's own
    ratio sampler reads them), so that every service decides alike, the answers chosen at a lower
    rate are a subset of those at a higher one, and at a rate up to the tracer's own every verdict
    lands on a recorded trace. Without a trace the decision is drawn.

    Args:
        rate: Share of answers verified, in [0, 1].
        always: Verified whatever the rate (inclusion probability 1).
        never: Not verified, even where ``always`` matches.
        always_on_failed_rule: Run the leading in-thread stages on every answer, and verify it
            with probability 1 when one of them fails.
    """

    rate: float = 1.0
    always: tuple[Match, ...] = ()
    never: tuple[Match, ...] = ()
    always_on_failed_rule: bool = False

    def __post_init__(self) -> None:
        if not 0.0 <= self.rate <= 1.0:
            raise ConfigurationError(
                f"sampling.rate is {self.rate!r}: give the share of answers to verify, from 0 to 1"
            )

    def probability(self, generation: Generation, *, failed_rule: bool = False) -> float:
        """The probability with which an answer like this one is verified."""
        if self.never and any(rule.covers(generation) for rule in self.never):
            return 0.0
        if failed_rule or (self.always and any(rule.covers(generation) for rule in self.always)):
            return 1.0
        return self.rate


def chosen(probability: float, context: Context | None = None) -> bool:
    """Decide by the trace id in ``context`` (default: the current one)."""
    if probability >= 1.0:
        return True
    if probability <= 0.0:
        return False
    trace_id = trace.get_current_span(context).get_span_context().trace_id
    draw = trace_id & (_SPACE - 1) if trace_id else random.getrandbits(64)
    return draw < round(probability * _SPACE)
