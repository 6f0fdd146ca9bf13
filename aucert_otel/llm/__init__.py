"""Chat models and what they cost: the judges' side of a verification.

Nothing in ``aucert_otel`` imports this room on its own: a cascade that only runs rules needs no
HTTP client. The clients need the extra ``llm``, bundled prices the extra ``prices``.
"""

from aucert_otel.llm.anthropic import AnthropicChat
from aucert_otel.llm.errors import (
    AuthenticationFailed,
    BadRequest,
    BillingFailed,
    ConnectionCut,
    MalformedResponse,
    ModelError,
    ModelRefused,
    ModelUnavailable,
    Overloaded,
    RateLimited,
    TimedOut,
    Truncated,
)
from aucert_otel.llm.families import family_of
from aucert_otel.llm.logprobs import TokenLogprob, label_probabilities
from aucert_otel.llm.model import ChatMessage, ChatModel, ChatRequest, Completion
from aucert_otel.llm.openai import OpenAIChat
from aucert_otel.llm.parse import JsonProblem, Malformed, parse_object
from aucert_otel.llm.prices import Price, PriceBook, Priced
from aucert_otel.llm.retry import RetryPolicy
from aucert_otel.llm.scripted import Recorded, ReplayModel
from aucert_otel.llm.sync import complete
from aucert_otel.llm.transport import Timeouts
from aucert_otel.spending import Spending, spending


__all__ = [
    "AnthropicChat",
    "AuthenticationFailed",
    "BadRequest",
    "BillingFailed",
    "ChatMessage",
    "ChatModel",
    "ChatRequest",
    "Completion",
    "ConnectionCut",
    "JsonProblem",
    "Malformed",
    "MalformedResponse",
    "ModelError",
    "ModelRefused",
    "ModelUnavailable",
    "OpenAIChat",
    "Overloaded",
    "Price",
    "PriceBook",
    "Priced",
    "RateLimited",
    "Recorded",
    "ReplayModel",
    "RetryPolicy",
    "Spending",
    "TimedOut",
    "Timeouts",
    "TokenLogprob",
    "Truncated",
    "complete",
    "family_of",
    "label_probabilities",
    "parse_object",
    "spending",
]
