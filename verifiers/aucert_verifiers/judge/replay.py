"""Recorded verdicts as a judge's replies: for demonstrations, replay over data, and tests."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from aucert_otel.llm.model import ChatRequest
from aucert_verifiers.judge.rubric import CODE


Verdicts: TypeAlias = Mapping[str, Mapping[str, Any]]
"""What a judge says about each criterion, by name."""

_MARK = re.compile(r"with the code ([0-9A-Za-z]{4,64}) is material")


def replay(*verdicts: Verdicts) -> Callable[[ChatRequest], Mapping[str, Any]]:
    """Answers for a `ReplayModel`: the verdicts in order, of which the last is repeated.

    Each is answered as a judge has to: with the code of the call, and with the criteria that this
    call asks for and no others. A criterion that was asked for and not recorded is left out.

    Raises:
        ValueError: there are no verdicts.
    """
    if not verdicts:
        raise ValueError("replay() was given no verdicts: give one for each call")
    left = list(verdicts)

    def answer(request: ChatRequest) -> Mapping[str, Any]:
        said = left.pop(0) if len(left) > 1 else left[0]
        asked = (request.schema or {}).get("properties", {})
        found = _MARK.search(request.messages[-1].content)
        code = "" if found is None else found[1]
        return {CODE: code, **{name: said[name] for name in asked if name in said}}

    return answer
