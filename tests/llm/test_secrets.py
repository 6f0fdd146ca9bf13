"""A key, a header, a prompt and an answer appear in nothing that leaves or is raised."""

from __future__ import annotations

import json
import logging
import pickle

import pytest
from support.llm_cases import ASK
from support.llm_server import Answer, Seen, as_json, failing

from aucert_otel.llm import ChatMessage, ModelError, OpenAIChat, Timeouts, complete


KEY = "canarykey5f3a9"
HEADER = "canaryheader77"
PROMPT = "canaryprompt42"
SERVER = "canaryserver13"
CANARIES = (KEY, HEADER, PROMPT, SERVER)


def echo(status: int):
    """A server that quotes everything back in its error."""

    def answer(seen: Seen) -> Answer:
        said = f"{json.dumps(dict(seen.headers))} {json.dumps(seen.body)} {SERVER}"
        return as_json({"error": {"message": said, "code": SERVER, "param": SERVER}}, status)

    return answer


BEHAVIOURS = {
    **{str(status): echo(status) for status in (400, 401, 402, 403, 404, 422, 429, 500, 529)},
    "200 with an error": echo(200),
    "html": lambda _: Answer(f"<html>{SERVER}</html>".encode()),
    "another shape": lambda _: as_json({"choices": SERVER, "content": SERVER}),
    "cut": lambda _: Answer(SERVER.encode() * 10, cut_after=20),
    "drip": lambda _: Answer(SERVER.encode() * 1000, drip=True),
    "bad header": lambda _: Answer(b"{}", headers={"transfer-encoding": SERVER}),
    "redirect": lambda _: failing(302, {"location": f"http://127.0.0.1:9/{SERVER}"}),
    "refused": lambda _: as_json(
        {
            "choices": [{"message": {"refusal": SERVER, "content": None}}],
            "content": [{"type": "text", "text": SERVER}],
            "stop_reason": "refusal",
        }
    ),
}


def everything_about(error: BaseException) -> str:
    """What a log, a debugger or an error tracker would print of an exception and its chain."""
    found = []
    seen: set[int] = set()
    stack: list[BaseException | None] = [error]
    while stack:
        one = stack.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        found += [
            str(one),
            repr(one),
            repr(one.args),
            repr(vars(one)),
            repr(one.__notes__) if hasattr(one, "__notes__") else "",
        ]
        stack += [one.__cause__, one.__context__]
    return "\n".join(found)


@pytest.mark.parametrize("behaviour", BEHAVIOURS)
def test_no_canary_in_an_error_a_span_or_a_log(api, out, caplog, behaviour):
    caplog.set_level(logging.DEBUG)
    api.server.answer = BEHAVIOURS[behaviour]
    model = api.client(
        api_key=KEY,
        headers={"x-team": HEADER},
        timeouts=Timeouts(total_s=0.2) if behaviour == "drip" else None,
        retry=api.retry(attempts=2),
    )

    with pytest.raises(ModelError) as caught:
        complete(model, [ChatMessage("system", PROMPT), ChatMessage("user", PROMPT)], temperature=1)

    logged = [(record.name, record.getMessage()) for record in caplog.records]
    ours = [text for name, text in logged if name.startswith("aucert")]
    for place in (everything_about(caught.value), out.everything(), str(ours), repr(model)):
        for canary in CANARIES:
            assert canary not in place
    for canary in (KEY, HEADER, PROMPT):  # the HTTP client's own debug log, too
        assert canary not in str(logged)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@pytest.mark.parametrize("key", ["canarykey5f3a9\nx", "canarykey5f3a9é", "canarykey5f3a9\x00"])
def test_a_key_that_no_header_can_carry_is_not_quoted(api, out, key):
    with pytest.raises(ModelError) as caught:
        complete(api.client(api_key=key), ASK)

    assert KEY not in everything_about(caught.value)
    assert KEY not in out.everything()
    assert "HTTP cannot carry" in str(caught.value)
    assert api.server.requests == []


def test_a_password_in_the_url_is_not_shown(server, out):
    model = OpenAIChat(
        "m", base_url=f"http://user:{KEY}@127.0.0.1:{server.port}/v1?token={KEY}", api_key="k"
    )
    server.script(failing(404))

    with pytest.raises(ModelError) as caught:
        complete(model, ASK)
    model.close()

    assert server.requests[0].path == f"/v1/chat/completions?token={KEY}"
    for place in (everything_about(caught.value), out.everything(), repr(model)):
        assert KEY not in place


def test_a_canary_does_leave_where_it_is_asked_for(api):
    api.server.script(api.answer("yes"))

    complete(api.client(api_key=KEY), [ChatMessage("user", PROMPT)])

    (seen,) = api.server.requests
    assert KEY in str(seen.headers)
    assert PROMPT in str(seen.body)
