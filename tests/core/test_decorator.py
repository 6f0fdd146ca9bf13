from __future__ import annotations

import asyncio
import contextvars
import copy
import functools
import inspect
import pickle
import threading

import pytest
from opentelemetry import trace
from support import decorated
from support.answers import ARTICLE, Judge, failing, good_words, passing

from aucert_otel import (
    Cascade,
    ConfigurationError,
    Generation,
    HandedToPerson,
    Harness,
    Passage,
    verified,
)


BAD = "within 30 days"
GOOD = "within 48 hours"


class Catch:
    """A check that keeps the generations it saw."""

    name = "catch"

    def __init__(self, found=None):
        self.found = found or (lambda g: failing() if "30 days" in g.output else passing())
        self.seen = []

    def verify(self, generation):
        self.seen.append(generation)
        return self.found(generation)


@pytest.fixture
def catch():
    return Catch()


@pytest.fixture
def harness(catch, traced):
    return Harness(Cascade("c", [catch]), telemetry=traced.telemetry)


def plain(*pieces):
    def answer():
        return "".join(pieces)

    return answer


def coroutine(*pieces):
    async def answer():
        await asyncio.sleep(0)
        return "".join(pieces)

    return answer


def stream(*pieces):
    def answer():
        yield from pieces

    return answer


def async_stream(*pieces):
    async def answer():
        for piece in pieces:
            await asyncio.sleep(0)
            yield piece

    return answer


KINDS = [plain, coroutine, stream, async_stream]


def call(function, *args, **kwargs):
    """What a function of any kind gives, as one text."""
    result = function(*args, **kwargs)
    if inspect.isasyncgen(result):

        async def read():
            return [chunk async for chunk in result]

        return "".join(asyncio.run(read()))
    if inspect.iscoroutine(result):
        return asyncio.run(result)
    return "".join(result) if inspect.isgenerator(result) else result


@pytest.mark.parametrize("kind", KINDS)
def test_a_clean_answer_arrives_whatever_the_kind(kind, harness, catch):
    function = verified(harness, otherwise="no")(kind("within ", "48 hours"))
    assert call(function) == GOOD
    assert [g.output for g in catch.seen] == [GOOD]


@pytest.mark.parametrize("kind", KINDS)
def test_a_rejected_answer_never_reaches_the_caller(kind, harness):
    function = kind("within ", "30 days")
    assert call(verified(harness, otherwise="a person will answer")(function)) == (
        "a person will answer"
    )
    assert call(verified(harness, otherwise=lambda o: o.decision.row)(function)) == "failed"
    with pytest.raises(HandedToPerson, match="handed to a person: it failed") as raised:
        call(verified(harness, otherwise=HandedToPerson)(function))
    assert raised.value.outcome.generation.output == BAD


TESTS = [
    inspect.isfunction,
    inspect.iscoroutinefunction,
    inspect.isgeneratorfunction,
    inspect.isasyncgenfunction,
]


@pytest.mark.parametrize("kind", KINDS)
def test_inspect_sees_what_it_saw(kind, harness):
    function = kind("x")
    function.__doc__ = "Answers."
    function.tag = 7
    wrapped = verified(harness, otherwise="no")(function)
    for test in TESTS:
        assert test(wrapped) == test(function)
    assert inspect.signature(wrapped) == inspect.signature(function)
    assert (wrapped.__name__, wrapped.__qualname__) == (function.__name__, function.__qualname__)
    assert (wrapped.__doc__, wrapped.__module__, wrapped.tag) == ("Answers.", __name__, 7)
    assert wrapped.__wrapped__ is function


def test_methods_of_every_kind_are_held(harness):  # noqa: C901 - one class with a method of each kind
    hold = verified(harness, otherwise="no", question="q")

    class Agent:
        good = GOOD

        @hold
        def method(self, q):
            return self.good

        @hold
        async def amethod(self, q):
            return self.good

        @hold
        def stream(self, q):
            yield self.good

        @classmethod
        @hold
        def below_class(cls, q):
            return cls.good

        @hold
        @classmethod
        def above_class(cls, q):
            return cls.good

        @staticmethod
        @hold
        def below_static(q):
            return GOOD

        @hold
        @staticmethod
        def above_static(q):
            return GOOD

        @hold
        @classmethod
        async def class_stream(cls, q):
            yield cls.good

    class Bad(Agent):
        good = BAD

    for name in ("method", "amethod", "stream", "class_stream", "below_class", "above_class"):
        assert call(getattr(Agent(), name), "q") == GOOD
        assert call(getattr(Bad(), name), "q") == "no"
    for name in ("below_class", "above_class", "class_stream"):
        assert inspect.ismethod(getattr(Bad, name))
        assert call(getattr(Bad, name), q="q") == "no"
    for name in ("below_static", "above_static"):
        assert call(getattr(Agent, name), "q") == GOOD
        assert isinstance(inspect.getattr_static(Agent, name), staticmethod)
    assert inspect.isasyncgenfunction(Agent.class_stream)
    assert inspect.iscoroutinefunction(Agent().amethod)


