"""How a rubric judge judges, and the fingerprint of that."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field

from aucert_otel.errors import ConfigurationError
from aucert_otel.llm.model import ChatModel
from aucert_verifiers.judge.prompts import ENSEMBLE, everything
from aucert_verifiers.judge.rubric import Rubric
from aucert_verifiers.judge.tally import AGREEMENT, MAJORITY
from aucert_verifiers.packaging import Limits, Nonce, fresh_nonce
from aucert_verifiers.stages.base import Expected
from aucert_verifiers.stages.prompts import Wording


_SCHEME = "judge/1"
"""Part of every fingerprint. Change it when replies are read or counted differently."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How a rubric judge judges.

    Args:
        runs: How often it is asked, each time in another wording, all at once.
        agreement: ``majority`` of the planned runs settles a criterion, or ``unanimous``.
        sure_at: How sure the judge has to be of a criterion; below it, the criterion is unclear.
            ``None``: any sureness.
        strict: Refuse to judge an answer whose author may be of the judge's own family.
        temperature: Of every run; not every model takes one.
        limits: How much of the material the judge is shown.
        max_tokens: Tokens one reply may take; ``None`` leaves it to the server.
        expected: What one call is expected to take.
        wordings: How each run is asked; default: the first ``runs`` of `ENSEMBLE`.
        nonce: Draws the code that fences the material of one call.

    Raises:
        ConfigurationError: a number or a word is not one that could be used.
    """

    _: KW_ONLY
    runs: int = 1
    agreement: str = MAJORITY
    sure_at: float | None = None
    strict: bool = False
    temperature: float | None = None
    limits: Limits = field(default_factory=Limits)
    max_tokens: int | None = None
    expected: Expected = field(default_factory=lambda: Expected(1_900, 220))
    wordings: Sequence[Wording] = ENSEMBLE
    nonce: Nonce = fresh_nonce

    def __post_init__(self) -> None:
        runs: object = self.runs
        if isinstance(runs, bool) or not isinstance(runs, int) or runs < 1:
            raise ConfigurationError(f"runs is {self.runs!r}: give a whole number from 1 up")
        if self.agreement not in AGREEMENT:
            raise ConfigurationError(
                f"agreement is {self.agreement!r}: it must be one of {', '.join(AGREEMENT)}"
            )
        if self.sure_at is not None and not 0.0 <= self.sure_at <= 1.0:
            raise ConfigurationError(f"sure_at is {self.sure_at!r}: a sureness lies in [0, 1]")
        if self.temperature is not None and not 0.0 <= self.temperature < math.inf:
            raise ConfigurationError(
                f"temperature is {self.temperature!r}: give a number from 0 up, or leave it out"
            )
        if not isinstance(self.strict, bool):
            raise ConfigurationError(f"strict is {self.strict!r}: it must be true or false")
        if self.max_tokens is not None and self.max_tokens < 1:
            raise ConfigurationError(
                f"max_tokens is {self.max_tokens!r}: give a whole number from 1 up, or leave it out"
            )
        if not self.wordings:
            raise ConfigurationError("wordings is empty: give at least one")

    @property
    def ways(self) -> tuple[Wording, ...]:
        """The wording of every run; they come round again where there are more runs."""
        return tuple(self.wordings[at % len(self.wordings)] for at in range(self.runs))


def fingerprint(kind: str, model: ChatModel, rubric: Rubric, settings: Settings) -> str:
    """A hash over the judge, the rubric, every prompt and every parameter that could change a verdict."""
    said = (
        _SCHEME,
        kind,
        everything(),
        repr(rubric),
        f"{model.provider}|{model.family}|{model.model}",
        repr(settings.ways),
        repr((settings.agreement, settings.sure_at, settings.strict, settings.temperature)),
        repr((settings.limits, settings.max_tokens)),
    )
    text = "\x00".join(said).encode("utf-8", "backslashreplace")
    return hashlib.sha256(text).hexdigest()[:16]
