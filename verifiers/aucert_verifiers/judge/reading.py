"""A judge's reply, read strictly: one verdict for each criterion, or unclear and why.

Nothing here can turn a broken reply into a pass. What is not exactly what was asked for is unclear,
for the criterion it concerns, or for all of them where the reply as a whole cannot be trusted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Final

from aucert_otel.llm.model import Completion
from aucert_otel.llm.parse import JsonProblem
from aucert_otel.verdict import Reason, Verdict
from aucert_verifiers.judge.prompts import KEYS
from aucert_verifiers.judge.rubric import CODE
from aucert_verifiers.packaging import fit


MAX_WHY: Final = 2_000
"""Characters of a reason that are kept."""
_NEEDED: Final = frozenset(KEYS) - {"claim", "evidence"}
"""Who has nothing to quote may leave the quotation out."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What one run says about one criterion."""

    verdict: Verdict
    _: KW_ONLY
    score: float | None = None
    """The probability that the criterion holds, as the judge states it."""
    why: str = ""
    claim: str | None = None
    """The sentence at fault, as the judge quotes it."""
    evidence: str | None = None
    """The sentence against it, as the judge quotes it."""
    reason: Reason | None = None
    """Why it is unclear."""
    error: str | None = None
    """What is wrong with the reply, without content."""

    @property
    def sureness(self) -> float | None:
        """How sure the judge is of its verdict, in [0, 1]."""
        if self.score is None or self.verdict is Verdict.UNCLEAR:
            return None
        return self.score if self.verdict is Verdict.PASS else 1.0 - self.score


def unclear(reason: Reason, error: str, why: str = "") -> Judged:
    """A criterion that the reply does not settle."""
    return Judged(Verdict.UNCLEAR, reason=reason, error=error, why=why)


def read(
    reply: Completion, names: Sequence[str], *, code: str, answer: str = ""
) -> dict[str, Judged]:
    """What a reply says about each criterion that was asked.

    Args:
        reply: The judge's.
        names: The criteria that were asked.
        code: The code of this call, which the reply has to repeat. Whoever wrote the answer under
            test could not know it, so a verdict that is copied from there does not hold it.
        answer: The answer under test, to tell a copied verdict from a careless one.
    """
    problem = _whole(reply, names, code, answer)
    if problem is not None:
        return dict.fromkeys(names, problem)
    assert reply.data is not None
    return {name: _one(reply.data.get(name)) for name in names}


def _whole(reply: Completion, names: Sequence[str], code: str, answer: str) -> Judged | None:
    """What is wrong with the reply as a whole."""
    data = reply.data
    if data is None:
        kind = reply.problem
        cut = kind is JsonProblem.TRUNCATED
        what = "no object" if kind is None else kind.value
        return unclear(Reason.TRUNCATED if cut else Reason.MALFORMED, what)
    if CODE not in data:
        if reply.text.strip() in answer:
            return unclear(Reason.FORGED, "the reply is copied from the answer under test")
        return unclear(Reason.MALFORMED, "the code of the call is missing")
    if data[CODE] != code:
        return unclear(Reason.FORGED, "the code is not that of the call")
    if not data.keys() <= {CODE, *names}:  # another verdict, under another name, beside them
        return unclear(Reason.MALFORMED, "other keys than were asked for")
    return None


def _one(data: object) -> Judged:
    """What the reply says about one criterion."""
    if data is None:
        return unclear(Reason.MALFORMED, "no verdict")
    if not isinstance(data, Mapping) or not _NEEDED <= data.keys() <= frozenset(KEYS):
        return unclear(Reason.MALFORMED, "the verdict is not the object that was asked for")
    why, claim, evidence = (data.get(key) for key in ("why", "claim", "evidence"))
    if not isinstance(why, str) or not why.strip():
        return unclear(Reason.MALFORMED, "there is no reason")
    if not all(quoted is None or isinstance(quoted, str) for quoted in (claim, evidence)):
        return unclear(Reason.MALFORMED, "a quotation is no text")
    found = _scored(data["verdict"], data["score"], fit(why.strip()[:MAX_WHY]))
    if found.verdict is not Verdict.FAIL:
        return found
    return replace(found, claim=_text(claim), evidence=_text(evidence))


def _scored(verdict: object, score: object, why: str) -> Judged:
    """A verdict and its score, which have to say the same."""
    holds, said = _score(score), _verdict(verdict)
    if holds is None:
        return unclear(Reason.MALFORMED, "the score is no number from 0 to 1", why)
    if said is None:
        return unclear(Reason.OUT_OF_VOCABULARY, "the verdict is no word we know", why)
    if said is Verdict.UNCLEAR:
        return Judged(said, score=holds, why=why, reason=Reason.ABSTAINED)
    if (holds < 0.5) if said is Verdict.PASS else (holds > 0.5):
        return unclear(Reason.INCONSISTENT, "the score speaks against the verdict", why)
    return Judged(said, score=holds, why=why)


def _text(quotation: Any) -> str | None:
    return None if quotation is None else fit(quotation)


def _verdict(said: object) -> Verdict | None:
    if not isinstance(said, str):
        return None
    try:
        return Verdict(said.strip().lower())  # "PASS" is the same word
    except ValueError:
        return None


def _score(said: object) -> float | None:
    """A score in [0, 1]; ``None`` for whatever is not, so that 95 is not taken for certainty."""
    if isinstance(said, bool) or not isinstance(said, int | float):
        return None
    if not 0 <= said <= 1 or not math.isfinite(said):
        return None
    return float(said)
