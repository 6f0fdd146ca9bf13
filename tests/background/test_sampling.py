"""Which answers are verified: the same ones everywhere, and with the probability that is recorded."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry import trace
from opentelemetry.sdk.trace.sampling import Decision, TraceIdRatioBased
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags
from support.checks import harness, length, no_evidence

from aucert_otel import (
    ConfigurationError,
    Generation,
    Match,
    Sampling,
    Stage,
    Verdict,
    observed,
    verified,
)
from aucert_otel.sampling import NOT_YET, chosen
from aucert_otel.telemetry import verifying


trace_ids = st.integers(1, 2**128 - 1)
rates = st.floats(0.0, 1.0)


def context_of(trace_id, *, sampled=True):
    flags = TraceFlags(TraceFlags.SAMPLED if sampled else 0)
    return trace.set_span_in_context(
        NonRecordingSpan(SpanContext(trace_id, 1, is_remote=True, trace_flags=flags))
    )


@given(trace_ids, rates, rates)
def test_what_a_lower_rate_chooses_a_higher_one_chooses_too(trace_id, one, other):
    low, high = sorted((one, other))
    context = context_of(trace_id)
    assert chosen(low, context) <= chosen(high, context)


@given(trace_ids, st.floats(1e-6, 1.0))
def test_it_agrees_with_opentelemetrys_own_ratio_sampler(trace_id, rate):
    theirs = TraceIdRatioBased(rate).should_sample(None, trace_id, "x").decision
    assert chosen(rate, context_of(trace_id)) is (theirs is Decision.RECORD_AND_SAMPLE)


@given(trace_ids)
def test_nothing_and_everything(trace_id):
    assert not chosen(0.0, context_of(trace_id))
    assert chosen(1.0, context_of(trace_id))


def test_without_a_trace_the_share_is_right():
    hits = sum(chosen(0.25) for _ in range(20_000))
    assert 4_400 < hits < 5_600  # ten standard deviations


@pytest.mark.parametrize("rate", [-0.1, 1.1, float("nan")])
def test_a_rate_that_is_no_share_is_refused_in_one_sentence(rate):
    with pytest.raises(ConfigurationError, match="give the share of answers to verify") as caught:
        Sampling(rate)
    assert repr(rate) in str(caught.value)


def test_a_rule_that_matches_nothing_in_particular_is_refused():
    with pytest.raises(ConfigurationError, match="give it a tenant, a model or both"):
        Match()


def test_never_beats_always_and_always_beats_the_rate():
    sampling = Sampling(0.5, always=(Match(tenant="a"),), never=(Match(tenant="a", model="m"),))
    assert sampling.probability(Generation("x")) == 0.5
    assert sampling.probability(Generation("x", tenant="a")) == 1.0
    assert sampling.probability(Generation("x", tenant="a", model="m")) == 0.0
    assert sampling.probability(Generation("x", tenant="a", model="m"), failed_rule=True) == 0.0
    assert sampling.probability(Generation("x"), failed_rule=True) == 1.0


LOW, HIGH = 1, 2**64 - 1
"""Trace ids that a rate of one half chooses and does not choose."""


@pytest.mark.parametrize(
    ("sampling", "generation", "trace_id", "probability"),
    [
        (Sampling(0.5), Generation("x"), LOW, 0.5),
        (Sampling(0.5), Generation("x"), HIGH, None),
        (Sampling(0.0), Generation("x"), LOW, None),
        (Sampling(0.0, always=(Match(tenant="a"),)), Generation("x", tenant="a"), HIGH, 1.0),
        (Sampling(1.0, never=(Match(model="m"),)), Generation("x", model="m"), LOW, None),
        (Sampling(0.5, always_on_failed_rule=True), Generation("x"), LOW, 0.5),
        (Sampling(0.5, always_on_failed_rule=True), Generation("x"), HIGH, None),
        (Sampling(0.5, always_on_failed_rule=True), Generation("x" * 30), LOW, 1.0),
        (Sampling(0.5, always_on_failed_rule=True), Generation("x" * 30), HIGH, 1.0),
        (Sampling(0.0, always_on_failed_rule=True), Generation("x" * 30), HIGH, 1.0),
        (
            Sampling(0.5, always_on_failed_rule=True, never=(Match(tenant="a"),)),
            Generation("x" * 30, tenant="a"),
            LOW,
            None,
        ),
    ],
)
def test_the_span_says_with_what_probability_it_was_chosen(
    recorder, sampling, generation, trace_id, probability
):
    h = harness(length, telemetry=recorder.telemetry(), sampling=sampling)
    assert h.submit(generation, context=context_of(trace_id)) is (probability is not None)
    assert h.flush(20.0)
    found = [span.attributes["aucert.sampling.probability"] for span in recorder.spans]
    assert found == ([] if probability is None else [probability])


def test_the_failed_rule_looks_at_leading_rules_only_and_is_no_generation_to_verify():
    seen = []

    async def judge(generation):
        seen.append("judge")
        return []

    @verified(harness(no_evidence), otherwise="no")
    def helper():
        seen.append("helper")
        return "a"

    def rule(generation):
        helper()
        return no_evidence(generation)

    h = harness(
        Stage(rule, settles=frozenset({Verdict.FAIL})),
        judge,
        sampling=Sampling(0.0, always_on_failed_rule=True),
    )
    assert not h.submit(Generation("good"), context=context_of(HIGH))
    assert seen == ["helper"]


def test_a_rule_that_raises_neither_raises_nor_decides(production):
    def breaks(generation):
        raise ValueError

    h = harness(breaks, sampling=Sampling(0.0, always_on_failed_rule=True))
    assert h.submit(Generation("x"), context=context_of(HIGH)) is False


words = st.sampled_from(["a", "b"])
matches = st.builds(Match, st.none() | words, words) | st.builds(Match, words)
samplings = st.builds(
    Sampling,
    st.sampled_from([0.0, 0.5, 1.0]),
    always=st.lists(matches, max_size=2).map(tuple),
    never=st.lists(matches, max_size=2).map(tuple),
    always_on_failed_rule=st.booleans(),
)


facts = st.tuples(st.none() | words, st.booleans())
"""A tenant or a model, and whether it is known beforehand."""


@given(samplings, facts, facts, trace_ids)
def test_what_is_decided_early_is_what_the_answer_would_have_decided(
    sampling, tenants, models, trace_id
):
    (tenant, knows_tenant), (model, knows_model) = tenants, models
    context = context_of(trace_id)
    early = sampling.draw(
        context,
        tenant=tenant if knows_tenant else NOT_YET,
        model=model if knows_model else NOT_YET,
    )
    if early is None:
        assert sampling.always or sampling.never or sampling.always_on_failed_rule
        return
    answer = Generation("x", tenant=tenant, model=model)
    for failed_rule in {False, sampling.always_on_failed_rule}:
        late = sampling.probability(answer, failed_rule=failed_rule)
        assert early == (late if chosen(late, context) else 0.0)


@given(samplings, st.none() | words, st.none() | words)
def test_where_all_is_known_only_a_rule_can_put_the_decision_off(sampling, tenant, model):
    early = sampling.draw(context_of(LOW), tenant=tenant, model=model)
    assert (early is not None) or sampling.always_on_failed_rule


@given(trace_ids, rates, rates)
def test_early_too_what_a_lower_rate_chooses_a_higher_one_chooses(trace_id, one, other):
    low, high = sorted((one, other))
    context = context_of(trace_id)
    if Sampling(low).draw(context):
        assert Sampling(high).draw(context) == high


def test_an_answer_that_is_not_chosen_is_not_even_read(recorder):
    h = harness(length, telemetry=recorder.telemetry(), sampling=Sampling(0.0))

    @observed(h, question=lambda _: pytest.fail("read"), read=lambda _: pytest.fail("read"))
    def answer():
        return "short"

    assert answer() == "short"
    assert h.flush(20.0)
    assert not recorder.spans


def test_without_a_trace_an_observed_answer_is_drawn_once_and_at_the_rate(recorder, monkeypatch):
    """Twice drawn, a rate of one half would verify a quarter."""
    monkeypatch.setattr(random, "getrandbits", random.Random(7).getrandbits)
    h = harness(length, telemetry=recorder.telemetry(), sampling=Sampling(0.5))
    answer = observed(h)(lambda: "short")
    for _ in range(400):
        answer()
    assert h.flush(20.0)
    found = [span.attributes["aucert.sampling.probability"] for span in recorder.spans]
    assert 150 < len(found) < 250  # five standard deviations
    assert set(found) == {0.5}


@pytest.mark.parametrize("tenant", ["acme", "other"])
def test_a_rule_about_the_decorators_own_tenant_is_asked_before_the_arguments_are(recorder, tenant):
    sampling = Sampling(1.0, never=(Match(tenant="acme"),))
    h = harness(length, telemetry=recorder.telemetry(), sampling=sampling)
    asked = []

    @observed(h, question=asked.append, tenant=tenant)
    def answer():
        return "short"

    answer()
    assert h.flush(20.0)
    assert len(asked) == len(recorder.spans) == (tenant == "other")


def test_a_tenant_that_the_answer_names_itself_is_the_one_that_counts(recorder):
    sampling = Sampling(1.0, never=(Match(tenant="acme"),))
    h = harness(length, telemetry=recorder.telemetry(), sampling=sampling)
    observed(h, tenant="acme")(lambda: Generation("short", tenant="own"))()
    observed(h, tenant="acme", read=lambda _: Generation("short", tenant="own"))(lambda: "short")()
    assert h.flush(20.0)
    assert [span.attributes["aucert.tenant"] for span in recorder.spans] == ["own", "own"]


def test_a_judges_own_answers_are_never_drawn():
    h = harness(length)
    token = verifying.set(True)
    try:
        assert h.draw() == 0.0
    finally:
        verifying.reset(token)
