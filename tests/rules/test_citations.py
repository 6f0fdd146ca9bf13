from __future__ import annotations

import json

import pytest
from support.flowers import CARE, DELIVERY, reply

from aucert_otel.errors import ConfigurationError
from aucert_otel.generation import Generation, Passage
from aucert_otel.verdict import Reason, Verdict
from aucert_verifiers.rules import CitesOnlyReturned, NumbersAppear, Rules
from aucert_verifiers.rules.base import Context
from aucert_verifiers.rules.citations import CitationReader


def cited(text, **options):
    reader = CitationReader(**options)
    return [citation.key for citation in reader.read(Context(Generation(text), reader)).found]


def check(generation, **options):
    return Rules(CitesOnlyReturned(**options)).verify(generation)


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("See article 212.", ["212"]),
        ("See Article 212, please", ["212"]),
        ("(article 212)", ["212"]),
        ("Art. 212 says so. Then", ["212"]),
        ("article #212, article no. 5 and article number 6", ["212", "5", "6"]),
        ("article-212 and article_7", ["212", "7"]),
        ("articles 118 and 140 say", ["118", "140"]),
        ("Articles 118, 140 and 305.", ["118", "140", "305"]),
        ("articles 118, 140", ["118", "140"]),
        ("articles 118, 48 hours later", ["118"]),
        ("According to article 305, 48 hours are left", ["305"]),
        ("article 118 and article 140", ["118", "140"]),
        ("article 5.2 and article 12a", ["5.2", "12a"]),
        ("article XY-12", ["xy-12"]),
        ("keep them cool [212].", ["212"]),
        ("cool[212], really [118, 140] and [118; 140]", ["212", "118", "140", "118", "140"]),
        ("[doc:abc], [Article 7] and [source: a/b-c.md, x]", ["abc", "7", "a/b-c.md", "x"]),
        ("article ٢١٢ and [\uff12\uff11\uff12]", ["212", "212"]),
        ("arti\u200bcle 21\u20602", ["212"]),
        (
            "the article says 5, particle 9, state of the art 5, [x] [ ] [link](http://a) [5 stars]",
            [],
        ),
        ("", []),
    ],
)
def test_citations_are_read_as_people_write_them(text, ids):
    assert cited(text) == ids


@pytest.mark.parametrize(
    "form",
    [
        "article **212**", "article *212*", "article `212`", "article: **#212**", "article _212_", "article (212)",
        'article "212"', "article \u201c212\u201d", "article \u2116 212", "article\\_212", "article.212", "article\u2013212",
        "Article&nbsp;212", "article&#32;212", "article &#50;12", "article \u00b2\u00b9\u00b2", "article (**212**)",
        "section 212", "Sections 212", "sec. 212", "\u00a7 212", "\u00a7212", "\u00a7\u00a7 212", "[\u00a7212]", "[section 212]",
        "[^212]", "\u3010212\u3011", "\u3010212\u2020source\u3011", "[#212]", "[ref 212]", "[doc 212]", "[doc: 212 ]", "[doc #212]",
        "\\[212\\]", "[**212**]", "[source: 212 p. 3]", "[Article 212, paragraph 3]", "[212](#212)",
    ],
)  # fmt: skip
def test_one_id_is_read_in_each_form_a_model_writes(form):
    assert cited(f"See {form}.") == ["212"]
    assert cited(f"See {form}") == ["212"]


@pytest.mark.parametrize(
    "form",
    [
        "article 118 or 212", "article 118 to 212", "article 118/212", "articles 118 through 212", "articles 118 or 212 say",
        "articles 118 as well as 212", "articles 118 plus 212", "articles 118 & 212", "articles **118** and **212**",
        "articles 118,\n- 212", "articles:\n- 118\n- 212\n", "articles (118, 212)", 'articles "118" and 212'.replace('"', "*"),
        "[118 and 212]", "[118 & 212]", "[118 212]", "[118\u2013212]", "[118/212]", "[^118, ^212]", "[doc 118, 212]",
        "[118][212]", "\u3010118\u3011\u3010212\u3011", "\u00a7 118 and 212",
    ],
)  # fmt: skip
def test_every_id_of_a_list_is_read_in_each_form_a_model_writes(form):
    assert cited(f"See {form}.") == ["118", "212"]


