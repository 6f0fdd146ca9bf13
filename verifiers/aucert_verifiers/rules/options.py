"""Checks on what a user passes to a rule. Each takes any object: annotations stop nobody."""

from __future__ import annotations

import re

from aucert_otel.errors import ConfigurationError
from aucert_verifiers.rules.text import clip


def check_name(name: object, place: str) -> str:
    """A criterion's name.

    Raises:
        ConfigurationError: it is not a text with something in it.
    """
    return check_text(name, f"{place}.name", "a text, the criterion's name")


def check_text(value: object, place: str, wanted: str) -> str:
    """A text with something in it.

    Raises:
        ConfigurationError: it is none.
    """
    if not isinstance(value, str) or not value.strip():
        raise ConfigurationError(f"{place} is {_shown(value)}: it must be {wanted}")
    return value


def check_count(value: object, place: str, *, least: int = 0) -> None:
    """Refuse what is not a whole number of at least ``least``.

    Raises:
        ConfigurationError: it is not.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ConfigurationError(
            f"{place} is {_shown(value)}: it must be a whole number of at least {least}"
        )


def check_flag(value: object, place: str) -> None:
    """Refuse what is not true or false.

    Raises:
        ConfigurationError: it is not.
    """
    if not isinstance(value, bool):
        raise ConfigurationError(f"{place} is {_shown(value)}: it must be true or false")


def check_choice(value: object, place: str, allowed: tuple[str, ...]) -> None:
    """Refuse what is not one of the allowed texts.

    Raises:
        ConfigurationError: it is not.
    """
    if not isinstance(value, str) or value not in allowed:
        raise ConfigurationError(
            f"{place} is {_shown(value)}: it must be one of {', '.join(allowed)}"
        )


def check_texts(value: object, place: str) -> tuple[str, ...]:
    """A tuple of texts, from a list of them or from a single one.

    Raises:
        ConfigurationError: it is none.
    """
    items = (value,) if isinstance(value, str) else value
    if not isinstance(items, tuple | list | set | frozenset) or not all(
        isinstance(item, str) and item for item in items
    ):
        raise ConfigurationError(f"{place} is {_shown(value)}: it must be a list of texts")
    return tuple(sorted(items)) if isinstance(items, set | frozenset) else tuple(items)


def check_pattern(pattern: object, place: str, flags: int = 0) -> re.Pattern[str]:
    """Compile a user's regular expression.

    Raises:
        ConfigurationError: it is none.
    """
    if isinstance(pattern, re.Pattern):
        flags |= pattern.flags & ~re.DEBUG
        pattern = pattern.pattern
    source = check_text(pattern, place, "a regular expression, a text")
    try:
        return re.compile(source, flags)
    except (re.error, RecursionError, OverflowError) as error:
        raise ConfigurationError(
            f"{place} is {_shown(source)}, which is no regular expression: {error}"
        ) from None


def _shown(value: object) -> str:
    return clip(repr(value), 120)
