"""What a played scenario looks like on a screen of 80 columns, with or without a terminal."""

from __future__ import annotations

from typing import Any, Final

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from aucert_integrations.demo.models import PRICES_AS_OF, without_password
from aucert_integrations.demo.play import Played, Stage, shape
from aucert_otel import Draft, Verdict
from aucert_otel.cli.screen import safe, usd
from aucert_otel.telemetry import names


_STYLES: Final = {
    "pass": "green",
    "ship": "green",
    "fail": "red",
    "person": "red",
    "unclear": "yellow",
    "repair": "yellow",
    "escalate": "yellow",
}
_SAID: Final = {
    "ship": "ships",
    "person": "goes to a person",
    "repair": "is asked once to repair it",
    "escalate": "goes to a stronger model",
}


def head(console: Console, stage: Stage) -> None:
    """What this is, what in it is real, and where the spans go."""
    console.print(safe("aucert demo: a flower company's support chain, verified", "bold"))
    if stage.live is None:
        said = (
            "Scripted drafts; no model is called and no key is needed. The company is invented. The "
            "LangChain chain, its retriever, the rules, the repair and the spans are real."
        )
    else:
        said = (
            "A live model writes the replies, so they may differ from what a scenario is about. The "
            "company is invented; the chain, its retriever, the rules and the spans are real."
        )
    console.print(safe(said, "dim"))
    if stage.endpoint:
        console.print(
            safe(f"Spans also go over OTLP to {without_password(stage.endpoint)}.", "dim")
        )


def story(console: Console, played: Played) -> None:
    """One scenario: ticket, search, drafts and verdicts, what was done, what the customer gets."""
    scenario, outcome = played.scenario, played.outcome
    console.print()
    console.print(safe(f"{scenario.name}: {scenario.title}", "bold"))
    console.print()
    rows = Table.grid(padding=(0, 2))
    rows.add_column(style="cyan", no_wrap=True, min_width=9)
    rows.add_column(ratio=1)
    rows.add_row("ticket", safe(scenario.question))
    found = outcome.generation.evidence or ()
    rows.add_row("search", safe("\n".join(_article(passage) for passage in found) or "nothing"))
    for number, draft in enumerate(outcome.drafts, 1):
        if number > 1 and outcome.repair is not None:
            rows.add_row("repair", safe(_asked(outcome.drafts[0])))
        rows.add_row(f"draft {number}", safe(draft.generation.output.strip()))
        rows.add_row("verdict", _verdict(draft))
    action = outcome.action.value
    said = Text.assemble((action.upper(), _STYLES[action]), safe(f"  {outcome.decision.why}"))
    rows.add_row("action", said)
    rows.add_row("customer", safe(f"gets: {played.answer.strip()}"))
    console.print(rows)
    if scenario.note:
        console.print(Padding(safe(f"Mind: {scenario.note}", "yellow"), (1, 0, 0, 0)))


def _article(passage: Any) -> str:
    title = passage.metadata.get("title", "")
    return f"article {passage.id}  {title} (version {passage.version})"


def _asked(draft: Draft) -> str:
    failed = draft.report.failed
    if draft.generation.finish_reason == "length":
        return "asked once more, with twice the token ceiling"
    facts = "; ".join(dict.fromkeys(e.text for f in failed for e in f.evidence))
    return f"asked once to change only that claim, because {facts}"


def _verdict(draft: Draft) -> Text:
    report = draft.report
    verdict = report.verdict.value
    criteria = {finding.criterion: finding for finding in report.findings}
    said = Text(verdict.upper(), style=_STYLES[verdict])
    if report.verdict is Verdict.PASS:
        return said.append_text(safe(f"  all {len(criteria)} rules hold"))
    for finding in (*report.failed, *report.unclear):
        reason = "" if finding.reason is None else f" ({finding.reason.value})"
        said.append_text(safe(f"  {finding.criterion}{reason}: {finding.why}"))
    return said


def spans(console: Console, played: Played) -> None:
    """The span tree as an exporter received it."""
    ordered = shape(played.spans)
    if not ordered:
        console.print(safe("\nNo span was exported: tracing is switched off."))
        return
    trace_id = f"{ordered[0][1].context.trace_id:032x}"
    console.print()
    root = Tree(safe(f"trace {trace_id}, as it was exported", "bold"), guide_style="dim")
    above = [root]
    for depth, span in ordered:
        node = above[depth].add(_span(span))
        del above[depth + 1 :]
        above.append(node)
    console.print(root)
    console.print(
        safe(
            f"Drafts: tokens at the company's own prices of {PRICES_AS_OF}. Rules cost nothing."
            if played.outcome.costs.generation is not None
            else "Drafts: unknown, nobody priced this model. Rules cost nothing.",
            "dim",
        )
    )


def _span(span: Any) -> Text:
    attributes = span.attributes or {}
    milliseconds = (span.end_time - span.start_time) / 1e6
    text = safe(span.name, "bold").append_text(safe(f"  {milliseconds:.2f} ms", "dim"))
    line = Text()
    for key, label in (
        (names.VERDICT, "verdict"),
        (names.ACTION, "action"),
        (names.CONFIDENCE, "confidence"),
        (names.REPAIR_OUTCOME, "repair"),
    ):
        if key in attributes:
            value = attributes[key]
            shown = f"{value:.2f}" if isinstance(value, float) else str(value)
            line.append_text(safe(f"{label} ", "dim"))
            line.append_text(safe(f"{shown}  ", _STYLES.get(shown, "")))
    if line:
        line.rstrip()
        text.append("\n").append_text(line)
    if names.COST_USD in attributes:
        checks = usd(attributes[names.COST_USD])
        total = usd(attributes.get(names.COST_TOTAL_USD))
        text.append("\n").append_text(
            safe(f"cost of checks {checks}, with the drafts {total}", "dim")
        )
    for event in span.events:
        text.append("\n").append_text(safe(f"event {_event(event)}", "dim"))
    return text


def _event(event: Any) -> str:
    attributes = event.attributes or {}
    name = attributes.get(names.EVALUATION_NAME, "")
    label = attributes.get(names.EVALUATION_LABEL, "")
    reason = attributes.get(names.FINDING_REASON)
    return f"{event.name} {name}={label}" + (f" ({reason})" if reason else "")


def briefly(console: Console, others: list[Played]) -> None:
    """The other scenarios, a line each; they were played too."""
    console.print()
    console.print(safe("The other scenarios, played just now:", "bold"))
    rows = Table.grid(padding=(0, 2))
    rows.add_column(style="cyan", no_wrap=True)
    rows.add_column(no_wrap=True)
    rows.add_column(ratio=1)
    for played in others:
        action = played.outcome.action.value
        count = len(played.outcome.drafts)
        result = Text(_SAID[action], style=_STYLES[action])
        drafts = f" after {count} drafts" if count > 1 else ""
        rows.add_row(
            safe(played.scenario.name),
            result.append_text(safe(drafts)),
            safe(played.scenario.title),
        )
    console.print(rows)


def onward(console: Console) -> None:
    """Where to look next."""
    console.print()
    console.print(safe("Next", "bold"))
    rows = Table.grid(padding=(0, 2))
    rows.add_column(no_wrap=True)
    rows.add_column(ratio=1)
    for command, said in (
        ("aucert demo --scenario march", "what rules cannot see"),
        ("aucert demo --all", "every scenario in full"),
        ("aucert check answers.jsonl", "verify answers you have already"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT=…", "send these spans to your collector as well"),
    ):
        rows.add_row(safe(f"  {command}", "cyan"), safe(said))
    console.print(rows)
