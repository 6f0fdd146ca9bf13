"""What the documentation points to exists: pages, headings, files, commands, extras and settings."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import pytest
import yaml
from support.pages import (
    ADRS,
    DOCS,
    PAGES,
    ROOT,
    Program,
    fences,
    name_in,
    programs,
    prose,
    rows,
    section,
    text_of,
    ticked,
)

from aucert_otel.config import models, parse_config


EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"][
    "optional-dependencies"
]


def name(page: Path) -> str:
    return page.name


def anchors(text: str) -> set[str]:
    """The headings of a page, as mkdocs makes anchors of them."""
    headings = re.findall(r"^#+ (.*)$", prose(text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h).strip().lower().replace(" ", "-") for h in headings}


@pytest.mark.parametrize("page", [*PAGES, *ADRS], ids=name)
def test_every_link_leads_to_a_page_and_a_heading(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(text_of(page))):
        assert not target.startswith("http"), f"{target}: the documentation stands alone"
        path, _, anchor = target.partition("#")
        found = (page.parent / path).resolve() if path else page
        assert found.is_file(), target
        assert DOCS in found.parents, f"{target} is not a page"
        assert not anchor or anchor in anchors(text_of(found)), target


def test_the_navigation_lists_every_page_once():
    settings = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))

    def listed(entry):
        if isinstance(entry, str):
            return [entry]
        items = entry.values() if isinstance(entry, dict) else entry
        return [page for item in items for page in listed(item)]

    here = [page.relative_to(DOCS).as_posix() for page in [*PAGES, *ADRS]]
    assert sorted(listed(settings["nav"])) == sorted(here)


def commands() -> list[tuple[str, str]]:
    return [
        (page.name, line[2:])
        for page in PAGES
        for block in fences(text_of(page), "console")
        for line in block.splitlines()
        if line.startswith("$ ")
    ]


@pytest.mark.parametrize(("page", "line"), commands())
def test_every_command_that_a_page_shows_can_be_given(page, line):
    words = shlex.split(line)
    if words[0] == "aucert":
        parse(words[1:])
    elif words[0] == "make":
        assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    elif words[:2] == ["pip", "install"]:
        assert extras_in(words[2]) <= EXTRAS.keys()
    else:
        assert words[0] in {"export", "python"}, line


def parse(words: list[str]) -> None:
    """Read a command line as the command itself would, and stop before it runs."""
    import typer.main

    from aucert_otel.cli.app import build

    command = typer.main.get_command(build())
    if words == ["--help"]:
        return
    while hasattr(command, "commands"):
        command = command.commands[words.pop(0)]
    command.make_context("aucert", words)


def extras_in(requirement: str) -> set[str]:
    found = re.search(r"\[(.*?)\]", requirement)
    return set(found[1].split(",")) if found else set()


def test_every_extra_is_described_and_every_extra_a_page_names_exists():
    table = {
        name_in(row[0]) for row in rows(section(text_of(DOCS / "support.md"), "## Extras"))[1:]
    }
    assert table == EXTRAS.keys(), "support.md has a row for each extra"

    for page in PAGES:
        text = text_of(page)
        named = set(re.findall(r"extra[s]?,? `([a-z-]+)`", text))
        named |= {
            e for found in re.findall(r"aucert-otel(\[[a-z,-]+\])", text) for e in extras_in(found)
        }
        assert named <= EXTRAS.keys(), page.name


def test_the_shown_run_of_check_is_what_it_prints(tmp_path):
    import subprocess
    import sys

    (shown,) = [b for b in fences(text_of(DOCS / "cli.md"), "console") if "settings:" in b]
    first, _, said = shown.partition("\n")
    main = "import sys; from aucert_otel.cli import main; sys.argv[0] = 'aucert'; main()"
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    done = subprocess.run(
        [sys.executable, "-c", main, *shlex.split(first)[2:]],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr + done.stdout == said


def test_every_key_of_the_settings_is_described_and_the_shown_file_works():
    text = section(text_of(DOCS / "cli.md"), "## `aucert.yaml`")
    (shown,) = fences(text, "yaml")
    assert parse_config(shown).tenants.keys() == {"default", "acme"}

    described = {part for tick in ticked(text) for part in re.split(r"[.\[\]]+", tick)}
    shipped_as_data = {models.PresetModel, models.ParameterModel}
    kinds = [
        kind
        for kind in vars(models).values()
        if isinstance(kind, type) and issubclass(kind, models.BaseModel)
    ]
    for kind in {*kinds} - shipped_as_data:
        assert kind.model_fields.keys() <= described, kind.__name__


def test_every_key_of_an_input_row_is_described_and_the_shown_row_can_be_read():
    import json

    from aucert_otel.rows import read_row
    from aucert_otel.rows.models import PARTS, RowModel

    text = section(text_of(DOCS / "cli.md"), "### An input row")
    (shown,) = fences(text, "json")
    row = read_row(json.loads(shown))
    assert row.unknown == ()
    assert row.gold == "pass"

    for model in (RowModel, *PARTS.values()):
        assert model.model_fields.keys() <= ticked(text)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_file_of_settings_that_a_page_shows_is_accepted(page, monkeypatch):
    for shown in fences(text_of(page), "yaml"):
        if "my_shop" in shown or "verifier: tone" in shown:
            continue  # code that the reader is about to write
        assert parse_config(shown).cascades


def test_every_program_is_found():
    found: list[Program] = [program for page in PAGES for program in programs(page)]
    assert sum(len(program.blocks) for program in found) == sum(
        len(fences(text_of(page), "python")) for page in PAGES
    )