def test_decorated_functions_can_be_pickled_and_copied():
    for function in (decorated.held, decorated.seen):
        assert pickle.loads(pickle.dumps(function)) is function
        assert copy.deepcopy(function) is function
    method = decorated.Agent.reply
    assert pickle.loads(pickle.dumps(method))(GOOD) == GOOD


def test_the_exception_a_caller_chose_can_be_pickled():
    error = decorated.handed()
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.outcome) == (str(error), error.outcome)
    assert type(again) is HandedToPerson


@pytest.mark.parametrize("given", ["keyword", "position", "left out"])
def test_a_function_that_takes_repair_is_asked_again(given, harness):
    requests = []

    @verified(harness, otherwise="no", question="q")
    def answer(q, tone="kind", repair=None):
        requests.append((q, tone, repair))
        return BAD if repair is None else GOOD

    calls = {
        "keyword": lambda: answer("hi", repair=None),
        "position": lambda: answer("hi", "kind", None),
        "left out": lambda: answer(q="hi"),
    }
    assert calls[given]() == GOOD
    (first, second) = requests
    assert first == ("hi", "kind", None)
    assert second[:2] == ("hi", "kind")
    assert (second[2].draft, second[2].message) == (BAD, "hi")


@pytest.mark.parametrize("kind", ["coroutine", "stream", "async stream"])
def test_every_kind_can_repair(kind, harness):
    def text(repair):
        return BAD if repair is None else GOOD

    async def coroutine(*, repair=None):
        return text(repair)

    def stream(*, repair=None):
        yield text(repair)

    async def async_stream(*, repair=None):
        yield text(repair)

    functions = {"coroutine": coroutine, "stream": stream, "async stream": async_stream}
    assert call(verified(harness, otherwise="no")(functions[kind])) == GOOD


def test_a_function_without_repair_is_asked_once(harness):
    calls = []

    @verified(harness, otherwise="no")
    def answer(**options):
        calls.append(options)
        return BAD

    assert answer() == "no"
    assert calls == [{}]


@pytest.mark.parametrize("kind", KINDS)
def test_the_stronger_function_gets_the_same_arguments_and_its_answer_the_same_evidence(
    kind, catch, harness
):
    made, stronger = kind(BAD), kind(GOOD)
    asked = []

    def with_arguments(function, name):
        if kind is async_stream:

            async def wrapped(q, docs):
                asked.append((name, q))
                async for chunk in function():
                    yield chunk
        elif kind is coroutine:

            async def wrapped(q, docs):
                asked.append((name, q))
                return await function()
        elif kind is stream:

            def wrapped(q, docs):
                asked.append((name, q))
                yield from function()
        else:

            def wrapped(q, docs):
                asked.append((name, q))
                return function()

        return wrapped

    held = verified(
        harness,
        otherwise="no",
        question="q",
        evidence="docs",
        escalate=with_arguments(stronger, "strong"),
    )(with_arguments(made, "weak"))
    assert call(held, "hi", [ARTICLE]) == GOOD
    assert asked == [("weak", "hi"), ("strong", "hi")]
    assert [(g.question, g.evidence) for g in catch.seen] == [("hi", (ARTICLE,))] * 2


def test_question_and_evidence_come_by_name_by_default_and_by_function(harness, catch):
    @verified(harness, otherwise="no", question="q", evidence="docs", tenant="acme", model="m")
    def by_name(q="default", *, docs=("a text", ARTICLE)):
        return GOOD

    by_name()
    by_name("asked", docs=["one"])
    by_name("asked", docs=None)
    by_name("asked", docs=[])
    assert [g.question for g in catch.seen] == ["default", "asked", "asked", "asked"]
    assert [g.evidence for g in catch.seen] == [
        (Passage("a text"), ARTICLE),
        (Passage("one"),),
        None,
        (),
    ]
    assert {(g.tenant, g.model) for g in catch.seen} == {("acme", "m")}

    @verified(
        harness,
        otherwise="no",
        question=lambda a: a["messages"][-1],
        evidence=lambda a: (text.upper() for text in a["docs"]),
    )
    def by_function(*messages, **more):
        return GOOD

    by_function("hello", "where is it?", docs=["x"])
    assert catch.seen[-1].question == "where is it?"
    assert catch.seen[-1].evidence == (Passage("X"),)


