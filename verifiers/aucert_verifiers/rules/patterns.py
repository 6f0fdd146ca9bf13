"""Rules of the user's own: patterns an answer must or must not match, and plain functions."""

from __future__ import annotations

import inspect
import re
import unicodedata
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, TypeAlias

from aucert_otel.errors import ConfigurationError
from aucert_otel.generation import Generation
from aucert_otel.verdict import Finding, Reason
from aucert_verifiers.rules.base import MAX_FINDINGS, Context, Found, failed, passed, unclear
from aucert_verifiers.rules.options import (
    check_count,
    check_flag,
    check_name,
    check_pattern,
    check_text,
)
from aucert_verifiers.rules.text import Text, clip


@dataclass(frozen=True, slots=True)
class Matches:
    """The answer matches a regular expression somewhere. See `Forbids` for the opposite.

    Python's engine backtracks, and the text is hostile: ``(a+)+$`` takes for ever on a few dozen
    characters, whatever the bound. Write a pattern that has one way to match: no quantifier inside
    a quantified group over the same characters, or possessive ones (``a++``). ``max_chars`` bounds
    what a merely quadratic pattern can cost.

    Args:
        pattern: A regular expression, or a compiled one.
        fact: What is required, in a sentence. It is the evidence a repair is shown.
        ignore_case: Letters match in both cases.
        max_chars: A longer answer is not read and is unclear, never a pass.
        name: The criterion's name. Give each rule its own where you have several.

    Raises:
        ConfigurationError: the pattern is none.
    """

    pattern: str | re.Pattern[str]
    _: KW_ONLY
    fact: str | None = None
    ignore_case: bool = False
    max_chars: int = 20_000
    name: str = "required"
    _compiled: re.Pattern[str] = field(init=False, repr=False, compare=False)
    _passed: Finding = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _prepare(self, "matches")

    def check(self, generation: Generation, context: Context, /) -> Found:
        """See the class."""
        if len(generation.output) > self.max_chars:
            return _too_long(self, generation)
        if any(self._compiled.search(text.text) for text in _pieces(generation, context)):
            return self._passed
        fact = self.fact or f"the answer must match {clip(self._compiled.pattern, 200)!r}"
        return failed(self.name, Reason.REQUIRED, fact, why=f"nothing in the answer meets: {fact}")


@dataclass(frozen=True, slots=True)
class Forbids:
    """The answer matches a regular expression nowhere.

    It is searched in the answer as written and, in a structured answer, in each string as a reader
    gets to see it, so that an escape hides nothing. One finding for each sentence.

    Args:
        pattern: A regular expression, or a compiled one. See `Matches` on how to write one.
        fact: What is forbidden, in a sentence. It is the evidence a repair is shown.
        ignore_case: Letters match in both cases.
        max_chars: A longer answer is not read and is unclear, never a pass.
        name: The criterion's name. Give each rule its own where you have several.

    Raises:
        ConfigurationError: the pattern is none.
    """

    pattern: str | re.Pattern[str]
    _: KW_ONLY
    fact: str | None = None
    ignore_case: bool = False
    max_chars: int = 20_000
    name: str = "forbidden"
    _compiled: re.Pattern[str] = field(init=False, repr=False, compare=False)
    _passed: Finding = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _prepare(self, "forbids")

    def check(self, generation: Generation, context: Context, /) -> Found:
        """See the class."""
        if len(generation.output) > self.max_chars:
            return _too_long(self, generation)
        by_claim: dict[str, str] = {}
        for text in _pieces(generation, context):
            for match in self._compiled.finditer(text.text):
                by_claim.setdefault(text.sentence(match.start()), match.group())
        if not by_claim:
            return self._turned(context) or self._passed
        fact = self.fact or f"the answer must not match {clip(self._compiled.pattern, 200)!r}"
        more = max(0, len(by_claim) - MAX_FINDINGS)
        return [
            failed(
                self.name,
                Reason.FORBIDDEN,
                fact,
                why=f"the answer says {clip(matched, 120)!r}, but {fact}",
                claim=claim,
                more=more if number == MAX_FINDINGS else 0,
            )
            for number, (claim, matched) in enumerate(
                list(by_claim.items())[:MAX_FINDINGS], start=1
            )
        ]

    def _turned(self, context: Context) -> Finding | None:
        if not any(text.turned for _, text in context.texts()):
            return None
        why = "characters of the answer turn its letters around: a reader sees another text"
        return unclear(self.name, Reason.NOT_CHECKED, why)


