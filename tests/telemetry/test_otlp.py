"""Over the wire: configure() from the environment, real OTLP over gRPC and HTTP, whole trees at the other end."""

from __future__ import annotations

import time

import pytest
from support.otlp_sink import Answer, dead_endpoint
from support.process import run
from support.spantree import attributes_of, summary, tree


APP = """
    import aucert_otel
    from support.checks import harness, judge, length
    from aucert_otel import Generation, Stage, Verdict
    aucert_otel.configure()
    h = harness(Stage(length, settles=frozenset({Verdict.FAIL})), judge)
    outcome = h.run(
        lambda request: Generation("x" * 30 if request is None else "short", tenant="acme")
    )
    assert outcome.shipped
    print(h.flush(30.0), outcome.trace_id)
"""

COMMON = {
    "aucert.cascade.name": "c",
    "aucert.cascade.version": "v1",
    "aucert.certified": False,
    "aucert.cost.unpriced": ["generation"],
    "aucert.mode": "inline",
    "aucert.sampling.probability": 1.0,
    "aucert.tenant": "acme",
}
FIRST = COMMON | {
    "aucert.action": "repair",
    "aucert.action.row": "one_failure",
    "aucert.confidence": 1.0,
    "aucert.cost.usd": 0.0,
    "aucert.criteria.failed": ["short"],
    "aucert.reasons": ["length"],
    "aucert.stage.reached": 1,
    "aucert.stages": ["length=fail"],
    "aucert.verdict": "fail",
}
SECOND = COMMON | {
    "aucert.action": "ship",
    "aucert.action.row": "clean",
    "aucert.confidence": 0.875,
    "aucert.cost.usd": 0.0078125,
    "aucert.criteria.passed": ["short", "faithful"],
    "aucert.repair.outcome": "passed",
    "aucert.stage.reached": 2,
    "aucert.stages": ["length=pass", "judge=pass"],
    "aucert.verdict": "pass",
}
RESULT = "gen_ai.evaluation.result"
EVALUATIONS = [
    {
        "aucert.cascade.name": "c",
        "aucert.stage.name": "length",
        "gen_ai.evaluation.name": "aucert.verdict",
        "gen_ai.evaluation.score.label": "fail",
        "gen_ai.evaluation.score.value": 1.0,
    },
    {
        "aucert.criterion.source": "article 1 v2",
        "aucert.reason": "length",
        "gen_ai.evaluation.name": "short",
        "gen_ai.evaluation.score.label": "fail",
        "gen_ai.evaluation.score.value": 0.0,
    },
    {
        "aucert.cascade.name": "c",
        "aucert.stage.name": "judge",
        "gen_ai.evaluation.name": "aucert.verdict",
        "gen_ai.evaluation.score.label": "pass",
        "gen_ai.evaluation.score.value": 0.875,
    },
]
STAGE = {
    "name": "aucert.stage",
    "aucert.stage.calls": 0,
    "aucert.stage.confidence": 1.0,
    "aucert.stage.cost.usd": 0.0,
    "aucert.stage.name": "length",
    "aucert.stage.status": "ok",
    "aucert.stage.verdict": "pass",
}
JUDGE = {
    "name": "aucert.stage judge",
    "attributes": {
        "aucert.stage.calls": 2,
        "aucert.stage.confidence": 0.875,
        "aucert.stage.cost.usd": 0.0078125,
        "aucert.stage.name": "judge",
        "aucert.stage.status": "ok",
        "aucert.stage.verdict": "pass",
    },
}
TREE = [
    {
        "name": "aucert.generate reply",
        "attributes": summary(SECOND),
        "children": [
            {
                "name": "aucert.verify c",
                "attributes": FIRST,
                "events": [{"name": RESULT, **e} for e in EVALUATIONS[:2]],
            },
            {
                "name": "aucert.repair",
                "attributes": {
                    "aucert.action": "ship",
                    "aucert.repair.criteria": ["short"],
                    "aucert.repair.outcome": "passed",
                },
                "children": [
                    {
                        "name": "aucert.verify c",
                        "attributes": SECOND,
                        "events": [STAGE, {"name": RESULT, **EVALUATIONS[2]}],
                        "children": [JUDGE],
                    }
                ],
            },
        ],
    }
]
SHARED = {"aucert.cascade.name": "c", "aucert.mode": "inline", "aucert.tenant": "acme"}
METRICS = {
    "aucert.background.queued": [({}, 0)],
    "aucert.criteria": [
        ({"aucert.cascade.name": "c", "aucert.criterion": "faithful", "aucert.verdict": "pass"}, 1),
        ({"aucert.cascade.name": "c", "aucert.criterion": "short", "aucert.verdict": "fail"}, 1),
        ({"aucert.cascade.name": "c", "aucert.criterion": "short", "aucert.verdict": "pass"}, 1),
    ],
    "aucert.repairs": [
        (
            {
                "aucert.cascade.name": "c",
                "aucert.criterion": "short",
                "aucert.repair.outcome": "passed",
            },
            1,
        )
    ],
    "aucert.verification.cost": [({**SHARED, "aucert.stage.name": "judge"}, 0.0078125)],
    "aucert.verification.duration": [(SHARED, 2)],
    "aucert.verifications": [
        (
            SHARED
            | {
                "aucert.action": "repair",
                "aucert.stage.reached": 1,
                "aucert.verdict": "fail",
            },
            1,
        ),
        (
            SHARED
            | {
                "aucert.action": "ship",
                "aucert.stage.reached": 2,
                "aucert.verdict": "pass",
            },
            1,
        ),
    ],
}