def test_a_parameter_may_be_among_the_keyword_arguments(harness, catch):
    @verified(harness, otherwise="no", question="q")
    def answer(**more):
        return GOOD

    answer(q="hi")
    answer()
    assert [g.question for g in catch.seen] == ["hi", None]


@pytest.mark.parametrize(
    ("docs", "sentence"),
    [
        (3, "evidence is int: give a list of texts or Passage objects"),
        ({"a": 1}, "evidence is dict"),
        ([b"x"], "evidence holds a bytes: give texts or Passage objects, or convert"),
        (
            iter(["a"]),
            "'docs' of answer.. is an iterator, which can be read only once: pass a list",
        ),
    ],
)
def test_evidence_that_is_none_is_refused_before_anybody_writes(docs, sentence, harness):
    calls = []

    @verified(harness, otherwise="no", evidence="docs")
    def answer(docs):
        calls.append(docs)
        return GOOD

    with pytest.raises(TypeError, match=sentence):
        answer(docs)
    assert calls == []


def test_a_question_that_is_no_text_is_refused(harness):
    @verified(harness, otherwise="no", question="q")
    def answer(q):
        return GOOD

    with pytest.raises(TypeError, match=r"question of answer\(\) is list, not text: read it with"):
        answer(["hi"])


def test_a_structured_answer_is_read_and_returned_as_the_very_object(harness, catch):
    reply = {"text": GOOD, "lock": threading.Lock()}

    @verified(harness, otherwise="no", question="q", read=lambda value: value["text"])
    def answer(q):
        return reply

    assert answer("hi") is reply
    assert (catch.seen[0].output, catch.seen[0].question) == (GOOD, "hi")

    whole = verified(
        harness,
        otherwise="no",
        question="q",
        tenant="acme",
        read=lambda value: Generation(value["text"], tenant="own", raw=value["text"]),
    )(answer.__wrapped__)
    assert whole("hi") is reply
    assert (catch.seen[-1].question, catch.seen[-1].tenant) == ("hi", "own")


def test_a_generation_that_a_function_returns_is_what_its_caller_gets(harness):
    generation = Generation(GOOD, raw=object())

    @verified(harness, otherwise="no")
    def answer():
        return generation

    assert answer() is generation


@pytest.mark.parametrize("value", [None, 3, {"a": 1}])
def test_an_answer_nobody_can_read_is_refused_with_the_mend(value, harness):
    @verified(harness, otherwise="no")
    def answer():
        return value

    kind = type(value).__name__
    with pytest.raises(TypeError, match=rf"answer\(\) returned {kind}, not text: .* read=\.\.\."):
        answer()

    @verified(harness, otherwise="no", read=lambda v: v)
    def again():
        return value

    with pytest.raises(TypeError, match=rf"read= made {kind} of the answer of again\(\)"):
        again()


def test_a_coroutine_from_a_plain_function_is_refused_and_closed(harness):
    inner = coroutine("x")

    @verified(harness, otherwise="no")
    def answer():
        return inner()

    with pytest.raises(TypeError, match=r"answer\(\) is a plain function and returned a coroutine"):
        answer()


# Streams


def test_a_held_stream_replays_the_very_chunks_and_its_return_value(harness):
    chunks = [{"delta": "within "}, {"delta": "48 hours"}]

    @verified(harness, otherwise="no", read=lambda got: "".join(c["delta"] for c in got))
    def answer():
        yield from chunks
        return "stop"

    made = answer()
    got = []
    for _ in chunks:
        got.append(next(made))
    with pytest.raises(StopIteration) as stop:
        next(made)
    assert stop.value.value == "stop"
    assert all(a is b for a, b in zip(got, chunks, strict=True))


def test_a_held_stream_shows_nothing_before_its_verdict(harness, catch):
    events = []

    @verified(harness, otherwise="no")
    def answer():
        events.append("begun")
        yield "within "
        events.append("finished")
        yield "48 hours"

    made = answer()
    assert events == []
    assert next(made) == "within "
    assert events == ["begun", "finished"]
    assert len(catch.seen) == 1


def test_an_empty_stream_stays_empty_and_a_chunk_that_is_no_text_needs_a_reader(harness):
    assert list(verified(harness, otherwise="no")(stream())()) == []
    with pytest.raises(TypeError, match=r"answer\(\) yields int, not text: .* read="):
        list(verified(harness, otherwise="no")(stream("a", 3))())


