"""The splitter that asks a chat model. What it says is checked; what is malformed is never used."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Final

from aucert_otel.background import worker
from aucert_otel.errors import ConfigurationError
from aucert_otel.llm.model import ChatModel, Completion
from aucert_otel.llm.parse import JsonProblem
from aucert_otel.verdict import Reason
from aucert_verifiers.grounding import prompts
from aucert_verifiers.grounding.claim import Claim, Split, Unreadable, Unsplit
from aucert_verifiers.grounding.faithful import missing_numbers
from aucert_verifiers.judge.quotes import Quoted
from aucert_verifiers.packaging import QUESTION, Nonce, Piece, fit, fresh_nonce, package
from aucert_verifiers.stages.evaluation import Bill, Fault, ask


_SCHEME: Final = "model/1"
"""Part of the fingerprint. Change it when what the model says is read differently."""

MAX_CLAIMS: Final = 500
"""Claims that are taken from one answer of the model. An answer with more is malformed."""
MAX_CLAIM_CHARS: Final = 4_000


class _UnusableError(Exception):
    """The model's answer cannot be used: the message says why, without content."""

    def __init__(self, reason: Reason, what: str) -> None:
        super().__init__(what)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class ModelSplitter:
    """Splits a reply by asking a chat model, in one call.

    The model may drop the claim that matters or change a number. So every claim names the sentence it
    was made from, which has to be in the reply, and the numbers are compared in both directions: see
    `Split.lost` and `Split.invented`. An answer that is not exactly what was asked for gives a split
    with a ``reason`` and no claims; a model that cannot be reached gives one with a ``status``.

    Args:
        model: The chat model.
        max_chars: Characters of the reply it is shown. Of a longer one it sees the beginning and the
            end, and `Split.covered` says how much that was.
        max_tokens: Tokens its answer may take; ``None`` leaves it to the server.
        temperature: Not every model takes one.
        nonce: Draws the code that fences the reply.

    Raises:
        ConfigurationError: a limit is not a whole number from 1 up.
    """

    model: ChatModel
    _: KW_ONLY
    max_chars: int = 32_000
    max_tokens: int | None = None
    temperature: float | None = 0.0
    nonce: Nonce = fresh_nonce
    name: str = "model"
    fingerprint: str = field(init=False)

    def __post_init__(self) -> None:
        for option in ("max_chars", "max_tokens"):
            value = getattr(self, option)
            if option == "max_tokens" and value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ConfigurationError(
                    f"splitter.{option} is {value!r}: give a whole number from 1 up"
                )
        model = self.model
        said = (
            _SCHEME, prompts.TASK, prompts.FORM, prompts.CLOSING, model.provider, model.family,
            model.model, self.max_chars, self.max_tokens, self.temperature,
        )  # fmt: skip
        text = repr(said).encode("utf-8", "backslashreplace")
        object.__setattr__(self, "fingerprint", hashlib.sha256(text).hexdigest()[:16])

    async def split(self, reply: str, question: str | None = None, /) -> Split:
        """Split a reply; see `Splitter`. A model's fault is in the split, and never raised."""
        return await worker().join(self._split(reply, question))

    async def _split(self, reply: str, question: str | None) -> Split:
        if not reply.strip():
            return Split(())
        pieces = [Piece(prompts.REPLY, reply, limit=self.max_chars)]
        if question:
            pieces.insert(0, Piece(QUESTION, question, limit=self.max_chars))
        shown = package(pieces, nonce=self.nonce)
        bill = Bill(self.model.model)
        found = await ask(
            self.model,
            prompts.messages(shown),
            bill,
            schema=prompts.SCHEMA,
            temperature=self.temperature,
            max_tokens=self.max_tokens,
        )
        if isinstance(found, Fault):
            return Split(
                (),
                status=found.status,
                reason=found.reason,
                error=found.error,
                bill=bill,
                covered=0.0,
            )
        try:
            claims, abstained, dropped = _read(found, reply, shown.nonce)
        except _UnusableError as problem:
            return Split((), reason=problem.reason, error=str(problem), bill=bill, covered=0.0)
        texts = [claim.text for claim in claims]
        covered = shown.covered.get(prompts.REPLY, 1.0)
        hidden = () if covered >= 1.0 else (_hidden(reply, self.max_chars),)
        return Split(
            claims,
            abstained=abstained,
            dropped=dropped,
            unreadable=hidden,
            lost=missing_numbers([reply], texts),
            invented=missing_numbers(texts, [reply]),
            covered=covered,
            bill=bill,
        )


