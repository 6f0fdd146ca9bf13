from __future__ import annotations

import pytest
from support.judges import Court
from support.llm_server import LlmServer


@pytest.fixture
def server():
    with LlmServer() as running:
        yield running


@pytest.fixture
def court(server):
    """Judges that wait for whoever is under way, so that no test depends on who is faster."""
    made = Court(server, grace_s=20.0)
    yield made
    made.close()
