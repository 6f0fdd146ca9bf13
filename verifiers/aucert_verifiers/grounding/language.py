"""Whether the clause rules know the language of a sentence. What they do not know is said."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final

from aucert_verifiers.grounding.quantities.lexicon import words


_WORD: Final = re.compile(r"[^\W\d_]+")
_ENGLISH: Final = words(
    "the a an of to in on at by for from with is are was were be been have has had do does did will would "
    "can could may must should not no and or but if when while you your we our it its they their this that "
    "these those i my he she his her as than within after before until all any each there what which who "
    "how up out so please only also more most"
)
_OTHERS: Final = {
    "German": "der die das und ist nicht ein eine einen von mit f\u00fcr auf sie wir innerhalb werden wird "
    "haben k\u00f6nnen oder im den dem sich",
    "French": "le la les des est une et vous nous pas pour dans sur avec votre notre jours sont du au qui "
    "que ne",
    "Spanish": "el los las una que es y para con por su del nuestra usted d\u00edas puede al no se",
    "Italian": "il gli che una per non con sono di della entro giorni pu\u00f2 nostra e le si",
    "Portuguese": "os um uma que n\u00e3o para com por seu da do dias pode nossa em e se as",
    "Dutch": "het een van en is niet voor met u wij binnen dagen kunnen uw op te dat",
    "Polish": "nie si\u0119 jest na do w ci\u0105gu dni oraz lub dla prosimy z i",
    "Swedish": "och att det som en ett inte \u00e4r f\u00f6r inom dagar av med kan",
    "Turkish": "ve bir i\u00e7in bu ile g\u00fcn i\u00e7inde de\u011fil olarak sipari\u015f",
}
_NAMES: Final = {"Cjk": "Chinese characters", "Hangul": "Korean", "Greek": "Greek", "Thai": "Thai"}
_WORDS: Final = {name: words(text) for name, text in _OTHERS.items()}
_FEW: Final = 4
"""Words below which a Latin text may be anything, and is taken for English."""


@lru_cache(maxsize=1_024)
def _script(char: str) -> str:
    try:
        return unicodedata.name(char).split()[0].split("-")[0].title()
    except ValueError:
        return "Unknown"


def foreign(text: str) -> str | None:
    """What a sentence is written in if it is not English: a script or a language; else ``None``."""
    if not text.isascii():
        letters = [char for char in text[:2_000] if char.isalpha()]
        if letters:
            latin = sum(char.isascii() or _script(char) == "Latin" for char in letters)
            if 2 * latin < len(letters):
                others = [_script(char) for char in letters if not char.isascii()]
                if "Hiragana" in others or "Katakana" in others:
                    return "Japanese"
                script = max(sorted(set(others)), key=others.count)
                return _NAMES.get(script, f"{script} script")
    said = [word.lower() for word in _WORD.findall(text[:2_000])]
    if len(said) < _FEW:
        return None
    english = sum(word in _ENGLISH for word in said)
    best, count = None, 0
    for name, known in _WORDS.items():
        hits = sum(word in known for word in said)
        if hits > count:
            best, count = name, hits
    return best if count >= 2 and count > english else None
