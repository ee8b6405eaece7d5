"""The nearest labelled answers beside each unsure one: what people accepted, what they rejected.

Nothing is decided by them. They are read and embedded when the first answer is left unsure, so a
run without one pays nothing; their vectors come from the cache where they are in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import msgspec
import numpy as np

from closecall.calibration.labels.items import group_of, item_of
from closecall.datasets import OnBadRow
from closecall.embedders.absent import is_absent
from closecall.embedders.base import Embedded, Embedder, TextKey, Vector, Vectors
from closecall.embedders.cached import CachedEmbedder
from closecall.errors import DataError
from closecall.index.exact import top_k
from closecall.metrics.base import DECIMALS
from closecall.records import JSON, Case, Label, Measured, State
from closecall.runs.asked import PathLike, is_recorded, read_cases
from closecall.runs.calibration_labels import NEEDED, labels_of
from closecall.runs.results import CaseResult

if TYPE_CHECKING:
    from closecall.runs.calibrations import Given

NEAREST_LABELLED = "nearestLabelled"
"""Under which the details of an unsure result hold them."""

NEAREST = 3
"""How many of each label."""

CLIPPED = 300
"""Characters kept of a response."""

LabelledCases: TypeAlias = PathLike | Iterable[Case | Mapping[str, Any]]

Load: TypeAlias = Callable[[], Sequence[Case]]

_AT_ONCE = 2048


class Example(NamedTuple):
    """A labelled answer: its id, what is asked (None: not known) and its response."""

    id: str
    question: str | None
    response: str
    item: object


class _Side(NamedTuple):
    """The answers of one label, by id, and their vectors, (n, d)."""

    label: Label
    examples: tuple[Example, ...]
    vectors: Vectors
    by_question: dict[str, list[int]]


class NearestLabelled:
    """Puts the nearest labelled answers into the details of unsure results.

    Nearest in the response by the run's own embedder, those of the same question first; equal
    similarities go by id. A case is not shown beside itself.

    Parameters
    ----------
    load
        Returns the labelled cases; called once, with the first unsure answer.
    content
        False keeps their responses out.
    """

    def __init__(self, load: Load, *, content: bool = True) -> None:
        self._load, self._content = load, content
        self._sides: tuple[_Side, ...] | None = None

    def beside(self, rows: Sequence[CaseResult], embedder: CachedEmbedder) -> list[CaseResult]:
        """Return the rows, the unsure ones with what is nearest; states stay as they are.

        Of a case that was answered several times nothing is shown.
        """
        unsure = {
            at: TextKey(row.case.response)
            for at, row in enumerate(rows)
            if _unsure(row) is not None and row.case.response and row.case.response.strip()
        }
        found = list(rows)
        if not unsure:
            return found
        if self._sides is None:
            self._sides = _sides(self._load(), embedder)
        outcomes = embedder.fetch(unsure.values())
        ready = {at: outcomes[key] for at, key in unsure.items()}
        vectors = {at: one.vector for at, one in ready.items() if isinstance(one, Embedded)}
        queries = np.array(list(vectors.values()), dtype=np.float32)
        shown: dict[int, list[dict[str, JSON]]] = {at: [] for at in vectors}
        for side in self._sides if vectors else ():
            # Those of the question may come again among all, and so may the case itself.
            others = _ranked(queries, side.vectors, 2 * NEAREST + 2)
            for (at, vector), ranked in zip(vectors.items(), others, strict=True):
                shown[at] += self._of_side(rows[at].case, vector, side, ranked)
        for at, entries in shown.items():
            if entries:
                found[at] = _with_details(rows[at], entries)
        return found

    def _of_side(
        self, case: Case, vector: Vector, side: _Side, others: list[tuple[int, float]]
    ) -> list[dict[str, JSON]]:
        question, item = _question(case), item_of(case)
        same = [] if question is None else side.by_question.get(question, [])
        first = _ranked(vector[None, :], side.vectors[same], NEAREST + 1)[0] if same else []
        ranked = [(same[at], similarity, True) for at, similarity in first]
        known = set(same)
        ranked += [(at, similarity, False) for at, similarity in others if at not in known]
        chosen = [
            entry
            for entry in ranked
            if (side.examples[entry[0]].id, side.examples[entry[0]].item) != (case.id, item)
        ]
        return [self._shown(side, *entry) for entry in chosen[:NEAREST]]

    def _shown(self, side: _Side, at: int, similarity: float, same: bool) -> dict[str, JSON]:  # noqa: FBT001 - one entry
        example = side.examples[at]
        shown: dict[str, JSON] = {
            "id": example.id,
            "label": side.label.value,
            "similarity": round(similarity, DECIMALS),
            "sameQuestion": same,
        }
        if self._content:
            text = " ".join(example.response[: 4 * CLIPPED].split())
            shown["response"] = text if len(text) <= CLIPPED else f"{text[: CLIPPED - 1]}…"
        return shown


def nearest_labelled(
    labelled: LabelledCases | bool | None,  # noqa: FBT001 - as evaluate takes it
    calibrations: Sequence[Given],
    embedder: Embedder,
    *,
    mapping: Mapping[str, str] | None = None,
    on_bad_row: OnBadRow = "fail",
    content: bool = True,
    on_notice: Callable[[str], None] | None = None,
) -> NearestLabelled | None:
    """Return what finds the nearest labelled answers of a run; None where none is wanted.

    Parameters
    ----------
    labelled
        A file of labelled cases, or cases, read at once. True: the labels that the calibrations
        were made of, as far as those can be had without asking anybody. None or False: none.
    calibrations
        Those of the run.
    embedder
        That of the run. Where a run embeds nothing, nothing is nearest.
    mapping, on_bad_row
        For a file, as for the cases of the run.
    content
        False keeps responses out of the details.
    on_notice
        Called where the labels of a calibration cannot be had.

    Raises
    ------
    DataError
        The file cannot be read, or no case of it has a label and a response.
    """
    if labelled is None or labelled is False or is_absent(embedder.instrument):
        return None
    tell = on_notice or (lambda _: None)
    if labelled is True:
        if not calibrations or embedder.instrument.provider != "local" or is_recorded(embedder):
            return None
        return NearestLabelled(lambda: labels_of(calibrations, tell), content=content)
    source, facts = read_cases(labelled, mapping, on_bad_row, NEEDED)
    cases = [case for case in source if case.label is not None and case.response]
    if not cases:
        raise DataError(
            f"{facts.path or 'labelled'}: none of {facts.rows:,} cases has a label and a response,"
            " so there is nothing to show beside an unsure one"
        )
    return NearestLabelled(lambda: cases, content=content)


def _unsure(row: CaseResult) -> int | None:
    """Return the place of the first unsure result that the case's state is made of."""
    if row.trials:
        return None
    deciding = {id(result) for result in row.deciding}
    return next(
        (
            at
            for at, result in enumerate(row.results)
            if id(result) in deciding
            and result.state is State.INCONCLUSIVE
            and isinstance(result.measurement, Measured)
        ),
        None,
    )


