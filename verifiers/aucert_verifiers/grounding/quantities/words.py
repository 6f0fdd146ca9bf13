"""Words as roles compare them: stemmed, synonyms as one word, and how much each one tells."""

from __future__ import annotations

from functools import cache, lru_cache
from threading import Lock
from typing import Any, Final

from aucert_otel.errors import MissingExtraError
from aucert_verifiers.grounding.quantities import lexicon


_LOCK = Lock()  # a stemmer keeps the word it works on in itself
_LONGEST = 40
"""Letters of a word that count. Nothing longer is a word."""


@cache
def _stemmer() -> Any:
    try:
        import snowballstemmer
    except ImportError:
        raise MissingExtraError("the quantity rule", "grounding") from None
    return snowballstemmer.stemmer("english")


# Each line is one meaning, under its first word. They are general English: nothing here is taken from
# the texts the rule is measured on.
_SYNONYMS: Final = """
report notify notification notice flag inform tell alert
deliver delivery arrive arrival receive receipt reception
buy purchase
request ask apply application
cancel cancellation
return
refund reimburse reimbursement repay repayment moneyback
replace replacement
damage break broken
defect defective fault faulty
lose loss lost missing
pay payment payable
cost price fee charge surcharge costs
begin start commence commencement
end finish completion complete conclude conclusion
book booking reserve reservation
enrol enroll enrolment enrollment
register registration
sign signature signing
issue issuance
ship shipping shipment dispatch despatch
expire expiry expiration lapse
valid validity
renew renewal
approve approval
appeal
exchange swap
repair fix mend
require requirement need must
allow permit may can
free gratis complimentary
discount reduction rebate
deposit
wait waiting
last take
keep retain retention hold
delete deletion erase erasure
change alter alteration modify modification amend amendment
depart departure leave
stay
open opening
close closing closure shut
old age aged
weigh weight
long length
tall high height
big large size
photo photograph picture image
parcel package
mail email e-mail
car vehicle automobile
child kid children
person people
late overdue
annual yearly annually
monthly month
weekly week
daily day
hourly hour
quarterly quarter
weekend saturday-sunday
visit
guarantee warranty
insure insurance
employee staff
submit submission file lodge
collect collection pickup
dropoff
activate activation
install installation
inspect inspection
invoice bill billing
upload
download
answer respond response reply
resolve resolution
withdraw withdrawal
borrow borrowing lend loan
subscribe subscription
transfer
terminate termination
announce announcement
decide decision
publish publication
invite invitation
evict eviction
treat treatment
admit admission
graduate graduation
confirm confirmation
claim
"""

# Words that tell nothing about a subject.
_EMPTY: Final = lexicon.words(
    """
a an the this that these those it its itself they them their theirs he she his her him we us our ours
you your yours yourself i me my mine who whom whose which what where when while whether why how
is are was were be been being am do does did done doing have has had having will would shall should
can could may might must ought let lets need needs needed require requires required
and or but nor so yet if then else than as because since although though unless until till
of to in on at by for from with without within into onto upon over under above below between among
through throughout during before after against about around via per up down out off again
not no never none neither any some all each every both either such only just also too very even still
here there now today already ever always usually normally typically generally currently
please kindly note sorry thank thanks unfortunately however therefore otherwise instead simply
yes ok okay well however moreover additionally furthermore
customer customers client clients user users buyer buyers shopper shoppers anyone everyone somebody
someone anybody everybody person people one ones
policy policies article articles section clause paragraph page term terms rule rules according state states stated say says said know
more less most least fewer many much few lot lots several least maximum minimum max min exactly
approximately roughly nearly almost approx total
time times date dates deadline period window limit limits limited cap capped amount number rate
value level quantity duration length
stand stands stood amounts equal equals totals counts fixed subject wishing wanting wished wanted fail
fails failing reach reaches depend depends concerning regarding nobody noone kind sort case cases
possible able unable allow allows allowed permit permits permitted available eligible entitled
get gets got getting give gives gave given giving make makes made making take takes took taken taking
come comes came go goes went set sets keep kept put use uses used using want wants wish wishes
like likes provide provides provided offer offers offered include includes included including
apply applies applied happen happens occur occurs remain remains become becomes receive receives received
ll re ve d s t m don doesn didn isn aren wasn weren won wouldn shouldn can couldn cannot cant
dont wont hasn haven hadn mustn needn
standard-rate new own same other another first second
due later latest earlier earliest sooner longer soon prior advance ahead following next last
"""
)

# Words that go with many subjects. They help to tell roles apart, and are not enough alone.
_GENERIC: Final = lexicon.words(
    """
report request submit send file claim make open raise lodge post fill hand bring
cost pay item product service order purchase good thing case account issue
customer member guest company
option way detail form process application valid free full
add accept begin end show see find contact call write complete
day week month year hour minute
charge bill extra additional old
cover run lasts use hold carry process close
"""
)


PARTICLES: Final = frozenset({"in", "out", "up", "off", "on", "back", "over", "down", "away"})
_COMPOUNDS: Final = {
    ("check", "in"): "checkin", ("checking", "in"): "checkin",
    ("check", "out"): "checkout", ("checking", "out"): "checkout",
    ("pick", "up"): "collect", ("picked", "up"): "collect", ("picking", "up"): "collect",
    ("drop", "off"): "dropoff", ("dropped", "off"): "dropoff",
    ("sign", "up"): "register", ("signing", "up"): "register", ("signed", "up"): "register",
    ("send", "back"): "return", ("sent", "back"): "return", ("sending", "back"): "return",
    ("bring", "back"): "return", ("brought", "back"): "return",
    ("give", "back"): "return", ("given", "back"): "return",
    ("hand", "in"): "submit", ("handed", "in"): "submit", ("turn", "in"): "submit",
    ("call", "off"): "cancel", ("called", "off"): "cancel",
    ("money", "back"): "refund",
    ("log", "in"): "login", ("logged", "in"): "login",
    ("opt", "out"): "optout", ("opt", "in"): "optin",
}  # fmt: skip


def compound(first: str, second: str) -> str | None:
    """Two words that mean one thing, such as "check out"; ``None`` if they do not."""
    return _COMPOUNDS.get((first, second))


def _stem(word: str) -> str:
    with _LOCK:
        stemmed: str = _stemmer().stemWord(word)
    return stemmed


@cache
def _tables() -> tuple[dict[str, str], frozenset[str]]:
    meaning: dict[str, str] = {}
    for line in _SYNONYMS.strip().splitlines():
        words = line.split()
        head = _stem(words[0])
        for word in words:
            meaning.setdefault(_stem(word), head)
    generic = frozenset(meaning.get(_stem(word), _stem(word)) for word in _GENERIC)
    return meaning, generic


@lru_cache(maxsize=16_384)
def fold(word: str) -> str:
    """A lower-case word as roles hold it; empty if it tells nothing."""
    if len(word) > _LONGEST:
        return word[:_LONGEST]
    meaning, _ = _tables()
    if word in _EMPTY or (len(word) == 1 and word.isascii()):
        return ""
    stem = _stem(word)
    return meaning.get(stem, stem)


def is_generic(folded: str) -> bool:
    """Whether a folded word goes with many subjects."""
    return folded in _tables()[1]