def test_otherwise_may_give_a_stream_its_chunks(harness):
    held = verified(harness, otherwise=lambda outcome: ["a ", "person"])(stream(BAD))
    assert list(held()) == ["a ", "person"]


def test_a_held_stream_closed_early_leaves_nothing_open(harness, traced):
    made = verified(harness, otherwise="no")(stream("within ", "48 hours"))()
    assert next(made) == "within "
    made.close()
    assert list(made) == []
    assert traced.names == ["aucert.verify c", "aucert.generate answer"]

    async def main():
        made = verified(harness, otherwise="no")(async_stream("within ", "48 hours"))()
        assert await anext(made) == "within "
        await made.aclose()
        unread = verified(harness, otherwise="no")(async_stream("x"))()
        await unread.aclose()

    asyncio.run(main())
    assert traced.names == ["aucert.verify c", "aucert.generate answer"] * 2


def test_a_held_stream_may_be_closed_in_another_task_while_it_is_written(harness, traced):
    before = contextvars.copy_context()

    async def main():
        waiting = asyncio.Event()
        closed = []

        @verified(harness, otherwise="no")
        async def answer():
            try:
                yield "within "
                waiting.set()
                await asyncio.Event().wait()
            finally:
                closed.append(True)

        made = answer()
        reader = asyncio.ensure_future(anext(made))
        await waiting.wait()
        reader.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reader
        await asyncio.ensure_future(made.aclose())
        assert closed == [True]

    asyncio.run(main())
    assert traced.span("aucert.generate answer").attributes["error.type"] == "CancelledError"
    assert dict(contextvars.copy_context()) == dict(before)


# Exceptions


class OwnError(Exception):
    pass


@pytest.mark.parametrize("kind", ["plain", "coroutine", "stream", "async stream"])
@pytest.mark.parametrize("error", [OwnError("x"), KeyboardInterrupt()], ids=repr)
def test_what_the_function_raises_arrives_unchanged(kind, error, harness, traced):
    def plain():
        raise error

    async def coroutine():
        raise error

    def stream():
        yield "within"
        raise error

    async def async_stream():
        yield "within"
        raise error

    functions = {
        "plain": plain,
        "coroutine": coroutine,
        "stream": stream,
        "async stream": async_stream,
    }
    with pytest.raises(type(error)) as raised:
        call(verified(harness, otherwise="no")(functions[kind]))
    assert raised.value is error
    assert (error.__cause__, error.__context__) == (None, None)
    (name,) = traced.names
    assert name.startswith("aucert.generate")


def test_a_wrong_call_says_what_the_function_itself_says(harness):
    def answer(q):
        return GOOD

    held = verified(harness, otherwise="no", question=lambda a: a["q"])(answer)
    for args, kwargs in (((), {}), (("a", "b"), {}), (("a",), {"x": 1})):
        with pytest.raises(TypeError) as own:
            answer(*args, **kwargs)
        with pytest.raises(TypeError) as ours:
            held(*args, **kwargs)
        assert str(ours.value) == str(own.value)


def test_otherwise_may_be_asynchronous_and_raise(harness):
    async def apologise(outcome):
        return "sorry"

    async def hand_over(outcome):
        return HandedToPerson(outcome)

    assert call(verified(harness, otherwise=apologise)(coroutine(BAD))) == "sorry"
    assert call(verified(harness, otherwise=apologise)(async_stream(BAD))) == "sorry"
    with pytest.raises(HandedToPerson):
        call(verified(harness, otherwise=hand_over)(coroutine(BAD)))


def test_an_awaitable_that_ships_is_not_awaited(harness):
    async def main():
        future = asyncio.get_running_loop().create_future()

        @verified(harness, otherwise="no", read=lambda value: GOOD)
        async def answer():
            return future

        assert await answer() is future

    asyncio.run(main())


# Mistakes


async def later(outcome):
    return "sorry"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"question": "quest"},
            r"question='quest': answer\(\) has no such parameter; it has q, docs",
        ),
        ({"evidence": "doc"}, r"evidence='doc': answer\(\) has no such parameter"),
        ({"modle": "x"}, r"the decorator of answer\(\) was given modle, .*: allowed are as_of"),
        (
            {"otherwise": later},
            r"otherwise= is a coroutine function, but answer\(\) is a plain function",
        ),
        (
            {"escalate": later},
            r"escalate= is a coroutine function, but answer\(\) is a plain function",
        ),
    ],
)
def test_a_mistake_is_one_sentence_at_decoration(options, sentence, harness):
    def answer(q, docs):
        return GOOD

    with pytest.raises(ConfigurationError, match=sentence):
        verified(harness, **{"otherwise": "no", **options})(answer)


