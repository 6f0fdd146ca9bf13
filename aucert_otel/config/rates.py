"""What a stage costs by the token, asked of the stage itself: nothing is called."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from aucert_otel.cascade import Cascade
from aucert_otel.stage import Stage


_PROBE = 10_000
"""Tokens to ask with: few enough for the price of a short prompt where long ones cost more."""

Expecting = Callable[[Mapping[str, float]], Cascade | None]
"""The same cascade, its stages expecting so many tokens a call; ``None`` if a stage takes no such option."""


@dataclass(frozen=True, slots=True)
class Rate:
    """What one run of a stage costs, by the tokens of one of its calls."""

    stage: str
    input_usd: float | None
    """US dollars for each token of input of one call, over all calls; ``None`` if unknown."""
    output_usd: float | None
    fixed_usd: float | None = 0.0
    """US dollars a run costs, whatever is read."""

    def usd(self, input_tokens: float, output_tokens: float) -> float | None:
        """US dollars for a run whose calls take so many tokens; ``None`` if unknown."""
        parts = (self.input_usd, self.output_usd, self.fixed_usd)
        if any(part is None for part in parts):
            return None
        per_input, per_output, fixed = (part or 0.0 for part in parts)
        return per_input * input_tokens + per_output * output_tokens + fixed


def rates(cascade: Cascade, expecting: Expecting) -> tuple[Rate, ...]:
    """The rates of a cascade's stages.

    A stage is asked what it would cost if its calls took so many tokens, through its option
    ``expected``. One without that option is taken at its flat estimate.
    """
    reads = expecting({"input_tokens": _PROBE, "output_tokens": 0})
    writes = expecting({"input_tokens": 0, "output_tokens": _PROBE})
    if reads is None or writes is None:
        return tuple(_flat(stage) for stage in cascade.stages)
    return tuple(
        _flat(stage)
        if stage.inline or read.estimate.usd == stage.estimate.usd == write.estimate.usd
        else Rate(stage.name, _each(read), _each(write))
        for stage, read, write in zip(cascade.stages, reads.stages, writes.stages, strict=True)
    )


def _flat(stage: Stage) -> Rate:
    return Rate(stage.name, 0.0, 0.0, stage.estimate.usd)


def _each(stage: Stage) -> float | None:
    return None if stage.estimate.usd is None else stage.estimate.usd / _PROBE