def _hidden(reply: str, limit: int) -> Unreadable:
    """The middle of a reply that the model was not shown."""
    tail = limit // 2
    return Unreadable(
        Unsplit.LENGTH, limit - tail, len(reply) - tail, "the model was not shown all of the reply"
    )


def _read(
    found: Completion, reply: str, code: str
) -> tuple[tuple[Claim, ...], tuple[str, ...], tuple[str, ...]]:
    data = found.data
    if data is None:
        cut = found.problem is JsonProblem.TRUNCATED
        what = "no object" if found.problem is None else found.problem.value
        raise _UnusableError(Reason.TRUNCATED if cut else Reason.MALFORMED, what)
    if prompts.CODE in data and data[prompts.CODE] != code:
        raise _UnusableError(Reason.FORGED, "the code is not that of the call")
    if data.keys() != prompts.SCHEMA["properties"].keys():
        raise _UnusableError(Reason.MALFORMED, "other keys than were asked for")
    claims = data["claims"]
    if not isinstance(claims, list) or len(claims) > MAX_CLAIMS:
        raise _UnusableError(Reason.MALFORMED, "the claims are no list, or too many")
    quoted = Quoted.of(reply)
    return (
        tuple(_claim(each, quoted, reply) for each in claims),
        _sentences(data["abstained"], quoted, reply),
        _sentences(data["dropped"], quoted, reply),
    )


def _claim(data: object, quoted: Quoted, reply: str) -> Claim:
    if not isinstance(data, Mapping) or data.keys() != set(prompts.KEYS):
        raise _UnusableError(Reason.MALFORMED, "a claim is not the object that was asked for")
    text, sentence = data["text"], data["sentence"]
    if not isinstance(text, str) or not isinstance(sentence, str) or not text.strip():
        raise _UnusableError(Reason.MALFORMED, "a claim is no text")
    if len(text) > MAX_CLAIM_CHARS:
        raise _UnusableError(Reason.MALFORMED, "a claim is longer than a claim can be")
    if not isinstance(data["implied"], bool) or not isinstance(data["several"], bool):
        raise _UnusableError(Reason.MALFORMED, "a mark of a claim is neither true nor false")
    said = _in_reply(sentence, quoted, reply)
    start, end = _place(reply, sentence, said)
    return Claim(
        fit(" ".join(text.split())), said, start, end,
        implied=data["implied"], several=data["several"],
    )  # fmt: skip


def _sentences(data: Any, quoted: Quoted, reply: str) -> tuple[str, ...]:
    if not isinstance(data, list) or not all(isinstance(each, str) for each in data):
        raise _UnusableError(Reason.MALFORMED, "a list of sentences holds something else")
    if len(data) > MAX_CLAIMS:
        raise _UnusableError(Reason.MALFORMED, "there are too many sentences")
    return tuple(_in_reply(each, quoted, reply) for each in data if each.strip())


def _in_reply(sentence: str, quoted: Quoted, reply: str) -> str:
    found = quoted.find(sentence)
    if found is None and sentence.strip() and sentence.strip() in reply:
        return " ".join(sentence.split())  # "Hi!" is too short to be looked for in any other way
    if found is None:
        raise _UnusableError(Reason.MALFORMED, "it names a sentence that the reply does not say")
    return found


def _place(reply: str, sentence: str, said: str) -> tuple[int, int]:
    """Where a sentence stands in the reply; all of the reply if its blanks hide that."""
    for text in (sentence, sentence.strip(), said):
        at = reply.find(text)
        if at >= 0 and text:
            return at, at + len(text)
    return 0, len(reply)
