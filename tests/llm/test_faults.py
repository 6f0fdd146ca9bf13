"""The fault matrix at the client: whatever a server does, it is named, and never an answer."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from support.llm_cases import ANSWER_USD
from support.llm_server import Answer, as_json, failing

from aucert_otel.llm import (
    AuthenticationFailed,
    BadRequest,
    BillingFailed,
    ConnectionCut,
    MalformedResponse,
    ModelError,
    ModelRefused,
    Overloaded,
    RateLimited,
    TimedOut,
    Truncated,
)
from aucert_otel.stage import as_status
from aucert_otel.verdict import Status, Verdict


WHOLE = b'{"choices": [], "content": [' + b" " * 5000

FAULTS = {
    "401": (failing(401), AuthenticationFailed, Status.UNAVAILABLE, 1),
    "403": (failing(403), AuthenticationFailed, Status.UNAVAILABLE, 1),
    "403 moderation": (
        failing(403, message="input was flagged"),
        ModelRefused,
        Status.REFUSED,
        1,
    ),
    "402": (failing(402), BillingFailed, Status.UNAVAILABLE, 1),
    "429 quota": (
        failing(429, code="insufficient_quota"),
        BillingFailed,
        Status.UNAVAILABLE,
        1,
    ),
    "400 no credit": (
        failing(400, message="Your credit balance is too low"),
        BillingFailed,
        Status.UNAVAILABLE,
        1,
    ),
    "429": (failing(429), RateLimited, Status.UNAVAILABLE, 3),
    "500": (failing(500), Overloaded, Status.UNAVAILABLE, 3),
    "502 html": (
        Answer(b"<html>bad gateway</html>", 502),
        Overloaded,
        Status.UNAVAILABLE,
        3,
    ),
    "503": (failing(503), Overloaded, Status.UNAVAILABLE, 3),
    "529": (failing(529, type="overloaded_error"), Overloaded, Status.UNAVAILABLE, 3),
    "500 empty": (Answer(status=500), Overloaded, Status.UNAVAILABLE, 3),
    "408": (failing(408), TimedOut, Status.UNAVAILABLE, 3),
    "slow drip": (Answer(b" " * 100_000, drip=True), TimedOut, Status.UNAVAILABLE, 3),
    "cut before the first line": (Answer(cut_after=-1), ConnectionCut, Status.UNAVAILABLE, 3),
    "cut in the body": (Answer(WHOLE, cut_after=100), ConnectionCut, Status.UNAVAILABLE, 3),
    "empty body": (Answer(), MalformedResponse, Status.ERROR, 1),
    "html": (Answer(b"<html>hello</html>"), MalformedResponse, Status.ERROR, 1),
    "not utf-8": (Answer(b"\xff\xfe{}"), MalformedResponse, Status.ERROR, 1),
    "a list": (as_json([]), MalformedResponse, Status.ERROR, 1),
    "no choices": (as_json({"choices": [], "content": None}), MalformedResponse, Status.ERROR, 1),
    "nested without end": (Answer(b"[" * 100_000), MalformedResponse, Status.ERROR, 1),
    "too large": (Answer(b" " * 300_000), MalformedResponse, Status.ERROR, 1),
    "400": (failing(400), BadRequest, Status.ERROR, 1),
    "404": (failing(404), BadRequest, Status.ERROR, 1),
    "413": (failing(413), BadRequest, Status.ERROR, 1),
    "redirect": (
        Answer(status=307, headers={"location": "http://127.0.0.1:9/"}),
        BadRequest,
        Status.ERROR,
        1,
    ),
    "content filter": (
        failing(400, code="content_filter"),
        ModelRefused,
        Status.REFUSED,
        1,
    ),
    "an error with status 200": (
        as_json({"error": {"code": 429, "message": "slow down"}}),
        RateLimited,
        Status.UNAVAILABLE,
        3,
    ),
    "an unknown error with status 200": (
        as_json({"error": "what"}),
        Overloaded,
        Status.UNAVAILABLE,
        3,
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named_and_is_never_an_answer(api, fault, quick):
    answer, kind, status, attempts = FAULTS[fault]
    api.server.answer = lambda _: answer
    model = api.client(
        timeouts=quick if fault == "slow drip" else None,
        retry=api.retry(attempts=3),
        max_response_bytes=262_144,
    )

    with pytest.raises(ModelError) as caught:
        api.ask(model)

    error = caught.value
    assert type(error) is kind
    assert error.attempts == attempts == len(api.server.requests)
    assert "judge-1" in str(error)
    report = as_status(error)
    assert report.status is status
    assert report.verdict is Verdict.UNCLEAR


def test_what_is_turned_away_is_known_to_cost_nothing(api):
    api.server.answer = lambda _: failing(503)

    with pytest.raises(Overloaded) as caught:
        api.ask()

    assert caught.value.cost_usd == 0.0
    assert caught.value.unpriced == ()


@pytest.mark.parametrize("fault", ["slow drip", "cut in the body", "html"])
def test_nobody_knows_what_an_attempt_cost_whose_answer_never_came(api, quick, fault):
    api.server.answer = lambda _: FAULTS[fault][0]

    with pytest.raises(ModelError) as caught:
        api.ask(
            api.client(
                timeouts=quick if fault == "slow drip" else None, retry=api.retry(attempts=1)
            )
        )

    assert caught.value.cost_usd is None
    (unpriced,) = caught.value.unpriced
    assert unpriced.startswith("judge-1 (")


def test_a_server_that_is_not_there_costs_nothing(api):
    model = api.client(base_url="http://127.0.0.1:9/v1")

    with pytest.raises(ConnectionCut) as caught:
        api.ask(model)

    assert caught.value.cost_usd == 0.0
    assert caught.value.attempts == 4


def test_a_model_that_refuses_is_paid_for(api):
    answer = {
        "openai": lambda: api.answer(None, message={"refusal": "I will not."}),
        "anthropic": lambda: api.answer("I", stop_reason="refusal"),
    }[api.name]()
    api.server.script(answer)

    with pytest.raises(ModelRefused) as caught:
        api.ask()

    assert caught.value.cost_usd == pytest.approx(ANSWER_USD, rel=1e-12)


def test_a_filtered_answer_is_a_refusal(openai_api):
    openai_api.server.script(openai_api.answer("half an ans", finish_reason="content_filter"))

    with pytest.raises(ModelRefused):
        openai_api.ask()


def test_half_an_answer_is_none_and_is_paid_for(api):
    how = {"openai": {"finish_reason": "length"}, "anthropic": {"stop_reason": "max_tokens"}}
    api.server.script(api.answer('{"verdict": "pass"}', **how[api.name]))

    with pytest.raises(Truncated) as caught:
        api.ask(schema={"type": "object"})

    assert caught.value.cost_usd == pytest.approx(ANSWER_USD, rel=1e-12)
    assert as_status(caught.value).status is Status.ERROR


@pytest.mark.parametrize("text", [None, "", " \n"])
def test_an_answer_without_text_is_malformed(api, text):
    api.server.script(api.answer(text))

    with pytest.raises(MalformedResponse, match="no text"):
        api.ask()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"verdict": "pass"} {"verdict": "fail"}', "several_objects"),
        ('{"verdict": "pa', "truncated"),
        ('{"verdict": "pass", "confidence": NaN}', "not_finite"),
        ("Hallucinated.", "not_json"),
        ("Bestanden.", "not_json"),
        ('Sure! {"verdict": "pass"}', "not_json"),
        ('{"verdict": "fail", "verdict": "pass"}', "duplicate_key"),
        ("true", "not_an_object"),
    ],
)
def test_an_answer_that_is_not_one_object_has_no_data_and_says_why(api, text, problem):
    api.server.script(api.answer(text))

    completion = api.ask(schema={"type": "object"})

    assert completion.data is None
    assert completion.problem == problem
    assert completion.cost_usd == pytest.approx(ANSWER_USD, rel=1e-12)


def test_a_fence_around_the_whole_answer_is_taken_off(api):
    api.server.script(api.answer('```json\n{"verdict": "pass"}\n```'))

    assert api.ask(schema={"type": "object"}).data == {"verdict": "pass"}


def test_a_pause_the_server_asks_for_is_kept(api):
    api.server.script(failing(429, {"retry-after": "7"}), api.answer("yes"))

    completion = api.ask()

    assert completion.attempts == 2
    assert api.pauses == [7.0]
    assert completion.cost_usd == pytest.approx(ANSWER_USD, rel=1e-12)


def test_a_pause_may_be_a_date_and_is_capped(api):
    later = format_datetime(datetime.now(UTC) + timedelta(hours=3), usegmt=True)
    api.server.script(failing(529, {"retry-after": later}), api.answer("yes"))

    api.ask()

    assert api.pauses == [30.0]


@pytest.mark.parametrize("value", ["soon", "-5", "nan", "1e999", "", "99999999999999999999"])
def test_an_illegible_pause_is_not_kept(api, value):
    api.server.script(failing(429, {"retry-after": value}), api.answer("yes"))

    api.ask()

    assert api.pauses == [0.25]
