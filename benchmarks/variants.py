"""The measured calls, in a process of their own: ``python variants.py GROUP``.

The parent (`overhead.py`) writes a number of calls on standard input, and gets one line of JSON
back: microseconds a call for every variant of this group, taken in turns. A group that instruments
a library for the whole process gets a process; in it the uninstrumented call is measured in turns
with the instrumented one by putting the library's own function back, and both are proven by what
was exported.
"""

from __future__ import annotations

import gc
import json
import logging
import os
import random
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from handwritten import HandWritten
from signals import Signals, differences

import aucert_otel
from aucert_otel import (
    Cascade,
    Finding,
    Generation,
    HandedToPerson,
    Harness,
    Sampling,
    Verdict,
    observed,
    verified,
)
from aucert_otel.background import current_worker
from aucert_otel.telemetry import Instruments, Telemetry


Call = Callable[[], Any]

SLICE = 10
"""Calls of one variant before the next one's turn; of a round's slices the median counts."""

WARM = 5
"""Calls before each slice that do not count: nobody pays for the caches its predecessor left."""

SAME_COUNT = ", same count"
"""Hand-written code that counts verifications in a dictionary read at collection, as ours does."""

ANSWER = "Return the vase within 30 days and we refund it in full [118]."

# Preallocated: what is left of a verification is not the verifier's.
FINDINGS = tuple(
    Finding(name, Verdict.PASS, score=1.0)
    for name in ("finish_reason", "cited_ids", "numbers", "forbidden", "length")
)


class Nil:
    """A verifier whose own cost is nil."""

    name = "rules"

    def verify(self, _: Generation) -> tuple[Finding, ...]:
        return FINDINGS


@dataclass
class Variant:
    """One measured call.

    ``before`` and ``after`` run around each slice, off the clock. ``settle`` waits for what the
    calls left to the background: its processor time counts, the caller's wall clock does not.
    """

    call: Call
    before: Call | None = None
    after: Call | None = None
    settle: Call | None = None
    spans: int | None = None
    """How many spans one call must export; ``None``: at least one."""


class Absent(Exception):  # noqa: N818 - a state of this installation, not a fault
    """Something a group needs is not installed."""


def _telemetry(signals: Signals) -> Telemetry:
    return Telemetry(
        Instruments(signals.tracer_provider, signals.meter_provider, signals.logger_provider)
    )


class Pair:
    """A harness and the hand-written code that emits the same, each with providers of its own."""

    def __init__(self) -> None:
        self.signals = Signals()
        self.mirror = Signals()
        self.telemetry = _telemetry(self.signals)
        self.harness = self.new()
        self.unchosen = self.new(sampling=Sampling(rate=0.0000001))
        self.hand = self.by_hand(self.mirror)

    def by_hand(self, signals: Signals, *, same_count: bool = False) -> HandWritten:
        return HandWritten(
            signals,
            Nil().verify,
            scope_version=aucert_otel.__version__,
            cascade="support",
            cascade_version=self.harness.cascade.version,
            stage="rules",
            name="answer",
            same_count=same_count,
        )

    def new(self, check: Any = None, **options: Any) -> Harness:
        cascade = Cascade("support", [check or Nil()])
        return Harness(cascade, telemetry=self.telemetry, **options)

    def prove_equal(self, ours: Call, hand: Call, *others: tuple[Call, Signals]) -> None:
        """All these calls must export the same, metrics included.

        Raises:
            SystemExit: they do not; the differences are listed.
        """
        written = ((hand, self.mirror), *others)
        for _ in range(3):
            ours()
            for call, _mirror in written:
                call()
        exported = self.signals.exported()
        found = [
            line for _call, mirror in written for line in differences(exported, mirror.exported())
        ]
        if found:
            raise SystemExit("ours and hand-written differ:\n" + "\n".join(found))


