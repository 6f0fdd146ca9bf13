"""What the four stages share: their settings, their fingerprints, what they expect to cost."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from aucert_otel.budget import Estimate
from aucert_otel.costs import add_usd
from aucert_otel.errors import ConfigurationError
from aucert_otel.generation import Usage
from aucert_otel.llm.model import ChatModel
from aucert_otel.llm.prices import PriceBook
from aucert_otel.report import StageReport, Turn, Vote
from aucert_otel.verdict import Finding, Reason, Verdict
from aucert_verifiers.packaging import Limits, Nonce, fresh_nonce
from aucert_verifiers.stages.evaluation import Bill, Evaluation
from aucert_verifiers.stages.panel import Tally, status_of
from aucert_verifiers.stages.prompts import CORRECT, Criterion, everything


_SCHEME = "stages/1"
"""Part of every fingerprint. Change it when replies are read or counted differently."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What one call is expected to take, for budgets: looked at before a stage begins.

    Raises:
        ConfigurationError: a number is negative or not finite.
    """

    input_tokens: int = 1_500
    output_tokens: int = 250
    seconds: float = 0.0
    """0: a stage is begun while any time is left, and ended by the deadline."""

    def __post_init__(self) -> None:
        for name in ("input_tokens", "output_tokens", "seconds"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise ConfigurationError(f"expected.{name} is {value!r}: give a number from 0 up")


@dataclass(frozen=True, slots=True)
class Judging:
    """How a stage judges, whichever it is.

    Args:
        criterion: What is judged.
        limits: How much of the material a judge is shown.
        max_tokens: Tokens one reply may take; ``None`` leaves it to the server.
        grace_s: Seconds for calls that are under way when a panel has decided, so that their price
            is known. 0 gives them up at once.
        expected: What one call is expected to take.
        nonce: Draws the code that fences the material.

    Raises:
        ConfigurationError: a number is out of range.
    """

    criterion: Criterion = CORRECT
    limits: Limits = field(default_factory=Limits)
    max_tokens: int | None = None
    grace_s: float = 2.0
    expected: Expected = field(default_factory=Expected)
    nonce: Nonce = fresh_nonce

    def __post_init__(self) -> None:
        if not (math.isfinite(self.grace_s) and self.grace_s >= 0):
            raise ConfigurationError(
                f"grace_s is {self.grace_s!r}: give a number of seconds from 0 up"
            )
        if self.max_tokens is not None and self.max_tokens < 1:
            raise ConfigurationError(
                f"max_tokens is {self.max_tokens!r}: give a whole number from 1 up, or leave it out"
            )


def fingerprint(kind: str, models: Iterable[ChatModel], judging: Judging, *parts: object) -> str:
    """A hash over the judges, every prompt and every parameter that could change a verdict."""
    said = [
        _SCHEME,
        kind,
        everything(),
        repr(judging.criterion),
        repr(judging.limits),
        repr(judging.max_tokens),
        *(f"{model.provider}|{model.family}|{model.model}" for model in models),
        *map(repr, parts),
    ]
    text = "\x00".join(said).encode("utf-8", "backslashreplace")
    return hashlib.sha256(text).hexdigest()[:16]


def estimate(models: Sequence[ChatModel], expected: Expected, rounds: int = 1) -> Estimate:
    """What calling each of these models once is expected to cost.

    Args:
        models: One for each call.
        expected: What one call takes.
        rounds: Calls that can only follow one another.
    """
    usage = Usage(input_tokens=expected.input_tokens, output_tokens=expected.output_tokens)
    total: float | None = 0.0
    for model in models:
        prices = getattr(model, "prices", None)
        priced = None
        if isinstance(prices, PriceBook):
            priced = prices.price(usage, model.model, model.provider).usd
        total = add_usd(total, priced)
    return Estimate(total, expected.seconds * rounds)


def settle(bills: Sequence[Bill], **report: object) -> StageReport:
    """A stage report with what all its calls cost, those that failed or were given up included."""
    return StageReport(
        **report,  # type: ignore[arg-type] # the callers below pass the report's own fields
        cost_usd=add_usd(*[bill.cost_usd for bill in bills]),
        unpriced=tuple(dict.fromkeys(name for bill in bills for name in bill.unpriced)),
        calls=sum(bill.calls for bill in bills),
    )


def failed(
    failures: Sequence[Evaluation],
    votes: Sequence[Vote],
    bills: Sequence[Bill],
    transcript: tuple[Turn, ...] = (),
) -> StageReport:
    """A stage that could not be carried out as planned. It has a status and no verdict."""
    said = "; ".join(f"{each.vote.voter}: {each.vote.error}" for each in failures)
    return settle(
        bills,
        status=status_of(failures),
        error=said,
        votes=tuple(votes),
        transcript=transcript,
    )


def verdict_of(
    tally: Tally,
    verdict: Verdict | None,
    judging: Judging,
    bills: Sequence[Bill],
    *,
    covered: float,
    transcript: tuple[Turn, ...] = (),
    measures: Mapping[str, float] | None = None,
) -> StageReport:
    """What a panel found: the verdict it reached, or unclear with the reason it reached none."""
    confidence = None if verdict is None else tally.confidence(verdict)
    finding = Finding(
        judging.criterion.name,
        verdict or Verdict.UNCLEAR,
        score=holds(verdict, confidence),
        why=_why(tally, verdict),
        reason=tally.reason if verdict is None else reason_of(verdict),
        measures={
            "votes_pass": float(tally.count(Verdict.PASS)),
            "votes_fail": float(tally.count(Verdict.FAIL)),
            "planned": float(tally.planned),
            "covered": covered,
            **(measures or {}),
        },
    )
    return settle(
        bills,
        findings=(finding,),
        verdict=finding.verdict,
        confidence=confidence,
        votes=tuple(each.vote for each in tally.heard),
        transcript=transcript,
    )


def rule(
    tally: Tally,
    judging: Judging,
    bills: Sequence[Bill],
    *,
    covered: float,
    transcript: tuple[Turn, ...] = (),
    measures: Mapping[str, float] | None = None,
) -> StageReport:
    """What a panel's votes amount to by strict majority of the planned panel."""
    verdict = tally.majority
    if verdict is None and 2 * (tally.most + len(tally.failed)) > tally.planned:
        votes = [each.vote for each in tally.heard]
        return failed(tally.failed, votes, bills, transcript)
    return verdict_of(
        tally, verdict, judging, bills, covered=covered, transcript=transcript, measures=measures
    )


def reason_of(verdict: Verdict) -> Reason | None:
    """A judge's fail says that it did not find the criterion borne out, and brings no fact."""
    return Reason.UNSUPPORTED if verdict is Verdict.FAIL else None


def holds(verdict: Verdict | None, confidence: float | None) -> float | None:
    """The probability that the criterion holds, from the confidence in a verdict on it."""
    if confidence is None or verdict is None or verdict is Verdict.UNCLEAR:
        return None
    return confidence if verdict is Verdict.PASS else 1.0 - confidence


def _why(tally: Tally, verdict: Verdict | None) -> str:
    parts = [
        f"{tally.count(each)} {each.value}"
        for each in (Verdict.PASS, Verdict.FAIL, Verdict.UNCLEAR)
        if tally.count(each)
    ]
    missing = [each for each in tally.heard if each.verdict is None]
    if missing:
        parts.append(f"{len(missing)} without a vote")
    said = f"of {tally.planned} judges: {', '.join(parts)}"
    given = (each.vote.why for each in tally.heard if each.verdict is verdict and each.vote.why)
    first = None if verdict is None else next(given, None)
    return said if first is None else f"{said}. {first}"
