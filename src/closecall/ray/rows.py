"""A data set of Ray's in, the same with results beside each row out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from closecall.embedders.cached import CachedEmbedder
from closecall.errors import UsageError
from closecall.metrics.base import LoadingMetric
from closecall.ray.pool import Concurrency, pool
from closecall.ray.question import Identity, Question
from closecall.ray.reading import Bad, TableReader
from closecall.records import Case, Measured, State
from closecall.runs.cascade import run_cascade
from closecall.runs.results import CaseResult
from closecall.runs.runner import run_cases

ROWS = 4096
"""Rows that are given to a worker at once, where no other number is asked for."""

CASE = "case"
"""Stands before the names of the columns for the case as a whole: ``case.state``."""


class RowWorker:
    """Measures and decides the rows of a table; made once in each actor.

    Nothing is loaded before the first table, since an actor that fails to start is started anew
    without end.
    """

    def __init__(self, question: Question, driver: Identity, mapping: dict[str, str]) -> None:
        self._question, self._driver, self._mapping = question, driver, mapping
        self._ready = False
        self._readers: dict[tuple[str, ...], TableReader] = {}

    def __call__(self, table: Any) -> Any:
        """Return the table with the columns of the results; every row of it is there."""
        import pyarrow as pa

        if not self._ready:
            self._load()
        names = tuple(table.column_names)
        reader = self._readers.get(names)
        if reader is None:
            _require_free(names, [plan.id for plan in self._plans])
            reader = TableReader(names, self._mapping, self._chosen.needed)
            self._readers[names] = reader
        cases = reader.read(table.to_pylist())
        measured = iter(self._measured([case for case in cases if not isinstance(case, Bad)]))
        columns = _Columns([plan.id for plan in self._plans])
        for case in cases:
            if isinstance(case, Bad):
                columns.add_bad(case.reason)
            else:
                columns.add(next(measured))
        for name, kind, values in columns.all():
            made = pa.array(values, type=pa.float64() if kind is float else pa.string())
            table = table.append_column(name, made)
        return table

    def _load(self) -> None:
        chosen = self._question.choose()
        decided = self._question.decided(chosen)
        self._driver.require(Identity.of(chosen, decided, ""))
        self._embedder = CachedEmbedder(chosen.embedder)
        self._embedder.prepare()
        for metric in chosen.metrics:
            if isinstance(metric, LoadingMetric):
                metric.load()
        self._chosen, self._plans, self._applied = chosen, decided.plans, decided.applied
        self._ready = True

    def _measured(self, cases: list[Case]) -> Iterator[CaseResult]:
        run = run_cascade if self._question.cascade else run_cases
        chosen = self._chosen
        for batch in run(cases, chosen.metrics, self._embedder, self._applied, chosen.guards):
            yield from batch


class _Columns:
    """The columns of the results, filled row by row."""

    def __init__(self, metrics: Sequence[str]) -> None:
        self._metrics = metrics
        self._held: dict[str, tuple[type, list[Any]]] = {
            name: (kind, []) for name, kind in columns_of(metrics)
        }

    def add(self, row: CaseResult) -> None:
        """Add a case that was measured, or says why not."""
        self._put(CASE, state=row.state.value, score=row.score)
        for result in row.results:
            found = result.measurement
            there = isinstance(found, Measured)
            self._put(
                result.metric,
                value=found.value if isinstance(found, Measured) else None,
                score=found.score if isinstance(found, Measured) else None,
                state=result.state.value,
                reason=result.reason if there else getattr(found, "reason", result.reason),
            )

    def add_bad(self, reason: str) -> None:
        """Add a row that is no case."""
        state = State.ERROR.value
        self._put(CASE, state=state, score=None)
        for name in self._metrics:
            self._put(name, value=None, score=None, state=state, reason=reason)

    def _put(self, name: str, **values: object) -> None:
        for column, value in values.items():
            self._held[f"{name}.{column}"][1].append(value)

    def all(self) -> Iterator[tuple[str, type, list[Any]]]:
        """Yield each column's name, the type of its values, and these."""
        for name, (kind, values) in self._held.items():
            yield name, kind, values


def columns_of(metrics: Sequence[str]) -> list[tuple[str, type]]:
    """Return the names of the columns that results have, and the type of what stands there."""
    return [
        (f"{CASE}.state", str),
        (f"{CASE}.score", float),
        *(
            (f"{metric}.{column}", kind)
            for metric in metrics
            for column, kind in (
                ("value", float),
                ("score", float),
                ("state", str),
                ("reason", str),
            )
        ),
    ]


def _require_free(names: Sequence[str], metrics: Sequence[str]) -> None:
    taken = [name for name, _ in columns_of(metrics) if name in names]
    if taken:
        raise UsageError(
            f"the data set has columns that results would go to: {', '.join(taken)}. Rename or "
            "drop them first: data.drop_columns([...])"
        )


def with_results(
    data: Any,
    question: Question,
    driver: Identity,
    *,
    mapping: dict[str, str],
    concurrency: Concurrency,
    num_cpus: float,
    num_gpus: float,
    rows: int,
) -> Any:
    """Return the data set with results beside its rows; nothing is computed yet.

    A worker that dies is replaced and its rows are done again, as Ray does for any data set.
    """
    return data.map_batches(
        RowWorker,
        fn_constructor_args=(question, driver, mapping),
        batch_size=rows,
        batch_format="pyarrow",
        compute=pool(concurrency),
        num_cpus=num_cpus,
        num_gpus=num_gpus,
    )
