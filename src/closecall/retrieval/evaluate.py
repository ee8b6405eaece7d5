"""``evaluate_retrieval``: search, measure, compare. The command line calls this."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import NamedTuple

from closecall.embedders.base import Embedder
from closecall.embedders.cached import CachedEmbedder
from closecall.errors import DataError, UsageError
from closecall.retrieval.bm25 import search_bm25
from closecall.retrieval.collection import RELEVANT_FROM, Collection, Query
from closecall.retrieval.contrasts import contrasts
from closecall.retrieval.demands import judge_demand
from closecall.retrieval.dense import Progress, search
from closecall.retrieval.estimates import Drawing
from closecall.retrieval.fusion import fused
from closecall.retrieval.measured import (
    Plan,
    measured_system,
    query_result,
    slice_results,
    system_result,
    unit_of,
)
from closecall.retrieval.measures import (
    Gains,
    check_gains,
    checked_name,
    cutoff_of,
    measure_names,
)
from closecall.retrieval.ranking import DEPTH, Ranking
from closecall.retrieval.results import RetrievalResult
from closecall.retrieval.run_file import read_run
from closecall.retrieval.slicing import check_fields
from closecall.retrieval.worst import worst_queries
from closecall.runs.asked import PathLike, chosen_embedder, open_run_cache

CUTOFFS = (1, 3, 5, 10)
WORST = 5
NO_EMBEDDER = "none"
"""In the place of an embedder: nothing is embedded, and the first run file is tested."""


class Evaluated(NamedTuple):
    """The result, and the rankings behind it; the first is the one that was tested."""

    result: RetrievalResult
    rankings: tuple[Ranking, ...]


def evaluate_retrieval(
    collection: Collection,
    embedder: Embedder | str | None = None,
    *,
    against: Sequence[Embedder | str] = (),
    runs: Sequence[Path] = (),
    baselines: bool = True,
    cutoffs: Sequence[int] = CUTOFFS,
    measure: str | None = None,
    relevant_from: int = RELEVANT_FROM,
    gains: Gains = "linear",
    at_least: Sequence[tuple[str, float]] = (),
    slices: Sequence[str] = (),
    worst: int = WORST,
    depth: int = DEPTH,
    title: bool = True,
    drawing: Drawing | None = None,
    window: str | None = None,
    threads: int | None = None,
    cache: bool | PathLike = True,
    progress: Progress | None = None,
    on_notice: Callable[[str], None] | None = None,
) -> Evaluated:
    """Search a collection and say how good what was found is, with intervals.

    Parameters
    ----------
    collection
        Documents, questions and grades; see ``open_collection``.
    embedder
        The one that is tested, by name or as an object; None: the bundled model. ``"none"``: the
        first of ``runs`` is tested and nothing is embedded.
    against, runs
        What it is compared with: other embedders, and TREC run files.
    baselines
        Whether BM25, and the fusion of it with the tested search, stand beside it.
    cutoffs
        The ranks to measure at.
    measure
        The one that comparisons, the worst questions and the verdict go by; None: nDCG at the
        highest rank.
    relevant_from
        The lowest grade that counts as relevant. nDCG takes lower grades above 0 as they are.
    gains
        ``linear``, or ``exponential`` for ``2**grade - 1``; of nDCG alone.
    at_least
        Demands on means of the tested search; see ``demands.judge_demand``.
    slices
        Fields of a question to look at value by value: ``group``, ``tag``, metadata.
    worst
        How many of the worst questions to show.
    depth
        How many documents of a question are ranked, at least as many as anything looks at.
    title
        Whether a document's title stands before its text.
    drawing
        Resamples, seed and level of the intervals and tests.
    window, threads, cache, on_notice
        As in ``evaluate``.
    progress
        Called with (texts embedded, texts in all) for each embedder.

    Returns
    -------
    Evaluated
        Memory grows with the corpus: its texts, and the vectors of one embedder at a time.

    Raises
    ------
    DataError
        No question has a relevant document, or a file cannot be read.
    UsageError
        An argument is out of range. Raised before anything is embedded.
    ConfigurationError
        An embedder cannot be used.
    """
    how = drawing or Drawing()
    names = list(measure_names(cutoffs))
    primary = f"ndcg@{max(cutoffs)}" if measure is None else checked_name(measure)
    names += [
        name for name in dict.fromkeys((primary, *(m for m, _ in at_least))) if name not in names
    ]
    asked, grades = _asked(collection, relevant_from)
    check_gains(gains, max(grade for graded in grades.values() for grade in graded.values()))
    check_fields(asked, slices)
    if isinstance(depth, bool) or not isinstance(depth, int) or depth < 1:
        raise UsageError(f"depth must be a whole number from 1 up, got {depth!r}")
    relevant = max(sum(g >= relevant_from for g in one.values()) for one in grades.values())
    depth = min(len(collection.documents), max(depth, relevant, *map(cutoff_of, names)))

    def dense(specs: Sequence[Embedder | str | None]) -> Iterator[Ranking]:
        for spec in specs:
            name, used = chosen_embedder(spec, window if _named(spec) else None, threads)
            with ExitStack() as stack:
                store = open_run_cache(used, cache, on_notice)
                if store is not None:
                    stack.enter_context(closing(store))
                yield search(
                    collection,
                    asked,
                    CachedEmbedder(used, store),
                    name=_short(name),
                    depth=depth,
                    title=title,
                    progress=progress,
                )

    order = tuple(query.id for query in asked)
    given = [read_run(path, collection, order) for path in runs]
    if embedder == NO_EMBEDDER:
        if not given:
            raise UsageError("without an embedder a run file is tested: name one with --run FILE")
        rankings = [given[0], *dense(against), *given[1:]]
    else:
        rankings = [*dense((embedder, *against)), *given]
    added: list[Ranking] = []
    if baselines:
        words = search_bm25(collection, asked, depth=depth, title=title)
        added.append(words)
        if rankings[0].kind == "dense":
            added.append(fused([rankings[0], words]))
    plan = Plan(
        names=tuple(names),
        relevant_from=relevant_from,
        gains=gains,
        grades=grades,
        groups={query.id: unit_of(query) for query in asked},
        drawing=how,
    )
    systems = [
        measured_system(plan, ranking, baseline=at >= len(rankings))
        for at, ranking in enumerate(_distinct([*rankings, *added]))
    ]
    tested = systems[0]
    first = system_result(plan, tested)
    result = RetrievalResult(
        name=collection.name,
        documents=len(collection.documents),
        queries_total=len(collection.queries),
        queries_asked=len(asked),
        groups=len(set(plan.groups.values())),
        graded=sum(len(graded) for graded in collection.grades.values()),
        qrels=collection.qrels,
        strange_queries=collection.strange_queries,
        strange_documents=collection.strange_documents,
        reading=collection.reading,
        cutoffs=tuple(sorted(cutoffs)),
        relevant_from=relevant_from,
        gains=gains,
        measure=primary,
        depth=depth,
        drawing=how,
        systems=(first, *(system_result(plan, one) for one in systems[1:])),
        contrasts=contrasts(
            tested.column(primary),
            [one.column(primary) for one in systems[1:]],
            plan.groups,
            primary,
            how,
        ),
        slices=tuple(slice_results(plan, tested, asked, slices)),
        worst=worst_queries(
            tested.ranking,
            {query.id: query for query in asked},
            {document.id: document for document in collection.documents},
            grades,
            tested.column(primary).values,
            hits={query: one.hits for query, one in tested.found.items()},
            relevant_from=relevant_from,
            most=worst,
        ),
        demands=tuple(judge_demand(name, limit, first.measures) for name, limit in at_least),
        queries=tuple(query_result(plan, query, systems) for query in asked),
    )
    return Evaluated(result, tuple(one.ranking for one in systems))


def _asked(
    collection: Collection, relevant_from: int
) -> tuple[list[Query], dict[str, dict[str, int]]]:
    if isinstance(relevant_from, bool) or not isinstance(relevant_from, int) or relevant_from < 1:
        raise UsageError(f"relevant_from is a grade from 1 up, got {relevant_from!r}")
    found = list(collection.asked(relevant_from))
    if not found:
        raise DataError(
            f"{collection.name}: none of {len(collection.queries):,} questions has a document of "
            f"grade {relevant_from} or more in {collection.qrels}"
            + (
                f"; {collection.strange_queries:,} graded questions are not among the questions"
                if collection.strange_queries
                else ""
            )
        )
    return [query for query, _ in found], {query.id: graded for query, graded in found}


def _named(spec: Embedder | str | None) -> bool:
    return spec is None or isinstance(spec, str)


def _short(name: str) -> str:
    """Return a name with the last part of its folder alone."""
    kind, sep, place = name.partition(":")
    return f"{kind}:{Path(place).name}" if sep and Path(place).is_absolute() else name


def _distinct(rankings: Sequence[Ranking]) -> list[Ranking]:
    """Give rankings of one name numbers, so that a table can tell them apart."""
    seen: dict[str, int] = {}
    found = []
    for ranking in rankings:
        seen[ranking.name] = count = seen.get(ranking.name, 0) + 1
        name = ranking.name if count == 1 else f"{ranking.name} ({count})"
        found.append(dataclasses.replace(ranking, name=name))
    return found
