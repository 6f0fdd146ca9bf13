"""Rules about the answer's shape: did it end, does it parse, is it of the right length."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import ClassVar

from aucert_otel.errors import ConfigurationError
from aucert_otel.generation import TRUNCATED, Generation
from aucert_otel.verdict import Finding, Reason
from aucert_verifiers.rules.base import Context, Found, failed, passed, unclear
from aucert_verifiers.rules.options import (
    check_choice,
    check_count,
    check_flag,
    check_name,
    check_texts,
)
from aucert_verifiers.rules.parse import FORMATS, Unparsable, parse, unfence
from aucert_verifiers.rules.text import clip


FINISHED = frozenset(
    {"stop", "end_turn", "stop_sequence", "eos", "eos_token", "complete", "completed", "end"}
    | {"tool_calls", "tool_use", "function_call"}
)
"""Finish reasons, case folded, by which providers say that the model stopped of its own accord."""

WITHHELD = frozenset(
    {"content_filter", "content_filtered", "refusal", "safety", "recitation", "blocklist", "spii"}
    | {"prohibited_content", "guardrail_intervened", "image_safety"}
)
"""Finish reasons, case folded, by which providers say that they cut or withheld the answer."""

_TRUNCATED = frozenset(reason.casefold() for reason in TRUNCATED)


@dataclass(frozen=True, slots=True)
class FinishReason:
    """The model ended the answer of its own accord.

    A truncated answer fails, and a repair asks again with a higher ceiling. An answer the provider
    withheld is unclear, not failed: nobody knows that what is there is wrong, and a repair
    with the same passages meets the same filter, so a person has to look. A reason nobody knows is
    unclear too. Without a finish reason the rule does not apply; it never passes on silence.

    The rule runs first, and when it does not pass the rest of the set is left out: a stump
    neither parses nor has the right length, and that would count one fault several times.

    Args:
        finished: More finish reasons that mean a finished answer, for a provider with its own words.
    """

    _: KW_ONLY
    finished: tuple[str, ...] = ()
    name: str = "finish_reason"
    _finished: frozenset[str] = field(init=False, repr=False, compare=False)
    _passed: Finding = field(init=False, repr=False, compare=False)
    ends_set: ClassVar[bool] = True
    rank: ClassVar[int] = 0

    def __post_init__(self) -> None:
        finished = check_texts(self.finished, "finish_reason.finished")
        object.__setattr__(self, "finished", finished)
        own = frozenset(reason.casefold() for reason in finished)
        object.__setattr__(self, "_finished", FINISHED | own)
        object.__setattr__(self, "_passed", passed(check_name(self.name, "finish_reason")))

    def check(self, generation: Generation, _context: Context, /) -> Found:
        """See the class."""
        reason = generation.finish_reason
        if reason is None:
            return None
        folded = reason.casefold()
        if folded in self._finished:
            return self._passed
        shown = clip(reason, 40)
        if folded in _TRUNCATED:
            return failed(
                self.name,
                Reason.TRUNCATED,
                f"the answer was cut off at its token ceiling: finish_reason={shown}",
            )
        if folded in WITHHELD:
            return unclear(
                self.name,
                Reason.REFUSED,
                f"the provider withheld the answer or part of it: finish_reason={shown}",
            )
        return unclear(
            self.name,
            Reason.OUT_OF_VOCABULARY,
            f"nobody knows what finish_reason={shown} means: if it is a finished answer, name it in "
            "FinishReason(finished=...)",
        )


@dataclass(frozen=True, slots=True)
class Parses:
    """The answer is well-formed text of a format, read by a strict and bounded parser.

    JSON has no NaN, no infinity and no key twice; YAML is safe, without tags that build objects
    and without alias bombs; XML has no DOCTYPE; the rows of CSV all have as many fields as the
    first; Python is parsed and never run. When it does not parse, the rest of the set is left out.

    Args:
        format: ``json``, ``yaml``, ``toml``, ``xml``, ``csv`` or ``python``.
        allow_fence: Read what is inside a code fence that wraps the whole answer. Off by default:
            an application that parses the answer itself would trip over the fence.
        max_chars: Characters read; a longer answer fails. By default one million for JSON,
            XML and CSV, 100,000 for Python, 50,000 for YAML and 20,000 for TOML, whose parsers are slow.
    """

    format: str = "json"
    _: KW_ONLY
    allow_fence: bool = False
    max_chars: int | None = None
    name: str = "parses"
    _passed: Finding = field(init=False, repr=False, compare=False)
    ends_set: ClassVar[bool] = True
    rank: ClassVar[int] = 1

    def __post_init__(self) -> None:
        check_choice(self.format, "parses.format", tuple(FORMATS))
        check_flag(self.allow_fence, "parses.allow_fence")
        if self.max_chars is not None:
            check_count(self.max_chars, "parses.max_chars", least=1)
        object.__setattr__(self, "_passed", passed(check_name(self.name, "parses")))

    def check(self, generation: Generation, context: Context, /) -> Found:
        """See the class."""
        text = generation.output
        try:
            if self.allow_fence:
                text = unfence(text)
            if self.format == "json" and self.max_chars is None and text is generation.output:
                context.json()  # the other rules of the set read the same value
            else:
                parse(text, self.format, self.max_chars)
        except Unparsable as error:
            what = {"python": "Python"}.get(self.format, self.format.upper())
            fence = " (it is wrapped in a code fence)" if text.lstrip().startswith("```") else ""
            return failed(
                self.name, Reason.MALFORMED, f"the answer is not valid {what}: {error}{fence}"
            )
        return self._passed


@dataclass(frozen=True, slots=True)
class Length:
    """The answer's length lies within bounds, counted in characters, in words, or in both.

    Words are what white space separates, so for Chinese or Japanese count characters.
    """

    _: KW_ONLY
    min_chars: int | None = None
    max_chars: int | None = None
    min_words: int | None = None
    max_words: int | None = None
    name: str = "length"
    _passed: Finding = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        bounds = ("min_chars", "max_chars", "min_words", "max_words")
        given = [bound for bound in bounds if getattr(self, bound) is not None]
        if not given:
            raise ConfigurationError(
                f"length has no bound: give at least one of {', '.join(bounds)}"
            )
        for bound in given:
            check_count(getattr(self, bound), f"length.{bound}")
        for unit in ("chars", "words"):
            low, high = getattr(self, f"min_{unit}"), getattr(self, f"max_{unit}")
            if low is not None and high is not None and low > high:
                raise ConfigurationError(
                    f"length.min_{unit} is {low}, more than length.max_{unit}, which is {high}: "
                    "no answer can meet both"
                )
        object.__setattr__(self, "_passed", passed(check_name(self.name, "length")))

    def check(self, generation: Generation, _context: Context, /) -> Found:
        """See the class."""
        output = generation.output
        facts = _outside(len(output), "characters", self.min_chars, self.max_chars)
        if self.min_words is not None or self.max_words is not None:
            facts += _outside(len(output.split()), "words", self.min_words, self.max_words)
        return failed(self.name, Reason.LENGTH, facts) if facts else self._passed


def _outside(count: int, unit: str, low: int | None, high: int | None) -> tuple[str, ...]:
    if low is not None and count < low:
        return (f"the answer has {count} {unit}; at least {low} are needed",)
    if high is not None and count > high:
        return (f"the answer has {count} {unit}; at most {high} are allowed",)
    return ()
