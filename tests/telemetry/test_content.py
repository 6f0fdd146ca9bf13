"""What may leave: nothing that quotes an answer unless capture is on, never a secret, always bounded."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.sdk.trace import SpanLimits
from support.checks import Raises, harness, length
from support.providers import Recorder
from support.spantree import summary

from aucert_otel import (
    Cascade,
    Evidence,
    Finding,
    Generation,
    Harness,
    Passage,
    Reason,
    Stage,
    StageReport,
    Verdict,
)
from aucert_otel.telemetry import Boundary, names
from aucert_otel.telemetry.boundary import (
    MAX_CONTENT_CHARS,
    MAX_ITEMS,
    MAX_LABEL_CHARS,
    capture_from_environment,
    clean_attributes,
)


CANARY = "canary-7c1e9b"
SECRETS = [
    "sk-proj-abcdefghijklmnop1234",
    "sk-ant-api03-abcdefghijklmnop",
    "ghp_abcdefghijklmnopqrstuvwx",
    "xoxb-123456789012-abcdef",
    "AKIAABCDEFGHIJKLMNOP",
    "AIzaSyA-abcdefghijklmnopqrstuvwxyz1234",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
]


def found(**changes):
    fact = Evidence(f"fact {CANARY}", passage_id="p1")
    return replace(
        Finding(
            "grounded",
            Verdict.FAIL,
            score=0.125,
            why=f"why {CANARY}",
            claim=f"claim {CANARY}",
            evidence=(fact,),
            reason=Reason.CONTRADICTED,
        ),
        **changes,
    )


def fails(generation):
    return found()


def quoted():
    return Generation(
        f"output {CANARY}",
        question=f"question {CANARY}",
        evidence=(Passage(f"passage {CANARY}", metadata={"m": CANARY}),),
        metadata={"m": CANARY},
    )


class Loud:
    """A user's object whose conversion to text must never happen."""

    def __str__(self):
        raise AssertionError("str() was called on a user's object")

    __repr__ = __str__

    def __bool__(self):
        raise AssertionError("bool() was called on a user's object")


def test_no_content_leaves_unless_capture_is_on(recorder, caplog, production):
    caplog.set_level(logging.DEBUG)

    def broken(request):
        raise ValueError(CANARY)

    async def scenario():
        telemetry = recorder.telemetry()
        h = harness(fails, telemetry=telemetry)
        await h.arun(lambda _: quoted())
        h.verify(quoted())
        h.submit(quoted())
        h.flush(20.0)
        errors = harness(Raises(ValueError(CANARY)), telemetry=telemetry)
        await errors.arun(lambda _: quoted())
        with pytest.raises(ValueError, match=CANARY):
            await h.arun(broken)
        rule = harness(lambda _: 1 / len(CANARY[99:]), telemetry=telemetry)
        rule.verify(quoted())
        priced = harness(length, telemetry=telemetry, price=broken)
        priced.verify(quoted())

    asyncio.run(scenario())
    assert len(recorder.spans) > 10
    assert CANARY not in recorder.everything()
    assert CANARY not in caplog.text


def test_with_capture_on_content_is_in_three_places_of_the_finding_and_nowhere_else(recorder):
    h = harness(fails, telemetry=recorder.telemetry(Boundary(capture_content=True)))
    h.verify(quoted())
    span = recorder.span("aucert.verify c")
    expected = {
        names.EVALUATION_EXPLANATION: f"why {CANARY}",
        names.FINDING_CLAIM: f"claim {CANARY}",
        names.FINDING_EVIDENCE: (f"fact {CANARY}",),
    }
    assert CANARY not in repr(dict(span.attributes))
    quoting = [
        {key: v for key, v in event.attributes.items() if CANARY in repr(v)}
        for event in span.events
    ]
    assert quoting == [{}, expected]
    assert recorder.everything().count(CANARY) == 6
    assert not any(CANARY in repr(series) for series in recorder.metrics.items())


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("around", ["{}", "key {} end", '{{"k": "{}"}}', "a={}&b=1"])
def test_secrets_are_masked_even_with_capture_on(secret, around):
    cleaned = Boundary(capture_content=True).content(around.format(secret))
    assert secret not in cleaned
    assert secret[8:20] not in cleaned


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Authorization: Bearer abcdefgh12345678", "Authorization: Bearer [redacted]"),
        ("postgresql://user:hunter2@host/db", "postgresql://[redacted]@host/db"),
        ("api_key=abcdefgh1234 next", "api_key=[redacted] next"),
        ("password: hunter2", "password: [redacted]"),
        ("OPENAI_API_KEY = 'abcdefgh1234'", "OPENAI_API_KEY = '[redacted]'"),
        ('{"api_key": "abcdefgh1234", "b": 1}', '{"api_key": "[redacted]", "b": 1}'),
        ("call 12:30, article 118", "call 12:30, article 118"),
    ],
)
def test_only_the_secret_part_is_masked(text, kept):
    assert Boundary(capture_content=True).content(text) == kept


