"""The layout of BEIR: a corpus and questions as JSON Lines, and grades as tab-separated text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from closecall.errors import DatasetError, UsageError
from closecall.records import JSON
from closecall.retrieval.collection import Collection, Document, Query, assembled
from closecall.retrieval.lines import Problems, objects, own_id, own_text
from closecall.retrieval.qrels import read_qrels
from closecall.there import is_file

CORPUS = "corpus.jsonl"
QUERIES = "queries.jsonl"
QRELS = "qrels.tsv"
SPLITS = "qrels"
SPLIT = "test"

_IDS = ("_id", "id")


def read_beir(corpus: Path, queries: Path, qrels: Path, *, name: str | None = None) -> Collection:
    """Return the collection of three files.

    ``corpus``: objects with ``_id`` (or ``id``), ``text`` and perhaps ``title``. ``queries``:
    objects with ``_id``, ``text`` and perhaps ``metadata`` (an object), ``group`` and ``tags``;
    a ``group`` in the metadata counts as one. Other fields of a question are kept for slices.

    Raises
    ------
    DatasetError
        A file cannot be read, a row is not sound or an id stands twice: file, line and field.
    """
    documents, questions = _documents(corpus), _questions(queries)
    return assembled(
        name or corpus.name,
        documents,
        questions,
        read_qrels(qrels),
        qrels=qrels.name,
    )


def folder_files(folder: Path, split: str | None = None) -> tuple[Path, Path, Path]:
    """Return corpus, questions and grades of a BEIR folder.

    Grades are ``qrels.tsv``, or ``qrels/SPLIT.tsv`` with the split ``test`` where none is named.

    Raises
    ------
    DatasetError
        A file is not there; the message says which there are.
    UsageError
        A split is asked of a folder that has one file of grades only.
    """
    for name in (CORPUS, QUERIES):
        if not is_file(folder / name):
            raise DatasetError(
                f"{folder}: has no {name}. A BEIR folder holds {CORPUS}, {QUERIES} and {QRELS} "
                f"or {SPLITS}/{SPLIT}.tsv; other names: closecall retrieval CORPUS QUERIES QRELS"
            )
    alone = folder / QRELS
    if split is None and is_file(alone):
        return folder / CORPUS, folder / QUERIES, alone
    there = sorted(path.stem for path in (folder / SPLITS).glob("*.tsv"))
    if split is not None and not there and is_file(alone):
        raise UsageError(f"--split {split}: {folder} has {QRELS} alone, without splits")
    wanted = split or SPLIT
    if wanted not in there:
        have = f"; it has the splits {', '.join(there)} (--split)" if there else ""
        raise DatasetError(f"{folder}: has no {QRELS} and no {SPLITS}/{wanted}.tsv{have}")
    return folder / CORPUS, folder / QUERIES, folder / SPLITS / f"{wanted}.tsv"


def _documents(path: Path) -> dict[str, Document]:
    problems = Problems(path, "documents")
    found: dict[str, Document] = {}
    lines: dict[str, int] = {}
    for line, row in objects(path, problems):
        own = own_id(row, _IDS, line, problems)
        text = own_text(row, "text", line, problems, needed=True)
        title = own_text(row, "title", line, problems, needed=False)
        if own is None or _repeated(own, lines, line, problems):
            continue
        found[own] = Document(id=own, text=text, title=title)
    problems.stop()
    if not found:
        raise DatasetError(f"{path}: holds no documents")
    return found


def _questions(path: Path) -> dict[str, Query]:
    problems = Problems(path, "questions")
    found: dict[str, Query] = {}
    lines: dict[str, int] = {}
    for line, row in objects(path, problems):
        own = own_id(row, _IDS, line, problems)
        text = own_text(row, "text", line, problems, needed=True)
        about = _metadata(row, line, problems)
        group = group_of(row, about, line, problems)
        tags = tags_of(row, about, line, problems)
        if own is None or _repeated(own, lines, line, problems):
            continue
        found[own] = Query(id=own, text=text, group=group, tags=tags, metadata=about)
    problems.stop()
    if not found:
        raise DatasetError(f"{path}: holds no questions")
    return found


def _repeated(own: str, lines: dict[str, int], line: int, problems: Problems) -> bool:
    if own in lines:
        problems.add(line, "_id", f"{own!r:.60} stands in line {lines[own]} already")
        return True
    lines[own] = line
    return False


def _metadata(row: dict[str, Any], line: int, problems: Problems) -> dict[str, JSON]:
    inner = row.get("metadata")
    if inner is not None and not isinstance(inner, dict):
        problems.add(line, "metadata", f"expected an object, got {inner!r:.60}")
        inner = None
    rest = {k: v for k, v in row.items() if k not in (*_IDS, "text", "metadata")}
    return {**rest, **(inner or {})}


def group_of(
    row: dict[str, Any], about: dict[str, JSON], line: int, problems: Problems
) -> str | None:
    """Return the group a question belongs to: its own field, else that of its metadata."""
    value = row.get("group")
    value = about.get("group") if value is None else value
    if value is None or isinstance(value, str):
        return value or None
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    problems.add(line, "group", f"expected a text, got {value!r:.60}")
    return None


def tags_of(
    row: dict[str, Any], about: dict[str, JSON], line: int, problems: Problems
) -> tuple[str, ...]:
    """Return the tags of a question: its own field, else that of its metadata."""
    value = row.get("tags", about.get("tags"))
    if value is None:
        return ()
    if isinstance(value, list) and all(isinstance(tag, str) for tag in value):
        return tuple(value)
    problems.add(line, "tags", f"expected a list of texts, got {value!r:.60}")
    return ()
