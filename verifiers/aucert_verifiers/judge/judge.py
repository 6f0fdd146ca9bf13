"""The rubric judge, and the stronger judge for what it leaves unclear."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from aucert_otel.background import worker
from aucert_otel.budget import Estimate
from aucert_otel.generation import Generation
from aucert_otel.llm.model import ChatModel
from aucert_otel.report import StageReport, Vote, not_neutral
from aucert_otel.verdict import Finding, Reason, Verdict
from aucert_verifiers import packaging
from aucert_verifiers.judge.kin import neutral
from aucert_verifiers.judge.prompts import messages, schema
from aucert_verifiers.judge.quotes import Material
from aucert_verifiers.judge.reading import read, unclear
from aucert_verifiers.judge.rubric import PASSAGES, QUESTION, Criterion, Rubric, default_rubric
from aucert_verifiers.judge.settings import Settings, fingerprint
from aucert_verifiers.judge.tally import Counting, Run, verdict_of
from aucert_verifiers.packaging import package, pieces_of
from aucert_verifiers.stages.base import estimate, settle
from aucert_verifiers.stages.evaluation import Bill, Evaluation, Fault, ask
from aucert_verifiers.stages.panel import Seat, hear, names, status_of
from aucert_verifiers.stages.prompts import Wording


class RubricJudge:
    """A model judges every criterion of a rubric, in one call.

    Each criterion has a finding of its own. What the reply does not say exactly as it was asked is
    unclear, with its reason. While anything is unclear the stage as a whole is unclear, whatever
    failed beside it: that has to be settled before failures are counted.

    A fail points at a sentence of the reply, or at a request in the customer's message, and only at
    one that is there; a sentence the judge quotes as evidence counts only if a passage says it. A
    criterion whose material is not known is unclear without asking.

    A call that fails is a status, never a verdict. Of several runs those that did reply still count,
    as long as they are more than half of those that were planned.

    Args:
        model: The judge. It should be of another family than the generator.
        rubric: The criteria; default: the four that are shipped.
        settings: How it judges.
        name: The stage's name.
    """

    _kind = "rubric"

    def __init__(
        self,
        model: ChatModel,
        *,
        rubric: Rubric | None = None,
        settings: Settings | None = None,
        name: str = "rubric",
    ) -> None:
        self.name = name
        self.model = model
        self.rubric = rubric or default_rubric()
        self.settings = settings or Settings()
        self.fingerprint = fingerprint(self._kind, model, self.rubric, self.settings)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model.name!r}, {', '.join(self.rubric.names)})"

    @property
    def estimate(self) -> Estimate:
        """What one run is expected to cost."""
        return estimate([self.model] * self.settings.runs, self.settings.expected)

    def neutral_to(self, generation: Generation, /) -> bool:
        """Whether the judge is known to be of another family than whoever wrote the answer."""
        return neutral([self.model], generation)

    async def verify(self, generation: Generation, /) -> StageReport:
        """Judge one generation by the whole rubric. A model that does not reply is never raised."""
        return await worker().join(self._judge(generation, self.rubric.criteria, ()))

    async def _judge(
        self, generation: Generation, criteria: Sequence[Criterion], earlier: Sequence[Finding]
    ) -> StageReport:
        """Judge these criteria; the report speaks for them and for what was found before."""
        is_neutral = self.neutral_to(generation)
        if self.settings.strict and not is_neutral:
            return not_neutral()
        findings = _without_material(criteria, generation)
        asked = [each for each in criteria if each.name not in findings]
        runs: list[Run] = []
        bills: list[Bill] = []
        if asked:
            shown, runs, bills = await self._ask(generation, asked)
            silent = [run for run in runs if run.fault is not None]
            if silent and 2 * (len(runs) - len(silent)) <= len(runs):
                return settle(
                    bills,
                    **_failure(silent),
                    votes=_votes(runs),
                    neutral=is_neutral,
                )
            settings = self.settings
            counting = Counting(settings.agreement, settings.sure_at)
            material = Material(generation, settings.limits)
            for each in asked:
                findings[each.name] = counting.count(each, runs, shown, material)
        own = tuple(findings[each.name] for each in criteria)
        named = {finding.criterion for finding in own}
        others = (each for each in earlier if each.criterion not in named)
        verdict, confidence = verdict_of((*own, *others))
        return settle(
            bills,
            findings=own,
            verdict=verdict,
            confidence=confidence,
            votes=_votes(runs),
            neutral=is_neutral,
        )

    async def _ask(
        self, generation: Generation, criteria: Sequence[Criterion]
    ) -> tuple[packaging.Package, list[Run], list[Bill]]:
        settings, asked = self.settings, tuple(each.name for each in criteria)
        needed = {need for each in criteria for need in each.needs}
        hidden = {kind for need, kind in _KINDS.items() if need not in needed}
        pieces = [p for p in pieces_of(generation, settings.limits) if p.kind not in hidden]
        shown = package(pieces, nonce=settings.nonce)

        def seat(voter: str, wording: Wording) -> Seat[Run]:
            async def run(bill: Bill) -> Run:
                reply = await ask(
                    self.model,
                    messages(criteria, wording, shown, generation),
                    bill,
                    schema=schema(asked),
                    temperature=settings.temperature,
                    max_tokens=settings.max_tokens,
                )
                label = wording.name
                if isinstance(reply, Fault):
                    if reply.reason is None:
                        return Run(voter, label, said={}, fault=reply)
                    cut = unclear(reply.reason, reply.error)
                    return Run(voter, label, said=dict.fromkeys(asked, cut))
                if reply.temperature_applied and settings.temperature is not None:
                    label = f"{label}, temperature {settings.temperature:g}"
                said = read(reply, asked, code=shown.nonce, answer=generation.output)
                return Run(voter, label, said=said)

            return Seat(voter, self.model, run)

        voters = names([self.model] * settings.runs)
        seats = [seat(*each) for each in zip(voters, settings.ways, strict=True)]
        await hear(seats)  # all of them: which criterion flips is what repeats are for
        runs = [each.result for each in seats if each.result is not None]
        return shown, runs, [each.bill for each in seats]


class StrongerJudge(RubricJudge):
    """A stronger model judges what an earlier stage left unclear, and is shown only what that needs.

    It asks the criteria of its rubric that are unclear after the stages before it, or that nobody
    judged. Where none is, the stages before were not sure enough of the whole, and it asks them all.
    It is not told what the earlier judge said. Its report speaks for the whole rubric: with a
    criterion failed before, it is a fail.

    Args:
        model: The judge.
        rubric: The same as the earlier judge's.
        settings: How it judges.
        name: The stage's name.
    """

    _kind = "stronger_judge"

    def __init__(
        self,
        model: ChatModel,
        *,
        rubric: Rubric | None = None,
        settings: Settings | None = None,
        name: str = "stronger_judge",
    ) -> None:
        super().__init__(model, rubric=rubric, settings=settings, name=name)

    async def verify_after(
        self, generation: Generation, earlier: tuple[Finding, ...], /
    ) -> StageReport:
        """Judge what is unclear among the earlier findings."""
        named = set(self.rubric.names)
        of_rubric = [finding for finding in earlier if finding.criterion in named]
        unsettled = {f.criterion for f in of_rubric if f.verdict is Verdict.UNCLEAR}
        unsettled |= named - {finding.criterion for finding in of_rubric}
        criteria = self.rubric.only(frozenset(unsettled)) or self.rubric.criteria
        return await worker().join(self._judge(generation, criteria, of_rubric))


_KINDS = {QUESTION: packaging.QUESTION, PASSAGES: packaging.PASSAGE}


def _without_material(criteria: Iterable[Criterion], generation: Generation) -> dict[str, Finding]:
    """The criteria that nobody could judge, since what they need is not known."""
    asked = generation.question is not None or any(m.role == "user" for m in generation.messages)
    found = {}
    for each in criteria:
        source = None if each.source is None else str(each.source)
        if PASSAGES in each.needs and not generation.evidence:
            why, reason = "there are no passages to hold the reply against", Reason.NO_EVIDENCE
        elif QUESTION in each.needs and not asked:
            why, reason = "the question is not known", Reason.NOT_CHECKED
        else:
            continue
        found[each.name] = Finding(
            each.name, Verdict.UNCLEAR, why=why, reason=reason, source=source
        )
    return found


def _votes(runs: Sequence[Run]) -> tuple[Vote, ...]:
    return tuple(vote for run in runs for vote in run.votes())


def _failure(silent: Sequence[Run]) -> dict[str, object]:
    evaluations = [Evaluation(run.votes()[0]) for run in silent]
    said = "; ".join(f"{each.vote.voter}: {each.vote.error}" for each in evaluations)
    return {"status": status_of(evaluations), "error": said}
