from __future__ import annotations

import pytest
from support.smollm import MISSING, smollm, weights


@pytest.fixture(scope="session")
def small_model():
    """A real model's base URL."""
    if weights() is None:
        pytest.skip(MISSING)
    with smollm() as url:
        yield url
