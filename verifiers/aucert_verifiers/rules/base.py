"""What a rule is, and what the rules of a set share while they read one answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

from aucert_otel.generation import Generation
from aucert_otel.verdict import Evidence, Finding, Reason, Verdict
from aucert_verifiers.rules.parse import JSON_MAX_CHARS, Unparsable, parse_json
from aucert_verifiers.rules.seen import visible
from aucert_verifiers.rules.structure import pieces
from aucert_verifiers.rules.text import Text


if TYPE_CHECKING:
    from aucert_verifiers.rules.citations import CitationReader


T = TypeVar("T")

Found: TypeAlias = Finding | Iterable[Finding] | None
"""What a rule returns. ``None``: it does not apply to this answer, which is never a pass."""

MAX_FINDINGS = 20
"""Findings one rule reports at most. What is past them is counted in the last one's ``measures``."""


class Rule(Protocol):
    """One check that the application's own code can settle.

    A rule may have two more attributes. ``ends_set = True``: when it does not pass, the rules after
    it are not run, since they would count the same fault twice. ``rank``: rules of a lower rank run
    first, whatever order they were given in (finish reason 0, parsing 1, everything else 2).
    """

    def check(self, generation: Generation, context: Context, /) -> Found:
        """Check one finished generation. Raising means that the check did not run."""
        ...


class Context:
    """What one pass over an answer computes once and every rule of the set may read."""

    __slots__ = ("_memo", "checks_citations", "generation", "output", "reader")

    def __init__(
        self, generation: Generation, reader: CitationReader, *, checks_citations: bool = False
    ) -> None:
        self.generation = generation
        self.reader = reader
        """How this rule set reads citations."""
        self.checks_citations = checks_citations
        """A rule of this set checks each citation that ``reader`` reads."""
        self.output = visible(generation.output)
        """The answer without invisible characters."""
        self._memo: dict[object, Any] = {}

    def once(self, key: object, compute: Callable[[], T]) -> T:
        """The value under ``key``, computed at the first call."""
        if key not in self._memo:
            self._memo[key] = compute()
        value: T = self._memo[key]
        return value

    def json(self) -> Any:
        """The answer as strict JSON.

        Raises:
            Unparsable: it is not.
        """
        found = self.once("json", self._parse)
        if isinstance(found, Unparsable):
            raise found
        return found

    def _parse(self) -> Any:
        try:
            return parse_json(self.generation.output, JSON_MAX_CHARS)
        except Unparsable as error:
            return error

    def texts(self) -> list[tuple[str, Text]]:
        """The answer's readable pieces, each with its field path.

        Prose is one piece with an empty path. A structured answer is its keys, strings and numbers,
        unescaped: what a reader of it gets to see. See `pieces`.
        """
        return self.once("texts", lambda: pieces(self.generation.output, self.output))

    @property
    def reordered(self) -> bool:
        """A reader sees some of the answer in another order than the rules read it in."""
        return any(text.reordered for _, text in self.texts())


def passed(criterion: str) -> Finding:
    """The finding a rule hands out every time it passes: rules are certain, so its score is 1."""
    return Finding(criterion, Verdict.PASS, score=1.0)


def failed(
    criterion: str,
    reason: Reason,
    fact: str | tuple[str, ...],
    *,
    why: str = "",
    claim: str | None = None,
    more: int = 0,
) -> Finding:
    """A certain failure with the facts that contradict the answer."""
    facts = (fact,) if isinstance(fact, str) else fact
    return Finding(
        criterion,
        Verdict.FAIL,
        score=0.0,
        why=why or facts[0],
        claim=claim,
        evidence=tuple(Evidence(text, origin="rule") for text in facts),
        reason=reason,
        measures={"more": float(more)} if more else {},
    )


def unclear(criterion: str, reason: Reason, why: str, *, covered: float | None = None) -> Finding:
    """Nothing the code knows settles it. It has no score: a guess would be averaged by someone.

    ``covered`` is the share of the text that was read, for a text that is too long for the rule.
    """
    measures = {} if covered is None else {"covered": covered}
    return Finding(criterion, Verdict.UNCLEAR, why=why, reason=reason, measures=measures)
