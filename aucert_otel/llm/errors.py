"""Why a chat model gave no usable answer, classified before anything is tried again.

The messages name the model, the kind of fault and the HTTP status. They never hold a key, a header,
a prompt or an answer: a server's own error text may quote any of them, so it is not passed on.
"""

from __future__ import annotations

from typing import ClassVar

from aucert_otel.verifier import Refused, Unavailable


class ModelError(Exception):
    """A call of a chat model that ended without a usable answer."""

    kind: ClassVar[str] = "error"
    """What happened, in one word that is safe as an attribute."""
    retryable: ClassVar[bool] = False
    """The same request may well succeed a moment later."""

    def __init__(
        self,
        message: str,
        *,
        model: str = "",
        status: int | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message)
        self.model = model
        self.status = status
        """The HTTP status, if there was one."""
        self.retry_after_s = retry_after_s
        """How long the server asked to be left alone, in seconds."""
        self.cost_usd: float | None = 0.0
        """US dollars already spent over all attempts; ``None`` if nobody can say."""
        self.unpriced: tuple[str, ...] = ()
        self.attempts: int = 1
        self.latency_s: float = 0.0


class ModelUnavailable(ModelError, Unavailable):  # noqa: N818 - names a state of the world, not a bug
    """The model cannot be reached or does not serve us: `Status.UNAVAILABLE`, never a verdict."""

    kind = "unavailable"


class AuthenticationFailed(ModelUnavailable):
    """The key is missing, wrong, or may not use this model (401, 403)."""

    kind = "auth"


class BillingFailed(ModelUnavailable):
    """The account has no credit or quota left (402, or 429 that says so). Waiting does not help."""

    kind = "billing"


class RateLimited(ModelUnavailable):
    """Too many requests or tokens for now (429)."""

    kind = "rate_limit"
    retryable = True


class Overloaded(ModelUnavailable):
    """The service is failing or too busy (500, 502, 503, 504, 529)."""

    kind = "overload"
    retryable = True


class TimedOut(ModelUnavailable):
    """No whole answer arrived in time, a slow trickle included."""

    kind = "timeout"
    retryable = True


class ConnectionCut(ModelUnavailable):
    """There was no connection, or it broke before the whole answer had arrived."""

    kind = "connection"
    retryable = True


class ModelRefused(ModelError, Refused):  # noqa: N818 - same
    """The model declined, or a content filter stopped it: `Status.REFUSED`, never a verdict."""

    kind = "refused"


class Truncated(ModelError):  # noqa: N818 - same
    """The answer hit its token ceiling. Half an answer is none; the cost is real."""

    kind = "truncated"


class MalformedResponse(ModelError):  # noqa: N818 - same
    """The server answered with something that is no completion: empty, HTML, other JSON, too big."""

    kind = "malformed"


class BadRequest(ModelError):  # noqa: N818 - same
    """The server does not take the request as it is (400, 404, 413, 422, a redirect)."""

    kind = "bad_request"

    def __init__(
        self,
        message: str,
        *,
        model: str = "",
        status: int | None = None,
        retry_after_s: float | None = None,
        parameter: str | None = None,
    ) -> None:
        super().__init__(message, model=model, status=status, retry_after_s=retry_after_s)
        self.parameter = parameter
        """The optional parameter that the server says it does not take, if it names one of ours."""
