"""The repair request: what failed, the exact evidence against it, and nothing else to change.

A repair works because its feedback comes from outside the generator. Without the claim and the
sentence that contradicts it, asking again is intrinsic self-correction, which makes answers worse.
"""

from __future__ import annotations

import json
from dataclasses import KW_ONLY, dataclass
from typing import Any

from aucert_otel.generation import Generation, Passage
from aucert_otel.report import Report
from aucert_otel.verdict import Evidence, Finding, Reason


FIX_ONLY = "Fix only the failed claim and keep every other statement."
FINISH = "The answer was cut off. Write it again, complete, within the higher token ceiling."
CEILING_FACTOR = 2.0


@dataclass(frozen=True, slots=True)
class Failure:
    """One failed criterion with the claim at fault and the facts against it."""

    criterion: str
    claim: str | None
    evidence: tuple[Evidence, ...]
    reason: Reason | None
    measures: dict[str, float]


@dataclass(frozen=True, slots=True)
class RepairRequest:
    """What the generator receives for its one repair.

    Args:
        draft: The answer that failed.
        ceiling_factor: Multiply the token ceiling by this; above 1 only for a truncated answer.
    """

    failed: tuple[Failure, ...]
    _: KW_ONLY
    draft: str
    message: str | None = None
    passages: tuple[Passage, ...] = ()
    ceiling_factor: float = 1.0
    instruction: str = FIX_ONLY

    @property
    def criteria(self) -> list[str]:
        """The criteria that failed, each once."""
        return list(dict.fromkeys(failure.criterion for failure in self.failed))

    def to_dict(self) -> dict[str, Any]:
        """The request as plain JSON data, in the shape the generator's prompt can embed."""
        return {
            "mode": "repair",
            "customer_message": self.message,
            "passages": [
                _known(article=p.id, version=p.version, text=p.text) for p in self.passages
            ],
            "draft": self.draft,
            "failed": [_failure_dict(failure) for failure in self.failed],
            "instruction": self.instruction,
        }

    def render(self) -> str:
        """The request as one message for a generator that takes text."""
        return (
            "Your previous answer failed a check and was not sent. Repair it as this request says, "
            "and reply with the repaired answer alone.\n"
            + json.dumps(self.to_dict(), ensure_ascii=False, indent=1)
        )


@dataclass(frozen=True, slots=True)
class RepairRecord:
    """One repair as it is logged: what it was meant to mend, and whether the re-check passed."""

    failed: tuple[Failure, ...]
    outcome: str
    """``passed``, ``failed`` (the re-check did not pass) or ``error`` (the generator raised)."""
    cost_usd: float | None = None
    seconds: float = 0.0


def repair_request(generation: Generation, report: Report) -> RepairRequest:
    """Build the request from a report whose failures point at one claim."""
    failed = report.failed
    truncated = any(f.reason is Reason.TRUNCATED for f in failed)
    return RepairRequest(
        tuple(_failure(f) for f in failed),
        draft=generation.output,
        message=generation.question,
        passages=tuple(generation.evidence or ()),
        ceiling_factor=CEILING_FACTOR if truncated else 1.0,
        instruction=FINISH if truncated else FIX_ONLY,
    )


def _failure(finding: Finding) -> Failure:
    return Failure(
        finding.criterion, finding.claim, finding.evidence, finding.reason, dict(finding.measures)
    )


def _failure_dict(failure: Failure) -> dict[str, Any]:
    facts = [
        _known(article=e.passage_id, version=e.version, sentence=e.text) for e in failure.evidence
    ]
    return {
        "criterion": failure.criterion,
        "claim": failure.claim,
        "evidence": facts[0] if facts else None,
        **({"further_evidence": facts[1:]} if len(facts) > 1 else {}),
        **({"reason": failure.reason.value} if failure.reason else {}),
        **({"entailment": failure.measures} if failure.measures else {}),
    }


def _known(**values: Any) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}
