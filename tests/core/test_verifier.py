from __future__ import annotations

import functools
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.answers import Judge, Says, passing

from aucert_otel import ConfigurationError, Verifier, load_verifier
from aucert_otel.verifier import as_verifier, waits


ROOT = Path(__file__).parents[2]


async def acheck(generation):
    return passing()


def check(generation):
    return passing()


class Calls:
    async def __call__(self, generation):
        return passing()


def test_a_function_is_a_verifier_under_its_own_name():
    made = as_verifier(check)
    assert isinstance(made, Verifier)
    assert made.name == "check"
    assert made.verify is check


def test_a_verifier_is_taken_as_it_is():
    judge = Judge(())
    assert as_verifier(judge) is judge


@pytest.mark.parametrize(
    ("given", "sentence"),
    [(3, "3 is not a verifier: give it a name"), (Judge, r"Judge is a class.* Judge\(\.\.\.\)")],
)
def test_what_is_no_verifier_is_refused_with_the_mend(given, sentence):
    with pytest.raises(ConfigurationError, match=sentence):
        as_verifier(given)


@pytest.mark.parametrize(
    ("verifier", "expected"),
    [
        (check, False),
        (acheck, True),
        (functools.partial(acheck), True),
        (Calls(), True),
        (Judge(()), True),
        (Says(()), False),
        (Says((), blocking=True), True),
    ],
)
def test_what_waits_leaves_the_callers_thread(verifier, expected):
    assert waits(as_verifier(verifier)) is expected


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(
        ConfigurationError, match=r"no verifier is called 'ruels': known are .*rules"
    ):
        load_verifier("ruels")


def in_a_new_process(tmp_path, code, **packages):
    """Run code where these distributions, each {entry point: object}, are installed."""
    for package, points in packages.items():
        (tmp_path / f"{package}.py").write_text(
            "from aucert_otel import Finding, Verdict\n"
            "class Polite:\n"
            "    name = 'polite'\n"
            "    def __init__(self, *, words=()): self.words = words\n"
            "    def verify(self, generation):\n"
            "        return Finding('polite', Verdict.PASS, score=1.0)\n"
        )
        info = tmp_path / f"{package}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        lines = "".join(f"{name} = {package}:{what}\n" for name, what in points.items())
        (info / "entry_points.txt").write_text(f"[aucert_otel.verifiers]\n{lines}")
    paths = [tmp_path, ROOT, ROOT / "verifiers"]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.stdout.strip() or done.stderr


LOAD = """
from aucert_otel import Cascade, ConfigurationError, Generation, load_verifier
try:
    check = load_verifier({name!r}, **{options!r})
    print(check.name, Cascade("c", [check]).run(Generation("hi")).verdict.value)
except ConfigurationError as error:
    print(error)
"""


def test_a_third_partys_verifier_is_found_by_its_entry_point(tmp_path):
    code = LOAD.format(name="polite", options={"words": ["please"]})
    assert in_a_new_process(tmp_path, code, manners={"polite": "Polite"}) == "polite pass"


def test_options_that_do_not_fit_are_refused_in_a_sentence(tmp_path):
    code = LOAD.format(name="polite", options={"wrods": 1})
    said = in_a_new_process(tmp_path, code, manners={"polite": "Polite"})
    assert said.startswith("verifier 'polite' does not take these options: ")
    assert "'wrods'" in said


def test_a_verifier_that_cannot_be_imported_is_named(tmp_path):
    code = LOAD.format(name="polite", options={})
    said = in_a_new_process(tmp_path, code, manners={"polite": "Rude"})
    assert said.startswith("verifier 'polite' cannot be imported from 'manners:Rude': ")


def test_a_name_two_packages_claim_is_refused(tmp_path):
    code = LOAD.format(name="polite", options={})
    said = in_a_new_process(
        tmp_path, code, manners={"polite": "Polite"}, charm={"polite": "Polite"}
    )
    assert said == "two packages register a verifier called 'polite': charm, manners; uninstall one"
