"""Which cases two runs have in common: the same id, and the same question, references and context.

Responses, labels, tags and metadata may differ. Where the digests of all questions agree there
is nothing more to show; else the texts kept in the two folders are held against each other.

Memory holds about 250 bytes a case of A and its id; of B a bit a case.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterator
from pathlib import Path

from closecall.calibration.labels.items import group_of
from closecall.errors import RunFolderError
from closecall.records import Case
from closecall.runs import files
from closecall.runs.comparing.records import Axis
from closecall.runs.header import RunHeader
from closecall.runs.reader import RunReader

NAMED = 3
"""Cases of each kind that a refusal names."""

_FIELDS = ("input", "references", "context")
_WORDS = {"input": "question", "references": "references", "context": "context"}
_CUT = b'"truncated"'


class CaseMatch:
    """The cases of A by id, and which of them B has too.

    Attributes
    ----------
    rows
        From the id of a case to its row in A.
    groups
        The number of each row's group, those of A.
    common
        Which rows are compared.
    only_b, changed, named
        See ``Matched``.
    """

    def __init__(self) -> None:
        self.rows: dict[str, int] = {}
        self.groups = array("q")
        self.group_count = 0
        self.common = bytearray()
        self.only_a = self.only_b = self.changed = 0
        self.named: tuple[str, ...] = ()
        self.ungrouped = False

    @property
    def compared(self) -> int:
        """How many cases are compared."""
        return sum(self.common)


def match_cases(a: tuple[RunReader, RunHeader], b: tuple[RunReader, RunHeader]) -> CaseMatch:
    """Return which cases the two runs have in common; both files of cases are read once.

    Raises
    ------
    RunFolderError
        A folder lacks cases that its header counts, has one twice, or a line cannot be read.
    """
    texts = not same_questions(a[1], b[1])
    found = CaseMatch()
    marks: list[bytes] = []
    numbers: dict[bytes, int] = {}
    for row, (case, cut) in enumerate(_cases(*a)):
        _once(found.rows, case.id, a[0].path)
        found.rows[case.id] = row
        found.groups.append(_group(case, a[1], numbers, found))
        if texts:
            marks.append(b"" if cut else _marks(case))
    found.group_count = len(numbers)
    found.common = bytearray(len(found.rows))
    _hold(found, _cases(*b), marks, b[0].path)
    return found


def _hold(
    found: CaseMatch, cases: Iterator[tuple[Case, bool]], marks: list[bytes], path: Path
) -> None:
    """Hold the cases of B against those of A; ``marks`` empty: their texts are known to agree."""
    seen = bytearray(len(found.rows))
    strangers: set[bytes] = set()
    only_b: list[str] = []
    changed: list[str] = []
    for case, cut in cases:
        at = found.rows.get(case.id)
        if at is None:
            mark = _digest(case.id, 16)
            if mark in strangers:
                _twice(case.id, path)
            strangers.add(mark)
            _name(only_b, case.id, "only in B")
            continue
        if seen[at]:
            _twice(case.id, path)
        seen[at] = 1
        apart = _apart(marks[at], b"" if cut else _marks(case)) if marks else ""
        if apart:
            found.changed += 1
            _name(changed, case.id, apart)
        else:
            found.common[at] = 1
    found.only_a, found.only_b = len(seen) - sum(seen), len(strangers)
    only_a: list[str] = []
    for name, at in found.rows.items():
        if len(only_a) == NAMED:
            break
        if not seen[at]:
            _name(only_a, name, "only in A")
    found.named = (*only_a, *only_b, *changed)


def same_questions(a: RunHeader, b: RunHeader) -> bool:
    """Whether the digests show that both asked the same: texts, and fields that metrics read."""
    ours, theirs = a.dataset, b.dataset
    return ours.digest == theirs.digest or bool(ours.questions == theirs.questions != "")


def cases_axis(a: RunHeader, b: RunHeader, found: CaseMatch) -> Axis | None:
    """Return what keeps the cases from being the same, None where nothing does."""
    if same_questions(a, b) and not (found.only_a or found.only_b):
        return None
    if not same_questions(a, b) and not (a.content and b.content):
        words = ("texts kept" if header.content else "no texts kept" for header in (a, b))
        ours, theirs = words
        return Axis(
            axis="cases",
            a=ours,
            b=theirs,
            advice=(
                "that both asked the same questions cannot be shown without the texts; run both "
                "again without --no-content"
            ),
        )
    if not (found.only_a or found.only_b or found.changed):
        return None
    named = ", ".join(found.named)
    both = found.compared
    return Axis(
        axis="cases",
        a=f"{len(found.rows):,}, {found.only_a:,} of them only here",
        b=(
            f"{len(found.rows) - found.only_a + found.only_b:,}, {found.only_b:,} of them only "
            f"here, {found.changed:,} with another question, reference or context"
        ),
        advice=(
            f"differ: {named}. Run B again on the cases of A, or compare the {both:,} that are "
            "the same in both with --allow cases"
            if both
            else f"no case is the same in both ({named}); run B again on the cases of A"
        ),
        allow="cases" if both else None,
    )


def cases_of(reader: RunReader) -> Iterator[Case]:
    """Yield the cases of a run as its folder keeps them."""
    for case, _ in _lines(reader):
        yield case


def _cases(reader: RunReader, header: RunHeader) -> Iterator[tuple[Case, bool]]:
    count = 0
    for found in _lines(reader):
        count += 1
        yield found
    if count != header.cases:
        raise RunFolderError(
            f"{reader.path}: holds {count:,} cases of the {header.cases:,} that its "
            f"{files.RUN} counts; it was changed, see closecall verify"
        )


def _lines(reader: RunReader) -> Iterator[tuple[Case, bool]]:
    """Yield each case, and whether its texts were cut when they were kept."""
    if not reader.lists_cases:
        last = None
        for line in reader.results():
            if line["caseId"] != last:
                last = line["caseId"]
                yield Case(id=last), True
        return
    cut = reader.cut_cases()
    for number, case in enumerate(reader.cases(), start=1):
        yield case, number in cut


def _marks(case: Case) -> bytes:
    """Return 8 bytes each that stand for the question, the references and the context."""
    return b"".join(_digest(repr(getattr(case, name) or ""), 8) for name in _FIELDS)


def _apart(ours: bytes, theirs: bytes) -> str:
    """Return which text of a case differs; empty where none does."""
    if not ours or not theirs:
        return "texts too long to be kept whole"
    parts = [
        _WORDS[name]
        for at, name in enumerate(_FIELDS)
        if ours[8 * at : 8 * at + 8] != theirs[8 * at : 8 * at + 8]
    ]
    return f"another {' and '.join(parts)}" if parts else ""


def _group(case: Case, header: RunHeader, numbers: dict[bytes, int], found: CaseMatch) -> int:
    if not header.content and case.group is None and case.label is None:
        found.ungrouped = True
    return numbers.setdefault(_digest(group_of(case)[0], 16), len(numbers))


def _digest(text: str, size: int) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", errors="surrogatepass"), digest_size=size).digest()


def _name(names: list[str], case: str, what: str) -> None:
    if len(names) < NAMED:
        names.append(f"{case[:60]!r} ({what})")


def _once(rows: dict[str, int], case: str, path: Path) -> None:
    if case in rows:
        _twice(case, path)


def _twice(case: str, path: Path) -> None:
    raise RunFolderError(
        f"{path}: holds the case {case[:60]!r} twice; cases of two runs are paired by their ids"
    )
