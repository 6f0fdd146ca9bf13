"""What ``aucert demo`` shows on the screen is what really arrives over OTLP, scenario by scenario."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from support.process import run
from support.spantree import attributes_of, summary, tree


pytest.importorskip("langchain_core")

CRITERIA = ["finish_reason", "cited_ids", "numbers", "forbidden", "length"]
SHARED = {"aucert.cascade.name": "support", "aucert.mode": "inline"}
RESULT = "gen_ai.evaluation.result"


@dataclass(frozen=True)
class Played:
    """What a scenario comes to: the failed criterion of each round, if any, and what it cost."""

    failed: tuple[str | None, ...]
    dollars: tuple[float, ...]
    reason: str = "unsupported"

    @property
    def repair(self) -> str | None:
        if len(self.failed) == 1:
            return None
        return "failed" if self.failed[1] else "passed"

    def passed(self, turn: int) -> list[str]:
        # An answer that was cut off is judged by nothing else.
        failed = self.failed[turn]
        return [] if failed == "finish_reason" else [name for name in CRITERIA if name != failed]

    def verdict(self, turn: int) -> dict[str, object]:
        failed = self.failed[turn]
        word = "fail" if failed else "pass"
        action, row = ("ship", "clean")
        if failed:
            action, row = ("person", "spent") if turn else ("repair", "one_failure")
        return {
            "aucert.action": action,
            "aucert.action.row": row,
            "aucert.cascade.name": "support",
            "aucert.certified": False,
            "aucert.confidence": 1.0,
            "aucert.cost.total_usd": self.dollars[turn],
            "aucert.cost.usd": 0.0,
            **({"aucert.criteria.passed": passed} if (passed := self.passed(turn)) else {}),
            **({"aucert.criteria.failed": [failed]} if failed else {}),
            "aucert.mode": "inline",
            **({"aucert.reasons": [self.reason]} if failed else {}),
            **({"aucert.repair.outcome": self.repair} if turn else {}),
            "aucert.sampling.probability": 1.0,
            "aucert.stage.reached": 1,
            "aucert.stages": [f"rules={word}"],
            "aucert.verdict": word,
        }

    def results(self, turn: int) -> list[dict[str, object]]:
        failed = self.failed[turn]
        whole = {
            "aucert.cascade.name": "support",
            "aucert.stage.name": "rules",
            "gen_ai.evaluation.name": "aucert.verdict",
            "gen_ai.evaluation.score.label": "fail" if failed else "pass",
            "gen_ai.evaluation.score.value": 1.0,
        }
        finding = {
            "aucert.reason": self.reason,
            "gen_ai.evaluation.name": failed,
            "gen_ai.evaluation.score.label": "fail",
            "gen_ai.evaluation.score.value": 0.0,
        }
        return [whole, finding] if failed else [whole]

    def verify(self, turn: int) -> dict[str, object]:
        return {
            "name": "aucert.verify support",
            "attributes": self.verdict(turn),
            "events": [{"name": RESULT, **result} for result in self.results(turn)],
        }

    @property
    def tree(self) -> list[dict[str, object]]:
        children = [self.verify(0)]
        if self.repair:
            children.append(
                {
                    "name": "aucert.repair",
                    "attributes": {
                        "aucert.action": self.verdict(1)["aucert.action"],
                        "aucert.repair.criteria": [self.failed[0]],
                        "aucert.repair.outcome": self.repair,
                    },
                    "children": [self.verify(1)],
                }
            )
        last = self.verdict(len(self.failed) - 1)
        return [
            {"name": "aucert.generate support", "attributes": summary(last), "children": children}
        ]

    @property
    def metrics(self) -> dict[str, list[object]]:
        counts: dict[tuple[str, str], int] = {}
        for turn, failed in enumerate(self.failed):
            judged = [(name, "pass") for name in self.passed(turn)]
            for key in judged + ([(failed, "fail")] if failed else []):
                counts[key] = counts.get(key, 0) + 1
        found: dict[str, list[object]] = {
            "aucert.criteria": [
                (
                    {
                        "aucert.cascade.name": "support",
                        "aucert.criterion": name,
                        "aucert.verdict": word,
                    },
                    count,
                )
                for (name, word), count in counts.items()
            ],
            "aucert.verification.duration": [(SHARED, len(self.failed))],
            "aucert.verifications": [
                (
                    {
                        **SHARED,
                        "aucert.action": self.verdict(turn)["aucert.action"],
                        "aucert.stage.reached": 1,
                        "aucert.verdict": self.verdict(turn)["aucert.verdict"],
                    },
                    1,
                )
                for turn in range(len(self.failed))
            ],
        }
        if self.repair:
            repaired = {
                "aucert.cascade.name": "support",
                "aucert.criterion": self.failed[0],
                "aucert.repair.outcome": self.repair,
            }
            found["aucert.repairs"] = [(repaired, 1)]
        return found


SCENARIOS = {
    "citation": Played(("cited_ids", None), (0.001699, 0.003398)),
    "truncated": Played(("finish_reason", None), (0.0017, 0.003412), "truncated"),
    "clean": Played((None,), (0.001657,)),
    "stubborn": Played(("cited_ids", "cited_ids"), (0.001675, 0.003358)),
    "march": Played((None,), (0.001717,)),
}


def without_version(nodes):
    """The tree without the cascade's hash, and every hash that was in it."""
    versions = set()
    for node in nodes:
        version = node.get("attributes", {}).pop("aucert.cascade.version", None)
        versions |= ({version} if version else set()) | without_version(node.get("children", []))
    return versions


def in_order(metrics):
    """Series in a fixed order, and numbers compared as people read them."""
    return {name: sorted(points, key=repr) for name, points in sorted(metrics.items())}


@pytest.mark.parametrize("protocol", ["grpc", "http/protobuf"])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_demo_arrives_whole(sink, scenario, protocol):
    out = run(
        f"import sys; sys.argv = ['aucert', 'demo', '--scenario', {scenario!r}]\nfrom aucert_otel.cli import main; main()",
        OTEL_EXPORTER_OTLP_PROTOCOL=protocol,
        OTEL_EXPORTER_OTLP_ENDPOINT=sink.grpc_endpoint
        if protocol == "grpc"
        else sink.http_endpoint,
    )
    played = SCENARIOS[scenario]
    arrived = tree(sink.spans)
    assert len(without_version(arrived)) == 1
    assert arrived == played.tree
    results = [result for turn in range(len(played.failed)) for result in played.results(turn)]
    assert [attributes_of(record["attributes"]) for record in sink.records] == results
    assert in_order(sink.metrics) == in_order(played.metrics)
    (trace_id,) = {span["trace_id"] for span in sink.spans}
    assert trace_id in out
    assert {record["trace_id"] for record in sink.records} == {trace_id}
    assert {span["resource"]["service.name"] for span in sink.spans} == {"flower-support"}
