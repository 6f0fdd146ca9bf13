"""What a harness is built from, taken in the shapes people give it, or refused in one sentence."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from aucert_otel.background import worker
from aucert_otel.cascade import Cascade
from aucert_otel.errors import ConfigurationError
from aucert_otel.generation import Generation
from aucert_otel.stage import Stage
from aucert_otel.verifier import Verifier, VerifierFunction


if TYPE_CHECKING:
    from aucert_otel.audit import AuditSink, AuditWriter

Check: TypeAlias = Stage | Verifier | VerifierFunction
G = TypeVar("G")


def cascade_of(name: str, given: Cascade | Check | Iterable[Check]) -> Cascade:
    """A cascade, or one made of the checks that were given."""
    if isinstance(given, Cascade):
        return given
    if isinstance(given, str):
        raise ConfigurationError(
            f"Harness({given!r}): give a Cascade, or the checks themselves; a cascade of a settings file "
            "comes from aucert_otel.config.load(path).harness()"
        )
    if isinstance(given, (Stage, Verifier)) or callable(given):
        return Cascade(name, [given])
    return Cascade(name, given)


def given_or_default(name: str, value: G | None, kind: type[G]) -> G:
    """A setting, or its default; what is of another kind is refused here and not on some answer."""
    if value is None:
        return kind()
    if not isinstance(value, kind):
        raise ConfigurationError(
            f"Harness({name}={value!r}): give a {kind.__name__}(...), such as {_EXAMPLES[name]}"
        )
    return value


_EXAMPLES = {
    "policy": "Policy(fail_open=True)",
    "budget": "Budget(usd=0.02, seconds=5)",
    "sampling": "Sampling(rate=0.1)",
}


def check_generation(generation: object) -> None:
    """Refuse what is no generation.

    Raises:
        TypeError: it is not.
    """
    if not isinstance(generation, Generation):
        raise TypeError(
            f"an answer is given as a Generation, not as {type(generation).__name__}: "
            "Generation(text, question=..., evidence=[Passage(...)])"
        )


def writer_of(audit: AuditSink | AuditWriter | str) -> AuditWriter:
    """The writer of an audit log, however it was given."""
    from aucert_otel.audit import AuditWriter, open_sink

    if isinstance(audit, str):
        audit = open_sink(audit)
    if not hasattr(audit, "append") and not isinstance(audit, AuditWriter):
        raise ConfigurationError(
            f"Harness(audit={type(audit).__name__}): give a sink, a writer, or a URL such as "
            "'sqlite:///aucert.db'"
        )
    return audit if isinstance(audit, AuditWriter) else AuditWriter(audit, on_drop=_count_drop)


def _count_drop(reason: str, count: int) -> None:
    """Audit records that were lost show where lost verifications do: in the worker's own metric."""
    worker().dropped[f"audit_{reason}"] += count
