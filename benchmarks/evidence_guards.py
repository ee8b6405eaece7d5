"""What guards change at the cutoff where a tenth of the rejects pass, for ``evidence.py``.

A guard that differs turns an accept into *unsure*. Counted are the false accepts it takes away
and the right answers it holds back with them, among those that the cutoff accepts. Beside another
metric the pair model is counted as if it were a guard that differs below ``HALF``.
"""

from __future__ import annotations

import numpy as np
from guards import ANY

from closecall.calibration.curve import error_curve
from closecall.metrics.guards import GUARDS, against_any
from closecall.records import Label, Measured

FAR = 0.10
PAIR = "answer_support"
HALF = 0.5
BELOW = f"`{PAIR}` below {HALF}"


def changed_by_guards(file: str, run: list, at: int, names: list[str]) -> list[dict]:
    """Return for each guard, and for any of them, how many accepted rows it makes unsure."""
    pair = names.index(PAIR) if PAIR in names and names[at] != PAIR else None
    if pair is not None and not any(
        isinstance(row.results[pair].measurement, Measured) for row in run
    ):
        pair = None  # in a language it does not read
    kept = [row for row in run if isinstance(row.results[at].measurement, Measured)]
    labels = [row.case.label for row in kept]
    if len(set(labels)) < len(Label):
        return []
    scores = np.array([row.results[at].measurement.value for row in kept])
    curve = error_curve(scores.tolist(), labels)
    rule = int(np.flatnonzero(curve.false_accepts <= FAR * curve.rejects)[-1])
    if not rule:
        return []
    cutoff = float(curve.levels[rule - 1])
    counts = curve.counts(rule)
    listed = (*GUARDS, ANY, *(() if pair is None else (BELOW,)))
    hits = {name: dict.fromkeys(Label, 0) for name in listed}
    for row, score in zip(kept, scores, strict=True):
        if score < cutoff:
            continue
        case = row.case
        references = [text for text in case.references if text.strip()]
        differ = [
            name
            for name, guard in GUARDS.items()
            if against_any(guard, references, case.response, case.input or None)[1].state
            == "differ"
        ]
        own = None if pair is None else row.results[pair].measurement
        low = [BELOW] if isinstance(own, Measured) and own.value < HALF else []
        for name in (*differ, *([ANY] if differ else []), *low):
            hits[name][case.label] += 1
    return [
        {
            "file": file,
            "metric": run[0].results[at].metric,
            "guard": name,
            "cutoff": cutoff,
            "rejects": counts.false_accepts + counts.true_rejects,
            "falseAccepts": counts.false_accepts,
            "removed": found[Label.REJECT],
            "accepts": counts.true_accepts + counts.false_rejects,
            "trueAccepts": counts.true_accepts,
            "lost": found[Label.ACCEPT],
        }
        for name, found in hits.items()
    ]


def guard_lines(found: list[dict]) -> list[str]:
    if not found:
        return []
    first = found[0]
    heading = (
        f"\nGuards at cutoff {first['cutoff']:.3f} of `{first['metric']}`, which accepts "
        f"{first['falseAccepts']} of {first['rejects']} rejects and "
        f"{first['trueAccepts']} of {first['accepts']} accepts:\n"
    )
    lines = [
        heading,
        "| guard | false accepts made unsure | accepts made unsure |",
        "|---|---|---|",
    ]
    lines += [
        f"| {one['guard']} | {one['removed']} of {one['falseAccepts']} "
        f"| {one['lost']} of {one['trueAccepts']} |"
        for one in found
        if one["removed"] or one["lost"] or one["guard"] in {ANY, BELOW}
    ]
    return lines