def core() -> dict[str, Variant]:
    """The harness alone, without any application around it."""
    pair = Pair()
    answer = Generation(ANSWER, model="bench")
    harness = pair.harness
    counting = Signals()
    alike = pair.by_hand(counting, same_count=True)
    variants = {
        "nothing": Variant(lambda: None, spans=0),
        "hand-written verify": Variant(lambda: pair.hand.verify(answer), spans=1),
        f"hand-written verify{SAME_COUNT}": Variant(lambda: alike.verify(answer), spans=1),
        "harness.verify": Variant(lambda: harness.verify(answer), spans=1),
        "hand-written run": Variant(lambda: pair.hand.run(lambda: answer), spans=2),
        f"hand-written run{SAME_COUNT}": Variant(lambda: alike.run(lambda: answer), spans=2),
        "harness.run": Variant(lambda: harness.run(lambda _: answer), spans=2),
        "harness.submit, not chosen": Variant(lambda: pair.unchosen.submit(answer), spans=0),
    }
    for way in ("verify", "run"):
        hand = f"hand-written {way}"
        other = (variants[hand + SAME_COUNT].call, counting)
        pair.prove_equal(variants[f"harness.{way}"].call, variants[hand].call, other)
    with suppress(ImportError):
        variants["real rules alone"], variants["harness.verify, real rules"] = _rules(pair)
    return _guarded(variants, pair.signals, pair.mirror, counting)


def _rules(pair: Pair) -> tuple[Variant, Variant]:
    rules = import_module("aucert_verifiers.rules")
    checks = rules.Rules(
        rules.FinishReason(),
        rules.CitesOnlyReturned(),
        rules.NumbersAppear(),
        rules.Forbids(r"\bas an AI\b"),
        rules.Length(max_chars=1200),
    )
    reply = Generation(
        "Thank you for writing to us. Vases may be returned within 30 days of delivery [118], and "
        "we refund them in full. Opened bouquets cannot be returned, but if flowers arrive damaged "
        "we replace them within 2 days [140]. Just reply with your order number and a photo.",
        question="Can I return a vase?",
        evidence=(
            aucert_otel.Passage("Vases may be returned within 30 days of delivery.", id="118"),
            aucert_otel.Passage("Damaged flowers are replaced within 2 days.", id="140"),
        ),
        model="bench",
        finish_reason="stop",
    )
    harness = pair.new(checks)
    outcome = harness.verify(reply)
    if not outcome.shipped:
        raise SystemExit(f"the reply for the real rules does not ship: {outcome.report.failed}")
    pair.signals.clear()
    return (
        Variant(lambda: checks.verify(reply), spans=0),
        Variant(lambda: harness.verify(reply), spans=1),
    )


def _wrapt(signals: Signals, function: Call, *given: Any) -> dict[str, Variant]:
    """A bare wrapt wrapper, if it is installed: one span with one attribute and one event."""
    try:
        wrapt = import_module("wrapt")
    except ImportError:
        return {}
    tracer = signals.tracer_provider.get_tracer("bare")

    def wrapper(wrapped: Any, _: Any, args: Any, kwargs: Any) -> Any:
        span = tracer.start_span("bare")
        try:
            result = wrapped(*args, **kwargs)
            span.set_attribute("verdict", "pass")
            span.add_event("evaluated", {"verdict": "pass"})
            return result
        finally:
            span.end()

    wrapped_function = wrapt.FunctionWrapper(function, wrapper)
    return {"bare wrapt span": Variant(lambda: wrapped_function(*given), spans=1)}


def _drained() -> None:
    running = current_worker()
    if running is not None and not running.flush(30):
        raise SystemExit("the background did not drain")


def langchain() -> dict[str, Variant]:
    """LangChain's fake model and a small chain, with everything that is not process-wide."""
    variants: dict[str, Variant] = {}
    pair = Pair()
    for target, runnable, given in _langchain_targets():
        variants |= {
            f"{target}: {name}": variant
            for name, variant in _langchain_variants(pair, runnable, given).items()
        }
    return _guarded(variants, pair.signals, pair.mirror)


