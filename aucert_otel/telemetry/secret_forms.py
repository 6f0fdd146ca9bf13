"""The known forms of secrets: fields, headers, URLs, tokens by shape, private keys.

What a secret looks like is a matter of convention, so this finds the conventions and nothing else:
a password that stands alone in a sentence looks like any other word. Every pattern is linear in
hostile text: it starts with something literal, what follows is bounded or taken once, and nothing
after that can fail. The patterns are compiled when the first text needs them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final


REDACTED: Final = "[redacted]"
LONG_WORD: Final = "\0"
"""Stands for a long word among what a rule needs: a token known by its shape is one."""

Span = tuple[int, int]

# The patterns below read lower-cased text, unless the case is part of the shape.
_KEYS = "|".join(
    f"(?<={word}key)|(?<={word}[ _-]key)"
    for word in (
        *("api", "access", "account", "admin", "app", "auth", "encryption", "license", "master"),
        *("private", "secret", "service", "shared", "signing", "ssh", "storage", "subscription"),
    )
)
_NAME = rf"""(?:pass(?:word|wd|phrase|code|wort)|pwd|secret|token|key(?:{_KEYS})
  |pass(?<![a-z]pass)(?=["']?\s{{0,8}}=))(?:[_-]?(?:value|hash|\d{{1,3}}))?"""
_SEPARATOR = r"""\\{0,7}["'`*\])]{0,3}\s{0,64}(?::=|=>|={1,3}|:)[*]{0,2}\s{0,64}"""
_BLOCK = r"(?:[|>][-+]?\s{1,64})?"  # a YAML block scalar
_CALL = r"(?:[a-z_][a-z_.]{0,30}\(\s{0,4})?[bruf]{0,2}"  # SecretStr('…'), b'…'
# To the quote of the same kind and the same depth of escaping, or the end of the line.
_QUOTED = (
    r"""(?P<esc>\\{0,7})(?P<mark>"{3}|'{3}|["'`])"""
    r"""(?P<quoted>(?:(?!(?<!\\)(?P=esc)(?P=mark))[^\r\n])++)"""
)
_NOT_A_VALUE = (
    "a an and any are as ask asked at be bitte because but by can cannot change check choose click "
    "contact do does else enter false flag for forgot from go has how if in int is it its leave "
    "may must need new no none not null of on one option optional or our please press required "
    "reset see set should so some str string that the their then there these they this to true "
    "type undefined use via was we what when where which who why will with yes you your bool bytes"
).replace(" ", "|")
# A word of a sentence and the key of a nested mapping are no values.
_BARE = rf"""(?P<bare>(?!(?:{_NOT_A_VALUE})(?=[.,;:!?)\]}}]{{0,3}}(?:[\s"']|\Z))|[a-z_-]{{1,64}}:\s|[-*]\s)
  (?:[^\s"'`<>&;,)}}\]\\]|\\(?!\\{{0,6}}["'])|[,)}}\]](?=[^\s,;)}}\]"'`<>\\])
     |[&;](?=[^\s"'`<>])(?![\w. -]{{1,32}}=)){{3,}}+)"""
_VALUE = rf"(?:{_CALL}{_QUOTED}|{_BARE})"
_HEADER = r"""\\{0,7}["'`*]{0,3}\s{0,64}(?::=|=>|=|:|(?<=["']),)[*]{0,2}\s{0,64}"""
_SCHEME = "basic|bearer|token|digest|negotiate|ntlm|apikey|hmac|oauth|aws4-hmac-sha256"


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of secret."""

    needs: tuple[tuple[str, ...], ...]
    """Of each group one is in every text that the pattern could match; lower case."""
    pattern: re.Pattern[str]
    cased: bool = False
    """Whether the pattern reads the text as it is, not in lower case."""
    plausible: Callable[[str], bool] | None = None
    """A last look at the value, for forms that ordinary sentences share."""

    def spans(self, text: str, low: str) -> Iterator[Span]:
        """Where the rule finds a secret; ``low`` is the text in lower case."""
        for match in self.pattern.finditer(text if self.cased else low):
            # The last named group is the value; a pattern without one is a value as a whole.
            start, end = match.span(match.lastgroup or 0)
            if text.startswith(REDACTED, start) or text.startswith("redacted]", start):
                continue
            if self.plausible is None or self.plausible(text[start:end]):
                yield start, end


def _random(value: str) -> bool:
    """Whether a word after "password is" or "bearer" is more likely a secret than a word."""
    word = value.rstrip(".!?:)")
    if len(word) < 6 or re.match(r"\d{1,4}[-x]?[a-z]*$", word, re.IGNORECASE):
        return False
    letters = any(c.isalpha() for c in word)
    digits = any(c.isdigit() for c in word)
    mixed = word not in (word.lower(), word.upper()) and word[1:] != word[1:].lower()
    return (letters and digits) or mixed or len(word) >= 24


def _digits(value: str) -> bool:
    """A bare ``sk-`` within a longer word is a key only with digits in it: think of "task-"."""
    return any(c.isdigit() for c in value)


@cache
def rules() -> tuple[Rule, ...]:
    """Every known form, compiled when the first text needs it."""

    def rule(
        needs: str,
        pattern: str,
        *,
        cased: bool = False,
        plausible: Callable[[str], bool] | None = None,
    ) -> Rule:
        groups = tuple(tuple(group.split()) for group in needs.split("+"))
        return Rule(groups, re.compile(pattern, re.VERBOSE), cased, plausible)

    named = "pass pwd secret token key"
    return (
        # Fields and assignments, in code, JSON, escaped JSON, YAML, environment files, prose.
        rule(f"{named} + : =", rf"{_NAME}{_SEPARATOR}{_BLOCK}{_VALUE}"),
        rule(f"{named} + is was", rf"{_NAME}\s{{1,8}}(?:is|was):?\s{{1,8}}{_QUOTED}"),
        rule(
            f"{named} + is was", rf"{_NAME}\s{{1,8}}(?:is|was):?\s{{1,8}}{_BARE}", plausible=_random
        ),
        rule(
            f"{named} + (",
            rf"""\(\s{{0,4}}b?["'][a-z0-9_.-]{{0,40}}?{_NAME}["']\s{{0,4}},\s{{0,4}}{_VALUE}""",
        ),
        rule("secretstr", rf"secretstr\(\s{{0,4}}b?{_QUOTED}"),
        rule(
            f"{named} + <",
            rf"""<[a-z0-9_.:-]{{0,60}}?{_NAME}(?:\s[^<>]{{0,200}})?>\s{{0,64}}
            (?:<!\[cdata\[)?(?P<value>[^<]++)""",
        ),
        rule(f"{named} + --", rf"--[a-z0-9_-]{{0,40}}?{_NAME}\s{{1,8}}(?!-){_VALUE}"),
        # Headers.
        rule(
            "authorization",
            rf"""authorization{_HEADER}{_CALL}["'`]?(?:{_SCHEME})\s{{1,16}}
            (?P<value>[a-z0-9+/=_.~-]{{8,}}+(?!\s{{0,4}}[=,])
            |(?=[^\r\n"'`]{{0,400}}[=\d])[^\r\n"'`]++)""",
            plausible=_after_scheme,
        ),
        rule(
            "authorization",
            rf"""authorization{_HEADER}{_CALL}["'`]?{_BARE}""",
            plausible=_random,
        ),
        rule(
            "authorization",
            rf"""authorization{_HEADER}{_CALL}["'`]?[a-z][a-z0-9_-]{{1,30}}[\ \t]{{1,16}}{_BARE}""",
            plausible=_random,
        ),
        rule("x-api-key", rf"x-api-key{_HEADER}{_VALUE}"),
        rule(
            "bearer",
            r"bearer(?:\s{1,16}|[:=]\s{0,16})(?P<value>[a-z0-9+/=_.~-]{6,}+)",
            plausible=_random,
        ),
        rule(
            "cookie",
            rf"""cookie2?{_HEADER}(?:{_CALL}(?P<esc>\\{{0,7}})["'`])?
            (?P<value>[^\s=;"'`]{{1,128}}=[^\r\n"'`]++)""",
        ),
        # URLs: a password that holds slashes first, then whatever stands before the host.
        rule(
            ":// + @",
            r"""://(?P<value>[^\s/?\#@:"'<>]{0,256}:(?!\d{1,5}[/?\#])(?:(?!://)[^\s"'<>]){1,400})@""",
        ),
        rule(":// + @", r"""://(?P<value>[^\s/?\#"'<>]{8,400})@"""),
        rule(":// + @", r"""://(?P<value>[^\s/?\#@:"'<>]{0,256}:[^\s/?\#"'<>]{1,400})@"""),
        rule(
            "= + ? & ;",
            r"""[?&;\#](?:amp;)?(?:x-amz-|x-goog-)?(?:key|sig|signature|credential|security-token|auth|code|hmac|jwt)
            =(?P<value>[^\s&\#"'<>]++)""",
        ),
        rule(
            "hook",
            r"""(?:hooks\.slack(?:-gov)?\.com/[a-z]{1,16}/|discord(?:app)?\.com/api/(?:v\d{1,2}/)?webhooks/
            |webhook\.office\.com/)(?P<value>[^\s"'<>)]++)""",
        ),
        # Private keys, to their end or, where the text ends first, as far as it goes.
        rule(
            "-----begin",
            r"""-----begin\ (?:[a-z0-9]{1,16}\ ){0,4}private\ key(?:\ block)?-----
            (?P<value>(?:(?!-----(?:begin|end))[\s\S])++)""",
        ),
        # Tokens by their shape.
        rule(LONG_WORD, _SHAPES, cased=True),
        rule(
            LONG_WORD,
            r"[spr]k-(?:[A-Za-z0-9]{1,12}-){0,3}[A-Za-z0-9_]{16,}+",
            cased=True,
            plausible=_digits,
        ),
    )


def _after_scheme(value: str) -> bool:
    """Whether what follows "Authorization: Basic" is a credential and not a sentence."""
    return len(value) >= 16 or not value.isalpha()


_SHAPES: Final = r"""
  [spr]k-(?<![A-Za-z0-9]..-)[A-Za-z0-9_-]{16,}+
  |[spr]k-[A-Za-z0-9_-]{4,}\r?\n[A-Za-z0-9_-]{16,}+
  |sk-(?:proj|ant|svcacct|admin|or|lf)-[A-Za-z0-9_-]{8,}+
  |[spr]k_(?:live|test|prod)_[A-Za-z0-9]{8,}+
  |whsec_[A-Za-z0-9+/=]{16,}+
  |gh[pousr]_[A-Za-z0-9_]{20,}+
  |github_pat_[A-Za-z0-9_]{20,}+
  |gl(?:pat|ptt|rt|dt|oas|cbt|soat|ft|imt|agent)-[A-Za-z0-9_.-]{16,}+
  |(?:hf|gsk|npm|r8|shp(?:at|ca|pa|ss)|dop_v1|lin_api)_[A-Za-z0-9]{20,}+
  |xai-[A-Za-z0-9]{20,}+
  |pypi-[A-Za-z0-9_]{16,}+[A-Za-z0-9_-]*+
  |xox[a-z][.-][A-Za-z0-9.-]{10,}+
  |xapp-[A-Za-z0-9-]{10,}+
  |A[KS]IA[0-9A-Z]{12,}+
  |AIza[0-9A-Za-z_-]{28,}+
  |ya29\.[0-9A-Za-z_.-]{12,}+
  |SG\.[0-9A-Za-z_-]{16,64}\.[0-9A-Za-z_-]{16,}+
  |eyJ[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]*+){0,4}
"""
