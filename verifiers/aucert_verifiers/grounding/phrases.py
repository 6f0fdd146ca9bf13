"""What asserts nothing: greetings, apologies, offers of help. And what says that nothing is known."""

from __future__ import annotations

import re
from typing import Final


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.IGNORECASE)


_POLITE: Final = _any(
    r"(?:hi|hello|hey|dear|good (?:morning|afternoon|evening)|greetings)\b(?:[^.!?]{0,60})[.!?,]*\Z",
    r"(?:(?:many |a thousand )?thanks|thank you)\b(?! to\b)[^.!?]{0,160}[.!?]*\Z",
    r"(?:we|i)(?:'re| are|'m| am)? (?:really |very |truly |so |terribly |deeply |do |sincerely )*"
    r"(?:sorry|apologi[sz]e|regret|appreciate)\b(?:[^.!?]{0,200})[.!?]*\Z",
    r"(?:(?:so |very |really )?sorry|(?:my|our) (?:sincere(?:st)? |deepest )?apologies|apologies)\b[^.!?]{0,200}[.!?]*\Z",
    r"(?:that|this|it) (?:sounds|must be|must have been|is) (?:really |very |so |quite )*"
    r"(?:frustrating|annoying|disappointing|upsetting|stressful|great|wonderful|lovely)[^.!?]{0,80}[.!?]*\Z",
    r"(?:i|we) (?:completely |totally |fully |can |do )*understand\b[^.!?]{0,160}[.!?]*\Z",
    r"(?:i|we)(?:'m| am|'re| are|'d be| would be)? (?:always |more than |very |so )*(?:happy|glad|here|delighted|pleased)\b"
    r"[^.!?]{0,120}[.!?]*\Z",
    r"(?:happy|glad) to (?:help|assist|hear)\b[^.!?]{0,80}[.!?]*\Z",
    r"(?:i|we) hope\b[^.!?]{0,160}[.!?]*\Z",
    r"hope (?:this|that|it) helps\b[^.!?]{0,60}[.!?]*\Z",
    r"(?:please )?(?:let (?:me|us) know|feel free|do(?:n't| not) hesitate|get in touch|reach out)\b[^.!?]{0,160}[.!?]*\Z",
    r"(?:please )?(?:take care|stay safe|enjoy|have a (?:great|good|nice|lovely|wonderful))\b[^.!?]{0,80}[.!?]*\Z",
    r"(?:best|kind|warm|warmest|kindest)(?: (?:regards|wishes))[^.!?]{0,80}[.!?]*\Z",
    r"(?:regards|cheers|sincerely|yours (?:truly|sincerely)|all the best|welcome|congratulations)\b[^.!?]{0,60}[.!?,]*\Z",
    r"(?:you(?:'re| are) (?:very |most )?welcome|no problem|no worries|of course|sure|certainly|absolutely|ok(?:ay)?|yes|no|"
    r"great(?: question| news)?|good (?:question|news|catch)|understood|got it|noted|my pleasure)[.!?,]*\Z",
    r"(?:is there )?anything else\b[^.!?]{0,80}[.!?]*\Z",
    r"(?:here(?:'s| is| are)|below (?:is|are)|the following|see below)\b[^.!?]{0,100}:\Z",
    r"(?:i|we)(?:'ve| have)? (?:checked|looked|had a look)\b[^.!?]{0,60}[.!?:]*\Z",
    r"(?:your|the) (?:support|customer (?:care|service)) team[.!]*\Z",
)
_UNKNOWN: Final = _any(
    r"\b(?:i|we)(?:'m| am|'re| are)? (?:really |just |honestly |simply )*(?:do not|don't|cannot|can't|could not|couldn't|"
    r"am not|are not|not|was not|were not|wasn't|weren't)(?: be)? (?:really |currently |yet |actually )*"
    r"(?:know\b(?! of a)|sure\b|certain\b|aware of|able to (?:find|confirm|answer|verify|determine|say|tell)|have (?:any |enough |"
    r"that |the |this |access to |specific |further )*(?:information|details?|data|answer|record|access)|find\b|confirm\b|"
    r"answer\b|verify\b|determine\b|say (?:for sure|whether|if)|tell (?:you )?(?:whether|if|from))",
    r"\b(?:i|we)(?:'m| am|'re| are) (?:unable|not able|unsure|uncertain)\b(?! to (?:offer|accept|refund|ship|process|replace))",
    r"\b(?:there is|there's|i have|we have|i found|we found|found) (?:no|not enough|insufficient) (?:information|mention|"
    r"details?|data|answer|passage)",
    r"\b(?:do not|don't|does not|doesn't) (?:say|mention|specify|state|contain|cover|include|provide)\b[^.!?]{0,60}"
    r"\b(?:this|that|whether|how|when|information|answer|your question)\b",
    r"\bno (?:idea|clue)\b",
    r"\b(?:information|answer|detail)s? (?:is|are|was|were) (?:not|n't) (?:available|given|provided|known|mentioned)\b",
)
_OPENER: Final = _any(
    r"(?:yes|no|yep|nope|sure|certainly|absolutely|of course|unfortunately|fortunately|luckily|sadly|regrettably|however|"
    r"also|additionally|furthermore|moreover|in addition|in short|in summary|to summari[sz]e|basically|so|well|okay|ok|now|"
    r"great|perfect|indeed|actually|generally|as a reminder|for (?:your )?reference|to be clear|in that case|in this case|"
    r"don't worry|no worries|rest assured|thankfully|hi there|hello|hi|good question|great question)\s*[,!:\u2013\u2014]\s*",
    r"(?:good|great|bad) news\s*[:,!\u2013\u2014]\s*",
    r"(?:please )?(?:note|be aware|keep in mind|remember|be advised)(?: that|:|,)\s*",
    r"(?:just )?(?:so you know|a quick note|fyi|heads[- ]up)\s*[,:]\s*",
    r"(?:i|we) can (?:confirm|tell you)(?: that)?\s+",
    r"(?:i|we)(?:'m| am|'re| are) (?:so |very |really |happy to (?:confirm|say|tell you)|glad to (?:confirm|say)|afraid|"
    r"pleased to (?:confirm|say))(?: that)?\s+(?!sorry)",
    r"(?:i|we)(?:'m| am|'re| are) (?:so |very |really |truly )*sorry[^,.!?]{0,80},\s*(?:but|however)[, ]\s*",
    r"(?:sorry|apologies|thanks|thank you)[^,.!?]{0,60}(?:,|\u2013|\u2014|-)\s*(?:but )?\s*",
    r"(?:i|we) (?:think|believe|understand|see|assume|guess)(?: that)?\s+",
    r"(?:as far as (?:i|we) know|to (?:my|our|the best of (?:my|our)) knowledge|from what (?:i|we) can (?:see|tell))\s*,\s*",
    r"it (?:looks|seems|appears)(?: like| that)?\s+",
    r"please\s+",
)
_SIGN_OFF: Final = _any(
    r"(?:best|kind|warm|warmest|kindest)(?: (?:regards|wishes))\b",
    r"(?:regards|cheers|sincerely|yours (?:truly|sincerely)|all the best)\b",
)
_QUESTION: Final = re.compile(r"[?\uff1f\u061f\u037e]\s*[\"'\u201d\u2019)]*\Z")
_LETTER: Final = re.compile(r"[^\W\d_]")


def has_words(text: str) -> bool:
    """Something is said at all: emoji and rules of dashes say nothing."""
    return any(char.isalnum() for char in text)


def is_polite(text: str) -> bool:
    """A greeting, an apology, an offer of help: nothing a passage could confirm."""
    return _POLITE.match(text) is not None


def is_sign_off(text: str) -> bool:
    """The formula that closes a letter: a name follows."""
    return _SIGN_OFF.match(text) is not None


def is_question(text: str) -> bool:
    """It asks."""
    return _QUESTION.search(text) is not None


def is_abstention(text: str) -> bool:
    """It says that the answer, or a part of it, is not known."""
    return _UNKNOWN.search(text) is not None


def without_openers(text: str) -> int:
    """How many characters of openers such as "Yes," or "Please note that" stand before the words."""
    at = 0
    for _ in range(4):
        found = _OPENER.match(text, at)
        if found is None or found.end() == at:
            break
        at = found.end()
    return at if _LETTER.search(text, at) or any(c.isdigit() for c in text[at:]) else 0
