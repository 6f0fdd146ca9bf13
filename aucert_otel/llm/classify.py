"""From a status and an error body to the fault it is, before anything is tried again."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from aucert_otel.llm.errors import (
    AuthenticationFailed,
    BadRequest,
    BillingFailed,
    MalformedResponse,
    ModelError,
    ModelRefused,
    Overloaded,
    RateLimited,
    TimedOut,
)
from aucert_otel.llm.transport import Response


_BILLING = re.compile(
    r"insufficient[_ ]?(quota|balance|funds|credit)|billing|credit balance|exceeded your current quota"
    r"|payment required",
    re.IGNORECASE,
)
_FILTERED = re.compile(
    r"content[_ ]?(filter|policy|management)|moderation|flagged|safety", re.IGNORECASE
)
_UNSUPPORTED = re.compile(
    r"unsupported|not support|unavailable|deprecated|unrecognized|unknown|not permitted"
    r"|not allowed|no longer|unexpected|only the default|extra (inputs|fields)|invalid schema"
    r"|is not available|use '?max",
    re.IGNORECASE,
)
# Our names for the optional parameters, and how servers name them.
_PARAMETERS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("schema", re.compile(r"response_format|output_config|output_format|json_schema|structured.?output", re.IGNORECASE)),
    ("max_tokens", re.compile(r"max(_completion)?_tokens", re.IGNORECASE)),
    ("temperature", re.compile(r"temperature", re.IGNORECASE)),
    ("logprobs", re.compile(r"logprobs", re.IGNORECASE)),
    ("seed", re.compile(r"\bseed\b", re.IGNORECASE)),
)  # fmt: skip


def envelope_of(response: Response) -> dict[str, Any] | None:
    """A response's body as a JSON object; ``None`` for anything else."""
    try:
        found = json.loads(response.body)
    except (ValueError, RecursionError):  # UnicodeDecodeError is a ValueError
        return None
    return found if isinstance(found, dict) else None


def fault_of(response: Response, model: str) -> ModelError:
    """The fault that an unsuccessful response means."""
    envelope = envelope_of(response)
    return _fault(response.status, envelope or {}, response.headers, model)


def fault_in(envelope: Mapping[str, Any], model: str) -> ModelError | None:
    """The fault in the body of a response with status 200; some gateways answer that way."""
    error = envelope.get("error")
    if not error:
        return None
    code = error.get("code") if isinstance(error, dict) else None
    status = code if isinstance(code, int) and 400 <= code < 600 else 500
    return _fault(status, envelope, {}, model)


def malformed(model: str, what: str, status: int | None = None) -> MalformedResponse:
    """A response that is no completion."""
    return MalformedResponse(f"model {model!r}: {what}", model=model, status=status)


def _fault(
    status: int, envelope: Mapping[str, Any], headers: Mapping[str, str], model: str
) -> ModelError:
    said = _Said.read(envelope)
    for applies, fault, what in _FAULTS:
        if applies(status, said):
            return fault(
                f"model {model!r}: HTTP {status}: {what}",
                model=model,
                status=status,
                retry_after_s=retry_after_s(headers),
            )
    return _bad_request(status, said, model)


def _bad_request(status: int, said: _Said, model: str) -> BadRequest:
    where = f"model {model!r}: HTTP {status}"
    if status == 404:
        return BadRequest(
            f"{where}: no such model or path: check model and base_url", model=model, status=status
        )
    parameter = said.parameter() if status in (400, 422) else None
    what = (
        f"the server does not take the parameter for {parameter!r}"
        if parameter is not None
        else "the server does not take this request"
    )
    return BadRequest(f"{where}: {what}", model=model, status=status, parameter=parameter)


class _Said:
    """What an error body says, for matching only: none of it is passed on."""

    __slots__ = ("code", "named", "text")

    def __init__(self, code: str, named: str, text: str) -> None:
        self.code = code
        self.named = named
        self.text = text

    @classmethod
    def read(cls, envelope: Mapping[str, Any]) -> _Said:
        """Read the shapes in use: ``{error: {...}}``, ``{error: "..."}``, ``{detail: ...}``."""
        error = envelope.get("error", envelope)
        if not isinstance(error, dict):
            return cls("", "", str(error)[:4096] if isinstance(error, str) else "")
        inner = error.get("innererror")
        codes = [error.get("code"), error.get("type")]
        if isinstance(inner, dict):
            codes.append(inner.get("code"))
        code = " ".join(value for value in codes if isinstance(value, str))
        named = error.get("param")
        texts = [error.get("message"), error.get("detail")]
        parts = [text if isinstance(text, str) else json.dumps(text) for text in texts if text]
        return cls(code, named if isinstance(named, str) else "", " ".join([code, *parts])[:4096])

    def parameter(self) -> str | None:
        """The optional parameter it says it does not take at all.

        A value out of range is the caller's mistake: leaving the parameter out would hide it.
        """
        if not _UNSUPPORTED.search(self.text):
            return None
        for text in (self.named, self.text):
            for name, pattern in _PARAMETERS:
                if text and pattern.search(text):
                    return name
        return None


_FILTER = "a content filter declined the request"

# The first row that applies, by status and by what the body says.
_FAULTS: tuple[tuple[Callable[[int, _Said], object], type[ModelError], str], ...] = (
    (
        lambda status, said: (
            status == 402 or (status in (400, 403, 429) and _BILLING.search(said.text))
        ),
        BillingFailed,
        "the account has no credit or quota left",
    ),
    (lambda status, said: status == 403 and _FILTERED.search(said.text), ModelRefused, _FILTER),
    (
        lambda status, said: status in (400, 422) and _FILTERED.search(said.code),
        ModelRefused,
        _FILTER,
    ),
    (
        lambda status, _: status in (401, 403),
        AuthenticationFailed,
        "the key is missing, wrong, or may not use this model",
    ),
    (lambda status, _: status == 429, RateLimited, "too many requests"),
    (lambda status, _: status == 408, TimedOut, "the server gave up waiting"),
    (lambda status, _: status >= 500, Overloaded, "the service is failing or overloaded"),
    (
        lambda status, _: status < 400,
        BadRequest,
        "the server redirects elsewhere, and keys are not sent on: set base_url to where it points",
    ),
)


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """The pause a server asks for, in seconds; ``None`` if it does not, or not legibly."""
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name, "").strip()
        if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", value):
            return float(value) * scale
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max((moment - datetime.now(UTC)).total_seconds(), 0.0)
