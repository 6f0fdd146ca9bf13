"""Every example runs as it stands, without a key or a network, and says what it did."""

from __future__ import annotations

import subprocess
import sys

import pytest
from support.pages import ROOT


SAID = {
    "callback.py": ["'verdict': 'pass'", "'verdict': 'fail'", "cited_ids"],
    "wrapped.py": ["to a person, draft 2", "customer: A colleague will answer you shortly."],
    "decorator.py": ["asked to mend", "handed to a person"],
    "own_check.py": ["pass -> ship", "fail -> repair", "unclear -> person", "tone unavailable"],
}


def test_every_example_is_tried_here():
    assert {path.name for path in (ROOT / "examples").glob("*.py")} == SAID.keys()


@pytest.mark.parametrize("name", SAID)
def test_an_example_runs_and_says_what_it_did(name):
    path = ROOT / "examples" / name
    done = subprocess.run(
        [sys.executable, "-W", "error", str(path)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stderr.splitlines() if "did not run" not in line] == []
    assert ("did not run" in done.stderr) == (
        name == "own_check.py"
    )  # the one with a judge that is down
    for words in SAID[name]:
        assert words in done.stdout
    assert "no model is called" in done.stdout.lower()
    assert len(path.read_text("utf-8").splitlines()) < 60
