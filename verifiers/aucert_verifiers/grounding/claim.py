"""What a claim is, what splitting a reply gives, and the seam that splitters implement."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import KW_ONLY, dataclass
from enum import StrEnum
from typing import Protocol, runtime_checkable

from aucert_otel.verdict import Reason, Status
from aucert_verifiers.stages.evaluation import Bill


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement that a single passage could confirm or contradict by itself.

    Its subject, what is said about it and any condition that limits it stand inside ``text``. The
    one exception is a claim that needs ``several`` passages, such as "you are well within the
    window", which rests on the policy and on the delivery date.
    """

    text: str
    """The claim on its own: "it" and "the window" are replaced where what they mean is certain."""
    sentence: str
    """The sentence as the reply says it. A finding points at this one."""
    start: int
    """Where the words it was made from begin in the reply, in characters."""
    end: int
    """Where they end."""
    _: KW_ONLY
    implied: bool = False
    """The reply only implies it: "reply with a photo" implies that a photo is asked for."""
    several: bool = False
    """It may take more than one passage, so a single one that is silent says little."""
    unresolved: tuple[str, ...] = ()
    """References, such as "it", for which nothing certain could be put in."""


class Unsplit(StrEnum):
    """Why some of a reply could not be split into claims: a closed vocabulary."""

    LANGUAGE = "language"
    """It is in a language whose clauses the splitter does not know: whole sentences are claims."""
    CODE = "code"
    """Program code: whether it does what it should is not found out by reading passages."""
    LENGTH = "length"
    """More text, or more claims, than is read."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A part of the reply that could not be split, and why."""

    why: Unsplit
    start: int
    end: int
    detail: str = ""
    """One sentence for a person, such as which script it is written in. No content."""


@dataclass(frozen=True, slots=True)
class Split:
    """A reply as claims, and all that is not in them.

    Nothing goes missing silently: what is no claim is ``dropped`` or ``unreadable``, and the numbers
    of the reply and of the claims have been compared in both directions.
    """

    claims: tuple[Claim, ...]
    _: KW_ONLY
    abstained: tuple[str, ...] = ()
    """Sentences that say the answer is not known. A reply with these and no claims is an abstention,
    which is something else than a reply that claims nothing."""
    dropped: tuple[str, ...] = ()
    """Sentences that assert nothing a passage could confirm: greetings, apologies, questions."""
    unreadable: tuple[Unreadable, ...] = ()
    lost: tuple[str, ...] = ()
    """Numbers and dates of the reply that stand in no claim, as the reply writes them."""
    invented: tuple[str, ...] = ()
    """Numbers and dates of claims that the reply does not say."""
    covered: float = 1.0
    """The share of the reply's characters that the splitter read, in [0, 1]."""
    status: Status = Status.OK
    """Whether the splitter ran. One that did not has no claims, and that is never a verdict."""
    reason: Reason | None = None
    """Why there is no usable split although the splitter ran, such as ``malformed``."""
    error: str | None = None
    """What went wrong, without content or secrets."""
    bill: Bill | None = None
    """What calls of a chat model cost; ``None`` where none is asked."""

    @property
    def ok(self) -> bool:
        """The splitter ran, and what it said can be used."""
        return self.status is Status.OK and self.reason is None

    @property
    def faithful(self) -> bool:
        """No number of the reply was lost, and none was invented."""
        return not self.lost and not self.invented

    @property
    def is_abstention(self) -> bool:
        """The reply says that it does not know, and claims nothing."""
        return self.ok and bool(self.abstained) and not self.claims


@runtime_checkable
class Splitter(Protocol):
    """Splits a reply into atomic claims.

    A splitter that cannot do it says so in the `Split`; it does not raise. ``split`` may be a plain
    function, which returns in about a millisecond, or a coroutine function.
    """

    @property
    def name(self) -> str:
        """What the splitter is called in reports."""
        ...

    @property
    def fingerprint(self) -> str:
        """Changes whenever it could split otherwise, so that certificates end."""
        ...

    def split(self, reply: str, question: str | None = None, /) -> Split | Awaitable[Split]:
        """Split a reply.

        Args:
            reply: The answer under test, as its reader sees it.
            question: What it answers, where that is known. References may point into it.
        """
        ...
