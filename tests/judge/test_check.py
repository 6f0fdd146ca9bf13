"""What is reported about a rubric, from Python and by ``aucert rubric check``."""

from __future__ import annotations

import pytest
from support.command import aucert

from aucert_otel import ConfigurationError
from aucert_verifiers.judge import (
    Criterion,
    Rubric,
    Source,
    Sources,
    check_rubric,
    default_rubric,
    text_hash,
)


TEXT = "Damage must be reported within 48 hours of delivery."


ARTICLE = Source("article 305", "3")


def rubric(holds="The reply is kind.", source=ARTICLE, **more):
    given = {"fails": "It scolds.", "unclear": "It jokes.", **more}
    return Rubric([Criterion("kind", holds, source=source, **given)])


def kinds(found, sources=None):
    return [problem.kind.value for problem in check_rubric(found, sources)]


def test_the_default_rubric_has_no_problem():
    assert check_rubric(default_rubric()) == ()


@pytest.mark.parametrize(
    "holds",
    [
        "Does the reply leave a question unanswered?",
        "Is every claim supported?",
        "Every claim is supported by a passage?",
        "The reply contradicts a passage.",
        "The reply leaves a question unanswered.",
        "A claim in the reply is wrong.",
        "The reply is missing the deadline.",
        "The reply fails to name a deadline.",
        "The reply hallucinates.",
        "The reply does not answer the question.",
        "The answer isn't supported by the passages.",
        "The reply is polite. It invents a deadline.",
        "The reply ignores the request.",
        "Tone is rude.",
    ],
)
def test_a_criterion_phrased_as_a_defect_is_reported(holds):
    assert kinds(rubric(holds)) == ["defect"]


@pytest.mark.parametrize(
    "holds",
    [
        *(criterion.holds for criterion in default_rubric()),
        "Nothing in the reply contradicts a passage.",
        "The reply contains no invented deadline.",
        "The reply never promises a delivery date.",
        "The reply does not name a competitor.",
        "No question is left unanswered.",
        "The reply says how damage is reported.",
        "The reply is free of errors.",
        "The customer hears what to do if the parcel is late.",
    ],
)
def test_a_condition_that_a_good_reply_meets_is_not(holds):
    assert kinds(rubric(holds)) == []


def test_what_is_missing_is_reported():
    assert kinds(rubric(fails="", unclear=" ", source=None)) == [
        "no_fail",
        "no_unclear",
        "no_source",
    ]
    assert kinds(rubric(source=Source("article 305"))) == ["no_version"]


@pytest.mark.parametrize(
    ("written_for", "now", "said"),
    [
        (Source("a", "3"), Source("a", "3"), []),
        (Source("a", "3"), Source("a", "4"), ["source_changed"]),
        (Source("a", "3"), Source("b", "3"), ["source_missing"]),
        (Source("a", "3"), Source("a", sha256=text_hash(TEXT)), ["no_version"]),
        (Source("a", sha256=text_hash(TEXT)), Source("a", "9", text_hash(TEXT)), []),
        (Source("a", "3", text_hash(TEXT)), Source("a", "3", text_hash("72")), ["source_changed"]),
        (Source("a", "3", text_hash(TEXT)), Source("a", "4", text_hash("72")), ["source_changed"]),
    ],
)
def test_a_source_that_changed_since_is_reported(written_for, now, said):
    assert kinds(rubric(source=written_for), Sources({now.name: now})) == said


def test_the_hash_is_of_what_a_person_reads():
    assert text_hash("a\u0301  \r\nb\n\n") == text_hash("\u00e1\nb")
    assert text_hash("48 hours") != text_hash("72 hours")


def test_sources_are_read_from_files_and_folders(tmp_path):
    (tmp_path / "kb.yaml").write_text(
        "- {id: 305, version: 3, latest_version: 4, text: x}\n- {name: b, version: '1'}\n"
    )
    (tmp_path / "more.json").write_text('{"c": {"version": "2", "text": "y"}}')
    (tmp_path / "handbook.md").write_text("z\n")
    (tmp_path / "picture.png").write_bytes(b"\x89")
    known = Sources.load(tmp_path).known
    assert known == {
        "305": Source("305", "4", text_hash("x")),
        "b": Source("b", "1"),
        "c": Source("c", "2", text_hash("y")),
        "handbook": Source("handbook", None, text_hash("z")),
    }
    assert Sources.load(tmp_path / "more.json").known.keys() == {"c"}


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.json", "{", "this is not JSON"),
        ("a.yaml", "text", "it must hold a list of sources, or a mapping of them"),
        ("a.yaml", "[text]", 'entry 1 is "text": it must be a mapping with id, version and text'),
        ("a.yaml", "[{version: 1}]", "entry 1 has no id: name the source"),
        ("a.yaml", "[{id: 1, text: [2]}]", "entry 1.text is a list: it must be a text"),
        ("a.yaml", "[{id: 1}, {id: '1'}]", 'the source "1" is there twice: keep one'),
    ],
)
def test_sources_that_cannot_be_read_are_refused(tmp_path, name, text, said):
    (tmp_path / name).write_text(text)
    with pytest.raises(ConfigurationError, match=r"^.*: ") as error:
        Sources.load(tmp_path / name)
    assert str(error.value).endswith(said)
    with pytest.raises(ConfigurationError, match="the sources cannot be read"):
        Sources.load(tmp_path / "nowhere")


RUBRIC = """
name: tone
criteria:
  kind:
    holds: The reply is kind.
    fails: It scolds.
    unclear: It jokes.
    source: {name: "305", version: 3}
"""


def test_the_command_reports_and_exits_with_one(tmp_path):
    (tmp_path / "r.yaml").write_text(RUBRIC)
    (tmp_path / "kb.yaml").write_text('- {id: "305", version: 4, text: x}')
    done = aucert("rubric", "check", "r.yaml", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "tone: 1 criteria, 0 problems; whether sources changed was not looked at (--sources)\n"
    )
    done = aucert("rubric", "check", "r.yaml", "--sources", "kb.yaml", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout == (
        'criteria.kind: its source "305" is at version "4" by now, and it was written for "3": read '
        "it again, then write down the version\ntone: 1 criteria, 1 problem\n"
    )


def test_the_command_exits_with_two_where_a_file_is_unusable(tmp_path):
    for words in (["nowhere.yaml"], ["default", "--sources", "nowhere"]):
        done = aucert("rubric", "check", *words, cwd=tmp_path)
        assert done.returncode == 2
        assert "cannot be read" in done.stderr
    (tmp_path / "r.yaml").write_text("criteria: {a: {holds: \x1b[2J}}")
    done = aucert("rubric", "check", "r.yaml", cwd=tmp_path)
    assert done.returncode == 2
    assert "\x1b" not in done.stderr + done.stdout
    assert aucert("rubric", "check", "default", cwd=tmp_path).returncode == 0
    assert "check" in aucert("rubric", "--help", cwd=tmp_path).stdout
