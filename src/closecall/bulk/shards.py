"""The shards of one run, opened to be merged: whether they are all there, and of one question."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import msgspec

from closecall.bulk.counting import Ended, Totals
from closecall.errors import NotComparableError, RunFolderError, UsageError
from closecall.records import JSON
from closecall.runs import files
from closecall.runs.claim import quoted
from closecall.runs.gate_lines import decisions_of
from closecall.runs.header import RunHeader
from closecall.runs.parts.documents import read_lines
from closecall.runs.parts.reader import PartsReader
from closecall.runs.parts.rows import Record
from closecall.runs.parts.stored import Kept, spending_in, understood
from closecall.runs.reader import RunReader, open_run
from closecall.runs.same import changes
from closecall.runs.shards import Shard, shard_of
from closecall.runs.spent_file import read_spending
from closecall.runs.stored import answered_in, complete, header_of, usage_in, watched_in
from closecall.runs.trial_lines import order_of
from closecall.runs.wire import Document
from closecall.storage import is_url, open_store

PathLike = str | os.PathLike[str]


class Source(NamedTuple):
    """One shard: the place it was given as, what reads it, and its header."""

    place: str
    reader: RunReader
    header: RunHeader
    shard: Shard

    def cases(self) -> Iterator[Kept]:
        """Yield its cases in order.

        Raises
        ------
        RunFolderError
            A line cannot be understood; the message names it.
        """
        if isinstance(self.reader, PartsReader):
            for place, record in self.reader.records():
                yield Kept(understood(place, self.header, record), record)
            return
        yield from _lines(self.reader, self.header)

    @property
    def totals(self) -> Totals:
        """What it took."""
        reader = self.reader
        summary, place = reader.summary, f"{self.place}/{files.SUMMARY}"
        parts = isinstance(reader, PartsReader)
        spent = spending_in(reader.store) if parts else read_spending(reader.path)  # type: ignore[attr-defined]
        return Totals(usage_in(summary, place), answered_in(summary, place), spent)

    @property
    def ended(self) -> Ended | None:
        """What a whole run found at its end; None of a shard, which decides nothing by itself."""
        if self.header.shard is not None:
            return None
        lines = list(_gate_lines(self.reader))
        return Ended(
            watched_in(self.reader.summary, f"{self.place}/{files.SUMMARY}"),
            [line for _, line in lines],
            decisions_of(lines, f"{self.place}/{files.GATES}"),
        )


def _gate_lines(reader: RunReader) -> Iterator[tuple[int, Document]]:
    """Yield the lines of a run's gates.ndjson, if it has one, with their numbers."""
    if isinstance(reader, PartsReader):
        if reader.store.exists(files.GATES):
            yield from read_lines(reader.store, files.GATES)
    elif files.exists(reader.path, files.GATES):
        for line in files.lines(reader.path, files.GATES, growing=False):
            yield line.number, files.parsed(reader.path, files.GATES, line)


def _lines(reader: RunReader, header: RunHeader) -> Iterator[Kept]:
    """Yield the cases of a run folder with their lines."""
    root = reader.path
    texts = files.lines(root, files.CASES, growing=False)
    for number, own in complete(reader, order_of(header)):
        line = next(texts, None)
        if line is None:
            raise RunFolderError(
                f"{root / files.RESULTS}:{number}: case {own[0]['caseId']!r} has no line in "
                f"{files.CASES}"
            )
        record = Record(files.parsed(root, files.CASES, line), own)
        place = f"{root / files.CASES}:{line.number}, {root / files.RESULTS}:{number}"
        yield Kept(understood(place, header, record), record)
    if next(texts, None) is not None:
        raise RunFolderError(f"{root / files.CASES}: has a case without results")


def opened_shards(places: Sequence[PathLike], held: ExitStack) -> list[Source]:
    """Return the shards of a run in order, whatever order they are given in.

    One whole run is taken for the first shard of one.

    Parameters
    ----------
    held
        Keeps what is fetched from object storage until the shards are merged.

    Raises
    ------
    UsageError
        One is missing, given twice, or no shard.
    NotComparableError
        They are not of one question.
    RunFolderError
        One is not finished, damaged, or changed after it was sealed.
    """
    if not places:
        raise UsageError("name the shards to merge")
    alone = len(places) == 1
    found = [_source(os.fspath(place), held, alone=alone) for place in places]
    first = found[0]
    _require_one_question(first, found[1:])
    count = first.shard.count
    by_index: dict[int, Source] = {}
    for source in found:
        before = by_index.setdefault(source.shard.index, source)
        if before is not source:
            raise UsageError(
                f"{source.shard} is given twice: {before.place} and {source.place}; leave one out"
            )
    missing = [index for index in range(1, count + 1) if index not in by_index]
    if missing:
        listed = ", ".join(map(str, missing[:8])) + (", ..." if len(missing) > 8 else "")  # noqa: PLR2004
        raise UsageError(
            f"of {count} shards {len(missing)} {'is' if len(missing) == 1 else 'are'} missing: "
            f"{listed}. Make each with: closecall eval ... --shard INDEX/{count}, and name it too"
        )
    ordered = [by_index[index] for index in range(1, count + 1)]
    rows = first.header.dataset.rows
    for source in ordered:
        if source.header.shard is not None and source.shard != _expected(source, rows):
            raise RunFolderError(
                f"{source.place}: {source.shard} has the cases from {source.shard.first} up to "
                f"{source.shard.stop}, which is no such part of {rows:,}; its {files.RUN} was "
                "changed"
            )
    return ordered


