"""A sentence as the statements it makes: cut where one statement ends and another begins."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Clause:
    """One statement of a sentence."""

    start: int
    end: int
    """Where it stands in the sentence."""
    subject: str = ""
    """The subject it shares with the clause before, which has to be put in front of it."""


_LONGEST: Final = 4_000
"""Characters of a sentence that are cut. A longer one is no sentence, and stays whole."""

_SUBJECT: Final = (
    r"(?:you|we|i|it|they|he|she|there|this|that|these|those|the|a|an|your|our|their|its|all|any|each|"
    r"every|no|most|some|refunds?|orders?|items?|customers?|members?|users?|returns?|exchanges?|"
    r"replacements?|shipping|delivery|deliveries|payments?)(?:'(?:re|ll|ve|s|d))?\b"
)
_VERB: Final = (
    r"(?:is|are|was|were|am|be|been|has|have|had|does|do|did|can|cannot|could|will|would|shall|should|may|"
    r"might|must|needs?|takes?|took|costs?|includes?|included|requires?|required|applies|apply|covers?|"
    r"covered|starts?|started|begins?|began|ends?|ended|opens?|opened|closes?|closed|expires?|expired|arrives?|"
    r"arrived|keeps?|kept|lasts?|lasted|gives?|gave|gets?|got|pays?|paid|offers?|offered|allows?|allowed|"
    r"contains?|contained|provides?|provided|comes?|came|goes|go|went|becomes?|became|remains?|remained|"
    r"receives?|received|holds?|held|accepts?|accepted|means?|meant|says?|said|states?|stated|lets?|makes?|made|"
    r"ships?|shipped|works?|worked|lives?|lived|won|wins?|wrote|writes?|founded|joined|moved|grew|rose|fell|"
    r"renews?|renewed|returns?|returned|supports?|supported|qualif(?:y|ies)|depends?|"
    r"(?:can|do|does|is|are|was|were|wo|would|could|should|has|have|had|must)n't)"
)
_HAS_VERB: Final = re.compile(rf"\b{_VERB}\b|'(?:re|ll|ve|s|d|m)\b", re.IGNORECASE)
_FIRST_VERB: Final = re.compile(
    r"\b(?:is|are|was|were|am|has|have|had|does|do|did|can|cannot|could|will|would|shall|should|may|might|"
    r"must|takes?|costs?|includes?|requires?|applies|covers?|starts?|begins?|ends?|opens?|closes?|expires?|"
    r"arrives?|lasts?|gives?|offers?|allows?|contains?|provides?|comes?|becomes?|remains?|receives?|"
    r"accepts?|means?|renews?|needs?|supports?|"
    r"(?:can|do|does|is|are|was|were|wo|would|could|should|has|have|had|must)n't)\b",
    re.IGNORECASE,
)
_CUT: Final = re.compile(
    rf"(?P<mark>;\s+|\s+[\u2013\u2014]\s+|\s*\u2014\s*|\s--?\s)(?=\w)"
    rf"|(?P<join>,?\s+(?:and|but|so|yet|while|whereas|because|although|though|since|plus)"
    rf"(?:\s+(?:also|then|therefore|that|now|still|even))?\s+)(?={_SUBJECT})"
    rf"|(?P<noun>,\s+(?:and|but|while|whereas)\s+)(?=(?:[\w'-]{{1,30}}\s+){{1,4}}?{_VERB}\b)"
    rf"|(?P<comma>,\s+)(?={_SUBJECT})"
    rf"|(?P<verb>,?\s+(?:and|but)\s+(?:(?:also|then|usually|only|never|always|typically)\s+)?)(?={_VERB}\b)"
    rf"|(?P<which>,\s+which\s+)(?={_VERB}\b)",
    re.IGNORECASE,
)
_CONDITION: Final = re.compile(
    r"\b(?:if|when|unless|once|whenever|in case|as long as|provided that|as soon as|until|while|since|"
    r"because|although|though|after|before|for|to|whether)\b",
    re.IGNORECASE,
)
_IMPERATIVE: Final = re.compile(
    r"(?:please\s+)?(?:just\s+|simply\s+|kindly\s+)?(?:reply|respond|send|attach|include|provide|upload|"
    r"submit|bring|show|present|share|enter|fill|call|contact|email|e-mail|visit|click|open|select|choose|"
    r"use|return|keep|pack|print|write|go|log|sign|follow|check|allow|take|add|confirm|download|install|"
    r"complete|ask|wait|make|give|tell|ship|drop|register|apply|pay|store|place|put|update|reset|restart|"
    r"rotate|run|set|remove|delete|change)\b(?!ed\b)(?!\s+(?:is|are|was|were|can|will|may|must)\b)",
    re.IGNORECASE,
)
_COORDINATED: Final = re.compile(
    rf",?\s+(?:and|then|and then)\s+(?={_IMPERATIVE.pattern})", re.IGNORECASE
)


def is_instruction(text: str) -> bool:
    """It tells the reader to do something: "Reply here with a photo"."""
    return _IMPERATIVE.match(text) is not None


def clauses_of(sentence: str) -> list[Clause]:
    """The statements of a sentence. A condition stays with what it limits. Linear in the sentence."""
    if len(sentence) > _LONGEST:
        return [Clause(0, len(sentence))]
    found: list[Clause] = []
    start, subject = 0, ""
    for match in _CUT.finditer(sentence):
        kind = match.lastgroup or ""
        left, right = sentence[start : match.start()], sentence[match.end() :]
        if not _complete(left) or not _stands(kind, left, right):
            continue
        if _in_brackets(sentence, start, match.start()):
            continue
        shared = ""
        if kind in ("verb", "which"):
            shared = _subject_of(left) or subject
            if not shared or (kind == "which" and _several_nouns(left)):
                continue
        found.append(Clause(start, match.start(), subject))
        start, subject = match.end(), shared
    found.append(Clause(start, len(sentence), subject))
    return _instructions(sentence, found)


def _complete(text: str) -> bool:
    return _HAS_VERB.search(text) is not None or is_instruction(text)


def _stands(kind: str, left: str, right: str) -> bool:
    """Whether what follows is a statement of its own, and what stands before does not limit it."""
    head = right[:160]
    if kind in ("comma", "mark"):
        if kind == "comma" and _opens_with_condition(left):
            return False
        return _HAS_VERB.search(head) is not None and not (kind == "comma" and _is_list(head))
    if kind in ("join", "noun"):
        if _HAS_VERB.search(head.split(",")[0]) is None:
            return False
        return not (_opens_with_condition(left) and "," not in left)
    return True


def _opens_with_condition(text: str) -> bool:
    return _CONDITION.match(text.lstrip()) is not None


def _is_list(head: str) -> bool:
    """The next item of a list: "the box, the card, and the receipt"."""
    before = re.split(r",|\band\b|\bor\b", head, maxsplit=1)[0]
    return _HAS_VERB.search(before) is None


def _in_brackets(sentence: str, start: int, end: int) -> bool:
    piece = sentence[start:end]
    return (
        piece.count("(") > piece.count(")")
        or piece.count("\u201c") > piece.count("\u201d")
        or (piece.count('"') % 2 == 1)
    )


def _subject_of(text: str) -> str:
    """The words before the verb of a clause, if they can be a subject."""
    verb = _FIRST_VERB.search(text)
    if verb is None:
        return ""
    found = text[: verb.start()].strip(" ,")
    words = found.split()
    if not 1 <= len(words) <= 7 or _CONDITION.search(found) or "," in found:
        return ""
    return found


def _several_nouns(text: str) -> bool:
    """More than one thing that "which" could be about."""
    return len(re.findall(r"\b(?:the|a|an|your|our)\b", text, re.IGNORECASE)) > 1


def _instructions(sentence: str, clauses: list[Clause]) -> list[Clause]:
    """Cut "reply with a photo and include the receipt" in two."""
    found: list[Clause] = []
    for clause in clauses:
        text = sentence[clause.start : clause.end]
        start = clause.start
        if is_instruction(text):
            for match in _COORDINATED.finditer(text):
                at = clause.start + match.start()
                if at > start:
                    found.append(Clause(start, at, clause.subject))
                    start = clause.start + match.end()
        found.append(Clause(start, clause.end, clause.subject if start == clause.start else ""))
    return found
