"""From labelled scores to a cutoff whose errors are known.

``fit_cutoff`` and ``fit_two_cutoffs`` are the entries; ``binomial``, ``curve``, ``cutoffs``,
``groups``, ``objectives``, ``estimators`` and ``separation`` are their parts, on plain arrays;
``records`` is what comes out and ``decisions`` applies it.

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
    from closecall.calibration.decisions import accepted, decide
    from closecall.calibration.fit import fit_cutoff, fit_two_cutoffs
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

_HOMES = {
    "decisions": ("accepted", "decide"),
    "fit": ("fit_cutoff", "fit_two_cutoffs"),
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
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
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
    "accepted",
    "decide",
    "fit_cutoff",
    "fit_two_cutoffs",
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
