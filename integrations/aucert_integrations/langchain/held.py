"""Who is verifying already, as the core knows it."""

from __future__ import annotations

from aucert_otel.once import held, looked_after


__all__ = ["held", "looked_after"]