def _prepare(rule: Matches | Forbids, place: str) -> None:
    check_flag(rule.ignore_case, f"{place}.ignore_case")
    check_count(rule.max_chars, f"{place}.max_chars", least=1)
    if rule.fact is not None:
        check_text(rule.fact, f"{place}.fact", "a sentence")
    flags = re.IGNORECASE if rule.ignore_case else 0
    compiled = check_pattern(rule.pattern, f"{place}.pattern", flags)
    object.__setattr__(rule, "_compiled", compiled)
    object.__setattr__(rule, "_passed", passed(check_name(rule.name, place)))


def _pieces(generation: Generation, context: Context) -> list[Text]:
    """The answer as written, as seen, and as the keys and strings of a structured answer say it."""
    output = generation.output
    texts = [text for _, text in context.texts()]
    if len(texts) == 1 and texts[0].text == output:
        return texts
    composed = unicodedata.normalize("NFC", output)  # "e" with an accent is the letter é
    return [Text(each) for each in dict.fromkeys((output, composed))] + texts


def _too_long(rule: Matches | Forbids, generation: Generation) -> Finding:
    return unclear(
        rule.name,
        Reason.NOT_CHECKED,
        f"the answer has {len(generation.output)} characters, more than the {rule.max_chars} this "
        "pattern is read on",
    )


PredicateFunction: TypeAlias = Callable[[Generation], bool | str | Finding | None]
"""``True`` or ``None``: it holds. ``False``: it does not. A text: the fact that contradicts."""


@dataclass(frozen=True, slots=True)
class Predicate:
    """A plain function of the user's own, as a rule.

    It returns ``True`` or ``None`` when the answer is fine, ``False`` when it is not, a text that
    states the fact the answer contradicts, or a `Finding` of its own. For ``False`` the first line
    of the function's docstring is the fact. It runs on the caller's thread, so it should take
    microseconds. A predicate that raises is a check that did not run, never a verdict.

    Args:
        function: The function.
        name: The criterion's name; by default the function's own.
        version: Change it when the function's behaviour changes in a way its own code does not
            show, as in what it calls: it is part of the fingerprint.

    Raises:
        ConfigurationError: it is no plain function.
    """

    function: PredicateFunction
    _: KW_ONLY
    name: str = ""
    version: str = ""
    _passed: Finding = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        function: object = self.function
        if not callable(function) or isinstance(function, type):
            raise ConfigurationError(
                f"predicate.function is {clip(repr(self.function), 80)}: it must be a plain function "
                "that takes a Generation"
            )
        call = getattr(self.function, "__call__", None)  # noqa: B004 - an object may call a coroutine
        if inspect.iscoroutinefunction(self.function) or inspect.iscoroutinefunction(call):
            raise ConfigurationError(
                f"predicate {clip(repr(self.function), 80)} is asynchronous: rules run on the "
                "caller's thread; give an asynchronous check its own stage, as a verifier"
            )
        name = self.name or getattr(self.function, "__name__", type(self.function).__name__)
        object.__setattr__(self, "name", check_name(name, "predicate"))
        object.__setattr__(self, "_passed", passed(self.name))

    def check(self, generation: Generation, _context: Context, /) -> Found:
        """See the class.

        Raises:
            TypeError: the function returned something else than it may.
        """
        said: Any = self.function(generation)
        if said is True or said is None:
            return self._passed
        if said is False:
            doc = (inspect.getdoc(self.function) or "").partition("\n")[0].strip()
            return failed(
                self.name,
                Reason.PREDICATE,
                f"the answer must meet the rule {self.name}" + (f": {doc}" if doc else ""),
            )
        if isinstance(said, Finding):
            return said
        if isinstance(said, str) and said.strip():
            return failed(self.name, Reason.PREDICATE, said)
        if inspect.iscoroutine(said):
            said.close()
        raise TypeError(
            f"predicate {self.name!r} returned {clip(repr(said), 80)}: return True, False, None, a "
            "sentence that states what is wrong, or a Finding"
        )
