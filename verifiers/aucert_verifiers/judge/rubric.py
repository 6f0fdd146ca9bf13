"""A rubric: the criteria a judge goes by, as data.

Every criterion is the condition a good reply meets, never a question about a defect: so pass means
the same on every line. It says when it fails and when it is unclear, since a judge left to decide
that for itself draws the line in a different place for each criterion, and it names the source it
came from, since a change there makes the criterion itself wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from aucert_otel._sentences import hint, path, shown
from aucert_otel.config.yaml_text import parse
from aucert_otel.errors import ConfigurationError


QUESTION: Final = "question"
PASSAGES: Final = "passages"
NEEDS: Final = (QUESTION, PASSAGES)
"""What a criterion may need to see beside the reply."""

_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_HASH = re.compile(r"[0-9a-f]{64}")
_TEXTS: Final = ("holds", "fails", "unclear")
MAX_TEXT: Final = 2_000
MAX_CRITERIA: Final = 32


@dataclass(frozen=True, slots=True)
class Source:
    """Where a criterion came from: what has to be looked at again when it changes."""

    name: str
    """Such as ``article 305``."""
    version: str | None = None
    sha256: str | None = None
    """Of the source's text when the criterion was written; see `text_hash`."""

    def __str__(self) -> str:
        return self.name if self.version is None else f"{self.name} v{self.version}"


@dataclass(frozen=True, slots=True)
class Criterion:
    """One condition that a good reply meets.

    Args:
        name: In the field's own words: lower-case letters, digits and underscores.
        holds: The condition. Pass means that it is met.
        fails: When it is not.
        unclear: When nobody can tell from the material.
        source: Where it came from.
        needs: What a judge has to see beside the reply: ``question``, ``passages`` or both.

    Raises:
        ConfigurationError: the name, a text or ``needs`` cannot be used.
    """

    name: str
    holds: str
    _: KW_ONLY
    fails: str = ""
    unclear: str = ""
    source: Source | None = None
    needs: tuple[str, ...] = NEEDS

    def __post_init__(self) -> None:
        name: object = self.name  # annotations stop nobody, and files know none
        if not isinstance(name, str) or _NAME.fullmatch(name) is None or name == CODE:
            raise ConfigurationError(
                f"criteria has the name {shown(self.name, yaml=True)}: give up to 40 lower-case "
                f"letters, digits and underscores, beginning with a letter, and not {CODE!r}"
            )
        place = f"criteria.{self.name}"
        holds: object = self.holds
        if not isinstance(holds, str) or not holds.strip():
            raise ConfigurationError(
                f"{place}.holds is {shown(self.holds, yaml=True)}: it must be the condition that a "
                "good reply meets"
            )
        for key in _TEXTS:
            text = getattr(self, key)
            if not isinstance(text, str) or len(text) > MAX_TEXT:
                raise ConfigurationError(
                    f"{place}.{key} is {shown(text, yaml=True)}: it must be a text of at most "
                    f"{MAX_TEXT:,} characters"
                )
        given: object = self.needs
        needs = (given,) if isinstance(given, str) else self.needs
        for need in needs:
            if need not in NEEDS:
                raise ConfigurationError(
                    f"{place}.needs names {shown(need, yaml=True)}: allowed are {', '.join(NEEDS)}"
                )
        object.__setattr__(self, "needs", tuple(need for need in NEEDS if need in needs))


CODE: Final = "code"
"""The key of a judge's reply under which it repeats the code of the call."""


