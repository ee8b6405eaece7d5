"""Rankings as TREC run files: six columns, ``query Q0 document rank score tag``.

trec_eval reads neither the second column nor the rank: it sorts by score, as a float32, and
equal scores by document id, the last one first. A run is read by that rule, so that its figures
are those of trec_eval; and of ir-measures, but for RR@k of equal scores, which it takes from a
script of MS MARCO that puts the first id first. One written here has no equal scores: each that
would not be lower than the one before it is set one float32 step below that, so every reader
keeps its order.
"""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np

from closecall.atomic import whole_file
from closecall.errors import DatasetError, UsageError
from closecall.retrieval.collection import Collection
from closecall.retrieval.lines import Problems, texts
from closecall.retrieval.ranking import Ranking

COLUMNS = ("query", "Q0", "document", "rank", "score", "tag")
KIND = "run"


def read_run(path: Path, collection: Collection, asked: tuple[str, ...]) -> Ranking:
    """Return the ranking of a run file for the questions ``asked``.

    A question without lines found nothing, which counts as such, as with ``trec_eval -c``.
    Documents that are not in the corpus keep their ranks.

    Raises
    ------
    DatasetError
        It cannot be read, a line has other columns, a score is no finite number, a document
        stands twice for one question, or no line is about a question asked.
    """
    problems = Problems(path, "ranked documents (TREC run)")
    wanted = set(asked)
    found: dict[str, dict[str, float]] = {}
    strange: set[str] = set()
    tags: dict[str, None] = {}
    for line, text in texts(path, problems):
        row = text.split()
        if len(row) != len(COLUMNS):
            problems.add(line, "", f"expected 6 columns ({' '.join(COLUMNS)}), got {len(row)}")
            continue
        query, document, tag = row[0], row[2], row[5]
        score = _score(row[4])
        if score is None:
            problems.add(line, "score", f"expected a finite number, got {row[4]!r:.60}")
        elif document in found.get(query, {}):
            problems.add(
                line, "document", f"{document!r:.60} stands there for {query!r:.60} twice"
            )
        elif query in wanted:
            found.setdefault(query, {})[document] = score
            tags[tag] = None
        else:
            strange.add(query)
    problems.stop()
    if not found:
        raise DatasetError(f"{path}: none of its questions has a relevant document here")
    return _ranking(path, collection, asked, found, (tuple(tags), len(strange)))


def _ranking(
    path: Path,
    collection: Collection,
    asked: tuple[str, ...],
    found: dict[str, dict[str, float]],
    told: tuple[tuple[str, ...], int],
) -> Ranking:
    tags, strange = told
    ids = sorted({document for lines in found.values() for document in lines})
    place = {document: at for at, document in enumerate(ids)}
    depth = max(len(lines) for lines in found.values())
    positions = np.full((len(asked), depth), -1, dtype=np.int64)
    scores = np.zeros((len(asked), depth))
    for row, query in enumerate(asked):
        # Highest first; of equal ones the last id: sorted backwards by both.
        best = sorted(((s, d) for d, s in found.get(query, {}).items()), reverse=True)
        for column, (score, document) in enumerate(best):
            positions[row, column], scores[row, column] = place[document], score
    known = {document.id for document in collection.documents}
    outside = sum(document not in known for document in ids)
    silent = sum(query not in found for query in asked)
    notes = []
    if silent:
        notes.append(f"{silent:,} of {len(asked):,} questions have no line in it: nothing found")
    if strange:
        notes.append(f"{strange:,} of its questions have no relevant document here; left out")
    if outside:
        notes.append(f"{outside:,} of its documents are not in the corpus; they keep their ranks")
    return Ranking(
        name=path.name,
        kind=KIND,
        queries=asked,
        ids=ids,
        positions=positions,
        scores=scores,
        facts={"file": path.name, "tags": list(tags), "ties": "score, then id, last id first"},
        notes=tuple(notes),
    )


def _score(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    with np.errstate(over="ignore"):
        narrow = float(np.float32(value))
    return narrow if math.isfinite(narrow) else None


def write_run(ranking: Ranking, path: str | os.PathLike[str], *, tag: str = "closecall") -> None:
    """Write a ranking as a TREC run, whole or not at all.

    Raises
    ------
    UsageError
        An id has white space in it, which the format has no room for, or the file cannot be
        written.
    """
    used = {ranking.ids[at] for at in np.unique(ranking.positions).tolist() if at >= 0}
    for own in (*ranking.queries, *sorted(used)):
        if own.split() != [own]:
            raise UsageError(
                f"--save-run: a TREC run has white space between its columns, and the id {own!r} "
                "has some in it"
            )
    with whole_file(path) as file:
        for row, query in enumerate(ranking.queries):
            before = np.float32(np.inf)
            for rank, (document, score) in enumerate(ranking.found(row), start=1):
                before = min(np.float32(score), np.nextafter(before, np.float32(-np.inf)))
                file.write(f"{query} Q0 {document} {rank} {_written(before)} {tag}\n")


def _written(score: np.float32) -> str:
    """Return the fewest digits that come back as this float32."""
    return np.format_float_positional(score, unique=True, trim="0")
