from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from support.command import aucert

from aucert_integrations.demo.data import articles, scenario, scenarios
from aucert_integrations.demo.play import HELD_BACK, Played, Stage, shape
from aucert_integrations.demo.retriever import ArticleRetriever
from aucert_otel import Action, Verdict
from aucert_otel.telemetry import names


PLAIN = [(0, "aucert.generate support"), (1, "aucert.verify support")]
REPAIRED = [*PLAIN, (1, "aucert.repair"), (2, "aucert.verify support")]


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_ENDPOINT", raising=False)
    return Stage()


def tree(played: Played) -> list[tuple[int, str]]:
    return [(depth, span.name) for depth, span in shape(played.spans)]


def written(played: Played, *keys: str) -> list[tuple[object, ...]]:
    return [tuple(span.attributes.get(key) for key in keys) for _, span in shape(played.spans)]


@pytest.mark.parametrize("name", scenarios())
def test_a_scenario_ends_as_it_says(stage: Stage, name: str) -> None:
    played = stage.play(scenario(name))
    expected = played.scenario.expected
    assert played.outcome.action.value == expected["action"]
    assert len(played.outcome.drafts) == expected["drafts"]
    assert tree(played) == (REPAIRED if expected["drafts"] == 2 else PLAIN)
    assert played.outcome.costs.verification == 0.0
    assert played.outcome.costs.total == pytest.approx(0.0017 * expected["drafts"], rel=0.05)


def test_the_wrong_citation_is_repaired_and_ships(stage: Stage) -> None:
    played = stage.play(scenario("citation"))
    first, second = played.outcome.drafts
    assert [passage.id for passage in first.generation.evidence or ()] == ["118", "140"]
    (failed,) = first.report.failed
    assert failed.why == "the answer cites article 212, but search returned articles 118 and 140"
    assert second.report.verdict is Verdict.PASS
    assert "article 118" in played.answer
    assert written(played, names.VERDICT, names.ACTION, names.REPAIR_OUTCOME) == [
        ("pass", "ship", "passed"),
        ("fail", "repair", None),
        (None, "ship", "passed"),
        ("pass", "ship", "passed"),
    ]


def test_the_truncated_reply_is_asked_again_with_a_higher_ceiling(stage: Stage) -> None:
    first, second = stage.play(scenario("truncated")).outcome.drafts
    assert (first.generation.finish_reason, second.generation.finish_reason) == ("length", "stop")
    assert second.generation.output.startswith(first.generation.output)


def test_the_stubborn_reply_goes_to_a_person_with_both_drafts(stage: Stage) -> None:
    played = stage.play(scenario("stubborn"))
    assert (played.outcome.action, played.answer) == (Action.PERSON, HELD_BACK)
    assert [draft.report.verdict for draft in played.outcome.drafts] == [Verdict.FAIL] * 2
    assert played.outcome.repair is not None
    assert played.outcome.repair.outcome == "failed"


def test_the_march_reply_is_wrong_and_passes_every_rule(stage: Stage) -> None:
    played = stage.play(scenario("march"))
    assert [passage.id for passage in played.outcome.generation.evidence or ()] == ["305"]
    assert {finding.verdict for finding in played.outcome.report.findings} == {Verdict.PASS}
    assert "30 days to report damage" in " ".join(played.answer.split())


def test_search_is_the_same_every_time_and_brings_the_currency_of_an_article() -> None:
    search = ArticleRetriever(articles=articles())
    found = [search.invoke("My roses are brown") for _ in range(2)]
    assert found[0] == found[1]
    (best,) = search.invoke("How long do I have to ask for a refund after the delivery?")
    assert best.metadata == {
        "id": "305",
        "title": "Damage, replacements and refunds",
        "version": "3",
        "latest_version": "3",
        "effective_from": date(2025, 11, 1),
        "source_type": "policy",
    }
    assert search.invoke("xylophone") == []


def test_the_first_screen_tells_the_story_and_the_other_scenarios(tmp_path: Path) -> None:
    done = aucert("demo", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    assert all(len(line) <= 80 for line in lines)
    said = " ".join(done.stdout.split())
    for part in (
        "Scripted drafts; no model is called",
        "article 118 Changing the delivery address (version 2)",
        (
            "FAIL cited_ids (unsupported): the answer cites article 212, but search returned "
            "articles 118 and 140"
        ),
        "repair asked once to change only that claim",
        "SHIP nothing failed",
        "└── aucert.repair",
        "cost of checks $0, with the drafts $0.0034",
        "stubborn goes to a person after 2 drafts",
        "march ships",
    ):
        assert part in said
    assert "\x1b" not in done.stdout


def test_the_march_screen_says_what_rules_cannot_see(tmp_path: Path) -> None:
    done = aucert("demo", "--scenario", "march", cwd=tmp_path)
    said = " ".join(done.stdout.split())
    assert "they cannot see what a number is about" in said
    assert "(the grounding rung) and the judge will catch it" in said


def test_all_and_list(tmp_path: Path) -> None:
    listed = aucert("demo", "--list", cwd=tmp_path).stdout
    assert [line.split()[0] for line in listed.splitlines()] == list(scenarios())
    everything = aucert("demo", "--all", cwd=tmp_path)
    assert everything.returncode == 0
    assert everything.stdout.count("as it was exported") == len(scenarios())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--scenario", "x"), "there is no scenario 'x': known are citation, truncated"),
        (("--model-name", "x"), "--model-name needs --model"),
        (("--scenario", "clean", "--all"), "exclude each other"),
        (("--model", "http://u:hunter22@127.0.0.1:9/v1"), "does not answer (APIConnectionError)"),
    ],
)
def test_what_cannot_be_played_is_one_sentence(
    tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    done = aucert("demo", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert "hunter22" not in done.stderr