def _langchain_targets() -> list[tuple[str, Any, Any]]:
    try:
        models = import_module("langchain_core.language_models")
        prompts = import_module("langchain_core.prompts")
        parsers = import_module("langchain_core.output_parsers")
    except ImportError:
        raise Absent("langchain-core") from None
    model = models.FakeListChatModel(responses=[ANSWER])
    chain = prompts.ChatPromptTemplate.from_template("{q}") | model | parsers.StrOutputParser()
    question = "Can I return a vase?"
    return [("FakeListChatModel", model, question), ("prompt|model|parser", chain, {"q": question})]


def _langchain_variants(pair: Pair, runnable: Any, given: Any) -> dict[str, Variant]:
    handlers = import_module("langchain_core.callbacks")

    def text(message: Any) -> str:
        return message if isinstance(message, str) else str(message.content)

    def plain() -> Any:
        return runnable.invoke(given)

    def inline() -> Any:
        result = plain()
        return pair.harness.verify(Generation(text(result), model="bench", raw=result))

    def by_hand() -> Any:
        result = plain()
        return pair.hand.verify(Generation(text(result), model="bench", raw=result))

    def unchosen() -> Any:
        result = plain()
        pair.unchosen.submit(Generation(text(result), model="bench", raw=result))
        return result

    def run_by_hand() -> Any:
        def generate() -> Generation:
            result = plain()
            return Generation(text(result), model="bench", raw=result)

        return pair.hand.run(generate)

    silent = {"callbacks": [handlers.BaseCallbackHandler()]}
    variants = {
        "none": Variant(plain, spans=0),
        **_wrapt(pair.signals, runnable.invoke, given),
        "no-op callback": Variant(lambda: runnable.invoke(given, silent), spans=0),
        "hand-written verify": Variant(by_hand, spans=1),
        "ours: harness.verify": Variant(inline, spans=1),
        "hand-written run": Variant(run_by_hand, spans=2),
    }
    pair.prove_equal(inline, by_hand)
    with suppress(ImportError):
        ours = import_module("aucert_integrations.langchain")
        held = ours.verified(runnable, pair.harness, otherwise=HandedToPerson)
        variants["ours: verified(runnable)"] = Variant(lambda: held.invoke(given), spans=2)
        watching = {"callbacks": [ours.VerificationHandler(pair.harness)]}
        variants["ours: VerificationHandler"] = Variant(
            lambda: runnable.invoke(given, watching), settle=_drained
        )
        waiting = {"callbacks": [ours.VerificationHandler(pair.unchosen)]}
        variants["ours: VerificationHandler, not chosen"] = Variant(
            lambda: runnable.invoke(given, waiting), spans=0
        )
    variants["ours: submit, not chosen"] = Variant(unchosen, spans=0)
    return variants


def _partial(function: Call, given: Any) -> Call:
    return lambda: function(given)  # type: ignore[call-arg]


REPLY = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1_750_000_000,
    "model": "bench",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": ANSWER},
            "finish_reason": "stop",
            "logprobs": None,
        }
    ],
    "usage": {"prompt_tokens": 20, "completion_tokens": 18, "total_tokens": 38},
}


def _openai_call() -> Call:
    """``chat.completions.create`` on a mock transport: the whole client, and no network."""
    try:
        openai = import_module("openai")
    except ImportError:
        raise Absent("openai") from None
    # openai 3 stands on httpx2, earlier ones on httpx.
    http = import_module("httpx2" if openai.__version__.split(".")[0] >= "3" else "httpx")
    body = json.dumps(REPLY).encode()
    headers = {"content-type": "application/json"}
    transport = http.MockTransport(lambda _: http.Response(200, content=body, headers=headers))
    client = openai.OpenAI(
        api_key="none",
        base_url="http://mock.invalid/v1",
        http_client=http.Client(transport=transport),
        max_retries=0,
    )
    messages = [{"role": "user", "content": "Can I return a vase?"}]
    completions = client.chat.completions
    return lambda: completions.create(model="bench", messages=messages)


