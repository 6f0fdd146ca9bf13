"""The rule that every number in an answer stands in a passage it may rest on."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import lru_cache

from aucert_otel.errors import ConfigurationError
from aucert_otel.generation import Generation, Passage
from aucert_otel.verdict import Finding, Reason
from aucert_verifiers.rules.base import MAX_FINDINGS, Context, Found, failed, passed, unclear
from aucert_verifiers.rules.citations import id_key
from aucert_verifiers.rules.options import check_count, check_flag, check_name, check_texts
from aucert_verifiers.rules.seen import visible
from aucert_verifiers.rules.text import Text, ascii_digits, clip, listed


# Linear: digit runs are possessive, and a thousands group must end where its three digits do, so
# that "1,111,111,…" is never read again from each of its commas.
_NUMBER = re.compile(
    r"[\d.](?:(?<=\d)(?:"  # one plain set first: the engine looks for it without trying the rest
    r"\d*+(?:\.\d++){2,}+"  # 14.03.2026, 1.2.3: compared by their parts
    r"|\d{0,2}(?:[,'\u2019\u00a0\u202f]\d{3}(?!\d))++(?:\.\d++)?"  # 1,000.50
    r"|\d*+(?:\.\d++)?"
    r")|(?<=\.)(?<![\w.].)\d++)"  # .5
)
_GROUPING = str.maketrans("", "", ",'\u2019\u00a0\u202f")

_UNITS = "zero|one|two|three|four|five|six|seven|eight|nine"
_TEENS = "ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen"
_SMALL = {word: number for number, word in enumerate(f"{_UNITS}|{_TEENS}".split("|"))}
_TENS = {
    word: number * 10
    for number, word in enumerate(
        ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"), start=2
    )
}
_WORD = re.compile(
    rf"\b(?:({'|'.join(_TENS)})(?:[-\s]({_UNITS}))?|({'|'.join(_SMALL)}))\b", re.IGNORECASE
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_DATE = re.compile(
    rf"(?<!\d)\d{{1,2}}(?:st|nd|rd|th)?\s{{1,3}}(?:of\s)?{_MONTH}\b|\b{_MONTH}\.?\s{{1,3}}\d",
    re.IGNORECASE,
)

_CACHED_CHARS = 20_000

MAX_WRONG = 2_000
"""Numbers no passage holds that are reported on. An answer with more has long failed."""

MAX_CHARS = 200_000
"""Characters of answer, passages and questions together that are read, by default."""


def number_keys(token: str) -> tuple[str, ...]:
    """A number as it is compared: 1,000 is 1000, 5.0 and 05 are 5; a dotted date is its parts."""
    if not token.isascii():
        token = ascii_digits(token.translate(_GROUPING))
    elif not token.isdigit():
        token = token.translate(_GROUPING)
    if token.count(".") > 1:
        return tuple(part.lstrip("0") or "0" for part in token.split("."))
    whole, _, decimals = token.partition(".")
    whole, decimals = whole.lstrip("0") or "0", decimals.rstrip("0")
    return (f"{whole}.{decimals}" if decimals else whole,)


def _read(text: str) -> frozenset[str]:
    """Every number a text holds, also as a word up to ninety-nine and as the month of a date."""
    text = visible(text)
    found = {key for match in _NUMBER.finditer(text) for key in number_keys(match.group())}
    for tens, unit, small in _WORD.findall(text):
        number = (
            _TENS[tens.lower()] + _SMALL.get(unit.lower(), 0) if tens else _SMALL[small.lower()]
        )
        found.add(str(number))
    for before, after in _DATE.findall(text):
        found.add(str(_MONTHS.index((before or after)[:3].lower()) + 1))
    return frozenset(found)


_read_cached = lru_cache(maxsize=1024)(_read)


def numbers_in(passage: Passage) -> frozenset[str]:
    """The numbers of a passage; the same passages come back turn after turn, so they are kept."""
    text = passage.text
    return _read_cached(text) if len(text) <= _CACHED_CHARS else _read(text)


@dataclass(frozen=True, slots=True)
class NumbersAppear:
    r"""Every number in the answer appears in a passage it cites, or else in one search returned.

    The passages the answer cites are the ones that count. If it cites none that search returned,
    all of this turn's passages count. Numbers are compared by value: 1,000 is 1000, "$5.0" is 5,
    digits of any script are digits, dates are compared by their parts. A passage may also say a
    number as a word ("forty-eight hours"). List markers are no numbers, and neither are cited ids that
    were returned or that a `CitesOnlyReturned` of the same set checks. An answer in which characters
    reorder the text is unclear where it says a number: a reader may see another one.

    What is not compared: the sign (a dash is a bullet, a range or a minus), the unit, the word after
    it ("30 million"), numbers the answer spells out or writes in Roman numerals or Chinese ones, the
    order of a date's or a time's parts, keys of a structured answer that are plain names, such as
    ``hours_72``, and above all the number's ROLE. "30 days to report damage" passes against an
    article that gives 30 days for a refund: whether a number is about the thing the answer says
    it is about needs both texts to be understood, which is the grounding rung's work.

    Args:
        allow_from_question: The customer's own numbers, from the question and the user's messages,
            may be repeated: an order number is no invention.
        allow: More numbers the answer may use, such as ``("24", "7")``.
        fields: In a structured answer, read only these fields, as dotted paths.
        ignore_fields: In a structured answer, leave these fields out. The field that citations
            are read from is always left out. A dot in a key is written ``\.`` in a path.
        exempt_cited: Cited ids are no numbers even if no rule of this set checks them, since
            something else does.
        max_chars: Characters of the answer, the passages and the questions together that are read.
            Where there are more, the answer is read as far as there is room, and never passes: it
            is unclear, with the share of the answer that was read as the measure ``covered``.

    Raises:
        ConfigurationError: an option is of the wrong type.
    """

    _: KW_ONLY
    allow_from_question: bool = True
    allow: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    ignore_fields: tuple[str, ...] = ()
    exempt_cited: bool = False
    max_chars: int = MAX_CHARS
    name: str = "numbers"
    _allowed: frozenset[str] = field(init=False, repr=False, compare=False)
    _passed: Finding = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_flag(self.allow_from_question, "numbers_appear.allow_from_question")
        check_flag(self.exempt_cited, "numbers_appear.exempt_cited")
        check_count(self.max_chars, "numbers_appear.max_chars", least=1)
        for option in ("fields", "ignore_fields"):
            names = check_texts(getattr(self, option), f"numbers_appear.{option}")
            object.__setattr__(self, option, names)
        allow, keys = _allowed(self.allow)
        object.__setattr__(self, "allow", allow)
        object.__setattr__(self, "_allowed", keys)
        object.__setattr__(self, "_passed", passed(check_name(self.name, "numbers_appear")))

    def check(self, generation: Generation, context: Context, /) -> Found:
        """See the class."""
        length = len(generation.output)
        room = self.max_chars - self._sources(generation)
        if room <= 0:
            why = f"the passages and questions have more than {self.max_chars} characters"
            return unclear(self.name, Reason.NOT_CHECKED, why, covered=0.0)
        cited = context.reader.read(context).found
        pool = generation.evidence or ()
        cited_keys = {citation.key for citation in cited}
        if cited_keys:
            rests_on = tuple(p for p in pool if p.id is not None and id_key(p.id) in cited_keys)
            pool = rests_on or pool
        known = [numbers_in(passage) for passage in pool]
        if self._allowed:
            known.append(self._allowed)
        wrong = self._wrong(context, known, room)
        findings: list[Finding] = []
        if wrong and generation.evidence is None:
            shown = listed(list(dict.fromkeys(n for each in wrong.values() for n in each)))
            why = f"the answer says {shown}, and nobody knows what search returned"
            findings.append(unclear(self.name, Reason.NO_EVIDENCE, why))
        elif wrong:
            findings.extend(self._failures(wrong, pool))
        if length > room:
            why = f"the answer, passages and questions have more than {self.max_chars} characters"
            covered = room / length
            findings.append(unclear(self.name, Reason.NOT_CHECKED, why, covered=covered))
        elif not findings and context.reordered and _holds_number(context):
            why = (
                "characters of the answer reorder it: a reader may see other numbers than it holds"
            )
            findings.append(unclear(self.name, Reason.NOT_CHECKED, why))
        return findings or self._passed

    def _sources(self, generation: Generation) -> int:
        """Characters of all that the answer's numbers are compared with."""
        length = 0
        for passage in generation.evidence or ():
            length += len(passage.text)
        if self.allow_from_question:
            length += len(generation.question or "")
            for message in generation.messages:
                length += len(message.content)
        return length

    def _wrong(
        self, context: Context, known: list[frozenset[str]], room: int
    ) -> dict[str, list[str]]:
        """The numbers that stand in none of the sets, under the sentence that says them."""
        wrong: dict[str, dict[str, None]] = {}  # a number said a thousand times is listed once
        asked: frozenset[str] | None = None if self.allow_from_question else frozenset()
        left = MAX_WRONG
        for shown, text, start in self._unknown(context, known, room):
            if asked is None:  # rarely needed, so read only now
                asked = _asked(context.generation)
            if asked.issuperset(number_keys(shown)):
                continue  # not counted: the customer's own number said often hides no other
            wrong.setdefault(text.sentence(start), {})[shown] = None
            left -= 1
            if not left:
                break
        return {claim: list(numbers) for claim, numbers in wrong.items()}

    def _unknown(
        self, context: Context, known: list[frozenset[str]], room: int
    ) -> Iterator[tuple[str, Text, int]]:
        """The answer's numbers that stand in no set, without cited ids and list markers."""
        spans = self._exempt(context)
        for path, text in context.texts():
            if room <= 0:
                return
            if path and self._leaves_out(path, context.reader.field):
                continue
            if text.key and text.text.isascii() and text.text.isidentifier():
                continue  # a field's name, such as "line_2"
            cited = iter(spans.get(text, ()))
            span = next(cited, None)
            marker = 0
            for match in _NUMBER.finditer(text.text, 0, room):
                start, end = match.span()
                while span is not None and span[1] <= start:
                    span = next(cited, None)
                if span is not None and span[0] <= start:
                    continue
                if text.text[end : end + 2] in _AFTER_MARKER and _is_marker(
                    text.text, start, end, marker
                ):
                    marker = int(match.group())
                elif not _stands_in(match.group(), known):
                    yield match.group(), text, start
            room -= len(text.text)

    def _exempt(self, context: Context) -> dict[Text, list[tuple[int, int]]]:
        """Where each text cites ids that are looked after: they were returned, or are checked."""
        spans: dict[Text, list[tuple[int, int]]] = {}
        found = context.reader.read(context).found
        if found and not (self.exempt_cited or context.checks_citations):
            evidence = context.generation.evidence or ()
            returned = {id_key(passage.id) for passage in evidence if passage.id is not None}
            strange = {(each.text, each.start) for each in found if each.key not in returned}
            found = tuple(each for each in found if (each.text, each.start) not in strange)
        for citation in found:
            spans.setdefault(citation.text, []).append((citation.start, citation.end))
        return spans

    def _leaves_out(self, path: str, citation_field: str | None) -> bool:
        return (
            (bool(self.fields) and path not in self.fields)
            or path in self.ignore_fields
            or (citation_field is not None and _within(path, citation_field))
        )

    def _failures(self, wrong: dict[str, list[str]], pool: Sequence[Passage]) -> list[Finding]:
        holds = sorted({key for p in pool for key in numbers_in(p)}, key=lambda k: (len(k), k))
        ids = [str(passage.id) for passage in pool if passage.id is not None]
        where = f"passage{'s' if len(ids) > 1 else ''} {listed(ids)}" if ids else "the passages"
        if not pool:
            rest = "search returned nothing"
        elif holds:
            rest = f"the numbers in {where} are {listed(holds, 40)}"
        else:
            rest = f"there is no number in {where}"
        more = max(0, len(wrong) - MAX_FINDINGS)
        findings: list[Finding] = []
        for claim, numbers in list(wrong.items())[:MAX_FINDINGS]:
            verb = "appear" if len(numbers) > 1 else "appears"
            findings.append(
                failed(
                    self.name,
                    Reason.UNSUPPORTED,
                    f"{listed(numbers)} {verb} in no passage the answer rests on: {rest}",
                    claim=claim,
                    more=more if len(findings) == MAX_FINDINGS - 1 else 0,
                )
            )
        return findings


