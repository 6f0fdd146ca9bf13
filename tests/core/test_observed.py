from __future__ import annotations

import asyncio
import contextvars

import pytest
from support.answers import passing

from aucert_otel import Cascade, Harness, Match, Sampling, observed


class Watch:
    """A harness that verifies in the background, and the outputs its check saw."""

    def __init__(self, traced):
        self.seen = []
        self.harness = Harness(Cascade("c", [self.check]), telemetry=traced.telemetry)

    def check(self, generation):
        self.seen.append(generation)
        return passing()

    @property
    def outputs(self):
        assert self.harness.flush(20)
        return [generation.output for generation in self.seen]


@pytest.fixture
def watch(traced):
    return Watch(traced)


class OwnError(Exception):
    pass


def test_a_functions_answer_passes_and_is_verified_afterwards(watch):
    reply = {"text": "hello"}

    @observed(watch.harness, question="q", read=lambda value: value["text"])
    def answer(q):
        return reply

    assert answer("hi") is reply
    assert watch.outputs == ["hello"]
    assert watch.seen[0].question == "hi"


def test_a_coroutines_answer_passes_and_is_verified_afterwards(watch):
    @observed(watch.harness)
    async def answer():
        return "hello"

    assert asyncio.run(answer()) == "hello"
    assert watch.outputs == ["hello"]


def echoes():
    """A generator that takes what is sent and thrown, and returns something."""

    def answer():
        said = "a"
        while said is not None:
            try:
                said = yield said
            except OwnError as error:
                said = f"caught {error}"
        return "done"

    return answer


def test_a_stream_passes_chunk_by_chunk_with_send_throw_and_return(watch):
    made = observed(watch.harness)(echoes())()
    assert next(made) == "a"
    assert made.send("b") == "b"
    assert made.throw(OwnError("x")) == "caught x"
    with pytest.raises(StopIteration) as stop:
        next(made)
    assert stop.value.value == "done"
    assert watch.outputs == ["abcaught x"]


def test_an_asynchronous_stream_passes_chunk_by_chunk_with_asend_and_athrow(watch):
    @observed(watch.harness)
    async def answer():
        said = "a"
        while said is not None:
            try:
                said = yield said
            except OwnError as error:
                said = f"caught {error}"

    async def main():
        made = answer()
        assert await anext(made) == "a"
        assert await made.asend("b") == "b"
        assert await made.athrow(OwnError("x")) == "caught x"
        with pytest.raises(StopAsyncIteration):
            await anext(made)

    asyncio.run(main())
    assert watch.outputs == ["abcaught x"]


def test_the_first_chunk_arrives_before_the_second_is_written(watch):
    written = []

    @observed(watch.harness)
    def answer():
        for chunk in ("a", "b"):
            written.append(chunk)
            yield chunk

    made = answer()
    assert next(made) == "a"
    assert written == ["a"]
    assert watch.outputs == []
    assert next(made) == "b"
    assert list(made) == []
    assert watch.outputs == ["ab"]


@pytest.mark.parametrize("ends", ["closed", "raises", "thrown into"])
def test_a_stream_that_does_not_finish_is_not_verified(ends, watch):
    closed = []
    error = OwnError("x")

    @observed(watch.harness)
    def answer():
        try:
            yield "a"
            raise error
        finally:
            closed.append(True)

    made = answer()
    assert next(made) == "a"
    if ends == "closed":
        made.close()
    else:
        with pytest.raises(OwnError) as raised:
            made.throw(error) if ends == "thrown into" else next(made)
        assert raised.value is error
    assert closed == [True]
    assert watch.outputs == []


@pytest.mark.parametrize("ends", ["closed", "raises", "thrown into", "cancelled"])
def test_an_asynchronous_stream_that_does_not_finish_is_not_verified(ends, watch):
    closed = []
    error = OwnError("x")

    @observed(watch.harness)
    async def answer():
        try:
            yield "a"
            if ends == "cancelled":
                await asyncio.Event().wait()
            raise error
        finally:
            closed.append(True)

    async def main():
        made = answer()
        assert await anext(made) == "a"
        if ends == "closed":
            await made.aclose()
        elif ends == "cancelled":
            reader = asyncio.ensure_future(anext(made))
            await asyncio.sleep(0)
            reader.cancel()
            with pytest.raises(asyncio.CancelledError):
                await reader
        else:
            with pytest.raises(OwnError) as raised:
                await (made.athrow(error) if ends == "thrown into" else anext(made))
            assert raised.value is error
        assert closed == [True]

    asyncio.run(main())
    assert watch.outputs == []


def test_what_cannot_be_verified_still_reaches_the_caller(watch, guards_swallow):
    @observed(watch.harness, read=lambda value: value["absent"])
    def answer():
        return {}

    assert answer() == {}
    assert watch.outputs == []


def test_a_function_that_raises_is_not_verified(watch):
    error = OwnError()

    @observed(watch.harness)
    def answer():
        raise error

    with pytest.raises(OwnError) as raised:
        answer()
    assert raised.value is error
    assert watch.outputs == []


def test_what_sampling_leaves_out_passes_all_the_same(traced):
    watch = Watch(traced)
    watch.harness.sampling = Sampling(1.0, never=(Match(tenant="acme"),))

    @observed(watch.harness, tenant="acme")
    def answer():
        return "hello"

    assert answer() == "hello"
    assert watch.outputs == []


def test_nothing_is_left_in_the_callers_context(watch):
    before = dict(contextvars.copy_context())
    made = observed(watch.harness)(echoes())()
    for _ in range(2):
        made.send(None)
        assert dict(contextvars.copy_context()) == before
        made = observed(watch.harness)(echoes())()
    made.close()
    assert dict(contextvars.copy_context()) == before
