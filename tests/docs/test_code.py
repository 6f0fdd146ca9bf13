"""Every Python block of the documentation runs, and prints what the page says it prints."""

from __future__ import annotations

import pytest
from support.pages import PAGES, Program, programs, text_of
from support.process import run


PROGRAMS = [program for page in PAGES for program in programs(page)]
MARK = "-- the next block --"

AROUND = {"langchain.md": "from support.pages_parts import *\n"}
"""What a page takes for granted: the chain that its reader has."""


def source(program: Program) -> str:
    """The blocks as one program, with a mark in the output after each."""
    printed = f"\nprint({MARK!r}, flush=True)\n"
    return AROUND.get(program.page, "") + "".join(f"{b.code}{printed}" for b in program.blocks)


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
def test_the_code_of_a_page_runs_and_prints_what_the_page_shows(program, sink, tmp_path):
    environment = {}
    if "configure(" in "".join(block.code for block in program.blocks):
        environment["OTEL_EXPORTER_OTLP_ENDPOINT"] = sink.grpc_endpoint

    out = run(f"import os; os.chdir({str(tmp_path)!r})\n" + source(program), **environment)

    printed = out.split(f"{MARK}\n")
    for block, said in zip(program.blocks, printed, strict=False):
        if block.output is not None:
            assert said == block.output, f"{program.page}:{block.line}"
        else:
            assert said == "", (
                f"{program.page}:{block.line} prints something the page does not show"
            )


def test_a_page_that_configures_otlp_really_exports_a_verdict(sink):
    from support.pages import DOCS

    (program,) = [p for p in programs(DOCS / "start.md") if "configure(" in p.blocks[0].code]
    run(source(program), OTEL_EXPORTER_OTLP_ENDPOINT=sink.grpc_endpoint)

    assert [span["name"] for span in sink.spans] == ["aucert.verify support"]
    assert {record["event_name"] for record in sink.records} == {"gen_ai.evaluation.result"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_fence_of_a_page_names_its_language(page):
    inside = False
    for number, line in enumerate(text_of(page).splitlines(), 1):
        if line.startswith("```"):
            known = line[3:] in {"python", "text", "console", "yaml", "toml", "json"}
            assert known or inside, f"{page.name}:{number}: {line}"
            inside = not inside
