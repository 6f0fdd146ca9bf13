"""Which of two replies is better: asked in both orders, since judges favour a place.

Only what a judge says in both orders counts. Where the order decides, nothing is decided.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, Final, Literal

from aucert_otel.background import worker
from aucert_otel.costs import add_usd
from aucert_otel.errors import ConfigurationError
from aucert_otel.generation import Generation
from aucert_otel.llm.model import ChatMessage, ChatModel, Completion
from aucert_otel.llm.parse import JsonProblem
from aucert_otel.report import NOT_NEUTRAL
from aucert_otel.verdict import Reason, Status
from aucert_verifiers.judge.kin import neutral
from aucert_verifiers.judge.prompts import CLOSING, stated
from aucert_verifiers.judge.reading import MAX_WHY
from aucert_verifiers.judge.rubric import CODE, Rubric, default_rubric
from aucert_verifiers.packaging import (
    ANSWER,
    Limits,
    Nonce,
    Piece,
    fit,
    fresh_nonce,
    package,
    pieces_of,
)
from aucert_verifiers.stages.evaluation import Bill, Fault, ask
from aucert_verifiers.stages.panel import Seat, hear


Better = Literal["a", "b", "equal"]
_PLACES: Final = ("first", "second", "equal")
_KEYS: Final = frozenset({CODE, "why", "better"})

_TASK: Final = (
    "You are an independent judge. You are shown material that others wrote, among it two answers to "
    "the same question, answer 1 and answer 2. Say which of them meets the criteria better. Their "
    "order is arbitrary, and a longer answer is not a better one. You did not write any of it."
)
_FORM: Final = (
    'Reply with one JSON object with exactly these keys: "code", the code that stands in the marks '
    'around the material; "why", one sentence; "better": "first" for answer 1, "second" for answer 2, '
    '"equal" where neither is better.'
)
_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        CODE: {"type": "string"},
        "why": {"type": "string"},
        "better": {"type": "string", "enum": list(_PLACES)},
    },
    "required": [CODE, "why", "better"],
    "additionalProperties": False,
}
_ANSWER: Final = "answer"


@dataclass(frozen=True, slots=True)
class Ballot:
    """What the judge said in one order."""

    order: tuple[str, str]
    """Which reply stood first and which second: ``("a", "b")`` or ``("b", "a")``."""
    better: Better | None = None
    """The reply it prefers, whatever its place; ``None``: it gave no usable preference."""
    _: KW_ONLY
    why: str = ""
    reason: Reason | None = None
    status: Status = Status.OK
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Which of two replies is better, if both orders say the same."""

    better: Better | None
    """``None``: unclear, for the ``reason`` given, or the judge did not run (``status``)."""
    _: KW_ONLY
    reason: Reason | None = None
    status: Status = Status.OK
    error: str | None = None
    ballots: tuple[Ballot, ...] = ()
    neutral: bool = False
    cost_usd: float | None = 0.0
    unpriced: tuple[str, ...] = ()
    calls: int = 0


