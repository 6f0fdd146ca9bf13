"""aucert-otel: verdicts for LLM answers.

Reads every finished answer, decides whether it can be used, does exactly one thing about it, and
leaves verdict, cost and confidence on the OpenTelemetry trace. Importing this package loads no
framework, no SDK and no network library.
"""

from aucert_otel._version import __version__
from aucert_otel.action import Action, Decision, decide, format_table
from aucert_otel.budget import Budget, Estimate
from aucert_otel.cascade import Cascade, Certificate, Gate, Stage
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
from aucert_otel.rounds import Policy
from aucert_otel.sampling import Match, Sampling
from aucert_otel.telemetry.configure import configure
from aucert_otel.verdict import (
    Costs,
    Evidence,
    Finding,
    Reason,
    Report,
    StageReport,
    Status,
    Turn,
    Verdict,
)
from aucert_otel.verifier import OverBudget, Refused, Unavailable, Verifier, load_verifier


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
