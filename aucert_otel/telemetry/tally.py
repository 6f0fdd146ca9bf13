"""Counts kept in process and read when metrics are collected.

A synchronous counter costs about ten microseconds a call, so counting an answer and its half dozen
findings would cost the caller more than the checks do. Here an answer is counted once, under its
form, and what that means for each metric is worked out when somebody asks.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections import Counter

from opentelemetry import metrics
from opentelemetry.metrics import CallbackOptions, MeterProvider, Observation

from aucert_otel.telemetry import names
from aucert_otel.telemetry.form import Form


_MAX_FORMS = 2048


class Tally:
    """How many verdicts of each form were sent."""

    __slots__ = ("__weakref__", "_counts", "_lock", "_overflow")

    def __init__(self) -> None:
        self._counts: Counter[Form] = Counter()
        self._overflow: Counter[tuple[str, str]] = Counter()
        """Findings past the limit, by cascade and verdict: criteria may be made up by a check."""
        self._lock = threading.Lock()
        _tallies.add(self)

    def add(self, form: Form) -> None:
        """Count one verdict."""
        with self._lock:
            if form in self._counts or len(self._counts) < _MAX_FORMS:
                self._counts[form] += 1
                return
            self._counts[form.without_findings()] += 1
            for _criterion, verdict, _reason in form.findings:
                self._overflow[form.cascade, verdict] += 1

    def _snapshot(self) -> list[tuple[Form, int]]:
        with self._lock:
            return list(self._counts.items())

    def verifications(self, _: CallbackOptions) -> list[Observation]:
        """One sum for each combination of verdict, action and what else is counted by."""
        sums: Counter[tuple[tuple[str, object], ...]] = Counter()
        for form, count in self._snapshot():
            sums[tuple(form.counted.items())] += count
        return [Observation(count, dict(key)) for key, count in sums.items()]  # type: ignore[arg-type] # they were attributes before

    def criteria(self, _: CallbackOptions) -> list[Observation]:
        """One sum for each cascade, criterion and verdict."""
        sums: Counter[tuple[str, str, str]] = Counter()
        for form, count in self._snapshot():
            for criterion, verdict, _reason in form.findings:
                sums[form.cascade, criterion, verdict] += count
        with self._lock:
            overflow = list(self._overflow.items())
        return [
            Observation(
                count,
                {names.CASCADE_NAME: cascade, names.CRITERION: criterion, names.VERDICT: verdict},
            )
            for (cascade, criterion, verdict), count in sums.items()
        ] + [
            Observation(
                count, {names.CASCADE_NAME: cascade, names.VERDICT: verdict, names.OVERFLOW: True}
            )
            for (cascade, verdict), count in overflow
        ]


class _Global:
    """Stands for the global meter provider, whichever it will be."""


_GLOBAL = _Global()
_by_provider: weakref.WeakKeyDictionary[object, Tally] = weakref.WeakKeyDictionary()
_tallies: weakref.WeakSet[Tally] = weakref.WeakSet()
_lock = threading.Lock()


def tally_of(meter_provider: MeterProvider | None) -> Tally:
    """The one tally of a provider: a meter keeps the callbacks it was given first."""
    key: object = _GLOBAL
    if meter_provider is not None and meter_provider is not metrics.get_meter_provider():
        key = meter_provider
    with _lock:
        return _by_provider.setdefault(key, Tally())


def _after_fork() -> None:
    global _lock  # noqa: PLW0603 - another thread may have held it
    _lock = threading.Lock()
    for tally in list(_tallies):
        tally._lock = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)
