"""The hash chain: whether a stored log is still the log that was written.

Every stored entry carries its number, the hash of the entry before it, and its own hash over both
and the record's canonical JSON. The head, the number and hash of the last entry, is kept beside
the log, so that a log cut off at its end is seen as well.

A writer that finds the head gone, unreadable or behind makes it anew, and says so in the next entry,
inside the record that the hash covers: cutting entries and deleting the head does not heal itself.

What this cannot show: whoever can write the log *and* its head can rewrite both from some entry on,
compute every hash anew, and the result verifies. It also cannot show that a log and its head were
deleted together, or put back as they stood on an earlier day. Only an anchor outside shows that:
keep the head's hash now and then where the log's writers cannot reach it (a ticket, another
account's bucket, a signed tag), and pass it to `verify` as ``expect``. Everything up to the
anchored entry is then proven; what was written after it is as good as its head.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from typing import Any

from aucert_otel.audit.canonical import canonical_json
from aucert_otel.errors import ConfigurationError


GENESIS = "0" * 64
"""What stands for the hash of the entry before the first."""

MAX_SEQ = 10**18

REBUILT_KEY = "head_rebuilt"
"""The field of a record that says that the head was made anew before it."""

_HASH = re.compile("[0-9a-f]{64}")


class Damage(StrEnum):
    """What a sink itself sees to be wrong with an entry it reads."""

    UNREADABLE = "unreadable"
    """It is not an entry in the form that we write."""
    TORN = "torn"
    """It is the last one and was not written to its end."""
    COLUMNS = "columns"
    """The columns kept for searching disagree with the record."""


@dataclass(frozen=True, slots=True)
class Head:
    """The end of the log: how many entries it has, and the hash of the last."""

    count: int = 0
    hash: str = GENESIS

    @property
    def sound(self) -> bool:
        """It is a head that we could have written. Changed by a hand, it may hold anything."""
        count: object = self.count
        digest: object = self.hash
        return (
            type(count) is int
            and 0 <= count < MAX_SEQ
            and isinstance(digest, str)
            and _HASH.fullmatch(digest) is not None
            and (count > 0 or digest == GENESIS)
        )


UNREADABLE_HEAD = Head(-1, "")
"""Stands for a head that is there and is none."""


class Rebuilt(StrEnum):
    """Why a writer made the head anew before it wrote an entry."""

    MISSING = "missing"
    UNREADABLE = "unreadable"
    BEHIND = "behind"
    """Entries came after it: the writer before was killed between the two, or somebody put an old
    head back."""


def with_mark(record_json: str, why: Rebuilt) -> str:
    """A canonical record that says that the head was made anew before it was stored."""
    return canonical_json({**json.loads(record_json), REBUILT_KEY: why.value})


@dataclass(frozen=True, slots=True)
class Entry:
    """A stored record with its place in the chain. ``seq`` counts from 1."""

    seq: int
    prev_hash: str
    hash: str
    record_json: str
    """The record exactly as stored."""
    damage: Damage | None = None

    @property
    def record(self) -> dict[str, Any]:
        """The record's fields; empty if the entry can no longer be read."""
        try:
            value = json.loads(self.record_json)
        except (ValueError, RecursionError):  # changed by a hand, so it may be anything
            return {}
        return value if isinstance(value, dict) else {}

    @property
    def rebuilt(self) -> Rebuilt | None:
        """Why the head was made anew before this entry, if it was."""
        if f'"{REBUILT_KEY}":' not in self.record_json:  # the cheap look: most entries say nothing
            return None
        said = self.record.get(REBUILT_KEY)
        return Rebuilt(said) if said in set(Rebuilt) else None


def entry_hash(seq: int, prev_hash: str, record_json: str) -> str:
    """The hash of an entry. Neither of the first two lines can hold a line break."""
    return sha256(
        f"{seq}\n{prev_hash}\n{record_json}".encode("utf-8", "backslashreplace")
    ).hexdigest()


