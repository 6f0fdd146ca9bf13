from __future__ import annotations

import threading

import pytest
from support.answers import ARTICLE

from aucert_otel import ConfigurationError, Generation, Message
from aucert_otel.generation import check_known, with_known


def test_an_answer_that_is_no_text_is_refused_with_the_mend():
    with pytest.raises(TypeError, match=r"output is dict, not text: .* raw="):
        Generation({"reply": "yes"})  # type: ignore[arg-type]


def test_an_application_object_is_carried_by_reference_and_handed_back():
    native = threading.Lock()  # cannot be copied or pickled
    generation = Generation("text", raw=native, metadata={"client": native})
    assert generation.value is native
    assert Generation("text").value == "text"
    assert "lock" not in repr(generation)


def test_not_knowing_the_evidence_is_not_the_same_as_finding_none():
    assert Generation("a").evidence is None
    assert Generation("a", evidence=[]).evidence == ()  # type: ignore[arg-type]
    assert Generation("a", evidence=[ARTICLE]).evidence == (ARTICLE,)  # type: ignore[arg-type]


def test_what_a_generation_says_itself_stands():
    own = Generation("a", tenant="own", evidence=())
    filled = with_known(
        own, {"tenant": "known", "question": "q", "evidence": (ARTICLE,), "messages": ()}
    )
    assert (filled.tenant, filled.question, filled.evidence) == ("own", "q", ())
    assert with_known(own, {}) is own


def test_what_it_leaves_open_is_filled_in():
    said = (Message("user", "hi"),)
    assert with_known(Generation("a"), {"messages": said}).messages == said


def test_an_unknown_field_is_named_with_the_allowed_ones():
    with pytest.raises(ConfigurationError, match=r"run\(\) was given modle, .* allowed are as_of,"):
        check_known({"modle": "x"}, "run()")
    with pytest.raises(ConfigurationError, match="was given output"):
        check_known({"output": "x"}, "run()")
