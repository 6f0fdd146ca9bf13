"""Judges that are chat models of other libraries, asked through a real client and a real server."""

from __future__ import annotations

import pytest
from support.openai_server import OpenAIServer

from aucert_otel.telemetry import default_telemetry, set_default_telemetry


@pytest.fixture
def server():
    with OpenAIServer() as running:
        yield running


@pytest.fixture(params=["langchain", "llama_index"])
def judge(request, server):
    """A judge by either library."""
    if request.param == "langchain":
        openai = pytest.importorskip("langchain_openai", reason="langchain-openai is not installed")
        from aucert_integrations.langchain import ChatModelJudge

        def build(**options):
            chat = openai.ChatOpenAI(
                model="gpt-4o-mini", base_url=server.url, api_key="sk-secret-1", max_retries=0
            )
            return ChatModelJudge(chat, **options)

    else:
        openai = pytest.importorskip(
            "llama_index.llms.openai",
            reason="LlamaIndex needs an environment of its own: "
            "pip install -r tests/integrations/llama_index/requirements.txt",
        )
        from aucert_integrations.llama_index import LLMJudge

        def build(**options):
            llm = openai.OpenAI(
                model="gpt-4o-mini", api_base=server.url, api_key="sk-secret-1", max_retries=0
            )
            return LLMJudge(llm, **options)

    return build


@pytest.fixture
def out(recorder):
    """Everything that leaves this process while a test runs."""
    before = default_telemetry()
    set_default_telemetry(recorder.telemetry())
    yield recorder
    set_default_telemetry(before)
