"""What published judges said of the very answers our metrics score, for ``evidence.py``.

A judges file holds one JSON object a row: the id of a labelled row, what a person said
(``human``), and verdicts by name (true accepts). A metric has no verdict without a cutoff, so it
gets the one with the fewest errors on nine tenths of the groups, applied to the other tenth, ten
times: no answer is judged by a cutoff that saw its question.
"""

from __future__ import annotations

import json
import zlib
from pathlib import Path

import numpy as np

from closecall.calibration.curve import error_curve
from closecall.records import Label, Measured

JUDGES = {"bem": "BEM, at 0.5", "gpt4": "GPT-4", "davinci003": "text-davinci-003"}
FOLDS = 10


def judged(path: Path, run: list, names: list[str]) -> list[dict]:
    """Return the errors of judges and of metrics on the rows that every judge has seen."""
    if not path.is_file():
        return []
    said = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    by_id = {row["id"]: row for row in said if all(row.get(j) is not None for j in JUDGES)}
    rows = [row for row in run if row.case.id in by_id]
    if not rows:
        return []
    accept = np.array([row.case.label is Label.ACCEPT for row in rows], dtype=bool)
    human = np.array([by_id[row.case.id]["human"] for row in rows], dtype=bool)
    if (accept != human).any():
        raise ValueError(f"{path.name}: {int((accept != human).sum())} rows have another label")
    found = [
        errors(path.stem, name, accept, np.array([by_id[row.case.id][key] for row in rows], bool))
        for key, name in JUDGES.items()
    ]
    folds = np.array([zlib.crc32((r.case.group or r.case.id).encode()) % FOLDS for r in rows])
    for at, name in enumerate(names):
        if all(isinstance(row.results[at].measurement, Measured) for row in rows):
            scores = np.array([row.results[at].measurement.value for row in rows])
            found.append(errors(path.stem, name, accept, held_out(scores, accept, folds)))
    return found


def held_out(scores: np.ndarray, accept: np.ndarray, folds: np.ndarray) -> np.ndarray:
    """Return the verdict on each row, by a cutoff from the other folds."""
    verdicts = np.zeros(len(scores), bool)
    for fold in range(FOLDS):
        here = folds == fold
        labels = [Label.ACCEPT if one else Label.REJECT for one in accept[~here]]
        curve = error_curve(scores[~here].tolist(), labels)
        # Of equally good rules the one that accepts least; row 0 accepts nobody.
        row = int(np.argmin(curve.false_accepts + curve.false_rejects))
        gap = curve.gap(row) if row else None
        if gap is not None:
            low = gap.high if gap.low is None else gap.low
            verdicts[here] = scores[here] >= (low + gap.high) / 2
    return verdicts


def errors(file: str, name: str, accept: np.ndarray, verdict: np.ndarray) -> dict:
    return {
        "file": file,
        "judge": name,
        "n": len(accept),
        "right": int((accept == verdict).sum()),
        "falseAccepts": int((verdict & ~accept).sum()),
        "rejects": int((~accept).sum()),
        "falseRejects": int((~verdict & accept).sum()),
        "accepts": int(accept.sum()),
    }


def judge_lines(found: list[dict]) -> list[str]:
    if not found:
        return []
    heading = (
        f"\nVerdicts on the {found[0]['n']} rows that every judge has seen; metrics at a cutoff "
        f"from the other groups, {FOLDS} folds:\n"
    )
    lines = [
        heading,
        "| judge or metric | accuracy | false accepts | false rejects |",
        "|---|---|---|---|",
    ]
    for one in found:
        wrong, missed = one["falseAccepts"], one["falseRejects"]
        lines.append(
            f"| {one['judge']} | {one['right'] / one['n']:.3f} ({one['right']} of {one['n']}) "
            f"| {wrong / one['rejects']:.3f} ({wrong} of {one['rejects']}) "
            f"| {missed / one['accepts']:.3f} ({missed} of {one['accepts']}) |"
        )
    return lines