@dataclass(frozen=True, slots=True)
class Rubric:
    """Criteria that one call judges.

    Raises:
        ConfigurationError: there are none, too many, or two of one name.
    """

    criteria: tuple[Criterion, ...]
    _: KW_ONLY
    name: str = "rubric"
    names: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "criteria", tuple(self.criteria))
        names = tuple(criterion.name for criterion in self.criteria)
        object.__setattr__(self, "names", names)
        if not 1 <= len(names) <= MAX_CRITERIA:
            raise ConfigurationError(
                f"criteria has {len(names)} entries: give 1 to {MAX_CRITERIA} of them"
            )
        if len(set(names)) != len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ConfigurationError(f"criteria names {twice!r} twice: name them apart")

    def __iter__(self) -> Iterator[Criterion]:
        return iter(self.criteria)

    def only(self, names: frozenset[str]) -> tuple[Criterion, ...]:
        """The criteria with these names, in the rubric's order."""
        return tuple(each for each in self.criteria if each.name in names)

    @classmethod
    def from_data(cls, data: object) -> Rubric:
        """Read a rubric from plain data, as it stands in a YAML file.

        Raises:
            ConfigurationError: it is none; the message begins with the path of what is wrong.
        """
        top = _mapping(data, "rubric", ("name", "criteria"), needed=("criteria",))
        name = top.get("name", "rubric")
        if not isinstance(name, str) or not name.strip():
            raise ConfigurationError(f"name is {shown(name, yaml=True)}: it must be a text")
        entries = top["criteria"]
        if not isinstance(entries, Mapping) or not entries:
            raise ConfigurationError(
                f"criteria is {shown(entries, yaml=True)}: it must be a mapping of names to criteria"
            )
        return cls(tuple(_criterion(key, entry) for key, entry in entries.items()), name=name)

    @classmethod
    def load(cls, file: str | Path) -> Rubric:
        """Read a rubric from a YAML file.

        Raises:
            ConfigurationError: it cannot be read, or is no rubric.
        """
        try:
            text = Path(file).read_text("utf-8")
        except (OSError, UnicodeError, ValueError) as error:
            raise ConfigurationError(
                f"{file}: the rubric cannot be read ({type(error).__name__}): give the path of a "
                "YAML file"
            ) from None
        try:
            return cls.from_data(parse(text, str(file)))
        except ConfigurationError as error:
            said = str(error)
            raise ConfigurationError(
                said if said.startswith(str(file)) else f"{file}: {said}"
            ) from None


def _criterion(name: Any, entry: object) -> Criterion:
    place = f"criteria.{path((str(name),))}"
    data = _mapping(entry, place, (*_TEXTS, "needs", "source"), needed=("holds",))
    needs = data.get("needs", NEEDS)
    if not isinstance(needs, (list, tuple, str)):
        raise ConfigurationError(
            f"{place}.needs is {shown(needs, yaml=True)}: it must be a list of {', '.join(NEEDS)}"
        )
    source = data.get("source")
    return Criterion(
        name,
        data["holds"],
        fails=data.get("fails") or "",
        unclear=data.get("unclear") or "",
        needs=tuple(needs) if isinstance(needs, list) else needs,  # type: ignore[arg-type] # one need may stand alone
        source=None if source is None else _source(source, f"{place}.source"),
    )


def _source(given: object, place: str) -> Source:
    if isinstance(given, str):
        given = {"name": given}
    data = _mapping(given, place, ("name", "version", "sha256"), needed=("name",))
    known: dict[str, str | None] = {}
    for key in ("name", "version", "sha256"):
        value = data.get(key)
        if isinstance(value, int) and not isinstance(value, bool) and key == "version":
            value = str(value)
        if value is not None and not (isinstance(value, str) and value.strip()):
            raise ConfigurationError(
                f"{place}.{key} is {shown(value, yaml=True)}: it must be a text, in quotes"
            )
        known[key] = value
    if known["name"] is None:
        raise ConfigurationError(f"{place}.name is missing: name what the criterion came from")
    digest = known["sha256"]
    if digest is not None and _HASH.fullmatch(digest.lower()) is None:
        raise ConfigurationError(
            f"{place}.sha256 is {shown(digest, yaml=True)}: it must be 64 hexadecimal digits"
        )
    return Source(known["name"], known["version"], digest and digest.lower())


def _mapping(
    given: object, place: str, allowed: tuple[str, ...], needed: tuple[str, ...]
) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise ConfigurationError(
            f"{place} is {shown(given, yaml=True)}: it must be a mapping with {', '.join(allowed)}"
        )
    for key in given:
        if key not in allowed:
            raise ConfigurationError(
                f"{place}.{path((str(key),))} is not a known key: {hint(str(key), list(allowed))}"
            )
    for key in needed:
        if given.get(key) is None:
            raise ConfigurationError(f"{place}.{key} is missing: a rubric cannot do without it")
    return given


@cache
def default_rubric() -> Rubric:
    """The rubric that is shipped: grounded, policy, on_topic and complete."""
    text = files("aucert_verifiers.judge").joinpath("default.yaml").read_text("utf-8")
    return Rubric.from_data(parse(text, "the default rubric"))
