from __future__ import annotations

from aucert_otel import Generation, Image, Message, Passage
from aucert_otel.summary import INSTRUCTION_TOKENS, tokens_of


def test_tokens_follow_the_stated_rule() -> None:
    material = Generation(
        "x" * 8, question="q" * 4, evidence=(Passage("p" * 5),), images=(Image(url="https://x/1"),)
    )
    assert tokens_of(material) == INSTRUCTION_TOKENS + 2 + 1 + 2 + 1_500


def test_other_scripts_count_a_token_a_character() -> None:
    assert tokens_of(Generation("東京")) == INSTRUCTION_TOKENS + 2
    assert tokens_of(Generation("東京abcd")) == INSTRUCTION_TOKENS + 3


def test_what_a_user_said_last_stands_for_the_question() -> None:
    asked = Generation("x", messages=(Message("user", "a" * 40), Message("user", "b" * 8)))
    assert tokens_of(asked) == INSTRUCTION_TOKENS + 1 + 2
