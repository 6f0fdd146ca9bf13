"""Judges behind a scripted model server: what each call is, and what it is answered.

::

    court = Court(server)
    court.says("direct fast", verdict("pass", 98.2), usd=0.001)
    cascade = court.cascade()
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from datetime import date
from itertools import count
from typing import Any

from aucert_otel import Cascade, Gate, Stage
from aucert_otel.llm import OpenAIChat, Price, PriceBook, RetryPolicy, Timeouts
from aucert_verifiers.stages import (
    WORDINGS,
    CrossModelVote,
    Debate,
    Judging,
    SelfConfidence,
    SelfConsistency,
)
from support.llm_server import Answer, LlmServer, Seen, openai


MODELS = {"fast": "deepseek-v3.2", "strong": "gpt-5.1-codex"}
PRICES = PriceBook(
    {model: Price(1, 0, as_of=date(2026, 4, 1)) for model in MODELS.values()}, bundled=False
)
"""A dollar for a million tokens of input, so that a call's price is set by its token count."""
NAMES = {model: name for name, model in MODELS.items()}


def verdict(said: Any, confidence: Any = 90, reasoning: Any = "it says so") -> str:
    """A judge's reply."""
    return json.dumps({"reasoning": reasoning, "verdict": said, "confidence": confidence})


def kind(seen: Seen) -> str:
    """What a call is: ``direct fast``, ``prosecutor 1``, ``ruling 2``, ``token fast``."""
    system = seen.body["messages"][0]["content"]
    name = NAMES[seen.body["model"]]
    for side in ("prosecutor", "defender"):
        if system.startswith(f"You are the {side}"):
            return f"{side} {2 if 'second round' in system else 1}"
    wording = next(i for i, each in enumerate(WORDINGS) if each.task in system)
    if "The material also holds a debate" in system:
        return f"ruling {wording + 1}"
    if 'the single key "verdict"' in system:
        return f"token {name}"
    return f"{WORDINGS[wording].name} {name}"


def user_text(seen: Seen) -> str:
    """The text of the last message."""
    content = seen.body["messages"][-1]["content"]
    return content if isinstance(content, str) else content[0]["text"]


class Court:
    """All judges of a cascade, behind one server."""

    def __init__(self, server: LlmServer, **options: Any) -> None:
        self.server = server
        self.asked: list[str] = []
        self.pauses: list[float] = []
        self._made: list[OpenAIChat] = []
        self._answers: dict[str, list[Answer]] = {}
        self._default: Answer | None = None
        self._lock = threading.Lock()
        numbers = count(1)
        self.judging = Judging(nonce=lambda: f"code{next(numbers):04d}", **options)
        server.answer = self._answer

    def says(self, call: str, *answers: str | Answer, usd: float = 0.001) -> None:
        """Answer calls of one kind, in order; the last answer is repeated."""
        self._answers[call] = [
            openai(each, usage=tokens(usd)) if isinstance(each, str) else each for each in answers
        ]

    def otherwise(self, answer: str | Answer, usd: float = 0.001) -> None:
        """Answer every other call."""
        self._default = openai(answer, usage=tokens(usd)) if isinstance(answer, str) else answer

    def model(self, name: str, **options: Any) -> OpenAIChat:
        """A client for one of the models; its pauses are noted instead of slept."""

        async def sleep(seconds: float) -> None:
            self.pauses.append(seconds)

        given: dict[str, Any] = {
            "name": name,
            "base_url": self.server.url,
            "api_key": "sk-secret-0123456789abcdef",
            "prices": PRICES,
            "retry": RetryPolicy(attempts=2, sleep=sleep, jitter=lambda: 0.0),
            "timeouts": Timeouts(connect_s=5.0, read_s=20.0, total_s=20.0),
        }
        made = OpenAIChat(MODELS[name], **{**given, **options})
        self._made.append(made)
        return made

    def close(self) -> None:
        """Close the clients' connections."""
        for model in self._made:
            model.close()

    def stages(self, **options: Mapping[str, Any]) -> Mapping[str, Any]:
        """The four verifiers by name, with options for a model under its name."""
        fast, strong = (self.model(name, **options.get(name, {})) for name in MODELS)
        judging = self.judging
        return {
            "self_confidence": SelfConfidence(fast, judging=judging),
            "self_consistency": SelfConsistency(fast, judging=judging),
            "cross_model_vote": CrossModelVote([fast, strong, strong], judging=judging),
            "debate": Debate(fast, strong, judging=judging),
        }

    def cascade(self) -> Cascade:
        """The seed's cascade."""
        first, *others = self.stages().values()
        gate = Gate(pass_at=0.95, fail_at=0.95)
        return Cascade("aucert", [Stage(first, gate=gate), *others])

    def _answer(self, seen: Seen) -> Answer:
        call = kind(seen)
        with self._lock:
            self.asked.append(call)
            answers = self._answers.get(call)
            if not answers:
                assert self._default is not None, f"nobody scripted {call!r}"
                return self._default
            return answers.pop(0) if len(answers) > 1 else answers[0]


def tokens(usd: float) -> dict[str, int]:
    """The usage that costs so much."""
    return {"prompt_tokens": round(usd * 1_000_000), "completion_tokens": 0}
