"""A JSON Schema validator that hostile answers can neither keep busy nor make raise."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, TypeAlias

from aucert_verifiers.rules.text import clip


MAX_STEPS = 30_000
"""Keywords applied to one answer, by default: about half a second's work."""

_Keyword: TypeAlias = Callable[[Any, Any, Any, Any], Any]


class _OutOfStepsError(Exception):
    """The answer needs more steps than it gets."""


class _Steps(threading.local):
    left = 0


_steps = _Steps()


def bounded_draft(draft: Any) -> Any:
    """The validator class of a draft whose every keyword counts as a step.

    Two keywords are replaced by ones that are linear and exact.
    """
    from jsonschema import validators

    ours = {"uniqueItems": _unique_items, "multipleOf": _multiple_of}
    keywords = {
        name: _counted(ours.get(name, keyword)) for name, keyword in draft.VALIDATORS.items()
    }
    extend: Any = validators.extend  # it ships without annotations
    return extend(draft, keywords)


def errors_in(validator: Any, value: Any, max_steps: int, max_errors: int) -> tuple[list[Any], str]:
    """The first places that do not match, and why the rest was not read, if it was not."""
    errors: list[Any] = []
    _steps.left = max_steps
    try:
        for error in validator.iter_errors(value):
            errors.append(error)
            if len(errors) == max_errors:
                break
    except _OutOfStepsError:
        return errors, f"the answer needs more than {max_steps} steps to be held against its schema"
    except RecursionError:
        return errors, "the answer is nested too deeply for its schema"
    except (ArithmeticError, ValueError):
        return errors, "the answer holds a number that its schema's arithmetic cannot take"
    return errors, ""


def _counted(keyword: _Keyword) -> _Keyword:
    def step(validator: Any, wanted: Any, instance: Any, schema: Any) -> Any:
        _steps.left -= 1
        if _steps.left < 0:
            raise _OutOfStepsError
        return keyword(validator, wanted, instance, schema)

    return step


def _multiple_of(_validator: Any, wanted: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    """``multipleOf`` on the numbers as written: floats say that 0.3 is no multiple of 0.1."""
    from jsonschema.exceptions import ValidationError

    if isinstance(instance, bool) or not isinstance(instance, int | float):
        return
    if Fraction(str(instance)) % Fraction(str(wanted)):
        yield ValidationError(f"{clip(repr(instance), 80)} is not a multiple of {wanted}")


def _unique_items(_validator: Any, wanted: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    """``uniqueItems`` in linear time: the stock one compares every pair of a hostile list."""
    from jsonschema.exceptions import ValidationError

    if not wanted or not isinstance(instance, list):
        return
    seen: set[Any] = set()
    for index, item in enumerate(instance):
        key = _hashable(item)
        if key in seen:
            yield ValidationError(f"item {index} appears twice: {clip(repr(item), 80)}")
            return
        seen.add(key)


def _hashable(item: Any) -> Any:
    """A key by which JSON values are equal as JSON Schema means it: 1 is 1.0 and not true.

    Numbers become texts, whose hashes nobody outside can choose.
    """
    if isinstance(item, bool):
        return ("bool", item)
    if isinstance(item, int | float):
        return ("number", str(int(item) if item == int(item) else item))
    if isinstance(item, list):
        return ("list", tuple(map(_hashable, item)))
    if isinstance(item, dict):
        return ("dict", frozenset((key, _hashable(value)) for key, value in item.items()))
    return item
