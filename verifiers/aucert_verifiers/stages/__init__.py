"""The four stages of the Verification Cascade, cheapest first.

from aucert_otel import Cascade, Gate, Stage
from aucert_verifiers.stages import CrossModelVote, Debate, SelfConfidence, SelfConsistency

cascade = Cascade("app-tests", [
    Stage(SelfConfidence(fast), gate=Gate(pass_at=0.95, fail_at=0.95)),
    SelfConsistency(fast),
    CrossModelVote([fast, strong, strong]),
    Debate(fast, strong),
])
"""

from aucert_verifiers.stages.base import Expected, Judging
from aucert_verifiers.stages.config import (
    cross_model_vote,
    debate,
    self_confidence,
    self_consistency,
)
from aucert_verifiers.stages.cross_model_vote import CrossModelVote
from aucert_verifiers.stages.debate import Debate
from aucert_verifiers.stages.evaluation import Evaluation, evaluate
from aucert_verifiers.stages.prompts import (
    CORRECT,
    DIRECT,
    REWORDINGS,
    WORDINGS,
    Criterion,
    Wording,
)
from aucert_verifiers.stages.self_confidence import SelfConfidence
from aucert_verifiers.stages.self_consistency import SelfConsistency


__all__ = [
    "CORRECT",
    "DIRECT",
    "REWORDINGS",
    "WORDINGS",
    "Criterion",
    "CrossModelVote",
    "Debate",
    "Evaluation",
    "Expected",
    "Judging",
    "SelfConfidence",
    "SelfConsistency",
    "Wording",
    "cross_model_vote",
    "debate",
    "evaluate",
    "self_confidence",
    "self_consistency",
]
