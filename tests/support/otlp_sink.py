"""An OTLP receiver inside the test process: gRPC and HTTP/protobuf, all three signals.

It decodes with the reference messages of ``opentelemetry-proto`` into plain Python, and can be told
to turn requests away, to hang, or to be dead.
"""

from __future__ import annotations

import gzip
import socket
import threading
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import grpc
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2, logs_service_pb2_grpc
from opentelemetry.proto.collector.metrics.v1 import (
    metrics_service_pb2,
    metrics_service_pb2_grpc,
)
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc


@dataclass(frozen=True)
class Answer:
    """What the sink does with a request."""

    status: int = 200
    """An HTTP status; over gRPC 429 is RESOURCE_EXHAUSTED and 503 UNAVAILABLE."""
    retry_after: int | None = None
    """Seconds, in the header ``Retry-After``."""
    hang: bool = False
    """Do not answer at all until the sink closes."""


OK = Answer()


@dataclass(frozen=True)
class Request:
    """One export that arrived."""

    protocol: str
    signal: str
    path: str
    headers: dict[str, str]
    content: Any
    """The decoded message."""


@dataclass
class OtlpSink:
    """Everything that arrived, in order."""

    grpc_endpoint: str = ""
    http_endpoint: str = ""
    requests: list[Request] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)
    """(protocol, signal) of what was turned away."""
    _answers: list[Answer] = field(default_factory=list)
    _always: Answer = OK
    _arrived: threading.Condition = field(default_factory=threading.Condition)
    _closing: threading.Event = field(default_factory=threading.Event)

    def answer(self, *answers: Answer) -> None:
        """Answer the next requests like this, one each, and then normally."""
        with self._arrived:
            self._answers.extend(answers)

    def always(self, answer: Answer) -> None:
        """Answer every request like this from now on."""
        with self._arrived:
            self._always = answer

    def wait_for(self, condition: Callable[[OtlpSink], bool], timeout: float = 20.0) -> bool:
        """Wait until something holds; whether it does."""
        with self._arrived:
            return self._arrived.wait_for(lambda: condition(self), timeout)

    def of(self, signal: str) -> list[Request]:
        """The requests of one signal: ``traces``, ``metrics`` or ``logs``."""
        return [request for request in list(self.requests) if request.signal == signal]

    @property
    def spans(self) -> list[dict[str, Any]]:
        """Every span, decoded."""
        return [
            _span(span, scope.scope.name, values(resource.resource.attributes))
            for request in self.of("traces")
            for resource in request.content.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    @property
    def records(self) -> list[dict[str, Any]]:
        """Every log record, decoded."""
        return [
            {
                "event_name": record.event_name,
                "body": value(record.body),
                "severity": record.severity_number,
                "attributes": values(record.attributes),
                "trace_id": record.trace_id.hex(),
                "span_id": record.span_id.hex(),
                "resource": values(resource.resource.attributes),
            }
            for request in self.of("logs")
            for resource in request.content.resource_logs
            for scope in resource.scope_logs
            for record in scope.log_records
        ]

    @property
    def metrics(self) -> dict[str, list[tuple[dict[str, Any], Any]]]:
        """The latest point of every series, by metric: (attributes, value or histogram count)."""
        series: dict[str, dict[str, tuple[dict[str, Any], Any]]] = {}
        for request in self.of("metrics"):
            for resource in request.content.resource_metrics:
                for scope in resource.scope_metrics:
                    for metric in scope.metrics:
                        kind = metric.WhichOneof("data")
                        for point in getattr(metric, kind).data_points:
                            attributes = values(point.attributes)
                            number = (
                                point.count
                                if kind == "histogram"
                                else getattr(point, point.WhichOneof("value"))
                            )
                            series.setdefault(metric.name, {})[repr(sorted(attributes.items()))] = (
                                attributes,
                                number,
                            )
        return {name: list(points.values()) for name, points in sorted(series.items())}

    def _take(self, protocol: str, signal: str) -> Answer:
        with self._arrived:
            answer = self._answers.pop(0) if self._answers else self._always
            if answer is not OK:
                self.refused.append((protocol, signal))
                self._arrived.notify_all()
        if answer.hang:
            self._closing.wait()
        return answer

    def _keep(self, request: Request) -> None:
        with self._arrived:
            self.requests.append(request)
            self._arrived.notify_all()


def value(any_value: Any) -> Any:
    """An OTLP ``AnyValue`` as plain Python."""
    kind = any_value.WhichOneof("value")
    if kind is None:
        return None
    if kind == "array_value":
        return [value(item) for item in any_value.array_value.values]
    if kind == "kvlist_value":
        return values(any_value.kvlist_value.values)
    return getattr(any_value, kind)


def values(pairs: Any) -> dict[str, Any]:
    """OTLP ``KeyValue`` pairs as a dictionary."""
    return {pair.key: value(pair.value) for pair in pairs}


def _span(span: Any, scope: str, resource: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": span.name,
        "trace_id": span.trace_id.hex(),
        "span_id": span.span_id.hex(),
        "parent_span_id": span.parent_span_id.hex(),
        "start": span.start_time_unix_nano,
        "end": span.end_time_unix_nano,
        "kind": span.kind,
        "status": {0: "UNSET", 1: "OK", 2: "ERROR"}[span.status.code],
        "description": span.status.message,
        "attributes": values(span.attributes),
        "events": [
            {"name": event.name, "attributes": values(event.attributes)} for event in span.events
        ],
        "dropped_attributes": span.dropped_attributes_count,
        "scope": scope,
        "resource": resource,
    }


_SIGNALS = {
    "traces": trace_service_pb2.ExportTraceServiceRequest,
    "metrics": metrics_service_pb2.ExportMetricsServiceRequest,
    "logs": logs_service_pb2.ExportLogsServiceRequest,
}
_RESPONSES = {
    "traces": trace_service_pb2.ExportTraceServiceResponse,
    "metrics": metrics_service_pb2.ExportMetricsServiceResponse,
    "logs": logs_service_pb2.ExportLogsServiceResponse,
}
_CODES = {429: grpc.StatusCode.RESOURCE_EXHAUSTED, 503: grpc.StatusCode.UNAVAILABLE}


def _servicer(base: type, signal: str, sink: OtlpSink) -> Any:
    def export(self: Any, message: Any, context: Any) -> Any:
        answer = sink._take("grpc", signal)
        if answer.status != 200:
            context.abort(_CODES.get(answer.status, grpc.StatusCode.INTERNAL), "told to")
        headers = {str(k): str(v) for k, v in context.invocation_metadata()}
        sink._keep(Request("grpc", signal, "", headers, message))
        return _RESPONSES[signal]()

    return type(f"Sink_{signal}", (base,), {"Export": export})()


def _handler(sink: OtlpSink) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            signal = self.path.rpartition("/")[2]
            answer = sink._take("http", signal)
            if answer.status != 200 or answer.hang or signal not in _SIGNALS:
                self.send_response(answer.status if answer.status != 200 else 404)
                if answer.retry_after is not None:
                    self.send_header("Retry-After", str(answer.retry_after))
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            encoding = self.headers.get("Content-Encoding")
            if encoding == "gzip":
                body = gzip.decompress(body)
            elif encoding == "deflate":
                body = zlib.decompress(body)
            message = _SIGNALS[signal].FromString(body)
            headers = {name.lower(): text for name, text in self.headers.items()}
            sink._keep(Request("http", signal, self.path, headers, message))
            reply = _RESPONSES[signal]().SerializeToString()
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, *_: object) -> None:
            """Say nothing on standard error."""

    return Handler


