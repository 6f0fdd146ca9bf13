"""Log probabilities of tokens, and how probable each of a few closed labels was."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """One token of the answer and what could have stood in its place."""

    token: str
    logprob: float
    """Natural logarithm of its probability."""
    alternatives: tuple[tuple[str, float], ...] = ()
    """The most probable tokens at this place with their log probabilities, this one among them."""


def label_probabilities(
    tokens: tuple[TokenLogprob, ...] | None, labels: Collection[str], *, key: str | None = None
) -> Mapping[str, float] | None:
    """How the probability was split over closed labels, at the one place where one was chosen.

    The probabilities are those of the labels' first tokens, scaled so that they add up to 1 over
    the labels.

    Args:
        tokens: The answer's tokens, all of them in order.
        labels: What may stand there, such as ``("pass", "fail")``. Case does not matter.
        key: The JSON key whose value is the label. Without it the label is the whole answer.

    Returns:
        ``None`` where nothing can be said: no log probabilities, the key is not there exactly once,
        or what stands there is none of the labels.
    """
    if not tokens:
        return None
    text = "".join(token.token for token in tokens)
    start = _start(text, key)
    if start is None:
        return None
    chosen = _at(tokens, start)
    if chosen is None:
        return None
    token, lead = chosen
    wanted = {label.casefold(): label for label in labels}
    if _head(text[start:]) not in wanted:
        return None
    candidates = dict(token.alternatives)
    candidates.setdefault(token.token, token.logprob)
    mass = dict.fromkeys(labels, 0.0)
    for candidate, logprob in candidates.items():
        # Alternatives that do not share what stands before the label open another value.
        if not candidate.startswith(lead) or not (math.isfinite(logprob) and logprob <= 1e-6):
            continue
        label = _match(candidate[len(lead) :], wanted)
        if label is not None:
            mass[label] += math.exp(min(logprob, 0.0))
    total = math.fsum(mass.values())
    return {label: share / total for label, share in mass.items()} if total > 0 else None


def _start(text: str, key: str | None) -> int | None:
    """Where the label begins in the answer."""
    if key is None:
        return len(text) - len(text.lstrip()) if text.strip() else None
    places = list(re.finditer(rf'"{re.escape(key)}"\s*:\s*"', text))
    # A key that stands there twice may be one of them quoted from the output under test.
    return places[0].end() if len(places) == 1 else None


def _at(tokens: tuple[TokenLogprob, ...], start: int) -> tuple[TokenLogprob, str] | None:
    """The token that covers a place in the text, and the part of it that stands before."""
    position = 0
    for token in tokens:
        if position <= start < position + len(token.token):
            return token, token.token[: start - position]
        position += len(token.token)
    return None


def _head(text: str) -> str:
    return re.split(r"[^\w-]", text.strip().casefold(), maxsplit=1)[0]


def _match(text: str, wanted: Mapping[str, str]) -> str | None:
    """The one label that a text begins, or that begins with it; ``None`` if none or several."""
    head = _head(text)
    if not head:
        return None
    found = [label for folded, label in wanted.items() if folded.startswith(head)]
    return found[0] if len(found) == 1 else None
