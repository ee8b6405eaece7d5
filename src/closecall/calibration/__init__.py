"""From labelled scores to a cutoff whose errors are known.

On plain arrays ``fit_cutoff``, ``fit_two_cutoffs`` and ``Calibrator`` are the entries; from a file
of cases it is ``closecall.calibrate``, whose result, a ``Calibration``, is kept as one JSON file.

>>> from closecall.calibration import fit_cutoff
>>> scores = [at / 100 for at in range(100)]
>>> labels = ["reject"] * 60 + ["accept"] * 40
>>> cutoff = fit_cutoff(scores, labels, max_far=0.05)
>>> cutoff.value, cutoff.counts.false_accepts, cutoff.evidence.n
(0.595, 0, 60)
>>> fit_cutoff(scores, labels, max_far=0.01).more_rejects
239

Names below load on first use; scipy loads when a bound is computed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from closecall.calibration.artefact import Calibration
    from closecall.calibration.calibrator import Calibrator
    from closecall.calibration.decisions import accepted, decide
    from closecall.calibration.fit import fit_cutoff, fit_two_cutoffs
    from closecall.calibration.goals import Goal
    from closecall.calibration.records import (
        Certificate,
        Clusters,
        Costs,
        Counts,
        Cutoff,
        Decision,
        Gap,
        Infeasible,
        Interval,
        Optimum,
        Rate,
        Reason,
        TwoCutoffs,
    )
    from closecall.calibration.store import load_calibration, save_calibration

_HOMES = {
    "artefact": ("Calibration",),
    "calibrator": ("Calibrator",),
    "decisions": ("accepted", "decide"),
    "fit": ("fit_cutoff", "fit_two_cutoffs"),
    "goals": ("Goal",),
    "records": (
        "Certificate",
        "Clusters",
        "Costs",
        "Counts",
        "Cutoff",
        "Decision",
        "Gap",
        "Infeasible",
        "Interval",
        "Optimum",
        "Rate",
        "Reason",
        "TwoCutoffs",
    ),
    "store": ("load_calibration", "save_calibration"),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "Calibration",
    "Calibrator",
    "Certificate",
    "Clusters",
    "Costs",
    "Counts",
    "Cutoff",
    "Decision",
    "Gap",
    "Goal",
    "Infeasible",
    "Interval",
    "Optimum",
    "Rate",
    "Reason",
    "TwoCutoffs",
    "accepted",
    "decide",
    "fit_cutoff",
    "fit_two_cutoffs",
    "load_calibration",
    "save_calibration",
]


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'closecall.calibration' has no attribute {name!r}")
    value = getattr(import_module(f"closecall.calibration.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
