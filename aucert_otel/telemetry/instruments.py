"""The tracer, the logger and the metric instruments, created once for each set of providers.

The OpenTelemetry API's proxies forward to whatever provider is set later, so this may run before
the application configures anything, and costs next to nothing when nobody ever does.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable

from opentelemetry import metrics, trace
from opentelemetry._logs import Logger, LoggerProvider, get_logger
from opentelemetry.metrics import CallbackOptions, MeterProvider, Observation
from opentelemetry.trace import TracerProvider

from aucert_otel._version import __version__
from aucert_otel.background import current_worker
from aucert_otel.telemetry import names


class Tally:
    """Counts kept in process and read when metrics are collected.

    A synchronous counter costs about ten microseconds a call; six passing criteria would cost more
    than the checks themselves. A dictionary under a lock costs a tenth of one.
    """

    __slots__ = ("_counts", "_lock")

    def __init__(self) -> None:
        self._counts: Counter[tuple[tuple[str, str], ...]] = Counter()
        self._lock = threading.Lock()

    def add(self, keys: Iterable[tuple[tuple[str, str], ...]]) -> None:
        """Count every attribute set in ``keys`` once."""
        with self._lock:
            for key in keys:
                self._counts[key] += 1

    def observe(self, _: CallbackOptions) -> list[Observation]:
        """What an observable counter reports."""
        with self._lock:
            return [Observation(count, dict(key)) for key, count in self._counts.items()]


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


class Instruments:
    """What telemetry writes to. ``None`` for a provider means the global one."""

    def __init__(
        self,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
        logger_provider: LoggerProvider | None = None,
    ) -> None:
        self.tracer = trace.get_tracer(names.SCOPE, __version__, tracer_provider)
        self.logger: Logger = get_logger(names.SCOPE, __version__, logger_provider)
        meter = metrics.get_meter(names.SCOPE, __version__, meter_provider)
        self.verifications = meter.create_counter(
            names.METRIC_VERIFICATIONS, "{verification}", "Finished answers that were verified"
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
        self.criteria = Tally()
        meter.create_observable_counter(
            names.METRIC_CRITERIA,
            [self.criteria.observe],
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
