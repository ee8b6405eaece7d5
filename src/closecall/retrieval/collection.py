"""What a search is tested on: documents, questions, and who said which document answers which."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from closecall.records import JSON

RELEVANT_FROM = 1
"""The lowest grade that counts as relevant, as in trec_eval."""


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """One document of the corpus; ``title`` is empty where it has none."""

    id: str
    text: str
    title: str = ""

    def body(self, *, title: bool = True) -> str:
        """Return what is searched: title and text with a blank between them, as BEIR joins them.

        >>> Document(id="d1", title="Tea", text="Steep it for three minutes.").body()
        'Tea Steep it for three minutes.'
        """
        return f"{self.title} {self.text}".strip() if title else self.text.strip()


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """One question. ``group`` is what makes questions alike (a topic, an article), None: nothing.

    ``metadata`` keeps what else the file says of it, for slices; ``tags`` are among that.
    """

    id: str
    text: str
    group: str | None = None
    tags: tuple[str, ...] = ()
    metadata: dict[str, JSON] = {}


Grades = dict[str, dict[str, int]]
"""Question id to document id to grade: above 0 relevant, the higher the more."""


class Collection(msgspec.Struct, frozen=True, kw_only=True):
    """Documents in the order of their ids, questions as they came, and the grades.

    Parameters
    ----------
    name
        What a report calls it.
    documents
        By id, in code point order: so that equal similarities go by id.
    queries
        All questions, also those nobody graded a document for.
    grades
        Only of questions that are there. A graded document that is not in the corpus stays: it
        counts as relevant and cannot be found, as in trec_eval.
    reading
        Sentences on how the files were read.
    strange_queries
        How many questions of the relevance file are not among ``queries``; they are left out.
    strange_documents
        How many graded documents are not in the corpus.
    qrels
        The name of the file of grades.
    """

    name: str
    documents: tuple[Document, ...]
    queries: tuple[Query, ...]
    grades: Grades
    qrels: str
    reading: tuple[str, ...] = ()
    strange_queries: int = 0
    strange_documents: int = 0

    def asked(self, relevant_from: int = RELEVANT_FROM) -> Iterator[tuple[Query, dict[str, int]]]:
        """Yield the questions that some document is relevant to, with their grades.

        The others cannot be measured: no ranking of theirs is better than another.
        """
        for query in self.queries:
            graded = self.grades.get(query.id, {})
            if any(grade >= relevant_from for grade in graded.values()):
                yield query, graded


def assembled(
    name: str,
    documents: Mapping[str, Document],
    queries: Mapping[str, Query],
    grades: Mapping[str, Mapping[str, int]],
    *,
    qrels: str,
    reading: tuple[str, ...] = (),
) -> Collection:
    """Return the collection of what was read, and count what does not fit together."""
    known = {query: dict(graded) for query, graded in grades.items() if query in queries}
    missing = {
        document
        for graded in known.values()
        for document, grade in graded.items()
        if grade > 0 and document not in documents
    }
    return Collection(
        name=name,
        documents=tuple(documents[at] for at in sorted(documents)),
        queries=tuple(queries.values()),
        grades=known,
        qrels=qrels,
        reading=reading,
        strange_queries=len(grades) - len(known),
        strange_documents=len(missing),
    )
