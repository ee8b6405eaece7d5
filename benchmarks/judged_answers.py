"""Answers that people judged: scored once, drawn by question, and what a cutoff does to them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

METRIC = "embed_answer_similarity"


@dataclass(frozen=True)
class Rows:
    """Labelled answers of some questions; ``questions`` numbers them from 0, without a gap."""

    scores: Any
    accept: Any
    questions: Any

    def __len__(self) -> int:
        return len(self.scores)

    def of(self, picks: Any) -> Rows:
        """Return the rows of these questions; one picked twice comes as two questions."""
        sizes = np.bincount(self.questions)[picks]
        starts = np.searchsorted(self.questions, picks)
        within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        rows = np.repeat(starts, sizes) + within
        return Rows(self.scores[rows], self.accept[rows], np.repeat(np.arange(len(picks)), sizes))


@dataclass(frozen=True)
class Pool:
    """A data set, scored; rows stand by question."""

    name: str
    rows: Rows
    unmeasured: int
    seconds: float


class Truth(NamedTuple):
    """What a cutoff does to rows it was not fitted on; counts, and the rate over questions."""

    false_accepts: int
    rejects: int
    by_question: float
    true_accepts: int
    accepts: int


def scored(name: str, path: Path) -> Pool:
    """Score every labelled answer of a file; rows come back by question."""
    from closecall import evaluate
    from closecall.records import Label, Measured

    start = time.perf_counter()
    values, accept, groups, unmeasured = [], [], [], 0
    for result in evaluate(path, METRIC):
        measurement = result.results[0].measurement
        if result.case.label is None:
            continue
        if not isinstance(measurement, Measured):
            unmeasured += 1
            continue
        values.append(measurement.value)
        accept.append(result.case.label is Label.ACCEPT)
        groups.append(result.case.group or result.case.input)
    _, questions = np.unique(groups, return_inverse=True)
    order = np.argsort(questions, kind="stable")
    rows = Rows(np.array(values)[order], np.array(accept)[order], questions[order])
    return Pool(name, rows, unmeasured, time.perf_counter() - start)


def drawn(pool: Rows, labels: int, stream: tuple[int, int, int], truth: str) -> tuple[Rows, Rows]:
    """Return the rows to calibrate on, ``labels`` or a few more, and those to test on."""
    # Raw output is the one stream that numpy never changes.
    raw = np.random.PCG64(stream)
    count = int(pool.questions[-1]) + 1
    if truth == "rest":
        order = np.argsort(raw.random_raw(count), kind="stable")
    else:
        order = (raw.random_raw(labels) % count).astype(np.int64)  # no question is empty
    sizes = np.bincount(pool.questions)[order]
    last = int(np.searchsorted(np.cumsum(sizes), labels)) + 1
    return pool.of(order[:last]), pool.of(order[last:]) if truth == "rest" else pool


def measure(rows: Rows, cutoff: float) -> Truth:
    """Return what a cutoff does; there are accepts and rejects among the rows."""
    said = rows.scores >= cutoff
    wrong = rows.questions[said & ~rows.accept]
    rejects = np.bincount(rows.questions[~rows.accept])
    some = rejects > 0
    hits = np.bincount(wrong, minlength=len(rejects))
    return Truth(
        false_accepts=len(wrong),
        rejects=int(rejects.sum()),
        by_question=float((hits[some] / rejects[some]).mean()),
        true_accepts=int(np.count_nonzero(said & rows.accept)),
        accepts=int(np.count_nonzero(rows.accept)),
    )
