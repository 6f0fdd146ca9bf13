"""What one root run gathered: its evidence, its question, and the model calls under it."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from langchain_core.messages import BaseMessage
from opentelemetry.context import Context
from pydantic import BaseModel
from pydantic_core import to_json

from aucert_integrations.langchain.evidence import EVIDENCE, QUESTION, TENANT, as_passages
from aucert_integrations.langchain.reading import (
    Answer,
    answer_texts,
    as_messages,
    is_parsed,
    is_plain,
    last_question,
    question_of,
)
from aucert_otel.generation import Generation, Message, Passage


MAX_PASSAGES = 512
MAX_ANSWERS = 8


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a model, from its start."""

    messages: Sequence[BaseMessage | Message] | str
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Finished:
    """One call of a model with what it wrote."""

    call: Call
    answer: Answer
    order: int
    """The turn's clock when it ended."""


@dataclass(slots=True, eq=False)
class Turn:
    """Everything under one root run. It is written from the threads of that run only."""

    root: UUID
    context: Context | None = None
    """OpenTelemetry's context when the root run began."""
    drawn: float | None = None
    """What sampling said of it then; ``None``: it depends on the answer."""
    inputs: Any = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    seen: float = 0.0
    open: set[UUID] = field(default_factory=set)
    passages: deque[Passage] = field(default_factory=lambda: deque(maxlen=MAX_PASSAGES))
    searched: bool = False
    calls: dict[UUID, tuple[Call, int]] = field(default_factory=dict)
    """Model calls that have not ended, with the clock at their start."""
    finished: deque[Finished] = field(default_factory=lambda: deque(maxlen=MAX_ANSWERS))
    broken_at: int = -1
    """The clock at the start of the last model call that raised."""
    clock: int = 0

    def begin(self, run_id: UUID, call: Call) -> None:
        """A model call starts."""
        self.clock += 1
        self.calls[run_id] = (call, self.clock)

    def end(self, run_id: UUID, answer: Answer | None) -> None:
        """A model call ends, with ``None`` where it raised or was abandoned."""
        call, started = self.calls.pop(run_id, (None, 0))
        self.clock += 1
        if call is None:
            return
        if answer is None:
            self.broken_at = max(self.broken_at, started)
        else:
            self.finished.append(Finished(call, answer, self.clock))

    def add(self, passages: Sequence[Passage]) -> None:
        """A search or a tool returned these; none is a fact too."""
        self.searched = True
        self.passages.extend(passages)

    def chosen(self, outputs: object) -> tuple[Finished, str] | None:
        """The model call that wrote the finished answer, and the answer's text.

        It is the call whose text the root run returned, else the last one, unless a later call did
        not finish: then the stream was abandoned, or the application answered otherwise. Where the
        root run returned a text of its own (a parser trimmed it), that text is the answer. A message
        that asks for tools is a step and no answer, except where its one call's arguments are what
        the root run returned: a structured answer.
        """
        finished = list(self.finished)
        # A dict parsed from the last answer is that answer: the model wrote its keys and values, and
        # they must not point at an earlier call.
        parsed = bool(finished) and is_parsed(outputs, finished[-1].answer.plain)
        texts = [] if parsed else answer_texts(outputs)
        for candidate in reversed(finished):
            answer = candidate.answer
            if answer.tool_calls:
                continue
            for text in (answer.text, answer.plain):
                if text and text in texts:
                    return candidate, text
        if not finished:
            return None
        last = finished[-1]
        unfinished = [started for _, started in list(self.calls.values())]
        if max([*unfinished, self.broken_at]) > last.order:
            return None
        if isinstance(outputs, str):
            return last, outputs
        structured = _structured(outputs, last.answer)
        if structured is not None:
            return last, structured
        return None if last.answer.tool_calls else (last, last.answer.text)

    def generation(
        self,
        finished: Finished,
        text: str,
        *,
        tenant: str | None = None,
        evidence: Sequence[Passage] | None = None,
        raw: Any = None,
    ) -> Generation:
        """The finished answer with everything known about it. What was said outright wins.

        Args:
            finished: The model call that wrote it.
            text: The answer.
            tenant: Where the run's metadata names none.
            evidence: Where this run searched nothing itself.
            raw: The native object, where the answer goes back to the application.
        """
        # A call's metadata holds its ancestors' too, and says more; what was said to the root run wins.
        said = {**finished.call.metadata, **self.metadata}
        answer = finished.answer
        messages = finished.call.messages
        conversation = () if isinstance(messages, str) else as_messages(messages)
        if EVIDENCE in said:
            passages = as_passages(said[EVIDENCE])
        elif self.searched:
            passages = tuple(self.passages)
        else:
            passages = None if evidence is None else tuple(evidence)
        question = said.get(QUESTION)
        if question is None and self.inputs is not messages:
            question = question_of(self.inputs)
        question = question or last_question(conversation)
        if question is None and isinstance(messages, str):
            question = messages
        return Generation(
            text,
            question=question,
            messages=conversation,
            evidence=passages,
            model=answer.model or said.get("ls_model_name"),
            provider=said.get("ls_provider") or answer.provider,
            finish_reason=answer.finish_reason,
            usage=answer.usage,
            tenant=said.get(TENANT) or tenant,
            metadata={} if answer.logprobs is None else {"logprobs": answer.logprobs},
            raw=raw,
        )


def _structured(outputs: object, answer: Answer) -> str | None:
    """The answer as JSON, where a chain parsed it from the arguments of the call's one tool call."""
    if isinstance(outputs, Mapping) and isinstance(outputs.get("raw"), BaseMessage):
        outputs = outputs.get("parsed")  # with_structured_output(include_raw=True)
    if len(answer.tool_calls) != 1:
        return None
    call = answer.tool_calls[0]
    if isinstance(outputs, BaseModel) and not isinstance(outputs, BaseMessage):
        return outputs.model_dump_json() if type(outputs).__name__ == call.get("name") else None
    if isinstance(outputs, Mapping) and is_plain(outputs) and outputs == call.get("args"):
        return to_json(outputs).decode()
    return None
