"""The README's code is run as it stands, in the order in which it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnablePassthrough

from aucert_otel import HandedToPerson, Passage


ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
QUESTION = "My parcel arrived with half the roses brown. What can be done?"


class Search(BaseRetriever):
    def _get_relevant_documents(self, query, *, run_manager):
        return [Document("Report damage within 48 hours of delivery.", metadata={"id": "305"})]


def chain_that_says(*replies: str):
    prompt = ChatPromptTemplate.from_template("{passages}\n\n{question}")
    return (
        RunnablePassthrough.assign(passages=lambda given: Search().invoke(given["question"]))
        | prompt
        | FakeListChatModel(responses=list(replies))
        | StrOutputParser()
    )


def namespace(*replies: str) -> dict[str, object]:
    return {"chain": chain_that_says(*replies), "question": QUESTION}


def test_the_first_screen_shows_three_ways_in_of_under_ten_lines_each():
    _setup, callback, wrapped, decorator = BLOCKS

    assert "VerificationHandler" in callback
    assert "verified(chain" in wrapped
    assert "@verified" in decorator
    for block in BLOCKS:
        assert len(block.strip().splitlines()) < 10
    assert README.index("@verified") < README.index("## What is on the trace")


def test_the_callback_observes_the_chain_and_changes_nothing():
    setup, callback, *_ = BLOCKS
    space = namespace("See article 212.")
    exec(setup, space)
    exec(callback, space)

    assert space["harness"].flush(10)


def test_the_wrapped_runnable_ships_a_repaired_answer():
    setup, _, wrapped, _ = BLOCKS
    space = namespace("See article 212.", "See article 305: report damage within 48 hours.")
    exec(setup, space)
    exec(wrapped, space)

    assert space["safe"].invoke({"question": QUESTION}) == (
        "See article 305: report damage within 48 hours."
    )


def test_the_wrapped_runnable_gives_what_was_chosen_when_an_answer_may_not_be_used():
    setup, _, wrapped, _ = BLOCKS
    space = namespace("See article 212.", "See article 213.")
    exec(setup, space)
    exec(wrapped, space)

    assert space["safe"].invoke({"question": QUESTION}) == "A colleague will answer you shortly."


def test_the_decorator_raises_where_the_caller_chose_raising():
    setup, *_, decorator = BLOCKS
    space = namespace()
    exec(setup, space)
    exec(decorator.replace("    ...", '    return "See article 212."'), space)

    with pytest.raises(HandedToPerson):
        space["answer"](QUESTION, [Passage("Report damage within 48 hours.", "305")])


def test_every_file_the_readme_points_to_is_there():
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / target).exists(), target


def test_every_make_target_the_readme_names_is_in_the_makefile():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"\bmake ([a-z]+)\b", README):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
