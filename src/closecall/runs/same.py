"""Whether a run that goes on asks what the run that was begun asked, and what changed if not."""

from __future__ import annotations

from collections.abc import Iterator

from closecall.instrument import differences
from closecall.runs.header import DatasetFacts, MetricPlan, RunHeader
from closecall.runs.results import guards_words
from closecall.runs.shards import Shard


def changes(before: RunHeader, now: RunHeader) -> list[str]:
    """Return what is no longer as it was, in words; empty when both ask the same."""
    found = []
    if before.dataset.digest != now.dataset.digest:
        found.append(f"the cases ({_cases(before.dataset, now.dataset)})")
    elif before.dataset.bad_rows != now.dataset.bad_rows:
        then, there_are = before.dataset.bad_rows, now.dataset.bad_rows
        found.append(f"the rows that cannot be read ({then:,} then, {there_are:,} now)")
    found += _of_shards(before.shard, now.shard)
    same_instrument = before.instrument_digest == now.instrument_digest
    if not same_instrument:
        facts = "; ".join(differences(before.instrument, now.instrument))
        found.append(f"the embedder ({facts})")
    if _subject(before) != _subject(now):
        found.append("what answers the cases: the subject, its settings or its prompt")
    if before.runs != now.runs:
        found.append(f"how often a case is answered ({before.runs} then, {now.runs} now)")
    elif now.runs > 1 and before.success_threshold != now.success_threshold:
        found.append(
            "the share of runs a case has to pass in "
            f"({before.success_threshold:g} then, {now.success_threshold:g} now)"
        )
    if before.cascade != now.cascade:
        found.append("whether the metrics decide one after another (--cascade)")
    if [plan.id for plan in before.metrics] != [plan.id for plan in now.metrics]:
        found.append(f"the metrics ({_names(before)} then, {_names(now)} now)")
    else:
        for was, new in zip(before.metrics, now.metrics, strict=True):
            found.extend(_metric(was, new, same_instrument=same_instrument))
    return found


def _cases(then: DatasetFacts, now: DatasetFacts) -> str:
    """Return how the cases of two data sets differ, as far as their headers say."""
    if then.rows != now.rows:
        return f"{then.rows:,} then, {now.rows:,} now"
    if not then.questions or not now.questions:
        return f"{now.rows:,} in both, of other content"
    if then.questions != now.questions:
        return (
            f"{now.rows:,} in both, that ask something else: ids, inputs, references or contexts"
        )
    return f"{now.rows:,} in both, in another order or of other responses, labels, groups or tags"


def _of_shards(then: Shard | None, now: Shard | None) -> list[str]:
    if then == now:
        return []
    was, new = ("all of it" if one is None else str(one) for one in (then, now))
    return [f"which part of it this is ({was} then, {new} now)"]


def _subject(header: RunHeader) -> str:
    return "" if header.answered_by is None else header.answered_by.digest


def _names(header: RunHeader) -> str:
    return ", ".join(plan.id for plan in header.metrics)


def _metric(then: MetricPlan, new: MetricPlan, *, same_instrument: bool) -> Iterator[str]:
    if then.version != new.version:
        yield f"the version of {then.id} ({then.version} then, {new.version} now)"
    if then.cutoff != new.cutoff:
        yield f"the cutoff of {then.id} ({_cutoff(then)} then, {_cutoff(new)} now)"
    elif _calibration(then) != _calibration(new):
        yield f"the calibration of {then.id} ({_calibration(then)} then, {_calibration(new)} now)"
    elif then.guards != new.guards:
        was, now = (guards_words(plan.guards) or "none" for plan in (then, new))
        yield f"the guards beside {then.id} ({was} then, {now} now)"
    elif (
        same_instrument
        and then.version == new.version
        and then.evaluator_version != new.evaluator_version
    ):
        yield f"the options of {then.id}"


def _cutoff(plan: MetricPlan) -> str:
    return "none" if plan.cutoff is None else f"{plan.cutoff:g}"


def _calibration(plan: MetricPlan) -> str:
    used = plan.calibration
    if used is None:
        return "none"
    return f"{used.digest[:12]}{', of another embedder' if used.uncalibrated else ''}"
