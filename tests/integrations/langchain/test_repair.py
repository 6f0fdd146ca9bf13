"""The one repair: where the request goes, how the ceiling rises, and which runnables can take one."""

from __future__ import annotations

import asyncio
import json
from operator import itemgetter

import pytest
from langchain_core.language_models import FakeListLLM, GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import (
    RunnableBranch,
    RunnableLambda,
    RunnableParallel,
    RunnablePassthrough,
)
from pydantic import Field
from support.langchain_parts import ASK, PROMPT, Articles, says, support_chain, truncated

from aucert_integrations.langchain import verified
from aucert_integrations.langchain.regenerate import AskedAgain, last_model
from aucert_otel import Evidence, Finding, Harness, Reason, RepairRequest, Verdict


PERSON = "A colleague will answer."


class Heard(GenericFakeChatModel):
    """A model that remembers what it was sent."""

    heard: list = Field(default_factory=list)
    kwargs: list = Field(default_factory=list)
    max_tokens: int | None = None

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        self.heard.append(list(messages))
        self.kwargs.append(kwargs)
        return super()._generate(messages, stop, run_manager, **kwargs)


def model(*answers, **options):
    return Heard(messages=iter(answers), **options)


def cut(text, **tokens):
    usage = None
    if tokens:
        usage = {
            "input_tokens": 1,
            "output_tokens": tokens["used"],
            "total_tokens": 1 + tokens["used"],
        }
    return AIMessage(text, response_metadata={"finish_reason": "length"}, usage_metadata=usage)


@pytest.fixture
def complete(recorder):
    return Harness([truncated], telemetry=recorder.telemetry(), name="reply")


# where the request goes


@pytest.mark.parametrize("flavour", ["invoke", "ainvoke"])
def test_a_chain_is_asked_again_behind_its_prompt_and_searches_with_the_same_words(
    flavour, harness, cited
):
    asked, found = model("see 212", "see 118"), Articles()
    built = verified(support_chain(asked, found), harness, otherwise=PERSON)
    answer = built.invoke(ASK) if flavour == "invoke" else asyncio.run(built.ainvoke(ASK))
    assert answer == "see 118"
    assert found.asked == [ASK["question"]] * 2
    first, second = asked.heard
    assert second[:2] == first
    assert [type(m) for m in second[2:]] == [AIMessage, HumanMessage]
    assert second[2].content == "see 212"
    request = json.loads(second[3].content.split("\n", 1)[1])
    assert (request["customer_message"], request["draft"]) == (ASK["question"], "see 212")
    assert request["failed"][0]["evidence"] == {"sentence": "search returned 118 and 140"}
    assert [p["article"] for p in request["passages"]] == ["118", "140"]
    assert [read.question for read in cited.read] == [ASK["question"]] * 2


def test_the_callers_own_messages_are_not_touched(harness):
    given = [HumanMessage("q")]
    asked = model("see 212", "see 118")
    verified(asked, harness, otherwise=PERSON).invoke(given)
    assert given == [HumanMessage("q")]
    assert len(asked.heard[1]) == 3


def test_an_empty_draft_is_not_sent_back(recorder):
    def empty(generation):
        if generation.output:
            return Finding("said", Verdict.PASS)
        fact = (Evidence("no text", "rule"),)
        return Finding("said", Verdict.FAIL, score=0.0, reason=Reason.LENGTH, evidence=fact)

    asked = model("", "see 118")
    built = verified(asked, Harness([empty], telemetry=recorder.telemetry()), otherwise=PERSON)
    assert built.invoke("q").content == "see 118"
    assert [m.type for m in asked.heard[1]] == ["human", "human"]


def test_a_prompt_with_a_place_of_its_own_gets_the_request_there(harness):
    prompt = ChatPromptTemplate.from_messages([("human", "{question}\n{repair}")])
    asked = model("see 212", "see 118")
    built = verified(prompt | asked | StrOutputParser(), harness, otherwise=PERSON)
    assert built.invoke({**ASK, "repair": ""}) == "see 118"
    (message,) = asked.heard[1]
    assert "Fix only the failed claim" in message.content


