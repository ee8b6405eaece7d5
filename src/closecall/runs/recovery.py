"""What can be kept of a run whose writer died: the cases that are there in full.

The results of one case stand side by side, as ``case_order`` says. What follows the last complete
case is work to do again.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from closecall.errors import RunFolderError
from closecall.runs.case_order import TRIAL, Order
from closecall.runs.caselines import filed_id
from closecall.runs.files import CASES, RESULTS, Line, exists, lines, parsed
from closecall.runs.values import result_id
from closecall.seen import Seen


class Kept(NamedTuple):
    """How far each file is sound: complete cases, their results, and the bytes they take.

    ``seen`` holds a 64-bit fingerprint of each case id, in 11 to 16 bytes a case.
    """

    cases: int
    results: int
    results_bytes: int
    cases_bytes: int
    seen: Seen


def fingerprint(run_id: str, case_id: str) -> int:
    """Return 64 bits that stand for a case of a run."""
    return int(result_id(run_id, case_id, "")[2:18], 16) or 1


def survey(root: Path, run_id: str, order: Order) -> Kept:
    """Read both files side by side and find where the last complete case ends.

    Raises
    ------
    RunFolderError
        A whole line (one that ends in LF) is not what this run would have written there; the
        message names file and line.
    """
    texts = _case_ids(root) if exists(root, CASES) else None
    results = lines(root, RESULTS, growing=True)
    seen = Seen()
    count = results_bytes = cases_bytes = 0
    while True:
        group = _one_case(root, results, run_id, order)
        if group is None:
            break
        case_id, size, end = group
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
        count, results_bytes = count + size, end
    return Kept(len(seen), count, results_bytes, cases_bytes, seen)


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
    root: Path, results: Iterator[Line], run_id: str, order: Order
) -> tuple[str, int, int] | None:
    """Return the next case's id, its lines and where it ends; None when they are not all there."""
    case_id, end, index, size, repeated = "", 0, 0, 1, False
    while index < size:
        line = next(results, None)
        if line is None:
            return None
        found = parsed(root, RESULTS, line)
        if not index:
            case_id, repeated = str(found.get("caseId")), order.is_repeated(found)
            size = order.lines(repeated=repeated)
        path, trial = order.place(index, repeated=repeated)
        expected = {
            "resultId": result_id(run_id, case_id, path, trial),
            "caseId": case_id,
            "path": path,
            TRIAL: trial,
        }
        for name, value in expected.items():
            if found.get(name) != value:
                raise RunFolderError(
                    f"{root / RESULTS}:{line.number}: {name} should be {value!r}, is "
                    f"{found.get(name)!r}. Remove this line and all after it, then resume again"
                )
        end, index = line.end, index + 1
    return case_id, size, end
