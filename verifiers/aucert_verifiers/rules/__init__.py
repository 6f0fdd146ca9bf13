"""Rung 0: rules, the checks an application's own code can settle. Free, instant and certain.

from aucert_verifiers.rules import CitesOnlyReturned, FinishReason, NumbersAppear, Rules

rules = Rules(FinishReason(), CitesOnlyReturned(), NumbersAppear())
rules.verify(generation)  # one finding for each rule, and one for each sentence that fails
"""

from aucert_verifiers.rules.base import Context, Found, Rule
from aucert_verifiers.rules.cited import CitesOnlyReturned
from aucert_verifiers.rules.config import from_config
from aucert_verifiers.rules.numbers import NumbersAppear
from aucert_verifiers.rules.patterns import Forbids, Matches, Predicate
from aucert_verifiers.rules.ruleset import Rules
from aucert_verifiers.rules.schema import MatchesSchema
from aucert_verifiers.rules.shape import FinishReason, Length, Parses


__all__ = [
    "CitesOnlyReturned",
    "Context",
    "FinishReason",
    "Forbids",
    "Found",
    "Length",
    "Matches",
    "MatchesSchema",
    "NumbersAppear",
    "Parses",
    "Predicate",
    "Rule",
    "Rules",
    "from_config",
]
