"""The contract of a format's reader: rows with the place they stand at, as often as asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol, runtime_checkable

from closecall.datasets._strict import Flaws
from closecall.errors import DatasetError


class Source(Protocol):
    """Rows of one file. ``prefix + where + suffix`` is a row's place."""

    @property
    def prefix(self) -> str:
        """What stands before a row's number in its place."""
        ...

    @property
    def suffix(self) -> str:
        """What stands after it."""
        ...

    @property
    def header(self) -> tuple[str, ...]:
        """The columns, where a format names them once; else empty."""
        ...

    @property
    def reading(self) -> tuple[str, ...]:
        """Sentences about how the file's form was taken."""
        ...

    def rows(
        self, *, check: bool = True
    ) -> Iterator[tuple[int | str, dict[str, Any] | None, Flaws]]:
        """Yield the rows in file order; each call starts anew.

        ``check=False`` may let rows pass that are bad, for a look at the columns.
        """
        ...


@runtime_checkable
class OfFiles(Protocol):
    """A source that may be several files."""

    @property
    def size(self) -> int:
        """Bytes of all of them."""
        ...

    def sha256(self) -> str:
        """Return what stands for their bytes."""
        ...


LIST_KEYS = (
    "cases",
    "data",
    "examples",
    "items",
    "rows",
    "test_cases",
    "tests",
    "goldens",
    "samples",
    "records",
    "questions",
    "dataset",
)


def rows_of(document: Any, file: str) -> tuple[list[Any], tuple[str, ...]]:
    """Return the rows of a JSON or YAML document and how they were found.

    A list of objects; an object with one list of objects under a usual name (spelled in any
    way, like a column's); the output of promptfoo, which has the list two levels down; or an
    object that is itself one case.

    Raises
    ------
    DatasetError
        The document is something else; the message says what it looks like.
    """
    from closecall.datasets._fields import TEXT_FIELDS, field_of
    from closecall.datasets._values import kind

    if isinstance(document, list):
        return document, ()
    if not isinstance(document, dict):
        raise DatasetError(
            f"{file}: holds one {kind(document)}. Write a list of objects, one for each case"
        )
    keys = ", ".join(f"`{key}`" for key in list(document)[:12]) or "none"
    texts = [key for key in document if field_of(key) in (*TEXT_FIELDS, "answer")]
    if texts and all(isinstance(document[key], (dict, list)) for key in texts) and _tall(document):
        raise DatasetError(
            f"{file}: looks like a table written column by column. Write one object for each "
            "case; with pandas: df.to_json('cases.jsonl', orient='records', lines=True)"
        )
    found = _lists_of(document)
    if len(found) == 1 and not texts:
        ((name, rows),) = found.items()
        if not rows:
            raise DatasetError(f"{file}: its list `{name}` is empty. It needs at least one case")
        _refuse_promptfoo(document, file)
        return rows, (f"the cases are the list under `{name}`",)
    if texts:
        return [document], ("the file is one object, read as one case",)
    _refuse_promptfoo(document, file)
    if len(found) > 1:
        raise DatasetError(
            f"{file}: {', '.join(f'`{k}`' for k in found)} are all lists; which holds the cases "
            "cannot be told. Keep one of them in the file"
        )
    if document and all(isinstance(v, dict) for v in document.values()):
        inner = {key for value in document.values() for key in value}
        if "class" in inner or "args" in inner:
            raise DatasetError(
                f"{file}: is a registry of OpenAI evals (names, classes, arguments), not cases. "
                "Give the file of samples it names, for example its samples_jsonl"
            )
    raise DatasetError(
        f"{file}: is one object without a list of cases; its keys: {keys}. Write a list of "
        f"objects, or an object with that list under one of: {', '.join(LIST_KEYS)}"
    )


def _lists_of(document: dict[str, Any]) -> dict[str, list[Any]]:
    """Return the lists under a usual name; without any, the list promptfoo's output has inside."""
    from closecall.datasets._fields import plain

    usual = {plain(key) for key in LIST_KEYS}
    found = {k: v for k, v in document.items() if isinstance(v, list) and plain(k) in usual}
    results = document.get("results")
    inner = results.get("results") if isinstance(results, dict) else None
    return {"results.results": inner} if not found and isinstance(inner, list) else found


def _tall(document: dict[str, Any]) -> bool:
    """Return whether all values are columns: lists, or objects of row numbers, of one length."""
    sizes = {len(v) for v in document.values() if isinstance(v, (list, dict))}
    columns = all(
        isinstance(v, list) or (isinstance(v, dict) and all(key.isdecimal() for key in v))
        for v in document.values()
    )
    return columns and len(sizes) == 1


def _refuse_promptfoo(document: dict[str, Any], file: str) -> None:
    if {"prompts", "providers"} & document.keys() and (
        {"tests", "defaultTest", "scenarios"} & document.keys()
    ):
        raise DatasetError(
            f"{file}: is a promptfoo configuration: prompts and tests for a model still to be "
            "asked, no responses. Ask the model first (promptfoo eval -o results.json), and give "
            "the file it writes with --map response=response.output --map input=vars.NAME "
            "--map reference=testCase.assert.0.value"
        )
