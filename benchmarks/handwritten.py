"""What a careful engineer would write by hand to get the very telemetry that aucert-otel emits.

It uses the OpenTelemetry API and nothing of ours but the plain data a check returns. It knows the
one cascade, the one stage and the one action table of this benchmark, so it has no registry, no
gate, no budget, no repair and no guard: it is the floor, not a competitor. `variants.py` asserts
that what it exports equals what the harness exports before anything is timed.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.metrics import Observation


if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from opentelemetry.context import Context
    from signals import Signals

SCOPE = "aucert_otel"
VERIFY_ONLY = frozenset(
    {"aucert.stages", "aucert.action.row", "aucert.mode", "aucert.criteria.passed"}
)
"""What the verify span carries and the span above it does not."""


class HandWritten:
    """Spans, events, records and metrics around one check of one answer."""

    def __init__(
        self,
        signals: Signals,
        check: Callable[[Any], Sequence[Any]],
        *,
        scope_version: str,
        cascade: str,
        cascade_version: str,
        stage: str,
        name: str,
        same_count: bool = False,
    ) -> None:
        self.check = check
        self.cascade = cascade
        self.cascade_version = cascade_version
        self.stage = stage
        self.name = name
        self.tracer = signals.tracer_provider.get_tracer(SCOPE, scope_version)
        self.logger = signals.logger_provider.get_logger(SCOPE, scope_version)
        meter = signals.meter_provider.get_meter(SCOPE, scope_version)
        about = ("aucert.verifications", "{verification}", "Finished answers that were verified")
        self.verifications = None if same_count else meter.create_counter(*about)
        self.counts: Counter[tuple[str, str]] = Counter()
        if same_count:  # as ours: a dictionary that is read at collection
            meter.create_observable_counter(about[0], [self.observe_counts], *about[1:])
        self.duration = meter.create_histogram(
            "aucert.verification.duration",
            "s",
            "Time from the start to the end of one verification",
            explicit_bucket_boundaries_advisory=[
                0.0001, 0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0,
            ],
        )  # fmt: skip
        self.criteria: Counter[tuple[str, str]] = Counter()
        self.lock = threading.Lock()
        meter.create_observable_counter(
            "aucert.criteria", [self.observe], "{finding}", "Findings, by criterion and verdict"
        )

    def observe_counts(self, _: Any) -> list[Observation]:
        with self.lock:
            return [
                Observation(count, self.counted(verdict, action))
                for (verdict, action), count in self.counts.items()
            ]

    def counted(self, verdict: str, action: str) -> dict[str, Any]:
        return {
            "aucert.cascade.name": self.cascade,
            "aucert.mode": "inline",
            "aucert.verdict": verdict,
            "aucert.action": action,
            "aucert.stage.reached": 1,
        }

    def observe(self, _: Any) -> list[Observation]:
        with self.lock:
            return [
                Observation(
                    count,
                    {
                        "aucert.cascade.name": self.cascade,
                        "aucert.criterion": criterion,
                        "aucert.verdict": verdict,
                    },
                )
                for (criterion, verdict), count in self.criteria.items()
            ]

    def verify(self, answer: Any) -> bool:
        """Check a finished answer inside one span; whether it may be used."""
        return self._verify(answer, None)["aucert.action"] == "ship"

    def run(self, generate: Callable[[], Any]) -> Any:
        """Write an answer, check it, and return it if it may be used."""
        root = self.tracer.start_span(f"aucert.generate {self.name}")
        try:
            context = trace.set_span_in_context(root)
            token = otel_context.attach(context)
            try:
                answer = generate()
            finally:
                otel_context.detach(token)
            attributes = self._verify(answer, context)
            root.set_attributes({k: v for k, v in attributes.items() if k not in VERIFY_ONLY})
        except BaseException as error:
            root.set_attribute("error.type", type(error).__qualname__)
            root.set_status(trace.Status(trace.StatusCode.ERROR, type(error).__qualname__))
            raise
        finally:
            root.end()
        return answer if attributes["aucert.action"] == "ship" else None

    def _verify(self, answer: Any, context: Context | None) -> dict[str, Any]:
        span = self.tracer.start_span(f"aucert.verify {self.cascade}", context)
        try:
            started = time.perf_counter()
            findings = self.check(answer)
            seconds = time.perf_counter() - started
            passed = []
            failed = []
            confidence = 1.0
            for finding in findings:
                (passed if finding.verdict == "pass" else failed).append(finding.criterion)
                confidence = min(confidence, finding.score)
            verdict = "fail" if failed else "pass"
            action = "person" if failed else "ship"
            attributes: dict[str, Any] = {
                "aucert.verdict": verdict,
                "aucert.cascade.name": self.cascade,
                "aucert.cascade.version": self.cascade_version,
                "aucert.stage.reached": 1,
                "aucert.stages": [f"{self.stage}={verdict}"],
                "aucert.certified": False,
                "aucert.action": action,
                "aucert.action.row": "failed" if failed else "clean",
                "aucert.confidence": confidence,
                "aucert.mode": "inline",
                "aucert.sampling.probability": 1.0,
                "aucert.criteria.passed": passed,
            }
            if failed:
                attributes["aucert.criteria.failed"] = failed
            attributes["aucert.cost.usd"] = 0.0
            attributes["aucert.cost.unpriced"] = [answer.model or "generation"]
            evaluation = {
                "gen_ai.evaluation.name": "aucert.verdict",
                "gen_ai.evaluation.score.label": verdict,
                "aucert.cascade.name": self.cascade,
                "aucert.stage.name": self.stage,
                "gen_ai.evaluation.score.value": confidence,
            }
            now = time.time_ns()
            span.add_event("gen_ai.evaluation.result", evaluation, now)
            self.logger.emit(
                LogRecord(
                    timestamp=now,
                    context=trace.set_span_in_context(span),
                    severity_number=SeverityNumber.WARN if failed else SeverityNumber.INFO,
                    event_name="gen_ai.evaluation.result",
                    attributes=evaluation,
                )
            )
            span.set_attributes(attributes)
        except BaseException as error:
            span.set_attribute("error.type", type(error).__qualname__)
            span.set_status(trace.Status(trace.StatusCode.ERROR, type(error).__qualname__))
            raise
        finally:
            span.end()
        if self.verifications is not None:
            self.verifications.add(1, self.counted(verdict, action))
        self.duration.record(
            seconds, {"aucert.cascade.name": self.cascade, "aucert.mode": "inline"}
        )
        with self.lock:
            if self.verifications is None:
                self.counts[verdict, action] += 1
            for finding in findings:
                self.criteria[finding.criterion, finding.verdict.value] += 1
        return attributes
