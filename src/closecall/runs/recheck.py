"""Whether a run of closecall says the same in all places that follow from one another.

A verdict follows from a value and its cutoff, that over several runs from theirs, the header's
members in the format's words from our own, and the summary's figures from the lines. Whoever
changes one of them, and seals the folder anew, has to change all; that is found here. What cannot
be: a value changed with everything that follows from it, since only embedding the texts again
would tell. A signature does.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from closecall.calibration.records import Decision
from closecall.metrics.cutoffs import PERCENT
from closecall.metrics.guards.policy import REJECT
from closecall.records import Measured, State
from closecall.runs import files, sinks
from closecall.runs.header import MetricPlan, RunHeader
from closecall.runs.lines import EXT
from closecall.runs.reader import RunReader
from closecall.runs.results import CaseResult, MetricResult
from closecall.runs.summary import RunTally
from closecall.runs.trials import rolled_up
from closecall.runs.wire import Document, dump_line, parse

_SMALL = 1e-9
"""Relative: a mean of runs is rounded where it is made."""
_STATES = {
    Decision.ACCEPT: State.PASSED,
    Decision.REJECT: State.FAILED,
    Decision.UNSURE: State.INCONCLUSIVE,
}
_DECIDED = frozenset({State.PASSED, State.FAILED})
_COUNTED = ("repeats", "agreement")
"""What of our own part of the summary can be counted again from the lines."""
_WORDS = ("verdict", "aggregate")
"""What an entry of the summary says of its figures; a mean has no ``aggregate``."""


def own_header(run: RunReader) -> RunHeader | None:
    """Return the header in closecall's own words; None where there is none.

    Whoever the producer is said to be: what reports are made of is this header.
    """
    config = run.header.get("config")
    if not isinstance(config, dict) or EXT not in config:
        return None
    from closecall.runs.stored import header_in

    return header_in(run)


class Recheck:
    """Feed it every case of a run with its lines, then ask what does not follow.

    Holds what ``RunTally`` does of each case.
    """

    def __init__(self, run: RunReader, header: RunHeader) -> None:
        self._run, self._header = run, header
        self._tally = RunTally.of(header)

    def header_problems(self) -> Iterator[str]:
        """Yield where run.json and metrics.json say otherwise than our own header in run.json."""
        place = self._run.path / files.RUN
        header = self._header
        begun = msgspec.structs.replace(header, ended_at=None)  # as it was written
        for name in differing(self._run.header, _as_read(sinks.run_json(begun))):
            yield f"{place}: {name} says otherwise than config.{EXT}"
        if header.instrument.digest != header.instrument_digest:
            yield f"{place}: instrument_digest is not that of the instrument beside it"
        paths = _own(self._run.header).get("paths")
        if paths is not None and paths != [plan.id for plan in header.metrics]:
            yield f"{place}: ext.{EXT}.paths are not the metrics of config.{EXT}"
        stated = {metric["id"]: metric for metric in self._run.metrics}
        expected = {metric["id"]: metric for metric in sinks.declared(header.metrics)}
        for name in sorted({*stated, *expected}):
            wrong = name not in stated or name not in expected
            if wrong or list(differing(stated[name], expected[name])):
                yield (
                    f"{self._run.path / files.METRICS}: {name!r} is not declared as {files.RUN} "
                    "has it"
                )

    def add(self, place: str, row: CaseResult, lines: Sequence[Document]) -> Iterator[str]:
        """Count one case; yield what does not follow in it. ``place`` is where its lines begin."""
        self._tally.add([row])
        trials = row.trials
        for answer in trials or (row,):
            for plan, result in zip(self._header.metrics, answer.results, strict=True):
                for problem in verdict_problems(plan, result):
                    yield f"{place}: case {row.case.id!r}, {plan.id}: {problem}"
            if self._header.cascade:
                yield from _cascade_problems(place, answer)
        if trials:
            again = rolled_up(trials, self._header.success_threshold)
            for found, expected in zip(row.results, again.results, strict=True):
                for name in _unlike(found, expected):
                    yield (
                        f"{place}: case {row.case.id!r}, {found.metric}: {name} over all its runs "
                        "does not follow from them"
                    )
        for line in lines:
            for problem in _line_problems(self._header, line):
                yield f"{place}: case {row.case.id!r}, {line['path']}: {problem}"

    def compare(self) -> Iterator[str]:
        """Yield where counts of the header and the summary differ from the cases."""
        header, summary = self._header, self._run.summary
        if self._run.running or summary is None:
            return
        place = self._run.path / files.SUMMARY
        if self._tally.cases != header.cases:
            yield (
                f"{self._run.path / files.RUN}: says {header.cases} cases, and there are "
                f"{self._tally.cases}"
            )
        again = sinks.summary_json(header, self._tally.metrics, repeats=self._tally.repeats())
        try:
            yield from _entry_problems(place, summary, again)
        except (KeyError, TypeError, AttributeError):  # the check of the summary says so
            return
        told, counted = _own(summary), _own(again)
        for name in _COUNTED:
            if name in told and not _near(told[name], counted.get(name)):
                yield f"{place}: ext.{EXT}.{name} is not what the results add up to"


def verdict_problems(plan: MetricPlan, result: MetricResult) -> Iterator[str]:
    """Yield where a verdict does not follow from its value, cutoff and guards."""
    found = result.measurement
    if not isinstance(found, Measured):
        if result.held or result.borderline:
            yield "nothing was measured, and yet it was near a cutoff or held back"
        return
    state = State.SCORED
    if plan.calibration is not None:
        state = _STATES[plan.calibration.decide(found.value)]
    elif plan.cutoff is not None:
        state = State.PASSED if found.value >= plan.cutoff else State.FAILED
    if result.held:
        if state is not State.PASSED or not plan.guards.keys() >= set(result.held):
            yield f"held back by {', '.join(result.held)}, which could not have been"
        rejects = any(plan.guards.get(name) == REJECT for name in result.held)
        state = State.FAILED if rejects else State.INCONCLUSIVE
    if result.state is not state:
        yield f"state should be {state.value}, is {result.state.value}, by {found.value!r}" + (
            "" if plan.cutoff is None else f" and the cutoff {plan.cutoff!r}"
        )
    if not _is_percent(plan, found):
        yield f"the score {found.score!r} is not the value {found.value!r}"


def _is_percent(plan: MetricPlan, found: Measured) -> bool:
    """Whether a score is the value, where both go from 0 to 100."""
    if plan.high != PERCENT or plan.low != 0 or found.score is None:
        return True
    return math.isclose(found.score, found.value, rel_tol=_SMALL, abs_tol=_SMALL)


def _cascade_problems(place: str, row: CaseResult) -> Iterator[str]:
    """Yield where a rung was asked although one before it decided, or not asked although none."""
    decided = False
    for result in row.results:
        if decided != (result.state is State.NOT_APPLICABLE):
            yield (
                f"{place}: case {row.case.id!r}, {result.metric}: this rung was "
                f"{'asked after' if decided else 'passed over before'} one decided"
            )
            return
        decided = decided or result.state in _DECIDED


def _unlike(found: MetricResult, expected: MetricResult) -> Iterator[str]:
    if found.state is not expected.state:
        yield "state"
    for name in ("borderline", "held"):
        if getattr(found, name) != getattr(expected, name):
            yield name
    a, b = found.measurement, expected.measurement
    if isinstance(a, Measured) != isinstance(b, Measured):
        return  # the state says so
    if isinstance(a, Measured) and isinstance(b, Measured):
        for name in ("value", "similarity", "score"):
            if not _near(getattr(a, name), getattr(b, name)):
                yield name


def _line_problems(header: RunHeader, line: Document) -> Iterator[str]:
    """Yield where what stands in a line beside its verdict differs from the header."""
    plan = next(plan for plan in header.metrics if plan.id == line["path"])
    version = line["evaluator"].get("version")
    if line["evaluator"]["id"] != f"closecall.{plan.id}" or version != plan.evaluator_version:
        yield "evaluator is not the one in run.json"
    rule = line.get("verdictRule")
    if isinstance(rule, dict) and rule.get("threshold") != plan.cutoff:
        yield f"verdictRule.threshold should be {plan.cutoff!r}, is {rule.get('threshold')!r}"
    own = _own(line).get("score")
    for score in line.get("scores", ()):
        stated = score.get("normalized")
        if score["metric"] != plan.id:
            yield f"scores {score['metric']!r}"
        elif isinstance(own, int | float) and stated not in (None, round(own / 100, 6)):
            yield f"normalized should be {round(own / 100, 6)!r}, is {stated!r}"


def differing(stated: Mapping[str, Any], expected: Mapping[str, Any]) -> Iterator[str]:
    """Yield, as dotted names, the members that both have and that differ.

    One that only one of them has is passed over: another version may have written it.
    """
    for name, value in expected.items():
        if name not in stated:
            continue
        told = stated[name]
        if isinstance(value, Mapping) and isinstance(told, Mapping):
            yield from (f"{name}.{inner}" for inner in differing(told, value))
        elif told != value:
            yield name


def _entry_problems(place: object, summary: Document, again: Document) -> Iterator[str]:
    """Yield which entry a summary lacks, and where one says another thing of its figures."""
    stated = {lane["lane"]: _entries(lane) for lane in summary["lanes"]}
    for lane in again["lanes"]:
        there = stated.get(lane["lane"], {})
        for (metric, path), entry in sorted(_entries(lane).items()):
            told = there.get((metric, path))
            if told is None:
                yield f"{place}: lane {lane['lane']} lacks {metric} at {path}"
                continue
            for name in _WORDS:
                if told.get(name) != entry.get(name):
                    yield (
                        f"{place}: lane {lane['lane']}, {metric} at {path}: {name} should be "
                        f"{entry.get(name)!r}, is {told.get(name)!r}"
                    )


def _as_read(document: Document) -> Document:
    return parse(dump_line(document))


def _entries(lane: Mapping[str, Any]) -> dict[tuple[str, str], Any]:
    return {(entry["metric"], entry["path"]): entry for entry in lane["metrics"]}


def _own(document: Mapping[str, Any]) -> dict[str, Any]:
    ext = document.get("ext")
    own = ext.get(EXT) if isinstance(ext, dict) else None
    return own if isinstance(own, dict) else {}


def _near(told: Any, found: Any) -> bool:
    """Whether two JSON values are the same, numbers but for rounding."""
    if isinstance(told, bool) or isinstance(found, bool):
        return told is found
    if isinstance(told, int | float) and isinstance(found, int | float):
        return math.isclose(told, found, rel_tol=_SMALL, abs_tol=_SMALL)
    if isinstance(told, Mapping) and isinstance(found, Mapping):
        return told.keys() == found.keys() and all(_near(told[k], found[k]) for k in told)
    if isinstance(told, list | tuple) and isinstance(found, list | tuple):
        return len(told) == len(found) and all(map(_near, told, found))
    return bool(told == found)


__all__ = ["Recheck", "differing", "own_header", "verdict_problems"]