@pytest.mark.parametrize("secret", [*SECRETS, "https://user:hunter2hunter2@host"])
@given(before=st.integers(0, 80))
def test_a_secret_the_cut_goes_through_is_masked_too(secret, before):
    boundary = Boundary(capture_content=True, max_content_chars=100)
    text = "." * (100 - before) + " " + secret + " " + "." * 2000
    cleaned = boundary.content(text)
    assert len(cleaned) <= 100
    assert "hunter2" not in cleaned
    for size in range(10, len(secret)):
        assert secret[10 : 10 + size] not in cleaned or size < 4


def test_a_mask_that_raises_or_returns_no_text_withholds():
    def raises(text):
        raise RuntimeError(text)

    assert Boundary(True, raises).content(CANARY) == "[redacted]"
    assert Boundary(True, lambda text: None).content(CANARY) == "[redacted]"


def test_the_users_mask_runs_on_every_text_that_leaves(recorder):
    seen = []

    def mask(text):
        seen.append(text)
        return text.replace(CANARY, "***")

    h = harness(fails, telemetry=recorder.telemetry(Boundary(True, mask)))
    h.verify(quoted())
    assert CANARY not in recorder.everything()
    assert recorder.everything().count("claim ***") == 2
    assert f"claim {CANARY}" in seen


@given(st.text(st.characters(), max_size=400), st.booleans())
def test_every_text_leaves_encodable_and_bounded(text, capture):
    boundary = Boundary(capture, max_content_chars=50)
    label = boundary.label(text)
    label.encode()
    assert len(label) <= MAX_LABEL_CHARS
    content = boundary.content(text)
    assert (content is not None) is capture
    if content is not None:
        content.encode()
        assert len(content) <= 50


def test_lone_surrogates_do_not_lose_a_batch(sink):
    from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor

    recorder = Recorder()
    recorder.tracers.add_span_processor(
        SimpleSpanProcessor(OTLPSpanExporter(f"{sink.http_endpoint}/v1/traces"))
    )
    recorder.loggers.add_log_record_processor(
        SimpleLogRecordProcessor(OTLPLogExporter(f"{sink.http_endpoint}/v1/logs"))
    )
    bad = "half \ud83d of a pair"

    def broken_names(generation):
        return found(criterion=bad, why=bad, claim=bad, source=bad)

    broken_names.__name__ = bad
    cascade = Cascade(bad, [Stage(broken_names)], version=bad)
    h = Harness(cascade, telemetry=recorder.telemetry(Boundary(True)), name=bad)
    h.run(lambda _: Generation(bad, tenant=bad, model=bad), can_repair=False)
    spans = {span["name"]: span for span in sink.spans}
    assert set(spans) == {"aucert.generate half ? of a pair", "aucert.verify half ? of a pair"}
    assert [record["attributes"]["gen_ai.evaluation.name"] for record in sink.records] == [
        "aucert.verdict",
        "half ? of a pair",
    ]
    recorder.close()


def test_ten_megabytes_of_claim_are_bounded(recorder):
    huge = "a" * 10_000_000

    def fails_hugely(generation):
        return found(why=huge, claim=huge, criterion=huge, source=huge, evidence=(Evidence(huge),))

    h = harness(fails_hugely, telemetry=recorder.telemetry(Boundary(capture_content=True)))
    h.verify(Generation(huge))
    event = recorder.span("aucert.verify c").events[-1]
    assert {key: len(v) for key, v in event.attributes.items() if isinstance(v, str)} == {
        "gen_ai.evaluation.name": MAX_LABEL_CHARS,
        "gen_ai.evaluation.score.label": 4,
        "aucert.reason": 12,
        "aucert.criterion.source": MAX_LABEL_CHARS,
        "gen_ai.evaluation.explanation": MAX_CONTENT_CHARS,
        "aucert.claim": MAX_CONTENT_CHARS,
    }
    assert len(recorder.everything()) < 200_000
    assert len(h.telemetry._labels) < 20
    assert all(len(text) <= MAX_LABEL_CHARS for text in h.telemetry._labels)


def test_thousands_of_findings_keep_the_verdict_and_say_how_many_were_left_out(recorder):
    def fails_often(generation):
        return [found(criterion=f"c{index}", claim=f"k{index}") for index in range(3000)]

    h = harness(fails_often, telemetry=recorder.telemetry())
    h.verify(Generation("x"))
    span = recorder.span("aucert.verify c")
    assert span.events[0].attributes["gen_ai.evaluation.name"] == "aucert.verdict"
    assert span.events[0].attributes["aucert.findings.omitted"] == 3000 - MAX_ITEMS
    assert len(span.events) == len(recorder.records) == MAX_ITEMS + 1
    assert len(span.attributes["aucert.criteria.failed"]) == MAX_ITEMS


