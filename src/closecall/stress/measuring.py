"""``stress_test``: edit a file's own references, score that, count what was let through."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from closecall.calibration.groups import rate_of_groups
from closecall.calibration.records import Rate
from closecall.embedders.absent import is_absent
from closecall.metrics.fitted.features import SUPPORT
from closecall.metrics.fitted.support import there_is_a_pair_model
from closecall.metrics.registry import DEFAULT as DEFAULT_METRIC
from closecall.metrics.registry import load_metric
from closecall.records import Case, Measured, State
from closecall.runs.asked import chosen_embedder, read_cases
from closecall.runs.evaluate import evaluate
from closecall.runs.explaining import nothing_explained
from closecall.stress.cost import pair_cost
from closecall.stress.edits import FAMILIES, Kind
from closecall.stress.making import MOST, StressSet, stress_set
from closecall.stress.results import (
    EditedAnswer,
    Example,
    FamilyMade,
    FamilyResult,
    MetricStress,
    StressResult,
    Verdict,
)

if TYPE_CHECKING:
    from closecall.datasets import OnBadRow
    from closecall.embedders.base import Embedder
    from closecall.metrics.base import Metric
    from closecall.metrics.guards.policy import GuardPolicy
    from closecall.runs.asked import PathLike
    from closecall.runs.calibrations import Calibrations
    from closecall.runs.record import Run
    from closecall.runs.results import MetricResult
    from closecall.runs.runner import Progress
    from closecall.stress.sources import Base

BAD_ROW = "a row that cannot be read"
CHANGING = ("case", "punctuation", "list_order", "politeness", "markdown")
"""Harmless families whose texts are other than the references they are held against."""
TENTH = 10
_PAIRED = frozenset(one.name for one in SUPPORT.values())
DEFAULTS = (DEFAULT_METRIC, SUPPORT["references"].name)
"""What is measured unless something else is named: what people know, and the pair model."""


def stress_test(
    cases: PathLike | Iterable[Case | Mapping[str, Any]],
    metrics: str | Metric | Iterable[str | Metric] | None = None,
    embedder: Embedder | str | None = None,
    *,
    base: Base = "references",
    families: Sequence[str] | None = None,
    most: int | None = MOST,
    seed: int = 0,
    group: str | None = None,
    cutoffs: Mapping[str, float] | None = None,
    calibration: Calibrations | None = None,
    guards: str | Mapping[str, str] | GuardPolicy | None = None,
    window: str | None = None,
    threads: int | None = None,
    mapping: Mapping[str, str] | None = None,
    on_bad_row: OnBadRow = "fail",
    cache: bool | PathLike = True,
    progress: Progress | None = None,
    on_notice: Callable[[str], None] | None = None,
) -> StressResult:
    """Count false accepts of made-up wrong answers, and false rejects of harmless edits.

    No label is needed: the edits say which answers are wrong. They are not the wrong answers that
    your assistant will give, so a rate here is a rate of this kind of error, and no cutoff may be
    chosen by it.

    Parameters
    ----------
    cases
        A case file or cases, as ``evaluate`` takes them; those with a reference are used.
    metrics
        As in ``evaluate``. None, and no calibration: ``DEFAULTS``, as far as they are there.
    embedder, cutoffs, calibration, guards, window, threads, mapping, on_bad_row, cache
        As in ``evaluate``.
    base, families, most, seed, group
        What is edited, how, how often and with which seed; see ``stress_set``.
    progress, on_notice
        As in ``evaluate``.

    Returns
    -------
    StressResult
        Counts, rates with intervals and medians for each family and metric, and every edited
        answer; the cost of a pair model. O(cases) time to make them; scoring costs one text each.

    Raises
    ------
    DataError
        The cases cannot be read, or none of them can be edited.
    UsageError, ConfigurationError, InstrumentMismatchError
        As in ``evaluate``.
    """
    source, facts = read_cases(cases, mapping, on_bad_row, frozenset({"references"}))
    made = stress_set(source, base=base, families=families, most=most, seed=seed, group=group)
    if metrics is None and calibration is None:
        metrics = DEFAULTS if there_is_a_pair_model() else DEFAULT_METRIC
    with nothing_explained():
        run = evaluate(
            made.cases,
            metrics,
            embedder,
            cutoffs=cutoffs,
            calibration=calibration,
            guards=guards,
            window=window,
            threads=threads,
            name=Path(facts.path).name if facts.path else "cases",
            cache=cache,
            progress=progress,
            on_notice=on_notice,
        )
    left_out = dict(made.left_out)
    if facts.bad_rows:
        left_out[BAD_ROW] = facts.bad_rows
    found = _result(made, run, left_out, facts.bad_rows)
    return _timed(found, run, made, embedder, threads)


def _timed(
    found: StressResult,
    run: Run,
    made: StressSet,
    embedder: Embedder | str | None,
    threads: int | None,
) -> StressResult:
    """Return the result with what its pair models cost; nothing leaves the machine for it."""
    if not any(plan.name in _PAIRED for plan in run.header.metrics):
        return found
    used: Embedder | None = None
    if run.usage is None and not is_absent(run.header.instrument):
        given = isinstance(embedder, str) or embedder is None
        name = run.header.embedder if given else embedder
        window = run.header.instrument.window if given else None
        used = chosen_embedder(name, window, threads if given else None)[1]
    metrics = []
    for at, (plan, one) in enumerate(zip(run.header.metrics, found.metrics, strict=True)):
        if plan.name not in _PAIRED:
            metrics.append(one)
            continue
        answers = zip(made.cases, found.answers, strict=True)
        own = [case for case, answer in answers if answer.verdicts[at].value is not None]
        metrics.append(replace(one, cost=pair_cost(load_metric(plan.id), own, used)))
    return replace(found, metrics=tuple(metrics))


class _Row(NamedTuple):
    case: Case
    result: MetricResult
    value: float | None

    @property
    def family(self) -> str:
        return str(self.case.metadata["stress"]["family"])


def _result(made: StressSet, run: Run, left_out: dict[str, int], bad: int) -> StressResult:
    rows = list(run)
    metrics = []
    for at, plan in enumerate(run.header.metrics):
        own = [_Row(row.case, row.results[at], _value(row.results[at])) for row in rows]
        low = _low([row.value for row in own if row.family in CHANGING and row.value is not None])
        metrics.append(
            MetricStress(
                metric=plan.id,
                high=plan.high,
                cutoff=plan.cutoff,
                cutoff_source=plan.cutoff_source,
                cutoff_note=plan.cutoff_note,
                harmless_low=low,
                families=tuple(
                    _family(one.family, [row for row in own if row.family == one.family], low)
                    for one in made.made
                ),
            )
        )
    return StressResult(
        name=run.header.name,
        model=f"{run.header.instrument.model} ({run.header.instrument.provider})",
        base=made.base,
        seed=made.seed,
        most=made.most,
        seen=made.seen + bad,
        sources=made.sources,
        groups=made.groups,
        left_out=left_out,
        made=tuple(
            FamilyMade(family=m.family, kind=FAMILIES[m.family], made=len(m.cases), tried=m.tried)
            for m in made.made
        ),
        metrics=tuple(metrics),
        answers=tuple(_answer(row.case, row.results) for row in rows),
        cases=made.cases,
    )


def _value(result: MetricResult) -> float | None:
    measured = result.measurement
    return measured.value if isinstance(measured, Measured) else None


def _low(values: Sequence[float]) -> float | None:
    """Return the largest of these values that at least nine in ten of them reach."""
    return sorted(values)[len(values) // TENTH] if values else None


def _family(family: str, rows: Sequence[_Row], low: float | None) -> FamilyResult:
    kind = FAMILIES[family]
    measured = [row for row in rows if row.value is not None]
    states = Counter(row.result.state for row in measured)
    values = [row.value for row in measured if row.value is not None]
    wrong = _WRONG[kind]
    return FamilyResult(
        family=family,
        kind=kind,
        measured=len(measured),
        groups=len({row.case.group for row in measured}),
        accepted=states[State.PASSED],
        rejected=states[State.FAILED],
        unsure=states[State.INCONCLUSIVE] + states[State.WARN],
        scored=states[State.SCORED],
        held=sum(bool(row.result.held) for row in measured),
        absent=dict(
            sorted(Counter(row.result.reason for row in rows if row.value is None).items())
        ),
        median=statistics.median(values) if values else None,
        as_high=None if low is None else sum(value >= low for value in values),
        rate=_rate([row for row in measured if row.result.state is not State.SCORED], wrong),
        example=_example(measured, kind),
    )


_WRONG: dict[Kind, State] = {"wrong": State.PASSED, "harmless": State.FAILED}
"""The verdict that is an error."""


def _rate(rows: Sequence[_Row], wrong: State) -> Rate | None:
    if not rows:
        return None
    import numpy as np

    counted: dict[str, list[int]] = {}
    for row in rows:
        group = counted.setdefault(row.case.group or row.case.id, [0, 0])
        group[0] += 1
        group[1] += row.result.state is wrong
    sizes, hits = np.array(list(counted.values()), dtype=np.int64).T
    return rate_of_groups(sizes, hits)


def _example(rows: Sequence[_Row], kind: Kind) -> Example | None:
    """Return the clearest error: the wrong answer that scored highest, the right one lowest."""
    states = {_WRONG[kind], State.SCORED} if kind == "wrong" else {_WRONG[kind]}
    found = [
        (row.value, row) for row in rows if row.value is not None and row.result.state in states
    ]
    if not found:
        return None
    sign = -1 if kind == "wrong" else 1
    value, row = min(found, key=lambda pair: (sign * pair[0], pair[1].case.id))
    facts = row.case.metadata["stress"]
    return Example(
        id=row.case.id,
        source=facts["source"],
        before=facts["from"],
        after=facts["to"],
        response=row.case.response or "",
        value=value,
    )


def _answer(case: Case, results: Sequence[MetricResult]) -> EditedAnswer:
    facts = case.metadata["stress"]
    return EditedAnswer(
        id=case.id,
        source=facts["source"],
        group=case.group or "",
        family=facts["family"],
        kind=facts["kind"],
        before=facts["from"],
        after=facts["to"],
        response=case.response or "",
        verdicts=tuple(
            Verdict(metric=r.metric, state=r.state, value=_value(r), reason=r.reason)
            for r in results
        ),
    )
