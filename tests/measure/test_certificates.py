"""Certificates as data, in files, and in the gates that obey them."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.answers import Says, failing, passing

from aucert_otel import (
    Cascade,
    Certificate,
    ConfigurationError,
    Gate,
    Generation,
    Harness,
    Stage,
    Verdict,
)
from aucert_otel.certificate import Certification
from aucert_otel.measure import (
    Judged,
    Planned,
    Source,
    Trial,
    calibrate,
    certify,
    load_certificate,
    read_certificates,
    write_certificates,
)


PASS, FAIL = Verdict.PASS, Verdict.FAIL
PASS_ONLY = frozenset({PASS})
TODAY = datetime.now(UTC).date()
DAY = timedelta(days=1)
ANSWER = Generation("Your bouquet is on its way.")


def certificate(**changes):
    given = {"fingerprint": "f", "alpha": 0.1, "delta": 0.1, "issued": TODAY, "expires": TODAY}
    return Certificate(**{**given, **changes})


def says(*findings, name="judge", fingerprint="f"):
    return Says(findings, name=name, fingerprint=fingerprint)


def run(*stages, strict=False):
    return Cascade("c", stages, strict=strict).run(ANSWER)


# As data


TEXTS = st.text(max_size=20)
CERTIFICATES = st.builds(
    Certificate,
    TEXTS,
    st.floats(0.001, 0.999),
    st.floats(0.001, 0.999),
    st.dates(),
    st.dates(),
    settles=st.frozensets(st.sampled_from([PASS, FAIL])),
    pass_at=st.none() | st.floats(0, 1),
    fail_at=st.none() | st.floats(0, 1),
    stage=TEXTS,
    stratum=st.none() | TEXTS,
    dataset=TEXTS,
    n=st.none() | st.integers(0),
    after=st.none() | st.lists(TEXTS, max_size=3).map(tuple),
)


@settings(deadline=None)
@given(CERTIFICATES)
def test_a_certificate_survives_its_file(made):
    with tempfile.TemporaryDirectory() as folder:
        write_certificates(Path(folder) / "c.yaml", [made])
        (read,) = read_certificates(Path(folder) / "c.yaml").values()
    assert read == made


def test_two_certificates_of_one_name_are_refused_rather_than_one_lost(tmp_path):
    made = [certificate(stage="a@b"), certificate(stage="a", stratum="b")]
    with pytest.raises(ConfigurationError, match='would be called "a@b"'):
        write_certificates(tmp_path / "c.yaml", made)
    assert list(tmp_path.iterdir()) == []


def test_a_date_that_yaml_read_as_one_will_do():
    data = certificate().to_dict() | {"issued": date(2026, 12, 1)}
    assert Certificate.from_dict(data).issued == date(2026, 12, 1)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"alpha": "much"}, r"certificate\.alpha is not a number"),
        ({"alpha": 0}, r"certificate\.alpha is 0\.0: it lies between 0 and 1"),
        ({"delta": 2}, r"certificate\.delta is 2\.0"),
        ({"pass_at": 95}, r"certificate\.pass_at is 95\.0: a confidence lies in \[0, 1\]"),
        ({"pass_at": float("nan")}, "pass_at is not a number"),
        ({"issued": "tomorrow"}, "issued is no date: write it as YYYY-MM-DD"),
        ({"settles": ["unclear"]}, "settles must be a list: allowed in it are pass, fail"),
        ({"settles": "pass"}, "settles must be a list"),
        ({"fingerprint": 7}, "fingerprint is int: it must be text, in quotes"),
        ({"n": -1}, "n is not a count"),
        ({"after": [1]}, "after must be a list of texts"),
        ({"colour": "red"}, r"certificate\.colour is not a known key: allowed are fingerprint, "),
    ],
)
def test_what_is_no_certificate_is_refused_by_key(change, sentence):
    with pytest.raises(ConfigurationError, match=sentence):
        Certificate.from_dict(certificate().to_dict() | change)


@pytest.mark.parametrize("key", ["fingerprint", "alpha", "delta", "issued", "expires"])
def test_what_every_certificate_has_must_be_there(key):
    data = certificate().to_dict()
    del data[key]
    with pytest.raises(ConfigurationError, match=f"certificate.{key} is missing"):
        Certificate.from_dict(data)


@settings(deadline=None)
@given(
    st.dictionaries(
        st.sampled_from([*certificate().to_dict(), "x"]),
        st.none() | st.integers() | st.floats() | st.text() | st.lists(st.text()),
    )
)
def test_whatever_a_mapping_holds_it_is_a_certificate_or_refused(data):
    with suppress(ConfigurationError):  # and nothing else
        assert 0 < Certificate.from_dict(certificate().to_dict() | data).alpha < 1


# In a gate


def test_a_gate_takes_its_thresholds_from_its_certificate():
    gate = Gate(certificate=certificate(settles=PASS_ONLY, pass_at=0.8))
    assert gate.admits(PASS, 0.8)
    assert not gate.admits(PASS, 0.79)
    assert not gate.admits(PASS, None)
    assert not gate.admits(FAIL, 1.0)


def test_a_verdict_nobody_certified_may_be_given_a_threshold_and_settles_uncertified():
    gate = Gate(fail_at=0.5, certificate=certificate(settles=PASS_ONLY, pass_at=0.8))
    report = run(Stage(says(failing(score=0.4)), gate=gate))
    assert (report.verdict, report.certified, report.certificate) == (FAIL, False, "none")


def test_a_threshold_beside_the_certified_one_is_refused():
    with pytest.raises(
        ConfigurationError, match=r"pass_at is 0\.9, and its certificate speaks for 0\.8"
    ):
        Gate(pass_at=0.9, certificate=certificate(pass_at=0.8))
    with pytest.raises(ConfigurationError, match="speaks for any confidence: leave pass_at out"):
        Gate(pass_at=0.9, certificate=certificate())
    assert Gate(pass_at=0.8, certificate=certificate(pass_at=0.8)).admits(PASS, 0.8)


@pytest.mark.parametrize(
    ("given", "state"),
    [
        (None, "none"),
        (certificate(), "valid"),
        (certificate(issued=TODAY - 9 * DAY, expires=TODAY - DAY), "expired"),
        (certificate(issued=TODAY + DAY, expires=TODAY + DAY), "expired"),
        (certificate(fingerprint="g"), "foreign"),
        (certificate(after=("rules (r): fail at any",)), "foreign"),
        (certificate(after=()), "valid"),
    ],
)
def test_a_report_says_why_its_stage_is_or_is_not_certified(given, state):
    report = run(Stage(says(passing()), gate=Gate(certificate=given)))
    assert report.certificate is Certification(state)
    assert report.certified is (state == "valid")
    assert run(Stage(says(passing()), gate=Gate(certificate=given)), strict=True).settled is (
        state == "valid"
    )


def test_a_certificate_with_no_threshold_settles_nothing():
    gate = Gate(certificate=certificate(settles=frozenset()))
    for strict in (False, True):
        report = run(Stage(says(passing()), gate=gate), says(failing(), name="next"), strict=strict)
        assert (report.stage, report.stages[0].certificate) == ("next", "none")


def test_a_certificate_is_foreign_behind_stages_it_was_not_measured_behind():
    first = Stage(says(passing(), name="first", fingerprint="1"), gate=Gate(pass_at=1.0))
    second = Stage(says(passing()), gate=Gate(certificate=certificate(after=(first.terms,))))
    assert first.terms == "first (1): fail at any, pass at 1.0"
    unsure = Stage(says(passing(score=0.5), name="first", fingerprint="1"), gate=first.gate)
    assert run(unsure, second).certificate is Certification.VALID
    for other in (
        Stage(says(passing(score=0.5), name="first", fingerprint="2"), gate=first.gate),
        Stage(says(passing(score=0.5), name="first", fingerprint="1"), gate=Gate(pass_at=0.9)),
    ):
        assert run(other, second).certificate is Certification.FOREIGN
    assert run(second).certificate is Certification.FOREIGN
    assert not second.displaced  # the cascades that hold it elsewhere are not affected


# From labelled answers to a strict cascade, through a file


def trials():
    sure = Trial((Judged("a", PASS, 0.95, right=True),))
    unsure = Trial((Judged("a", PASS, 0.1, right=True), Judged("b", PASS, 0.95, right=True)))
    return [sure] * 90 + [unsure] * 90


def stages(**gates):
    return [
        Stage(says(passing(score=0.95), name=name, fingerprint=name.upper()), **gates.get(name, {}))
        for name in ("a", "b")
    ]


def certificates():
    plan = [Planned("a", PASS_ONLY), Planned("b", PASS_ONLY)]
    results = calibrate(trials(), plan, grid=(0.9,), alpha=0.1, delta=0.1)
    source = Source("gold.jsonl sha256:0", 0.1, TODAY, 90)
    return certify(results, {stage.name: stage for stage in stages()}, source)


def test_certificates_are_bound_to_check_stages_and_dates():
    first, second = certificates()
    assert (first.fingerprint, first.settles, first.pass_at) == ("A", PASS_ONLY, 0.9)
    assert (first.after, second.after) == ((), ("a (A): pass at 0.9",))
    assert (second.n, second.delta, second.expires) == (90, 0.05, TODAY + 90 * DAY)


def test_a_file_of_certificates_is_what_a_strict_cascade_obeys(tmp_path):
    made = certificates()
    write_certificates(tmp_path / "c.yaml", made)
    assert list(read_certificates(tmp_path / "c.yaml").values()) == made
    gates = {
        name: {
            "settles": PASS_ONLY,
            "gate": Gate(certificate=load_certificate(f"c.yaml#{name}", tmp_path)),
        }
        for name in ("a", "b")
    }
    report = run(*stages(**gates), strict=True)
    assert (report.verdict, report.stage, report.certificate) == (PASS, "a", "valid")
    assert [path.name for path in tmp_path.iterdir()] == ["c.yaml"]


def test_strata_stand_side_by_side_in_a_file(tmp_path):
    made = [certificate(stage="a", stratum="acme"), certificate(stage="a", stratum="b#c")]
    write_certificates(tmp_path / "c.yaml", made)
    assert load_certificate("c.yaml#a@acme", tmp_path).stratum == "acme"
    assert load_certificate("c.yaml#a@b#c", tmp_path).stratum == "b#c"


@pytest.mark.parametrize(
    ("pointer", "sentence"),
    [
        ("c.yaml", "write the file and the stage"),
        ("#a", "write the file and the stage"),
        ("c.yaml#", "write the file and the stage"),
        ("c.yaml#z", 'has no certificate "z": it has "a"'),
        ("none.yaml#a", "none.yaml: No such file"),
        ("other.yaml#a", "other.yaml is no file of certificates"),
        ("list.yaml#a", "certificates is a list"),
        ("broken.yaml#a", "broken.yaml: certificates.a.fingerprint is missing"),
        ("latin.yaml#a", "latin.yaml is not UTF-8"),
    ],
)
def test_a_pointer_that_leads_nowhere_says_where_it_ended(tmp_path, pointer, sentence):
    write_certificates(tmp_path / "c.yaml", [certificate(stage="a")])
    (tmp_path / "other.yaml").write_text("cascades: {}")
    (tmp_path / "list.yaml").write_text("aucert_certificates: 1\ncertificates: [a]")
    (tmp_path / "broken.yaml").write_text("aucert_certificates: 1\ncertificates: {a: {}}")
    (tmp_path / "latin.yaml").write_bytes(b"\xff")
    with pytest.raises(ConfigurationError) as refused:
        load_certificate(pointer, tmp_path)
    assert sentence in str(refused.value)


def test_a_check_without_a_fingerprint_cannot_be_certified():
    (result,) = calibrate(
        [Trial((Judged("a", PASS, 0.9, right=True),))],
        [Planned("a")],
        grid=(0.9,),
        alpha=0.1,
        delta=0.1,
    )
    unbound = {"a": Stage(says(passing(), name="a", fingerprint=None))}
    with pytest.raises(ConfigurationError, match="has no fingerprint"):
        certify([result], unbound, Source("d", 0.1, TODAY, 1))


# On the trace


@pytest.mark.parametrize(
    ("given", "written"),
    [
        (None, {"aucert.certified": False}),
        (certificate(), {"aucert.certified": True, "aucert.certificate": "valid"}),
        (
            certificate(issued=TODAY - DAY, expires=TODAY - DAY),
            {"aucert.certified": False, "aucert.certificate": "expired"},
        ),
        (
            certificate(fingerprint="g"),
            {"aucert.certified": False, "aucert.certificate": "foreign"},
        ),
    ],
)
def test_the_span_says_what_the_certificate_is_worth(given, written, recorder):
    stage = Stage(says(passing()), gate=Gate(certificate=given))
    Harness(Cascade("c", [stage]), telemetry=recorder.telemetry()).verify(ANSWER)
    (span,) = [span for span in recorder.spans if span.name.startswith("aucert.verify")]
    shown = {k: v for k, v in span.attributes.items() if k.startswith("aucert.certif")}
    assert shown == written