def test_a_repair_parameter_without_a_default_is_refused(harness):
    def answer(q, repair):
        return GOOD

    with pytest.raises(ConfigurationError, match=r"answer\(\) takes repair without a default"):
        verified(harness, otherwise="no")(answer)


@pytest.mark.parametrize(
    "what", [3, property(lambda self: 1), dict], ids=["a number", "a property", "a class"]
)
def test_what_is_no_function_is_refused(what, harness):
    with pytest.raises(ConfigurationError, match="cannot be decorated: it is not a function"):
        verified(harness, otherwise="no")(what)


def test_partials_and_callable_objects_are_functions_too(harness):
    class Calls:
        async def __call__(self):
            return GOOD

    hold = verified(harness, otherwise="no")
    assert call(hold(functools.partial(lambda text: text, GOOD))) == GOOD
    assert call(hold(Calls())) == GOOD


# Context


@pytest.mark.parametrize("kind", ["plain", "coroutine", "stream", "async stream"])
def test_the_generate_span_is_current_inside_and_nothing_is_after(kind, harness, traced):  # noqa: C901 - one function of each kind
    names = []

    def note():
        names.append(trace.get_current_span().name)

    def plain():
        note()
        return GOOD

    async def coroutine():
        note()
        await asyncio.sleep(0)
        note()
        return GOOD

    def stream():
        note()
        yield "within "
        note()
        yield "48 hours"

    async def async_stream():
        note()
        yield "within "
        await asyncio.sleep(0)
        note()
        yield "48 hours"

    function = {
        "plain": plain,
        "coroutine": coroutine,
        "stream": stream,
        "async stream": async_stream,
    }[kind]
    held = verified(harness, otherwise="no")(function)
    with traced.provider.get_tracer("test").start_as_current_span("request") as request:
        before = dict(contextvars.copy_context())

        async def main():
            inside = dict(contextvars.copy_context())
            result = held()
            if inspect.isasyncgen(result):
                async for _ in result:
                    assert dict(contextvars.copy_context()) == inside
            else:
                await result
            assert dict(contextvars.copy_context()) == inside

        if "async" in kind or kind == "coroutine":
            asyncio.run(main())
        elif kind == "stream":
            for _ in held():
                assert dict(contextvars.copy_context()) == before
        else:
            held()
        assert dict(contextvars.copy_context()) == before
    assert set(names) == {f"aucert.generate {function.__name__}"}
    parent = traced.span(f"aucert.generate {function.__name__}").parent
    assert parent.span_id == request.get_span_context().span_id


def test_calls_of_many_threads_and_tasks_do_not_mix(harness, catch):
    def answer(q, repair=None):
        return f"{q}: {BAD if repair is None else GOOD}"

    async def later(q, repair=None):
        await asyncio.sleep(0)
        return answer(q, repair)

    hold = verified(harness, otherwise="no", question="q")
    held, alater = hold(answer), hold(later)
    got = {}
    threads = [
        threading.Thread(target=lambda n=n: got.update({n: held(f"q{n}")})) for n in range(16)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    async def main():
        return await asyncio.gather(*[alater(f"q{n}") for n in range(50)])

    assert got == {n: f"q{n}: {GOOD}" for n in range(16)}
    assert asyncio.run(main()) == [f"q{n}: {GOOD}" for n in range(50)]
    assert all(g.output.startswith(f"{g.question}:") for g in catch.seen)


@pytest.mark.parametrize("kind", KINDS)
def test_inside_a_check_nothing_is_verified(kind, harness, catch):
    held = verified(harness, otherwise="no")(kind(BAD))

    class Asks:
        name = "asks"
        said = None

        async def verify(self, generation):
            result = held()
            if inspect.isasyncgen(result):
                result = "".join([chunk async for chunk in result])
            elif inspect.isawaitable(result):
                result = await result
            self.said = result if isinstance(result, str) else "".join(result)
            return passing()

    asks = Asks()
    assert Harness(Cascade("outer", [asks])).run(lambda request: GOOD).shipped
    assert asks.said == BAD
    assert catch.seen == []


def test_waiting_checks_serve_every_kind(traced):
    made = Harness(Cascade("c", [good_words(), Judge((passing("tone"),))]))
    for kind in KINDS:
        assert call(verified(made, otherwise="no")(kind(GOOD))) == GOOD
