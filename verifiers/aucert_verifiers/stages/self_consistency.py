"""Stage 2, self-consistency: the same model judges again, asked in other ways, and has to agree."""

from __future__ import annotations

from collections.abc import Sequence

from aucert_otel.background import worker
from aucert_otel.budget import Estimate
from aucert_otel.errors import ConfigurationError
from aucert_otel.generation import Generation
from aucert_otel.llm.model import ChatModel
from aucert_otel.report import StageReport
from aucert_otel.verdict import Verdict
from aucert_verifiers.packaging import package, pieces_of
from aucert_verifiers.stages.base import Judging, estimate, failed, fingerprint, verdict_of
from aucert_verifiers.stages.evaluation import Bill, Evaluation, judge
from aucert_verifiers.stages.panel import Seat, Tally, evaluations, hear, names
from aucert_verifiers.stages.prompts import REWORDINGS, Wording


TEMPERATURES = (0.0, 0.5, 1.0)


class SelfConsistency:
    """One model evaluates the answer three times, in other wordings and at other temperatures.

    None of the wordings is the one of `SelfConfidence`, so that no question is paid for twice.
    Only if all three give the same verdict, pass or fail, is there one. Its confidence is the mean of
    what the three state. Otherwise the stage is unclear: `Reason.INCONSISTENT` where they differ.
    A model that takes no temperature is varied by the wording alone, and the votes say so.

    An evaluation that failed makes the stage fail, with its status, unless those that did vote
    already disagree: then their disagreement stands. Since nothing but unanimity settles, the rest
    is given up as soon as there cannot be any.

    Args:
        model: The judge.
        temperatures: One for each evaluation.
        wordings: One for each evaluation.
        judging: The criterion, and how the material is shown.

    Raises:
        ConfigurationError: there are fewer than two evaluations, or not a wording for each.
    """

    def __init__(
        self,
        model: ChatModel,
        *,
        temperatures: Sequence[float | None] = TEMPERATURES,
        wordings: Sequence[Wording] = REWORDINGS,
        judging: Judging | None = None,
        name: str = "self_consistency",
    ) -> None:
        if len(temperatures) < 2 or len(temperatures) != len(wordings):
            raise ConfigurationError(
                f"temperatures has {len(temperatures)} and wordings {len(wordings)} entries: give one "
                "of each for every evaluation, and at least two"
            )
        self.name = name
        self.model = model
        self.judging = judging or Judging()
        self._ways = tuple(zip(wordings, temperatures, strict=True))
        self.fingerprint = fingerprint("self_consistency", [model], self.judging, self._ways)

    @property
    def estimate(self) -> Estimate:
        """What one run is expected to cost."""
        return estimate([self.model] * len(self._ways), self.judging.expected)

    async def verify(self, generation: Generation, /) -> StageReport:
        """Judge one generation. A model that does not reply is a status, and is never raised."""
        return await worker().join(self._verify(generation))

    async def _verify(self, generation: Generation) -> StageReport:
        judging, planned = self.judging, len(self._ways)
        pieces = pieces_of(generation, judging.limits)
        shown = package(pieces, nonce=judging.nonce)

        def seat(voter: str, wording: Wording, temperature: float | None) -> Seat[Evaluation]:
            async def run(bill: Bill) -> Evaluation:
                return await judge(
                    self.model,
                    judging.criterion,
                    shown,
                    generation,
                    wording=wording,
                    bill=bill,
                    voter=voter,
                    temperature=temperature,
                    max_tokens=judging.max_tokens,
                )

            return Seat(voter, self.model, run)

        voters = names([self.model] * planned)
        seats = [seat(v, *way) for v, way in zip(voters, self._ways, strict=True)]
        await hear(seats, lambda heard: Tally(planned, tuple(heard)).cannot_agree, judging.grace_s)
        tally = Tally(planned, evaluations(seats))
        bills = [each.bill for each in seats]
        if tally.failed and not _disagree(tally):
            return failed(tally.failed, [each.vote for each in tally.heard], bills)
        return verdict_of(tally, tally.unanimous, judging, bills, covered=shown.share)


def _disagree(tally: Tally) -> bool:
    """The votes there are rule unanimity out, whatever the missing ones would have been."""
    said = {each.verdict for each in tally.heard if each.verdict is not None}
    return len(said) > 1 or Verdict.UNCLEAR in said
