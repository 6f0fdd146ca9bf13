"""Clients of both APIs for the scripted server, with prices of their own and pauses that take no time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from aucert_otel.llm import (
    AnthropicChat,
    ChatMessage,
    Completion,
    OpenAIChat,
    Price,
    PriceBook,
    RetryPolicy,
    complete,
)
from support.llm_server import Answer, LlmServer, anthropic, openai


PRICES = PriceBook({"judge-1": Price(10, 100, as_of=date(2026, 4, 1))}, bundled=False)
ANSWER_USD = 0.003
"""What 100 tokens in and 20 out cost at these prices."""
ASK = [ChatMessage("system", "You judge."), ChatMessage("user", "Is it so?")]
SCHEMA = {
    "type": "object",
    "properties": {"verdict": {"type": "string"}},
    "required": ["verdict"],
    "additionalProperties": False,
}


@dataclass
class Api:
    """One API: how to make a client for it, and how the server answers in it."""

    name: str
    make: Callable[..., Any]
    answer: Callable[..., Answer]
    server: LlmServer
    pauses: list[float] = field(default_factory=list)
    made: list[Any] = field(default_factory=list)

    def client(self, **options: Any) -> Any:
        """A client; by default with a key and prices, and with pauses that are only noted."""
        retry = options.pop("retry", None) or self.retry()
        settings = {"base_url": self.server.url, "api_key": "k-123", "prices": PRICES, **options}
        model = self.make("judge-1", retry=retry, **settings)
        self.made.append(model)
        return model

    def retry(self, **options: Any) -> RetryPolicy:
        """A policy whose pauses are noted instead of slept."""

        async def sleep(seconds: float) -> None:
            self.pauses.append(seconds)

        return RetryPolicy(**{"sleep": sleep, "jitter": lambda: 0.0, **options})

    def ask(self, model: Any = None, **options: Any) -> Completion:
        """Ask, and wait."""
        return complete(model or self.client(), ASK, **options)


def api_of(name: str, server: LlmServer) -> Api:
    if name == "openai":
        return Api(name, OpenAIChat, openai, server)
    return Api(name, AnthropicChat, anthropic, server)
