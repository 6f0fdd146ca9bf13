"""Set up OTLP export from the OTEL_* environment, beside whatever is already there."""

from __future__ import annotations

import atexit
import os
from typing import TYPE_CHECKING, Any

from opentelemetry import _logs as logs
from opentelemetry import metrics, trace

from aucert_otel.background import EXIT_TIMEOUT_S
from aucert_otel.errors import ConfigurationError, MissingExtraError
from aucert_otel.telemetry.boundary import Boundary, Mask, capture_from_environment
from aucert_otel.telemetry.emit import Telemetry
from aucert_otel.telemetry.flush import flush_providers
from aucert_otel.telemetry.instruments import Instruments
from aucert_otel.telemetry.runtime import set_default_telemetry


if TYPE_CHECKING:
    from opentelemetry._logs import LoggerProvider
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider

_PROTOCOLS = ("grpc", "http/protobuf")


def configure(
    *,
    service_name: str | None = None,
    tracer_provider: TracerProvider | None = None,
    meter_provider: MeterProvider | None = None,
    logger_provider: LoggerProvider | None = None,
    capture_content: bool | None = None,
    mask: Mask | None = None,
    every_finding: bool = False,
) -> Telemetry:
    """Set up how verdicts leave this process, and return it. Calling it is optional.

    A provider that is given is used; one that the application already set is respected; where
    there is none, one that exports over OTLP is made from the standard ``OTEL_*`` variables
    (endpoint, protocol, headers, ``OTEL_SERVICE_NAME``, ``OTEL_RESOURCE_ATTRIBUTES``,
    ``OTEL_TRACES_SAMPLER``, ``OTEL_{TRACES,METRICS,LOGS}_EXPORTER=none``, ``OTEL_SDK_DISABLED``)
    and set as the global one, so that the application's own spans go the same way. Without this
    call verdicts go to the global providers, whenever those are set, or nowhere.

    Args:
        service_name: Instead of ``OTEL_SERVICE_NAME``.
        tracer_provider: Where spans go, instead of the global provider.
        meter_provider: Where metrics go, instead of the global provider.
        logger_provider: Where log records go, instead of the global provider.
        capture_content: Whether answers, claims and evidence leave at all. Default: what
            ``OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT`` says, else no.
        mask: Rewrites every text before it leaves, after secrets were removed.
        every_finding: Give passing findings their own event and log record too.

    Raises:
        MissingExtraError: a provider has to be made and the extra ``otlp`` is not installed.
        ConfigurationError: an ``OTEL_*`` variable names a protocol or exporter we do not have.
    """
    if os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() != "true":
        _set_providers(service_name, tracer_provider, meter_provider, logger_provider)
    capture = capture_from_environment() if capture_content is None else capture_content
    telemetry = Telemetry(
        None
        if (tracer_provider, meter_provider, logger_provider) == (None, None, None)
        else Instruments(tracer_provider, meter_provider, logger_provider),
        Boundary(capture, mask),
        every_finding=every_finding,
    )
    set_default_telemetry(telemetry)
    return telemetry


def _set_providers(service_name: str | None, *given: object) -> None:
    signals = (
        ("TRACES", trace.get_tracer_provider, _set_traces),
        ("METRICS", metrics.get_meter_provider, _set_metrics),
        ("LOGS", logs.get_logger_provider, _set_logs),
    )
    for signal, _, _ in signals:  # all or nothing: a bad variable leaves none half set
        if _wanted(signal):
            _protocol(signal)
    made = False
    for (signal, current, make), provider in zip(signals, given, strict=True):
        if provider is None and _absent(current()) and _wanted(signal):
            make(_resource(service_name))
            made = True
    if made:
        # The SDK's own exit handlers wait for a dead endpoint for half a minute and more.
        atexit.register(flush_providers, EXIT_TIMEOUT_S)


def _absent(provider: object) -> bool:
    # The API's stand-ins are the only providers that cannot be flushed: SDKs, agents and test
    # doubles all can. Their classes are private, so they are told apart by that.
    return type(provider).__module__.startswith(
        ("opentelemetry.trace", "opentelemetry.metrics", "opentelemetry._logs")
    )


def _wanted(signal: str) -> bool:
    name = f"OTEL_{signal}_EXPORTER"
    value = os.environ.get(name, "otlp").strip().lower() or "otlp"
    if value not in ("otlp", "none"):
        raise ConfigurationError(
            f"{name} is {value!r}: configure() exports with 'otlp' or not at all with 'none'; set up "
            "another exporter's provider yourself and it will be respected"
        )
    return value == "otlp"


def _protocol(signal: str) -> str:
    for variable in (f"OTEL_EXPORTER_OTLP_{signal}_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"):
        protocol = os.environ.get(variable, "").strip().lower()
        if protocol in _PROTOCOLS:
            return protocol
        if protocol:
            raise ConfigurationError(
                f"{variable} is {protocol!r}: allowed are " + " and ".join(map(repr, _PROTOCOLS))
            )
    return "grpc"


def _exporter(signal: str, module: str, name: str) -> Any:
    from importlib import import_module

    kind = "grpc" if _protocol(signal) == "grpc" else "http"
    try:
        found = import_module(f"opentelemetry.exporter.otlp.proto.{kind}.{module}")
    except ImportError as error:
        raise MissingExtraError("configure()", "otlp") from error
    return getattr(found, name)()


def _resource(service_name: str | None) -> Any:
    try:
        from opentelemetry.sdk.resources import Resource
    except ImportError as error:
        raise MissingExtraError("configure()", "otlp") from error
    return Resource.create({"service.name": service_name} if service_name else None)


def _set_traces(resource: Any) -> None:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(
        BatchSpanProcessor(_exporter("TRACES", "trace_exporter", "OTLPSpanExporter"))
    )
    trace.set_tracer_provider(provider)


def _set_metrics(resource: Any) -> None:
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader

    reader = PeriodicExportingMetricReader(
        _exporter("METRICS", "metric_exporter", "OTLPMetricExporter")
    )
    metrics.set_meter_provider(MeterProvider([reader], resource=resource, shutdown_on_exit=False))


def _set_logs(resource: Any) -> None:
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import BatchLogRecordProcessor

    provider = LoggerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_log_record_processor(
        BatchLogRecordProcessor(_exporter("LOGS", "_log_exporter", "OTLPLogExporter"))
    )
    logs.set_logger_provider(provider)
