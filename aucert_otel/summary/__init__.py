"""What a number of verifications add up to: cost by stage, and how they stand to the targets.

counts = Counts()
for record in records:              # of `aucert check --out`, or of the audit log
    counts.add(Checked.of(record))
table, = counts.stage_tables(tests_per_day=1000)
table.monthly_usd, [line.reached for line in table.lines]
for measure in measures(counts):
    print(measure.name, measure.value, measure.interval, measure.met)
"""

from aucert_otel.summary.count import Checked, Counts, StageRun
from aucert_otel.summary.estimate import INSTRUCTION_TOKENS, OUTPUT_TOKENS, tokens_of
from aucert_otel.summary.intervals import exact_interval
from aucert_otel.summary.stages import (
    DAYS_A_MONTH,
    SPECIFIED_SHARES,
    StageLine,
    StageShare,
    StageTable,
    assumed,
    stage_table,
)
from aucert_otel.summary.targets import Measure, Met, Unit, measures


__all__ = [
    "DAYS_A_MONTH",
    "INSTRUCTION_TOKENS",
    "OUTPUT_TOKENS",
    "SPECIFIED_SHARES",
    "Checked",
    "Counts",
    "Measure",
    "Met",
    "StageLine",
    "StageRun",
    "StageShare",
    "StageTable",
    "Unit",
    "assumed",
    "exact_interval",
    "measures",
    "stage_table",
    "tokens_of",
]
