"""Hold any function's answer back with one decorator. It can repair, since it takes `repair`.

The answers are scripted: no key, no network. Run it with: python examples/decorator.py
"""

from aucert_otel import Cascade, HandedToPerson, Harness, Passage, RepairRequest, verified
from aucert_verifiers.rules import CitesOnlyReturned, NumbersAppear, Rules


harness = Harness(Cascade("support", [Rules(CitesOnlyReturned(), NumbersAppear())]))
PASSAGES = [Passage("Damage must be reported within 48 hours of delivery.", id="305")]


@verified(harness, question="question", evidence="passages", otherwise=HandedToPerson)
def answer(question: str, passages: list[Passage], repair: RepairRequest | None = None) -> str:
    """Answer a customer. Your model goes here; this is a script."""
    print("  asked:", question)
    if repair is None:
        return "You can report damage within 48 hours of delivery (article 212)."
    for failure in repair.failed:
        print("  asked to mend:", failure.claim)
        print("  because:      ", "; ".join(fact.text for fact in failure.evidence))
    return f"You can report damage within 48 hours of delivery (article {passages[0].id})."


@verified(harness, evidence="passages", otherwise=HandedToPerson)
def stubborn(passages: list[Passage]) -> str:
    """An answer that nobody can ask again: it takes no `repair`."""
    return f"You have 30 days (article {passages[0].id})."


print("Scripted answers; no model is called.")
print("a wrong citation:")
print("  customer:", answer("Half the roses are brown.", PASSAGES))

print("a wrong number:")
try:
    stubborn(PASSAGES)
except HandedToPerson as handed:
    print(" ", handed)
    for finding in handed.outcome.report.failed:
        print(f"  {finding.criterion}: {finding.why}")
