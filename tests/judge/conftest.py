from __future__ import annotations

import pytest
from support.llm_server import LlmServer
from support.rubric_judges import Bench


@pytest.fixture
def server():
    with LlmServer() as running:
        yield running


@pytest.fixture
def bench(server):
    made = Bench(server)
    yield made
    made.close()
