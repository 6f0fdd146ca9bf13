"""How far a rate measured on a few rows can be from the true one."""

from __future__ import annotations

import math


def exact_interval(hits: int, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """The Clopper-Pearson interval of a rate.

    It contains the true rate with at least the given probability, however few the trials; it is
    never narrower than it may be. Without trials it says nothing: 0 to 1.

    Args:
        hits: From 0 to ``trials``.
        trials: How many there were.
        confidence: In (0, 1).
    """
    tail = (1 - confidence) / 2
    low = 0.0 if hits == 0 else _where(hits, trials - hits + 1, tail)
    high = 1.0 if hits == trials else _where(hits + 1, trials - hits, 1 - tail)
    return low, high


def _where(a: float, b: float, share: float) -> float:
    """The quantile of a beta distribution, by bisection: its share rises with x."""
    low, high = 0.0, 1.0
    for _ in range(60):  # halves of 1: as fine as a float
        middle = (low + high) / 2
        if _share_below(a, b, middle) < share:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _share_below(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function."""
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(a, b, x) / a
    return 1 - front * _fraction(b, a, 1 - x) / b


def _fraction(a: float, b: float, x: float) -> float:
    """Its continued fraction, evaluated by the modified method of Lentz."""
    tiny = 1e-300
    c, d = 1.0, 1 - (a + b) * x / (a + 1)
    d = 1 / (d if abs(d) > tiny else tiny)
    value = d
    for m in range(1, 100_000):
        for numerator in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 + numerator * d
            d = 1 / (d if abs(d) > tiny else tiny)
            c = 1 + numerator / c
            c = c if abs(c) > tiny else tiny
            value *= c * d
        if abs(c * d - 1) < 1e-14:
            break
    return value
