"""A method as LangChain's own call helpers want it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any


class Signed:
    """A method with its signature ready: LangChain asks for it on every call, at 50 microseconds."""

    __slots__ = ("_method",)

    __signature__ = inspect.Signature(
        [
            inspect.Parameter("input", inspect.Parameter.POSITIONAL_OR_KEYWORD),
            inspect.Parameter("config", inspect.Parameter.KEYWORD_ONLY),
            inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD),
        ]
    )

    def __init__(self, method: Callable[..., Any]) -> None:
        self._method = method

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the method."""
        return self._method(*args, **kwargs)
