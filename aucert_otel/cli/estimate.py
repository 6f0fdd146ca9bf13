"""``aucert check --estimate``: what a file would cost, without calling anything."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from rich.console import Console

from aucert_otel.cascade import Cascade
from aucert_otel.cli.checking import Alike, Harnesses
from aucert_otel.cli.screen import console, plural, safe, usd
from aucert_otel.cli.tables import by_stage
from aucert_otel.config.rates import Rate
from aucert_otel.costs import add_usd
from aucert_otel.errors import ConfigurationError
from aucert_otel.rows import InputLine
from aucert_otel.summary import OUTPUT_TOKENS, SPECIFIED_SHARES, StageTable, assumed, tokens_of
from aucert_otel.summary.estimate import RULE


@dataclass(slots=True)
class _Priced:
    """The rows that one cascade would check."""

    cascade: Cascade
    rates: tuple[Rate, ...]
    rows: int = 0
    tokens: int = 0

    def table(self, tests_per_day: float) -> StageTable:
        """What they would cost at the shares that the specification expects."""
        mean = self.tokens / self.rows
        stages = [
            (rate.stage, rate.usd(mean, OUTPUT_TOKENS), not stage.inline)
            for rate, stage in zip(self.rates, self.cascade.stages, strict=True)
        ]
        return assumed(self.cascade.name, stages, tests_per_day=tests_per_day)


@dataclass(slots=True)
class _Read:
    priced: dict[tuple[str, str], _Priced] = field(default_factory=dict)
    bad: int = 0


def say_estimate(
    lines: Iterator[InputLine], harnesses: Harnesses, errors: Console, tests_per_day: float
) -> tuple[int, int]:
    """Print what checking these rows would cost, by stage: as expected, and at worst.

    Returns:
        How many rows would be checked, and how many are bad.
    """
    read = _read(lines, harnesses, errors)
    screen = console()

    def say(line: str) -> None:
        screen.print(safe(line), soft_wrap=True)

    rows = sum(each.rows for each in read.priced.values())
    left_out = f"; {plural(read.bad, 'bad row')} left out" if read.bad else ""
    say(f"{plural(rows, 'row')} to check{left_out}; nothing was called")
    if not read.priced:
        return rows, read.bad
    expected: float | None = 0.0
    worst: float | None = 0.0
    for each in read.priced.values():
        table = each.table(tests_per_day)
        if not all(stage.inline for stage in each.cascade.stages):
            say("")
            for line in by_stage(table, "estimate"):
                say(line)
        average, last = table.average_usd, table.lines[-1].cumulative_usd
        expected = add_usd(expected, None if average is None else average * each.rows)
        worst = add_usd(worst, None if last is None else last * each.rows)
    if worst == 0:
        say("no model is asked: these rows cost $0")
        return rows, read.bad
    say("")
    shares = ", ".join(f"{share:.0%}" for share in SPECIFIED_SHARES)
    say(f"assumed: the stages that ask a model settle {shares} of the rows")
    say(f"tokens: {RULE}")
    say(f"these rows: {usd(expected)} as assumed, {usd(worst)} if every row needs every stage")
    if worst is None:
        say("unknown: give its models a price, or install aucert-otel[prices]")
    return rows, read.bad


def _read(lines: Iterator[InputLine], harnesses: Harnesses, errors: Console) -> _Read:
    read, alike = _Read(), Alike()
    config, chosen = harnesses.config, harnesses.cascade
    for line in lines:
        problem, good = line.problem, False
        if line.row is not None:
            generation = harnesses.prepared(line, line.row)
            try:
                cascade = config.cascade_of(generation.tenant, cascade=chosen)
            except ConfigurationError as error:
                problem = alike.first(line.number, str(error))
            else:
                good = True
                key = (cascade.name, cascade.version)
                if key not in read.priced:
                    rates = config.rates(generation.tenant, cascade=chosen)
                    read.priced[key] = _Priced(cascade, rates)
                read.priced[key].rows += 1
                read.priced[key].tokens += tokens_of(generation)
        read.bad += not good
        if problem is not None:
            errors.print(safe(problem), soft_wrap=True)
    for sentence in alike.more():
        errors.print(safe(sentence), soft_wrap=True)
    return read
