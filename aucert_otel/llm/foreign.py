"""What the exceptions of other libraries mean, read without importing any of them.

Clients made from one mould (OpenAI's, Anthropic's and those built on them) raise exceptions with a
``status_code``, a ``response`` and a ``body``; HTTP libraries name theirs alike.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from aucert_otel.generation import Usage
from aucert_otel.llm import classify
from aucert_otel.llm.call import Reply
from aucert_otel.llm.errors import (
    BadRequest,
    ConnectionCut,
    ModelError,
    ModelRefused,
    TimedOut,
    Truncated,
)
from aucert_otel.llm.transport import Response
from aucert_otel.llm.wire import count


_TIMEOUT = re.compile(r"Time(d)?Out", re.IGNORECASE)
_NO_CONNECTION = re.compile(r"Connect(ion)?(Error|Timeout|Refused)|ConnectionRefusedError")
_BROKEN = re.compile(
    r"Connection|Connect|Network|Transport|RemoteProtocol|ReadError|WriteError|Disconnected"
)
_LENGTH = re.compile(r"LengthFinishReason|MaxTokens")
_REFUSED = re.compile(r"ContentFilter|Refusal|Moderation")
_UNREADABLE = (ValueError, LookupError, TypeError, AttributeError)
"""What reading a response that is no completion ends in."""
_KEYWORD = re.compile(r"unexpected keyword argument '(\w+)'")
_OURS = {
    "response_format": "schema",
    "max_completion_tokens": "max_tokens",
    "top_logprobs": "logprobs",
}
_OPTIONAL = frozenset({"schema", "temperature", "seed", "max_tokens", "logprobs"})


@dataclass(frozen=True, slots=True)
class Fault:
    """A call that brought no reply, and what is known of its bill."""

    error: ModelError
    billed: bool = True
    """It may be on somebody's bill."""
    reply: Reply | None = None
    """What was used up all the same, where the exception says."""


def fault_of(error: Exception, model: str) -> Fault:
    """The fault that an exception of another library means. Its own text is not passed on."""
    if isinstance(error, ModelError):
        return Fault(error)
    status = _status(error)
    if status is not None:
        response = Response(status, _headers(error), _body(error))
        return Fault(classify.fault_of(response, model), billed=False)
    for read in _READERS:
        found = read(error, f"model {model!r}: ", model)
        if found is not None:
            return found
    return Fault(ModelError(f"model {model!r}: {type(error).__name__}", model=model))


def _timed_out(error: Exception, what: str, model: str) -> Fault | None:
    names = _names(error)
    if not isinstance(error, TimeoutError) and not _TIMEOUT.search(names):
        return None
    text = f"{what}no whole answer in time ({type(error).__name__})"
    return Fault(TimedOut(text, model=model), billed="ConnectTimeout" not in names)


def _cut_off(error: Exception, what: str, model: str) -> Fault | None:
    if not _LENGTH.search(_names(error)):
        return None
    text = f"{what}the answer was cut off at its token ceiling: raise max_tokens"
    return Fault(Truncated(text, model=model), reply=_used(error))


def _declined(error: Exception, what: str, model: str) -> Fault | None:
    if not _REFUSED.search(_names(error)):
        return None
    return Fault(ModelRefused(f"{what}declined to answer", model=model), reply=_used(error))


def _disconnected(error: Exception, what: str, model: str) -> Fault | None:
    if not isinstance(error, OSError) and not _BROKEN.search(_names(error)):
        return None
    text = f"{what}the connection failed ({type(error).__name__})"
    return Fault(ConnectionCut(text, model=model), billed=not _never_left(error))


def _not_taken(error: Exception, what: str, model: str) -> Fault | None:
    keyword = _KEYWORD.search(str(error)) if isinstance(error, TypeError) else None
    if keyword is None:
        return None
    name = _OURS.get(keyword[1], keyword[1])
    text = f"{what}its library does not take a parameter that was sent"
    parameter = name if name in _OPTIONAL else None
    return Fault(BadRequest(text, model=model, parameter=parameter), billed=False)


def _unreadable(error: Exception, _: str, model: str) -> Fault | None:
    if not isinstance(error, _UNREADABLE):
        return None
    text = f"the response could not be read ({type(error).__name__})"
    return Fault(classify.malformed(model, text))


_READERS = (_timed_out, _cut_off, _declined, _disconnected, _not_taken, _unreadable)
"""The first that knows the exception says what it means."""


def _status(error: Exception) -> int | None:
    for value in (
        getattr(error, "status_code", None),
        getattr(getattr(error, "response", None), "status_code", None),
        getattr(error, "code", None),
    ):
        if isinstance(value, int) and not isinstance(value, bool) and 300 <= value < 600:
            return int(value)
    return None


def _headers(error: Exception) -> dict[str, str]:
    given = getattr(getattr(error, "response", None), "headers", None)
    if not isinstance(given, Mapping):
        return {}
    wanted = ("retry-after-ms", "retry-after")
    found = {name: given.get(name) for name in wanted}
    return {name: value for name, value in found.items() if isinstance(value, str)}


def _body(error: Exception) -> bytes:
    """The parts of an error body by which it is classified."""
    body = getattr(error, "body", None)
    if isinstance(body, Mapping) and isinstance(body.get("error"), Mapping):
        body = body["error"]
    if not isinstance(body, Mapping):
        return json.dumps({"error": {"message": str(error)[:4096]}}).encode()
    said: dict[str, object] = {
        key: body[key]
        for key in ("code", "type", "param", "message", "detail")
        if isinstance(body.get(key), str)
    }
    inner = body.get("innererror")
    if isinstance(inner, Mapping) and isinstance(inner.get("code"), str):
        said["innererror"] = {"code": inner["code"]}
    return json.dumps({"error": said}).encode()


def _names(error: BaseException) -> str:
    """The names of its own classes, without those everything derives from."""
    own = [kind.__name__ for kind in type(error).__mro__]
    return " ".join(name for name in own if name not in ("object", "BaseException", "Exception"))


def _never_left(error: BaseException) -> bool:
    """No connection came about, so that nobody bills anything."""
    cause: BaseException | None = error
    for _ in range(8):
        if cause is None:
            return False
        # The clients' own name for every broken connection says nothing about when it broke.
        if _NO_CONNECTION.fullmatch(type(cause).__name__) and not hasattr(cause, "request_id"):
            return type(cause).__name__ not in ("ConnectionError", "APIConnectionError")
        cause = cause.__cause__ or cause.__context__
    return False


def _used(error: Exception) -> Reply | None:
    """The tokens of an answer that is of no use; they are paid for."""
    usage = getattr(getattr(error, "completion", None), "usage", None)
    sent = count(getattr(usage, "prompt_tokens", None))
    if sent is None:
        return None
    return Reply(None, usage=Usage(sent, count(getattr(usage, "completion_tokens", None))))
