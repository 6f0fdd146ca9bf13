"""The tracer, the logger and the metric instruments, created once for each set of providers.

The OpenTelemetry API's proxies forward to whatever provider is set later, so this may run before
the application configures anything, and costs next to nothing when nobody ever does.
"""

from __future__ import annotations

import os
import threading

from opentelemetry import metrics, trace
from opentelemetry._logs import Logger, LoggerProvider, get_logger
from opentelemetry.metrics import CallbackOptions, MeterProvider, Observation
from opentelemetry.trace import TracerProvider

from aucert_otel._version import __version__
from aucert_otel.background import current_worker
from aucert_otel.telemetry import names
from aucert_otel.telemetry.tally import tally_of


def _queued(_: CallbackOptions) -> list[Observation]:
    worker = current_worker()
    return [] if worker is None else [Observation(worker.pending)]


def _dropped(_: CallbackOptions) -> list[Observation]:
    worker = current_worker()
    if worker is None:
        return []
    return [
        Observation(count, {names.DROP_REASON: reason})
        for reason, count in list(worker.dropped.items())
    ]


def _after_fork() -> None:
    global _lock  # noqa: PLW0603 - another thread may have held it
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)


class Instruments:
    """What telemetry writes to. ``None`` for a provider means the global one."""

    def __init__(
        self,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
        logger_provider: LoggerProvider | None = None,
    ) -> None:
        self.providers = tuple(
            p for p in (tracer_provider, meter_provider, logger_provider) if p is not None
        )
        """Those it was given; flushing the global ones does not reach them."""
        self.tracer = trace.get_tracer(names.SCOPE, __version__, tracer_provider)
        self.logger: Logger = get_logger(names.SCOPE, __version__, logger_provider)
        meter = metrics.get_meter(names.SCOPE, __version__, meter_provider)
        self.tally = tally_of(meter_provider)
        meter.create_observable_counter(
            names.METRIC_VERIFICATIONS,
            [self.tally.verifications],
            "{verification}",
            "Finished answers that were verified",
        )
        self.duration = meter.create_histogram(
            names.METRIC_DURATION,
            "s",
            "Time from the start to the end of one verification",
            # Literal bounds: rules take microseconds, a debate takes seconds.
            explicit_bucket_boundaries_advisory=[
                0.0001, 0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0,
            ],
        )  # fmt: skip
        self.cost = meter.create_counter(
            names.METRIC_COST, "USD", "What verification cost, where it could be priced"
        )
        self.repairs = meter.create_counter(
            names.METRIC_REPAIRS, "{repair}", "Repair rounds, by failed criterion and outcome"
        )
        self.errors = meter.create_counter(
            names.METRIC_ERRORS, "{error}", "Planned checks that did not run"
        )
        meter.create_observable_counter(
            names.METRIC_CRITERIA,
            [self.tally.criteria],
            "{finding}",
            "Findings, by criterion and verdict",
        )
        meter.create_observable_gauge(
            names.METRIC_QUEUED,
            [_queued],
            "{verification}",
            "Verifications waiting or running in the background",
        )
        meter.create_observable_counter(
            names.METRIC_DROPPED, [_dropped], "{verification}", "Verifications dropped, by reason"
        )


_lock = threading.Lock()
_shared: Instruments | None = None


def shared_instruments() -> Instruments:
    """Those of the global providers, made once: a meter takes an instrument's name only once."""
    global _shared  # noqa: PLW0603 - one a process, like the providers it writes to
    with _lock:
        if _shared is None:
            _shared = Instruments()
        return _shared
