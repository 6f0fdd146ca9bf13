"""The splitter that needs no model: sentences, then clause rules, then references."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, field
from typing import Final

from aucert_otel.errors import ConfigurationError
from aucert_verifiers.grounding.claim import Claim, Split, Unreadable, Unsplit
from aucert_verifiers.grounding.clauses import clauses_of, is_instruction
from aucert_verifiers.grounding.faithful import missing_numbers
from aucert_verifiers.grounding.language import foreign
from aucert_verifiers.grounding.layout import Block, Kind, blocks_of, words_of
from aucert_verifiers.grounding.phrases import (
    has_words,
    is_abstention,
    is_polite,
    is_question,
    is_sign_off,
    without_openers,
)
from aucert_verifiers.grounding.references import References
from aucert_verifiers.grounding.sentences import require, sentence_spans


_SCHEME: Final = "rules/1"
"""Part of the fingerprint. Change it when replies are split differently."""

MAX_CHARS: Final = 200_000
"""Characters of a reply that are read, by default."""
MAX_CLAIMS: Final = 2_000
"""Claims that are made of one reply, by default."""

_NAME_WORDS: Final = 6
_DIGIT: Final = re.compile(r"\d")
_ASKED_FOR: Final = re.compile(
    r"(?:please\s+)?(?:just\s+|simply\s+|kindly\s+)?(?:reply|respond|send|attach|include|provide|upload|"
    r"submit|bring|show|present|share|email|e-mail)\b(?:\s+(?:us|me|back|here|to\s+this\s+(?:email|message|"
    r"e-mail)|it|them|in|over|along|by\s+\w+)){0,3}\s+(?:with\s+)?"
    r"((?:a|an|the|your|some|any|two|three|both|proof|photos?|pictures?|copies|copy|details)\b[^,;.!?]{0,160})",
    re.IGNORECASE,
)
_TO: Final = re.compile(
    r"\s+(?:to\s+(?:us|me|this|our)\b|and\s+(?:we|i|you|our)\b|so\s+(?:we|that|i)\b).*",
    re.IGNORECASE,
)
# What follows for one person from a rule and that person's facts takes both.
_SEVERAL: Final = re.compile(
    r"(?:so\s+|then\s+|if\s+[^,]{1,200},\s+)?(?:you|your\s+\w+(?:\s+\w+)?)(?:['\u2019]re|\s+(?:are|is|were|was|have|has|still|can\s+still|do|does|should|would))?\s+"
    r"(?:still\s+|well\s+|now\s+|also\s+|already\s+|definitely\s+|not\s+|no\s+longer\s+|be\s+|just\s+)*"
    r"(?:within|inside|outside|past|in\s+time|too\s+late|eligible|ineligible|entitled|covered|qualif(?:y|ies|ied)|"
    r"on\s+time|late|overdue|missed|under\s+warranty)\b",
    re.IGNORECASE,
)
_BULLET_VERB: Final = re.compile(
    r"\b(?:is|are|was|were|can|cannot|must|may|will|would|should|has|have|had|do|does|takes?|costs?|applies|"
    r"includes?|needs?|requires?|lasts?|ends?|starts?|expires?|gets?|gives?)\b|n't\b|'(?:re|ll|ve)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class RuleSplitter:
    """Splits a reply by rules: offline, the same every time, in well under a millisecond a sentence.

    It knows English. A sentence in another language is a claim as a whole, and `Split.unreadable` says
    so. A sentence it finds no statement border in stays one claim: it cuts too little rather than too
    much, and never drops a sentence that holds a number.

    Args:
        max_chars: Characters of a reply that are read.
        max_claims: Claims that are made of it. What is beyond either is in `Split.unreadable`.

    Raises:
        ConfigurationError: a limit is not a whole number from 1 up.
        MissingExtraError: the extra ``grounding`` is not installed.
    """

    _: KW_ONLY
    max_chars: int = MAX_CHARS
    max_claims: int = MAX_CLAIMS
    name: str = "rules"
    fingerprint: str = field(init=False)

    def __post_init__(self) -> None:
        for option in ("max_chars", "max_claims"):
            value = getattr(self, option)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ConfigurationError(
                    f"splitter.{option} is {value!r}: give a whole number from 1 up"
                )
        require()
        parts = f"{_SCHEME}|{self.max_chars}|{self.max_claims}"
        object.__setattr__(self, "fingerprint", parts)

    def split(self, reply: str, question: str | None = None, /) -> Split:  # noqa: ARG002 - the seam's; rules resolve references within the reply only
        """Split a reply; see `Splitter`."""
        return _Run(self, reply).split()


@dataclass(slots=True)
class _Run:
    """One reply being split."""

    limits: RuleSplitter
    reply: str
    claims: list[Claim] = field(default_factory=list)
    abstained: list[str] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    unreadable: list[Unreadable] = field(default_factory=list)
    said: References = field(default_factory=References)
    signed: bool = False
    """The letter has been closed: what follows is a name."""
    stopped: int | None = None
    """Where reading stopped, if it did."""

    def split(self) -> Split:
        reply, limit = self.reply, self.limits.max_chars
        text = reply[:limit]
        if len(reply) > limit:
            self.stopped = limit
        prose: list[str] = []
        code: list[str] = []
        for block in blocks_of(text):
            piece = words_of(text, block)
            (code if block.kind is Kind.CODE else prose).append(piece)
            if len(self.claims) >= self.limits.max_claims:
                self.stopped = min(self.stopped or block.start, block.start)
                break
            self._block(block, piece)
        if self.stopped is not None:
            self.unreadable.append(
                Unreadable(
                    Unsplit.LENGTH, self.stopped, len(reply), "the reply is longer than is read"
                )
            )
        texts = [claim.text for claim in self.claims]
        lost = missing_numbers(
            [*prose, *code], [*texts, *(claim.sentence for claim in self.claims if claim.implied)]
        )
        return Split(
            tuple(self.claims),
            abstained=tuple(self.abstained),
            dropped=tuple(self.dropped),
            unreadable=tuple(self.unreadable),
            lost=lost,
            invented=missing_numbers(texts, [reply]),
            covered=1.0 if not reply or self.stopped is None else self.stopped / len(reply),
        )

    def _block(self, block: Block, piece: str) -> None:
        if block.kind is Kind.CODE:
            self.unreadable.append(
                Unreadable(Unsplit.CODE, block.start, block.end, "a block of program code")
            )
        elif block.kind is Kind.ROW:
            self._row(block, piece)
        elif block.kind is Kind.HEADING and not _DIGIT.search(piece):
            self._drop(piece)
        else:
            for start, end in sentence_spans(piece):
                if self.stopped is not None and block.start + start >= self.stopped:
                    return  # there are more claims than are taken
                self._sentence(block, piece[start:end], block.start + start)

    def _drop(self, text: str) -> None:
        text = _joined(text)
        if text:
            self.dropped.append(text)

    def _row(self, block: Block, piece: str) -> None:
        """A table's row: one claim for each cell, with the row's and the column's name."""
        cells = [(name, cell) for name, cell in block.cells if cell]
        sentence = _joined(piece.strip().strip("|"))
        if not has_words(piece):
            return
        if len(cells) < 2 or not cells[1][0]:
            text = (
                ": ".join((cells[0][1], ", ".join(cell for _, cell in cells[1:])))
                if len(cells) > 1
                else sentence
            )
            self._add(Claim(text, sentence, block.start, block.end))
            return
        subject = cells[0][1]
        for name, cell in cells[1:]:
            self._add(Claim(f"{subject}: {name} {cell}".strip(), sentence, block.start, block.end))

    def _sentence(self, block: Block, sentence: str, at: int) -> None:
        shown = _joined(sentence)
        if not has_words(sentence):
            self._drop(shown)
            return
        strange = foreign(sentence)
        if strange is not None:
            if is_question(sentence) and not _DIGIT.search(sentence):
                self._drop(shown)
                return
            self._strange(f"it is written in {strange}", at, at + len(sentence))
            self._add(Claim(shown, shown, at, at + len(sentence)))
            return
        if is_abstention(sentence):
            self.abstained.append(shown)
            if not _DIGIT.search(sentence):
                return
        elif is_question(sentence) and not _DIGIT.search(sentence):
            self._drop(shown)
            return
        if not _DIGIT.search(sentence) and self._says_nothing(sentence):
            self._drop(shown)
            return
        for claim in self._claims(block, sentence, shown, at):
            self._add(claim)

    def _says_nothing(self, sentence: str) -> bool:
        if is_polite(sentence):
            self.signed = self.signed or is_sign_off(sentence)
            return True
        if self.signed and len(sentence.split()) <= _NAME_WORDS:
            return True
        return sentence.endswith((":", "\uff1a"))  # what it introduces follows

    def _strange(self, detail: str, start: int, end: int) -> None:
        last = self.unreadable[-1] if self.unreadable else None
        if last is not None and last.why is Unsplit.LANGUAGE and last.detail == detail:
            self.unreadable[-1] = Unreadable(last.why, last.start, end, detail)
        else:
            self.unreadable.append(Unreadable(Unsplit.LANGUAGE, start, end, detail))

    def _claims(self, block: Block, sentence: str, shown: str, at: int) -> Iterator[Claim]:
        begin = without_openers(sentence)
        if _DIGIT.search(sentence[:begin]):
            begin = 0
        for clause in clauses_of(sentence[begin:]):
            start, end = begin + clause.start, begin + clause.end
            words = _trimmed(sentence[start:end])
            skip = without_openers(words)
            if skip and not _DIGIT.search(words[:skip]):
                words, start = words[skip:], start + skip
            if not has_words(words):
                continue
            if is_polite(words) and not _DIGIT.search(words):
                self._drop(words)
                continue
            if clause.subject:
                words = f"{clause.subject} {words}"
            yield self._claim(block, words, shown, at + start, at + end)

    def _claim(self, block: Block, words: str, sentence: str, start: int, end: int) -> Claim:
        instruction = is_instruction(words)
        several = _SEVERAL.match(words) is not None
        text, unresolved = self.said.resolve(words)
        if instruction:
            text = _implied(text)
        elif block.kind is Kind.ITEM and block.lead and not _BULLET_VERB.search(words):
            text = f"{block.lead}: {text}"
        elif block.heading and len(words.split()) < 9 and not _BULLET_VERB.search(words):
            text = f"{block.heading}: {text}"
        self.said.note(text)
        return Claim(
            _finished(text), sentence, start, end,
            implied=instruction, several=several, unresolved=unresolved,
        )  # fmt: skip

    def _add(self, claim: Claim) -> None:
        if len(self.claims) < self.limits.max_claims:
            self.claims.append(claim)
        elif self.stopped is None or claim.start < self.stopped:
            self.stopped = claim.start


def _implied(text: str) -> str:
    """What an instruction implies: to be told to send a photo is to be told that one is asked for."""
    found = _ASKED_FOR.match(text)
    if found is not None:
        asked = _TO.sub("", found.group(1)).strip(" .!")
        if asked:
            return f"The policy asks for {asked}"
    text = re.sub(r"^(?:please|kindly|just|simply)\s+", "", text.strip(), flags=re.IGNORECASE)
    return f"The policy asks you to {text[:1].lower()}{text[1:]}"


def _joined(text: str) -> str:
    return " ".join(text.split())


def _trimmed(text: str) -> str:
    return text.strip().strip(",;").strip()


def _finished(text: str) -> str:
    """As a sentence: a capital first, and a mark at the end."""
    text = _joined(text).strip("*_ ").rstrip(",;:\u2014\u2013- ")
    if not text:
        return text
    text = text[0].upper() + text[1:]
    return (
        text if text[-1] in '.!?\u3002\uff01\uff1f\u2026\u061f\u06d4\u0964"\u201d)' else f"{text}."
    )