def test_the_applications_own_repair_decides(harness):
    calls = []

    def answer(given):
        calls.append(given)
        return "see 118" if "fix" in given else "see 212"

    def repair(given, request):
        assert isinstance(request, RepairRequest)
        return {**given, "fix": request.draft}, {"tags": ["again"]}

    built = verified(RunnableLambda(answer), harness, otherwise=PERSON, repair=repair)
    assert built.invoke({"q": "x"}) == "see 118"
    assert calls == [{"q": "x"}, {"q": "x", "fix": "see 212"}]


def second_time(*answers):
    left = list(answers)
    calls = []

    def answer(given):
        calls.append(given)
        return left.pop(0)

    return RunnableLambda(answer), calls


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("q", lambda second: second),
        ([HumanMessage("q")], lambda second: second[-1].content),
        ({"messages": [HumanMessage("q")]}, lambda second: second["messages"][-1].content),
        (PROMPT.invoke({"context": "c", "question": "q"}), lambda second: second[-1].content),
    ],
)
def test_where_no_model_is_to_be_seen_the_input_carries_the_request(given, text, harness):
    built, calls = second_time("see 212", "see 118")
    assert verified(built, harness, otherwise=PERSON).invoke(given) == "see 118"
    assert calls[0] is given
    assert "Your previous answer failed a check" in text(calls[1])


def test_a_rejected_draft_and_its_request_do_not_stay_in_the_returned_conversation(harness):
    left = [AIMessage("see 212"), AIMessage("see 118")]
    graph = RunnableLambda(lambda state: {"messages": [*state["messages"], left.pop(0)], "n": 1})
    given = {"messages": [HumanMessage("q")]}
    result = verified(graph, harness, otherwise=PERSON).invoke(given)
    assert [m.content for m in result["messages"]] == ["q", "see 118"]
    assert (result["n"], given) == (1, {"messages": [HumanMessage("q")]})


def test_what_cannot_take_a_request_is_not_asked_again(harness, recorder):
    built, calls = second_time("see 212")
    assert verified(built, harness, otherwise=PERSON).invoke({"x": 1}) == PERSON
    assert len(calls) == 1
    assert recorder.outline == [("aucert.generate answer", ["aucert.verify reply"])]


def test_a_stronger_runnable_answers_where_no_repair_is_possible(harness, recorder):
    built, _ = second_time("see 212")
    stronger = RunnableLambda(lambda given: f"see 118 for {given['x']}")
    for run in (
        lambda r: r.invoke({"x": 1}),
        lambda r: asyncio.run(r.ainvoke({"x": 1})),
    ):
        built, _ = second_time("see 212")
        assert run(verified(built, harness, otherwise=PERSON, escalate=stronger)) == "see 118 for 1"
    assert recorder.outline[0] == (
        "aucert.generate answer",
        ["aucert.verify reply", ("aucert.escalate", ["aucert.verify reply"])],
    )


def test_a_repair_that_fails_goes_to_a_person_with_both_drafts(harness):
    outcomes = []
    built = support_chain(model("see 212 a", "see 212 b"))
    verified(built, harness, otherwise=outcomes.append).invoke(ASK)
    assert [d.generation.output for d in outcomes[0].drafts] == ["see 212 a", "see 212 b"]


def test_a_repair_that_raises_goes_to_a_person_too(harness, recorder):
    asked = model("see 212")  # and then the iterator is empty
    assert verified(support_chain(asked), harness, otherwise=PERSON).invoke(ASK) == PERSON
    assert recorder.span("aucert.repair").attributes["aucert.repair.outcome"] == "error"


# the ceiling


@pytest.mark.parametrize(
    ("wrap", "options", "draft", "expected"),
    [
        (lambda m: m, {"max_tokens": 50}, cut("one tw"), {"max_tokens": 100}),
        (lambda m: m.bind(max_tokens=30), {"max_tokens": 50}, cut("one tw"), {"max_tokens": 60}),
        (lambda m: m.bind(num_predict=8), {}, cut("one tw"), {"num_predict": 16}),
        (lambda m: m, {}, cut("one tw", used=20), {"max_tokens": 40}),
        (lambda m: m, {}, cut("one tw"), {}),
        (lambda m: m.with_retry(), {"max_tokens": 5}, cut("one tw"), {"max_tokens": 10}),
        (lambda m: m.with_config(tags=["t"]), {"max_tokens": 5}, cut("one tw"), {"max_tokens": 10}),
    ],
)
def test_a_truncated_answer_gets_a_higher_ceiling(wrap, options, draft, expected, complete):
    asked = model(draft, AIMessage("one two three"), **options)
    built = verified(support_chain(wrap(asked)), complete, otherwise=PERSON)
    assert built.invoke(ASK) == "one two three"
    first, second = asked.kwargs
    assert {**first, **expected} == second
    assert "cut off" in asked.heard[1][-1].content


