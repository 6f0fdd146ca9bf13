from __future__ import annotations

import pytest


pytest.importorskip("scipy", reason="the extra measure is not installed")
