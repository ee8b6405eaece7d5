"""What can be kept of a run whose writer died: the cases that are there in full.

The results of one case are one line a path, in the order of the run's paths, side by side. What
follows the last complete case is work to do again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from closecall.errors import RunFolderError
from closecall.runs.caselines import filed_id
from closecall.runs.files import CASES, RESULTS, Line, exists, lines, parsed
from closecall.runs.values import result_id


class Kept(NamedTuple):
    """How far each file is sound: complete cases, and the bytes they take.

    ``seen`` holds a 64-bit fingerprint of each case id.
    """

    cases: int
    results_bytes: int
    cases_bytes: int
    seen: set[int]


def fingerprint(run_id: str, case_id: str) -> int:
    """Return 64 bits that stand for a case of a run."""
    return int(result_id(run_id, case_id, "")[2:18], 16)


def survey(root: Path, run_id: str, paths: Sequence[str]) -> Kept:
    """Read both files side by side and find where the last complete case ends.

    Raises
    ------
    RunFolderError
        A whole line (one that ends in LF) is not what this run would have written there; the
        message names file and line.
    """
    texts = _case_ids(root) if exists(root, CASES) else None
    results = lines(root, RESULTS, growing=True)
    seen: set[int] = set()
    results_bytes = cases_bytes = 0
    while True:
        group = _one_case(root, results, run_id, paths)
        if group is None:
            break
        case_id, end = group
        mark = fingerprint(run_id, case_id)
        if mark in seen:
            raise RunFolderError(f"{root / RESULTS}: the case {case_id!r} stands there twice")
        if texts is not None:
            text = next(texts, None)
            if text is None:
                break
            require_same_case(root, len(seen) + 1, text[0], case_id)
            cases_bytes = text[1]
        seen.add(mark)
        results_bytes = end
    return Kept(len(seen), results_bytes, cases_bytes, seen)


def require_same_case(root: Path, number: int, text_id: object, case_id: str) -> None:
    """Refuse texts (the line of that number) that are not those of the results beside them."""
    if text_id != case_id:
        raise RunFolderError(
            f"{root / CASES}:{number}: holds case {text_id!r}, but the results at that place are "
            f"of case {case_id!r}"
        )


def _case_ids(root: Path) -> Iterator[tuple[Any, int]]:
    for line in lines(root, CASES, growing=True):
        yield filed_id(parsed(root, CASES, line)), line.end


def _one_case(
    root: Path, results: Iterator[Line], run_id: str, paths: Sequence[str]
) -> tuple[str, int] | None:
    """Return the next case's id and where it ends; None when its lines are not all there."""
    case_id, end = "", 0
    for index, path in enumerate(paths):
        line = next(results, None)
        if line is None:
            return None
        found = parsed(root, RESULTS, line)
        case_id = case_id if index else str(found.get("caseId"))
        expected = {
            "resultId": result_id(run_id, case_id, path),
            "caseId": case_id,
            "path": path,
        }
        for name, value in expected.items():
            if found.get(name) != value:
                raise RunFolderError(
                    f"{root / RESULTS}:{line.number}: {name} should be {value!r}, is "
                    f"{found.get(name)!r}. Remove this line and all after it, then resume again"
                )
        end = line.end
    return case_id, end
