"""Play one scenario: the real chain, verified, with its spans caught as they are exported."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from opentelemetry import trace

from aucert_integrations.demo.chain import rules, support_chain
from aucert_integrations.demo.data import Scenario
from aucert_integrations.demo.models import ScriptedModel, live_model, price
from aucert_integrations.langchain import verified
from aucert_otel import Harness, MissingExtraError, Outcome, configure
from aucert_otel.telemetry import Instruments, Telemetry


HELD_BACK: Final = "A colleague will answer you shortly."
"""What the customer gets where the reply may not be used."""
ENDPOINT: Final = "OTEL_EXPORTER_OTLP_ENDPOINT"


@dataclass(frozen=True, slots=True)
class Played:
    """What happened."""

    scenario: Scenario
    outcome: Outcome
    answer: str
    """What the customer gets."""
    spans: tuple[Any, ...]
    """The finished spans, as an exporter received them."""


class _Watched(Harness):
    """A harness that keeps its outcomes for the screen. An application reads them off the trace."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.outcomes: list[Outcome] = []

    def run(self, *args: Any, **kwargs: Any) -> Outcome:
        outcome = super().run(*args, **kwargs)
        self.outcomes.append(outcome)
        return outcome


class Stage:
    """Where scenarios are played: one set of providers for all of them.

    Args:
        model: The base URL of a live model; default: the scripts.
        model_name: Its name; default: the first the endpoint lists.

    Raises:
        MissingExtraError: the OpenTelemetry SDK is not installed.
        ConfigurationError: the live model does not answer.
    """

    def __init__(self, model: str | None = None, model_name: str | None = None) -> None:
        try:
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import SimpleSpanProcessor
            from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
        except ImportError as error:
            raise MissingExtraError("the demo", "demo") from error
        self.live = None if model is None else live_model(model, model_name)
        self.endpoint = os.environ.get(ENDPOINT)
        self._exporter = InMemorySpanExporter()
        provider: Any = None
        if self.endpoint:
            self._telemetry = configure(service_name="flower-support")
            provider = trace.get_tracer_provider()
        if not isinstance(provider, TracerProvider):  # no endpoint, or the SDK is switched off
            provider = TracerProvider()
            self._telemetry = Telemetry(Instruments(provider))
        provider.add_span_processor(SimpleSpanProcessor(self._exporter))

    def play(self, scenario: Scenario) -> Played:
        """Answer one customer."""
        model = self.live or ScriptedModel(
            drafts=scenario.drafts,
            input_tokens=scenario.input_tokens,
            max_tokens=scenario.max_tokens,
        )
        harness = _Watched([rules()], name="support", price=price, telemetry=self._telemetry)
        chain = verified(support_chain(model), harness, otherwise=HELD_BACK)
        self._exporter.clear()
        answer = chain.invoke({"question": scenario.question})
        return Played(
            scenario, harness.outcomes[-1], answer, tuple(self._exporter.get_finished_spans())
        )

    def flush(self) -> bool:
        """Whether everything reached the endpoint, within a few seconds."""
        from aucert_otel.telemetry.flush import flush_providers

        return self.endpoint is None or flush_providers(5.0)


def shape(spans: Sequence[Any]) -> list[tuple[int, Any]]:
    """Spans in the order they began, each with its depth under the root."""
    inside = {span.context.span_id for span in spans}
    children: dict[int | None, list[Any]] = {}
    for span in sorted(spans, key=lambda each: each.start_time):
        parent = span.parent.span_id if span.parent and span.parent.span_id in inside else None
        children.setdefault(parent, []).append(span)
    found: list[tuple[int, Any]] = []

    def walk(parent: int | None, depth: int) -> None:
        for span in children.get(parent, ()):
            found.append((depth, span))
            walk(span.context.span_id, depth + 1)

    walk(None, 0)
    return found