def openai() -> dict[str, Variant]:
    """The OpenAI client, with everything that is not process-wide."""
    pair = Pair()
    plain = _openai_call()

    def text(reply: Any) -> str:
        return str(reply.choices[0].message.content)

    def read(reply: Any) -> Generation:
        return Generation(text(reply), model="bench", raw=reply)

    def inline() -> Any:
        return pair.harness.verify(read(plain()))

    def by_hand() -> Any:
        return pair.hand.verify(read(plain()))

    def answer() -> Any:
        return plain()

    how: dict[str, Any] = {"read": text, "model": "bench"}
    held = verified(pair.harness, otherwise=HandedToPerson, **how)(answer)

    def run_by_hand() -> Any:
        return pair.hand.run(lambda: read(plain()))

    pair.prove_equal(inline, by_hand)
    pair.prove_equal(held, run_by_hand)
    variants = {
        "none": Variant(plain, spans=0),
        **_wrapt(pair.signals, plain),
        "hand-written verify": Variant(by_hand, spans=1),
        "ours: harness.verify": Variant(inline, spans=1),
        "hand-written run": Variant(run_by_hand, spans=2),
        "ours: @verified": Variant(held, spans=2),
        "ours: @observed": Variant(observed(pair.harness, **how)(answer), settle=_drained),
        "ours: @observed, not chosen": Variant(observed(pair.unchosen, **how)(answer), spans=0),
    }
    named = {f"OpenAI client: {name}": variant for name, variant in variants.items()}
    return _guarded(named, pair.signals, pair.mirror)


@dataclass(frozen=True)
class Peer:
    """A peer's instrumentor, and the one library function it replaces."""

    title: str
    distribution: str
    instrumentor: str
    library: str


PEERS = {
    "oi-langchain": Peer(
        "OpenInference",
        "openinference-instrumentation-langchain",
        "openinference.instrumentation.langchain:LangChainInstrumentor",
        "langchain",
    ),
    "tl-langchain": Peer(
        "Traceloop",
        "opentelemetry-instrumentation-langchain",
        "opentelemetry.instrumentation.langchain:LangchainInstrumentor",
        "langchain",
    ),
    "oi-openai": Peer(
        "OpenInference",
        "openinference-instrumentation-openai",
        "openinference.instrumentation.openai:OpenAIInstrumentor",
        "openai",
    ),
    "tl-openai": Peer(
        "Traceloop",
        "opentelemetry-instrumentation-openai",
        "opentelemetry.instrumentation.openai:OpenAIInstrumentor",
        "openai",
    ),
    "v2-openai": Peer(
        "openai-v2",
        "opentelemetry-instrumentation-openai-v2",
        "opentelemetry.instrumentation.openai_v2:OpenAIInstrumentor",
        "openai",
    ),
}


def peer(key: str) -> dict[str, Variant]:
    """One peer, in turns with the same call on the library's own function."""
    chosen = PEERS[key]
    try:
        version(chosen.distribution)
        module, _, name = chosen.instrumentor.partition(":")
        instrumentor = getattr(import_module(module), name)()
    except (ImportError, PackageNotFoundError) as error:
        raise Absent(f"{chosen.distribution}: {type(error).__name__}") from error
    if chosen.library == "openai":
        calls = {"OpenAI client": _openai_call()}
    else:
        calls = {
            target: _partial(runnable.invoke, given)
            for target, runnable, given in _langchain_targets()
        }
    signals = Signals()
    switch = Switch.around(
        _patched(chosen.library),
        lambda: instrumentor.instrument(
            tracer_provider=signals.tracer_provider,
            meter_provider=signals.meter_provider,
            logger_provider=signals.logger_provider,
            skip_dep_check=True,
        ),
    )
    variants: dict[str, Variant] = {}
    for target, call in calls.items():
        variants[f"{target}: none"] = Variant(call, before=switch.off, after=switch.on, spans=0)
        variants[f"{target}: {chosen.title}"] = Variant(call)
    return _guarded(variants, signals)


