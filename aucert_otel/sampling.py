"""Which finished answers are verified in the background, and with what probability."""

from __future__ import annotations

import random
from dataclasses import dataclass
from enum import Enum
from typing import Final

from opentelemetry import trace
from opentelemetry.context import Context

from aucert_otel.errors import ConfigurationError
from aucert_otel.generation import Generation


_SPACE = 1 << 64


class Unknown(Enum):
    """Stands for a fact about an answer that only the finished answer tells."""

    YET = "not known yet"


NOT_YET: Final = Unknown.YET


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
        return bool(self.covers_early(generation.tenant, generation.model))

    def covers_early(
        self, tenant: str | Unknown | None, model: str | Unknown | None
    ) -> bool | Unknown:
        """`covers` before the answer is there, or `NOT_YET` where what is known does not settle it."""
        covered: bool | Unknown = True
        for wanted, found in ((self.tenant, tenant), (self.model, model)):
            if wanted is None or wanted == found:
                continue
            if found is not NOT_YET:
                return False
            covered = NOT_YET
        return covered


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

    def draw(
        self,
        context: Context | None = None,
        *,
        tenant: str | Unknown | None = NOT_YET,
        model: str | Unknown | None = NOT_YET,
    ) -> float | None:
        """Decide before the answer is read, where what is known settles with what probability.

        An answer that is not chosen then costs next to nothing: nobody reads it. Draw once an
        answer, and hand the result on: without a trace it is a new draw each time.

        Args:
            context: As for `chosen`.
            tenant: The tenant the answer will have, if that is certain.
            model: The model it will have, if that is certain.

        Returns:
            The inclusion probability if it is chosen, 0.0 if it is not, and ``None`` where the
            decision needs the answer itself: make it by `probability` then.
        """
        probability = self.rate
        if self.never or self.always or self.always_on_failed_rule:
            early = self._early(tenant, model)
            if early is None:
                return None
            probability = early
        return probability if chosen(probability, context) else 0.0

    def _early(self, tenant: str | Unknown | None, model: str | Unknown | None) -> float | None:
        never = [rule.covers_early(tenant, model) for rule in self.never]
        if True in never:
            return 0.0
        always = [rule.covers_early(tenant, model) for rule in self.always]
        if NOT_YET in never:
            return None
        if True in always:
            return 1.0
        return None if self.always_on_failed_rule or NOT_YET in always else self.rate


def chosen(probability: float, context: Context | None = None) -> bool:
    """Decide by the trace id in ``context`` (default: the current one)."""
    if probability >= 1.0:
        return True
    if probability <= 0.0:
        return False
    trace_id = trace.get_current_span(context).get_span_context().trace_id
    draw = trace_id & (_SPACE - 1) if trace_id else random.getrandbits(64)
    return draw < round(probability * _SPACE)