def link(head: Head, records: Sequence[str]) -> list[Entry]:
    """Chain canonical records to a head."""
    entries = []
    previous = head.hash
    for seq, record_json in enumerate(records, head.count + 1):
        current = entry_hash(seq, previous, record_json)
        entries.append(Entry(seq, previous, current, record_json))
        previous = current
    return entries


class Fault(StrEnum):
    """What happened to the first entry that is not as it was written."""

    ALTERED = "altered"
    MISSING = "missing"
    REORDERED = "reordered"
    DUPLICATED = "duplicated"
    TRUNCATED = "truncated"
    NO_HEAD = "no_head"
    """The log has entries and its head is gone: what was cut off its end cannot be seen."""
    HEAD_REBUILT = "head_rebuilt"
    """The head was gone or unreadable, and a writer made it anew: what was cut off the log before
    that entry cannot be seen."""
    NOT_ANCHORED = "not_anchored"
    """The chain holds together and does not contain the expected hash: it was rewritten."""


@dataclass(frozen=True, slots=True)
class ChainBreak:
    """The first entry that is not as it was written."""

    seq: int
    fault: Fault
    detail: str
    """One sentence for a person. It quotes no record."""


@dataclass(frozen=True, slots=True)
class ChainReport:
    """What verifying a chain showed."""

    checked: int
    """Entries that hold, from the first on."""
    head: Head | None
    """The head kept beside the log."""
    last_hash: str
    """The hash of the last entry that holds: the value to keep as an anchor."""
    broken: ChainBreak | None = None
    beyond_head: int = 0
    """Entries that hold and come after the head: written just now, or not acknowledged before a
    crash. The next writer adopts them."""
    torn: bool = False
    """After the last entry there is the beginning of another, left by a crash. It was never
    acknowledged, and the next writer cuts it off."""
    anchored_at: int | None = None
    """The entry whose hash is the expected one."""
    caught_up: int = 0
    """How often a writer found entries after the head, as a kill between the two leaves them."""

    @property
    def ok(self) -> bool:
        """The log is, as far as a chain can show, the log that was written."""
        return self.broken is None


def verify(
    entries: Iterable[Entry], head: Head | None, *, expect: str | None = None
) -> ChainReport:
    """Check a log against its head, reading it once, in constant memory.

    Read the head before the entries: a log may grow meanwhile.

    Args:
        entries: The stored entries in the order they are stored.
        head: The head kept beside the log; ``None`` if it has none.
        expect: A head's hash that was kept outside. It may be older than the log's end.

    Returns:
        A report that names the first entry which was altered, is missing, reordered, duplicated
        or truncated off the end.

    Raises:
        ConfigurationError: ``expect`` is not a SHA-256 hash.
    """
    anchor = _anchor(expect)
    remaining = iter(entries)
    at = Head()
    anchored_at = 0 if anchor == GENESIS else None
    torn = False
    caught_up = 0
    rebuilt: ChainBreak | None = None
    broken: ChainBreak | None = None
    for entry in remaining:
        if entry.damage is Damage.TORN and _may_be_torn(at, head):
            torn = True
            break
        broken = _fault(entry, at, head, remaining)
        if broken is not None:
            break
        at = Head(entry.seq, entry.hash)
        why = entry.rebuilt
        caught_up += why is Rebuilt.BEHIND
        if why is not None and why is not Rebuilt.BEHIND:
            rebuilt = rebuilt or _rebuilt(entry.seq, why)
        if entry.hash == anchor:
            anchored_at = entry.seq
            rebuilt = None  # whoever kept this hash has accepted all that it stands on
    broken = broken or _end(at, head) or rebuilt
    if broken is None and anchor is not None and anchored_at is None:
        broken = ChainBreak(
            at.count,
            Fault.NOT_ANCHORED,
            f"none of the {at.count} entries has the expected hash {anchor}: the log was "
            "rewritten, or the hash belongs to another log",
        )
    beyond = 0 if head is None or broken is not None else at.count - head.count
    return ChainReport(at.count, head, at.hash, broken, beyond, torn, anchored_at, caught_up)


