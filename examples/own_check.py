"""Two checks of your own: one on the caller's thread, and a judge that waits and may be down.

The judge is a script: no key, no network. Run it with: python examples/own_check.py
"""

from aucert_otel import (
    Estimate,
    Evidence,
    Finding,
    Generation,
    Harness,
    Reason,
    Stage,
    StageReport,
    Unavailable,
    Verdict,
)


def no_promises(generation: Generation) -> Finding:
    """It fails with the sentence at fault and the fact against it."""
    if "guarantee" not in generation.output.lower():
        return Finding("no_promises", Verdict.PASS, score=1.0)
    fact = Evidence("we never guarantee a delivery time", origin="rule")
    said, why = generation.output, Reason.FORBIDDEN
    return Finding("no_promises", Verdict.FAIL, score=0.0, claim=said, evidence=(fact,), reason=why)


class Tone:
    """A judge. It raises when it cannot judge: that is a status, never a verdict."""

    name = "tone"
    fingerprint = "tone prompt 1, scripted judge"

    async def verify(self, generation: Generation) -> StageReport:
        """Ask the judge. Your call goes here; this is a script."""
        if "down" in (generation.question or ""):
            raise Unavailable("the judge's endpoint answers 503")
        return StageReport(
            (Finding("friendly", Verdict.PASS, score=0.97),), cost_usd=0.0004, calls=1
        )


veto = Stage(no_promises, settles={"fail"})  # what passes it goes on to the judge
judge = Stage(Tone(), estimate=Estimate(usd=0.0005, seconds=2.0))
harness = Harness([veto, judge])

print("A scripted judge; no model is called.")
for question, output in (
    ("When will it come?", "Usually tomorrow."),
    ("When will it come?", "We guarantee tomorrow."),
    ("When will it come? (the judge is down)", "Usually tomorrow."),
):
    outcome = harness.verify(Generation(output, question=question))
    stages = ", ".join(f"{each.stage} {each.status}" for each in outcome.report.stages)
    print(f"{output:<24} {outcome.report.verdict} -> {outcome.action} ({stages})")
