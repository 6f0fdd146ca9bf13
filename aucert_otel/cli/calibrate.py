"""``aucert calibrate``: which thresholds the labelled answers support."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from aucert_otel._sentences import one_of, shown
from aucert_otel.cascade import Cascade
from aucert_otel.certificate import SETTLES_BOTH
from aucert_otel.cli.calibration import table
from aucert_otel.cli.outfile import refuse_no_file
from aucert_otel.cli.screen import console, plural, safe
from aucert_otel.cli.settings import settings
from aucert_otel.errors import ConfigurationError
from aucert_otel.measure import (
    DEFAULT_GRID,
    Gold,
    Planned,
    Source,
    StageResult,
    certify,
    read_gold,
    write_certificates,
)
from aucert_otel.measure import calibrate as find_thresholds
from aucert_otel.measure.certify import reference
from aucert_otel.measure.sequence import check_grid
from aucert_otel.stage import Stage
from aucert_otel.verdict import Verdict


_GRID = ",".join(f"{each:g}" for each in DEFAULT_GRID)


def calibrate(  # noqa: PLR0917 - typer reads the options off the signature
    gold: Annotated[
        Path,
        typer.Argument(
            metavar="GOLD", help="Records of aucert check with gold, or labelled judgements."
        ),
    ],
    config: Annotated[
        Path | None,
        typer.Option(help="The settings the records were made with; default: aucert.yaml."),
    ] = None,
    cascade: Annotated[
        str | None, typer.Option(help="The cascade that made the records; default: theirs.")
    ] = None,
    stage: Annotated[
        list[str] | None,
        typer.Option(help="Calibrate this stage; repeat. Default: all that do more than fail."),
    ] = None,
    by: Annotated[
        str | None, typer.Option(help="Each value of this key by itself, such as tenant.")
    ] = None,
    alpha: Annotated[float, typer.Option(help="The error rate to stay within.")] = 0.1,
    delta: Annotated[float, typer.Option(help="The probability that a bound is wrong.")] = 0.1,
    grid: Annotated[
        str, typer.Option(help="Thresholds to test, descending, fixed before looking.")
    ] = _GRID,
    together: Annotated[
        bool, typer.Option("--together", help="Delta holds over all strata at once.")
    ] = False,
    days: Annotated[int, typer.Option(min=1, max=3650, help="How long certificates speak.")] = 90,
    out: Annotated[Path | None, typer.Option(help="Where the certificates go, as YAML.")] = None,
) -> None:
    """Find the thresholds labelled answers support. That none is supported is a result: exit 0."""
    thresholds = _grid(grid)
    errors = console(stderr=True)
    if out is not None:
        refuse_no_file(out)
        if out.exists() and out.samefile(gold):
            raise ConfigurationError(f"--out {out} is the input itself: name another file")
    with gold.open("rb") as stream:
        found = read_gold(stream, by, lambda said: errors.print(safe(said), soft_wrap=True))
    if not found.trials:
        raise ConfigurationError(
            f"{gold} has no labelled answer ({plural(found.bad, 'bad row')}, "
            f"{found.unlabelled:,} without gold): each needs gold, which is pass or fail"
        )
    known = _known(found, config, cascade, wanted=out is not None)
    plan = _plan(found, known.cascade, stage)
    results = find_thresholds(
        found.trials, plan, grid=thresholds, alpha=alpha, delta=delta, together=together
    )
    screen = console()
    _say(screen, found, results, alpha=alpha, delta=delta, together=together)
    if out is None:
        return
    dataset = f"{gold.name} sha256:{found.digest[:16]}"
    source = Source(dataset, alpha, datetime.now(UTC).date(), days)
    certificates = certify(results, known.stages, source)
    write_certificates(out, certificates)
    screen.print(safe(f"certificates: {out}"), soft_wrap=True)
    for each in certificates:
        screen.print(safe(f"  gate: {{certificate: {out}#{reference(each)}}}"), soft_wrap=True)


def _grid(text: str) -> tuple[float, ...]:
    try:
        found = tuple(float(each) for each in text.split(","))
    except ValueError:
        raise ConfigurationError(
            f"--grid is {shown(text)}: write numbers with commas, such as {_GRID}"
        ) from None
    return check_grid(found)


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known of the checks that the labelled answers went through."""

    stages: dict[str, Stage | str]
    cascade: Cascade | None = None


