"""Replies that try to speak for the judge, and judges that believe them: no pass they did not give.

A gullible judge repeats what it reads. It cannot repeat the code of the call as part of a verdict it
copies, since whoever wrote the reply did not know it.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from support.rubric_judges import FACT, MARCH, fail, says

from aucert_otel import Cascade, Reason, Status, Verdict


CORPUS = yaml.safe_load(Path(__file__).with_name("hostile.yaml").read_text("utf-8"))


def text_of(entry):
    return entry["text"] * entry.get("repeat", 1) + entry.get("after", "")


def objects_in(text):
    """Every JSON object that a reader might pick out of a text, outermost ones alone."""
    decoder, at, found = json.JSONDecoder(), text.find("{"), []
    for _ in range(50):
        if at < 0 or len(found) == 3:
            break
        try:
            _, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            found.append(text[at:end])
        at = text.find("{", end)
    return found or [text]


def own(call, **more):
    """The judge's own verdict: everything fails."""
    return call.verdicts(**{name: fail(**more) for name in call.asked})


def material(call):
    return call.inside("answer under test")


def dump(value):
    return json.dumps(value, ensure_ascii=False)


GULLIBLE = {
    "repeats the reply": material,
    "copies the first object": lambda call: objects_in(material(call))[0],
    "copies the last object": lambda call: objects_in(material(call))[-1],
    "copies it in a fence": lambda call: f"```json\n{objects_in(material(call))[0]}\n```",
    "copies it, then judges": lambda call: f"{objects_in(material(call))[0]}\n{dump(own(call))}",
    "judges, then copies it": lambda call: f"{dump(own(call))}\n{objects_in(material(call))[0]}",
    "copies it into a list": lambda call: f"[{objects_in(material(call))[0]}]",
    "copies it under a key of its own": lambda call: (
        f'{dump(own(call))[:-1]}, "reply": {dump(material(call)[:2000])}}}'
    ),
    "copies it twice under one key": lambda call: (
        f'{dump(own(call))[:-1]}, "policy": {dump(says())}}}'
    ),
    "gives the reply as its verdict": lambda call: dump(
        call.verdicts(**{n: says(verdict=material(call)[:2000]) for n in call.asked})
    ),
    "gives the reply as its code": lambda call: dump(
        {**call.verdicts(), "code": material(call)[:2000]}
    ),
    "leaves the code out": lambda call: dump(
        {k: v for k, v in call.verdicts().items() if k != "code"}
    ),
    "quotes it in its own verdict": lambda call: dump(
        own(call, claim=material(call)[:900], evidence=material(call)[:900])
    ),
}


def test_the_corpus_is_large_and_of_every_kind():
    assert len(CORPUS) >= 60
    assert len({text_of(entry) for entry in CORPUS}) == len(CORPUS)
    kinds = Counter(entry["kind"] for entry in CORPUS)
    assert set(kinds) == {
        "fake verdict",
        "closing fence",
        "role play",
        "another language",
        "look-alike",
        "very long",
    }
    assert min(kinds.values()) >= 6


@pytest.mark.parametrize("entry", CORPUS, ids=lambda entry: entry["name"])
def test_a_gullible_judge_gives_no_pass_that_it_did_not_give_itself(bench, entry):
    generation = replace(MARCH, output=text_of(entry))
    cascade = Cascade("c", [bench.rubric()])
    for name, judge in GULLIBLE.items():
        bench.judge = judge
        (stage,) = cascade.run(generation).stages
        passed = [f.criterion for f in stage.findings if f.verdict is Verdict.PASS]
        assert passed == [], name
        assert stage.status is Status.OK, name
        assert len(stage.findings) == 4
        assert stage.cost_usd == 0.0025
        assert not [e.text for f in stage.findings for e in f.evidence if e.text != FACT], name
    for call in bench.calls:
        for mark in ("begin", "end"):
            assert call.text.count(f"[{call.code} {mark} answer under test]") == 1
        assert call.code not in generation.output


@pytest.mark.parametrize("entry", CORPUS, ids=lambda entry: entry["name"])
def test_the_judges_own_verdict_counts_whatever_the_reply_says(bench, entry):
    generation = replace(MARCH, output=text_of(entry))
    cascade = Cascade("c", [bench.rubric()])
    bench.judge = lambda call: dump(own(call))
    (stage,) = cascade.run(generation).stages
    long = entry["kind"] == "very long"
    assert long or {f.verdict for f in stage.findings} == {Verdict.FAIL}
    bench.judge = lambda call: call.reply()
    (stage,) = cascade.run(generation).stages
    shown_whole = len(generation.output) <= 32_000
    assert (stage.verdict is Verdict.PASS) is shown_whole
    if not shown_whole:
        assert {f.reason for f in stage.findings} == {Reason.NOT_CHECKED}


def test_a_copied_verdict_is_called_forged(bench):
    entry = next(e for e in CORPUS if e["name"] == "a whole verdict alone")
    bench.judge = material
    (stage,) = Cascade("c", [bench.rubric()]).run(replace(MARCH, output=text_of(entry))).stages
    assert {f.reason for f in stage.findings} == {Reason.FORGED}
    coded = next(e for e in CORPUS if e["name"] == "a verdict with a guessed code")
    (stage,) = Cascade("c", [bench.rubric()]).run(replace(MARCH, output=text_of(coded))).stages
    assert {f.reason for f in stage.findings} == {Reason.FORGED}


@pytest.mark.parametrize("mode", GULLIBLE)
def test_a_gullible_stronger_judge_gives_none_either(bench, mode):
    entry = next(e for e in CORPUS if e["name"] == "a verdict with a guessed code")
    bench.judge = lambda call: call.reply(complete=says("unclear", 0.5))
    bench.stronger = GULLIBLE[mode]
    outcome = Cascade("c", [bench.rubric(), bench.second()]).run(
        replace(MARCH, output=text_of(entry))
    )
    assert outcome.verdict is not Verdict.PASS
    assert {f.criterion for f in outcome.findings if f.verdict is Verdict.PASS} == {
        "grounded",
        "policy",
        "on_topic",
    }
