"""A cascade: calibrated metrics one after another, the cheap ones first.

Each rung decides the answers that lie outside its two cutoffs, and what it leaves unsure moves on
to the next. So does what a guard holds back, and what a rung could not measure. Only what moves on
is embedded and measured there.

What the rungs promise adds up. A wrong answer that the cascade accepts is accepted by some rung,
so with false-accept rates of at most a and b, each kept with confidence 1 - d, the cascade's is at
most a + b with confidence 1 - 2d (the union bound); how the rungs' errors go together does not
matter. The same holds for false rejects.
Only rates of one kind add up, of answers or of groups, and the sum is no firmer than its weakest
part: with one that is approximate it is approximate, and with one that holds on average only there
is none.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

import msgspec

from closecall.embedders.cached import CachedEmbedder
from closecall.errors import UsageError
from closecall.metrics.base import Metric
from closecall.metrics.guards.policy import NO_GUARDS, GuardPolicy
from closecall.records import Case, State, Unmeasured
from closecall.runs.applied import Applied
from closecall.runs.explaining import explained
from closecall.runs.results import CaseResult, MetricResult, decide
from closecall.runs.runner import (
    BATCH_CASES,
    BATCH_CHARS,
    NOTHING,
    batched,
    guarded,
    measured_batch,
)

DECIDES = frozenset({State.PASSED, State.FAILED})
FEWEST = 2


class Sum(msgspec.Struct, frozen=True, kw_only=True):
    """What the promises of all rungs come to, each None where not every rung makes it.

    ``exact``: whether each part is proved. ``per``: whether the rates are of answers or of groups.
    """

    max_far: float | None
    max_frr: float | None
    confidence: float
    exact: bool
    per: Literal["row", "group"]


def require_rungs(metrics: Sequence[Metric], applied: Mapping[str, Applied]) -> None:
    """Refuse what is no cascade.

    Raises
    ------
    UsageError
        Fewer than two rungs, a rung without a calibration, or one before the last that has a
        single cutoff and so would let nothing move on.
    """
    names = [metric.spec.id for metric in metrics]
    if len(names) < FEWEST:
        raise UsageError(
            "a cascade takes two calibrations or more, the cheap one first: --calibration A "
            "--calibration B --cascade"
        )
    bare = [name for name in names if name not in applied]
    if bare:
        raise UsageError(f"{bare[0]} has no calibration; each rung of a cascade needs its own")
    for name in names[:-1]:
        if applied[name].reject is None:
            raise UsageError(
                f"the calibration of {name} has one cutoff, so it decides every answer and none "
                "would move on: calibrate it with --two-cutoffs, or put it last"
            )


def promises(rungs: Sequence[Applied]) -> Sum | None:
    """Return what the rungs' promises come to; None where that says nothing."""
    kinds = {rung.per for rung in rungs}
    firmness = {rung.guarantee for rung in rungs}
    per = next(iter(kinds))
    lack = math.fsum(1 - (rung.confidence or 0.0) for rung in rungs)
    if len(kinds) > 1 or per is None or not firmness <= {"exact", "approximate"}:
        return None
    if lack >= 1 or any(rung.uncalibrated for rung in rungs):
        return None
    far = _added([rung.max_far for rung in rungs])
    # A rung with one cutoff rejects what it does not accept, at a rate it says nothing of.
    frr = _added([rung.max_frr for rung in rungs])
    if far is None and frr is None:
        return None
    return Sum(
        max_far=far,
        max_frr=frr,
        confidence=round(1 - lack, 10),
        exact=firmness == {"exact"},
        per=per,
    )


def _added(limits: Sequence[float | None]) -> float | None:
    known = [limit for limit in limits if limit is not None]
    total = math.fsum(known)
    return round(total, 10) if len(known) == len(limits) and total < 1 else None


def run_cascade(
    cases: Iterable[Case],
    rungs: Sequence[Metric],
    embedder: CachedEmbedder,
    applied: Mapping[str, Applied],
    guards: GuardPolicy = NO_GUARDS,
    *,
    missing: Mapping[str, Unmeasured] = NOTHING,
    most: int | None = None,
) -> Iterator[list[CaseResult]]:
    """Yield every case decided by the first rung that can, a batch at a time, in order.

    A case has one result a rung, in order: those it came to, and *not applicable* for the rungs
    after the one that decided. ``duration_ms`` of a result is its share of its rung's batch.
    """
    for batch in batched(cases, BATCH_CASES if most is None else most, BATCH_CHARS):
        started = time.perf_counter()
        results: list[list[MetricResult]] = [[] for _ in batch]
        left = list(range(len(batch)))
        for rung in rungs:
            begun = time.perf_counter()
            there = [batch[at] for at in left]
            found = measured_batch([rung], there, embedder, missing)[0] if there else []
            decided = [
                guarded([rung], case, [decide(rung, one, applied[rung.spec.id])], guards)
                for case, one in zip(there, found, strict=True)
            ]
            # What is left unsure and moves on has another rung to be explained by.
            told = explained([rung], there, decided, unsure=rung is rungs[-1])
            by = {at: own for at, (own,) in zip(left, told, strict=True)}
            share = _milliseconds(begun, len(left))
            for at, done in enumerate(results):
                own = by.get(at)
                done.append(
                    _passed_over(rung, applied, done)
                    if own is None
                    else msgspec.structs.replace(own, duration_ms=share)
                )
            left = [at for at in left if by[at].state not in DECIDES]
        whole = _milliseconds(started, len(batch))
        yield [
            CaseResult(case=case, results=tuple(own), duration_ms=whole, cascade=True)
            for case, own in zip(batch, results, strict=True)
        ]


def _passed_over(
    rung: Metric, applied: Mapping[str, Applied], done: Sequence[MetricResult]
) -> MetricResult:
    by = next(result.metric for result in done if result.state in DECIDES)
    why = Unmeasured(f"decided before, by {by}", State.NOT_APPLICABLE)
    return decide(rung, why, applied[rung.spec.id])


def _milliseconds(since: float, cases: int) -> float:
    return round((time.perf_counter() - since) * 1000 / max(cases, 1), 3)
