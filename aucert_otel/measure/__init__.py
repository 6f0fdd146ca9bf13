"""How far a check can be trusted, by labelled answers: intervals, thresholds, certificates.

    results = calibrate(trials, plan, grid=DEFAULT_GRID, alpha=0.1, delta=0.1)
    certificates = certify(results, stages, source)

The statistics need SciPy (the extra ``measure``); reading a certificate does not.
"""

from aucert_otel.measure.calibrate import Judged, Planned, StageResult, Trial, calibrate
from aucert_otel.measure.certify import (
    Source,
    certify,
    load_certificate,
    read_certificates,
    write_certificates,
)
from aucert_otel.measure.gold import Gold, read_gold
from aucert_otel.measure.intervals import clopper_pearson, upper_bound, wilson
from aucert_otel.measure.sequence import (
    DEFAULT_GRID,
    Step,
    Tested,
    Why,
    enough,
    fixed_sequence,
)


__all__ = [
    "DEFAULT_GRID",
    "Gold",
    "Judged",
    "Planned",
    "Source",
    "StageResult",
    "Step",
    "Tested",
    "Trial",
    "Why",
    "calibrate",
    "certify",
    "clopper_pearson",
    "enough",
    "fixed_sequence",
    "load_certificate",
    "read_certificates",
    "read_gold",
    "upper_bound",
    "wilson",
    "write_certificates",
]
