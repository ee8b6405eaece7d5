"""Rankings measured question by question, and what that comes to: means, slices, rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from closecall.retrieval.collection import Query
from closecall.retrieval.contrasts import Column
from closecall.retrieval.estimates import Drawing, Estimate, estimates
from closecall.retrieval.measures import Gains, Judged, judged, values
from closecall.retrieval.ranking import Ranking
from closecall.retrieval.results import QueryResult, Slice, SystemResult
from closecall.retrieval.slicing import slice_values


class Plan(NamedTuple):
    """What every search is measured by: the same measures, grades, groups and draws."""

    names: tuple[str, ...]
    relevant_from: int
    gains: Gains
    grades: Mapping[str, Mapping[str, int]]
    groups: Mapping[str, str]
    drawing: Drawing


class System(NamedTuple):
    """A ranking with its measures; a question it has no ranking of is in neither mapping."""

    ranking: Ranking
    baseline: bool
    values: Mapping[str, Mapping[str, float]]
    found: Mapping[str, Judged]

    def column(self, name: str) -> Column:
        """Return one measure, question by question."""
        return Column(
            self.ranking.name,
            self.baseline,
            {query: measured[name] for query, measured in self.values.items()},
        )


def unit_of(query: Query) -> str:
    """Return what is drawn with a question: its group, else itself."""
    return f"q:{query.id}" if query.group is None else f"g:{query.group}"


def measured_system(plan: Plan, ranking: Ranking, *, baseline: bool) -> System:
    """Measure a ranking, question by question."""
    outcomes = judged(ranking, plan.grades, plan.relevant_from)
    found = {
        query: one for query, one in zip(ranking.queries, outcomes, strict=True) if one is not None
    }
    measured = {query: values(one, plan.names, plan.gains) for query, one in found.items()}
    return System(ranking, baseline, measured, found)


def system_result(plan: Plan, system: System) -> SystemResult:
    """Return the means of a search, with what made it."""
    reasons: dict[str, int] = {}
    for why in system.ranking.absent.values():
        reasons[why] = reasons.get(why, 0) + 1
    return SystemResult(
        name=system.ranking.name,
        kind=system.ranking.kind,
        baseline=system.baseline,
        n=len(system.values),
        not_measured=dict(sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0]))),
        incomplete=system.ranking.incomplete,
        measures=_means(plan, system, list(system.values)),
        facts=system.ranking.facts,
        notes=system.ranking.notes,
    )


def slice_results(
    plan: Plan, system: System, asked: Sequence[Query], fields: Sequence[str]
) -> Iterator[Slice]:
    """Yield the means of a search for each value of each field, values in order."""
    for field in fields:
        members: dict[str, list[str]] = {}
        for query in asked:
            for value in slice_values(query, field):
                members.setdefault(value, []).append(query.id)
        for value in sorted(members):
            there = [query for query in members[value] if query in system.values]
            yield Slice(
                field=field,
                value=value,
                n=len(there),
                not_measured=len(members[value]) - len(there),
                measures=_means(plan, system, there),
            )


def query_result(plan: Plan, query: Query, systems: Sequence[System]) -> QueryResult:
    """Return one question with what every search made of it."""
    there = [one for one in systems if query.id in one.values]
    graded = plan.grades[query.id]
    return QueryResult(
        id=query.id,
        group=query.group,
        relevant=sum(grade >= plan.relevant_from for grade in graded.values()),
        ranks={one.ranking.name: one.found[query.id].hits for one in there},
        values={one.ranking.name: dict(one.values[query.id]) for one in there},
    )


def _means(plan: Plan, system: System, queries: Sequence[str]) -> dict[str, Estimate]:
    if not queries:
        return {}
    columns = {name: [system.values[query][name] for query in queries] for name in plan.names}
    groups = [plan.groups[query] for query in queries]
    if len(set(groups)) == 1:
        # About this one group alone: there its questions are what is drawn.
        groups = list(queries)
    return estimates(columns, groups, plan.drawing)
