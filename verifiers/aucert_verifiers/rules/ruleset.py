"""A rule set: one verifier made of rules, run in one pass over an answer."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from types import CodeType
from typing import Any

from aucert_otel._safe import describe
from aucert_otel.errors import ConfigurationError
from aucert_otel.generation import Generation
from aucert_otel.verdict import Finding, Reason, Verdict
from aucert_verifiers.rules.base import Context, Found, Rule, unclear
from aucert_verifiers.rules.citations import CitationReader
from aucert_verifiers.rules.cited import CitesOnlyReturned
from aucert_verifiers.rules.patterns import Predicate
from aucert_verifiers.rules.text import clip


_SCHEME = "rules/2"
"""Part of every fingerprint. Change it when a rule of ours starts to decide differently."""

_Check = Callable[[Generation, Context], Found]


@dataclass(frozen=True, slots=True, init=False)
class Rules:
    """Rung 0: the checks that the application's own code can settle, free and certain.

    The rules run in the order given, except that `FinishReason` comes first and `Parses` next: what
    follows them would count a cut-off or malformed answer a second time, so a rule of those two that
    does not pass ends the set. `NumbersAppear` reads citations the way the set's first
    `CitesOnlyReturned` does.

    Args:
        rules: The rules. A plain function is taken as a `Predicate`.
        name: The verifier's name.

    Raises:
        ConfigurationError: there is no rule, or something is none.
    """

    rules: tuple[Rule, ...] = field(compare=False)
    name: str
    fingerprint: str
    """Changes whenever a rule or an option does."""
    _checks: tuple[tuple[_Check, bool], ...] = field(repr=False, compare=False)
    _reader: CitationReader = field(repr=False, compare=False)
    _checks_citations: bool = field(repr=False, compare=False)

    def __init__(self, *rules: Rule | Callable[[Generation], Any], name: str = "rules") -> None:
        if not rules:
            raise ConfigurationError(
                "a rule set without rules approves nothing: give it at least one"
            )
        ordered = tuple(sorted(map(_as_rule, rules), key=lambda rule: getattr(rule, "rank", 2)))
        readers = [rule.reader for rule in ordered if isinstance(rule, CitesOnlyReturned)]
        set_ = object.__setattr__
        set_(self, "rules", ordered)
        set_(self, "name", name)
        set_(self, "fingerprint", _fingerprint(ordered))
        checks = tuple((rule.check, bool(getattr(rule, "ends_set", False))) for rule in ordered)
        set_(self, "_checks", checks)
        set_(self, "_reader", readers[0] if readers else CitationReader())
        set_(self, "_checks_citations", bool(readers))

    def verify(self, generation: Generation, /) -> tuple[Finding, ...]:
        """Run the rules. No findings at all means that none applied.

        A rule that raises did not run; the others do. If one of them fails the answer, its findings
        stand, with an unclear one for the rule that is missing: nobody gets an answer past the set
        by breaking one rule of it.

        Raises:
            Exception: what a rule or predicate raised, where no other rule failed the answer: the
                set did not run.
        """
        context = Context(generation, self._reader, checks_citations=self._checks_citations)
        findings: list[Finding] = []
        broken: list[tuple[int, Exception]] = []
        for index, (check, ends_set) in enumerate(self._checks):
            try:
                found = check(generation, context)
                if found is None:
                    continue
                several = (found,) if isinstance(found, Finding) else tuple(found)
            except Exception as error:  # noqa: BLE001 - a user's rule raises what it likes; raised again below
                broken.append((index, error))
                continue
            findings += several
            if ends_set and any(each.verdict is not Verdict.PASS for each in several):
                break
        if broken:
            if not any(each.verdict is Verdict.FAIL for each in findings):
                raise broken[0][1]
            findings += [self._missing(index, error) for index, error in broken]
        return tuple(findings)

    def _missing(self, index: int, error: Exception) -> Finding:
        rule = self.rules[index]
        name = getattr(rule, "name", None)
        criterion = name if isinstance(name, str) and name else type(rule).__name__
        why = f"the rule {criterion} did not run: {describe(error)}"
        return unclear(criterion, Reason.NOT_CHECKED, why)


def _as_rule(rule: Any) -> Rule:
    if callable(getattr(rule, "check", None)) and not isinstance(rule, type):
        checked: Rule = rule
        return checked
    if callable(rule) and not isinstance(rule, type):
        return Predicate(rule)
    mend = f": call it, {rule.__name__}(...)" if isinstance(rule, type) else ""
    raise ConfigurationError(
        f"{clip(repr(rule), 80)} is no rule: give it a check(generation, context) method, or pass a "
        f"function{mend}"
    )


def _fingerprint(rules: tuple[Rule, ...]) -> str:
    digest = hashlib.sha256(_SCHEME.encode())
    for rule in rules:
        digest.update(f"\x00{_identity(rule)}".encode("utf-8", "backslashreplace"))
    return digest.hexdigest()[:16]


def _identity(rule: Rule) -> str:
    kind = f"{type(rule).__module__}.{type(rule).__qualname__}"
    if not hasattr(rule, "__dataclass_fields__"):
        return f"{kind}:{getattr(rule, 'fingerprint', '')}"
    options = (f"{f.name}={_option(getattr(rule, f.name))}" for f in fields(rule) if f.repr)  # type: ignore[arg-type] # the check above is what fields() wants
    return f"{kind}({','.join(options)})"


def _option(value: object) -> str:
    """A text for an option that is the same in every process: no address, no order of a set."""
    if isinstance(value, re.Pattern):  # its repr is cut after 200 characters
        return f"{value.pattern!r}/{value.flags}"
    if not callable(value):
        return repr(value)
    code = getattr(value, "__code__", None)
    owner = value if hasattr(value, "__qualname__") else type(value)
    name = f"{owner.__module__}.{owner.__qualname__}"
    return f"{name}:{_code(code)}" if isinstance(code, CodeType) else name


def _code(code: CodeType) -> str:
    constants = ",".join(
        _code(each) if isinstance(each, CodeType) else _constant(each) for each in code.co_consts
    )
    return f"{code.co_code.hex()}[{constants}]{code.co_names}"


def _constant(value: object) -> str:
    return repr(sorted(map(repr, value))) if isinstance(value, frozenset) else repr(value)
