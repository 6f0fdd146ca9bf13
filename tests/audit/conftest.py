from __future__ import annotations

import pytest
from support.postgres import running_postgres


@pytest.fixture(scope="session")
def postgres():
    with running_postgres() as server:
        yield server


@pytest.fixture(params=["jsonl", "sqlite", "postgresql"])
def url(request, tmp_path):
    """An empty log of each kind."""
    if request.param == "jsonl":
        return f"jsonl:///{tmp_path}/audit.jsonl"
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/audit.db"
    return request.getfixturevalue("postgres").new_database()
