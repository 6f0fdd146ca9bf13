"""Stage 4, structured debate: two sides argue opposing conclusions, and a judge rules on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from aucert_otel.background import worker
from aucert_otel.budget import Estimate
from aucert_otel.generation import Generation
from aucert_otel.llm.model import ChatModel
from aucert_otel.report import StageReport, Turn, Vote
from aucert_otel.verdict import Status, Verdict
from aucert_verifiers.packaging import Package, Piece, fit, package, pieces_of
from aucert_verifiers.stages.base import Judging, estimate, failed, fingerprint, rule
from aucert_verifiers.stages.evaluation import (
    Bill,
    Evaluation,
    Fault,
    ask,
    evaluate,
    of_what_was_shown,
)
from aucert_verifiers.stages.panel import Seat, Tally, evaluations, hear, names
from aucert_verifiers.stages.prompts import (
    DEFENDER,
    PROSECUTOR,
    WORDINGS,
    argument_messages,
    ruling_messages,
)
from aucert_verifiers.stages.self_consistency import TEMPERATURES


ROUNDS = 2
JUDGE = "judge"
_ORDERS = ((PROSECUTOR, DEFENDER), (DEFENDER, PROSECUTOR), (PROSECUTOR, DEFENDER))
"""Who is shown first in each of the judge's evaluations: a judge favours a place more than it knows."""


