"""What a cascade of judges ships, and how often it is right: recorded judgements of LLMBar, replayed.

    python benchmarks/llmbar.py
    python benchmarks/llmbar.py --alpha 0.15 --prompt Metrics_Reference

Each item is an instruction and two outputs; a judge says which output follows the instruction. A
stage asks its judge twice, the second time with the outputs swapped, and ships the winner where it
is the same both times; otherwise the next judge is asked. The judges are chat models that answer
from the record; cascade, stages and gates are those of the package.

The data are half of LLMBar: 209 of 419 items. Figures for the whole set differ.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from aucert_otel import (
    Cascade,
    Certificate,
    Finding,
    Gate,
    Generation,
    Reason,
    Report,
    Stage,
    Verdict,
)
from aucert_otel.llm import ChatMessage, ReplayModel
from aucert_otel.llm.model import ChatRequest
from aucert_otel.measure import Judged, Planned, Source, Trial, calibrate, certify, clopper_pearson


DATA = Path(__file__).parent / "data" / "llmbar" / "judgements.jsonl"
POLICIES = (("GPT-4",), ("PaLM2", "GPT-4"), ("ChatGPT", "PaLM2", "GPT-4"))
PROMPT = "Vanilla"
GRID = (1.0,)
"""One threshold: a stage is sure of a winner that is the same in both orders, or of none."""
ALPHA, DELTA, FOLDS, SEED = 0.2, 0.1, 5, 20_261_201
PASS_ONLY = frozenset({Verdict.PASS})
SYSTEM = 'Which output follows the instruction better? Answer as JSON: {"winner": "a"} or {"winner": "b"}.'


@dataclass(frozen=True)
class Item:
    """One instruction with two outputs, as a generation to be judged, and the better of the two."""

    generation: Generation
    gold: str
    stratum: str
    recorded: Mapping[str, Sequence[str | None]]
    """By judge: the winner, and the winner with the outputs swapped; ``None`` if it named none."""

    def question(self, *, swapped: bool) -> str:
        """What a judge is asked."""
        outputs = json.loads(self.generation.output)
        a, b = reversed(outputs) if swapped else outputs
        return f"Instruction:\n{self.generation.question}\n\nOutput (a):\n{a}\n\nOutput (b):\n{b}"


def read(path: Path, prompt: str) -> list[Item]:
    """The recorded items, with the judgements of one prompt."""
    items = []
    for line in path.read_text("utf-8").splitlines():
        row = json.loads(line)
        generation = Generation(
            json.dumps([row["output_1"], row["output_2"]]),
            question=row["instruction"],
            test_id=f"{row['stratum']}/{row['index']}",
        )
        recorded = {judge: said[prompt] for judge, said in row["judges"].items()}
        items.append(Item(generation, row["gold"], row["stratum"], recorded))
    return items


def replay(judge: str, items: Iterable[Item]) -> ReplayModel:
    """A chat model that answers each question as this judge did."""
    answers: dict[str, str] = {}
    for item in items:
        for swapped, winner in zip((False, True), item.recorded[judge], strict=True):
            # Winners are recorded by output, and a judge answers by place.
            place = {"1": "ba"[not swapped], "2": "ab"[not swapped], None: None}[winner]
            text = "" if place is None else json.dumps({"winner": place})
            if answers.setdefault(item.question(swapped=swapped), text) != text:
                raise ValueError(f"two recorded answers to one question: {item.generation.test_id}")

    def answer(request: ChatRequest) -> str:
        return answers[request.messages[-1].content]

    return ReplayModel(answer, name=judge)


@dataclass(frozen=True)
class SameWinner:
    """Asks one judge in both orders, and passes the answer on which it agrees with itself."""

    name: str
    model: ReplayModel
    items: Mapping[str, Item] = field(repr=False)
    prompt: str = PROMPT

    @property
    def fingerprint(self) -> str:
        """Judge and prompt: what a certificate is bound to."""
        return hashlib.sha256(f"{self.name}|{self.prompt}|{SYSTEM}".encode()).hexdigest()[:16]

    async def verify(self, generation: Generation) -> Finding:
        item = self.items[generation.test_id or ""]
        winners = [await self._winner(item, swapped=swapped) for swapped in (False, True)]
        if None in winners:
            return self._unclear(Reason.MALFORMED)
        if winners[0] != winners[1]:
            return self._unclear(Reason.INCONSISTENT)
        measures = {"winner": float(winners[0] or 0)}
        return Finding("same winner", Verdict.PASS, score=1.0, measures=measures)

    async def _winner(self, item: Item, *, swapped: bool) -> int | None:
        asked = [ChatMessage("system", SYSTEM), ChatMessage("user", item.question(swapped=swapped))]
        said = await self.model.complete(asked, schema={"type": "object"})
        place = {"a": 0, "b": 1}.get(str((said.data or {}).get("winner")))
        return None if place is None else (place ^ swapped) + 1

    @staticmethod
    def _unclear(reason: Reason) -> Finding:
        return Finding("same winner", Verdict.UNCLEAR, reason=reason)


GateOf = Callable[[str], Gate | None]
"""By judge: the gate of its stage; ``None``: it settles nothing, so that every judge is asked."""


def cascade(judges: Iterable[SameWinner], gate: GateOf, *, strict: bool = False) -> Cascade:
    """Judges in their order."""
    stages = []
    for judge in judges:
        given = gate(judge.name)
        settles = frozenset() if given is None else PASS_ONLY
        stages.append(Stage(judge, settles=settles, gate=given or Gate()))
    return Cascade(" → ".join(judge.name for judge in judges), stages, strict=strict)


@dataclass
class Tally:
    """How many items, how many of them shipped, how many of those rightly."""

    items: int = 0
    shipped: int = 0
    right: int = 0

    def add(self, report: Report, item: Item) -> None:
        """Count one item."""
        self.items += 1
        self.shipped += report.settled
        self.right += report.settled and _right(report.stages[-1].findings, item)

    def __str__(self) -> str:
        shipped = _share(self.shipped, self.items)
        return f"{shipped} | {_share(self.right, self.shipped) if self.shipped else 'nothing'}"


def _right(findings: Iterable[Finding], item: Item) -> bool:
    return any(finding.measures.get("winner") == float(item.gold) for finding in findings)


def _share(hits: int, trials: int) -> str:
    low, high = clopper_pearson(hits, trials)
    return f"{hits}/{trials} = {hits / trials:.1%} ({low:.1%} to {high:.1%})"


def tallies(run: Callable[[Item], Report], items: Iterable[Item]) -> dict[str, Tally]:
    """What a cascade does, by stratum and for all."""
    found: dict[str, Tally] = defaultdict(Tally)
    for item in items:
        report = run(item)
        found["all"].add(report, item)
        found[item.stratum].add(report, item)
    return found


def trials(judges: Sequence[SameWinner], items: Iterable[Item], *, by: bool) -> list[Trial]:
    """Labelled answers with every judge's verdict, for calibration."""
    asking = cascade(judges, lambda _: None)
    return [
        Trial(
            tuple(
                Judged(
                    s.stage, s.verdict or Verdict.UNCLEAR, s.confidence, _right(s.findings, item)
                )
                for s in asking.run(item.generation).stages
            ),
            stratum=item.stratum if by else None,
        )
        for item in items
    ]


