"""The span and the metrics of a call."""

from __future__ import annotations

import json

import pytest
from opentelemetry.trace import SpanKind, StatusCode
from support.llm_cases import ANSWER_USD, SCHEMA
from support.llm_server import failing

from aucert_otel.generation import Image
from aucert_otel.llm import ChatMessage, ModelError, ReplayModel, complete
from aucert_otel.telemetry import Boundary, set_default_telemetry


def test_a_call_is_one_span_with_an_event_for_each_retry(api, out):
    api.server.script(failing(429, {"retry-after": "2"}), failing(503), api.answer("yes"))

    api.ask(api.client(name="fast"), temperature=0.5, max_tokens=9, seed=3)

    (span,) = out.spans
    assert span.name == "chat judge-1"
    assert span.kind is SpanKind.CLIENT
    assert span.status.status_code is StatusCode.UNSET
    dropped = {"aucert.llm.request.dropped": ("seed",)} if api.name == "anthropic" else {}
    finish = "stop" if api.name == "openai" else "end_turn"
    assert dict(span.attributes) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "custom" if api.name == "openai" else "anthropic",
        "gen_ai.request.model": "judge-1",
        "gen_ai.request.temperature": 0.5,
        "gen_ai.request.max_tokens": 9,
        "gen_ai.request.seed": 3,
        "gen_ai.output.type": "text",
        "gen_ai.response.id": "chatcmpl-1" if api.name == "openai" else "msg_1",
        "gen_ai.response.model": "served-1",
        "gen_ai.response.finish_reasons": (finish,),
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 20,
        "server.address": "127.0.0.1",
        "server.port": api.server.port,
        "aucert.llm.name": "fast",
        "aucert.llm.attempts": 3,
        "aucert.llm.cost.usd": pytest.approx(ANSWER_USD),
        "aucert.llm.price.as_of": "2026-04-01",
        "aucert.llm.price.source": "table",
        **dropped,
    }
    assert [(event.name, dict(event.attributes)) for event in span.events] == [
        (
            "aucert.llm.retry",
            {"error.type": "rate_limit", "aucert.llm.attempt": 1, "aucert.llm.retry.delay": 2.0},
        ),
        (
            "aucert.llm.retry",
            {"error.type": "overload", "aucert.llm.attempt": 2, "aucert.llm.retry.delay": 0.5},
        ),
    ]


def test_a_failed_call_ends_its_span_with_the_kind_of_fault(api, out):
    api.server.script(failing(401))

    with pytest.raises(ModelError):
        api.ask()

    (span,) = out.spans
    assert span.attributes["error.type"] == "auth"
    assert span.attributes["aucert.llm.cost.usd"] == 0.0
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, "auth")
    assert span.events == ()


def test_a_call_is_a_child_of_what_is_current_for_the_caller(api, out):
    api.server.script(api.answer("yes"))
    tracer = out.tracers.get_tracer("test")

    with tracer.start_as_current_span("stage"):
        api.ask()

    parent = out.span("chat judge-1").parent
    assert parent is not None
    assert parent.span_id == out.span("stage").context.span_id


def test_time_and_tokens_are_metrics_with_the_conventions_bounds(api, out):
    api.server.script(api.answer("yes"), failing(404))
    model = api.client()

    api.ask(model)
    with pytest.raises(ModelError):
        api.ask(model)

    by_type = {
        attributes["gen_ai.token.type"]: count
        for attributes, count in out.metrics["gen_ai.client.token.usage"]
    }
    assert by_type == {"input": 1, "output": 1}
    faults = [
        attributes.get("error.type")
        for attributes, _ in out.metrics["gen_ai.client.operation.duration"]
    ]
    assert sorted(faults, key=str) == [None, "bad_request"]
    metrics = {
        metric.name: metric
        for resource in out.reader.get_metrics_data().resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    }
    duration = metrics["gen_ai.client.operation.duration"]
    tokens = metrics["gen_ai.client.token.usage"]
    assert (duration.unit, tokens.unit) == ("s", "{token}")
    assert duration.data.data_points[0].explicit_bounds[:3] == (0.01, 0.02, 0.04)
    assert duration.data.data_points[0].explicit_bounds[-1] == 81.92
    assert tokens.data.data_points[0].explicit_bounds == tuple(4**n for n in range(14))


def test_messages_leave_only_with_content_capture_and_through_the_mask(api, recorder, out):
    api.server.script(api.answer("the answer"))
    boundary = Boundary(capture_content=True, mask=lambda text: text.replace("secret", "***"))
    set_default_telemetry(recorder.telemetry(boundary))
    pictures = (Image(data=b"picture-bytes"),)

    complete(api.client(), [ChatMessage("user", "a secret", pictures)])

    span = out.span("chat judge-1")
    (sent,) = json.loads(span.attributes["gen_ai.input.messages"])
    (got,) = json.loads(span.attributes["gen_ai.output.messages"])
    assert sent["parts"] == [
        {"type": "text", "content": "a ***"},
        {"type": "blob", "modality": "image", "mime_type": "image/png"},
    ]
    assert got["parts"] == [{"type": "text", "content": "the answer"}]
    assert got["role"] == "assistant"


def test_an_answer_that_is_no_object_says_so_on_the_span(api, out):
    api.server.script(api.answer("Hallucinated."))

    api.ask(schema=SCHEMA)

    attributes = out.span("chat judge-1").attributes
    assert attributes["aucert.llm.response.problem"] == "not_json"
    assert attributes["gen_ai.output.type"] == "json"


def test_what_could_not_be_priced_is_named_and_no_cost_is_shown(api, out):
    api.server.script(api.answer("yes", usage=None))

    api.ask()

    attributes = out.span("chat judge-1").attributes
    assert "aucert.llm.cost.usd" not in attributes
    assert attributes["aucert.llm.cost.unpriced"] == ("judge-1",)


def test_an_answer_from_a_record_is_a_span_too(out):
    complete(ReplayModel(["pass"], name="gpt-4"), [ChatMessage("user", "?")])

    span = out.span("chat gpt-4")
    assert span.attributes["gen_ai.provider.name"] == "replay"
    assert span.attributes["aucert.llm.cost.usd"] == 0.0


def test_no_provider_is_needed():
    assert complete(ReplayModel(["pass"]), [ChatMessage("user", "?")]).text == "pass"
