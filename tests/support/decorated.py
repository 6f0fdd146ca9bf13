"""Decorated functions at module level, where pickle finds them."""

from __future__ import annotations

import pickle
import sys

from support.answers import good_words

from aucert_otel import Cascade, Generation, HandedToPerson, Harness, observed, verified


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


if __name__ == "__main__":
    sys.stdout.buffer.write(pickle.dumps(handed()))
