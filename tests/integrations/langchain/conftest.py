"""Fixtures of the LangChain tests. This folder is not called tests/langchain: with ``tests`` on the
path that would answer to ``import langchain``, which old versions of langchain-core try."""

from __future__ import annotations

import pytest

from aucert_otel import Harness


pytest.importorskip("langchain_core")


@pytest.fixture
def cited():
    from support.langchain_parts import Cited

    return Cited()


@pytest.fixture
def harness(cited, recorder):
    return Harness([cited], telemetry=recorder.telemetry(), name="reply")


@pytest.fixture
def handler(harness):
    from aucert_integrations.langchain import VerificationHandler

    return VerificationHandler(harness)


@pytest.fixture
def seen(harness, cited, handler):
    """What was verified, after everything submitted was; and nothing stays behind in the handler."""

    def look():
        assert harness.flush(20)
        assert (handler.open_runs, len(handler._turns)) == (0, 0)
        return cited.read

    return look


@pytest.fixture
def server():
    from support.openai_server import OpenAIServer

    with OpenAIServer() as running:
        yield running


@pytest.fixture
def chat(server):
    """A real client of the scripted server."""
    openai = pytest.importorskip("langchain_openai")

    def build(**options):
        given = {"model": "scripted", "base_url": server.url, "api_key": "none", "max_retries": 0}
        return openai.ChatOpenAI(**{**given, **options})

    return build
