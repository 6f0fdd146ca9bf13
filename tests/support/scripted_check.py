"""``aucert check`` against judges behind a scripted server: what each row's calls are answered.

::

    with LlmServer() as server:
        script = Script(server)
        script.row("Toggle dark mode", {"direct fast": says("pass", 98.2, usd=0.001)})
        settings = script.settings(tmp_path)
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from support.judges import kind, tokens, user_text, verdict
from support.llm_server import Answer, LlmServer, Seen, openai


KEYS = {"FAST_KEY": "sk-fast-0123456789abcdef", "STRONG_KEY": "sk-strong-0123456789abcdef"}
"""The environment of a run; no value may ever be seen."""

ROLES = "{self: fast, panel: [fast, strong, strong], debaters: fast, judge: strong}"


def says(
    said: str, confidence: float = 90, why: str = "it says so", *, usd: float = 0.001
) -> Answer:
    """A judge's reply, and what it costs."""
    return openai(verdict(said, confidence, why), usage=tokens(usd))


def argues(text: str, *, usd: float = 0.005) -> Answer:
    """A debater's."""
    return openai(text, usage=tokens(usd))


class Script:
    """What the judges answer, by the row they are asked about and the kind of the call."""

    def __init__(self, server: LlmServer) -> None:
        self.server = server
        self.asked: Counter[str] = Counter()
        """Calls by row."""
        self._rows: dict[str, dict[str, list[Answer]]] = {}
        self._lock = threading.Lock()
        server.answer = self._answer

    def row(self, question: str, answers: Mapping[str, Answer | Sequence[Answer]]) -> None:
        """Script a row, found by its question; calls of a kind are answered in order."""
        self._rows[question] = {
            call: [given] if isinstance(given, Answer) else list(given)
            for call, given in answers.items()
        }

    def _answer(self, seen: Seen) -> Answer:
        text = user_text(seen)
        (question,) = [each for each in self._rows if each in text]
        call = kind(seen)
        with self._lock:
            self.asked[question] += 1
            return self._rows[question][call].pop(0)

    def settings(self, folder: Path, **changes: Any) -> Path:
        """An ``aucert.yaml`` whose models are behind the server."""
        model = (
            "{{api: openai, base_url: '{url}', model: {model}, api_key_env: {key}, attempts: 1, "
            "price: {{input_per_mtok: 1, output_per_mtok: 0, as_of: 2026-04-01}}}}"
        )
        cascades = changes.pop(
            "cascades", f"{{app-tests: {{preset: aucert, models: {ROLES}, grace_s: 20}}}}"
        )
        lines = [
            "models:",
            f"  fast: {model.format(url=self.server.url, model='deepseek-v3.2', key='FAST_KEY')}",
            f"  strong: {model.format(url=self.server.url, model='gpt-5.1-codex', key='STRONG_KEY')}",
            f"cascades: {cascades}",
            *(f"{key}: {value}" for key, value in changes.items()),
        ]
        path = folder / "aucert.yaml"
        path.write_text("\n".join(lines) + "\n")
        return path
