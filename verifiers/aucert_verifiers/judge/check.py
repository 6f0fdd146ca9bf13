"""What is wrong with a rubric: how it is written, and whether what it came from has changed since.

A criterion phrased as a defect makes yes the bad answer on that line and the good one on the next. A
criterion whose source has changed fails replies that are right by now. Whether a sentence names a
defect is told by English words, so this finds the usual slips and is no proof.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from aucert_otel._sentences import path, shown
from aucert_otel.config.yaml_text import parse
from aucert_otel.errors import ConfigurationError
from aucert_verifiers.judge.rubric import Criterion, Rubric, Source


class Kind(StrEnum):
    """What is wrong with a criterion: a closed vocabulary."""

    DEFECT = "defect"
    NO_FAIL = "no_fail"
    NO_UNCLEAR = "no_unclear"
    NO_SOURCE = "no_source"
    NO_VERSION = "no_version"
    SOURCE_MISSING = "source_missing"
    SOURCE_CHANGED = "source_changed"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a criterion."""

    criterion: str
    kind: Kind
    what: str
    """One sentence: what is wrong, and how to mend it."""

    def __str__(self) -> str:
        return f"criteria.{self.criterion}: {self.what}"


def text_hash(text: str) -> str:
    """The hash of a source's text. Line ends, trailing spaces and spelling of accents do not count."""
    lines = unicodedata.normalize("NFC", text).splitlines()
    return hashlib.sha256("\n".join(line.rstrip() for line in lines).strip().encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Sources:
    """The sources as they stand today, by name."""

    known: Mapping[str, Source] = field(default_factory=dict)

    @classmethod
    def load(cls, place: str | Path) -> Sources:
        """Read the sources from a file or a folder.

        A YAML or JSON file holds a list of entries with ``id`` (or ``name``), ``version`` (or
        ``latest_version``) and ``text``, or a mapping of names to such entries. In a folder every
        such file is read, and every ``.md`` or ``.txt`` file is a source named like the file.

        Raises:
            ConfigurationError: one cannot be read, or two are of one name.
        """
        root = Path(place)
        try:
            files = sorted(_files(root)) if root.is_dir() else [root]
            read = [(file, file.read_text("utf-8")) for file in files]
        except (OSError, UnicodeError, ValueError) as error:
            raise ConfigurationError(
                f"{place}: the sources cannot be read ({type(error).__name__}): give a folder or a "
                "file in UTF-8"
            ) from None
        known: dict[str, Source] = {}
        for file, text in read:
            for source in _sources(file, text):
                if source.name in known:
                    raise ConfigurationError(
                        f"{file}: the source {shown(source.name)} is there twice: keep one"
                    )
                known[source.name] = source
        return cls(known)


_DATA = frozenset({".yaml", ".yml", ".json"})
_TEXT = frozenset({".md", ".txt"})


def _files(root: Path) -> Iterator[Path]:
    return (each for each in root.iterdir() if each.suffix in _DATA | _TEXT and each.is_file())


def _sources(file: Path, text: str) -> Iterator[Source]:
    if file.suffix in _TEXT:
        yield Source(file.stem, sha256=text_hash(text))
        return
    if file.suffix == ".json":
        try:
            data = json.loads(text)
        except (ValueError, RecursionError):
            raise ConfigurationError(f"{file}: this is not JSON") from None
    else:
        data = parse(text, str(file))
    entries: Iterable[tuple[Any, Any]]
    if isinstance(data, Mapping):
        entries = data.items()
    elif isinstance(data, list):
        entries = ((None, each) for each in data)
    else:
        raise ConfigurationError(f"{file}: it must hold a list of sources, or a mapping of them")
    for number, (name, entry) in enumerate(entries):
        yield _entry(name, entry, f"{file}: entry {number + 1}")


def _entry(name: Any, entry: object, place: str) -> Source:
    if not isinstance(entry, Mapping):
        raise ConfigurationError(
            f"{place} is {shown(entry, yaml=True)}: it must be a mapping with id, version and text"
        )
    name = next(
        (each for each in (name, entry.get("name"), entry.get("id")) if each is not None), None
    )
    version = next(
        (v for v in (entry.get("latest_version"), entry.get("version")) if v is not None), None
    )
    text = entry.get("text")
    if name is None or isinstance(name, (Mapping, list)):
        raise ConfigurationError(f"{place} has no id: name the source")
    if not (text is None or isinstance(text, str)):
        raise ConfigurationError(f"{place}.text is {shown(text, yaml=True)}: it must be a text")
    return Source(
        str(name),
        None if version is None else str(version),
        None if text is None else text_hash(text),
    )


def check_rubric(rubric: Rubric, sources: Sources | None = None) -> tuple[Problem, ...]:
    """Everything that is wrong with a rubric, criterion by criterion.

    Args:
        rubric: What is looked at.
        sources: The sources as they stand today; ``None``: whether they changed is not looked at.
    """
    return tuple(problem for each in rubric for problem in _problems(each, sources))


def _problems(criterion: Criterion, sources: Sources | None) -> Iterator[Problem]:
    def problem(kind: Kind, what: str) -> Problem:
        return Problem(path((criterion.name,)), kind, what)

    if (why := _defect(criterion.holds)) is not None:
        yield problem(
            Kind.DEFECT,
            f"it {why}: write the condition that a good reply meets, so that pass is good",
        )
    if not criterion.fails.strip():
        yield problem(Kind.NO_FAIL, "it does not say when it fails: add fails")
    if not criterion.unclear.strip():
        yield problem(Kind.NO_UNCLEAR, "it does not say when it is unclear: add unclear")
    source = criterion.source
    if source is None:
        yield problem(Kind.NO_SOURCE, "it does not say what it came from: add source")
    elif source.version is None and source.sha256 is None:
        yield problem(
            Kind.NO_VERSION,
            "its source has neither a version nor a hash, so that nobody sees it change: add one",
        )
    elif sources is not None:
        yield from _changed(source, sources, problem)


def _changed(source: Source, sources: Sources, problem: Any) -> Iterator[Problem]:
    now = sources.known.get(source.name)
    if now is None:
        yield problem(
            Kind.SOURCE_MISSING, f"its source {shown(source.name)} is not among the sources"
        )
        return
    compared = False
    if source.version is not None and now.version is not None:
        compared = True
        if source.version != now.version:
            yield problem(
                Kind.SOURCE_CHANGED,
                f"its source {shown(source.name)} is at version {shown(now.version)} by now, and it was "
                f"written for {shown(source.version)}: read it again, then write down the version",
            )
            return
    if source.sha256 is not None and now.sha256 is not None:
        compared = True
        if source.sha256 != now.sha256:
            yield problem(
                Kind.SOURCE_CHANGED,
                f"the text of its source {shown(source.name)} has changed: read it again, then write down "
                f"sha256: {now.sha256}",
            )
            return
    if not compared:
        yield problem(
            Kind.NO_VERSION,
            f"its source {shown(source.name)} cannot be compared: one side has only a version, the other "
            "only a text",
        )


_QUESTION = re.compile(
    r"\?\s*\Z|\A\s*(?:does|do|did|is|are|was|were|has|have|had|can|could|will|would|should)\b",
    re.IGNORECASE,
)
_DEFECT = re.compile(
    r"\b(?:contradict\w*|unanswered|unsupported|incorrect\w*|inaccura\w*|wrong\w*|mistaken\w*|false\w*|"
    r"hallucinat\w*|invent(?:s|ed)?|fabricat\w*|made[- ]up|mislead\w*|omit(?:s|ted)?|missing|miss(?:es|ed)?|"
    r"fails?|failed|ignor(?:es|ed)|violat\w*|breaks?|lacks?|lacking|rude\w*|impolite\w*|toxic\w*|"
    r"harmful|unsafe|irrelevant|off[- ]topic|errors?|mistakes?|incomplete|vague\w*|outdated|stale)\b",
    re.IGNORECASE,
)
_NOT = re.compile(
    r"\b(?:no|not|none|nothing|never|neither|nor|without|nobody|free of|cannot|avoids?)\b|n['\u2019]t\b",
    re.IGNORECASE,
)
_NOT_GOOD = re.compile(
    r"(?:\b(?:not|never|cannot)|n['\u2019]t)\s+(?:\w+ly\s+)?(?:answer|support|match|address|respond|follow|"
    r"resolve|cite|rest|agree)\w*\b",
    re.IGNORECASE,
)


def _defect(condition: str) -> str | None:
    """How a condition is phrased as a defect; ``None`` where it reads like one a good reply meets."""
    if _QUESTION.search(condition):
        return "is phrased as a question"
    for sentence in re.split(r"(?<=[.;])\s+", condition):
        named = _DEFECT.search(sentence)
        if named is not None and not _NOT.search(sentence):
            return f'names a defect ("{named.group()}")'
        lacking = _NOT_GOOD.search(sentence)
        if lacking is not None and named is None:
            return f'says what is lacking ("{lacking.group()}")'
    return None