def _anchor(expect: str | None) -> str | None:
    if expect is None:
        return None
    anchor = expect.strip().lower()
    if len(anchor) != 64 or set(anchor) - set("0123456789abcdef"):
        raise ConfigurationError(
            f"the expected head {expect!r} is not a SHA-256 hash: give the 64 hex digits that an "
            "earlier verification printed"
        )
    return anchor


def _may_be_torn(at: Head, head: Head | None) -> bool:
    return head is not None and head.sound and at.count >= head.count


def _fault(
    entry: Entry, at: Head, head: Head | None, remaining: Iterator[Entry]
) -> ChainBreak | None:
    """What is wrong with the entry after ``at``; ``None`` if it follows."""
    seq = at.count + 1
    if entry.damage is not None:
        return ChainBreak(seq, Fault.ALTERED, _DAMAGED[entry.damage].format(seq=seq))
    if entry.hash != entry_hash(entry.seq, entry.prev_hash, entry.record_json):
        return ChainBreak(seq, Fault.ALTERED, f"entry {seq} does not match its own hash")
    if entry.seq == seq:
        return _replaced(entry, at, head)
    if entry.seq > seq:
        return _absent(seq, at, remaining)
    return ChainBreak(
        entry.seq,
        Fault.DUPLICATED,
        f"entry {entry.seq} stands in the log again, after entry {at.count}",
    )


def _replaced(entry: Entry, at: Head, head: Head | None) -> ChainBreak | None:
    """Whether an entry that is whole and in its place is the one that was written there."""
    seq = entry.seq
    if entry.prev_hash != at.hash:
        named = max(at.count, 1)
        return ChainBreak(
            named,
            Fault.ALTERED,
            f"entry {seq} does not follow entry {at.count}: entry {named} was replaced by another "
            "with a fresh hash",
        )
    if head is not None and seq == head.count and entry.hash != head.hash:
        return ChainBreak(
            seq, Fault.ALTERED, f"entry {seq} is not the one the head names: it was replaced"
        )
    return None


_DAMAGED = {
    Damage.UNREADABLE: "where entry {seq} should stand there is something that is no entry",
    Damage.TORN: "entry {seq} was acknowledged and is now cut off in its middle",
    Damage.COLUMNS: "entry {seq} has columns that disagree with its record",
}


def _absent(seq: int, at: Head, remaining: Iterator[Entry]) -> ChainBreak:
    """Entry ``seq`` is not in its place: it is further on, or nowhere."""
    for later in remaining:
        if later.seq == seq and later.prev_hash == at.hash:
            return ChainBreak(seq, Fault.REORDERED, f"entry {seq} stands further on than its place")
    return ChainBreak(seq, Fault.MISSING, f"entry {seq} is missing")


def _rebuilt(seq: int, why: Rebuilt) -> ChainBreak:
    return ChainBreak(
        seq,
        Fault.HEAD_REBUILT,
        f"before entry {seq} was written the head was {why.value} and was made anew: what was cut off "
        f"after entry {seq - 1} cannot be seen; once that is looked into, a head of today given as "
        "the expected one accepts it",
    )


def _end(at: Head, head: Head | None) -> ChainBreak | None:
    if head is None:
        if at.count == 0:
            return None
        return ChainBreak(
            at.count,
            Fault.NO_HEAD,
            f"the log has {at.count} entries and its head is gone: what was cut off after entry "
            f"{at.count} cannot be seen",
        )
    if not head.sound:
        return ChainBreak(
            at.count,
            Fault.NO_HEAD,
            f"the head cannot be read, so what was cut off after entry {at.count} cannot be seen",
        )
    if at.count < head.count:
        seq = at.count + 1
        return ChainBreak(
            seq,
            Fault.TRUNCATED,
            f"the log ends after entry {at.count} and its head says {head.count}: entry {seq} and "
            "what followed were cut off",
        )
    return None
