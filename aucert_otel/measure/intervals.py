"""How far a rate measured on a few answers can be from the true one."""

from __future__ import annotations

from math import sqrt
from typing import Any

from aucert_otel.errors import MissingExtraError


def special() -> Any:
    """SciPy's special functions.

    Raises:
        MissingExtraError: SciPy is not installed.
    """
    try:
        from scipy import special as found
    except ImportError:
        raise MissingExtraError("measuring", "measure") from None
    return found


def clopper_pearson(hits: int, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """The exact interval of a rate (Clopper and Pearson, Biometrika 26, 1934).

    It contains the true rate with at least the given probability, however few the trials, and is
    therefore wider than it need be on average. Without trials it says nothing: 0 to 1.

    Args:
        hits: From 0 to ``trials``.
        trials: How many there were.
        confidence: In (0, 1); what is left is split evenly between the two sides.

    Raises:
        ValueError: a number is out of range.
        MissingExtraError: SciPy is not installed.
    """
    _check(hits, trials, confidence)
    tail = (1 - confidence) / 2
    beta = special().betaincinv
    low = 0.0 if hits == 0 else float(beta(hits, trials - hits + 1, tail))
    high = 1.0 if hits == trials else float(beta(hits + 1, trials - hits, 1 - tail))
    return low, high


def upper_bound(errors: int, trials: int, delta: float) -> float:
    """The one-sided Clopper-Pearson bound: the true rate is above it with probability <= delta.

    It is the rate at which as few errors as these, or fewer, come up with probability ``delta``.
    So it is at most alpha exactly where the binomial test rejects "the rate is alpha or more".

    Args:
        errors: From 0 to ``trials``.
        trials: How many there were. Without trials the bound is 1.
        delta: In (0, 1).

    Raises:
        ValueError: a number is out of range.
        MissingExtraError: SciPy is not installed.
    """
    _check(errors, trials, delta)
    if errors == trials:
        return 1.0
    return float(special().betaincinv(errors + 1, trials - errors, 1 - delta))


def wilson(hits: int, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """The score interval of a rate (Wilson, JASA 22, 1927).

    Its coverage is the given probability on average over rates (Brown, Cai and DasGupta,
    Statistical Science 16, 2001), and below it for some: for reports, never for a certificate.

    Args:
        hits: From 0 to ``trials``.
        trials: How many there were. Without trials the interval is 0 to 1.
        confidence: In (0, 1).

    Raises:
        ValueError: a number is out of range.
        MissingExtraError: SciPy is not installed.
    """
    _check(hits, trials, confidence)
    if trials == 0:
        return 0.0, 1.0
    z = float(special().ndtri((1 + confidence) / 2))
    rate, square = hits / trials, z * z / trials
    centre = rate + square / 2
    spread = z * sqrt(rate * (1 - rate) / trials + square / (4 * trials))
    # At the ends the formula is exact in theory and off by a rounding error in floating point.
    low = 0.0 if hits == 0 else (centre - spread) / (1 + square)
    high = 1.0 if hits == trials else (centre + spread) / (1 + square)
    return low, high


def _check(hits: int, trials: int, share: float) -> None:
    if not 0 <= hits <= trials:
        raise ValueError(f"{hits} of {trials}: count from 0 up to the number of trials")
    if not 0.0 < share < 1.0:
        raise ValueError(f"a probability of {share!r}: give one between 0 and 1")
