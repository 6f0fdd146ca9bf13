"""The exceptions users may see, each a sentence that names the value, the place and the mend."""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from aucert_otel.outcome import Outcome


class AucertError(Exception):
    """Base of every exception this package raises on purpose."""


class ConfigurationError(AucertError):
    """A setting, preset, rule or file that cannot work as given."""


class MissingExtraError(AucertError, ImportError):
    """An optional dependency is not installed; the message says which extra brings it."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f'{feature} needs an extra: pip install "aucert-otel[{extra}]"')


class InvalidRowError(AucertError, ValueError):
    """An input row that is not a generation; the message names the field and the mend."""


class HandedToPerson(AucertError):  # noqa: N818 - an outcome the caller chose to be raised, not a fault
    """The answer may not be used and a person has to decide.

    Raised only where the caller chose raising, with ``otherwise=HandedToPerson``.
    """

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(
            f"the answer was handed to a person: {outcome.decision.why}{_open(outcome)}"
        )
        self.outcome = outcome

    def __reduce__(self) -> tuple[type[HandedToPerson], tuple[Outcome]]:
        return (type(self), (self.outcome,))


def _open(outcome: Outcome) -> str:
    """What stands open, by criterion and reason; the answer itself stays out."""
    report = outcome.report
    said = [f"{f.criterion} ({f.reason})" for f in (*report.failed, *report.unclear)]
    said += [f"{s.stage} ({s.error or s.status})" for s in report.missing]
    return f": {', '.join(dict.fromkeys(said))}" if said else ""