def _patched(library: str) -> list[tuple[Any, str]]:
    """The functions a peer may replace."""
    if library == "langchain":
        manager = import_module("langchain_core.callbacks").BaseCallbackManager
        return [(manager, "__init__")]
    completions = import_module("openai.resources.chat.completions").Completions
    client = import_module("openai").OpenAI
    return [(completions, "create"), (client, "request")]


@dataclass
class Switch:
    """Puts a library's own functions back, and the instrumented ones again."""

    own: list[tuple[Any, str, Any]]
    patched: list[tuple[Any, str, Any]]

    @classmethod
    def around(cls, places: list[tuple[Any, str]], instrument: Call) -> Switch:
        own = [(owner, name, getattr(owner, name)) for owner, name in places]
        instrument()
        patched = [(owner, name, owner.__dict__.get(name)) for owner, name in places]
        changed = [
            index
            for index, (owner, name, _) in enumerate(patched)
            if getattr(owner, name) is not own[index][2]
        ]
        if not changed:
            raise SystemExit("the peer replaced none of the functions it was expected to replace")
        return cls([own[index] for index in changed], [patched[index] for index in changed])

    def off(self) -> None:
        for owner, name, function in self.own:
            setattr(owner, name, function)

    def on(self) -> None:
        for owner, name, function in self.patched:
            setattr(owner, name, function)


def _guarded(variants: dict[str, Variant], *signals: Signals) -> dict[str, Variant]:
    """Prove by the exports that each variant does what its name says, and clear after slices."""
    for name, variant in variants.items():
        _maybe(variant.before)
        variant.call()
        _maybe(variant.settle)
        _maybe(variant.after)
        spans = sum(len(each.spans.get_finished_spans()) for each in signals)
        if spans != variant.spans and (variant.spans is not None or not spans):
            expected = "some" if variant.spans is None else variant.spans
            raise SystemExit(f"{name}: exported {spans} spans, not {expected}")
        for each in signals:
            each.clear()
    _SIGNALS.extend(signals)
    return variants


_SIGNALS: list[Signals] = []


def _maybe(function: Call | None) -> None:
    if function is not None:
        function()


def measure(variants: dict[str, Variant], calls: int) -> dict[str, list[tuple[float, float]]]:
    """One round: for each variant its slices, microseconds a call of processor and of wall time."""
    each = min(SLICE, calls)
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in variants}
    order = list(variants.items())
    shuffle = random.Random(0).shuffle  # the same predecessors in every run, and no fixed ones
    for _ in range(calls // each):
        shuffle(order)
        for name, variant in order:
            _maybe(variant.before)
            _warm(variant)
            found[name].append(_slice(variant, each))
            _maybe(variant.after)
            for signals in _SIGNALS:
                signals.clear()
    return found


def _warm(variant: Variant) -> None:
    for _ in range(WARM):
        variant.call()
    _maybe(variant.settle)
    for signals in _SIGNALS:
        signals.clear()


def _slice(variant: Variant, calls: int) -> tuple[float, float]:
    call = variant.call
    turns = range(calls)
    # Processor time of the whole process: work that was moved to another thread still counts.
    cpu, wall = time.process_time(), time.perf_counter()
    for _ in turns:
        call()
    waited = time.perf_counter() - wall
    _maybe(variant.settle)
    return (time.process_time() - cpu) / calls * 1e6, waited / calls * 1e6


GROUPS: dict[str, Callable[[], dict[str, Variant]]] = {
    "core": core,
    "langchain": langchain,
    "openai": openai,
    **{key: (lambda key=key: peer(key)) for key in PEERS},  # type: ignore[misc]
}


def main(group: str) -> None:
    # What a variant prints must not break the protocol, and faults must not be swallowed.
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    logging.disable(logging.WARNING)

    def say(value: Any) -> None:
        print(json.dumps(value), file=out, flush=True)

    try:
        variants = GROUPS[group]()
    except Absent as error:
        say({"absent": str(error)})
        return
    say({"ready": list(variants)})
    gc.collect()
    gc.freeze()  # modules and fixtures are not what is measured
    for line in sys.stdin:
        say(measure(variants, int(line)))


if __name__ == "__main__":
    main(sys.argv[1])
