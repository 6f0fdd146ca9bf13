"""One evaluation: one call that asks a model to judge a generation, and a strict reading of its reply.

Nothing here can turn a broken reply into a pass. What is not exactly the object that was asked for is
an unclear vote that names its reason; a model that did not reply does not vote.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from aucert_otel.costs import add_usd, known_usd
from aucert_otel.generation import Generation
from aucert_otel.llm.errors import ModelError, Truncated
from aucert_otel.llm.logprobs import label_probabilities
from aucert_otel.llm.model import ChatMessage, ChatModel, Completion
from aucert_otel.llm.parse import JsonProblem
from aucert_otel.report import Vote
from aucert_otel.spending import Spending, spending
from aucert_otel.stage import as_status
from aucert_otel.verdict import Reason, Status, Verdict
from aucert_verifiers.packaging import ANSWER, PASSAGE, Package, fit
from aucert_verifiers.stages.prompts import (
    TOKEN_SCHEMA,
    VERDICT_SCHEMA,
    Criterion,
    Wording,
    evaluation_messages,
    token_messages,
)


MAX_WHY = 4_000
"""Characters of a judge's reasoning that are kept."""
_KEYS: Final = frozenset(VERDICT_SCHEMA["required"])
_TOKEN_MAX = 256


@dataclass(slots=True)
class Bill:
    """What one call has cost so far. It is read also after the call was abandoned."""

    model: str
    calls: int = 0
    cost_usd: float | None = 0.0
    unpriced: tuple[str, ...] = ()
    spent: Spending | None = None
    """What our own models have counted so far, while the call goes on."""

    @property
    def under_way(self) -> bool:
        """A call was begun and does not wait for a free place: it may cost something by now."""
        return bool(self.calls) and not (self.spent is not None and self.spent.queued)

    def owe(self, cost_usd: float | None, unpriced: Sequence[str] = ()) -> None:
        """Add an amount; an unknown one without a name is listed under the model's."""
        self.cost_usd = add_usd(self.cost_usd, cost_usd)
        names = unpriced or ((self.model,) if cost_usd is None else ())
        self.unpriced = tuple(dict.fromkeys((*self.unpriced, *names)))


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a call gave no reply to read."""

    status: Status
    error: str
    """The kind of fault, without content or secrets."""
    reason: Reason | None = None
    """The model did reply, but the reply is of no use: an unclear vote, not a missing one."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One judge's reading of a generation: the vote, and what does not belong on the record of it."""

    vote: Vote
    ran: bool = True
    """The call came to an end, one way or the other."""

    @property
    def verdict(self) -> Verdict | None:
        """The verdict; ``None`` where there is no vote."""
        return self.vote.verdict

    @property
    def failed(self) -> bool:
        """The call was planned and made, and did not bring a vote."""
        return self.ran and self.vote.verdict is None


async def ask(
    model: ChatModel,
    messages: Sequence[ChatMessage],
    bill: Bill,
    **options: Any,
) -> Completion | Fault:
    """Call a model; whatever it raises becomes a fault, and what it cost goes on the bill."""
    bill.calls += 1
    known: tuple[float | None, tuple[str, ...]] = (None, (f"{model.model} (abandoned)",))
    with spending() as spent:
        bill.spent = spent
        try:
            answer = await _answer(model, messages, options)
            # A model of somebody else's says at the end what it cost, if it does.
            cost = known_usd(getattr(answer, "cost_usd", None))
            known = (cost, tuple(getattr(answer, "unpriced", ())))
        finally:
            if spent.calls:  # ours count every attempt as it is made, abandoned ones included
                known = (spent.cost_usd, spent.unpriced)
            bill.owe(*known)
    return answer if isinstance(answer, Completion) else fault_of(answer)


async def _answer(
    model: ChatModel, messages: Sequence[ChatMessage], options: Mapping[str, Any]
) -> Completion | BaseException:
    try:
        found: object = await model.complete(messages, **options)
    except asyncio.CancelledError as error:
        if (task := asyncio.current_task()) is None or task.cancelling():
            raise
        return error  # nobody cancelled us: the model let a cancelled task of its own escape
    except Exception as error:  # noqa: BLE001 - the boundary: one panellist's fault must not take the others' votes with it
        return error
    if isinstance(found, Completion):
        return found
    return TypeError(f"complete() returned {type(found).__name__}, not a Completion")


def fault_of(error: BaseException) -> Fault:
    """What an exception of a model means. Its own message stays out: it may quote content."""
    name = type(error).__name__
    if isinstance(error, Truncated):
        return Fault(Status.OK, name, Reason.TRUNCATED)
    status = getattr(error, "status", None) if isinstance(error, ModelError) else None
    return Fault(as_status(error).status, name if status is None else f"{name} (HTTP {status})")


