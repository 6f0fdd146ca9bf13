"""A rule set from plain data, as it stands in a YAML file: the registered entry point."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from aucert_otel.errors import ConfigurationError
from aucert_verifiers.rules.base import Rule
from aucert_verifiers.rules.cited import CitesOnlyReturned
from aucert_verifiers.rules.numbers import NumbersAppear
from aucert_verifiers.rules.patterns import Forbids, Matches, Predicate
from aucert_verifiers.rules.ruleset import Rules
from aucert_verifiers.rules.schema import MatchesSchema
from aucert_verifiers.rules.shape import FinishReason, Length, Parses
from aucert_verifiers.rules.text import clip


# Each rule by its name in a file, with the option that a bare value stands for (`parses: json`).
_KINDS: dict[str, tuple[Callable[..., Rule], str | None]] = {
    "finish_reason": (FinishReason, None),
    "parses": (Parses, "format"),
    "matches_schema": (MatchesSchema, "schema"),
    "cites_only_returned": (CitesOnlyReturned, None),
    "numbers_appear": (NumbersAppear, None),
    "matches": (Matches, "pattern"),
    "forbids": (Forbids, "pattern"),
    "length": (Length, None),
    "predicate": (Predicate, "function"),
}


def from_config(**options: Any) -> Rules:
    """Build a rule set from plain data.

    ``rules`` is a list. Each entry is a rule's name, or a mapping of that one name to its options;
    a bare value stands for the rule's main option::

        rules:
          - finish_reason
          - parses: json
          - matches_schema: {schema: {type: object, required: [reply]}}
          - cites_only_returned: {field: citations}
          - numbers_appear: {ignore_fields: [confidence]}
          - forbids: {pattern: "(?i)guarantee", fact: "We never guarantee a delivery date."}
          - length: {max_words: 120}
          - predicate: my_shop.checks:no_promises

    Raises:
        ConfigurationError: something cannot work as given; the message names its path and value,
            with one line for each rule that is refused.
    """
    unknown = sorted(options.keys() - {"rules", "name"})
    if unknown:
        raise ConfigurationError(f"{unknown[0]}: unknown option; allowed are rules, name")
    name = options.get("name", "rules")
    if not isinstance(name, str) or not name.strip():
        raise ConfigurationError(f"name is {name!r}: it must be a text")
    entries = options.get("rules")
    if not isinstance(entries, list | tuple) or not entries:
        raise ConfigurationError(
            f"rules is {clip(repr(entries), 80)}: it must be a list of rules, each one of "
            + ", ".join(_KINDS)
        )
    rules, problems = [], []
    for index, entry in enumerate(entries):
        try:
            rules.append(_rule(entry, f"rules[{index}]"))
        except ConfigurationError as error:
            problems.append(str(error))
    if problems:
        raise ConfigurationError("\n".join(problems))
    return Rules(*rules, name=name)


def _rule(entry: object, place: str) -> Rule:
    if isinstance(entry, str):
        entry = {entry: None}
    if not isinstance(entry, Mapping) or len(entry) != 1:
        raise ConfigurationError(
            f"{place} is {clip(repr(entry), 80)}: it must be a rule's name, or a mapping of one rule's "
            "name to its options"
        )
    kind, options = next(iter(entry.items()))
    if kind not in _KINDS:
        raise ConfigurationError(
            f"{place} is {clip(repr(kind), 80)}: it must be one of {', '.join(_KINDS)}"
        )
    build, main = _KINDS[kind]
    given = _options(options, kind, main, f"{place}.{kind}")
    parameters = inspect.signature(build).parameters
    for option in given:
        if option not in parameters:
            raise ConfigurationError(
                f"{place}.{kind}.{clip(str(option), 80)}: unknown option; allowed are "
                + ", ".join(parameters)
            )
    for option, parameter in parameters.items():
        if parameter.default is parameter.empty and option not in given:
            raise ConfigurationError(f"{place}.{kind}: the option {option} is missing")
    if kind == "predicate":
        given["function"] = _function(given["function"], f"{place}.predicate.function")
    try:
        return build(**given)
    except ConfigurationError as error:
        raise ConfigurationError(f"{place}: {error}") from None


def _options(options: object, kind: str, main: str | None, place: str) -> dict[str, Any]:
    if options is None:
        return {}
    if isinstance(options, Mapping):
        return {_plain(key): _sequence(value) for key, value in options.items()}
    if main is None:
        allowed = ", ".join(inspect.signature(_KINDS[kind][0]).parameters)
        raise ConfigurationError(
            f"{place} is {clip(repr(options), 80)}: it must be a mapping with any of {allowed}"
        )
    return {main: options}


def _plain(key: object) -> str:
    return key if isinstance(key, str) else repr(key)


def _sequence(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


def _function(reference: object, place: str) -> Any:
    if not isinstance(reference, str):
        return reference
    module_name, _, path = reference.partition(":")
    if not module_name or not path:
        raise ConfigurationError(f'{place} is {reference!r}: write it as "package.module:function"')
    try:
        found: Any = importlib.import_module(module_name)
        for part in path.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigurationError(
            f"{place} is {reference!r}, which cannot be imported: {error}"
        ) from None
    return found
