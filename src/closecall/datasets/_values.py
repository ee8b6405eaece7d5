"""One value from a file to one value of a case, or the sentence that says why not.

Numbers and booleans where a text belongs are taken as their JSON spelling and counted; null is
absence; an object is refused, except a context entry that holds its text under a usual key.
"""

from __future__ import annotations

import ast
import math
import re
import warnings
from collections import Counter
from typing import Any

from closecall.datasets._fields import LABEL_WORDS, LABELS_ALLOWED, PASSAGE_KEYS
from closecall.records import Label

NUMBER = "number"
PASSAGE = "passage"
LIST_CELL = "list cell"
RENAMED = "renamed"
ENCODED = "encoded"
SHORTENED = "shortened"
UNNAMED = "unnamed"
EMPTY_ROWS = "empty rows"

Notes = Counter[tuple[str, str]]
"""How often something worth telling happened: (what, column) to times."""

Problems = list[tuple[str, str]]
"""(field, message) of everything wrong with one row."""

MAX_CELL_LIST = 1 << 20
"""Characters; a longer cell is never taken for a list written by Python."""

_PY_STRING = r"(?:'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\")"
_PY_LIST = re.compile(
    rf"\[\s*(?:{_PY_STRING}(?:\s*,\s*{_PY_STRING})*\s*,?|{_PY_STRING}(?:\s+{_PY_STRING})*)\s*\]",
    re.DOTALL,
)
_PY_ITEM = re.compile(_PY_STRING, re.DOTALL)


def kind(value: object) -> str:
    """Return what a person calls the type of a JSON value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, dict):
        return "object"
    if isinstance(value, (list, tuple)):
        return "list"
    if isinstance(value, float) and not math.isfinite(value):
        return f"{value} (write null where there is no value)"
    return type(value).__name__


def shown(value: object) -> str:
    """Return a short form of a value for a message."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."  # noqa: PLR2004


def spelled(value: object) -> str | None:
    """Return a number or boolean as JSON spells it, None for anything else."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        try:
            return str(int(value))
        except ValueError:  # beyond the interpreter's digit limit
            return None
    if isinstance(value, float) and math.isfinite(value):
        return repr(float(value))
    return None


def text(value: Any, column: str, problems: Problems, notes: Notes) -> str | None:
    """Return the text of a value; None for null or when a problem was added."""
    if value is None or isinstance(value, str):
        return value
    spelling = spelled(value)
    if spelling is None:
        problems.append(
            (column, f"expected a text (str, number, bool or null), got {kind(value)}")
        )
    else:
        notes[NUMBER, column] += 1
    return spelling


def texts(
    value: Any, column: str, problems: Problems, notes: Notes, *, passages: bool, cells: bool
) -> tuple[str, ...]:
    """Return the texts of a list field: a list of texts, or one text for a list of one.

    Parameters
    ----------
    passages
        Whether entries may be objects that hold a text (context).
    cells
        Whether a text may be a list written into a table's cell.
    """
    if value is None:
        return ()
    if isinstance(value, str):
        found = cell_list(value) if cells and value.startswith("[") else None
        if found is not None:
            notes[LIST_CELL, column] += 1
        return (value,) if found is None else found
    if isinstance(value, (list, tuple)):
        return tuple(
            entry
            if isinstance(entry, str)
            else _entry(entry, f"{column}[{i}]", problems, notes, passages=passages)
            for i, entry in enumerate(value)
        )
    if isinstance(value, dict):
        return (_entry(value, column, problems, notes, passages=passages),)
    spelling = spelled(value)
    if spelling is None:
        problems.append((column, f"expected a text or a list of texts, got {kind(value)}"))
    else:
        notes[NUMBER, column] += 1
    return () if spelling is None else (spelling,)


def _entry(entry: Any, place: str, problems: Problems, notes: Notes, *, passages: bool) -> str:
    """Return the text of one entry that is not a text itself; "" when a problem was added."""
    if passages and isinstance(entry, dict):
        for key in PASSAGE_KEYS:
            if isinstance(entry.get(key), str):
                notes[PASSAGE, place.partition("[")[0]] += 1
                return str(entry[key])
        keys = ", ".join(map(str, list(entry)[:8])) or "none"
        problems.append(
            (
                place,
                f"expected str, or an object with content, text or page_content; its keys: {keys}",
            )
        )
        return ""
    hint = " (put it in quotes)" if isinstance(entry, (int, float)) else ""
    problems.append((place, f"expected str, got {kind(entry)}{hint}"))
    return ""


def cell_list(cell: str) -> tuple[str, ...] | None:
    """Return the texts of a list in a table's cell, None when the cell is just a text.

    JSON (``["a", "b"]``), Python (``['a', 'b']``) and a printed numpy array (``['a' 'b']``) are
    lists; anything else that starts with a bracket, such as ``[1] says so``, is a text.
    """
    import msgspec

    try:
        return tuple(msgspec.json.decode(cell.encode(), type=list[str]))
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        pass
    if len(cell) > MAX_CELL_LIST or not _PY_LIST.fullmatch(cell.rstrip()):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # '\d' in a text is not worth a warning
            return tuple(ast.literal_eval(item) for item in _PY_ITEM.findall(cell))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None


def label(value: Any, column: str, problems: Problems) -> Label | None:
    """Return the label of a value in any of its usual spellings; None for null or blank."""
    if value is None:
        return None
    word = value.strip().lower() if isinstance(value, str) else spelled(value)
    if word in {"1.0", "0.0"}:  # what a table library makes of 1 and 0 beside empty cells
        word = word[0]
    if word == "":
        return None
    found = LABEL_WORDS.get(word) if word is not None else None
    if found is None:
        problems.append((column, f"expected {LABELS_ALLOWED}; got {shown(value)}"))
    return found


def tags(
    value: Any, column: str, problems: Problems, notes: Notes, *, cells: bool
) -> tuple[str, ...]:
    """Return tags from a list, or from a text with commas or semicolons between them."""
    if isinstance(value, str) and not (
        cells and value.startswith("[") and cell_list(value) is not None
    ):
        return tuple(tag for part in re.split(r"[,;]", value) if (tag := part.strip()))
    return texts(value, column, problems, notes, passages=False, cells=cells)