@pytest.mark.parametrize(
    "text",
    [
        "this article (48 hours)", "the article. 48 hours later", "the article, 48 hours", "in 30 seconds", "in 5 secs",
        "subsection 3", "[sources say]", "[docker]", "[source unknown]", "[5 stars] [ref]", "bisect 3", "Art and 5 more",
    ],
)  # fmt: skip
def test_what_only_looks_like_a_citation_is_none(text):
    assert cited(text) == []


def test_a_number_after_one_article_is_no_second_id():
    assert cited("According to article 118 and 48 hours later") == ["118"]
    assert cited("article 118-compliant and article 118-B") == ["118", "118-b"]


def test_a_tail_inside_the_brackets_is_still_read_for_numbers():
    rules = Rules(CitesOnlyReturned(), NumbersAppear())
    findings = rules.verify(reply("It is late [source: 118, 72 hours at most]."))
    assert [finding.verdict for finding in findings] == [Verdict.PASS, Verdict.FAIL]


def test_a_section_of_an_article_or_one_a_passage_names_is_no_citation():
    passage = Passage("As section 7 says, it takes 5 days.", id="118")
    for text in ("Article 118, section 2.", "Section 2 of article 118.", "See section 7."):
        assert check(reply(text, passage))[0].verdict is Verdict.PASS, text
    assert check(reply("See section 8.", passage))[0].verdict is Verdict.FAIL


def test_the_reply_that_cites_article_212_fails_with_what_search_returned():
    (finding,) = check(
        reply("Thanks for asking. According to article 212, delivery is free. Anything else?")
    )
    assert (finding.verdict, finding.reason) == (Verdict.FAIL, Reason.UNSUPPORTED)
    assert finding.claim == "According to article 212, delivery is free."
    assert [(e.text, e.origin) for e in finding.evidence] == [
        ("search returned articles 118 and 140", "rule")
    ]
    assert finding.why == ("the answer cites article 212, but search returned articles 118 and 140")


@pytest.mark.parametrize(
    "identifier", ["118", "Article 118", "article-118", "art. 118", 118, "doc:118"]
)
def test_an_id_is_the_same_id_however_it_is_written(identifier):
    (finding,) = check(reply("See article 118 and [118].", Passage("…", id=identifier)))
    assert finding.verdict is Verdict.PASS


def test_a_label_is_cut_off_an_id_only_where_it_is_one():
    assert check(reply("[docker]", Passage("…", id="docker")))[0].verdict is Verdict.PASS
    assert check(reply("[doc:ker]", Passage("…", id="docker")))[0].verdict is Verdict.FAIL


def test_each_wrong_sentence_is_one_finding():
    findings = check(
        reply(
            "See article 7 and article 8. Also [7]. And article 118. See article 7 and article 8."
        )
    )
    assert [finding.claim for finding in findings] == ["See article 7 and article 8.", "Also [7]."]
    assert "cites articles 7 and 8" in findings[0].why


def test_an_answer_that_cites_nothing_passes_unless_citing_is_required():
    assert check(reply("Yes."))[0].verdict is Verdict.PASS
    (finding,) = check(reply("Yes."), required=True)
    assert (finding.verdict, finding.reason) == (Verdict.FAIL, Reason.REQUIRED)
    assert finding.evidence[0].text == (
        "the answer cites nothing; search returned passages 118 and 140"
    )


def test_nobody_knowing_what_search_returned_is_not_search_returning_nothing():
    (unknown,) = check(Generation("See [212]."))
    assert (unknown.verdict, unknown.reason) == (Verdict.UNCLEAR, Reason.NO_EVIDENCE)
    (nothing,) = check(Generation("See [212].", evidence=()))
    assert (nothing.verdict, nothing.evidence[0].text) == (Verdict.FAIL, "search returned nothing")
    assert check(Generation("Yes."))[0].verdict is Verdict.PASS


def test_passages_without_ids_leave_a_strange_citation_unclear():
    (finding,) = check(reply("See [212].", Passage("…"), DELIVERY))
    assert (finding.verdict, finding.reason) == (Verdict.UNCLEAR, Reason.NO_EVIDENCE)
    assert check(reply("See [118].", Passage("…"), DELIVERY))[0].verdict is Verdict.PASS


def answer(**values):
    return reply(json.dumps(values))


