"""The questions a search does worst on, with what it found and where the right answer stood."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from closecall.retrieval.collection import Document, Query
from closecall.retrieval.ranking import Ranking
from closecall.retrieval.results import FoundDocument, RelevantDocument, WorstQuery

SHOWN = 3
"""Documents of each kind that stand beside a question."""
TEXT = 300
"""Characters kept of a document's text."""


def worst_queries(
    ranking: Ranking,
    queries: Mapping[str, Query],
    documents: Mapping[str, Document],
    grades: Mapping[str, Mapping[str, int]],
    values: Mapping[str, float],
    *,
    hits: Mapping[str, Sequence[int]],
    relevant_from: int,
    most: int,
) -> tuple[WorstQuery, ...]:
    """Return the questions with the lowest values, the lowest first, at most ``most``.

    Of equal values the one whose first relevant document stands lower comes first, then the one
    asked earlier. ``hits`` are the ranks of the relevant documents that were found.
    """
    rows = {query: row for row, query in enumerate(ranking.queries)}

    def badness(query: str) -> tuple[float, int, int]:
        first = hits[query][0] if hits[query] else ranking.depth + 1
        return values[query], -first, rows[query]

    ordered = sorted(values, key=badness)
    return tuple(
        _worst(
            queries[query],
            ranking.found(rows[query]),
            documents,
            grades[query],
            value=values[query],
            relevant_from=relevant_from,
        )
        for query in ordered[:most]
    )


def _worst(
    query: Query,
    found: Sequence[tuple[str, float]],
    documents: Mapping[str, Document],
    graded: Mapping[str, int],
    *,
    value: float,
    relevant_from: int,
) -> WorstQuery:
    ranks = {document: rank for rank, (document, _) in enumerate(found, start=1)}
    right = sorted(
        (document for document, grade in graded.items() if grade >= relevant_from),
        key=lambda document: (ranks.get(document, len(found) + 1), document),
    )
    return WorstQuery(
        id=query.id,
        text=query.text,
        group=query.group,
        value=value,
        found=tuple(
            FoundDocument(
                id=document,
                rank=rank,
                score=score,
                grade=graded.get(document),
                text=_text(documents, document),
            )
            for rank, (document, score) in enumerate(found[:SHOWN], start=1)
        ),
        relevant=tuple(
            RelevantDocument(
                id=document,
                grade=graded[document],
                rank=ranks.get(document),
                in_corpus=document in documents,
                text=_text(documents, document),
            )
            for document in right[:SHOWN]
        ),
        relevant_count=len(right),
    )


def _text(documents: Mapping[str, Document], document: str) -> str:
    return documents[document].body()[:TEXT] if document in documents else ""
