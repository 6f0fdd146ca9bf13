"""What was gathered while an answer was written: its evidence, and the model calls behind it."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from llama_index.core.base.llms.types import ChatMessage

from aucert_integrations.llama_index.reading import Answer, as_messages, last_question, together
from aucert_otel.generation import Generation, Message, Passage


MAX_PASSAGES = 512
MAX_ANSWERS = 32


@dataclass(frozen=True, slots=True)
class Finished:
    """One call of a model with what it was asked and wrote."""

    asked: Sequence[ChatMessage] | str
    answer: Answer
    order: int
    """The clock when it ended."""


@dataclass(slots=True, eq=False)
class Gathered:
    """Model calls and evidence, in the order in which they came."""

    passages: deque[Passage] = field(default_factory=lambda: deque(maxlen=MAX_PASSAGES))
    searched: bool = False
    calls: dict[str, tuple[Sequence[ChatMessage] | str, int, str | None]] = field(
        default_factory=dict
    )
    """Calls that have not ended, by span: what was asked, the clock then, the finish reason so far."""
    finished: deque[Finished] = field(default_factory=lambda: deque(maxlen=MAX_ANSWERS))
    skipped_at: int = -1
    """The clock when the last call began that raised, or ended that somebody else verified."""
    clock: int = 0

    def begin(self, span: str, asked: Sequence[ChatMessage] | str) -> None:
        """A model call starts."""
        self.clock += 1
        self.calls[span] = (asked, self.clock, None)

    def heard(self, span: str, finish_reason: str) -> None:
        """A chunk of a stream says why it ends; the chunk after it may only carry usage."""
        if span in self.calls:
            asked, started, _ = self.calls[span]
            self.calls[span] = (asked, started, finish_reason)

    def end(self, span: str, answer: Answer | None) -> bool:
        """A model call ends, with ``None`` where it raised or was abandoned."""
        asked, started, finish = self.calls.pop(span, ("", 0, None))
        if not started:
            return False
        self.clock += 1
        if answer is None:
            self.skipped_at = max(self.skipped_at, started)
        else:
            if answer.finish_reason is None and finish is not None:
                answer = replace(answer, finish_reason=finish)
            self.finished.append(Finished(asked, answer, self.clock))
        return True

    def skip(self) -> None:
        """Somebody who verifies on his own has answered."""
        self.clock += 1
        self.skipped_at = self.clock

    def add(self, passages: Sequence[Passage]) -> None:
        """A search or a tool returned these; none is a fact too."""
        self.searched = True
        self.passages.extend(passages)

    def chosen(self, text: str | None) -> tuple[Finished, str] | None:
        """The model call behind a finished answer, and the answer's text.

        It is the call that wrote just this text, else the last one, unless a later call raised or
        was verified by somebody else: then there is nothing new to look at.

        Args:
            text: The answer as the engine returned it; ``None`` where it is what the model wrote.
        """
        for call in reversed(self.finished):
            if text and call.answer.text == text and not call.answer.asks_tools:
                return call, text
        if not self.finished:
            return None
        last = self.finished[-1]
        running = max((started for _, started, _ in list(self.calls.values())), default=-1)
        if max(running, self.skipped_at) > last.order:
            return None
        said = last.answer.text
        if last.answer.asks_tools and text in (None, said):
            return None  # a step, unless its arguments became a structured answer
        return last, said if text is None else text

    def generation(
        self,
        text: str,
        *,
        call: Finished | None = None,
        question: str | None = None,
        evidence: Sequence[Passage] | None = None,
        tenant: str | None = None,
        raw: Any = None,
    ) -> Generation:
        """A finished answer with everything known about it.

        Usage is that of all calls: an engine may ask several times to write one answer.
        """
        call = call or (self.finished[-1] if self.finished else None)
        messages: tuple[Message, ...] = ()
        answer = Answer("")
        if call is not None:
            answer = call.answer
            asked = call.asked
            messages = (Message("user", asked),) if isinstance(asked, str) else as_messages(asked)
        return Generation(
            text,
            question=question or last_question(messages),
            messages=messages,
            evidence=evidence,
            model=answer.model,
            finish_reason=answer.finish_reason,
            usage=together(each.answer.usage for each in self.finished),
            tenant=tenant,
            metadata={} if answer.logprobs is None else {"logprobs": answer.logprobs},
            raw=raw,
        )