def test_a_prompt_with_its_own_place_gets_the_higher_ceiling_too(complete):
    prompt = ChatPromptTemplate.from_messages([("human", "{question}\n{repair}")])
    asked = model(cut("one tw"), AIMessage("one two three"), max_tokens=50)
    built = verified(prompt | asked, complete, otherwise=PERSON)
    assert built.invoke({**ASK, "repair": ""}).content == "one two three"
    assert (len(asked.heard[1]), asked.kwargs[1]) == (1, {"max_tokens": 100})


def test_an_ordinary_repair_leaves_the_ceiling_alone(harness):
    asked = model("see 212", "see 118", max_tokens=50)
    verified(support_chain(asked), harness, otherwise=PERSON).invoke(ASK)
    assert asked.kwargs == [{}, {}]


# finding the model


def marked(_):
    return RunnableLambda(lambda _, **kwargs: "changed")


STEP = RunnableLambda(lambda x: x)


@pytest.mark.parametrize(
    "build",
    [
        lambda m: m,
        lambda m: STEP | m | StrOutputParser(),
        lambda m: m.bind(stop=["x"]),
        lambda m: (STEP | m).with_retry(),
        lambda m: (STEP | m).with_config(tags=["t"]).bind(),
        lambda m: (STEP | m).with_fallbacks([STEP | m]),
        lambda m: STEP | (says("rewritten") | StrOutputParser()) | m,
        lambda m: RunnableBranch((lambda _: False, STEP), STEP | m),
        lambda m: RunnableBranch((lambda _: True, STEP | m), STEP),
    ],
)
def test_the_last_model_is_found_wherever_it_is(build):
    built = build(says("from the model"))
    changed = last_model(built, marked)
    assert changed.invoke("q") == "changed"
    assert last_model(built, lambda model: model) is not None
    answer = built.invoke("q")
    assert getattr(answer, "content", answer) == "from the model"  # the original is as it was


def test_the_model_of_an_assigned_answer_is_found():
    built = RunnablePassthrough.assign(answer=itemgetter("q") | says("from the model"))
    assert last_model(built, marked).invoke({"q": "x"}) == {"q": "x", "answer": "changed"}


def test_the_one_model_among_branches_is_found_and_two_are_not_guessed_between():
    one = RunnableParallel(answer=says("a"), given=STEP)
    assert last_model(one, marked).invoke("q") == {"answer": "changed", "given": "q"}
    assert last_model(RunnableParallel(a=says("a"), b=says("b")), marked) is None


def test_functions_are_opaque():
    assert last_model(RunnableLambda(lambda q: says("a").invoke(q)), marked) is None


def test_a_model_with_alternatives_is_asked_again_as_configured(harness):
    from langchain_core.runnables import ConfigurableField

    first, other = model("unused"), model("see 212", "see 118")
    either = first.configurable_alternatives(ConfigurableField(id="llm"), other=other)
    built = verified(support_chain(either), harness, otherwise=PERSON)
    assert built.invoke(ASK, {"configurable": {"llm": "other"}}) == "see 118"
    assert (len(first.heard), len(other.heard[1])) == (0, 4)


def test_a_completion_model_gets_the_request_as_text():
    request = RepairRequest((), draft="see 212")
    asked = AskedAgain(model=FakeListLLM(responses=["x"]), request=request)
    assert asked._input("q").startswith("q\n\nYour previous answer")
    assert asked._input([HumanMessage("q")]).startswith("q\n\n")
    assert asked._input(PROMPT.invoke({"context": "c", "question": "q"})).startswith("System: ")