def running(whole: Cascade) -> Callable[[Item], Report]:
    """Run each item through one cascade."""
    return lambda item: whole.run(item.generation)


Certified = dict[tuple[str | None, str], Certificate]


def certificates(
    judges: Sequence[SameWinner], items: Sequence[Item], *, by: bool, alpha: float
) -> Certified:
    """A certificate for each stratum and judge, also where nothing was certified."""
    plan = [Planned(judge.name, settles=PASS_ONLY) for judge in judges]
    results = calibrate(trials(judges, items, by=by), plan, grid=GRID, alpha=alpha, delta=DELTA)
    stages: dict[str, Stage | str] = {j.name: Stage(j, settles=PASS_ONLY) for j in judges}
    source = Source(f"half of LLMBar, {len(items)} items", alpha, datetime.now(UTC).date(), 1)
    return {(each.stratum, each.stage): each for each in certify(results, stages, source)}


def obeying(
    judges: Sequence[SameWinner], found: Certified, *, by: bool
) -> Callable[[Item], Report]:
    """Run each item through the strict cascade of its stratum, gated by that stratum's certificates."""
    built: dict[str | None, Cascade] = {}

    def run(item: Item) -> Report:
        stratum = item.stratum if by else None
        if stratum not in built:
            built[stratum] = cascade(
                judges, lambda name: Gate(certificate=found.get((stratum, name))), strict=True
            )
        return built[stratum].run(item.generation)

    return run


def cross_fitted(
    judges: Sequence[SameWinner], items: Sequence[Item], *, by: bool, alpha: float
) -> dict[str, Tally]:
    """Each item is run behind certificates that were made without it."""
    shuffled = list(items)
    random.Random(SEED).shuffle(shuffled)
    behind: dict[int, Callable[[Item], Report]] = {}
    for fold in range(FOLDS):
        rest = [item for index, item in enumerate(shuffled) if index % FOLDS != fold]
        behind[fold] = obeying(judges, certificates(judges, rest, by=by, alpha=alpha), by=by)
    fold_of = {item.generation.test_id: index % FOLDS for index, item in enumerate(shuffled)}
    return tallies(lambda item: behind[fold_of[item.generation.test_id]](item), items)


def named(found: Certified) -> str:
    """Where each judge is certified to ship."""
    where: dict[str, list[str]] = {}
    for (stratum, judge), each in found.items():
        where.setdefault(judge, []).extend([stratum or "all"] if each.settles else [])
    return "; ".join(f"{judge} on {', '.join(s) or 'nothing'}" for judge, s in where.items())


def show(title: str, found: Mapping[str, Tally]) -> None:
    """One table, by stratum."""
    print(f"\n{title}\n")
    print("| stratum | shipped | right when shipped |")
    print("| --- | --- | --- |")
    for stratum in ["all", *sorted(found.keys() - {"all"})]:
        print(f"| {stratum} | {found[stratum]} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prompt", default=PROMPT, help="the recorded prompt variant")
    parser.add_argument("--alpha", type=float, default=ALPHA, help="for the certificates")
    options = parser.parse_args()
    items = read(DATA, options.prompt)
    known = {item.generation.test_id or "": item for item in items}
    print(f"LLMBar, {len(items)} of its 419 items: figures for the whole set differ from these.")
    print(f"Prompt {options.prompt}. Intervals: 95%, Clopper-Pearson.")
    for policy in POLICIES:
        judges = [SameWinner(name, replay(name, items), known, options.prompt) for name in policy]
        free = cascade(judges, lambda _: Gate())
        print(f"\n## {free.name}")
        show("Without certificates:", tallies(running(free), items))
        for by, whose in ((False, "one certificate for all strata"), (True, "by stratum")):
            found = certificates(judges, items, by=by, alpha=options.alpha)
            limits = f"alpha {options.alpha:g}, delta {DELTA:g}"
            print(f"\nCertified on all {len(items)} items, {whose}, {limits}: {named(found)}.")
            show(
                f"Strict, {whose}; each item behind certificates made without it ({FOLDS} folds):",
                cross_fitted(judges, items, by=by, alpha=options.alpha),
            )


if __name__ == "__main__":
    main()