def test_made_up_criteria_do_not_grow_memory_or_series_without_bound(recorder):
    telemetry = recorder.telemetry()
    count = 0

    def invents(generation):
        nonlocal count
        count += 1
        return found(criterion=f"made up {count}")

    h = harness(invents, telemetry=telemetry)
    for _ in range(5000):
        h.verify(Generation("x"))
    series = recorder.metrics["aucert.criteria"]
    assert len(series) <= 2049
    assert sum(value for _, value in series) == 5000
    assert any(attributes.get("otel.metric.overflow") for attributes, _ in series)


@pytest.mark.parametrize(
    "text",
    [
        "a:" * 500_000,
        "sk-" * 333_333,
        "eyJ" * 333_333,
        "-eyJaaaaaaaa" * 83_333,
        "://a:" * 200_000,
        "password:" + " " * 1_000_000,
        "api_key= " * 111_111,
        "bearer " * 142_857,
        "github_pat_" * 90_909,
        '"password":' * 90_909,
    ],
    ids=lambda text: text[:14],
)
def test_a_megabyte_of_hostile_text_is_masked_in_linear_time(text):
    boundary = Boundary(capture_content=True, max_content_chars=2_000_000)
    from time import process_time

    def seconds(size):
        started = process_time()
        boundary.content(text[:size])
        return process_time() - started

    # A quadratic pattern takes minutes on a megabyte; a linear one well under a second.
    assert seconds(1_000_000) < 10.0


def test_verdict_keys_survive_a_span_full_of_the_users_attributes():
    recorder = Recorder(limits=SpanLimits(max_span_attributes=32))
    h = harness(length, telemetry=recorder.telemetry())

    def generate(request):
        from opentelemetry import trace

        span = trace.get_current_span()
        for index in range(40):
            span.set_attribute(f"user.{index}", index)
        return Generation("short", tenant="acme")

    h.run(generate)
    root, verify = recorder.span("aucert.generate reply"), recorder.span("aucert.verify c")
    assert root.dropped_attributes > 0
    assert set(summary(verify.attributes)) <= set(root.attributes)
    assert {"aucert.verdict", "aucert.action", "aucert.tenant", "aucert.cost.usd"} <= set(
        root.attributes
    )
    recorder.close()


def test_sentinels_none_and_other_objects_are_dropped_without_being_converted():
    class NotGiven:
        def __bool__(self):
            return False

        def __repr__(self):
            raise AssertionError

    kept = clean_attributes(
        {
            "text": "t",
            "number": 1,
            "share": 0.5,
            "flag": False,
            "list": ["a", "b"],
            "none": None,
            "not_given": NotGiven(),
            "loud": Loud(),
            "loud_list": [Loud()],
            "mixed": ["a", Loud()],
            "empty": [],
        }
    )
    assert kept == {"text": "t", "number": 1, "share": 0.5, "flag": False, "list": ["a", "b"]}


def test_the_clients_own_sentinels_are_dropped():
    openai = pytest.importorskip("openai")
    assert clean_attributes({"a": openai.NOT_GIVEN, "b": openai.omit, "c": 1}) == {"c": 1}


def test_a_name_that_is_no_text_is_never_converted_and_loses_no_verdict(recorder):
    def odd(generation):
        return StageReport((Finding(Loud(), Verdict.PASS),))

    h = harness(odd, telemetry=recorder.telemetry())
    h.run(lambda _: Generation("x", tenant=Loud()))
    assert recorder.balance.settled()
    attributes = recorder.span("aucert.verify c").attributes
    assert attributes["aucert.tenant"] == "[Loud]"
    assert attributes["aucert.verdict"] in ("pass", "unclear")


def test_the_environment_switches_capture_on(monkeypatch):
    assert not capture_from_environment()
    for value in ("true", "TRUE", "span_and_event"):
        monkeypatch.setenv(names.ENV_CAPTURE_CONTENT, value)
        assert capture_from_environment()
    for value in ("false", "no_content", ""):
        monkeypatch.setenv(names.ENV_CAPTURE_CONTENT, value)
        assert not capture_from_environment()


def test_a_log_or_span_exporter_that_raises_changes_no_outcome(recorder, production, caplog):
    class Broken:
        def emit(self, record):
            raise OSError(CANARY)

    telemetry = recorder.telemetry()
    telemetry.instruments.logger = Broken()
    outcome = harness(length, telemetry=telemetry).run(lambda _: "short")
    assert outcome.shipped
    assert recorder.balance.settled()
    assert recorder.span("aucert.verify c").attributes["aucert.verdict"] == "pass"
    assert CANARY not in caplog.text
