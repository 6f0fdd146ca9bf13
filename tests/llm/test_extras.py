"""What the room loads, and what it says where an extra is missing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


ROOT = Path(__file__).parents[2]


def python(code: str) -> str:
    """Run code in a Python of its own."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_importing_loads_no_client_and_no_price_list():
    code = """
import sys
import aucert_otel
assert "aucert_otel.llm" not in sys.modules
import aucert_otel.llm
aucert_otel.llm.OpenAIChat("gpt-4o")
print([name for name in ("httpx", "httpcore", "genai_prices", "openai") if name in sys.modules])
"""
    assert python(code) == "[]"


@pytest.mark.parametrize("make", ["OpenAIChat", "AnthropicChat"])
def test_without_the_http_client_a_call_says_which_extra_brings_it(make):
    code = f"""
import sys
sys.modules["httpx"] = None
from aucert_otel.llm import ChatMessage, complete, {make}
from aucert_otel.errors import MissingExtraError
try:
    complete({make}("m", api_key="k"), [ChatMessage("user", "?")])
except MissingExtraError as error:
    print(error)
"""
    assert "aucert-otel[llm]" in python(code)


def test_without_the_price_list_prices_are_unknown():
    code = """
from importlib import metadata
def version(name, original=metadata.version):
    if name == "genai-prices":
        raise metadata.PackageNotFoundError(name)
    return original(name)
metadata.version = version
from aucert_otel.llm import PriceBook
from aucert_otel.generation import Usage
print(PriceBook().price(Usage(1, 1), "gpt-4o", "openai"))
"""
    assert python(code) == "Priced(usd=None, as_of=None, source=None, unpriced='gpt-4o')"
