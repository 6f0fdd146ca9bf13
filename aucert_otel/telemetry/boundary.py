"""The one masking boundary: every text passes here before it leaves for a span, event, log or audit.

Two kinds of text cross it. *Content* (the answer, claims, evidence, explanations that may quote
them) leaves only where content capture is on. *Labels* (names, reasons, error classes) always
leave. Both are stripped of secrets, passed through the user's own mask, and cut to a bounded size.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aucert_otel.telemetry import names


Mask = Callable[[str], str]
AttributeValue = str | bool | int | float | Sequence[str]

MAX_CONTENT_CHARS = 8192
MAX_LABEL_CHARS = 256
MAX_ITEMS = 64
_SECRET_CHARS = 512
"""Longer than whatever a pattern below needs to see of a secret."""

_SECRETS = re.compile(
    r"""(?ix)
    \b(?:sk|pk|rk)-[a-z0-9_-]{16,}                 # OpenAI, Anthropic, Stripe and their like
  | \b(?:gh[pousr]|github_pat)_[a-z0-9_]{20,}
  | \bxox[abprs]-[a-z0-9-]{10,}
  | \bAKIA[0-9A-Z]{16}\b
  | \bAIza[0-9A-Za-z_-]{30,}
  | \beyJ[a-z0-9_-]{8,}(?:\.[a-z0-9_-]*){0,2}           # a JSON web token, cut short or whole
  | (?<=bearer\s)[^\s"',;]{8,}
  | (?<=://)[^\s/:@]{1,128}:[^\s/@]{1,128}(?=@)          # user:password in a URL
  | (?P<key>(?:api[_-]?key|passw(?:or)?d|secret|access[_-]token)["']?\s{0,3}[=:]\s{0,3}["']?)
    [^\s"',;&]{4,}                                       # what follows such a name, in code or JSON
    """
)
REDACTED = "[redacted]"
_REPLACEMENT = rf"\g<key>{REDACTED}"


@dataclass(frozen=True, slots=True)
class Boundary:
    """What may leave, and in what shape.

    Args:
        capture_content: Whether content leaves at all.
        mask: The user's own rewriting of every text, applied after the built-in removal of
            secrets. If it raises, the text is withheld: a broken mask must not leak.
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
        length = len(text)
        # Cut first, since masking costs by length and the text may be hostile; but further out, and
        # once more after it: of a secret that the first cut goes through nothing may remain.
        text = _SECRETS.sub(_REPLACEMENT, text[: limit + _SECRET_CHARS])
        if length > limit + _SECRET_CHARS:
            text = text[:-_SECRET_CHARS]
        if self.mask is not None:
            try:
                masked: object = self.mask(text)
            except Exception:  # noqa: BLE001 - the user's function: withhold rather than leak
                return REDACTED
            if not isinstance(masked, str):
                return REDACTED
            text = masked
        if len(text) > limit or length > limit + _SECRET_CHARS:
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
