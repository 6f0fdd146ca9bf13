"""A certificate: evidence that a gate's threshold was measured on labelled answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from datetime import date, datetime
from enum import StrEnum
from typing import Any, Final

from aucert_otel.errors import ConfigurationError
from aucert_otel.verdict import Verdict


class Certification(StrEnum):
    """What a stage's certificate says about the verdict it just gave."""

    VALID = "valid"
    """It speaks for this check, this verdict and this day."""
    EXPIRED = "expired"
    """It was made for this check, and today lies outside its dates."""
    FOREIGN = "foreign"
    """It was made for another check, or for other stages before this one."""
    NONE = "none"
    """There is none, or no threshold was certified for this verdict."""


SETTLES_BOTH: Final = frozenset({Verdict.PASS, Verdict.FAIL})


@dataclass(frozen=True, slots=True)
class Certificate:
    """Evidence that a gate's threshold was measured on labelled answers.

    Among the answers that arrive at the stage and that it settles with this verdict, at most a
    share ``alpha`` is settled wrongly; the labelled answers support that with probability at least
    1 - ``delta``. Both are about answers drawn like the labelled ones, of the same stratum.

    It is bound to the very check it was measured for: the verifier's ``fingerprint`` (judge,
    prompt, rubric), and, where ``after`` is known, to the stages before it, since those decide
    which answers arrive. A changed check, or a passed date, and it no longer says anything.

    Raises:
        ConfigurationError: a threshold, ``alpha`` or ``delta`` is out of range.
    """

    fingerprint: str
    alpha: float
    """The error rate among settled answers that it bounds, for each verdict on its own."""
    delta: float
    """The probability that the bound does not hold, over both verdicts of this stage."""
    issued: date
    expires: date
    """The last day on which it speaks."""
    settles: frozenset[Verdict] = SETTLES_BOTH
    """The verdicts for which a threshold was certified. None at all is a result too."""
    pass_at: float | None = None
    """The certified threshold; ``None``: any confidence, an unknown one included."""
    fail_at: float | None = None
    stage: str = ""
    stratum: str | None = None
    """The kind of answers it was measured on; ``None``: all of them together. Whether an answer is of
    that kind is not looked at: such a gate belongs in the cascade that its answers go through, such
    as a tenant's own."""
    dataset: str = ""
    """The labelled answers: a name and a digest."""
    n: int | None = None
    """How many labelled answers arrived at the stage."""
    after: tuple[str, ...] | None = None
    """The stages before it and when they settle (see ``Stage.terms``); ``None``: not known."""

    def __post_init__(self) -> None:
        for name in ("alpha", "delta"):
            value = getattr(self, name)
            if not 0.0 < value < 1.0:
                raise ConfigurationError(
                    f"certificate.{name} is {value!r}: it lies between 0 and 1"
                )
        for name in ("pass_at", "fail_at"):
            value = getattr(self, name)
            if value is not None and not 0.0 <= value <= 1.0:
                raise ConfigurationError(
                    f"certificate.{name} is {value!r}: a confidence lies in [0, 1]"
                )
        set_ = object.__setattr__
        set_(self, "settles", frozenset(map(Verdict, self.settles)))
        set_(self, "after", None if self.after is None else tuple(self.after))

    def covers(self, fingerprint: str | None, today: date) -> bool:
        """Whether it still speaks for this check on this day."""
        return self.state(fingerprint, today) is Certification.VALID

    def state(self, fingerprint: str | None, today: date) -> Certification:
        """What it says about this check on this day, whatever the verdict."""
        if fingerprint is None or fingerprint != self.fingerprint:
            return Certification.FOREIGN
        if not self.issued <= today <= self.expires:
            return Certification.EXPIRED
        return Certification.VALID

    def threshold(self, verdict: Verdict) -> float | None:
        """The certified threshold of a verdict; ``None``: any confidence."""
        return self.pass_at if verdict is Verdict.PASS else self.fail_at

    def to_dict(self) -> dict[str, Any]:
        """It as plain values for JSON or YAML."""
        plain: dict[str, Any] = {each.name: getattr(self, each.name) for each in fields(self)}
        return plain | {
            "issued": self.issued.isoformat(),
            "expires": self.expires.isoformat(),
            "settles": sorted(verdict.value for verdict in self.settles),
            "after": None if self.after is None else list(self.after),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], place: str = "certificate") -> Certificate:
        """Read what ``to_dict`` wrote. A key nobody knows is refused.

        Args:
            data: The plain values; a date may be a date or ISO text.
            place: Where they stand; it begins the message.

        Raises:
            ConfigurationError: they are no certificate. The message names the key and the mend.
        """
        if not isinstance(data, Mapping):
            raise ConfigurationError(f"{place} is {type(data).__name__}: it must be a mapping")
        allowed = [each.name for each in fields(cls)]
        for key in data:
            if key not in allowed:
                raise ConfigurationError(
                    f"{place}.{key!s:.40} is not a known key: allowed are {', '.join(allowed)}"
                )
        for key in allowed[:5]:
            if key not in data:
                raise ConfigurationError(f"{place}.{key} is missing: every certificate has it")
        read = {key: _READ[key](data[key], f"{place}.{key}") for key in data}
        try:
            return cls(**read)
        except ConfigurationError as error:
            raise ConfigurationError(f"{place}{str(error).removeprefix('certificate')}") from None


def _number(value: Any, place: str) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    raise ConfigurationError(f"{place} is not a number: write one between 0 and 1")


def _threshold(value: Any, place: str) -> float | None:
    return None if value is None else _number(value, place)


def _text(value: Any, place: str) -> str:
    if isinstance(value, str):
        return value
    raise ConfigurationError(f"{place} is {type(value).__name__}: it must be text, in quotes")


def _optional_text(value: Any, place: str) -> str | None:
    return None if value is None else _text(value, place)


def _date(value: Any, place: str) -> date:
    if isinstance(value, date) and not isinstance(value, datetime):  # YAML reads a bare one as such
        return value
    try:
        return date.fromisoformat(value)
    except (TypeError, ValueError):
        raise ConfigurationError(f"{place} is no date: write it as YYYY-MM-DD") from None


def _count(value: Any, place: str) -> int | None:
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 0):
        return value
    raise ConfigurationError(f"{place} is not a count: write a whole number from 0 up")


def _verdicts(value: Any, place: str) -> frozenset[Verdict]:
    if isinstance(value, list | tuple) and all(each in ("pass", "fail") for each in value):
        return frozenset(map(Verdict, value))
    raise ConfigurationError(f"{place} must be a list: allowed in it are pass, fail")


def _texts(value: Any, place: str) -> tuple[str, ...] | None:
    if value is None or (
        isinstance(value, list | tuple) and all(isinstance(each, str) for each in value)
    ):
        return None if value is None else tuple(value)
    raise ConfigurationError(f"{place} must be a list of texts, or null where it is not known")


_READ: Final[dict[str, Callable[[Any, str], Any]]] = {
    "fingerprint": _text,
    "alpha": _number,
    "delta": _number,
    "issued": _date,
    "expires": _date,
    "settles": _verdicts,
    "pass_at": _threshold,
    "fail_at": _threshold,
    "stage": _text,
    "stratum": _optional_text,
    "dataset": _text,
    "n": _count,
    "after": _texts,
}
