"""How often a certificate is wrong, on answers whose truth is known.

    python benchmarks/certificates.py
    python benchmarks/certificates.py --splits 200

Each split draws labelled answers from a known distribution, calibrates as `aucert calibrate` does,
and compares the true error rate behind the certified gate with alpha. A certificate is violated
where that rate is above alpha. Over many splits that may happen at most a share delta of the time.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.special import bdtrc

from aucert_otel import Verdict
from aucert_otel.measure import DEFAULT_GRID, Judged, Planned, Trial, calibrate, fixed_sequence


ALPHAS = (0.1, 0.15, 0.2)
DELTA = 0.1
SPLITS = 1_000
SEED = 20_261_201

SIGNIFICANCE = 0.001
"""A rate this unlikely, if delta were kept, is a failure."""


@dataclass(frozen=True)
class Rate:
    """What came of one scenario at one alpha."""

    scenario: str
    alpha: float
    labels: int
    splits: int
    certified: int
    """Splits in which any threshold was certified."""
    violated: int
    """Splits in which a certified gate lets more than alpha through."""
    coverage: float
    """The true share of answers that the certified gates settle, on average."""

    @property
    def kept(self) -> bool:
        """Whether this many violations are plausible under delta."""
        chance = 1.0 if not self.violated else bdtrc(self.violated - 1, self.splits, DELTA)
        return bool(chance >= SIGNIFICANCE)


# One stage: the share of answers in each band of confidence and how many of them are judged wrongly.


@dataclass(frozen=True)
class Truth:
    """Bands of confidence, one for each threshold of the grid and one below all."""

    name: str
    shares: tuple[float, ...]
    errors: tuple[float, ...]

    def at(self, index: int) -> tuple[float, float]:
        """Coverage and true error rate at a threshold of the grid."""
        shares = self.shares[: index + 1]
        wrong = sum(share * error for share, error in zip(shares, self.errors, strict=False))
        return sum(shares), wrong / sum(shares)


EVEN = (0.2, 0.15, 0.15, 0.15, 0.15, 0.1, 0.1)


def truths(alpha: float) -> Iterator[Truth]:
    """Distributions that put a rule of this alpha to the test."""
    just_above = alpha * 1.0001
    yield Truth("a hair above alpha everywhere", EVEN, (just_above,) * 7)
    # Half of alpha up to a threshold, then so many errors that the rate ends just above alpha.
    for good in (1, 2, 4):
        head = sum(EVEN[:good])
        tail = (just_above * (head + EVEN[good]) - alpha / 2 * head) / EVEN[good]
        errors = (alpha / 2,) * good + (min(1.0, tail),) * (7 - good)
        yield Truth(f"a cliff after threshold {good}", EVEN, errors)
    yield Truth("calibrated", EVEN, (0.02, 0.07, 0.15, 0.25, 0.35, 0.45, 0.55))
    yield Truth("overconfident", EVEN, (alpha * 1.5, *(alpha / 2,) * 6))


def one_stage(truth: Truth, alpha: float, labels: int, splits: int, seed: int) -> Rate:
    """Calibrate one stage over and over."""
    random = np.random.default_rng(seed)
    counts = random.multinomial(labels, truth.shares, size=splits)
    wrong = random.binomial(counts, truth.errors)
    settled, errors = counts.cumsum(axis=1)[:, :-1], wrong.cumsum(axis=1)[:, :-1]
    certified = violated = 0
    coverage = 0.0
    for n, k in zip(settled.tolist(), errors.tolist(), strict=True):
        found = fixed_sequence(DEFAULT_GRID, n, k, alpha=alpha, delta=DELTA)
        if found.certified is not None:
            share, error = truth.at(DEFAULT_GRID.index(found.certified.threshold))
            certified += 1
            violated += error > alpha
            coverage += share
    return Rate(truth.name, alpha, labels, splits, certified, violated, coverage / splits)


# A cascade: easy, middling and hard answers, judged by stages that err alike on hard ones.

NAMES = ("first", "second")
GRID = (0.9, 0.7)
DIFFICULTY = (0.5, 0.3, 0.2)
CONFIDENCE = (
    ((0.8, 0.15, 0.05), (0.4, 0.3, 0.3), (0.2, 0.3, 0.5)),
    ((0.8, 0.15, 0.05), (0.6, 0.2, 0.2), (0.5, 0.2, 0.3)),
)
"""By stage and difficulty: the share at or above 0.9, from 0.7 up, and below."""


def wrongness(alpha: float) -> tuple[tuple[float, ...], ...]:
    """By stage and difficulty, how often a verdict is wrong.

    The first stage is a hair above alpha at 0.7; the second at 0.9, behind a first one at 0.9.
    """
    errs: list[tuple[float, ...]] = []
    for gates in ((0.7,), (0.9, 0.9)):
        *_, settled = flow(gates)
        easy, middling = alpha * 0.35, alpha * 0.9
        least = alpha * 1.0001 * sum(settled) - easy * settled[0] - middling * settled[1]
        errs.append((easy, middling, least / settled[2]))
    return tuple(errs)


def flow(gates: tuple[float | None, ...]) -> Iterator[list[float]]:
    """For each stage, the share of all answers that it settles, by difficulty."""
    arriving = list(DIFFICULTY)
    for gate, bands in zip(gates, CONFIDENCE, strict=False):
        bars = 0 if gate is None else GRID.index(gate) + 1
        settled = [a * sum(band[:bars]) for a, band in zip(arriving, bands, strict=True)]
        yield settled
        arriving = [a - s for a, s in zip(arriving, settled, strict=True)]


def two_stages(alpha: float, labels: int, splits: int, seed: int) -> Rate:
    """Calibrate a cascade of two stages over and over, on the arrivals behind its own gates."""
    random = np.random.default_rng(seed)
    errs = wrongness(alpha)
    kinds, shares = zip(*_kinds(errs), strict=True)
    plan = [Planned(name, settles=frozenset({Verdict.PASS})) for name in NAMES]
    certified = violated = 0
    coverage = 0.0
    for counts in random.multinomial(labels, shares, size=splits).tolist():
        trials = [kind for kind, n in zip(kinds, counts, strict=True) for _ in range(n)]
        first, second = calibrate(trials, plan, grid=GRID, alpha=alpha, delta=DELTA)
        gates = (first.threshold(Verdict.PASS), second.threshold(Verdict.PASS))
        rates, share = behind(gates, errs)
        certified += any(gate is not None for gate in gates)
        violated += any(rate is not None and rate > alpha for rate in rates)
        coverage += share
    name = "two stages that err alike"
    return Rate(name, alpha, labels, splits, certified, violated, coverage / splits)


def _kinds(errs: tuple[tuple[float, ...], ...]) -> Iterator[tuple[Trial, float]]:
    """Every answer there can be, and its probability: what both stages say of it, difficulty aside."""
    one = list(product(range(3), (True, False)))
    for first, second in product(one, one):
        share = sum(
            difficulty * _chance(0, d, first, errs) * _chance(1, d, second, errs)
            for d, difficulty in enumerate(DIFFICULTY)
        )
        judged = (
            Judged(name, Verdict.PASS, (0.9, 0.7, 0.1)[band], right)
            for name, (band, right) in zip(NAMES, (first, second), strict=True)
        )
        yield Trial(tuple(judged)), share


def _chance(
    stage: int, difficulty: int, said: tuple[int, bool], errs: tuple[tuple[float, ...], ...]
) -> float:
    band, right = said
    wrong = errs[stage][difficulty]
    return CONFIDENCE[stage][difficulty][band] * (1 - wrong if right else wrong)


def behind(
    gates: tuple[float | None, ...], errs: tuple[tuple[float, ...], ...]
) -> tuple[list[float | None], float]:
    """The true error rate of each stage among what it settles, and the share settled in all."""
    rates: list[float | None] = []
    covered = 0.0
    for settled, wrong in zip(flow(gates), errs, strict=True):
        total = sum(settled)
        covered += total
        rates.append(
            sum(s * w for s, w in zip(settled, wrong, strict=True)) / total if total else None
        )
    return rates, covered


def rates(splits: int = SPLITS) -> Iterator[Rate]:
    """Every scenario at every alpha, each with a seed of its own."""
    for a, alpha in enumerate(ALPHAS):
        for s, truth in enumerate(truths(alpha)):
            for labels in (100, 400):
                yield one_stage(truth, alpha, labels, splits, SEED + 100 * a + 10 * s + labels)
        for labels in (400, 1_000):
            yield two_stages(alpha, labels, splits, SEED + labels + a)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=SPLITS)
    splits = parser.parse_args().splits
    print(f"{splits:,} splits each, delta {DELTA:g}, seed {SEED}")
    print()
    print("| alpha | truth | labels | certified | violated | settled, true share | within delta |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for rate in rates(splits):
        print(
            f"| {rate.alpha:g} | {rate.scenario} | {rate.labels} | {rate.certified / splits:.1%} | "
            f"{rate.violated / splits:.1%} | {rate.coverage:.1%} | {'yes' if rate.kept else 'NO'} |"
        )


if __name__ == "__main__":
    main()
