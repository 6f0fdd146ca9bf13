"""Rubric judges behind a scripted model server: what they are asked, and what they are answered.

::

    bench = Bench(server)
    bench.judge = lambda call: call.reply(policy=fail(claim="..."))
    outcome = Harness([bench.rubric()]).verify(MARCH)
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Any, TypeAlias

from aucert_otel import Generation
from aucert_otel.llm import OpenAIChat, Price, PriceBook, RetryPolicy, Timeouts
from aucert_verifiers.judge import PairJudge, Rubric, RubricJudge, Settings, StrongerJudge
from support.flowers import DAMAGE, MARCH_REPLY
from support.judges import tokens
from support.llm_server import Answer, LlmServer, Seen, openai


MODELS = {"haiku": "claude-haiku-4-5", "sonnet": "claude-sonnet-5"}
NAMES = {model: name for name, model in MODELS.items()}
PRICES = PriceBook(
    {model: Price(1, 0, as_of=date(2026, 4, 1)) for model in MODELS.values()}, bundled=False
)
CRITERIA = ("grounded", "policy", "on_topic", "complete")
USD = {"haiku": 0.0025, "sonnet": 0.0075}

QUESTION = (
    "My bouquet was delivered yesterday and half the roses are brown. What can be done about it?"
)
SENTENCE = "Our policy gives you 30 days to report damage, so you're well within the window."
FACT = "Damage must be reported within 48 hours of delivery for a replacement."
MARCH = Generation(MARCH_REPLY, question=QUESTION, evidence=[DAMAGE], model="gpt-5.6-luna")


def says(
    verdict: Any = "pass", score: Any = 0.95, why: Any = "it says so", **more: Any
) -> dict[str, Any]:
    """What a judge says about one criterion."""
    return {"why": why, "verdict": verdict, "score": score, "claim": None, "evidence": None, **more}


def fail(claim: Any = SENTENCE, evidence: Any = FACT, score: Any = 0.03) -> dict[str, Any]:
    """A failed criterion."""
    return says("fail", score, "the passage says 48 hours", claim=claim, evidence=evidence)


def unsure(score: Any = 0.5) -> dict[str, Any]:
    """An unclear criterion."""
    return says("unclear", score, "it could be either")


@dataclass(frozen=True)
class Call:
    """One request, as the judge reads it."""

    seen: Seen

    @property
    def model(self) -> str:
        return NAMES[self.seen.body["model"]]

    @property
    def system(self) -> str:
        return self.seen.body["messages"][0]["content"]

    @property
    def text(self) -> str:
        return self.seen.body["messages"][-1]["content"]

    @property
    def code(self) -> str:
        return self.text.split("with the code ")[1].split()[0]

    @property
    def asked(self) -> tuple[str, ...]:
        return tuple(re.findall(r"^- (\w+): ", self.system, re.MULTILINE))

    def inside(self, kind: str) -> str:
        """What stands between the marks of one piece."""
        code = self.code
        return self.text.split(f"[{code} begin {kind}]\n")[1].split(f"\n[{code} end {kind}]")[0]

    def verdicts(self, **criteria: Any) -> dict[str, Any]:
        """Passes for what was asked, but for what is given."""
        given = {name: criteria.get(name, says()) for name in self.asked}
        return {"code": self.code, **{k: v for k, v in given.items() if v is not None}}

    def reply(self, **criteria: Any) -> str:
        """The same as the text of a reply."""
        return json.dumps(self.verdicts(**criteria), ensure_ascii=False)


Script: TypeAlias = Callable[[Call], "str | Answer"]


class Bench:
    """A judge and a stronger one, behind one server. By default they pass everything."""

    def __init__(self, server: LlmServer) -> None:
        self.server = server
        self.judge: Script = Call.reply
        self.stronger: Script = Call.reply
        self.calls: list[Call] = []
        self._made: list[OpenAIChat] = []
        self._lock = threading.Lock()
        server.answer = self._answer

    @property
    def asked(self) -> list[tuple[str, tuple[str, ...]]]:
        """Which model was asked for which criteria."""
        return [(call.model, call.asked) for call in self.calls]

    def model(self, name: str, **options: Any) -> OpenAIChat:
        """A client for one of the models, whose pauses take no time."""

        async def sleep(seconds: float) -> None:
            pass

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

    def rubric(
        self, *, rubric: Rubric | None = None, model: Any = None, **settings: Any
    ) -> RubricJudge:
        """The first judge."""
        return RubricJudge(
            model or self.model("haiku"), rubric=rubric, settings=Settings(**settings)
        )

    def second(self, **settings: Any) -> StrongerJudge:
        """The judge for what is unclear."""
        return StrongerJudge(self.model("sonnet"), settings=Settings(**settings))

    def pairs(self, **options: Any) -> PairJudge:
        """The judge of pairs."""
        return PairJudge(self.model("haiku"), **options)

    def close(self) -> None:
        """Close the clients' connections."""
        for model in self._made:
            model.close()

    def _answer(self, seen: Seen) -> Answer:
        call = Call(seen)
        with self._lock:
            self.calls.append(call)
            script = self.judge if call.model == "haiku" else self.stronger
            said = script(call)
        return openai(said, usage=tokens(USD[call.model])) if isinstance(said, str) else said
