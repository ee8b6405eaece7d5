"""What a retrieval evaluation says: frozen records, all of them JSON as they stand."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from closecall.calibration.records import Interval
from closecall.records import JSON
from closecall.retrieval.estimates import Drawing, Estimate

Verdict: TypeAlias = Literal["better", "worse", "cannot tell"]
Outcome: TypeAlias = Literal["met", "missed", "cannot tell"]

EXIT_FAILED = 1
EXIT_INCOMPLETE = 11


class SystemResult(msgspec.Struct, frozen=True, kw_only=True):
    """One search: what made it, and its measures over ``n`` questions.

    ``not_measured`` counts the questions it has no ranking of, by reason; they are in no mean.
    ``incomplete``: documents are missing from it for want of a vector.
    """

    name: str
    kind: str
    baseline: bool
    n: int
    not_measured: dict[str, int]
    incomplete: bool
    measures: dict[str, Estimate]
    facts: dict[str, JSON]
    notes: tuple[str, ...]


class Contrast(msgspec.Struct, frozen=True, kw_only=True):
    """Two searches on the ``n`` questions that both have a ranking of.

    ``difference`` is the tested one less the other: above 0 favours the tested one. ``p`` is
    two-sided; ``adjusted_p`` corrects it for the number of contrasts (Holm 1979), and decides
    together with ``interval``. ``draws`` is None where all ways were counted.
    """

    measure: str
    tested: str
    other: str
    baseline: bool
    value_tested: float
    value_other: float
    difference: float
    n: int
    groups: int
    interval: Interval | None
    p: float
    adjusted_p: float
    method: str
    draws: int | None
    seed: int | None
    verdict: Verdict
    why: str


class Slice(msgspec.Struct, frozen=True, kw_only=True):
    """The tested search on the questions with one value of one field."""

    field: str
    value: str
    n: int
    not_measured: int
    measures: dict[str, Estimate]


class FoundDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A document found; ``grade`` is None where nobody graded it."""

    id: str
    rank: int
    score: float
    grade: int | None
    text: str


class RelevantDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A relevant document; ``rank`` is None where it was not found."""

    id: str
    grade: int
    rank: int | None
    in_corpus: bool
    text: str


class WorstQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A question that the tested search did badly on: what came first, and what should have."""

    id: str
    text: str
    group: str | None
    value: float
    found: tuple[FoundDocument, ...]
    relevant: tuple[RelevantDocument, ...]
    relevant_count: int


class QueryResult(msgspec.Struct, frozen=True, kw_only=True):
    """One question: the ranks of its relevant documents and its measures, by search.

    A search without a ranking of it is not there.
    """

    id: str
    group: str | None
    relevant: int
    ranks: dict[str, tuple[int, ...]]
    values: dict[str, dict[str, float]]


class AtLeast(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a demand on a mean of the tested search."""

    measure: str
    limit: float
    estimate: Estimate
    outcome: Outcome
    why: str


class RetrievalResult(msgspec.Struct, frozen=True, kw_only=True):
    """A whole evaluation; ``systems[0]`` is the search that was tested.

    Of ``queries_total`` questions ``queries_asked`` have a relevant document; the others cannot be
    measured. ``graded`` counts (question, document) pairs with a grade.
    """

    name: str
    documents: int
    queries_total: int
    queries_asked: int
    groups: int
    graded: int
    qrels: str
    strange_queries: int
    strange_documents: int
    reading: tuple[str, ...]
    cutoffs: tuple[int, ...]
    relevant_from: int
    gains: str
    measure: str
    depth: int
    drawing: Drawing
    systems: tuple[SystemResult, ...]
    contrasts: tuple[Contrast, ...]
    slices: tuple[Slice, ...]
    worst: tuple[WorstQuery, ...]
    demands: tuple[AtLeast, ...]
    queries: tuple[QueryResult, ...]

    @property
    def exit_code(self) -> int:
        """0 all is well; 1 a demand is missed or another search is better; 11 neither is known.

        Baselines decide nothing. 11 also where a question, or a document, has no vector.
        """
        asked = [one for one in self.contrasts if not one.baseline]
        if any(one.outcome == "missed" for one in self.demands) or any(
            one.verdict == "worse" for one in asked
        ):
            return EXIT_FAILED
        unsure = any(one.outcome == "cannot tell" for one in self.demands)
        lacking = any(
            one.not_measured or one.incomplete for one in self.systems if not one.baseline
        )
        return EXIT_INCOMPLETE if unsure or lacking else 0