def test_ids_are_read_from_a_json_field_and_a_number_is_its_text():
    assert check(answer(citations=[118, "140"]), field="citations")[0].verdict is Verdict.PASS
    assert check(answer(citations=118), field="citations")[0].verdict is Verdict.PASS
    nested = answer(lines=[{"by": {"id": 118}}, {"by": {"id": "140"}}, {}])
    assert check(nested, field="lines.by.id")[0].verdict is Verdict.PASS
    (finding,) = check(answer(citations=[118, 212, 213]), field="citations")
    assert finding.claim == "citations: 212 and 213"
    assert finding.evidence[0].text == "search returned passages 118 and 140"


@pytest.mark.parametrize(
    ("value", "fact"),
    [
        (None, "citations is null"),
        ([118, {"id": 118}], "citations[1] is an object"),
        ([None], "citations[0] is null"),
        ([[118]], "citations[0] is a list"),
        ([True], "citations[0] is true"),
        ([118.0], "citations[0] is 118.0"),
        ({}, "citations is an object"),
        ([" "], "citations[0] is an empty text"),
    ],
)
def test_a_cited_id_of_the_wrong_type_is_a_finding_that_names_its_place(value, fact):
    (finding,) = check(answer(citations=value), field="citations")
    assert (finding.verdict, finding.reason) == (Verdict.FAIL, Reason.MALFORMED)
    assert finding.evidence[0].text == f"{fact}: a cited id is a text or a whole number"


def test_a_field_cannot_be_read_from_prose():
    (finding,) = check(reply("See [118]."), field="citations")
    assert finding.reason is Reason.MALFORMED


def test_a_missing_field_cites_nothing():
    assert check(answer(reply="Yes."), field="citations")[0].verdict is Verdict.PASS
    assert (
        check(answer(reply="Yes."), field="citations", required=True)[0].reason is Reason.REQUIRED
    )


def test_a_structured_answer_is_read_through_its_strings():
    (finding,) = check(answer(reply="See \u0061rticle 212.", sizes=[1, 2]))
    assert finding.claim == "See article 212."
    (escaped,) = check(reply('{"reply": "See \\u0061rticle 212."}'))
    assert escaped.claim == "See article 212."


@pytest.mark.parametrize(
    "pattern", [r"<cite>(\d+)</cite>", r"(<cite>)(?P<id>\d+)", r"(?<=<cite>)\d+"]
)
def test_a_pattern_of_ones_own_names_the_id(pattern):
    assert cited("a <cite>118</cite> b [7]", pattern=pattern) == ["118"]


def test_an_answer_too_long_for_ones_own_pattern_is_unclear():
    (finding,) = check(reply("x" * 50), pattern=r"<(\d+)>", max_chars=49)
    assert (finding.verdict, finding.reason) == (Verdict.UNCLEAR, Reason.NOT_CHECKED)


def test_a_flood_of_citations_is_unclear_never_a_pass():
    (finding,) = check(reply("[118]" * 1001))
    assert (finding.verdict, finding.reason) == (Verdict.UNCLEAR, Reason.NOT_CHECKED)
    assert check(reply("[118]" * 1000))[0].verdict is Verdict.PASS


def test_what_is_past_twenty_sentences_is_counted():
    findings = check(reply(" ".join(f"Sentence {n} has [9]." for n in range(30))))
    assert len(findings) == 20
    assert findings[-1].measures == {"more": 10.0}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"pattern": "("}, "cites_only_returned.pattern is '('"),
        ({"pattern": b"x"}, "cites_only_returned.pattern is b'x'"),
        ({"pattern": "x", "field": "y"}, "both a pattern and a field"),
        ({"field": ""}, "cites_only_returned.field is ''"),
        ({"required": 1}, "cites_only_returned.required is 1"),
        ({"max_chars": "9"}, "cites_only_returned.max_chars is '9'"),
    ],
)
def test_an_option_that_cannot_work_is_refused(options, says):
    with pytest.raises(ConfigurationError) as caught:
        CitesOnlyReturned(**options)
    assert says in str(caught.value)


def test_ids_that_name_themselves_need_no_noun():
    passages = (Passage("…", id="article 118"), Passage("…", id="article 140"))
    (finding,) = check(reply("See article 212.", *passages))
    assert finding.evidence[0].text == "search returned article 118 and article 140"
    assert CARE.id == "140"
