"""A chat model that is wrapped directly, with nobody listening: cheaper, and read all the same."""

from __future__ import annotations

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.prompt_values import ChatPromptValue
from langchain_core.runnables import RunnableLambda
from langchain_core.tracers import context as tracers
from support.langchain_parts import ASK, says, support_chain

from aucert_integrations.langchain import VerificationHandler, verified
from aucert_integrations.langchain.held import held
from aucert_otel import Finding, HandedToPerson, Harness, Message, Reason, Usage, Verdict


class Listens(BaseCallbackHandler):
    """Notes the runs that it hears of."""

    def __init__(self):
        self.heard = []

    def on_chain_start(self, serialized, inputs, **kwargs):
        self.heard.append(kwargs["name"])

    def on_chat_model_start(self, serialized, messages, **kwargs):
        self.heard.append("model")


def written(**more):
    return AIMessage(
        "see 118",
        usage_metadata={"input_tokens": 3, "output_tokens": 2, "total_tokens": 5},
        response_metadata={"finish_reason": "stop", **more},
    )


class Named(GenericFakeChatModel):
    """A model that says what it is called."""

    model: str = "scripted-1"


INPUTS = [
    "Where is it?",
    [SystemMessage("Be brief."), HumanMessage("Where is it?")],
    [("system", "Be brief."), ("human", "Where is it?")],
    ChatPromptValue(messages=[HumanMessage("Where is it?"), AIMessage("Here."), HumanMessage("?")]),
]


@pytest.mark.parametrize("given", INPUTS)
@pytest.mark.parametrize("more", [{}, {"model_name": "own-name", "model_provider": "own"}])
def test_it_is_read_just_as_a_callback_would_read_it(given, more, cited, harness):
    def model():
        return Named(messages=iter([written(**more)]), metadata={"aucert_tenant": "acme"})

    config = {"metadata": {"aucert_question": "Outright?"}, "tags": ["t"]}
    verified(model(), harness, otherwise="no").invoke(given, config)
    # Behind a sequence the model is no longer called directly, so a callback reads it.
    chained = model() | (lambda message: message)
    verified(chained, harness, otherwise="no").invoke(given, config)
    direct, heard = cited.read
    assert direct == heard
    assert direct.tenant == "acme"
    assert direct.model == more.get("model_name", "scripted-1")
    assert direct.usage == Usage(3, 2)
    assert direct.messages[-1].role == "user"


def test_without_a_word_outright_the_question_is_the_input(cited, harness):
    verified(says("see 118"), harness, otherwise="no").invoke("Where is it?")
    assert cited.read[0].question == "Where is it?"
    assert cited.read[0].messages == (Message("user", "Where is it?"),)


def test_whoever_listens_still_hears_of_the_wrappers_run(harness):
    listens = Listens()
    built = verified(says("see 118"), harness, otherwise="no", name="reply")
    built.invoke("q", {"callbacks": [listens], "run_name": "named"})
    assert listens.heard == ["named", "model"]


def test_the_run_name_of_a_silent_wrapper_does_not_become_the_models(harness):
    listens = Listens()
    model = says("see 118", callbacks=[listens])
    names = []
    listens.on_chat_model_start = lambda *_, **kwargs: names.append(kwargs.get("name"))
    verified(model, harness, otherwise="no").invoke("q", {"run_name": "named"})
    assert names == [None]


def test_a_repair_asks_the_model_again(cited, harness):
    built = verified(says("see 212", "see 118"), harness, otherwise=HandedToPerson)
    assert built.invoke("Where?").content == "see 118"
    assert [read.output for read in cited.read] == ["see 212", "see 118"]
    assert cited.read[1].question == "Where?"


def test_a_stronger_chains_evidence_is_gathered(recorder):
    read = []

    def weak(generation):
        """Without a fact from outside there is nothing to repair with."""
        read.append(generation)
        if "118" in generation.output:
            return Finding("cites", Verdict.PASS)
        return Finding("cites", Verdict.FAIL, reason=Reason.UNSUPPORTED)

    harness = Harness([weak], telemetry=recorder.telemetry(), name="reply")
    stronger = RunnableLambda(lambda _: ASK) | support_chain(says("see 118"))
    built = verified(says("see nothing"), harness, otherwise="no", escalate=stronger)
    assert built.invoke("Where?") == "see 118"
    assert [p.id for p in read[-1].evidence] == ["118", "140"]


def test_a_handler_of_the_whole_process_leaves_it_alone(cited, harness, monkeypatch):
    from contextvars import ContextVar

    handler = VerificationHandler(harness)
    var = ContextVar("watching", default=handler)
    monkeypatch.setattr(tracers, "_configure_hooks", [(var, True, None, None)])
    verified(says("see 118"), harness, otherwise="no").invoke("q")
    assert harness.flush(20)
    assert len(cited.read) == 1
    assert handler.open_runs == 0


@pytest.mark.parametrize("ends", ["ships", "raises", "asks for tools"])
def test_nothing_stays_set_in_the_callers_context(ends, harness):
    class Broken(GenericFakeChatModel):
        def _generate(self, *args, **kwargs):
            raise LookupError

    call = {"name": "f", "args": {}, "id": "1", "type": "tool_call"}
    said = AIMessage("", tool_calls=[call]) if ends == "asks for tools" else "see 118"
    kind = Broken if ends == "raises" else GenericFakeChatModel
    built = verified(kind(messages=iter([said])), harness, otherwise="no")
    if ends == "raises":
        with pytest.raises(LookupError):
            built.invoke("q")
    else:
        built.invoke("q")
    assert held.get() is False
