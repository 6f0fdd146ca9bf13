"""What is LangChain's own: callbacks, models without structured output, and who is verified."""

from __future__ import annotations

import contextvars
import json

import pytest


pytest.importorskip("langchain_core")

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import FakeListChatModel
from langchain_core.runnables import RunnableLambda
from langchain_core.tracers.context import register_configure_hook
from support.langchain_parts import Cited

from aucert_integrations.langchain import ChatModelJudge, VerificationHandler
from aucert_otel import Generation, Harness
from aucert_otel.llm import ChatMessage, complete
from aucert_verifiers.stages import SelfConfidence
from aucert_verifiers.stages.prompts import VERDICT_SCHEMA


SAID = json.dumps({"reasoning": "so", "verdict": "pass", "confidence": 98})
ASK = [ChatMessage("user", "Is it so?")]

_globally: contextvars.ContextVar = contextvars.ContextVar("tests.judges", default=None)
register_configure_hook(_globally, inheritable=True)


class Heard(BaseCallbackHandler):
    run_inline = True

    def __init__(self):
        self.models = 0

    def on_chat_model_start(self, *args, **kwargs):
        self.models += 1


def test_a_model_without_structured_output_is_asked_in_words():
    found = complete(
        ChatModelJudge(FakeListChatModel(responses=[SAID])),
        ASK,
        schema=VERDICT_SCHEMA,
        temperature=0.5,
        seed=1,
    )
    assert found.data == json.loads(SAID)
    assert set(found.dropped) == {"schema", "temperature", "seed"}
    assert not found.temperature_applied


def test_a_chain_is_refused():
    with pytest.raises(TypeError, match="not a chain"):
        ChatModelJudge(RunnableLambda(str))  # type: ignore[arg-type]


def test_the_judges_calls_are_no_part_of_the_chain_that_is_judged():
    heard = Heard()
    harness = Harness([SelfConfidence(ChatModelJudge(FakeListChatModel(responses=[SAID])))])
    chain = RunnableLambda(
        lambda text: harness.verify(Generation(text, question="?")).report.verdict
    )
    assert chain.invoke("It is.", {"callbacks": [heard]}) == "pass"
    assert heard.models == 0


def test_a_handler_for_the_whole_process_does_not_verify_a_judge(recorder):
    cited = Cited()
    harness = Harness([cited], telemetry=recorder.telemetry())
    token = _globally.set(VerificationHandler(harness))
    try:
        judge = ChatModelJudge(FakeListChatModel(responses=[SAID]))
        complete(judge, ASK)
        Harness([SelfConfidence(judge)]).verify(Generation("It is.", question="Is it?"))
        assert harness.flush(20)
        assert cited.read == []
        FakeListChatModel(responses=["see 212"]).invoke("a real answer")
        assert harness.flush(20)
        assert len(cited.read) == 1
    finally:
        _globally.reset(token)