def _known(gold: Gold, config: Path | None, name: str | None, *, wanted: bool) -> _Known:
    if gold.records and gold.records < len(gold.trials):
        raise ConfigurationError(
            "the file mixes records of aucert check with single judgements: calibrate each by itself"
        )
    if not gold.records:
        return _Known(_fingerprints(gold) if wanted else {})
    if len(gold.cascades) > 1:
        listed = sorted(f"{cascade} {version}".strip() for cascade, version in gold.cascades)
        raise ConfigurationError(
            f"the records were made by several cascades: {', '.join(map(shown, listed))}; calibrate "
            "each by itself"
        )
    if not wanted and config is None and name is None:
        try:
            return _made_by(gold, config, name)
        except ConfigurationError as error:
            # A table needs no settings; but what they would have said of the stages is missing.
            console(stderr=True).print(
                safe(f"every stage is calibrated, since its settings are not known: {error}"),
                soft_wrap=True,
            )
            return _Known({})
    return _made_by(gold, config, name)


def _made_by(gold: Gold, config: Path | None, name: str | None) -> _Known:
    ((made_by, version),) = gold.cascades
    found, _ = settings(config, name)
    cascade = found.cascade(name or made_by)
    if (cascade.name, cascade.version) != (made_by, version):
        raise ConfigurationError(
            f"the records were made by the cascade {shown(made_by)} version {shown(version)}, and the "
            f"settings have {cascade.name} version {cascade.version}: a certificate would be bound to "
            "checks that were not measured; give the settings the records were made with"
        )
    return _Known({each.name: each for each in cascade.stages}, cascade)


def _fingerprints(gold: Gold) -> dict[str, Stage | str]:
    found: dict[str, Stage | str] = {}
    for stage, said in gold.fingerprints.items():
        if len(said) > 1 or None in said:
            raise ConfigurationError(
                f"the judgements of stage {shown(stage)} name "
                f"{'several fingerprints' if len(said) > 1 else 'no fingerprint'}: a certificate is "
                "bound to one check, so give every row the fingerprint of the check that judged it"
            )
        found[stage] = next(each for each in said if each is not None)
    return found


def _plan(gold: Gold, cascade: Cascade | None, wanted: list[str] | None) -> list[Planned]:
    names = gold.stages if cascade is None else [each.name for each in cascade.stages]
    for each in wanted or ():
        if each not in names:
            raise ConfigurationError(f"--stage is {shown(each)}: allowed are {one_of(names)}")
    settles = (
        {}
        if cascade is None
        else {each.name: frozenset(map(Verdict, each.settles)) for each in cascade.stages}
    )
    # A stage that may only fail needs no certificate to reject, so it keeps its gate. One that
    # settles nothing was kept from settling so that every later stage was asked.
    veto = {name for name, may in settles.items() if may == {Verdict.FAIL}}
    return [
        Planned(
            name,
            settles.get(name) or SETTLES_BOTH,
            kept=name not in wanted if wanted else name in veto,
        )
        for name in names
    ]


def _say(
    screen: Console,
    gold: Gold,
    results: Sequence[StageResult],
    *,
    alpha: float,
    delta: float,
    together: bool,
) -> None:
    left = [f"{plural(gold.bad, 'bad row')} left out"] if gold.bad else []
    left += [f"{gold.unlabelled:,} without gold"] if gold.unlabelled else []
    screen.print(safe("; ".join([plural(len(gold.trials), "labelled answer"), *left])))
    whole = "all strata together" if together else "each stratum"
    screen.print(
        safe(
            f"alpha {alpha:g}: at most that share of what a stage settles is wrong; delta {delta:g} for {whole}"
        ),
        soft_wrap=True,
    )
    for line in table(results):
        screen.print(safe(line), soft_wrap=True)