class Debate:
    """A prosecutor argues that the criterion does not hold, a defender that it does.

    Both argue two rounds and see, in the second, what the other side argued in the first. Then a
    judge rules three times, with the two sides in swapped order, each time with written reasoning:
    seven calls in all. More than half of the three rulings decide; the confidence is the mean of what
    those state, times their share of the three. What both sides and the judge wrote is the report's
    transcript. To the judge their arguments are material like any other, fenced and never
    instructions.

    A side that could not argue ends the debate with that call's status, since a judge who hears one
    side has not judged a debate. Rulings that failed are no votes, as in the cross-model vote.

    Args:
        prosecutor: Argues the fail.
        defender: Argues the pass; default: the same model.
        judge: Rules.
        judging: The criterion, and how the material is shown.
    """

    def __init__(
        self,
        prosecutor: ChatModel,
        judge: ChatModel,
        *,
        defender: ChatModel | None = None,
        temperature: float | None = 0.5,
        judging: Judging | None = None,
        name: str = "debate",
    ) -> None:
        self.name = name
        self.judge = judge
        self.sides = {PROSECUTOR: prosecutor, DEFENDER: defender or prosecutor}
        self.judging = judging or Judging()
        self._temperature = temperature
        self._ways = tuple(zip(_ORDERS, WORDINGS[: len(_ORDERS)], TEMPERATURES, strict=True))
        self.fingerprint = fingerprint(
            "debate",
            [*self.sides.values(), judge],
            self.judging,
            ROUNDS,
            self._ways,
            temperature,
        )

    @property
    def estimate(self) -> Estimate:
        """What one run is expected to cost."""
        calls = [*(list(self.sides.values()) * ROUNDS), *([self.judge] * len(self._ways))]
        return estimate(calls, self.judging.expected, ROUNDS + 1)

    async def verify(self, generation: Generation, /) -> StageReport:
        """Debate one generation. A model that does not reply is a status, and is never raised."""
        return await worker().join(self._verify(generation))

    async def _verify(self, generation: Generation) -> StageReport:
        bills: list[Bill] = []
        turns: list[Turn] = []
        for round_ in range(1, ROUNDS + 1):
            seats = await self._argue(generation, round_, turns)
            bills += [seat.bill for seat in seats]
            turns += [seat.result for seat in seats if isinstance(seat.result, Turn)]
            faults = [_absent(seat) for seat in seats if not isinstance(seat.result, Turn)]
            if faults:
                return failed(
                    [each for each in faults if each.ran],
                    [each.vote for each in faults],
                    bills,
                    tuple(turns),
                )
        return await self._rule(generation, turns, bills)

    async def _argue(
        self, generation: Generation, round_: int, so_far: Sequence[Turn]
    ) -> list[Seat[Turn | Fault]]:
        """One round: both sides at once, so that neither has read the other's part of it."""

        def seat(side: str, model: ChatModel) -> Seat[Turn | Fault]:
            async def run(bill: Bill) -> Turn | Fault:
                shown = self._package(generation, so_far, (PROSECUTOR, DEFENDER))
                reply = await ask(
                    model,
                    argument_messages(self.judging.criterion, side, round_, shown, generation),
                    bill,
                    temperature=self._temperature,
                    max_tokens=self.judging.max_tokens,
                )
                if isinstance(reply, Fault):
                    return reply
                return Turn(side, fit(reply.text.strip()), round_)

            return Seat(side, model, run)

        seats = [seat(side, model) for side, model in self.sides.items()]
        await hear(
            seats,
            lambda heard: any(isinstance(each, Fault) for each in heard),
            self.judging.grace_s,
        )
        return seats

    async def _rule(
        self, generation: Generation, turns: list[Turn], bills: list[Bill]
    ) -> StageReport:
        planned = len(self._ways)

        def seat(index: int, voter: str) -> Seat[Evaluation]:
            order, wording, temperature = self._ways[index]

            async def run(bill: Bill) -> Evaluation:
                shown = self._package(generation, turns, order)
                found = await evaluate(
                    self.judge,
                    ruling_messages(self.judging.criterion, wording, shown, generation),
                    bill,
                    voter=voter,
                    wording=wording,
                    temperature=temperature,
                    max_tokens=self.judging.max_tokens,
                    must_reason=True,
                )
                label = f"{found.vote.label}, {order[0]} first"
                found = replace(found, vote=replace(found.vote, label=label))
                return of_what_was_shown(found, shown)

            return Seat(voter, self.judge, run)

        voters = names([self.judge] * planned)
        seats = [seat(index, voter) for index, voter in enumerate(voters)]
        await hear(seats)  # all three are heard: the order of the sides is evened out over them
        tally = Tally(planned, evaluations(seats))
        transcript = (
            *turns,
            *(
                Turn(JUDGE, each.vote.why, index)
                for index, each in enumerate(tally.heard, 1)
                if each.vote.why
            ),
        )
        shown = self._package(generation, turns, _ORDERS[0])
        return rule(
            tally,
            self.judging,
            [*bills, *(each.bill for each in seats)],
            covered=shown.share,
            transcript=transcript,
            measures={"order_changes_verdict": _by_order(tally)},
        )

    def _package(
        self, generation: Generation, turns: Sequence[Turn], order: Sequence[str]
    ) -> Package:
        """The generation, and what was argued: in each round the sides in this order."""
        arguments = sorted(turns, key=lambda turn: (turn.round, order.index(turn.speaker)))
        pieces = (
            *pieces_of(generation, self.judging.limits),
            *(
                Piece(
                    f"argument of the {turn.speaker} in round",
                    turn.text,
                    limit=self.judging.limits.argument,
                    number=turn.round,
                )
                for turn in arguments
            ),
        )
        return package(pieces, nonce=self.judging.nonce)


def _absent(seat: Seat[Turn | Fault]) -> Evaluation:
    """A side that did not argue, on the record of the votes."""
    fault = seat.result
    if not isinstance(fault, Fault):
        skipped = Vote(seat.voter, status=Status.SKIPPED, error="the debate had ended")
        return Evaluation(skipped, ran=False)
    # Half an argument is no argument; the model did not do what was planned.
    status = Status.ERROR if fault.status is Status.OK else fault.status
    return Evaluation(Vote(seat.voter, status=status, error=fault.error, reason=fault.reason))


def _by_order(tally: Tally) -> float:
    """1 where the judge's verdict depends on which side it read first, else 0."""
    verdicts: dict[str, set[Verdict]] = {PROSECUTOR: set(), DEFENDER: set()}
    for (first, _), each in zip(_ORDERS, tally.heard, strict=True):
        if each.verdict is not None:
            verdicts[first].add(each.verdict)
    one, other = verdicts.values()
    return float(bool(one and other) and one.isdisjoint(other))
