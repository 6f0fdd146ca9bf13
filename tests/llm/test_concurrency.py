"""How many calls run at once, who waits, and what cancelling leaves behind."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from support.llm_cases import ASK
from support.llm_server import Answer, failing

from aucert_otel.background import worker
from aucert_otel.errors import ConfigurationError
from aucert_otel.llm import complete, spending


def on_worker(work):
    """Run on the SDK's own loop, where stages run."""
    return worker().run(work)


def test_no_more_run_at_once_than_allowed_and_all_get_their_turn(api):
    gate = threading.Event()
    held = api.answer("yes")
    api.server.answer = lambda _: Answer(held.body, gate=gate)
    model = api.client(concurrency=3)

    async def run() -> list[str]:
        calls = [asyncio.ensure_future(model.complete(ASK)) for _ in range(10)]
        await asyncio.to_thread(api.server.wait_for_requests, 3)
        gate.set()
        return [completion.text for completion in await asyncio.gather(*calls)]

    assert on_worker(run()) == ["yes"] * 10
    assert api.server.most_at_once == 3


def test_a_place_is_free_while_a_call_pauses(api):
    api.server.script(failing(503), api.answer("second"), api.answer("first"))
    paused, go = asyncio.Event(), asyncio.Event()

    async def sleep(_: float) -> None:
        paused.set()
        await go.wait()

    model = api.client(concurrency=1, retry=api.retry(sleep=sleep))

    async def run() -> tuple[str, str]:
        first = asyncio.ensure_future(model.complete(ASK))
        await paused.wait()
        second = await model.complete(ASK)
        go.set()
        return (await first).text, second.text

    assert on_worker(run()) == ("first", "second")


def test_cancelled_waiters_and_calls_give_their_places_back(api):
    gate = threading.Event()
    held = api.answer("late")
    api.server.script(Answer(held.body, gate=gate), api.answer("yes"))
    model = api.client(concurrency=1)

    async def run() -> tuple[str, object]:
        with spending() as spent:
            calls = [asyncio.ensure_future(model.complete(ASK)) for _ in range(5)]
            await asyncio.to_thread(api.server.wait_for_requests, 1)
            for call in calls:
                call.cancel()
            ended = await asyncio.gather(*calls, return_exceptions=True)
            assert all(isinstance(end, asyncio.CancelledError) for end in ended)
        return (await model.complete(ASK)).text, spent

    text, spent = on_worker(run())
    gate.set()

    assert text == "yes"
    assert spent.calls == 5
    # One request had gone out; the provider may bill it, and nobody will see the bill.
    assert spent.attempts == 1
    assert spent.cost_usd is None
    assert spent.unpriced == ("judge-1 (abandoned)",)


def test_a_cancelled_call_ends_its_span_and_stays_cancelled(api, out):
    gate = threading.Event()
    api.server.script(Answer(gate=gate))
    model = api.client()

    async def run() -> None:
        async with asyncio.timeout(5):
            call = asyncio.ensure_future(model.complete(ASK))
            await asyncio.to_thread(api.server.wait_for_requests, 1)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call

    on_worker(run())
    gate.set()

    assert out.span("chat judge-1").attributes["error.type"] == "CancelledError"


def test_a_callers_deadline_is_the_callers_own_timeout(api):
    gate = threading.Event()
    api.server.script(Answer(gate=gate))

    async def run() -> None:
        async with asyncio.timeout(0.1):
            await api.client().complete(ASK)

    with pytest.raises(TimeoutError):
        asyncio.run(run())
    gate.set()


def test_a_warm_connection_is_used_again(api):
    api.server.answer = lambda _: api.answer("yes")
    model = api.client(concurrency=8)

    for _ in range(5):
        api.ask(model)

    assert api.server.connections == 1


def test_any_loop_and_any_thread_may_ask_one_model(api):
    api.server.answer = lambda _: api.answer("yes")
    model = api.client()
    texts: list[str] = []

    def in_thread() -> None:
        texts.append(asyncio.run(model.complete(ASK)).text)

    threads = [threading.Thread(target=in_thread) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    async def inside_a_running_loop() -> str:
        return complete(model, ASK).text

    texts += [asyncio.run(inside_a_running_loop()), complete(model, ASK).text]
    assert texts == ["yes"] * 6


def test_asking_synchronously_from_the_own_loop_says_what_to_do(api):
    async def run() -> None:
        complete(api.client(), ASK)

    with pytest.raises(RuntimeError, match="would wait for itself"):
        on_worker(run())


def test_a_closed_model_opens_new_connections(api):
    api.server.answer = lambda _: api.answer("yes")
    model = api.client()

    api.ask(model)
    model.close()
    model.close()

    assert api.ask(model).text == "yes"
    asyncio.run(model.aclose())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_model_works_in_a_forked_child_and_still_in_the_parent(api):
    api.server.answer = lambda _: api.answer("yes")
    model = api.client()
    api.ask(model)

    child = os.fork()
    if child == 0:
        try:
            code = 0 if complete(model, ASK).text == "yes" else 1
        except BaseException:
            code = 2
        os._exit(code)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert api.ask(model).text == "yes"
    assert len(api.server.requests) == 3


def test_a_model_nobody_closed_leaves_nothing_open_at_exit(openai_api):
    openai_api.server.script(openai_api.answer("yes"))
    code = f"""
from aucert_otel.llm import ChatMessage, OpenAIChat, complete
model = OpenAIChat("m", base_url={openai_api.server.url!r})
print(complete(model, [ChatMessage("user", "?")]).text)
"""

    done = subprocess.run(
        [sys.executable, "-W", "always::ResourceWarning", "-c", code],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "yes\n", "")


def test_no_places_at_all_are_refused(api):
    with pytest.raises(ConfigurationError, match="concurrency is 0"):
        api.client(concurrency=0)
