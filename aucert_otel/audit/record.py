"""The audit record: everything one verification decided, in a form that lasts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, Protocol, TypeAlias

from aucert_otel._version import __version__
from aucert_otel.audit.canonical import canonical_json, plain
from aucert_otel.telemetry.secrets import redact


SCHEMA_VERSION = 1
"""Rises when a field changes its meaning; new fields alone do not raise it."""

Mode: TypeAlias = Literal["inline", "sampled", "check"]
"""How the verification came about: in the caller's way, in the background, or from the command line."""


class Boundary(Protocol):
    """What may leave the process. Every text in a record passes through it."""

    def content(self, text: str) -> str | None:
        """Mask and truncate text of the application; ``None`` when content capture is off."""
        ...

    def label(self, text: str) -> str:
        """Mask and truncate text that is not content: names, errors, our own sentences."""
        ...


class ContentOff:
    """The boundary used when none is given: no content at all; labels without secrets, and cut."""

    def content(self, text: str) -> str | None:  # noqa: ARG002 - the protocol's signature
        """Nothing leaves."""
        return None

    def label(self, text: str) -> str:
        """Without secrets, and cut to 1,024 characters."""
        text = redact(text)
        return text if len(text) <= 1024 else text[:1023] + "…"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRecord:
    """One verification decision. The first nine fields are the specification's record.

    A field that is ``None`` was unknown or did not apply; unknown is never written as zero.
    """

    test_id: str
    scenario_id: str | None
    stage_reached: int
    """The last stage that was started, counted from 1; 0 if none was."""
    confidence_scores: tuple[float, ...]
    """The confidence of every stage that gave one, in the order they ran, each in [0, 1]."""
    decision: str
    """``pass``, ``fail`` or ``unclear``."""
    reasoning: str
    """Our own sentence; it never quotes the answer."""
    cost_usd: float | None
    """US dollars the verification cost. The same as ``verification_usd``."""
    latency_ms: float | None
    """Milliseconds the verification took, to the microsecond."""
    timestamp: str
    """When it was decided: RFC 3339 in UTC, ending in ``Z``."""

    stage: str
    """The name of the stage reached."""
    action: str | None = None
    """``ship``, ``repair``, ``escalate`` or ``person``; ``None`` where nobody acted."""
    action_row: str | None = None
    """The row of the action table that matched."""
    findings: tuple[Mapping[str, Any], ...] = ()
    """The findings that stand. Content in them is ``None`` while content capture is off."""
    stages: tuple[Mapping[str, Any], ...] = ()
    transcript: tuple[Mapping[str, Any], ...] = ()
    """A debate as it was said: ``speaker``, ``round``, ``text``."""
    verification_usd: float | None = None
    generation_usd: float | None = None
    repair_usd: float | None = None
    total_usd: float | None = None
    unpriced: tuple[str, ...] = ()
    """What could not be priced, by name."""
    cascade: str = ""
    cascade_version: str = ""
    certified: bool = False
    tenant: str | None = None
    model: str | None = None
    trace_id: str | None = None
    """32 hex digits."""
    span_id: str | None = None
    """16 hex digits."""
    sampling_probability: float | None = None
    """The probability with which this generation was chosen to be verified."""
    mode: Mode = "inline"
    repair: Mapping[str, Any] | None = None
    """``outcome``, and under ``records`` the failures the request carried."""
    drafts: tuple[Mapping[str, Any], ...] = ()
    """``output`` and ``verdict`` of each draft; empty while content capture is off."""
    schema_version: int = SCHEMA_VERSION
    sdk_version: str = __version__

    def to_dict(self) -> dict[str, Any]:
        """The record as plain JSON values.

        Raises:
            ValueError: a number is NaN or infinite.
            TypeError: a value JSON does not have.
        """
        return {field.name: plain(getattr(self, field.name)) for field in fields(self)}

    def to_json(self) -> str:
        """The record as one line of canonical JSON: the same record is always the same bytes.

        Raises:
            ValueError: a number is NaN or infinite.
            TypeError: a value JSON does not have.
        """
        return canonical_json({field.name: getattr(self, field.name) for field in fields(self)})