def _expected(source: Source, rows: int) -> Shard | None:
    """Return the range that a shard of so many cases has; None where there is no such shard."""
    try:
        return shard_of((source.shard.index, source.shard.count), rows)
    except UsageError:
        return None


def gates_of(places: Sequence[PathLike]) -> dict[str, JSON]:
    """Return what the first shard was asked for, its gates among it."""
    with ExitStack() as held:
        reader = _reader(os.fspath(places[0]), held)
        header = reader.run_header if isinstance(reader, PartsReader) else header_of(reader.path)
        return header.asked


def _source(place: str, held: ExitStack, *, alone: bool) -> Source:
    reader = _reader(place, held)
    header = reader.run_header if isinstance(reader, PartsReader) else header_of(reader.path)
    if header.shard is None and not alone:
        raise UsageError(
            f"{place}: is a whole run and no shard; shards are made with --shard INDEX/COUNT"
        )
    if header.dataset.rows < 0:
        raise RunFolderError(
            f"{place}/{files.RUN}: there are no {header.dataset.rows} cases; it was changed"
        )
    shard = header.shard or Shard(index=1, count=1, first=0, stop=header.dataset.rows)
    if reader.running:
        raise RunFolderError(
            f"{place}: {shard} is not finished; go on with: closecall eval --resume "
            f"{quoted(place)}"
        )
    if not reader.sealed:
        raise RunFolderError(
            f"{place}: has no seal; closecall eval --resume {quoted(place)} makes it where it is "
            "missing"
        )
    problems = reader.seal_problems()
    if problems:
        raise RunFolderError(
            f"{problems[0]}. closecall verify {quoted(place)} says all that differs"
        )
    return Source(place, reader, header, shard)


def _reader(place: str, held: ExitStack) -> RunReader:
    if not is_url(place):
        return open_run(Path(place))
    from closecall.runs.afar import fetched_run
    from closecall.runs.parts.folder import is_parts_folder

    if is_parts_folder(place):
        return PartsReader(open_store(place))
    return open_run(held.enter_context(fetched_run(place)))


def _require_one_question(first: Source, others: Sequence[Source]) -> None:
    for other in others:
        differing = list(_differences(first.header, other.header))
        if differing:
            raise NotComparableError(
                f"{first.place} and {other.place} are no shards of one run. They differ in: "
                f"{', and '.join(words for _, words in differing)}. Make the one that is wrong "
                "again, with the same question",
                tuple(dict.fromkeys(axis for axis, _ in differing)),
            )


def _rules(header: RunHeader) -> object:
    """Return the gates without where they were written, which is each machine's own."""
    kept = header.asked.get("gates")
    if not isinstance(kept, list):
        return kept
    return [
        {name: value for name, value in one.items() if name != "place"}
        if isinstance(one, dict)
        else one
        for one in kept
    ]


def _differences(a: RunHeader, b: RunHeader) -> Iterator[tuple[str, str]]:
    plain = msgspec.structs.replace(b, shard=a.shard)
    for words in changes(a, plain):
        first = words.replace(" then, ", " in the first, ")
        yield "question", first.replace(" now)", " in the other)")
    pairs = {
        "version": (a.producer_version, b.producer_version, "the version of closecall"),
        "content": (a.content, b.content, "whether texts are kept (--no-content)"),
        "gates": (_rules(a), _rules(b), "the gates"),
        "fast": (
            a.asked.get("fast"),
            b.asked.get("fast"),
            "whether scores are in 8 bits (--fast)",
        ),
        "subject": (
            (a.subject, a.subject_version),
            (b.subject, b.subject_version),
            "whose answers these are",
        ),
        "shards": (
            a.shard and a.shard.count,
            b.shard and b.shard.count,
            "how many shards there are",
        ),
    }
    found = [(axis, words) for axis, (ours, theirs, words) in pairs.items() if ours != theirs]
    yield from found
    if not found and a.definition_digest != b.definition_digest:
        yield "question", "what was asked (their definitions have other digests)"
