"""From logits to shares on 0 to 1, by rows the training never saw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pair.rows import Row

JUDGED = ("answers/", "grounded/")
"""Kinds of rows that people judged: what the shares are calibrated on."""

LEARNT = 0.6
"""Area under the curve, over all rows kept apart, that a run which learns is far above after a
fifth of its steps; one that misses its start stays near a half to its end."""


def judged(rows: Sequence[Row]) -> int:
    """Return how many rows people judged."""
    return sum(row.kind.startswith(JUDGED) for row in rows)


def calibrated(rows: Sequence[Row], logits: NDArray[np.float64]) -> tuple[float, float]:
    """Return scale and offset of the logits: Platt's fit, both labels weighing alike.

    Newton's method on the log-loss with Platt's smoothed targets (Platt 1999).
    """
    kept = np.array([row.kind.startswith(JUDGED) for row in rows])
    x = logits[kept]
    y = np.array([row.accept for row in rows], dtype=float)[kept]
    ones = y.sum()
    zeros = len(y) - ones
    targets = np.where(y > 0, (ones + 1) / (ones + 2), 1 / (zeros + 2))
    weights = np.where(y > 0, 0.5 / ones, 0.5 / zeros)
    design = np.stack([x, np.ones_like(x)], axis=1)
    found = np.array([1.0, 0.0])
    for _ in range(50):
        p = 1 / (1 + np.exp(-design @ found))
        gradient = design.T @ (weights * (p - targets))
        curvature = (design * (weights * p * (1 - p))[:, None]).T @ design
        step = np.linalg.solve(curvature + 1e-9 * np.eye(2), gradient)
        found -= step
        if np.abs(step).max() < 1e-10:
            break
    return float(found[0]), float(found[1])


def figures(rows: Sequence[Row], logits: NDArray[np.float64]) -> dict[str, Any]:
    """Return n, AUC and the share told right at a half, over all rows and for each kind."""
    accept = np.array([row.accept for row in rows])
    found = {"all": _of(accept, logits)}
    for kind in sorted({row.kind for row in rows}):
        chosen = np.array([row.kind == kind for row in rows])
        found[kind] = _of(accept[chosen], logits[chosen])
    return found


def require_learnt(found: dict[str, Any], step: int) -> None:
    """End a run that has not left chance, as its hours would be lost; ``found`` are figures.

    Raises
    ------
    SystemExit
        The area over all rows is below ``LEARNT``.
    """
    area, rows = found["all"]["auc"], found["all"]["n"]
    if area < LEARNT:
        raise SystemExit(
            f"step {step}: AUC {area} on the {rows} rows kept apart, which is chance; this run "
            "has not learnt and will not; start another seed in another folder"
        )


def _of(accept: NDArray[np.bool_], logits: NDArray[np.float64]) -> dict[str, Any]:
    entry: dict[str, Any] = {"n": len(accept), "right": int(((logits > 0) == accept).sum())}
    yes, no = logits[accept], logits[~accept]
    if len(yes) and len(no):
        above = (yes[:, None] > no[None, :]).sum() + 0.5 * (yes[:, None] == no[None, :]).sum()
        entry["auc"] = round(float(above) / (len(yes) * len(no)), 4)
    return entry
