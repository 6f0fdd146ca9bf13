"""The one seam a check implements, and where checks are found by name."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

from aucert_otel.errors import ConfigurationError
from aucert_otel.generation import Generation
from aucert_otel.report import StageReport
from aucert_otel.verdict import Finding


ENTRY_POINT_GROUP = "aucert_otel.verifiers"
"""Third parties register verifiers under this group; ours use it the same way."""

Found: TypeAlias = Finding | Iterable[Finding] | StageReport
"""What a verifier may return: one finding, several, or a whole stage report (costs, transcript)."""


@runtime_checkable
class Verifier(Protocol):
    """A check: reads a finished generation, returns what it found.

    ``verify`` may be a plain function or a coroutine function. A plain one runs on the caller's
    own thread and must return in microseconds; set ``blocking = True`` on a verifier whose plain
    ``verify`` computes or waits longer, and it runs on a worker thread. A coroutine function runs
    on the SDK's own event loop, so one implementation serves synchronous and asynchronous callers.

    A verifier that raises did not run: it becomes a status, never a verdict. Two optional
    attributes: ``blocking`` as above, and ``fingerprint``, a string that changes whenever the check
    does (judge, prompt, rubric), to which a certificate is bound. Two optional methods, for which
    there are protocols: `Follows` and `Judges`.
    """

    @property
    def name(self) -> str:
        """The check's name, in the field's own words."""
        ...

    def verify(self, generation: Generation, /) -> Found | Awaitable[Found]:
        """Check one finished generation."""
        ...


@runtime_checkable
class Follows(Verifier, Protocol):
    """A verifier that waits and goes by what the stages before it found, such as a stronger judge.

    In a cascade its ``verify_after`` is called instead of ``verify``, and runs like it: a coroutine
    function on the SDK's loop, a plain one on a worker thread. A check on the caller's own thread
    is never handed anything: looking for it would cost every answer.
    """

    def verify_after(
        self, generation: Generation, earlier: tuple[Finding, ...], /
    ) -> Found | Awaitable[Found]:
        """Check one finished generation.

        Args:
            generation: What is checked.
            earlier: The findings that stand so far: for every criterion those of the latest stage
                that judged it.
        """
        ...


@runtime_checkable
class Judges(Verifier, Protocol):
    """A verifier that waits and asks a model for its judgement.

    A strict cascade asks it before the stage begins, and refuses a judge that is not neutral. The
    verifier itself says in its `StageReport` whether it was.
    """

    def neutral_to(self, generation: Generation, /) -> bool:
        """Whether no judge is known, or could be, of the family that wrote this answer."""
        ...


VerifierFunction: TypeAlias = Callable[[Generation], Found | Awaitable[Found]]


class Unavailable(Exception):  # noqa: N818 - names a state of the world, not a bug
    """Raised by a verifier whose judge, model or service cannot be reached."""


class Refused(Exception):  # noqa: N818 - same
    """Raised by a verifier whose judge declined to judge."""


class OverBudget(Exception):  # noqa: N818 - same
    """Raised by a verifier that stopped because the money or the time was spent."""


@dataclass(frozen=True, slots=True)
class FunctionVerifier:
    """A plain function as a verifier."""

    name: str
    verify: VerifierFunction
    blocking: bool = False


def as_verifier(check: Verifier | VerifierFunction) -> Verifier:
    """Take a verifier as it is, and wrap a bare function under its own name.

    Raises:
        ConfigurationError: it is neither.
    """
    if isinstance(check, type):  # it has the methods of a verifier, but nobody to call them on
        raise ConfigurationError(
            f"{check.__name__} is a class, not a verifier: make one with {check.__name__}(...)"
        )
    if isinstance(check, Verifier):
        return check
    if callable(check):
        return FunctionVerifier(getattr(check, "__name__", type(check).__name__), check)
    raise ConfigurationError(
        f"{check!r} is not a verifier: give it a name and a verify(generation) method, or pass a function"
    )


def waits(verifier: Verifier) -> bool:
    """Whether a verifier must leave the caller's thread: it is asynchronous, or says it blocks."""
    return bool(getattr(verifier, "blocking", False)) or is_async(verifier.verify)


def is_async(function: Callable[..., object]) -> bool:
    """Whether calling it gives a coroutine: a coroutine function, or an object that calls like one."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - its kind is asked for, not whether it is there
    )


def load_verifier(name: str, **options: Any) -> Verifier:
    """Build a registered verifier from its options.

    Raises:
        ConfigurationError: no verifier has that name, two packages claim it, it cannot be
            imported, or its options do not fit.
    """
    from importlib.metadata import entry_points

    found = entry_points(group=ENTRY_POINT_GROUP, name=name)
    if not found:
        known = ", ".join(sorted({entry.name for entry in entry_points(group=ENTRY_POINT_GROUP)}))
        raise ConfigurationError(
            f"no verifier is called {name!r}: known are {known or 'none'} "
            f"(a package registers one under the entry point group {ENTRY_POINT_GROUP!r})"
        )
    if len({entry.value for entry in found}) > 1:
        packages = sorted({entry.dist.name if entry.dist else entry.value for entry in found})
        raise ConfigurationError(
            f"two packages register a verifier called {name!r}: {', '.join(packages)}; uninstall one"
        )
    entry = next(iter(found))
    try:
        factory = entry.load()
    except (ImportError, AttributeError) as error:
        raise ConfigurationError(
            f"verifier {name!r} cannot be imported from {entry.value!r}: {error}"
        ) from error
    try:
        return as_verifier(factory(**options))
    except TypeError as error:
        raise ConfigurationError(
            f"verifier {name!r} does not take these options: {error}"
        ) from error