def sent_to(sink, protocol):
    endpoint = sink.grpc_endpoint if protocol == "grpc" else sink.http_endpoint
    return {"OTEL_EXPORTER_OTLP_PROTOCOL": protocol, "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}


@pytest.mark.parametrize("compression", [None, "gzip"])
@pytest.mark.parametrize("protocol", ["grpc", "http/protobuf"])
def test_the_whole_tree_arrives(sink, protocol, compression):
    out = run(
        APP,
        **sent_to(sink, protocol),
        **({"OTEL_EXPORTER_OTLP_COMPRESSION": compression} if compression else {}),
        OTEL_EXPORTER_OTLP_HEADERS="x-team=flowers",
        OTEL_SERVICE_NAME="florist",
        OTEL_RESOURCE_ATTRIBUTES="deployment.environment.name=test",
    )
    assert out.split()[0] == "True"
    trace_id = out.split()[1]
    assert tree(sink.spans) == TREE
    assert {span["trace_id"] for span in sink.spans} == {trace_id}
    assert {span["kind"] for span in sink.spans} == {1}
    assert {span["scope"] for span in sink.spans} == {"aucert_otel"}
    names = {span["span_id"]: span["name"] for span in sink.spans}
    assert [
        (record["event_name"], names[record["span_id"]], attributes_of(record["attributes"]))
        for record in sink.records
    ] == [(RESULT, "aucert.verify c", evaluation) for evaluation in EVALUATIONS]
    assert {record["trace_id"] for record in sink.records} == {trace_id}
    assert {name: sorted(points, key=repr) for name, points in sink.metrics.items()} == METRICS
    for resource in [span["resource"] for span in sink.spans] + [
        r["resource"] for r in sink.records
    ]:
        assert resource["service.name"] == "florist"
        assert resource["deployment.environment.name"] == "test"
    assert {request.headers["x-team"] for request in sink.requests} == {"flowers"}
    assert {request.protocol for request in sink.requests} == {protocol.partition("/")[0]}
    assert {request.signal for request in sink.requests} == {"traces", "metrics", "logs"}
    if protocol != "grpc":
        assert {request.path for request in sink.requests} == {
            "/v1/traces",
            "/v1/metrics",
            "/v1/logs",
        }
        encodings = {request.headers.get("content-encoding") for request in sink.requests}
        assert encodings == ({"gzip"} if compression == "gzip" else {None})


def test_each_signal_may_have_its_own_protocol_endpoint_and_none(sink):
    run(
        APP,
        OTEL_EXPORTER_OTLP_TRACES_PROTOCOL="grpc",
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=sink.grpc_endpoint,
        OTEL_EXPORTER_OTLP_LOGS_PROTOCOL="http/protobuf",
        OTEL_EXPORTER_OTLP_LOGS_ENDPOINT=f"{sink.http_endpoint}/v1/logs",
        OTEL_METRICS_EXPORTER="none",
    )
    assert {(request.protocol, request.signal) for request in sink.requests} == {
        ("grpc", "traces"),
        ("http", "logs"),
    }


def test_the_arguments_service_name_beats_the_environments(sink):
    code = APP.replace("configure()", "configure(service_name='shop')")
    run(code, **sent_to(sink, "http/protobuf"), OTEL_SERVICE_NAME="florist")
    assert {span["resource"]["service.name"] for span in sink.spans} == {"shop"}


def test_a_disabled_sdk_sends_nothing_and_changes_nothing(sink):
    run(
        APP.replace("outcome.trace_id)", "end='')"),
        **sent_to(sink, "http/protobuf"),
        OTEL_SDK_DISABLED="true",
    )
    assert sink.requests == []


@pytest.mark.parametrize(
    ("variable", "value", "allowed"),
    [
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json", "allowed are 'grpc' and 'http/protobuf'"),
        ("OTEL_EXPORTER_OTLP_LOGS_PROTOCOL", "smoke", "allowed are 'grpc' and 'http/protobuf'"),
        ("OTEL_METRICS_EXPORTER", "prometheus", "'otlp' or not at all with 'none'"),
    ],
)
def test_a_bad_setting_is_one_clear_sentence_and_sets_nothing_up(variable, value, allowed):
    out = run(
        """
        import aucert_otel
        from opentelemetry import trace
        try:
            aucert_otel.configure()
        except aucert_otel.ConfigurationError as error:
            print(error)
        print(type(trace.get_tracer_provider()).__name__)
        """,
        **{variable: value},
    )
    sentence, provider = out.splitlines()
    assert sentence.startswith(f"{variable} is {value!r}")
    assert allowed in sentence
    assert provider == "ProxyTracerProvider"


def test_a_protocol_is_read_as_people_write_it(sink):
    settings = sent_to(sink, "http/protobuf") | {"OTEL_EXPORTER_OTLP_PROTOCOL": " HTTP/protobuf "}
    run(APP, **settings)
    assert {request.protocol for request in sink.requests} == {"http"}


def test_without_the_sdk_configure_says_which_extra_brings_it():
    out = run(
        """
        import sys
        sys.modules["opentelemetry.sdk.resources"] = None
        import aucert_otel
        try:
            aucert_otel.configure()
        except aucert_otel.MissingExtraError as error:
            print(error)
        """
    )
    assert out == 'configure() needs an extra: pip install "aucert-otel[otlp]"\n'


def test_providers_that_are_already_there_are_respected(sink):
    out = run(
        """
        from opentelemetry import trace, metrics, _logs
        from support.providers import Recorder
        r = Recorder()
        trace.set_tracer_provider(r.tracers)
        metrics.set_meter_provider(r.meters)
        _logs.set_logger_provider(r.loggers)
        import aucert_otel
        from support.checks import harness, length
        aucert_otel.configure()
        h = harness(length)
        h.run(lambda _: "short")
        assert h.flush(20.0)
        print(len(r.spans), len(r.records), trace.get_tracer_provider() is r.tracers)
        """,
        **sent_to(sink, "http/protobuf"),
    )
    assert out == "2 1 True\n"
    assert sink.requests == []


def test_providers_that_are_given_are_used_and_flushed(sink):
    out = run(
        """
        from support.providers import Recorder
        import aucert_otel
        from support.checks import harness, length
        r = Recorder()
        aucert_otel.configure(
            tracer_provider=r.tracers, meter_provider=r.meters, logger_provider=r.loggers
        )
        harness(length).run(lambda _: "short")
        print(len(r.spans), len(r.records), len(r.metrics))
        """,
        **sent_to(sink, "http/protobuf"),
    )
    assert out == "2 1 3\n"
    assert sink.requests == []


# Over gRPC, RESOURCE_EXHAUSTED without RetryInfo must not be retried, says the specification.
@pytest.mark.parametrize(
    ("protocol", "status"), [("grpc", 503), ("http/protobuf", 429), ("http/protobuf", 503)]
)
def test_a_receiver_that_turns_exports_away_for_a_moment_loses_nothing(sink, protocol, status):
    sink.answer(*[Answer(status, retry_after=1)] * 3)
    out = run(APP, **sent_to(sink, protocol))
    assert out.split()[0] == "True"
    assert len(sink.refused) == 3
    assert tree(sink.spans) == TREE
    assert len(sink.records) == 3


STUCK = """
    import time, aucert_otel
    from support.checks import harness, length
    aucert_otel.configure()
    h = harness(length)
    h.run(lambda _: "short")
    started = time.monotonic()
    done = h.flush(1.0)
    print(done, time.monotonic() - started, flush=True)
    import os
    os._exit(0)  # how long the SDK's own shutdown takes is not ours
"""


@pytest.mark.parametrize("protocol", ["grpc", "http/protobuf"])
def test_flush_keeps_its_own_deadline_with_a_receiver_that_hangs(sink, protocol):
    sink.always(Answer(hang=True))
    done, seconds = run(STUCK, **sent_to(sink, protocol)).split()
    assert done == "False"
    assert float(seconds) < 5.0


@pytest.mark.parametrize("protocol", ["grpc", "http/protobuf"])
def test_flush_keeps_its_own_deadline_with_nobody_there(protocol):
    with dead_endpoint() as endpoint:
        done, seconds = run(
            STUCK,
            OTEL_EXPORTER_OTLP_PROTOCOL=protocol,
            OTEL_EXPORTER_OTLP_ENDPOINT=endpoint,
        ).split()
    assert done == "False"
    assert float(seconds) < 5.0


def test_a_dead_receiver_does_not_slow_the_application(sink):
    sink.always(Answer(hang=True))
    code = STUCK.replace(
        'h.run(lambda _: "short")', 'for _ in range(500): h.run(lambda _: "short")'
    )
    started = time.monotonic()
    run(code, **sent_to(sink, "http/protobuf"))
    assert time.monotonic() - started < 45.0
