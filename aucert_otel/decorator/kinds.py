"""The four kinds of function an answer can come from."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from enum import Enum
from typing import Any


class Kind(Enum):
    """What calling a function gives; the value is its name in a sentence."""

    PLAIN = "plain function"
    COROUTINE = "coroutine function"
    STREAM = "generator function"
    ASYNC_STREAM = "asynchronous generator function"

    @property
    def is_async(self) -> bool:
        """Whether its caller can await."""
        return self in (Kind.COROUTINE, Kind.ASYNC_STREAM)


_TESTS = (
    (inspect.isasyncgenfunction, Kind.ASYNC_STREAM),
    (inspect.iscoroutinefunction, Kind.COROUTINE),
    (inspect.isgeneratorfunction, Kind.STREAM),
)


def kind_of(function: Callable[..., Any]) -> Kind:
    """The kind of a function, or of an object by its ``__call__``."""
    for each in (function, getattr(function, "__call__", None)):  # noqa: B004 - its kind is asked for, not whether it is there
        for test, kind in _TESTS:
            if test(each):
                return kind
    return Kind.PLAIN
