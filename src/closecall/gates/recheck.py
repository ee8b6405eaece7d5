"""Whether what gates.ndjson says of a run's gates is what its cases say.

A gate that needs what a folder does not keep (metadata, or texts where they were left out) is not
decided again; nor are the gates of a run that is still open.
"""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Iterable, Iterator, Sequence

from closecall.errors import UsageError
from closecall.gates.evaluate import evaluate_gates, gates_exit
from closecall.runs.files import GATES
from closecall.runs.gate_results import GateResult
from closecall.runs.gate_rule import SLICE
from closecall.runs.recheck import own_header
from closecall.runs.record import Run
from closecall.runs.stored import load_run

_EXACT = ("state", "measured", "asked", "count", "metric")
_NEAR = ("value", "limit", "margin", "lowest", "highest")
_SMALL = 1e-9
"""Relative; another version of numpy or scipy may round otherwise."""


def gate_result_problems(folder: str | os.PathLike[str]) -> Iterator[str]:
    """Yield where gates.ndjson of a closed run says otherwise than its cases.

    Raises
    ------
    RunFolderError
        The folder cannot be understood as a run of closecall.
    """
    from closecall.runs.reader import open_run

    reader = open_run(folder)
    producer = reader.header.get("producer")
    named = isinstance(producer, dict) and producer.get("name") == "closecall"
    if reader.running or not (named or own_header(reader)):
        return
    run = load_run(folder, counts=False)
    if run.gates_code is None and not run.header.asked.get("gates"):
        return
    run = load_run(folder)  # with its counts, which are part of the exit code
    place = f"{reader.path / GATES}"
    yield from _asked_problems(run, place)
    if run.gates_code is None:
        return
    for number, (told, found) in enumerate(_pairs(run), 1):
        if found is None:
            continue
        for name in differing(told, found, intervals=run.header.content):
            wanted, stated = getattr(found, name), getattr(told, name)
            yield f"{place}:{number}: {name} should be {wanted}, is {stated}: {told.rule}"
    code = gates_exit(run.gates, dataclasses.replace(run, gates=(), gates_code=None))
    if code != run.gates_code:
        yield (
            f"{place}:{len(run.gates) + 1}: exitCode should be {code}, is {run.gates_code}, by "
            "the gates above it and the cases"
        )


def _asked_problems(run: Run, place: str) -> Iterator[str]:
    """Yield where other gates were decided than the header says were asked."""
    asked = run.header.asked.get("gates")
    if not isinstance(asked, list) or run.undecided:
        return
    wanted = [one.get("rule") if isinstance(one, dict) else None for one in asked]
    decided = [one.gate.rule for one in run.gates]
    if wanted != decided:
        yield f"{place}: decides {decided}, but run.json asks for {wanted}"


def _pairs(run: Run) -> Iterator[tuple[GateResult, GateResult | None]]:
    """Yield each decision with what the cases say now, None where they cannot say."""
    sure = [one for one in run.gates if _can_be_asked(one, run)]
    try:
        again = iter(evaluate_gates(run, [one.gate for one in sure]))
    except UsageError:  # a gate that does not fit the run
        again = iter(())
    for one in run.gates:
        yield one, next(again, None) if one in sure else None


def _can_be_asked(one: GateResult, run: Run) -> bool:
    fields = {each.field for each in one.gate.where}
    if any(field.startswith(SLICE) for field in fields):
        return False
    if run.header.content:
        return True
    # Without texts the groups of cases that have no label are not known, nor so their intervals.
    return fields <= {"label"} and not one.gate.surely and one.gate.kind != "upper"


def differing(told: GateResult, found: GateResult, *, intervals: bool = True) -> Iterable[str]:
    """Yield the members in which a decision differs from the one made anew."""
    for name in _EXACT:
        if getattr(told, name) != getattr(found, name):
            yield name
    for name in _NEAR:
        if not _same(getattr(told, name), getattr(found, name)):
            yield name
    ends = [_ends(told), _ends(found)]
    if intervals and not all(_same(a, b) for a, b in zip(*ends, strict=True)):
        yield "interval"
    if dict(told.absent) != dict(found.absent):
        yield "absent"


def _ends(one: GateResult) -> Sequence[float | None]:
    return (None, None) if one.interval is None else (one.interval.low, one.interval.high)


def _same(told: float | None, found: float | None) -> bool:
    if found is not None and not math.isfinite(found):
        found = None  # as it is filed
    if told is None or found is None:
        return told is found
    return math.isclose(told, found, rel_tol=_SMALL, abs_tol=_SMALL)
