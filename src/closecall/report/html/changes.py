"""What is not the same in one run as in the run before it, axis by axis."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from closecall.report.words import plural
from closecall.runs.comparing.axes import header_axes
from closecall.runs.comparing.compare import subject_words
from closecall.runs.header import RunHeader
from closecall.runs.record import Run
from closecall.runs.summary import CASCADE

_SHORT_DIGEST = 12

_WHOLE_RUN = frozenset({"embedder", "cascade", "runs"})
_INSTRUMENT = frozenset({"judge", "version", "options"})
_VERDICT = frozenset({"cutoff", "calibration", "guards"})


class Change(NamedTuple):
    """One axis that differs: what it was and what it is; ``metric`` is empty for the run."""

    axis: str
    metric: str
    before: str
    after: str


def changes(before: Run, after: Run) -> list[Change]:
    """Return what differs: what measured, then what was measured, then what is asked of it."""
    a, b = before.header, after.header
    found = [Change(one.axis, one.metric, one.a, one.b) for one in header_axes(a, b, ())]
    found += _data(a, b)
    found += _gates(before, after)
    if a.producer_version != b.producer_version:
        found.append(Change("closecall", "", a.producer_version, b.producer_version))
    return found


def values_apart(found: list[Change], metric: str) -> bool:
    """Whether the values of a metric mean something else than in the run before."""
    return _apart(found, metric, _INSTRUMENT)


def verdicts_apart(found: list[Change], metric: str) -> bool:
    """Whether the verdicts of a metric were made by another rule than in the run before."""
    return _apart(found, metric, _INSTRUMENT | _VERDICT)


def _apart(found: list[Change], metric: str, axes: frozenset[str]) -> bool:
    # All rungs make the verdicts of a cascade.
    return any(
        one.axis in _WHOLE_RUN or (one.axis in axes and metric in {one.metric, CASCADE})
        for one in found
    )


def _data(a: RunHeader, b: RunHeader) -> Iterator[Change]:
    if a.dataset.digest != b.dataset.digest:
        yield Change("data", "", _dataset(a), _dataset(b))
    ours, theirs = subject_words(a), subject_words(b)
    if ours != theirs:
        yield Change("subject", "", ours or "not said", theirs or "not said")


def _dataset(header: RunHeader) -> str:
    data = header.dataset
    digest = data.digest.removeprefix("sha256:")[:_SHORT_DIGEST]
    return f"{plural(data.rows, 'case')} of {data.path or 'Python'} ({digest})"


def _gates(before: Run, after: Run) -> Iterator[Change]:
    ours, theirs = ([one.rule for one in run.gates] for run in (before, after))
    if ours != theirs:
        yield Change("gates", "", ", ".join(ours) or "none", ", ".join(theirs) or "none")
