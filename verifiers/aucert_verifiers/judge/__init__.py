"""The rubric judge: a model of another family judges a reply by written criteria, in one call.

from aucert_otel import Cascade
from aucert_verifiers.judge import RubricJudge, StrongerJudge

cascade = Cascade("support", [RubricJudge(judge), StrongerJudge(stronger)])
"""

from aucert_verifiers.judge.check import Problem, Sources, check_rubric, text_hash
from aucert_verifiers.judge.config import rubric, stronger_judge
from aucert_verifiers.judge.judge import RubricJudge, StrongerJudge
from aucert_verifiers.judge.pairs import Ballot, Comparison, PairJudge
from aucert_verifiers.judge.prompts import ENSEMBLE
from aucert_verifiers.judge.replay import replay
from aucert_verifiers.judge.rubric import Criterion, Rubric, Source, default_rubric
from aucert_verifiers.judge.settings import Settings


__all__ = [
    "ENSEMBLE",
    "Ballot",
    "Comparison",
    "Criterion",
    "PairJudge",
    "Problem",
    "Rubric",
    "RubricJudge",
    "Settings",
    "Source",
    "Sources",
    "StrongerJudge",
    "check_rubric",
    "default_rubric",
    "replay",
    "rubric",
    "stronger_judge",
    "text_hash",
]
