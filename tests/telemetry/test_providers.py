"""Unsampled traces, no providers at all, providers that come late, and harnesses that share them."""

from __future__ import annotations

import pytest
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from support.checks import harness, length, no_evidence
from support.process import run
from support.providers import Recorder

from aucert_otel import Generation
from aucert_otel.telemetry import Instruments, Telemetry


def test_an_unsampled_trace_keeps_its_log_records_and_metrics():
    recorder = Recorder(sampler=ALWAYS_OFF)
    h = harness(no_evidence, telemetry=recorder.telemetry())
    outcome = h.run(lambda _: "bad")
    assert recorder.spans == ()
    assert [r["gen_ai.evaluation.name"] for r in recorder.records] == ["aucert.verdict", "kind"]
    logs = [item.log_record for item in recorder.records_out.get_finished_logs()]
    assert {f"{log.trace_id:032x}" for log in logs} == {outcome.trace_id}
    assert {f"{log.span_id:016x}" for log in logs} == {outcome.span_id}
    ((attributes, count),) = recorder.metrics["aucert.verifications"]
    assert (attributes["aucert.verdict"], count) == ("fail", 1)
    recorder.close()


def test_a_submitted_answer_of_an_unsampled_trace_keeps_its_trace_id():
    recorder = Recorder(sampler=ALWAYS_OFF)
    h = harness(length, telemetry=recorder.telemetry())
    with recorder.tracers.get_tracer("app").start_as_current_span("request") as span:
        h.submit(Generation("x"))
    assert h.flush(20.0)
    (item,) = recorder.records_out.get_finished_logs()
    assert item.log_record.trace_id == span.get_span_context().trace_id
    recorder.close()


def test_without_any_provider_everything_works_and_nothing_is_said():
    out = run(
        """
        import asyncio, sys, warnings
        warnings.simplefilter("error")
        from aucert_otel import Evidence, Finding, Harness, Generation, Reason, Verdict
        def length(g):
            if len(g.output) <= 20:
                return Finding("short", Verdict.PASS)
            fact = Evidence("long", origin="rule")
            return Finding("short", Verdict.FAIL, reason=Reason.LENGTH, evidence=(fact,))
        async def judge(g):
            return Finding("fine", Verdict.PASS)
        h = Harness([length, judge])
        outcome = h.run(lambda r: "x" * 30 if r is None else "short")
        print(outcome.action, outcome.trace_id)
        print(asyncio.run(h.arun(lambda r: "short")).action)
        print(h.submit(Generation("short")), h.flush(20.0), h.close())
        print([m for m in sys.modules if m.startswith("opentelemetry.sdk")])
        """
    )
    assert out.split("\n") == ["ship None", "ship", "True True True", "[]", ""]


def test_providers_that_the_application_sets_after_our_first_use_are_used():
    out = run(
        """
        from support.checks import harness, length
        h = harness(length)
        h.run(lambda _: "early")
        from opentelemetry import trace, metrics, _logs
        from support.providers import Recorder
        r = Recorder()
        trace.set_tracer_provider(r.tracers)
        metrics.set_meter_provider(r.meters)
        _logs.set_logger_provider(r.loggers)
        h.run(lambda _: "late")
        print(r.outline, len(r.records), sorted(r.metrics))
        """
    )
    assert out == (
        "[('aucert.generate reply', ['aucert.verify c'])] 1 ['aucert.criteria', "
        "'aucert.verification.duration', 'aucert.verifications']\n"
    )


def test_configuring_after_first_use_registers_no_instrument_twice(sink):
    run(
        """
        import logging, sys
        logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="Traceback %(message)s")
        from support.checks import harness, length
        import aucert_otel
        h = harness(length)
        h.run(lambda _: "early")
        aucert_otel.configure()
        h.run(lambda _: "late")
        aucert_otel.configure(every_finding=True)
        h.run(lambda _: "later")
        assert h.flush(20.0)
        """,
        OTEL_EXPORTER_OTLP_ENDPOINT=sink.grpc_endpoint,
    )
    ((_, count),) = sink.metrics["aucert.criteria"]
    assert count == 3


def test_two_telemetries_of_one_meter_provider_count_into_the_same_series(recorder):
    for _ in range(2):
        instruments = Instruments(recorder.tracers, recorder.meters, recorder.loggers)
        harness(length, telemetry=Telemetry(instruments)).verify(Generation("x"))
    ((_, criteria),) = recorder.metrics["aucert.criteria"]
    ((_, verifications),) = recorder.metrics["aucert.verifications"]
    assert (criteria, verifications) == (2, 2)


@pytest.mark.parametrize("extra", ["", "-W error"])
def test_importing_is_light(extra):
    code = """
        import sys
        import aucert_otel
        heavy = ("langchain", "langchain_core", "llama_index", "openai", "httpx", "torch", "asyncio",
                 "sqlalchemy", "jsonschema", "typer", "rich", "grpc", "requests", "numpy", "pydantic_core",
                 "opentelemetry.sdk", "opentelemetry.exporter", "aucert_verifiers",
                 "aucert_integrations")
        print(sorted(m for m in sys.modules if m in heavy or m.startswith(tuple(h + "." for h in heavy))))
        """
    assert run(code, *extra.split()) == "[]\n"
