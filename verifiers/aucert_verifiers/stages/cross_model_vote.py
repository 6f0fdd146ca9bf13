"""Stage 3, cross-model vote: a panel of different models, each blind to the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from aucert_otel.background import worker
from aucert_otel.budget import Estimate
from aucert_otel.errors import ConfigurationError
from aucert_otel.generation import Generation
from aucert_otel.llm.model import ChatModel
from aucert_otel.report import StageReport
from aucert_verifiers.packaging import package, pieces_of
from aucert_verifiers.stages.base import Judging, estimate, fingerprint, rule
from aucert_verifiers.stages.evaluation import Bill, Evaluation, judge
from aucert_verifiers.stages.panel import Seat, Tally, evaluations, hear, names
from aucert_verifiers.stages.prompts import WORDINGS, Wording
from aucert_verifiers.stages.self_consistency import TEMPERATURES


class CrossModelVote:
    """A panel votes; more than half of the planned panel decides.

    Every seat is asked on its own and sees nobody's opinion. A model that sits there twice is asked
    the second time in another wording and temperature, so that the second vote is one. Its confidence
    is the mean of what the majority states, times its share of the planned panel.

    A seat that failed is no vote and keeps its place: two of three must still agree. `unclear` is a
    vote for neither. Without a majority the stage is unclear, unless the seats that failed could have
    made one: then the panel could not be asked as planned, and the stage has their status, such as
    `Status.UNAVAILABLE`. Calls that can no longer change the result are given up.

    Args:
        panel: The models, one for each seat. The seed's is one model once, another twice.
        judging: The criterion, and how the material is shown.

    Raises:
        ConfigurationError: the panel has no seat, or two models of one name.
    """

    def __init__(
        self,
        panel: Sequence[ChatModel],
        *,
        judging: Judging | None = None,
        name: str = "cross_model_vote",
    ) -> None:
        self.name = name
        self.panel = tuple(panel)
        self.judging = judging or Judging()
        if not self.panel:
            raise ConfigurationError("panel has no seats: give it at least one model")
        for model in self.panel:
            if any(other is not model and other.name == model.name for other in self.panel):
                raise ConfigurationError(
                    f"panel has two models called {model.name!r}: name them apart with name=..."
                )
        self._ways = _ways(self.panel)
        self.fingerprint = fingerprint("cross_model_vote", self.panel, self.judging, self._ways)

    @property
    def estimate(self) -> Estimate:
        """What one run is expected to cost."""
        return estimate(self.panel, self.judging.expected)

    async def verify(self, generation: Generation, /) -> StageReport:
        """Have the panel judge one generation. A model that does not reply is never raised."""
        return await worker().join(self._verify(generation))

    async def _verify(self, generation: Generation) -> StageReport:
        judging, planned = self.judging, len(self.panel)
        pieces = pieces_of(generation, judging.limits)
        shown = package(pieces, nonce=judging.nonce)

        def seat(
            model: ChatModel, voter: str, wording: Wording, temperature: float | None
        ) -> Seat[Evaluation]:
            async def run(bill: Bill) -> Evaluation:
                return await judge(
                    model,
                    judging.criterion,
                    shown,
                    generation,
                    wording=wording,
                    bill=bill,
                    voter=voter,
                    temperature=temperature,
                    max_tokens=judging.max_tokens,
                )

            return Seat(voter, model, run)

        seats = [
            seat(model, voter, *way)
            for model, voter, way in zip(self.panel, names(self.panel), self._ways, strict=True)
        ]
        await hear(seats, lambda heard: Tally(planned, tuple(heard)).decided, judging.grace_s)
        tally = Tally(planned, evaluations(seats))
        return rule(tally, judging, [each.bill for each in seats], covered=shown.share)


def _ways(panel: Sequence[ChatModel]) -> tuple[tuple[Wording, float], ...]:
    seen: Counter[int] = Counter()
    ways = []
    for model in panel:
        again = seen[id(model)] % len(TEMPERATURES)
        seen[id(model)] += 1
        ways.append((WORDINGS[again], TEMPERATURES[again]))
    return tuple(ways)
