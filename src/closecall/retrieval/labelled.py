"""Labelled cases out of a search, to calibrate when to say that nothing relevant is there.

What a search finds first is the nearest there is, relevant or not. A cutoff on its similarity
turns "is this an answer at all?" into a decision, and labels say how often that is wrong. Each
question gives

- what it found first (tag ``found``): accept where that is relevant, else reject;
- what it would find first were all its relevant documents gone (tag ``removed``): reject. Where
  the first document found is not relevant, that is the same one, and stands there once.

A document that nobody graded counts as not relevant, as in every measure; where judgements are
sparse some of the rejects are right answers, and the cutoff comes out stricter than need be.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator

from closecall.atomic import whole_file
from closecall.records import Case, Label
from closecall.retrieval.collection import RELEVANT_FROM, Collection
from closecall.retrieval.ranking import Ranking

FOUND = "found"
REMOVED = "removed"
METRIC = "embed_query_context"
"""The metric whose value is the similarity a search goes by."""


def labelled_cases(
    ranking: Ranking,
    collection: Collection,
    *,
    relevant_from: int = RELEVANT_FROM,
    title: bool = True,
) -> Iterator[Case]:
    """Yield the labelled cases of a ranking, question by question.

    ``context`` is the text that was searched, so ``embed_query_context`` measures the similarity
    that ranked it. ``group`` is the question's group, else its id.
    """
    documents = {document.id: document for document in collection.documents}
    queries = {query.id: query for query in collection.queries}
    for row, own in enumerate(ranking.queries):
        query, graded = queries[own], collection.grades.get(own, {})
        found = [document for document, _ in ranking.found(row) if document in documents]
        if not found:
            continue
        wrong = next((d for d in found if graded.get(d, 0) < relevant_from), None)
        kinds = {found[0]: [FOUND]}
        if wrong is not None:
            kinds.setdefault(wrong, []).append(REMOVED)
        for document, tags in kinds.items():
            grade = graded.get(document)
            good = grade is not None and grade >= relevant_from
            yield Case(
                id=f"{own}:{tags[0]}",
                input=query.text,
                context=(documents[document].body(title=title),),
                label=Label.ACCEPT if good else Label.REJECT,
                group=query.group or own,
                tags=tuple(tags),
                metadata={
                    "annotator": collection.qrels,
                    "retrieval": {"query": own, "document": document, "grade": grade},
                },
            )


def write_cases(cases: Iterable[Case], path: str | os.PathLike[str]) -> tuple[int, int]:
    """Write cases as JSON Lines, whole or not at all; return how many accepts and rejects.

    Raises
    ------
    UsageError
        It cannot be written there.
    """
    accepts = rejects = 0
    with whole_file(path) as file:
        for case in cases:
            accepts += case.label is Label.ACCEPT
            rejects += case.label is Label.REJECT
            row = {
                "id": case.id,
                "input": case.input,
                "context": list(case.context),
                "label": case.label,
                "group": case.group,
                "tags": list(case.tags),
                **case.metadata,
            }
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    return accepts, rejects
