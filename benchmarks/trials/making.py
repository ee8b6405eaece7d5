"""What the trials of commands are made of: cases, and what of their files must be the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from closecall.atomic import PREFIX

CASES = 60
COLOURS = ("red", "green", "blue", "grey")
BIRDS = ("heron", "sparrow", "magpie", "robin", "swift")
_TIMES = (
    "runId", "resultId", "startedAt", "endedAt", "durationMs", "sealedAt", "closedAt", "recorded",
    "run_id", "started_at", "ended_at", "created_at", "labelled_at", "at", "created", "time",
    "StartedAt", "EndedAt", "RunId", "RunFolder", "startTime", "endTime", "Dataset",
    "latency_ms", "check", "replayed", "replayed_prompt_tokens", "replayed_completion_tokens",
    "notSpent", "answered", "spent", "spending",
)  # fmt: skip
"""Members that two runs of the same work may differ in: times, ids, where something lies, and what
the process that ended a run asked anew or took from a recording."""


def row(at: int, *, answered: bool = True, label: bool = False) -> dict[str, Any]:
    """Return a case; every fourth answer is a wrong one."""
    colour, bird = COLOURS[at % 4], BIRDS[at % 5]
    wrong = at % 4 == 3
    made: dict[str, Any] = {
        "id": f"case-{at:03}",
        "input": f"Which bird sits on pole {at}?",
        "references": [f"a {colour} {bird} on pole {at}"],
    }
    if answered:
        made["response"] = (
            f"nobody looked up there at all {at}"
            if wrong
            else f"there is a {colour} {bird} on pole {at}"
        )
    if label:
        made["label"] = "reject" if wrong else "accept"
    return made


def write_cases(path: Path, count: int = CASES, **more: bool) -> None:
    """Write a file of cases."""
    lines = (json.dumps(row(at, **more)) for at in range(count))
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def without_times(value: Any) -> Any:
    """Return a value without what two runs of the same work may differ in."""
    if isinstance(value, dict):
        return {k: without_times(v) for k, v in value.items() if k not in _TIMES}
    return [without_times(one) for one in value] if isinstance(value, list) else value


def lines_of(path: Path) -> list[Any]:
    """Return the whole lines of a file of JSON lines; none where there is no file."""
    if not path.exists():
        return []
    whole = path.read_bytes().rpartition(b"\n")[0]
    return [json.loads(line) for line in whole.split(b"\n") if line]


def content(folder: Path) -> dict[str, Any]:
    """Return every file of a folder by name: JSON without times, all else as bytes.

    Left out is what every reader passes over: a file that was being written by what was killed.
    """
    return {
        path.relative_to(folder).as_posix(): read(path, folder.parent)
        for path in sorted(folder.rglob("*"))
        # A seal has the hashes of files that hold times; ``verify`` looks at it.
        if path.is_file() and path.name != "seal.json" and not path.name.startswith(PREFIX)
    }


def read(path: Path, home: Path) -> Any:
    """Return a file: JSON without times and without where ``home`` is, all else as bytes."""
    data = path.read_bytes()
    if path.suffix not in {".json", ".ndjson", ".jsonl"}:
        return data.hex()
    text = data.decode().replace(str(home), "HOME")
    if path.suffix == ".json":
        return without_times(json.loads(text))
    return [without_times(json.loads(line)) for line in text.splitlines()]


def half_json(*paths: Path) -> list[str]:
    """Return those of some files that are there and are not whole JSON."""
    found = []
    for path in paths:
        if path.exists():
            try:
                json.loads(path.read_bytes())
            except ValueError:
                found.append(f"{path.name} is half there")
    return found
