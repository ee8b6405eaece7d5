"""A small run that is the same each time, and the format's own checker when it is at hand."""

import importlib.util
import json
import os
import sys
from functools import cache
from pathlib import Path

import pytest

from closecall.records import Case, Label, State
from closecall.runs.aef import result_line, score, summary_document
from closecall.runs.caselines import case_line
from closecall.runs.folder import RunFolder
from closecall.runs.tally import Tally
from closecall.runs.values import encode_ref

RUN_ID = "run-test-1"
PATHS = ("closeness", "context/match")
STARTED = "2026-03-01T10:00:00.000001Z"
ENDED = "2026-03-01T10:05:00Z"
STATES = [state.value for state in State]


def header(**changes):
    return {
        "runId": RUN_ID,
        "producer": {"name": "closecall", "version": "0.0.1"},
        "subject": {"ref": encode_ref("agent", "help desk"), "kind": "agent", "version": "7"},
        "suite": {"ref": "suite:desk", "version": "1", "digest": "sha256:" + "0" * 64},
        "config": {"embeddingModel": "tiny", "embeddingProvider": "local"},
        "startedAt": STARTED,
        "execution": {"targetMode": "replayed", "stimulus": "suite"},
        "contentCapture": "on",
    } | changes


def metrics():
    scale = {"min": 0, "max": 100}
    shared = {"direction": "higher_better", "scale": scale}
    rate = {"id": "pass-rate", "kind": "rate", "direction": "higher_better", "scale": "unbounded"}
    return [*({"id": path, "kind": "score", **shared} for path in PATHS), rate]


def case(index, text="Where is my parcel? "):
    return Case(
        id=f"case-{index}",
        input=text * (index % 5),
        response=f"Löst sich morgen \u2028 {index} \U0001f4e6",
        references=("tomorrow", "the day after"),
        label=Label.ACCEPT if index % 2 else None,
        place=f"cases.jsonl:{index + 1}",
    )


def result(case_id, path, state, value=None, reason=None):
    measured = State(state).measured
    return result_line(
        RUN_ID,
        case_id,
        path,
        (f"closecall.{path}", "1+abc"),
        state,
        reason=reason or (None if measured else "there was no answer"),
        scores=[score(path, value)] if measured and value is not None else None,
    )


def results_of(index):
    return [
        result(f"case-{index}", path, STATES[(index * 7 + k) % len(STATES)], index * 0.1 + k)
        for k, path in enumerate(PATHS)
    ]


def summary(lines):
    kinds = {m["id"]: m["kind"] for m in metrics()}
    tallies = [Tally(m, kinds[m], p) for p in PATHS for m in (p, "pass-rate")]
    for line in lines:
        for tally in tallies:
            tally.add(line)
    return summary_document(RUN_ID, {"quality": [tally.entry() for tally in tallies]})


def fill(folder, upto, batch=1):
    """Go on with the small run until it has this many cases."""
    while folder.done < upto:
        some = range(folder.done, min(folder.done + batch, upto))
        folder.append_case([case_line(case(i)) for i in some])
        folder.append([line for i in some for line in results_of(i)])


def close(folder, **how):
    folder.sync()
    lines = [json.loads(x) for x in (folder.path / "results.ndjson").read_bytes().splitlines()]
    folder.close(summary=summary(lines), **({"ended_at": ENDED} | how))


def finished(path, cases=12, batch=1, **changes):
    with RunFolder.create(path, header(**changes), metrics()) as folder:
        fill(folder, cases, batch)
        close(folder)
    return Path(path)


def content(path):
    """Everything of a run that does not depend on when it ran."""
    names = ("results.ndjson", "metrics.json", "summary.json", "run.json")
    texts = "ext/closecall/cases.ndjson"
    return {name: (Path(path) / name).read_bytes() for name in (*names, texts)}


@cache
def _checker(folder):
    spec = importlib.util.spec_from_file_location("aef_check", folder / "check.py")
    module = importlib.util.module_from_spec(spec)
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        spec.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = before
    schemas, _ = module.load_schemas()
    return lambda run: module.check_run(run, schemas)


def reference(shared_data):
    folder = shared_data.parent / "reference" / "aef"
    if folder.is_dir():
        return folder
    absent = f"no reference of the format at {folder}"
    return pytest.fail(absent) if os.environ.get("CI") == "true" else pytest.skip(absent)


def checker(shared_data):
    """The independent checker of the run format: a folder in, a list of problems out."""
    return _checker(reference(shared_data))
