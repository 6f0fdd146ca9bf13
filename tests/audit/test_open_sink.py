"""One setting says where records go; a mistake in it is one clear sentence."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aucert_otel.audit import open_sink
from aucert_otel.audit.jsonl import JsonlSink
from aucert_otel.errors import ConfigurationError


def test_three_slashes_are_relative_and_four_are_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert str(open_sink("jsonl:///a.jsonl").path) == "a.jsonl"
    assert open_sink(f"jsonl:///{tmp_path}/a.jsonl").path == tmp_path / "a.jsonl"
    assert str(open_sink("sqlite:///a.db")._file) == "a.db"
    assert open_sink(f"sqlite:///{tmp_path}/a.db")._file == tmp_path / "a.db"


def test_a_bare_path_that_ends_in_jsonl_is_a_file(tmp_path):
    assert isinstance(open_sink(tmp_path / "a.jsonl"), JsonlSink)
    assert isinstance(open_sink(str(tmp_path / "a.jsonl")), JsonlSink)


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "postgresql+psycopg"])
def test_postgresql_is_reached_through_psycopg(scheme):
    assert open_sink(f"{scheme}://u:p@host/db").place == "postgresql+psycopg://u:***@host/db"


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("", "is not a place"),
        ("audit.txt", "'audit.txt' is not a place"),
        ("mysql://u:hunter2@h/d", "no audit log for 'mysql://' URLs"),
        ("postgresql+asyncpg://u:hunter2@h/d", "no audit log for 'postgresql+asyncpg://' URLs"),
        ("redis://:hunter2@h", "no audit log for 'redis://' URLs"),
        ("user:hunter2@host/db", "is not a place"),
        ("jsonl://audit.jsonl", "needs a third slash"),
        ("jsonl:///", "names no file"),
        ("jsonl:///audit.log", "ends in .jsonl"),
        ("sqlite://", "needs a third slash"),
        ("sqlite:///", "names no file"),
        ("sqlite:///:memory:", "lost with its process"),
        (
            "jsonl:///no/such/folder/a.jsonl",
            "'no/such/folder' of the audit log does not exist: create",
        ),
        ("sqlite:///usr/lib/a.db", "write four slashes for an absolute path"),
        ("postgresql://u:hun@ter2@host/db", "more than one @"),
        ("postgresql://u:hunter2@host:ter2/db", "percent-encode"),
        ("postgresql://u:hunter2@host", "names no database"),
    ],
)
def test_what_cannot_work_is_said_with_its_mend_and_without_a_password(url, says):
    with pytest.raises(ConfigurationError) as caught:
        open_sink(url)
    assert says in str(caught.value)
    for secret in ("hunter2", "hun", "ter2"):
        assert secret not in str(caught.value)


def test_a_reader_is_told_that_there_is_no_log(tmp_path):
    for url in (f"sqlite:///{tmp_path}/a.db", tmp_path / "a.jsonl"):
        with pytest.raises(ConfigurationError, match="there is no audit log at"):
            open_sink(url, must_exist=True)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_no_log(tmp_path):
    (tmp_path / "a.jsonl").mkdir()
    with pytest.raises(ConfigurationError, match="is a folder"):
        open_sink(tmp_path / "a.jsonl")


@settings(deadline=None)
@given(
    st.sampled_from(["postgresql://", "postgres://", "mysql://", "postgresql+psycopg://"]),
    st.text(max_size=8),
    st.text(max_size=30),
)
def test_no_sentence_ever_holds_the_password(scheme, junk, tail):
    secret = "QxPwSecretQx"
    try:
        said = repr(open_sink(f"{scheme}user:{secret}{junk}@{tail}"))
    except ConfigurationError as error:
        said = str(error)
    assert secret not in said
