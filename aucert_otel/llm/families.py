"""Which family a model belongs to, by its name: judges should not judge their own kin."""

from __future__ import annotations

import re


_FAMILIES: tuple[tuple[str, str], ...] = (
    # Distilled models carry two names ("deepseek-r1-distill-llama-8b"): the teacher, whose style
    # they were trained on, comes first here.
    ("deepseek", r"deepseek"),
    ("openai", r"gpt|chatgpt|o[1-9](?![a-z0-9])|codex|davinci"),
    ("anthropic", r"claude"),
    ("gemini", r"gemini|gemma|palm"),
    ("mistral", r"mistral|mixtral|ministral|magistral|codestral|devstral|pixtral|voxtral"),
    ("qwen", r"qwen|qwq|qvq"),
    ("llama", r"(?:meta-?)?llama"),
    ("grok", r"grok"),
    ("command", r"command|c4ai|aya"),
    ("phi", r"phi(?![a-z])"),
    ("nova", r"nova|titan"),
    ("glm", r"(?:chat)?glm"),
    ("kimi", r"kimi|moonshot"),
    ("minimax", r"minimax|abab"),
    ("granite", r"granite"),
    ("nemotron", r"nemotron"),
    ("smollm", r"smollm"),
    ("yi", r"yi(?![a-z])"),
)
_PATTERNS = tuple(
    (family, re.compile(rf"(?:^|[/.:_@\s-])(?:{pattern})")) for family, pattern in _FAMILIES
)


def family_of(model: str) -> str | None:
    """The family a model's name shows, such as ``openai`` for ``gpt-5.1``; ``None`` if it does not.

    Paths and regions in front of the name (``us.anthropic.claude-…``, ``meta-llama/Llama-3``) and
    fine-tunes (``ft:gpt-4o:…``) are read through.
    """
    folded = model.strip().casefold()
    last = folded.rsplit("/", 1)[-1]
    for text in (last, folded):
        for family, pattern in _PATTERNS:
            if pattern.search(text):
                return family
    return None
