"""Labelled answers for calibration: records of ``aucert check``, or one judgement a row.

A record carries every stage that its answer reached, so a cascade can be calibrated on it. A row
with a judgement of its own (``verdict``, ``confidence``, ``gold`` and, as known, ``stage``,
``stratum``, ``fingerprint``) is one arrival at its stage; rows are not linked with each other.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Annotated, Any, BinaryIO, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from aucert_otel._sentences import sentence, shown
from aucert_otel.errors import InvalidRowError
from aucert_otel.measure.calibrate import Judged, Trial
from aucert_otel.rows import MAX_LINE_BYTES, _parse
from aucert_otel.verdict import Status, Verdict


Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Word = Literal["pass", "fail", "unclear"]
Name = Annotated[str, Field(min_length=1, max_length=500)]


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore")


class StageModel(_Part):
    """One stage of a record."""

    stage: Name = Field(description="every stage needs its name")
    verdict: Word | None = None
    confidence: Share | None = None
    status: str = Status.OK.value


class RecordModel(_Part):
    """A record of ``aucert check``."""

    gold: Literal["pass", "fail"] | None = None
    decision: Word = Field(description="every record of aucert check has it")
    stages: Annotated[list[StageModel], Field(max_length=100)]
    cascade: str = ""
    cascade_version: str = ""


class JudgementModel(_Part):
    """One judgement."""

    gold: Literal["pass", "fail"] | None = None
    verdict: Word = Field(
        description="every row needs a verdict and a confidence, or the stages of a record"
    )
    confidence: Share | None = None
    stage: Name = "check"
    stratum: str | None = None
    fingerprint: Name | None = None


@dataclass(slots=True)
class Gold:
    """What a file of labelled answers holds."""

    trials: list[Trial] = field(default_factory=list)
    stages: list[str] = field(default_factory=list)
    """In the order in which they ran; without records, in the order in which they came up."""
    digest: str = ""
    """Of the file's bytes."""
    bad: int = 0
    unlabelled: int = 0
    records: int = 0
    """Trials that came from records of ``aucert check``."""
    cascades: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Name and version of the cascades that wrote the records."""
    fingerprints: dict[str, set[str | None]] = field(default_factory=dict)
    """What the judgements say about each stage's check."""


def read_gold(
    stream: BinaryIO, by: str | None = None, report: Callable[[str], None] = lambda _: None
) -> Gold:
    """Read labelled answers. A bad row is reported, counted and left out.

    Args:
        stream: JSON lines.
        by: The key whose value is a row's stratum, such as ``tenant`` or ``metadata.language``;
            ``None``: all rows are one stratum.
        report: Called with one sentence for each bad row.

    Raises:
        OSError: the stream cannot be read.
    """
    gold, digest = Gold(), sha256()
    chains: Counter[tuple[str, ...]] = Counter()
    for number, line in _lines(stream, digest.update):
        try:
            trial = _trial(_parsed(line, f"line {number}"), f"line {number}", by, gold)
        except InvalidRowError as error:
            gold.bad += 1
            report(str(error))
            continue
        if trial is None:
            gold.unlabelled += 1
        else:
            gold.trials.append(trial)
            chains[tuple(judged.stage for judged in trial.judged)] += 1
    gold.digest = digest.hexdigest()
    gold.stages = _order(chains)
    return gold


def _lines(stream: BinaryIO, seen: Callable[[bytes], object]) -> Iterator[tuple[int, bytes | None]]:
    """Numbered lines that are not blank; ``None`` for one that is too long to be an answer."""
    number = 0
    while line := stream.readline(MAX_LINE_BYTES + 1):
        number += 1
        seen(line)
        if len(line) > MAX_LINE_BYTES and not line.endswith(b"\n"):
            while line and not line.endswith(b"\n"):
                line = stream.readline(MAX_LINE_BYTES)
                seen(line)
            yield number, None
            continue
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")  # the mark some editors begin UTF-8 with
        if line.strip():
            yield number, line


def _parsed(line: bytes | None, place: str) -> object:
    if line is None:
        raise InvalidRowError(
            f"{place}: the line is longer than {MAX_LINE_BYTES:,} bytes: one line is one answer"
        )
    return _parse(line, place)


def _trial(data: object, place: str, by: str | None, gold: Gold) -> Trial | None:
    if not isinstance(data, dict):
        raise InvalidRowError(f"{place}: the row is {shown(data)}: it must be a JSON object")
    model: type[RecordModel | JudgementModel]
    model = RecordModel if "stages" in data else JudgementModel
    try:
        row = model.model_validate(data)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        raise InvalidRowError(f"{place}: {sentence(problem, model)}") from None
    if row.gold is None:
        return None
    stratum = None if by is None else _stratum(data, by, place)
    label = Verdict(row.gold)
    if isinstance(row, JudgementModel):
        gold.fingerprints.setdefault(row.stage, set()).add(row.fingerprint)
        verdict = Verdict(row.verdict)
        judged = Judged(row.stage, verdict, row.confidence, verdict is label)
        return Trial((judged,), stratum=stratum)
    names = [stage.stage for stage in row.stages]
    if len(set(names)) != len(names):
        raise InvalidRowError(f"{place}: two of its stages have one name: no cascade has such")
    gold.records += 1
    gold.cascades[row.cascade, row.cascade_version] += 1
    return Trial(
        tuple(_judged(stage, label) for stage in row.stages),
        stratum=stratum,
        settled=row.decision != Verdict.UNCLEAR.value,
    )


def _judged(stage: StageModel, label: Verdict) -> Judged:
    if stage.verdict is None or stage.status != Status.OK.value:
        return Judged(stage.stage, Verdict.UNCLEAR, None, right=False)
    verdict = Verdict(stage.verdict)
    return Judged(stage.stage, verdict, stage.confidence, verdict is label)


def _stratum(data: Mapping[str, Any], by: str, place: str) -> str:
    value: object = data.get(by)
    if by not in data and "." in by:
        value = data
        for key in by.split("."):
            value = value.get(key) if isinstance(value, dict) else None
    if isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, str | int) and str(value):
        return str(value)
    raise InvalidRowError(
        f"{place}: {by} is {shown(value)}: it names the row's stratum, so it must be text"
    )


def _order(chains: Counter[tuple[str, ...]]) -> list[str]:
    """The stages in an order that fits every answer, if there is one: the longest chains first."""
    found: list[str] = []
    for chain in sorted(chains, key=len, reverse=True):
        at = 0
        for name in chain:
            if name in found:
                at = found.index(name) + 1
            else:
                found.insert(at, name)
                at += 1
    return found