class _Http(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """A client that went away while the sink was hanging is no news."""


@contextmanager
def running_sink() -> Iterator[OtlpSink]:
    """A sink on two loopback ports of its own."""
    sink = OtlpSink()
    pool = ThreadPoolExecutor(8, thread_name_prefix="otlp-sink")
    server = grpc.server(pool)
    trace_service_pb2_grpc.add_TraceServiceServicer_to_server(
        _servicer(trace_service_pb2_grpc.TraceServiceServicer, "traces", sink), server
    )
    metrics_service_pb2_grpc.add_MetricsServiceServicer_to_server(
        _servicer(metrics_service_pb2_grpc.MetricsServiceServicer, "metrics", sink), server
    )
    logs_service_pb2_grpc.add_LogsServiceServicer_to_server(
        _servicer(logs_service_pb2_grpc.LogsServiceServicer, "logs", sink), server
    )
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    http = _Http(("127.0.0.1", 0), _handler(sink))
    thread = threading.Thread(target=http.serve_forever, name="otlp-sink-http", daemon=True)
    thread.start()
    sink.grpc_endpoint = f"http://127.0.0.1:{port}"
    sink.http_endpoint = f"http://127.0.0.1:{http.server_address[1]}"
    try:
        yield sink
    finally:
        sink._closing.set()
        server.stop(0).wait()
        pool.shutdown()
        http.shutdown()
        http.server_close()
        thread.join()


@contextmanager
def dead_endpoint() -> Iterator[str]:
    """An endpoint nobody listens on: its port is taken, and connections are refused."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"
