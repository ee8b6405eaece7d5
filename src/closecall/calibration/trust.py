"""Whether the parts of a calibration file say one thing: its cutoff is that of its own labels.

The digest in a file shows that a hand has changed it, and a hand that changes it can make the
digest fit too. So the cutoff is chosen once more, from the labels in the file, and whatever else
follows from other parts is made again and compared. It takes as long as choosing the cutoff did:
O(n log n) of n labelled rows; a hundred milliseconds for a hundred thousand.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from closecall.calibration.artefact import Calibration
from closecall.calibration.drift.canaries import CANARIES, DIGEST
from closecall.calibration.drift.canary_record import CanaryRecord
from closecall.calibration.drift.canary_vectors import length, pair_scores
from closecall.calibration.evidence.close_calls import close_calls
from closecall.calibration.evidence.locked import measure_locked
from closecall.calibration.head.checks import judge_flaws
from closecall.calibration.head.promise import approximate
from closecall.calibration.inputs import Labelled
from closecall.calibration.records import Infeasible
from closecall.calibration.sample import part, units
from closecall.metrics.fitted.head import NAME

LONGEST_NAME = 4096
"""Characters of a metric's or an embedder's name; a path is no longer."""

SAME = 1e-7
"""Share by which a number made again may differ: another version of scipy has other last digits.
Whole numbers are compared as they are."""

SAME_VECTORS = 1e-4
"""The same for what is made from vectors, which are stored in float32."""

_WORDS = frozenset({"method"})
"""Members that are sentences, which may be put otherwise in another version."""


def flaws(calibration: Calibration) -> Iterator[str]:
    """Yield what does not fit, in words that begin with the member's name.

    Nothing for any calibration that ``build`` made. What makes a part again raises errors of its
    own where the values it has to work with are nonsense.
    """
    made = calibration
    yield from _names(made)
    if made.instrument.digest != made.instrument_digest:
        yield "instrument_digest: is not that of the instrument in the file"
    if made.window != made.instrument.window:
        yield "window: is not that of the instrument in the file"
    # As they stand in the file: what chose the cutoff had these very scores.
    rows = made.sample.labelled(None)
    sample = made.sample
    aside, trained = sample.marked(sample.locked), sample.marked(sample.trained)
    used, tested = part(rows, ~aside & ~trained), part(rows, aside)
    yield from _counts(made, used, tested)
    yield from _judge(made, used)
    found = made.goal.fit(used)
    if isinstance(found, Infeasible):
        yield f"rule: the labels in the file give no cutoff for its goal: {found.message}"
        return
    yield from _unlike("rule", made.rule, approximate(found) if made.approximate else found)
    # Last digits of a cutoff differ between machines; what follows is compared for the stored one.
    noise = made.close_calls[0].noise if made.close_calls else 0.0
    yield from _unlike("close_calls", made.close_calls, close_calls(used, made.rule, noise))
    if made.locked is not None and made.sample.locked:
        locked = made.locked
        again = measure_locked(made.rule, tested, digest=locked.digest, uses=locked.uses)
        yield from _unlike("locked", locked, again)
    yield from _canaries(made.canaries)


def _names(made: Calibration) -> Iterator[str]:
    for name, text in (
        ("metric.id", made.metric.id),
        ("metric.name", made.metric.name),
        ("embedder", made.embedder),
    ):
        if not text.strip():
            yield f"{name}: is blank"
        if len(text) > LONGEST_NAME:
            yield f"{name}: {len(text):,} characters are no name"
    if len(made.metric.version) > LONGEST_NAME:
        yield f"metric.version: {len(made.metric.version):,} characters are no version"
    low, high = made.metric.low, made.metric.high
    if low is not None and high is not None and not low < high:
        yield f"metric.low: {low:g} is not below metric.high, {high:g}"
    try:
        dt.datetime.fromisoformat(made.created)
    except ValueError:
        yield "created: not a time such as 2025-03-01T12:00:00Z"
    if made.tried < 1:
        yield f"tried: counts this calibration too, so it is no {made.tried}"


def _counts(made: Calibration, used: Labelled, tested: Labelled) -> Iterator[str]:
    """Compare the account of the labels with the rows."""
    kept = int(np.count_nonzero(used.accept))
    facts = made.data
    groups = None if used.groups is None else units(used, np.ones_like(used.accept))
    for name, said, found in (
        ("used", facts.used, len(used.scores)),
        ("accepts", facts.accepts, kept),
        ("rejects", facts.rejects, len(used.scores) - kept),
        ("groups", facts.groups, groups),
        ("locked", facts.locked, len(tested.scores)),
    ):
        if said != found:
            yield f"data.{name}: says {said}, and the rows in the file are {found}"
    if (made.locked is None) != (not made.sample.locked):
        yield "locked: the test and the rows that were set aside for it do not go together"


def _judge(made: Calibration, used: Labelled) -> Iterator[str]:
    """Compare a judge with the metric, the rows and the goal."""
    if made.judge is not None:
        yield from judge_flaws(made, made.judge, used)
    elif made.metric.name == NAME or made.sample.trained:
        yield "judge: is missing, though the metric is one that is fitted to labels"


def _canaries(record: CanaryRecord) -> Iterator[str]:
    """Compare the record with its own vectors; one of other texts is refused where it is used."""
    if record.digest != DIGEST:
        return
    names = sorted(canary.name for canary in CANARIES)
    if sorted([*record.norms, *record.unmeasured]) != names:
        yield f"canaries: norms and unmeasured do not name each of the {len(names)} texts once"
        return
    vectors = record.by_name()
    lengths = {name: length(vector) for name, vector in vectors.items()}
    yield from _unlike("canaries.norms", record.norms, lengths, SAME_VECTORS)
    if not all(lengths.values()):
        yield "canaries.vectors: one is zero, so it has no direction"
        return
    scores = pair_scores(vectors)
    yield from _unlike("canaries.pair_scores", record.pair_scores, scores, SAME_VECTORS)


def _unlike(name: str, stored: object, again: object, share: float = SAME) -> Iterator[str]:
    """Yield the first member in which a stored part differs from the same part made again."""
    at = _difference(msgspec.to_builtins(stored), msgspec.to_builtins(again), share)
    if at is not None:
        yield f"{name}{at}: is not what the rest of the file gives"


def _difference(one: Any, other: Any, share: float) -> str | None:
    """Return where two JSON values differ, such as ``.counts.false_accepts``; None: nowhere."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        if missing := sorted(one.keys() ^ other.keys()):
            return f".{missing[0]:.80}"
        parts = [(f".{key}", one[key], other[key]) for key in one if key not in _WORDS]
    elif isinstance(one, Sequence) and isinstance(other, Sequence) and not isinstance(one, str):
        if len(one) != len(other):
            return ""
        parts = [(f"[{at}]", *pair) for at, pair in enumerate(zip(one, other, strict=True))]
    elif isinstance(one, float) and isinstance(other, int | float):
        return None if math.isclose(one, other, rel_tol=share, abs_tol=share**2) else ""
    else:
        return None if one == other else ""
    for step, mine, yours in parts:
        at = _difference(mine, yours, share)
        if at is not None:
            return step + at
    return None
