"""The rule that every passage an answer cites is one that search returned."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from dataclasses import field as attribute  # the class here has a field called `field`

from aucert_otel.generation import Generation, Passage
from aucert_otel.verdict import Finding, Reason
from aucert_verifiers.rules.base import MAX_FINDINGS, Context, Found, failed, passed, unclear
from aucert_verifiers.rules.citations import MAX_CHARS, Citation, CitationReader, id_key
from aucert_verifiers.rules.forms import LABEL_PREFIX, Kind, find_citations
from aucert_verifiers.rules.options import check_flag, check_name
from aucert_verifiers.rules.seen import visible
from aucert_verifiers.rules.text import listed


def returned(evidence: Sequence[Passage], *, articles: bool = False) -> str:
    """The fact of what search returned, as a sentence."""
    ids = list(dict.fromkeys(str(passage.id) for passage in evidence if passage.id is not None))
    if not ids:
        return "search returned nothing" if not evidence else "search returned passages without ids"
    noun = ("article" if articles else "passage") + ("s" if len(ids) > 1 else "")
    if all(LABEL_PREFIX.match(each) and id_key(each) != each.casefold() for each in ids):
        return f"search returned {listed(ids)}"  # "article 118" needs no noun
    return f"search returned {noun} {listed(ids)}"


@dataclass(frozen=True, slots=True)
class CitesOnlyReturned:
    """Every passage the answer cites is one that search returned on this turn.

    By default citations are read from the text: "article 212", "Art. **212**", "articles 118 and
    140", "section 212", "[212]", "[118, 140]", "[doc:abc]", "[^212]", "【212】". A structured answer
    is read through its keys and strings. Ids are compared without case and without such a label, so
    212, "212" and "Article 212" are one id. A section that a returned passage itself names, or that
    is named as a part of an article, is no citation. What is NOT read and so passes: an id that is
    spelled out or in Roman numerals, a bare "(212)", other words for a passage ("doc 212", "Artikel
    212"). Where your answers cite in such a way, give a ``pattern``.

    An answer that cites nothing passes, unless ``required``. One in which characters reorder the
    text is unclear where it cites something: a reader may see another id.

    When nobody knows what search returned (``evidence`` is ``None``, or passages have no ids) the
    rule is unclear; when search returned nothing, every citation is wrong.

    Args:
        pattern: A regular expression for a citation instead: the id is its group ``id``, else its
            first group, else all of it. See `Matches` on how to write one.
        field: A JSON field that holds the ids instead, as a dotted path: ``citations``,
            ``answer.sources.id``. A list on the way stands for each of its items.
        required: An answer that cites nothing fails.
        max_chars: Characters of the answer that are read: by default 20,000 by a ``pattern``, else
            200,000. A longer answer never passes: what a ``pattern`` or a ``field`` would have to
            read is not read at all, and other text as far as this goes. It is unclear, with the share
            that was read as the measure ``covered``.

    Raises:
        ConfigurationError: the pattern is none, or both a pattern and a field are given.
    """

    _: KW_ONLY
    pattern: str | None = None
    field: str | None = None
    required: bool = False
    max_chars: int | None = None
    name: str = "cited_ids"
    reader: CitationReader = attribute(init=False, repr=False, compare=False)
    _passed: Finding = attribute(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_flag(self.required, "cites_only_returned.required")
        reader = CitationReader(self.pattern, self.field, self.max_chars)
        object.__setattr__(self, "reader", reader)
        object.__setattr__(self, "_passed", passed(check_name(self.name, "cites_only_returned")))

    def check(self, generation: Generation, context: Context, /) -> Found:
        """See the class."""
        cited = self.reader.read(context)
        findings = list(self._malformed(cited.malformed))
        evidence = generation.evidence
        if not cited.found:
            if self.required and not findings and not cited.unread:
                fact = "the answer cites nothing"
                if evidence is not None:
                    fact += f"; {returned(evidence)}"
                findings.append(failed(self.name, Reason.REQUIRED, fact))
        elif evidence is None:
            ids = listed(list(dict.fromkeys(c.shown for c in cited.found)))
            why = f"the answer cites {ids}, and nobody knows what search returned"
            findings.append(unclear(self.name, Reason.NO_EVIDENCE, why))
        else:
            known = {id_key(passage.id) for passage in evidence if passage.id is not None}
            wrong = [citation for citation in cited.found if citation.key not in known]
            if any(citation.kind is Kind.SECTION for citation in wrong):
                wrong = _without_quoted_sections(wrong, evidence)
            if wrong and any(passage.id is None for passage in evidence):
                ids = listed(list(dict.fromkeys(c.shown for c in wrong)))
                why = f"the answer cites {ids}, and search returned passages that have no id"
                findings.append(unclear(self.name, Reason.NO_EVIDENCE, why))
            elif wrong:
                findings.extend(self._wrong(wrong, evidence))
        if cited.unread:
            why, covered = cited.unread, cited.covered
            findings.append(unclear(self.name, Reason.NOT_CHECKED, why, covered=covered))
        elif cited.found and not findings and context.reordered:
            why = "characters of the answer reorder it: a reader may see other ids than it cites"
            findings.append(unclear(self.name, Reason.NOT_CHECKED, why))
        return findings or self._passed

    def _malformed(self, facts: tuple[str, ...]) -> Iterable[Finding]:
        if facts:
            more = max(0, len(facts) - MAX_FINDINGS)
            yield failed(self.name, Reason.MALFORMED, facts[:MAX_FINDINGS], more=more)

    def _wrong(self, wrong: list[Citation], evidence: Sequence[Passage]) -> Iterable[Finding]:
        by_claim: dict[str, list[Citation]] = {}
        if self.field is not None:  # one list of ids is one thing to mend
            ids = list(dict.fromkeys(citation.shown for citation in wrong))
            by_claim[f"{self.field}: {listed(ids)}"] = wrong
        else:
            for citation in wrong:
                by_claim.setdefault(citation.text.sentence(citation.start), []).append(citation)
        more = max(0, len(by_claim) - MAX_FINDINGS)
        for number, (claim, citations) in enumerate(list(by_claim.items())[:MAX_FINDINGS], start=1):
            ids = list(dict.fromkeys(citation.shown for citation in citations))
            articles = all(citation.kind is Kind.ARTICLE for citation in citations)
            noun = ("article" if articles else "passage") + ("s" if len(ids) > 1 else "")
            fact = returned(evidence, articles=articles)
            yield failed(
                self.name,
                Reason.UNSUPPORTED,
                fact,
                why=f"the answer cites {noun} {listed(ids)}, but {fact}",
                claim=claim,
                more=more if number == MAX_FINDINGS else 0,
            )


def _without_quoted_sections(wrong: list[Citation], evidence: Sequence[Passage]) -> list[Citation]:
    """The citations without sections that a returned passage names in its own text."""
    named: set[str] = set()
    room = MAX_CHARS
    for passage in evidence:
        text = visible(passage.text[:room])
        room -= len(text)
        for form in find_citations(text, len(text)):
            if form.kind is Kind.SECTION:
                named.update(map(id_key, form.ids))
    return [each for each in wrong if each.kind is not Kind.SECTION or each.key not in named]
