"""The texts of each case, one case a line, so that a run can be reported from its folder alone.

A line is at most 4 MiB. Texts beyond that are cut and the line says so: ``truncated`` names the
members and the number of characters kept of each of their texts. These lines serve reports;
scores are computed from the whole texts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from closecall.calibration.labels.items import BY_ROW, group_of
from closecall.errors import RunFolderError
from closecall.records import Case, Label
from closecall.runs.kept_metadata import keep_metadata, left_out_json
from closecall.runs.values import case_id
from closecall.runs.wire import MAX_LINE, dump_line

FILED = "caseId"
"""The id a case's results are filed under; written when it is not simply the case's ``id``."""

RESPONSES = "responses"
"""The responses of all runs of a repeated case."""

METADATA = "metadata"
"""What is short of a case's metadata."""

LEFT_OUT = "metadataLeftOut"
"""How many fields of the metadata are not kept, and the first of them."""

BESIDE = "beside"
"""What a merge needs to know of a case that its lines do not say; see ``beside``."""

_WHOLE = frozenset({FILED, "label", METADATA, LEFT_OUT, BESIDE})
"""Members that are never cut: they are short, or a part of them would be something else."""

_TEXTS = ("id", "input", "response", "group", "place")
_LISTS = ("references", "context", "tags")


class SpelledCase(NamedTuple):
    """A case whose line, all of its texts in it, is spelled already; ``line`` makes it anew."""

    data: bytes
    line: Callable[[], Mapping[str, Any]]


def case_line(case: Case, responses: Sequence[str | None] = ()) -> dict[str, Any]:
    """Return the line of a case; members without a value are left out.

    Of the metadata what is short is kept (``keep_metadata``), and the rest named. ``responses``
    are those of each run of a repeated case, None where there was none.
    """
    kept, left_out = keep_metadata(case.metadata)
    members: dict[str, Any] = {
        "id": case.id,
        "input": case.input,
        "response": case.response,
        RESPONSES: list(responses) or None,
        "references": list(case.references) or None,
        "context": list(case.context) or None,
        "label": None if case.label is None else case.label.value,
        "group": case.group,
        "tags": list(case.tags) or None,
        "place": case.place or None,
        METADATA: kept or None,
        LEFT_OUT: left_out_json(left_out) if left_out else None,
    }
    return {name: value for name, value in members.items() if value is not None}


def line_of(line: Mapping[str, Any] | SpelledCase) -> Mapping[str, Any]:
    """Return a line as its members, whichever way it was given."""
    return line.line() if isinstance(line, SpelledCase) else line


def without_texts(line: Mapping[str, Any]) -> dict[str, Any]:
    """Return the line with what is no text of the case: its id and label.

    A labelled case also keeps 16 hex digits that stand for its group, so that the error rates
    counted over such lines have the intervals they had.
    """
    kept = {name: line[name] for name in ("id", "label", BESIDE) if name in line}
    return kept | _group(line) if "label" in kept else kept


def _group(line: Mapping[str, Any]) -> dict[str, str]:
    name, way = group_of(read_case(line))
    if way == BY_ROW:
        return {}
    spelt = name.encode("utf-8", errors="surrogatepass")
    return {"group": hashlib.sha256(spelt).hexdigest()[:16]}


def read_case(line: Mapping[str, Any]) -> Case:
    """Return the case a line stands for, as far as its texts were kept.

    Raises
    ------
    RunFolderError
        A member of the wrong type; the caller adds the place.
    """
    for name in _TEXTS:
        if not isinstance(line.get(name), str | None):
            raise RunFolderError(f"{name}: expected a text")
    for name in _LISTS:
        value = line.get(name, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise RunFolderError(f"{name}: expected a list of texts")
    metadata = line.get(METADATA, {})
    if not isinstance(metadata, dict):
        raise RunFolderError(f"{METADATA}: expected an object")
    label = line.get("label")
    if line.get("id") is None or label not in (None, *Label):
        raise RunFolderError("id is missing, or label is neither accept nor reject")
    return Case(
        id=line["id"],
        input=line.get("input"),
        response=line.get("response"),
        references=tuple(line.get("references", ())),
        context=tuple(line.get("context", ())),
        label=None if label is None else Label(label),
        group=line.get("group"),
        tags=tuple(line.get("tags", ())),
        place=line.get("place") or "",
        metadata=metadata,
    )


def read_responses(line: Mapping[str, Any]) -> tuple[str | None, ...]:
    """Return the responses of all runs of a repeated case, as far as they were kept.

    Raises
    ------
    RunFolderError
        Something else stands there; the caller adds the place.
    """
    found = line.get(RESPONSES, [])
    if not isinstance(found, list) or not all(isinstance(one, str | None) for one in found):
        raise RunFolderError(f"{RESPONSES}: expected a list of texts or null")
    return tuple(found)


def filed_id(line: Mapping[str, Any]) -> object:
    """Return the ``caseId`` of the results of this line's case, as far as the line tells."""
    return line.get(FILED, line.get("id"))


def dump_case(line: Mapping[str, Any], limit: int = MAX_LINE) -> bytes:
    """Return the line's bytes, its texts cut until it has at most ``limit`` bytes without LF.

    ``line`` has an ``id`` and any other members. When even the shortest texts do not fit (a list
    of a million of them), or with limit 0, only what ``without_texts`` leaves and the mark are
    left.
    """
    filed = case_id(line["id"])
    if filed != line["id"]:
        line = {**line, FILED: filed}
    whole = dump_line(line)
    if len(whole) <= limit + 1:
        return whole
    best = b""
    # The longest cap that fits: the line shrinks as the cap falls.
    texts = {name: value for name, value in line.items() if name not in _WHOLE}
    fits, too_long = 0, max(map(len, _texts(texts)), default=0)
    while too_long - fits > 1:
        cap = (fits + too_long) // 2
        candidate = dump_line(_cut_line(line, cap))
        if len(candidate) <= limit + 1:
            fits, best = cap, candidate
        else:
            too_long = cap
    return best or _bare(line, filed)


def _bare(line: Mapping[str, Any], filed: str) -> bytes:
    dropped = [name for name in line if name not in {"id", "label", FILED}]
    kept = without_texts({name: value for name, value in line.items() if value is not None})
    mark = {"truncated": {"characters": 0, "members": dropped}}
    return dump_line(kept | {"id": filed} | mark)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list | tuple):
        for child in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(child)


def _cut_line(line: Mapping[str, Any], cap: int) -> dict[str, Any]:
    kept = {name: v if name in _WHOLE else _cut(v, cap) for name, v in line.items()}
    shortened = [name for name in line if any(len(text) > cap for text in _texts(line[name]))]
    members = [name for name in shortened if name not in _WHOLE]
    return kept | {"truncated": {"characters": cap, "members": members}}


def _cut(value: Any, cap: int) -> Any:
    if isinstance(value, str):
        return value[:cap]
    if isinstance(value, Mapping):
        return {name: _cut(child, cap) for name, child in value.items()}
    return [_cut(child, cap) for child in value] if isinstance(value, list | tuple) else value