def _with_details(row: CaseResult, shown: list[dict[str, JSON]]) -> CaseResult:
    at = _unsure(row)
    if at is None:
        return row
    result = row.results[at]
    measured = result.measurement
    if not isinstance(measured, Measured):
        return row
    details = {**measured.details, NEAREST_LABELLED: shown}
    changed = msgspec.structs.replace(
        result, measurement=msgspec.structs.replace(measured, details=details)
    )
    results = (*row.results[:at], changed, *row.results[at + 1 :])
    return msgspec.structs.replace(row, results=results)


def _question(case: Case) -> str | None:
    """Return what is asked, up to case and white space; None where that is not known."""
    if not case.input or not case.input.strip():
        return None
    return group_of(msgspec.structs.replace(case, group=None))[0]


def _sides(cases: Sequence[Case], embedder: CachedEmbedder) -> tuple[_Side, ...]:
    """Return the labelled answers, each item once for each label it has; accepted ones first."""
    return tuple(_side(cases, label, embedder) for label in (Label.ACCEPT, Label.REJECT))


def _side(cases: Sequence[Case], label: Label, embedder: CachedEmbedder) -> _Side:
    items: dict[object, Example] = {}
    for case in cases:
        if case.label is label and case.response and case.response.strip():
            item = item_of(case)
            example = Example(case.id, _question(case), case.response, item)
            if item not in items or example.id < items[item].id:
                items[item] = example
    ordered = sorted(items.values(), key=lambda example: (example.id, example.response))
    kept: list[Example] = []
    vectors: list[Vector] = []
    for start in range(0, len(ordered), _AT_ONCE):
        some = ordered[start : start + _AT_ONCE]
        found = embedder.fetch([TextKey(example.response) for example in some])
        for example in some:
            outcome = found[TextKey(example.response)]
            if isinstance(outcome, Embedded):  # what has no vector is near nothing
                kept.append(example)
                vectors.append(outcome.vector)
    by_question: dict[str, list[int]] = {}
    for at, example in enumerate(kept):
        if example.question is not None:
            by_question.setdefault(example.question, []).append(at)
    matrix = np.array(vectors, dtype=np.float32).reshape(len(kept), embedder.instrument.dims)
    return _Side(label, tuple(kept), matrix, by_question)


def _ranked(queries: Vectors, vectors: Vectors, k: int) -> list[list[tuple[int, float]]]:
    """Return of each query the rows nearest to it, best first."""
    found = top_k(queries, vectors, k)
    return [
        [pair for pair in zip(positions, similarities, strict=True) if pair[0] >= 0]
        for positions, similarities in zip(
            found.positions.tolist(), found.similarities.tolist(), strict=True
        )
    ]