@dataclass(frozen=True, slots=True)
class PairJudge:
    """Compares two replies to one question by a rubric.

    Args:
        model: The judge.
        rubric: What better means; default: the four criteria that are shipped.
        strict: Refuse to compare where an author may be of the judge's own family.
        limits: How much of the material the judge is shown.
        max_tokens: Tokens one reply of the judge may take.
        nonce: Draws the code that fences the material of one call.
    """

    model: ChatModel
    _: KW_ONLY
    rubric: Rubric = field(default_factory=default_rubric)
    strict: bool = False
    limits: Limits = field(default_factory=Limits)
    max_tokens: int | None = None
    nonce: Nonce = fresh_nonce

    @property
    def fingerprint(self) -> str:
        """Changes with the judge, the rubric and the prompt."""
        said = ("pairs/1", _TASK, _FORM, CLOSING, self.rubric, self.limits, self.max_tokens)
        judge = f"{self.model.provider}|{self.model.family}|{self.model.model}"
        text = repr((*said, judge)).encode("utf-8", "backslashreplace")
        return hashlib.sha256(text).hexdigest()[:16]

    async def compare(self, a: Generation, b: Generation) -> Comparison:
        """Ask in both orders at once, and take what they agree on.

        Question, passages and pictures are those of ``a``.

        Raises:
            ConfigurationError: the two do not answer the same question.
        """
        if a.question != b.question:
            raise ConfigurationError(
                "compare() was given answers to two questions: give two answers to one"
            )
        return await worker().join(self._compare(a, b))

    def compare_sync(self, a: Generation, b: Generation) -> Comparison:
        """`compare`, blocking the calling thread.

        Raises:
            ConfigurationError: the two do not answer the same question.
            RuntimeError: called from the SDK's own event loop, which would wait for itself.
        """
        return worker().run(self.compare(a, b))

    async def _compare(self, a: Generation, b: Generation) -> Comparison:
        is_neutral = neutral([self.model], a) and neutral([self.model], b)
        if self.strict and not is_neutral:
            return Comparison(None, status=Status.REFUSED, error=NOT_NEUTRAL)
        seats = [
            self._seat(a, {"a": a.output, "b": b.output}),
            self._seat(a, {"b": b.output, "a": a.output}),
        ]
        await hear(seats)
        ballots = tuple(seat.result for seat in seats if seat.result is not None)
        bills = [seat.bill for seat in seats]
        return replace(
            _agreed(ballots),
            ballots=ballots,
            neutral=is_neutral,
            cost_usd=add_usd(*[bill.cost_usd for bill in bills]),
            unpriced=tuple(dict.fromkeys(name for bill in bills for name in bill.unpriced)),
            calls=sum(bill.calls for bill in bills),
        )

    def _seat(self, asked: Generation, answers: dict[str, str]) -> Seat[Ballot]:
        first, second = answers
        pieces = [each for each in pieces_of(asked, self.limits) if each.kind != ANSWER]
        pieces += [
            Piece(_ANSWER, text, limit=self.limits.answer, number=number)
            for number, text in enumerate(answers.values(), 1)
        ]
        shown = package(pieces, nonce=self.nonce)
        listed = "\n".join(map(stated, self.rubric))
        system = "\n\n".join((_TASK, f"The criteria:\n{listed}", _FORM))
        user = ChatMessage("user", f"{shown.text}\n\n{CLOSING}", tuple(asked.images))

        async def run(bill: Bill) -> Ballot:
            reply = await ask(
                self.model,
                (ChatMessage("system", system), user),
                bill,
                schema=_SCHEMA,
                max_tokens=self.max_tokens,
            )
            empty = Ballot((first, second))
            if isinstance(reply, Fault):
                return replace(empty, reason=reply.reason, status=reply.status, error=reply.error)
            if not shown.shows_all(_ANSWER):
                return replace(empty, reason=Reason.NOT_CHECKED, error="not all of it was shown")
            return _ballot(reply, empty, shown.nonce)

        return Seat(f"{first} before {second}", self.model, run)


def _ballot(reply: Completion, empty: Ballot, code: str) -> Ballot:
    data = reply.data
    if data is None:
        cut = reply.problem is JsonProblem.TRUNCATED
        what = "no object" if reply.problem is None else reply.problem.value
        return replace(empty, reason=Reason.TRUNCATED if cut else Reason.MALFORMED, error=what)
    if CODE in data and data[CODE] != code:
        return replace(empty, reason=Reason.FORGED, error="the code is not that of the call")
    why, better = data.get("why"), data.get("better")
    if data.keys() != _KEYS or not isinstance(why, str):
        return replace(empty, reason=Reason.MALFORMED, error="other keys than were asked for")
    if not isinstance(better, str) or better not in _PLACES:
        return replace(empty, reason=Reason.OUT_OF_VOCABULARY, error="no place we know")
    said: Any = {**dict(zip(_PLACES, empty.order, strict=False)), "equal": "equal"}[better]
    return replace(empty, better=said, why=fit(why[:MAX_WHY]))


def _agreed(ballots: Sequence[Ballot]) -> Comparison:
    for ballot in ballots:
        if ballot.status is not Status.OK:
            return Comparison(None, status=ballot.status, error=ballot.error)
    said = {ballot.better for ballot in ballots}
    if len(said) == 1 and (better := said.pop()) is not None:
        return Comparison(better)
    reasons = {ballot.reason for ballot in ballots}
    only = reasons.pop() if len(reasons) == 1 else None
    return Comparison(None, reason=only or Reason.INCONSISTENT)
