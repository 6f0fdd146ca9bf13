"""aucert-otel: verdicts for LLM answers.

Reads every finished answer, decides whether it can be used, does exactly one thing about it, and
leaves verdict, cost and confidence on the OpenTelemetry trace. Importing this package loads no
framework, no SDK and no network library; each name loads its own room when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from aucert_otel._version import __version__


if TYPE_CHECKING:
    from aucert_otel.action import Action, Decision, decide, format_table
    from aucert_otel.budget import Budget, Estimate
    from aucert_otel.cascade import Cascade
    from aucert_otel.certificate import Certificate
    from aucert_otel.costs import Costs
    from aucert_otel.decorator import observed, verified
    from aucert_otel.errors import (
        AucertError,
        ConfigurationError,
        HandedToPerson,
        InvalidRowError,
        MissingExtraError,
    )
    from aucert_otel.generation import Generation, Image, Message, Passage, Usage
    from aucert_otel.harness import Harness
    from aucert_otel.outcome import Draft, Outcome
    from aucert_otel.repair import RepairRecord, RepairRequest
    from aucert_otel.report import Report, StageReport, Turn
    from aucert_otel.rounds import Policy
    from aucert_otel.sampling import Match, Sampling
    from aucert_otel.stage import Gate, Stage
    from aucert_otel.telemetry.configure import configure
    from aucert_otel.verdict import Evidence, Finding, Reason, Status, Verdict
    from aucert_otel.verifier import OverBudget, Refused, Unavailable, Verifier, load_verifier


_ROOMS = {
    "action": ("Action", "Decision", "decide", "format_table"),
    "budget": ("Budget", "Estimate"),
    "cascade": ("Cascade",),
    "certificate": ("Certificate",),
    "costs": ("Costs",),
    "decorator": ("observed", "verified"),
    "errors": (
        "AucertError",
        "ConfigurationError",
        "HandedToPerson",
        "InvalidRowError",
        "MissingExtraError",
    ),
    "generation": ("Generation", "Image", "Message", "Passage", "Usage"),
    "harness": ("Harness",),
    "outcome": ("Draft", "Outcome"),
    "repair": ("RepairRecord", "RepairRequest"),
    "report": ("Report", "StageReport", "Turn"),
    "rounds": ("Policy",),
    "sampling": ("Match", "Sampling"),
    "stage": ("Gate", "Stage"),
    "telemetry.configure": ("configure",),
    "verdict": ("Evidence", "Finding", "Reason", "Status", "Verdict"),
    "verifier": ("OverBudget", "Refused", "Unavailable", "Verifier", "load_verifier"),
}
_WHERE = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = [
    "Action",
    "AucertError",
    "Budget",
    "Cascade",
    "Certificate",
    "ConfigurationError",
    "Costs",
    "Decision",
    "Draft",
    "Estimate",
    "Evidence",
    "Finding",
    "Gate",
    "Generation",
    "HandedToPerson",
    "Harness",
    "Image",
    "InvalidRowError",
    "Match",
    "Message",
    "MissingExtraError",
    "Outcome",
    "OverBudget",
    "Passage",
    "Policy",
    "Reason",
    "Refused",
    "RepairRecord",
    "RepairRequest",
    "Report",
    "Sampling",
    "Stage",
    "StageReport",
    "Status",
    "Turn",
    "Unavailable",
    "Usage",
    "Verdict",
    "Verifier",
    "__version__",
    "configure",
    "decide",
    "format_table",
    "load_verifier",
    "observed",
    "verified",
]


def __getattr__(name: str) -> Any:
    """Load the room a name lives in (PEP 562)."""
    room = _WHERE.get(name)
    if room is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{room}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
