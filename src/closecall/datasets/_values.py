"""One value from a file to one value of a case, or the sentence that says why not.

Numbers and booleans where a text belongs are taken as their JSON spelling and counted; null is
absence; an object is refused, except a context entry that holds its text under a usual key.
"""

from __future__ import annotations

import ast
import contextlib
import json
import math
import re
import warnings
from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec

from closecall.datasets._fields import LABEL_WORDS, LABELS_ALLOWED, PASSAGE_KEYS
from closecall.datasets._strict import flaws_of, parse, too_much
from closecall.records import Label

NUMBER = "number"
PASSAGE = "passage"
LIST_CELL = "list cell"
REPEATED = "repeated"
RENAMED = "renamed"
ENCODED = "encoded"
SHORTENED = "shortened"

EXAMPLES = 3
"""Ids named of those that were changed."""


class Notes(Counter[tuple[str, str]]):
    """How often something worth telling happened: (what, column) to times.

    ``renamed`` has the first few ids that an earlier case had, each with what it became.
    """

    def __init__(self) -> None:
        super().__init__()
        self.renamed: list[tuple[str, str]] = []


Problems = list[tuple[str, str]]
"""(field, message) of everything wrong with one row."""

MAX_CELL_LIST = 1 << 20
"""Characters; a longer cell is never taken for a list written by Python."""

_PY_STRING = r"(?:'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\")"
_PY_ITEM = re.compile(rf"({_PY_STRING})(\s*,\s*|\s*)", re.DOTALL)
_PY_TOKEN = re.compile(
    rf"\s*({_PY_STRING}|True\b|False\b|None\b|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|[\[\]{{}}:,])",
    re.DOTALL,
)
_AS_JSON = {"True": "true", "False": "false", "None": "null"}


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
    if cells:
        value = unfolded(value, column, problems, notes)
    if isinstance(value, str):
        return (value,)
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


def unfolded(value: Any, column: str, problems: Problems, notes: Notes) -> Any:
    """Return the list that is written in a table's cell, any other value as it is.

    JSON (``["a", {"text": "b"}]``), texts and objects as Python lists them (``['a', 'b']``,
    ``[{'text': 'b'}]``) and a printed numpy array of texts (``['a' 'b']``) are lists; anything
    else that starts with a bracket, such as ``[1] says so``, is a text. The list is empty when a
    problem was added.
    """
    if not isinstance(value, str) or not value.startswith("["):
        return value
    found: Sequence[Any] | None
    try:
        found = msgspec.json.decode(value, type=list[str])
    except msgspec.DecodeError:
        found = _careful_list(value, column, problems)
    if found is None:
        return value
    notes[LIST_CELL, column] += 1
    return found


def _careful_list(cell: str, column: str, problems: Problems) -> Sequence[Any] | None:
    try:
        found = _written_list(cell)
    except (RecursionError, ValueError) as error:
        problems.append((column, too_much(error)))
        return ()
    flaws = flaws_of({column: found})
    problems.extend(flaws)
    return () if flaws else found


def _written_list(cell: str) -> Any:
    """Return the list that a cell holds in JSON or as Python prints it, None when it is a text.

    Raises
    ------
    RecursionError, ValueError
        A list, but too much of one.
    """
    with contextlib.suppress(json.JSONDecodeError):
        return parse(cell)
    texts = _python_list(cell)
    if texts is not None:
        return texts
    with contextlib.suppress(json.JSONDecodeError):
        return parse(_python_as_json(cell))
    return None


def _python_as_json(cell: str) -> str:
    """Return a list with objects as Python prints it in the spelling of JSON, else "".

    Token by token, in one pass; whether they make a list is for the parser of JSON to say, which
    knows no sets, no calls and no keys but texts.
    """
    if len(cell) > MAX_CELL_LIST or "{" not in cell:
        return ""
    tokens: list[str] = []
    end = 0
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            while found := _PY_TOKEN.match(cell, end):
                token = found[1]
                end = found.end()
                tokens.append(
                    json.dumps(ast.literal_eval(token))
                    if token[0] in "'\""
                    else _AS_JSON.get(token, token)
                )
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return ""
    return "" if cell[end:].strip() else " ".join(tokens)


def _python_list(cell: str) -> list[str] | None:
    """Return the texts of a list as Python or numpy prints it, None when the cell is none.

    One pass, item by item: no step looks at a character that an earlier one went over.
    """
    if len(cell) > MAX_CELL_LIST:
        return None
    items: list[str] = []
    gaps: list[str] = []
    end = len(cell) - len(cell[1:].lstrip())
    while found := _PY_ITEM.match(cell, end):
        items.append(found[1])
        gaps.append(found[2])
        end = found.end()
    commas = ["," in gap for gap in gaps]
    even = all(commas[:-1]) or (not any(commas) and all(gaps[:-1]))
    if not items or not even or cell[end:].rstrip() != "]":
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # '\d' in a text is not worth a warning
            return [ast.literal_eval(item) for item in items]
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
    if cells:
        value = unfolded(value, column, problems, notes)
    if isinstance(value, str):
        return tuple(tag for part in re.split(r"[,;]", value) if (tag := part.strip()))
    return texts(value, column, problems, notes, passages=False, cells=False)
