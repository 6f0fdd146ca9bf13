"""The flower company's articles and replies, as the tests of several rooms use them."""

from __future__ import annotations

from typing import Any

from aucert_otel.generation import Generation, Passage


DELIVERY = Passage("Standard delivery takes 3 to 5 days and costs $4.99.", id="118")
CARE = Passage("Roses keep for 7 days in water that is changed every 48 hours.", id="140")
DAMAGE = Passage(
    "Customers have 30 days to request a refund. Damage must be reported within 48 hours of "
    "delivery for a replacement.",
    id="305",
    version="3",
)

MARCH_REPLY = (
    "I'm sorry your flowers arrived in that condition. Our policy gives you 30 days to report "
    "damage, so you're well within the window. Reply here with a photo of the arrangement and "
    "we'll get a replacement sent out."
)


def reply(output: str, *evidence: Passage, **options: Any) -> Generation:
    """A reply to the passages that search returned; none given means the two on delivery and care."""
    return Generation(output, evidence=evidence or (DELIVERY, CARE), **options)