async def evaluate(
    model: ChatModel,
    messages: Sequence[ChatMessage],
    bill: Bill,
    *,
    voter: str,
    wording: Wording,
    temperature: float | None = None,
    max_tokens: int | None = None,
    must_reason: bool = False,
) -> Evaluation:
    """Have a model judge, and read what it says as a vote.

    Args:
        model: The judge.
        messages: What it is asked.
        bill: Where the cost goes.
        voter: Its name on the record.
        wording: How it is asked, for the record.
        temperature: Not every model takes one; the record says whether this one did.
        max_tokens: Tokens the reply may take.
        must_reason: A verdict without reasoning is malformed.
    """
    reply = await ask(
        model,
        messages,
        bill,
        schema=VERDICT_SCHEMA,
        temperature=temperature,
        max_tokens=max_tokens,
    )
    label = wording.name
    if isinstance(reply, Fault):
        vote = Vote(
            voter,
            None if reply.reason is None else Verdict.UNCLEAR,
            reason=reply.reason,
            status=reply.status,
            error=reply.error,
            label=label,
        )
        return Evaluation(vote)
    if reply.temperature_applied and temperature is not None:
        label = f"{label}, temperature {temperature:g}"
    return Evaluation(read(voter, reply, must_reason=must_reason, label=label))


def read(voter: str, reply: Completion, *, must_reason: bool = False, label: str = "") -> Vote:
    """A reply as a vote. Anything but the object that was asked for is unclear."""
    try:
        verdict, confidence, why = _read(reply, must_reason=must_reason)
    except _Unusable as problem:
        return Vote(voter, Verdict.UNCLEAR, reason=problem.reason, error=str(problem), label=label)
    reason = Reason.ABSTAINED if verdict is Verdict.UNCLEAR else None
    return Vote(voter, verdict, confidence=confidence, why=why, reason=reason, label=label)


class _Unusable(Exception):  # noqa: N818 - what a reply is, not a bug
    """A reply that is not the object that was asked for."""

    def __init__(self, reason: Reason, what: str) -> None:
        super().__init__(what)
        self.reason = reason


def _read(reply: Completion, *, must_reason: bool) -> tuple[Verdict, float, str]:
    data = reply.data
    if data is None:
        cut = reply.problem is JsonProblem.TRUNCATED
        what = "no object" if reply.problem is None else reply.problem.value
        raise _Unusable(Reason.TRUNCATED if cut else Reason.MALFORMED, what)
    if data.keys() != _KEYS:  # one verdict and no other, under another name, beside it
        raise _Unusable(Reason.MALFORMED, "other keys than were asked for")
    confidence = _confidence(data["confidence"])
    if confidence is None:
        raise _Unusable(Reason.MALFORMED, "the confidence is no number from 0 to 100")
    why = data["reasoning"]
    if not isinstance(why, str) or (must_reason and not why.strip()):
        raise _Unusable(Reason.MALFORMED, "there is no reasoning")
    verdict = _verdict(data)
    if verdict is None:
        raise _Unusable(Reason.OUT_OF_VOCABULARY, "the verdict is no word we know")
    return verdict, confidence, fit(why[:MAX_WHY])


def _verdict(data: Mapping[str, Any]) -> Verdict | None:
    said = data["verdict"]
    if not isinstance(said, str):
        return None
    try:
        return Verdict(said.strip().lower())  # "PASS" is the same word
    except ValueError:
        return None


def _confidence(said: object) -> float | None:
    """A stated confidence in [0, 1]; ``None`` for whatever is not a number from 0 to 100.

    A model that answers on a scale to 1 is read as very unsure, which settles nothing.
    """
    if isinstance(said, bool) or not isinstance(said, (int, float)):
        return None
    if not 0 <= said <= 100 or not math.isfinite(said):  # NaN fails the first
        return None
    return said / 100


def of_what_was_shown(evaluation: Evaluation, package: Package) -> Evaluation:
    """A judge cannot approve what it was not shown, nor miss support in what it was not shown."""
    vote = evaluation.vote
    hides_answer = not package.shows_all(ANSWER)
    hides_support = not package.shows_all(PASSAGE)
    if (vote.verdict is Verdict.PASS and hides_answer) or (
        vote.verdict is Verdict.FAIL and hides_support
    ):
        vote = replace(
            vote,
            verdict=Verdict.UNCLEAR,
            reason=Reason.NOT_CHECKED,
            error=f"said {vote.verdict.value} having been shown {package.share:.0%} of the material",
        )
        return replace(evaluation, vote=vote)
    return evaluation


async def judge(
    model: ChatModel,
    criterion: Criterion,
    package: Package,
    generation: Generation,
    *,
    wording: Wording,
    bill: Bill,
    **options: Any,
) -> Evaluation:
    """`evaluate` a generation on its own, with nobody else's opinion in the material."""
    messages = evaluation_messages(criterion, wording, package, generation)
    found = await evaluate(model, messages, bill, wording=wording, **options)
    return of_what_was_shown(found, package)


async def token_probability(
    model: ChatModel, criterion: Criterion, package: Package, generation: Generation, bill: Bill
) -> float | Fault:
    """The probability that the criterion holds, by the token that says pass or fail.

    A fault where the call failed or the server gives no log probabilities.
    """
    reply = await ask(
        model,
        token_messages(criterion, package, generation),
        bill,
        schema=TOKEN_SCHEMA,
        temperature=0.0,
        max_tokens=_TOKEN_MAX,
        logprobs=True,
    )
    if isinstance(reply, Fault):
        return reply
    labels = (Verdict.PASS.value, Verdict.FAIL.value)
    split = None
    if reply.data is not None:
        split = label_probabilities(reply.logprobs, labels, key="verdict")
    if split is None:
        return Fault(Status.UNAVAILABLE, "no log probabilities")
    return min(max(split[Verdict.PASS.value], 0.0), 1.0)
