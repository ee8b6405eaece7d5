"""A case file as tests: ``@pytest.mark.closecall_cases("cases.jsonl", metrics=[...])``.

The file is read when tests are collected. Cases are measured together, at the first of them that
is run: all that were selected or, in a worker of pytest-xdist, the next few, since other workers
have the rest.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from _closecall_pytest import MARK
from closecall.asserting.bench import Bench
from closecall.asserting.deciding import as_error, asserting, keep, named, settle
from closecall.asserting.outcomes import NotAskedError, NotMeasuredError
from closecall.asserting.question import Question, question
from closecall.errors import ClosecallError, UsageError
from closecall.pytest_plugin.agreeing import agreed_cases
from closecall.pytest_plugin.state import HIDDEN, State, item_params
from closecall.records import Case
from closecall.runs.results import CaseResult

MOST_ID = 100
IN_WORKER = 32
"""Cases that a worker of pytest-xdist measures together."""

_OPTIONS = (
    "metrics", "cutoff", "cutoffs", "calibration", "embedder", "guards", "judge", "mapping",
    "ids", "check",
)  # fmt: skip
_FIELDS = ("id", "input", "response", "group")
_PROBLEM = pytest.StashKey[Exception]()


class Table:
    """The cases of one mark, and what was measured of them in this process."""

    def __init__(self, cases: Sequence[Case], asked: Question, *, checks: bool) -> None:
        self.cases = cases
        self.asked = asked
        self.checks = checks
        self.order: list[int] | None = None
        self._rows: dict[int, CaseResult] = {}

    def row(self, at: int, state: State, items: Sequence[pytest.Item]) -> tuple[Bench, CaseResult]:
        """Return a case measured, and what measured it."""
        with asserting(state.session):
            bench = state.session.bench(self.asked)
            if at not in self._rows:
                wanted = self._next(at, state, bench, items)
                found = state.session.measure(bench, [self.cases[one] for one in wanted])
                self._rows.update(zip(wanted, found, strict=True))
        return bench, self._rows[at]

    def _next(
        self, at: int, state: State, bench: Bench, items: Sequence[pytest.Item]
    ) -> list[int]:
        if self.order is None:
            chosen = (_chosen(item) for item in items)
            found = [one.at for one in chosen if one is not None and one.table is self]
            self.order = list(dict.fromkeys(found)) or [at]
        left = [one for one in self.order if one not in self._rows]
        if at not in left:
            left = [at, *left]
        if not state.is_worker:
            return left
        start = left.index(at)
        # Another worker may ask the same of a model that is paid for.
        most = 1 if any(plan.judges for plan in bench.plans) else IN_WORKER
        return left[start : start + most]


class Chosen(NamedTuple):
    """One case of a table: the hidden parameter of a test."""

    table: Table
    at: int


def generate(metafunc: pytest.Metafunc, state: State) -> None:
    """Make one test of each case.

    Raises
    ------
    pytest.Collector.CollectError
        The mark or the file is not as it should be; the message has file, line and field.
    """
    try:
        path, given = _arguments(metafunc.definition)
        table = _table(path, given, state, metafunc.definition.path)
        ids = _ids(table.cases, given.get("ids"))
    except ClosecallError as error:
        raise pytest.Collector.CollectError(
            f"{metafunc.definition.nodeid}: {MARK}: {error}"
        ) from None
    state.activate()
    own = inspect.signature(metafunc.function).parameters
    names = [HIDDEN, *(name for name in ("case", "result") if name in own)]
    values = [[Chosen(table, at), case, None][: len(names)] for at, case in enumerate(table.cases)]
    if names[1:] == ["result"]:
        values = [[first, None] for first, *_ in values]
    metafunc.fixturenames.append(HIDDEN)
    metafunc.parametrize(names, values, ids=ids)


def set_up(item: pytest.Item, state: State) -> None:
    """Measure the case of a test; what has no number ends the test here, as an error."""
    chosen = _chosen(item)
    if chosen is None:
        return
    looked_at = "result" in item.callspec.params  # type: ignore[attr-defined]
    try:
        bench, row = chosen.table.row(chosen.at, state, item.session.items)
        if chosen.table.checks and not looked_at:
            _require_verdict(bench)
    except ClosecallError as error:
        state.raised = error
        raise
    funcargs = item.funcargs  # type: ignore[attr-defined]
    if looked_at and "result" in funcargs:
        funcargs["result"] = row
    plans = [named(plan) for plan in bench.plans]
    keep(state.session, bench, row, list(zip(plans, row.results, strict=True)))
    if not chosen.table.checks:
        return
    try:
        settle(state.session, bench, row)
    except NotAskedError as error:
        pytest.skip(str(error))
    except NotMeasuredError as error:
        state.raised = error
        raise
    except Exception as error:  # noqa: BLE001 - raised again where the test itself runs
        item.stash[_PROBLEM] = error


def _require_verdict(bench: Bench) -> None:
    """Refuse to pass a test that nothing decides."""
    if all(plan.cutoff is None for plan in bench.plans):
        raise as_error(
            UsageError(
                f"{', '.join(plan.id for plan in bench.plans)}: no cutoff, so the test asserts "
                "nothing: give the mark a cutoff or a calibration, let the test take result and "
                "look at it, or say check=False"
            )
        )


def decide(item: pytest.Item, state: State) -> None:
    """Raise what the case of a test comes to, unless it passed."""
    problem = item.stash.get(_PROBLEM, None)
    if problem is not None:
        state.raised = problem
        raise problem


def _chosen(item: pytest.Item) -> Chosen | None:
    params = item_params(item)
    found = dict(params).get(HIDDEN)
    return found if isinstance(found, Chosen) else None


def _arguments(definition: Any) -> tuple[str, dict[str, Any]]:
    marks = list(definition.iter_markers_with_node(MARK))
    nearest = [mark for node, mark in marks if node is marks[0][0]]
    if len(nearest) > 1:
        raise UsageError("a test has one such mark; write a second test")
    (mark,) = nearest
    unknown = [name for name in mark.kwargs if name not in _OPTIONS]
    if unknown:
        raise UsageError(f"{unknown[0]!r} is none of its options: {', '.join(_OPTIONS)}")
    if len(mark.args) != 1 or not isinstance(mark.args[0], str | os.PathLike):
        raise UsageError(f'name one case file: @pytest.mark.{MARK}("cases.jsonl")')
    return os.fspath(mark.args[0]), dict(mark.kwargs)


def _table(path: str, given: Mapping[str, Any], state: State, beside: Path) -> Table:
    """Return the table of a mark, the same for marks that ask the same."""
    calibration = given.get("calibration")
    if isinstance(calibration, str | os.PathLike):
        calibration = _found(calibration, beside, state)
    elif isinstance(calibration, list | tuple):
        calibration = [
            _found(one, beside, state) if isinstance(one, str | os.PathLike) else one
            for one in calibration
        ]
    asked = question(
        metrics=given.get("metrics"),
        cutoff=given.get("cutoff"),
        cutoffs=given.get("cutoffs"),
        calibration=calibration,
        embedder=given.get("embedder"),
        guards=given.get("guards"),
        judge=given.get("judge"),
    )
    checks = given.get("check", True)
    if not isinstance(checks, bool):
        raise UsageError(f"check must be True or False, got {checks!r:.60}")
    mapping = _mapping(given.get("mapping"))
    place = beside.parent / path
    key = (str(place), asked.key, tuple(sorted(mapping.items())), checks)
    if key not in state.tables:
        needed = {field for one in state.session.metrics(asked) for field in one.spec.needs}
        cases = agreed_cases(place, mapping, frozenset(needed), state.shared)
        state.tables[key] = Table(cases, asked, checks=checks)
    return state.tables[key]


def _mapping(given: object) -> dict[str, str]:
    if given is None:
        return {}
    if not isinstance(given, Mapping) or not all(
        isinstance(one, str) for pair in given.items() for one in pair
    ):
        raise UsageError('mapping must be such as {"response": "answer"}, a column for a field')
    return dict(given)


def _found(path: str | os.PathLike[str], beside: Path, state: State) -> Path:
    """Return a file beside the test, or else under the root."""
    near = beside.parent / path
    return near if near.exists() else state.settings.root / path


def _ids(cases: Sequence[Case], wanted: object) -> list[str]:
    """Return a name for each case, all different; pytest escapes what is not printable."""
    make = _maker(wanted)
    names: list[str] = []
    used: set[str] = set()
    for number, case in enumerate(cases, start=1):
        name = " ".join(str(make(case) or "").split()) or f"case {number}"
        if len(name) > MOST_ID:
            name = f"{name[:MOST_ID]}~{number}"
        if name in used:
            name = f"{name}~{number}"
        used.add(name)
        # Half a character is no UTF-8, in which names travel.
        names.append(name.encode("utf-8", "backslashreplace").decode())
    return names


def _maker(wanted: object) -> Callable[[Case], object]:
    if wanted is None:
        return lambda case: case.id
    if callable(wanted):
        return wanted
    if isinstance(wanted, str) and wanted in _FIELDS:
        return lambda case: getattr(case, wanted)
    raise UsageError(
        f"ids must be one of {', '.join(_FIELDS)}, or a function from a case to a name"
    )
