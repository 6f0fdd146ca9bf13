"""Stage 1, self-confidence: one evaluation that says how sure it is of itself."""

from __future__ import annotations

from aucert_otel.background import worker
from aucert_otel.budget import Estimate
from aucert_otel.generation import Generation
from aucert_otel.llm.model import ChatModel
from aucert_otel.report import StageReport, Vote
from aucert_otel.verdict import Finding, Verdict
from aucert_verifiers.packaging import package, pieces_of
from aucert_verifiers.stages.base import (
    Judging,
    estimate,
    failed,
    fingerprint,
    holds,
    reason_of,
    settle,
)
from aucert_verifiers.stages.evaluation import (
    Bill,
    Evaluation,
    Fault,
    judge,
    token_probability,
)
from aucert_verifiers.stages.panel import Seat, hear
from aucert_verifiers.stages.prompts import DIRECT


class SelfConfidence:
    """One model judges the answer and states, in the same reply, how sure it is from 0 to 100.

    The stage's confidence is what the model states for its own verdict. How much is enough is not
    decided here: that is the gate of the cascade's stage, 0.95 both ways in the preset ``aucert``.

    Args:
        model: The judge.
        logprobs: Also ask, in a second call, for nothing but the token that says pass or fail, and
            report its probability beside the stated confidence, as the measure
            ``token_probability``. It settles nothing.
        temperature: Of the evaluation; not every model takes one.
        judging: The criterion, and how the material is shown.
    """

    def __init__(
        self,
        model: ChatModel,
        *,
        logprobs: bool = False,
        temperature: float | None = 0.0,
        judging: Judging | None = None,
        name: str = "self_confidence",
    ) -> None:
        self.name = name
        self.model = model
        self.judging = judging or Judging()
        self._logprobs = logprobs
        self._temperature = temperature
        self.fingerprint = fingerprint(
            "self_confidence", [model], self.judging, DIRECT, temperature, logprobs
        )

    @property
    def estimate(self) -> Estimate:
        """What one run is expected to cost."""
        calls = 2 if self._logprobs else 1
        return estimate([self.model] * calls, self.judging.expected)

    async def verify(self, generation: Generation, /) -> StageReport:
        """Judge one generation. A model that does not reply is a status, and is never raised."""
        return await worker().join(self._verify(generation))

    async def _verify(self, generation: Generation) -> StageReport:
        judging = self.judging
        shown = package(pieces_of(generation, judging.limits), nonce=judging.nonce)
        voter = self.model.name

        async def evaluated(bill: Bill) -> Evaluation:
            return await judge(
                self.model,
                judging.criterion,
                shown,
                generation,
                wording=DIRECT,
                bill=bill,
                voter=voter,
                temperature=self._temperature,
                max_tokens=judging.max_tokens,
            )

        async def measured(bill: Bill) -> float | Fault:
            return await token_probability(self.model, judging.criterion, shown, generation, bill)

        seats: list[Seat[Evaluation | float | Fault]] = [Seat(voter, self.model, evaluated)]
        if self._logprobs:
            seats.append(Seat(voter, self.model, measured))
        await hear(seats)
        evaluation = seats[0].result
        assert isinstance(evaluation, Evaluation)
        votes = [evaluation.vote]
        measures = {"covered": shown.share}
        for seat in seats[1:]:
            if isinstance(seat.result, float):
                measures["token_probability"] = seat.result
            elif isinstance(seat.result, Fault):
                votes.append(
                    Vote(
                        f"{voter}#token",
                        status=seat.result.status,
                        error=seat.result.error,
                        label="log probabilities",
                    )
                )
        bills = [seat.bill for seat in seats]
        vote = evaluation.vote
        if vote.verdict is None:
            return failed([evaluation], votes, bills)
        if vote.confidence is not None:
            measures["stated_confidence"] = vote.confidence
        confidence = None if vote.verdict is Verdict.UNCLEAR else vote.confidence
        finding = Finding(
            judging.criterion.name,
            vote.verdict,
            score=holds(vote.verdict, confidence),
            why=vote.why,
            reason=vote.reason or reason_of(vote.verdict),
            measures=measures,
        )
        return settle(
            bills,
            findings=(finding,),
            verdict=vote.verdict,
            confidence=confidence,
            votes=tuple(votes),
        )
