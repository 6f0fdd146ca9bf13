"""The span and the metrics of one call of a chat model, by the GenAI conventions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from opentelemetry import context as otel_context
from opentelemetry import metrics, trace
from opentelemetry.metrics import MeterProvider
from opentelemetry.trace import Span, SpanKind, Status, StatusCode

from aucert_otel._safe import Guard
from aucert_otel._version import __version__
from aucert_otel.llm.errors import ModelError
from aucert_otel.llm.model import ChatModel, ChatRequest, Completion
from aucert_otel.telemetry import Boundary, Instruments, Telemetry, default_telemetry, names
from aucert_otel.telemetry.boundary import AttributeValue, clean_attributes


if TYPE_CHECKING:
    from aucert_otel.spending import Spending

_GUARD = Guard("llm telemetry")


class _Metrics:
    """The two client metrics, with the bucket bounds that the conventions ask for."""

    def __init__(self, provider: MeterProvider | None) -> None:
        meter = metrics.get_meter(names.SCOPE, __version__, provider)
        self.duration = meter.create_histogram(
            names.METRIC_CLIENT_DURATION,
            "s",
            "Time a call of a chat model took",
            explicit_bucket_boundaries_advisory=[
                0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64,
                1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
            ],
        )  # fmt: skip
        self.tokens = meter.create_histogram(
            names.METRIC_CLIENT_TOKENS,
            "{token}",
            "Tokens a call of a chat model used, by type",
            explicit_bucket_boundaries_advisory=[
                1, 4, 16, 64, 256, 1024, 4096, 16384, 65536,
                262144, 1048576, 4194304, 16777216, 67108864,
            ],
        )  # fmt: skip


_of_provider: WeakKeyDictionary[MeterProvider, _Metrics] = WeakKeyDictionary()
_of_global: list[_Metrics] = []


def _metrics_of(instruments: Instruments) -> _Metrics:
    """Those of the provider that verdicts go to, made once: a meter takes a name only once."""
    provider = next((p for p in instruments.providers if isinstance(p, MeterProvider)), None)
    if provider is None:
        if not _of_global:
            _of_global.append(_Metrics(None))
        return _of_global[0]
    found = _of_provider.get(provider)
    if found is None:
        found = _of_provider[provider] = _Metrics(provider)
    return found


class ChatSpan:
    """One call on its way out of this process: a span around all attempts, an event for each retry."""

    __slots__ = ("_closing", "_shared", "_telemetry", "context", "span")

    def __init__(
        self,
        telemetry: Telemetry,
        model: ChatModel,
        request: ChatRequest,
        server: tuple[str, int] | None,
    ) -> None:
        self._telemetry = telemetry
        self._shared: dict[str, AttributeValue] = {}
        self._closing: dict[str, Any] = {}
        """What the end writes in one go: each call of the SDK's takes a lock and a copy."""
        self.span: Span = trace.INVALID_SPAN
        around = otel_context.get_current()
        with _GUARD:
            label = telemetry.label
            self._shared = {
                names.GEN_AI_OPERATION: names.OPERATION_CHAT,
                names.GEN_AI_PROVIDER: label(model.provider),
                names.GEN_AI_REQUEST_MODEL: label(model.model),
            }
            if server is not None:
                self._shared |= {names.SERVER_ADDRESS: server[0], names.SERVER_PORT: server[1]}
            self.span = telemetry.instruments.tracer.start_span(
                f"{names.OPERATION_CHAT} {label(model.model)}",
                around,
                kind=SpanKind.CLIENT,
                # Given at the start, where samplers see them.
                attributes=clean_attributes(
                    {
                        **self._shared,
                        names.LLM_NAME: label(model.name),
                        names.GEN_AI_REQUEST_TEMPERATURE: request.temperature,
                        names.GEN_AI_REQUEST_MAX_TOKENS: request.max_tokens,
                        names.GEN_AI_REQUEST_SEED: request.seed,
                        names.GEN_AI_OUTPUT_TYPE: "text" if request.schema is None else "json",
                    }
                ),
            )
            if self.span.is_recording() and telemetry.boundary.capture_content:
                self.span.set_attribute(
                    names.GEN_AI_INPUT_MESSAGES, _input_messages(request, telemetry.boundary)
                )
        self.context = trace.set_span_in_context(self.span, around)

    def retrying(self, error: ModelError, attempt: int, wait_s: float) -> None:
        """Note that an attempt failed and will be made again."""
        with _GUARD:
            self.span.add_event(
                names.EVENT_RETRY,
                {
                    names.ERROR_TYPE: error.kind,
                    names.LLM_ATTEMPT: attempt,
                    names.LLM_RETRY_DELAY: round(wait_s, 6),
                },
            )

    def done(self, completion: Completion, response_id: str | None) -> None:
        """Write the answer's attributes and metrics. The span is ended by `chat_span`."""
        with _GUARD:
            label = self._telemetry.label
            usage = completion.usage
            shared = {**self._shared, names.GEN_AI_RESPONSE_MODEL: label(completion.model)}
            self._measure(completion.latency_s, shared)
            for kind, count in (("input", usage.input_tokens), ("output", usage.output_tokens)):
                if count is not None:
                    _metrics_of(self._telemetry.instruments).tokens.record(
                        count, {**shared, names.GEN_AI_TOKEN_TYPE: kind}
                    )
            if not self.span.is_recording():
                return
            finish, boundary = completion.finish_reason, self._telemetry.boundary
            self._closing = {
                names.GEN_AI_RESPONSE_MODEL: label(completion.model),
                names.GEN_AI_RESPONSE_ID: None if response_id is None else label(response_id),
                names.GEN_AI_RESPONSE_FINISH_REASONS: None if finish is None else (label(finish),),
                names.LLM_DROPPED: completion.dropped,
                names.LLM_PROBLEM: completion.problem and completion.problem.value,
                names.LLM_PRICE_AS_OF: completion.price_as_of,
                names.LLM_PRICE_SOURCE: completion.price_source,
            }
            if boundary.capture_content:
                self._closing[names.GEN_AI_OUTPUT_MESSAGES] = _output_messages(completion, boundary)

    def failed(self, error: BaseException, latency_s: float) -> None:
        """Mark the span as failed; the exception's own message stays out."""
        with _GUARD:
            kind = error.kind if isinstance(error, ModelError) else type(error).__qualname__
            self.span.set_attribute(names.ERROR_TYPE, kind)
            self.span.set_status(Status(StatusCode.ERROR, kind))
            self._measure(latency_s, {**self._shared, names.ERROR_TYPE: kind})

    def end(self, spent: Spending) -> None:
        """Write what the attempts took, however the call ended, and end the span."""
        with _GUARD:
            if self.span.is_recording():
                usage = spent.usage
                label = self._telemetry.label
                self.span.set_attributes(
                    clean_attributes(
                        {
                            **self._closing,
                            names.LLM_ATTEMPTS: spent.attempts,
                            names.LLM_COST_USD: spent.cost_usd,
                            names.LLM_UNPRICED: tuple(label(name) for name in spent.unpriced),
                            names.GEN_AI_USAGE_INPUT: usage.input_tokens,
                            names.GEN_AI_USAGE_OUTPUT: usage.output_tokens,
                            names.GEN_AI_USAGE_CACHE_READ: usage.cached_input_tokens,
                            names.GEN_AI_USAGE_REASONING: usage.reasoning_tokens,
                        }
                    )
                )
            self.span.end()

    def _measure(self, latency_s: float, attributes: dict[str, AttributeValue]) -> None:
        _metrics_of(self._telemetry.instruments).duration.record(latency_s, attributes)


@contextmanager
def chat_span(
    model: ChatModel, request: ChatRequest, server: tuple[str, int] | None, spent: Spending
) -> Iterator[ChatSpan]:
    """A span for one call, current within its block, ended once on every way out."""
    chat = ChatSpan(default_telemetry(), model, request, server)
    token = otel_context.attach(chat.context)
    try:
        yield chat
    finally:
        otel_context.detach(token)
        chat.end(spent)


def _input_messages(request: ChatRequest, boundary: Boundary) -> str:
    return json.dumps(
        [
            {
                "role": message.role,
                "parts": [
                    {"type": "text", "content": boundary.content(message.content) or ""},
                    # Pictures stay out: they are large, and no mask looks into them.
                    *(
                        {"type": "blob", "modality": "image", "mime_type": image.media_type}
                        for image in message.images
                    ),
                ],
            }
            for message in request.messages
        ]
    )


def _output_messages(completion: Completion, boundary: Boundary) -> str:
    message: dict[str, Any] = {
        "role": "assistant",
        "parts": [{"type": "text", "content": boundary.content(completion.text) or ""}],
    }
    if completion.finish_reason is not None:
        message["finish_reason"] = completion.finish_reason
    return json.dumps([message])
