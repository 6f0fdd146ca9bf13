"""How many tokens a judge will read, by a rule that needs no tokenizer."""

from __future__ import annotations

import math
from typing import Final

from aucert_otel.generation import Generation


CHARS_A_TOKEN: Final = 4
"""ASCII characters; of others each is counted as a token, which is more than most scripts take."""
IMAGE_TOKENS: Final = 1_500
INSTRUCTION_TOKENS: Final = 500
"""What surrounds the material: the task, the criterion, the form of the reply."""
OUTPUT_TOKENS: Final = 250
"""What a judge writes. A model that reasons first writes more."""

RULE: Final = (
    f"a token for {CHARS_A_TOKEN} ASCII characters or 1 other, {IMAGE_TOKENS:,} for a picture, "
    f"{INSTRUCTION_TOKENS} for the instructions of a call, {OUTPUT_TOKENS} for its reply"
)
"""The rule in words. What debaters write is not counted where the judge reads it again."""


def tokens_of(generation: Generation) -> int:
    """Tokens of input of one call that judges this answer: all of it, and the instructions."""
    question = generation.question
    if question is None:
        said = (m.content for m in reversed(generation.messages) if m.role == "user")
        question = next(said, "")
    texts = [question, generation.output, *(each.text for each in generation.evidence or ())]
    images = len(generation.images) * IMAGE_TOKENS
    return INSTRUCTION_TOKENS + images + sum(map(_tokens, texts))


def _tokens(text: str) -> int:
    if text.isascii():
        return math.ceil(len(text) / CHARS_A_TOKEN)
    other = sum(not character.isascii() for character in text)
    return other + math.ceil((len(text) - other) / CHARS_A_TOKEN)