def _allowed(value: object) -> tuple[tuple[str, ...], frozenset[str]]:
    items = tuple(value) if isinstance(value, tuple | list | set | frozenset) else (value,)
    for item in items:
        if isinstance(item, bool) or not _NUMBER.fullmatch(str(item)):
            raise ConfigurationError(
                f'numbers_appear.allow holds {clip(repr(item), 80)}: it must hold numbers, such as "24"'
            )
    shown = tuple(sorted(str(item) for item in items))
    return shown, frozenset(key for item in shown for key in number_keys(item))


def _holds_number(context: Context) -> bool:
    return any(_NUMBER.search(text.text) for _, text in context.texts())


def _within(path: str, field_path: str) -> bool:
    return path == field_path or path.startswith(f"{field_path}.")


def _asked(generation: Generation) -> frozenset[str]:
    numbers = _read(generation.question) if generation.question else frozenset[str]()
    for message in generation.messages:
        if message.role == "user":
            numbers |= _read(message.content)
    return numbers


_AFTER_MARKER = frozenset({". ", ") ", ".\t", ")\t"})


def _is_marker(text: str, start: int, end: int, previous: int) -> bool:
    """A list marker: a small number, first on its line, and in sequence with the one before.

    The sequence matters: "60. That is how many days you have." starts with a number, no marker.
    """
    if end - start > 3 or not text[start:end].isdecimal():
        return False
    before = text[max(0, start - 12) : start]
    line = before.rpartition("\n")[2]
    if line.strip() or (len(line) == 12 and start > 12):
        return False
    return int(text[start:end]) in (1, previous + 1)


def _stands_in(shown: str, known: list[frozenset[str]]) -> bool:
    for numbers in known:
        if shown in numbers:  # nearly every number is written as it is compared
            return True
    keys = number_keys(shown)
    return all(any(key in numbers for numbers in known) for key in keys)
