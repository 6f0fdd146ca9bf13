from __future__ import annotations

import io
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aucert_otel import Verdict
from aucert_otel.measure import Judged, Trial, read_gold


def read(*rows, by=None):
    said: list[str] = []
    lines = (row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows)
    return read_gold(io.BytesIO(b"\n".join(lines)), by, said.append), said


def judgement(**changes):
    return {"confidence": 0.9, "verdict": "pass", "gold": "pass", **changes}


def record(*stages, decision="pass", gold="pass", **more):
    listed = [{"stage": s, "verdict": v, "confidence": c, "status": "ok"} for s, v, c in stages]
    return {"decision": decision, "gold": gold, "stages": listed, **more}


def test_a_judgement_is_one_arrival_at_its_stage():
    gold, said = read(judgement(stage="a", fingerprint="f"), judgement(verdict="fail", stage="a"))
    assert said == []
    assert gold.trials == [
        Trial((Judged("a", Verdict.PASS, 0.9, right=True),)),
        Trial((Judged("a", Verdict.FAIL, 0.9, right=False),)),
    ]
    assert (gold.stages, gold.fingerprints, gold.records) == (["a"], {"a": {"f", None}}, 0)


def test_a_record_carries_every_stage_it_reached_and_whether_a_gate_ended_it():
    gold, _ = read(
        record(("a", "pass", 0.5), ("b", "fail", 0.9), decision="fail", gold="fail", cascade="c"),
        record(("a", "unclear", None), decision="unclear", cascade="c"),
    )
    first, second = gold.trials
    assert [(j.stage, j.verdict, j.right) for j in first.judged] == [
        ("a", Verdict.PASS, False),
        ("b", Verdict.FAIL, True),
    ]
    assert (first.settled, second.settled, gold.records) == (True, False, 2)
    assert (gold.stages, gold.cascades.total()) == (["a", "b"], 2)


def test_a_stage_that_did_not_run_said_nothing():
    row = record(("a", "unclear", 0.9), decision="unclear")
    row["stages"][0]["status"] = "unavailable"
    gold, _ = read(row)
    assert gold.trials[0].judged == (Judged("a", Verdict.UNCLEAR, None, right=False),)


def test_rows_without_gold_are_counted_and_left_out():
    gold, said = read(judgement(gold=None), judgement())
    assert (len(gold.trials), gold.unlabelled, gold.bad, said) == (1, 1, 0, [])


@pytest.mark.parametrize(
    ("by", "row", "stratum"),
    [
        ("tenant", {"tenant": "acme"}, "acme"),
        ("metadata.language", {"metadata": {"language": "de"}}, "de"),
        ("metadata.language", {"metadata.language": "fr"}, "fr"),
        ("year", {"year": 2026}, "2026"),
        ("vip", {"vip": True}, "true"),
    ],
)
def test_a_stratum_is_the_value_of_a_key(by, row, stratum):
    gold, _ = read(judgement(**row), by=by)
    assert gold.trials[0].stratum == stratum


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        (b"nope", "line 1: not JSON"),
        ([1], "line 1: the row is a list: it must be a JSON object"),
        ({"gold": "pass"}, "line 1: verdict is missing: every row needs a verdict"),
        (judgement(confidence=95), "line 1: confidence is 95: it must be at most 1"),
        (judgement(confidence=True), "line 1: confidence is true"),
        (judgement(confidence="0.9"), 'line 1: confidence is "0.9": it must be a number'),
        (b'{"verdict": "pass", "confidence": NaN}', "line 1: NaN is not JSON"),
        (judgement(verdict="Pass"), 'line 1: verdict is "Pass": allowed are'),
        (judgement(gold="good"), 'line 1: gold is "good": allowed are pass, fail'),
        (record(("a", "pass", 0.9), ("a", "pass", 0.9)), "two of its stages have one name"),
        (record(("a", "pass", -3)), "stages[0].confidence is -3: it must be at least 0"),
        ({"gold": "pass", "stages": []}, "line 1: decision is missing"),
        (b'{"verdict": "pass", "verdict": "fail"}', "stands twice"),
        (b"\xff", "not UTF-8"),
        (b"x" * 10_000_001, "line 1: the line is longer than 10,000,000 bytes"),
    ],
)
def test_a_bad_row_is_named_counted_and_left_out(row, sentence):
    gold, said = read(row, judgement())
    assert sentence in said[0]
    assert (len(said), gold.bad, len(gold.trials)) == (1, 1, 1)


def test_a_row_without_its_stratum_is_a_bad_row():
    gold, said = read(judgement(), judgement(tenant=""), by="tenant")
    assert (gold.bad, len(gold.trials)) == (2, 0)
    assert said[0] == "line 1: tenant is null: it names the row's stratum, so it must be text"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
KEYS = (
    "gold",
    "verdict",
    "confidence",
    "stage",
    "stratum",
    "fingerprint",
    "stages",
    "decision",
    "x",
)
ROWS = st.dictionaries(
    st.sampled_from(KEYS), st.sampled_from(["pass", "fail", 0.5, [], [{"stage": "a"}]]) | JSON
)


@settings(deadline=None)
@given(st.lists(ROWS | JSON | st.binary().map(lambda line: line.replace(b"\n", b" ")), max_size=6))
def test_whatever_a_file_holds_each_line_is_a_trial_unlabelled_or_named(rows):
    gold, said = read(*rows, by=None)
    if rows and isinstance(rows[0], bytes):
        rows = [rows[0].removeprefix(b"\xef\xbb\xbf"), *rows[1:]]
    lines = [row for row in rows if not isinstance(row, bytes) or row.strip()]
    assert len(gold.trials) + gold.unlabelled + gold.bad == len(lines)
    assert len(said) == gold.bad
    for trial in gold.trials:
        for judged in trial.judged:
            assert judged.confidence is None or 0 <= judged.confidence <= 1


def test_the_digest_is_that_of_the_bytes():
    same, other = read(judgement())[0], read(judgement(), b"")[0]
    assert same.digest == read(judgement())[0].digest != other.digest
