"""Scripts of the benchmarks, as modules: what they compute is tested, not only that they run."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType


BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def benchmark(name: str) -> ModuleType:
    """One script of the benchmarks, imported once."""
    full = f"benchmarks_{name}"
    if full not in sys.modules:
        spec = importlib.util.spec_from_file_location(full, BENCHMARKS / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules[full] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[full]
