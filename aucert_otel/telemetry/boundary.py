"""The one masking boundary: every text passes here before it leaves for a span, event, log or audit.

Two kinds of text cross it. *Content* (the answer, claims, evidence, explanations that may quote
them) leaves only where content capture is on. *Labels* (names, reasons, error classes) always
leave. Both are stripped of secrets, passed through the user's own mask, and cut to a bounded size.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aucert_otel.telemetry import names
from aucert_otel.telemetry.secret_forms import REDACTED as REDACTED  # noqa: PLC0414 - exported again
from aucert_otel.telemetry.secrets import redact


Mask = Callable[[str], str]
AttributeValue = str | bool | int | float | Sequence[str]

MAX_CONTENT_CHARS = 8192
MAX_LABEL_CHARS = 256
MAX_ITEMS = 64
_SECRET_CHARS = 512
"""Longer than whatever has to be seen of a secret to know it."""


@dataclass(frozen=True, slots=True)
class Boundary:
    """What may leave, and in what shape.

    Args:
        capture_content: Whether content leaves at all.
        mask: The user's own rewriting of every text, applied after the built-in removal of
            secrets in known forms. If it raises, the text is withheld: a broken mask must not leak.
    """

    capture_content: bool = False
    mask: Mask | None = None
    max_content_chars: int = MAX_CONTENT_CHARS

    def content(self, text: str) -> str | None:
        """Content as it may leave; ``None`` where capture is off."""
        return self._clean(text, self.max_content_chars) if self.capture_content else None

    def label(self, text: str) -> str:
        """A name, reason or error as it may leave."""
        return self._clean(text, MAX_LABEL_CHARS)

    def _clean(self, text: object, limit: int) -> str:
        if not isinstance(text, str):
            # A check's names are text by contract only; another object's str() is a user's code.
            return f"[{type(text).__name__}]"
        length = str.__len__(text)
        # Cut first, since masking costs by length and the text may be hostile; but further out, and
        # once more after it: of a secret that the first cut goes through nothing may remain.
        beyond = length > limit + _SECRET_CHARS
        # The built-in methods, since those of a subclass are a user's code.
        text = str.__getitem__(text, slice(limit + _SECRET_CHARS))
        text = redact(str.__str__(text), _SECRET_CHARS if beyond else 0)
        if self.mask is not None:
            try:
                masked: object = self.mask(text)
            except (KeyboardInterrupt, SystemExit):
                raise
            except BaseException:  # noqa: BLE001 - the user's function: withhold rather than leak
                return REDACTED
            if not isinstance(masked, str):
                return REDACTED
            text = str.__str__(masked)
        if len(text) > limit or beyond:
            text = text[: limit - 1] + "…"
        # Lone surrogates cannot be encoded as UTF-8, and one of them would lose a whole batch.
        return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def capture_from_environment() -> bool:
    """Whether ``OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT`` switches content on."""
    value = os.environ.get(names.ENV_CAPTURE_CONTENT, "").strip().lower()
    return value in {"true", "1", "span_only", "event_only", "span_and_event"}


def clean_attributes(attributes: Mapping[str, Any]) -> dict[str, AttributeValue]:
    """Keep what OpenTelemetry can carry.

    ``None`` and the clients' own "not given" sentinels are dropped, so that an option nobody set
    never shows as a value; other objects are dropped too and never converted with ``str``, which
    could run a user's code or print a secret.
    """
    cleaned: dict[str, AttributeValue] = {}
    for key, value in attributes.items():
        if isinstance(value, (str, bool, int, float)):
            cleaned[key] = value
        elif isinstance(value, (tuple, list)) and value and all(isinstance(v, str) for v in value):
            cleaned[key] = list(value[:MAX_ITEMS])
    return cleaned
