"""A model server, and clients of both APIs for it."""

from __future__ import annotations

import pytest
from support.llm_cases import api_of
from support.llm_server import LlmServer

from aucert_otel.llm import Timeouts
from aucert_otel.telemetry import default_telemetry, set_default_telemetry


@pytest.fixture
def server():
    with LlmServer() as running:
        yield running


@pytest.fixture(params=["openai", "anthropic"])
def api(request, server):
    made = api_of(request.param, server)
    yield made
    for model in made.made:
        model.close()


@pytest.fixture
def openai_api(server):
    made = api_of("openai", server)
    yield made
    for model in made.made:
        model.close()


@pytest.fixture
def anthropic_api(server):
    made = api_of("anthropic", server)
    yield made
    for model in made.made:
        model.close()


@pytest.fixture
def quick():
    """Little patience, for servers that never finish."""
    return Timeouts(connect_s=5.0, read_s=5.0, total_s=0.3)


@pytest.fixture
def out(recorder):
    """Everything that leaves this process while a test runs."""
    before = default_telemetry()
    set_default_telemetry(recorder.telemetry())
    yield recorder
    set_default_telemetry(before)
