"""The labelled rows of a file with the scores of two: read once, and the same rows for both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from closecall.calibration.labels.items import group_of
from closecall.calibration.labels.label_facts import LabelFacts, label_facts
from closecall.calibration.labels.rows import LabelledRows, collect
from closecall.datasets import OnBadRow
from closecall.embedders.base import Embedder
from closecall.errors import DataError
from closecall.metrics.base import Metric
from closecall.metrics.registry import load_metric, load_metrics
from closecall.records import Case, Measured, Measurement
from closecall.runs.asked import PathLike, chosen_embedder, read_cases
from closecall.runs.calibrate import DECIDING
from closecall.runs.compared import LeftOut
from closecall.runs.evaluate import evaluate
from closecall.runs.runner import Progress

Cases = PathLike | Iterable[Case | Mapping[str, Any]]


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """How to read the cases and score them: options of ``calibrate``."""

    mapping: Mapping[str, str] | None = None
    on_bad_row: OnBadRow = "fail"
    group: str | None = None
    leave_out_active: bool = False
    threads: int | None = None
    cache: bool | PathLike = True
    progress: Progress | None = None
    on_notice: Callable[[str], None] | None = None


class Side(NamedTuple):
    """What one of the two scores with; ``spec`` is the name of its embedder."""

    metric: Metric
    spec: str
    embedder: Embedder

    @property
    def score(self) -> tuple[str, str]:
        """What makes two scores one and the same."""
        return self.metric.spec.id, self.embedder.instrument.digest


@dataclass(frozen=True, slots=True)
class LabelledCases:
    """The labelled cases of a file that are wanted, and how many rows are not among them.

    ``facts`` are about the labels of those that are.
    """

    cases: list[Case]
    facts: LabelFacts
    name: str
    digest: str
    rows: int
    unreadable: int
    problems: tuple[str, ...]
    unlabelled: int
    picked: int


@dataclass(frozen=True, slots=True)
class PairedRows:
    """The rows that both measured, in the same order, with the scores of each; at least one.

    ``unmeasured`` counts, for each, the labelled rows it has no score for, by reason.
    """

    a: LabelledRows
    b: LabelledRows
    unmeasured: tuple[dict[str, int], dict[str, int]]
    left_out: LeftOut


def sides_of(
    metrics: Sequence[str | Metric],
    embedders: Sequence[Embedder | str | None],
    windows: Sequence[str | None],
    threads: int | None,
) -> tuple[Side, Side]:
    """Return the two, each with its embedder; one that both name alike is loaded once.

    ``windows`` and ``threads`` are for embedders given by name: an object has its own.
    """
    loaded: list[tuple[object, tuple[str, Embedder]]] = []
    sides = []
    for metric, embedder, window in zip(metrics, embedders, windows, strict=True):
        named = embedder is None or isinstance(embedder, str)
        asked = (embedder, window, threads) if named else (embedder, None, None)
        made = next((one for other, one in loaded if other == asked), None)
        if made is None:
            made = chosen_embedder(*asked)
            loaded.append((asked, made))
        chosen = load_metric(metric) if isinstance(metric, str) else load_metrics([metric])[0]
        sides.append(Side(chosen, *made))
    return sides[0], sides[1]


def read_labelled(cases: Cases, sides: Sequence[Side], how: Reading) -> LabelledCases:
    """Return the labelled cases; whatever is wrong with them is said here.

    Raises
    ------
    DataError
        Rows cannot be read, none has a label, or none of the labels is wanted.
    UsageError
        A case lacks the field to group by, or an option is not for these cases.
    """
    needed = DECIDING.union(*(side.metric.spec.needs for side in sides))
    source, read = read_cases(cases, how.mapping, how.on_bad_row, needed)
    name = "cases" if read.path is None else Path(read.path).name
    found = [case for case in source if case.label is not None]
    if not found:
        raise DataError(
            f"{name}: none of {read.rows:,} rows has a label. Label them in a column 'label' "
            "with accept or reject (--map label=COLUMN reads another column)"
        )
    unlabelled = read.rows - len(found)
    facts = label_facts(found)
    picked = facts.active if how.leave_out_active else 0
    if picked:
        ids = set(facts.active_ids)
        found = [case for case in found if case.id not in ids]
        if not found:
            raise DataError(f"{name}: all {picked:,} labels were picked by score")
        facts = label_facts(found)
    for case in found:
        group_of(case, how.group)
    return LabelledCases(
        cases=found,
        facts=facts,
        name=name,
        digest=read.digest,
        rows=read.rows + read.bad_rows,
        unreadable=read.bad_rows,
        problems=read.problems,
        unlabelled=unlabelled,
        picked=picked,
    )


def paired_rows(read: LabelledCases, sides: Sequence[Side], how: Reading) -> PairedRows:
    """Score the cases with both and keep the rows that both measured, each item once.

    Raises
    ------
    DataError
        No row is left.
    """
    ours, theirs = _measured(read.cases, sides, how)
    both = [
        at
        for at, pair in enumerate(zip(ours, theirs, strict=True))
        if all(isinstance(one, Measured) for one in pair)
    ]
    a, b = (
        collect(((read.cases[at], measured[at]) for at in both), how.group)
        for measured in (ours, theirs)
    )
    unmeasured = _reasons(ours), _reasons(theirs)
    if not a.rows:
        raise DataError(f"{read.name}: {_nothing_left(len(read.cases), len(both), unmeasured)}")
    return PairedRows(
        a=a,
        b=b,
        unmeasured=unmeasured,
        left_out=LeftOut(
            unreadable=read.unreadable,
            problems=read.problems,
            unlabelled=read.unlabelled,
            picked=read.picked,
            unmeasured=len(read.cases) - len(both),
            merged=a.merged,
            conflicts=sum(each.accepts + each.rejects for each in a.conflicts),
        ),
    )


def _measured(
    cases: list[Case], sides: Sequence[Side], how: Reading
) -> tuple[list[Measurement], list[Measurement]]:
    """Return what each of the two measured; with one embedder every text is embedded once."""
    a, b = sides
    if a.score[1] == b.score[1]:
        metrics = {side.metric.spec.id: side.metric for side in sides}
        found = _run(cases, list(metrics.values()), a.embedder, how, how.progress)
        return found[0], found[-1]
    (first,), (second,) = (
        _run(cases, [side.metric], side.embedder, how, _half(how.progress, turn))
        for turn, side in enumerate(sides)
    )
    return first, second


def _run(
    cases: list[Case],
    metrics: list[Metric],
    embedder: Embedder,
    how: Reading,
    progress: Progress | None,
) -> list[list[Measurement]]:
    """Return a list of measurements for each metric."""
    run = evaluate(
        cases,
        metrics,
        embedder,
        guards="off",
        cache=how.cache,
        progress=progress,
        on_notice=how.on_notice,
    )
    rows = [[result.measurement for result in row.results] for row in run]
    return [[row[at] for row in rows] for at in range(len(metrics))]


def _half(progress: Progress | None, turn: int) -> Progress | None:
    """Return progress of one of two scorings as part of both."""
    if progress is None:
        return None
    return lambda done, total: progress(turn * total + done, 2 * total)


def _reasons(measured: Iterable[Measurement]) -> dict[str, int]:
    return dict(Counter(one.cause for one in measured if not isinstance(one, Measured)))


def _nothing_left(labels: int, both: int, unmeasured: Sequence[dict[str, int]]) -> str:
    if both:
        return f"all {both:,} labelled rows that both measured are of items labelled both ways"
    said = []
    for letter, reasons in zip("AB", unmeasured, strict=True):
        for reason, count in sorted(reasons.items(), key=lambda item: -item[1])[:1]:
            said.append(f"{letter} lacks {sum(reasons.values()):,} ({count:,}: {reason})")
    return f"none of {labels:,} labelled rows was measured by both: {'; '.join(said)}"
