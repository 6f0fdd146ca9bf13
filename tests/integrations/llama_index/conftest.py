"""Fixtures of the LlamaIndex tests: a real client of a scripted server, and nothing left behind."""

from __future__ import annotations

import asyncio

import pytest

from aucert_otel import Harness


pytest.importorskip(
    "llama_index.llms.openai",
    reason="LlamaIndex needs an environment of its own: make test-llama-index",
)


@pytest.fixture(scope="session", autouse=True)
def _no_stray_loop():
    """LlamaIndex counts tokens on an event loop that it makes where none ever ran, and never closes."""
    asyncio.run(asyncio.sleep(0))


@pytest.fixture
def cited():
    from support.llama_parts import Cited

    return Cited()


@pytest.fixture
def verdicts(cited, recorder):
    from support.llama_parts import Verdicts

    return Verdicts(cited, recorder)


@pytest.fixture
def harness(cited, recorder):
    return Harness([cited], telemetry=recorder.telemetry(), name="reply")


@pytest.fixture
def server():
    from support.openai_server import OpenAIServer

    with OpenAIServer() as running:
        yield running


@pytest.fixture
def llm(server):
    """A real client of the scripted server."""
    from llama_index.llms.openai import OpenAI

    def build(**options):
        given = {
            "model": "gpt-4o-mini",
            "api_base": server.url,
            "api_key": "none",
            "max_retries": 0,
        }
        return OpenAI(**{**given, **options})

    return build


@pytest.fixture
def retriever():
    from support.llama_parts import Articles

    return Articles()


@pytest.fixture
def engine(llm, retriever):
    """A retriever and a synthesizer: what ``index.as_query_engine()`` makes."""
    from llama_index.core.query_engine import RetrieverQueryEngine

    def build(model=None, **options):
        return RetrieverQueryEngine.from_args(retriever, llm=model or llm(), **options)

    return build


@pytest.fixture
def observed(harness):
    """Everything that LlamaIndex answers is observed."""
    from aucert_integrations.llama_index import observe

    with observe(harness) as observation:
        yield observation


@pytest.fixture
def seen(harness, cited):
    """What was verified, after everything submitted was."""

    def look():
        assert harness.flush(20)
        return cited.read

    return look


@pytest.fixture(autouse=True)
def _nothing_left_behind():
    """LlamaIndex swallows whatever a handler raises, so our faults are asked for; and no turn stays."""
    from aucert_integrations.llama_index.dispatch import FAULTS
    from aucert_integrations.llama_index.tree import known_tree

    FAULTS.seen.clear()
    known_tree()._turns.clear()
    known_tree()._spans.clear()
    yield
    assert dict(FAULTS.seen) == {}
    assert (known_tree().open_turns, known_tree()._spans) == (0, {})
