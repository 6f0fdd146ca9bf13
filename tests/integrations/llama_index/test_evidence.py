"""Nodes and their metadata as passages, whatever stands in them."""

from __future__ import annotations

from datetime import UTC, date, datetime
from importlib import metadata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.base.llms.types import ChatMessage, ImageBlock, TextBlock, ThinkingBlock
from llama_index.core.base.response.schema import Response
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.core.tools import ToolOutput

from aucert_integrations.llama_index import as_passages
from aucert_integrations.llama_index._requires import require_llama_index
from aucert_integrations.llama_index.evidence import tool_passages
from aucert_integrations.llama_index.reading import message_text, together, usage_of
from aucert_otel import ConfigurationError, MissingExtraError, Passage, Usage


def test_currency_is_read_from_a_nodes_metadata():
    fields = {
        "id": 305,
        "version": 3,
        "latest_version": "4",
        "superseded_by": "306",
        "effective_from": "2026-03-01",
        "source_type": "policy",
        "page": 7,
    }
    node = TextNode(text="Within 48 hours.", id_="n1", metadata=fields)
    for given_ in (
        [NodeWithScore(node=node)],
        node,
        [node],
        Response("x", [NodeWithScore(node=node)]),
    ):
        (passage,) = as_passages(given_)
        assert passage == Passage(
            "Within 48 hours.",
            id="305",
            version="3",
            latest_version="4",
            superseded_by="306",
            effective_from=date(2026, 3, 1),
            source_type="policy",
        )
        assert passage.metadata is node.metadata


def test_a_node_without_an_id_in_its_metadata_has_its_own():
    assert as_passages(TextNode(text="t", id_="n1"))[0].id == "n1"


def test_what_is_not_known_stays_unknown_and_nothing_found_is_a_fact():
    assert as_passages(None) is None
    assert as_passages([]) == ()


def test_a_date_is_a_date_in_every_form():
    for said in (date(2026, 3, 1), datetime(2026, 3, 1, 12, tzinfo=UTC), "2026-03-01T12:00:00"):
        assert as_passages({"text": "t", "effective_from": said})[0].effective_from == date(
            2026, 3, 1
        )


@pytest.mark.parametrize("wrong", [7, [7], [{"no": "text"}], [object()]])
def test_what_is_no_evidence_is_refused_with_its_type(wrong):
    with pytest.raises(TypeError, match="evidence"):
        as_passages(wrong)


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.dates(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(
    st.dictionaries(
        st.sampled_from(
            ["id", "version", "latest_version", "superseded_by", "effective_from", "source_type"]
        ),
        ANY,
    ),
    st.text(),
)
def test_any_metadata_makes_a_passage_of_texts_and_dates(fields, text):
    (passage,) = as_passages(TextNode(text=text, metadata=fields))
    assert passage.text == text
    for name in ("id", "version", "latest_version", "superseded_by", "source_type"):
        assert getattr(passage, name) is None or isinstance(getattr(passage, name), str)
    assert passage.effective_from is None or isinstance(passage.effective_from, date)


def test_a_tools_result_is_its_nodes_or_its_text_and_nothing_where_it_failed():
    def output(**options):
        return ToolOutput(**{"tool_name": "t", "raw_input": {}, "content": "said", **options})

    nodes = Response("x", [NodeWithScore(node=TextNode(text="n", id_="n1"))])
    assert [p.id for p in tool_passages(output(raw_output=nodes))] == ["n1"]
    assert tool_passages(output(raw_output="x")) == (Passage("said", source_type="tool"),)
    assert tool_passages(output(raw_output="x", is_error=True)) == ()
    assert tool_passages(output(raw_output="", content="")) == ()


def test_a_message_is_read_block_by_block():
    message = ChatMessage(
        role="assistant",
        blocks=[
            ThinkingBlock(content="hm"),
            TextBlock(text="see 118"),
            ImageBlock(url="http://pictures.example/1.png"),
        ],
    )
    said = message_text(message)
    assert said.startswith("see 118\n{")
    assert "pictures.example" in said
    assert "hm" not in said


NUMBERS = st.none() | st.booleans() | st.integers() | st.floats() | st.text()


@given(
    st.dictionaries(
        st.sampled_from(["prompt_tokens", "completion_tokens", "input_tokens", "output_tokens"]),
        NUMBERS,
    )
)
def test_any_usage_is_read_as_counts_or_not_at_all(said):
    usage = usage_of({"usage": said}, {})
    if usage is not None:
        for tokens in (usage.input_tokens, usage.output_tokens):
            assert tokens is None or (type(tokens) is int and tokens >= 0)


def test_the_tokens_of_several_calls_are_unknown_as_soon_as_one_is():
    assert together([]) is None
    assert together([Usage(1, 2), Usage(3, 4)]) == Usage(4, 6)
    assert together([Usage(1, 2), None]) is None
    assert together([Usage(1, None), Usage(3, 4)]) == Usage(4, None)


def test_an_old_or_absent_llama_index_gets_one_sentence(monkeypatch):
    monkeypatch.setattr(metadata, "version", lambda _: "0.11.23")
    with pytest.raises(ConfigurationError, match=r"llama-index-core 0\.11\.23 is too old"):
        require_llama_index()

    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    with pytest.raises(MissingExtraError, match=r'pip install "aucert-otel\[llama-index\]"'):
        require_llama_index()
