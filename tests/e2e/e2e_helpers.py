"""Case files of any size, runs in processes of their own, and what of a run may differ."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import closecall

SOURCE = str(Path(closecall.__file__).resolve().parent.parent)
SLOW_RUN = str(Path(__file__).parent / "slow_run.py")
METRICS = "embed_answer_similarity,embed_response_context"
NOT_OURS = ("runId", "resultId", "startedAt", "endedAt", "durationMs", "sealedAt", "closedAt")


def environment(**changes):
    """The variables of a child: the caller's, with changes; None removes one."""
    path = os.pathsep.join(filter(None, [SOURCE, os.environ.get("PYTHONPATH")]))  # and the guard's
    wanted = os.environ | {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"} | changes
    wanted.pop("ORT_DISABLE_TELEMETRY", None)  # set by closecall in this process; ours to prove
    return {name: value for name, value in wanted.items() if value is not None}


def cli(*arguments, cwd=None, env=None, timeout=240):
    """Run the command line in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "closecall", *map(str, arguments)],
        cwd=cwd,
        env=env or environment(),
        capture_output=True,
        encoding="utf-8",
        timeout=timeout,
        check=False,
    )


def start(*command, env=None, cwd=None):
    """Start a process that can be killed and interrupted, whatever the test runner ignores."""
    return subprocess.Popen(
        [sys.executable, *map(str, command)],
        cwd=cwd,
        env=env or environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509 - no threads
    )


def wait_for(ready, process=None, seconds=120):
    """Wait until something is there; fail when it does not come, or the process ends first."""
    end = time.monotonic() + seconds
    while not ready():
        if process is not None and process.poll() is not None:
            raise AssertionError(f"ended first: {process.communicate()}")
        if time.monotonic() > end:
            raise AssertionError("it did not come")
        time.sleep(0.002)


_RESPONSES = {2: "Bananas grow in bunches.", 5: ""}


def row(index, distinct=97):
    """A case whose texts recur; some have no reference, no response or no context."""
    kind = index % distinct
    return {
        "id": f"case-{index}",
        "input": f"question {kind}",
        "response": _RESPONSES.get(kind, f"the answer {kind} is {'yes' if kind % 2 else 'no'}"),
        "references": [] if kind == 7 else [f"answer {kind} no", f"answer {kind + 1} yes"],
        "context": [] if kind == 9 else [f"passage {kind}", "another passage"],
        "label": ("accept", "reject")[kind % 2],
        "group": f"g{kind}",
    }


def write_cases(path, count, distinct=97, bad=()):
    """Write a JSONL file of cases; rows numbered in ``bad`` (from 1) have a broken reference."""
    with Path(path).open("w", encoding="utf-8") as out:
        for index in range(count):
            made = row(index, distinct)
            if index + 1 in bad:
                made["references"] = ["fine", {"not": "a text"}]
            out.write(json.dumps(made) + "\n")
    return path


def write_unique(path, count):
    """Write a JSONL file in which no text occurs twice."""
    with Path(path).open("w", encoding="utf-8") as out:
        for index in range(count):
            made = {
                "id": index,
                "response": f"The parcel number {index} left the depot {index * 7} this morning.",
                "reference": f"Parcel {index} was sent today from depot {index * 7}.",
            }
            out.write(json.dumps(made) + "\n")
    return path


def same_but_times(value):
    """The value without times and ids, everywhere in it; order and spelling of numbers stay."""
    if isinstance(value, dict):
        return {k: same_but_times(v) for k, v in value.items() if k not in NOT_OURS}
    return [same_but_times(v) for v in value] if isinstance(value, list) else value


def normalised(folder):
    """Everything a run folder holds, apart from times and ids."""
    found = {}
    for path in sorted(Path(folder).rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_dir() or name == "seal.json":
            continue
        lines = path.read_bytes().split(b"\n")
        found[name] = (
            [
                json.dumps(same_but_times(json.loads(line, parse_float=str, parse_int=str)))
                for line in lines
                if line
            ]
            if name.endswith(".ndjson")
            else same_but_times(json.loads(path.read_bytes(), parse_float=str))
        )
    config = found["run.json"]["config"]["closecall"]
    for name in ("run_id", "started_at", "ended_at"):
        config.pop(name)
    return found


def lines_of(folder):
    """How many whole results a run folder holds by now."""
    place = Path(folder) / "results.ndjson"
    return place.read_bytes().count(b"\n") if place.exists() else 0


def only_run(home):
    """The one run folder under .closecall/runs."""
    (found,) = [p for p in (Path(home) / ".closecall" / "runs").iterdir() if p.is_dir()]
    return found
