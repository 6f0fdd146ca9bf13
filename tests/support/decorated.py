"""Decorated functions at module level, where pickle finds them."""

from __future__ import annotations

from aucert_otel import Cascade, Generation, HandedToPerson, Harness, observed, verified
from support.answers import good_words


HARNESS = Harness(Cascade("c", [good_words()]))


@verified(HARNESS, otherwise=HandedToPerson)
def held(text: str) -> str:
    return text


@observed(HARNESS)
def seen(text: str) -> str:
    return text


class Agent:
    @classmethod
    @verified(HARNESS, otherwise="no")
    def reply(cls, text: str) -> str:
        return text


def handed() -> HandedToPerson:
    """The exception a caller gets who asked for it."""
    return HandedToPerson(HARNESS.verify(Generation("within 30 days", question="q")))
