"""``compare_runs``: two run folders in, what changed between them and whether it is worse out."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from pathlib import Path

import msgspec

from closecall.calibration.binomial import complement
from closecall.errors import RunFolderError, UsageError
from closecall.runs.claim import quoted
from closecall.runs.comparing.axes import ALLOWABLE, header_axes, metadata_axis, refuse
from closecall.runs.comparing.cases import (
    CaseMatch,
    cases_axis,
    cases_of,
    match_cases,
    same_questions,
)
from closecall.runs.comparing.figures import figures
from closecall.runs.comparing.pairs import (
    CASCADE,
    MetricPairs,
    Responses,
    clipped,
    pair,
    with_responses,
)
from closecall.runs.comparing.records import (
    CANNOT_TELL,
    NOT_DECIDED,
    WORSE,
    Axis,
    Matched,
    MetricCompared,
    RunComparison,
    RunSide,
)
from closecall.runs.comparing.rule import decided
from closecall.runs.header import RunHeader
from closecall.runs.reader import RunReader, open_run
from closecall.runs.stored import header_of, load_run
from closecall.runs.summary import EXIT_FAILED, EXIT_PASSED, EXIT_UNMEASURED

PathLike = str | os.PathLike[str]

ALPHA = 0.05
NAMED = 10
MOST_NAMED = 1000
MOST_ALPHA = 0.5

_VERDICT_AXES = frozenset({"cutoff", "calibration", "guards"})


class _Opened(msgspec.Struct, frozen=True):
    """One of the two runs, open for reading."""

    reader: RunReader
    header: RunHeader


def compare_runs(
    a: PathLike,
    b: PathLike,
    *,
    metrics: Sequence[str] = (),
    allow: Collection[str] = (),
    alpha: float = ALPHA,
    max_new_failures: int | None = None,
    any_flip: bool = False,
    strict: bool = False,
    level: float = 0.95,
    named: int = NAMED,
) -> RunComparison:
    """Compare two runs of the same cases with the same instrument: A before, B after.

    Reads both folders case by case. Memory holds about 250 bytes a case with its id, and about
    45 more for each metric.

    Parameters
    ----------
    a, b
        Run folders.
    metrics
        Compare these alone; none: all, which must be the same in both. A cascade is compared as a
        whole.
    allow
        Differences to allow on purpose. ``cases``: compare those the runs have in common.
        ``cutoff``: compare values although cutoffs, calibrations or guards differ; verdicts are
        then shown and not gated. ``metadata``: compare although fields such as ``expected_facts``
        differ, or cannot be shown to be the same. What answered the cases may always differ; the
        embedder, metric versions and judges never.
    alpha
        Most probable false alarm of the rule, over all metrics together.
    max_new_failures
        Also a regression: more cases than this, of any metric, that B fails and A did not.
    any_flip
        Also a regression: any verdict that differs, either way.
    strict
        A metric where it cannot be told keeps the comparison from being green.
    level
        Confidence of the interval of each mean difference.
    named
        How many cases to name of each kind, 0 to 1,000.

    Returns
    -------
    RunComparison
        ``exit_code`` is 1 where B is worse, 11 where B lacks what A measured, nothing could be
        compared or, with ``strict``, it cannot be told; else 0.

    Raises
    ------
    NotComparableError
        The runs did not measure the same thing; every axis that differs is named.
    RunFolderError
        A folder is no run, is not finished, or is damaged.
    UsageError
        An argument is out of range, or the two are one and the same run.
    """
    _check(allow, alpha, max_new_failures, named)
    complement(level)
    first, second = _opened(a), _opened(b)
    if first.header.run_id == second.header.run_id:
        raise UsageError(f"{a} and {b} are the same run: give two that differ")
    match = match_cases((first.reader, first.header), (second.reader, second.header))
    wanted = _wanted(first.header, second.header, metrics)
    allowed = refuse(_axes(first.header, second.header, wanted, match), tuple(allow))
    kept = all(one.header.content and one.header.runs == 1 for one in (first, second))
    responses = Responses(len(match.rows), kept=kept)
    counted = _pairs(first.header, wanted, len(match.rows), named)
    pair(
        iter(load_run(a, counts=False)),
        iter(load_run(b, counts=False)),
        match,
        counted,
        responses,
    )
    said = _responses(first.reader, counted)
    found = [_named(_figures(one, first.header, second.header, level), said) for one in counted]
    ruled = decided(found, alpha, _two_rules(allowed))
    failed = tuple(_failed(ruled, max_new_failures, any_flip=any_flip))
    still_open = tuple(_open(ruled, strict=strict))
    code = EXIT_FAILED if failed else EXIT_UNMEASURED if still_open else EXIT_PASSED
    return RunComparison(
        a=_side(first),
        b=_side(second),
        cases=_matched(match, responses),
        metrics=ruled,
        allowed=allowed,
        alpha=alpha,
        max_new_failures=max_new_failures,
        any_flip=any_flip,
        strict=strict,
        failed=failed,
        open=still_open,
        notes=tuple(_notes(first.header, second.header, match, responses, allowed)),
        exit_code=code,
    )


def _check(allow: Collection[str], alpha: float, max_new_failures: int | None, named: int) -> None:
    unknown = [one for one in allow if one not in ALLOWABLE]
    if isinstance(allow, str) or unknown:
        what = allow if isinstance(allow, str) else unknown[0]
        raise UsageError(
            f"allow takes a list of {', '.join(ALLOWABLE)}, got {what!r}; another embedder, "
            "metric version or judge is never comparable"
        )
    if isinstance(alpha, bool) or not 0 < alpha <= MOST_ALPHA:
        raise UsageError(f"alpha must be above 0 and at most {MOST_ALPHA:g}, got {alpha!r}")
    if max_new_failures is not None and (
        isinstance(max_new_failures, bool) or max_new_failures < 0
    ):
        raise UsageError(f"max_new_failures must be at least 0, got {max_new_failures!r}")
    if isinstance(named, bool) or not 0 <= named <= MOST_NAMED:
        raise UsageError(f"named must be from 0 to {MOST_NAMED:,}, got {named!r}")


def _opened(folder: PathLike) -> _Opened:
    reader = open_run(folder)
    header = header_of(folder)
    if reader.running:
        raise RunFolderError(
            f"{Path(folder)}: this run is not finished, so it cannot be compared. Go on with: "
            f"closecall eval --resume {quoted(Path(folder))}"
        )
    return _Opened(reader, header)


def _wanted(a: RunHeader, b: RunHeader, metrics: Sequence[str]) -> tuple[str, ...]:
    """Return the metrics asked for; none where all are to be compared."""
    names = tuple(dict.fromkeys(metrics))
    if names and (a.cascade or b.cascade):
        raise UsageError("a cascade is compared as a whole: name no metrics")
    for name in names:
        for letter, header in (("A", a), ("B", b)):
            there = [plan.id for plan in header.metrics]
            if name not in there:
                raise UsageError(f"{letter} has no metric {name!r}; it has {', '.join(there)}")
    return names


def _axes(a: RunHeader, b: RunHeader, wanted: Sequence[str], match: CaseMatch) -> list[Axis]:
    found = list(header_axes(a, b, wanted))
    cases = cases_axis(a, b, match)
    if cases is not None:
        found.append(cases)
    if not same_questions(a, b):
        metadata = metadata_axis(a, b, wanted, same_texts=cases is None)
        if metadata is not None:
            found.append(metadata)
    return found


def _pairs(a: RunHeader, wanted: Sequence[str], rows: int, named: int) -> list[MetricPairs]:
    if a.cascade:
        return [MetricPairs(CASCADE, None, rows, named)]
    return [
        MetricPairs(plan.id, plan.high, rows, named)
        for plan in a.metrics
        if not wanted or plan.id in wanted
    ]


def _figures(one: MetricPairs, a: RunHeader, b: RunHeader, level: float) -> MetricCompared:
    if a.cascade:
        return figures(one, a.metrics[-1], b.metrics[-1], level, values=False)
    ours, theirs = (
        next(plan for plan in header.metrics if plan.id == one.metric) for header in (a, b)
    )
    return figures(one, ours, theirs, level, values=True)


def _responses(reader: RunReader, counted: Sequence[MetricPairs]) -> dict[str, str | None]:
    """Return what A answered in the cases that are named."""
    ids = {one.id for pairs in counted for named in pairs.named for one in named}
    if not ids:
        return {}
    return {case.id: clipped(case.response) for case in cases_of(reader) if case.id in ids}


def _named(found: MetricCompared, responses: dict[str, str | None]) -> MetricCompared:
    lists = ("fell", "rose", "first_worse", "first_better", "first_absent")
    return msgspec.structs.replace(
        found, **{name: with_responses(getattr(found, name), responses) for name in lists}
    )


def _two_rules(allowed: Sequence[Axis]) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    for axis in allowed:
        if axis.axis in _VERDICT_AXES:
            found.setdefault(axis.metric, []).append(f"the {axis.axis}")
    apart = {metric: " and ".join(names) for metric, names in found.items()}
    return apart | ({CASCADE: "; ".join(apart.values())} if apart else {})


def _failed(metrics: Sequence[MetricCompared], most: int | None, *, any_flip: bool) -> list[str]:
    told = []
    for one in metrics:
        if one.outcome == WORSE:
            told.append(f"{one.metric}: B passes fewer, beyond chance: {one.why}")
        gated = one.outcome != NOT_DECIDED
        if gated and most is not None and one.new_failures > most:
            told.append(
                f"{one.metric}: {one.new_failures:,} new failures, more than {most:,} allowed"
            )
        if gated and any_flip and one.verdict_flips:
            told.append(
                f"{one.metric}: {one.verdict_flips:,} of {one.measured:,} verdicts differ, and "
                "none may"
            )
    return told


def _open(metrics: Sequence[MetricCompared], *, strict: bool) -> list[str]:
    told = []
    for one in metrics:
        if one.only_a:
            told.append(
                f"{one.metric}: {one.only_a:,} of {one.measured + one.only_a:,} cases that A "
                "measured are not measured in B"
            )
        unknown = strict and one.outcome in {CANNOT_TELL, NOT_DECIDED}
        if one.asked and (unknown or not one.measured):
            told.append(f"{one.metric}: {one.why}")
    if not any(one.asked for one in metrics):
        told.append("no metric applies to any of the cases")
    return told


def _side(run: _Opened) -> RunSide:
    header = run.header
    return RunSide(
        folder=str(run.reader.path),
        run_id=header.run_id,
        name=header.name,
        started_at=header.started_at,
        subject=subject_words(header),
        model=header.instrument.model,
        data=header.dataset.path,
        cases=header.dataset.rows,
        bad_rows=header.dataset.bad_rows,
    )


def subject_words(header: RunHeader) -> str:
    """Return what gave the answers, as far as the run knows; empty where it does not say."""
    named = " ".join(filter(None, (header.subject, header.subject_version)))
    by = header.answered_by
    asked = "" if by is None else f"{by.name} ({by.kind}, {by.digest[:12]})"
    return "; ".join(filter(None, (named, asked)))


def _matched(match: CaseMatch, responses: Responses) -> Matched:
    return Matched(
        compared=match.compared,
        only_a=match.only_a,
        only_b=match.only_b,
        changed=match.changed,
        named=match.named,
        responses_differ=responses.differ if responses.kept else None,
        relabelled=responses.relabelled if responses.kept else 0,
        groups=len(
            {group for group, there in zip(match.groups, match.common, strict=True) if there}
        ),
        ungrouped=match.ungrouped,
    )


def _notes(
    a: RunHeader,
    b: RunHeader,
    match: CaseMatch,
    responses: Responses,
    allowed: Sequence[Axis],
) -> list[str]:
    told = []
    for axis in allowed:
        of = f" of {axis.metric}" if axis.metric else ""
        told.append(f"{axis.axis}{of} differs, as allowed: A {axis.a}; B {axis.b}")
    for letter, header in (("A", a), ("B", b)):
        if header.dataset.bad_rows:
            told.append(
                f"{letter} left out {header.dataset.bad_rows:,} rows that could not be read"
            )
        told += [
            f"{letter}, {plan.id}: {plan.cutoff_note}"
            for plan in header.metrics
            if plan.calibration is not None and plan.calibration.uncalibrated
        ]
    if match.ungrouped:
        told.append(
            "a run keeps no questions, so its cases count as independent; what is beyond chance "
            "may be less so"
        )
    if responses.kept and responses.relabelled:
        told.append(
            f"{responses.relabelled:,} cases have another label on the same response, so error "
            "rates differ for that alone"
        )
    if responses.kept and not responses.differ:
        told.append("every response is the same in both: what differs is how it was measured")
    return told
