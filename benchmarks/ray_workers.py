"""Two local workers of a Ray against one process: the same numbers, and how much sooner.

    pip install '.[ray]'
    python benchmarks/ray_workers.py [--cases 100000] [--embedder minilm|static:FOLDER|hash]
        [--part 4096] [--ways NAMES] [--json FILE]

Cases are made, seeded and of a support desk: an id, an answer and a reference of one sentence
each. Each way runs in a process of its own, without a cache of vectors, and says the seconds of
the whole call (reading, starting Ray, measuring, closing) and of the measuring alone, from the
first progress to the last. In ``killed`` one of two workers is killed with SIGKILL once half of
the cases are done. What each way came to (every id, state, value, score and reason, in order, and
all counts) is compared by its digest.

One process with two threads already uses two cores, so on a machine of two cores two workers of
one thread each can at best equal it; what a second worker brings shows against one worker, or one
process, of one thread.

Exits with 0; with 1 when a way came to other numbers or failed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from typing import Any

import machine
import texts

METRICS = ["embed_answer_similarity", "answer_alignment"]

WAYS = {
    "process_2": "one process, 2 threads",
    "process_1": "one process, 1 thread",
    "workers_1": "Ray, 1 worker of 1 thread",
    "workers_2": "Ray, 2 workers of 1 thread",
    "killed": "Ray, 2 workers of 1 thread, one killed half-way",
}


def write_cases(place: Path, count: int) -> None:
    """Write a Parquet file of cases; a third of the answers is the reference in other words."""
    import pyarrow as pa
    import pyarrow.parquet

    random = Random(17)
    pool = texts.short(min(2 * count, 200_000), seed=5)
    rows: dict[str, list[str]] = {"id": [], "response": [], "reference": []}
    for number in range(count):
        answer, other = pool[(2 * number) % len(pool)], pool[(2 * number + 1) % len(pool)]
        answer = f"{answer} Case {number}."
        rows["id"].append(f"case-{number}")
        rows["response"].append(answer)
        rows["reference"].append(other if random.random() < 2 / 3 else f"{answer} Thank you.")
    pa.parquet.write_table(pa.table(rows), place, row_group_size=8192)


def run_way(way: str, source: str, embedder: str, part: int) -> dict[str, Any]:
    """Do one way in this process; return its seconds and what it came to."""
    from closecall.testing import HashEmbedder

    used: Any = HashEmbedder() if embedder == "hash" else embedder
    threads = 2 if way == "process_2" else 1
    seen: list[float] = []
    killed: list[int] = []
    notices: list[str] = []

    def progress(done: int, total: int) -> None:
        seen.append(time.perf_counter())
        if way == "killed" and not killed and done >= total / 2:
            killed.append(kill_one())

    with tempfile.TemporaryDirectory(prefix="cc") as place:
        started = time.perf_counter()
        if way.startswith("process"):
            from closecall import evaluate
            from closecall.runs.parts.folder import PartsFolder

            run = evaluate(
                source,
                METRICS,
                used,
                aef=PartsFolder(Path(place) / "parts", cases=part),
                threads=None if embedder == "hash" else threads,
                cache=False,
                progress=progress,
            )
        else:
            from closecall.ray import evaluate_dataset

            run = evaluate_dataset(
                source,
                METRICS,
                used,
                output=Path(place) / "parts",
                concurrency=1 if way == "workers_1" else 2,
                part_size=part,
                progress=progress,
                on_notice=notices.append,
            )
        seconds = time.perf_counter() - started
        digest, rows = came_to(run)
    return {
        "way": way,
        "seconds": round(seconds, 2),
        "measuring_s": round(seen[-1] - seen[0], 2),
        "cases": rows,
        "digest": digest,
        "killed": killed,
        "notices": notices,
    }


def came_to(run: Any) -> tuple[str, int]:
    """Return the digest of all that a run came to, and how many cases it has."""
    hashed, count = hashlib.sha256(), 0
    for row in run:
        count += 1
        facts: list[Any] = [row.case.id, row.state.value, row.score]
        for result in row.results:
            found = result.measurement
            facts += [result.metric, result.state.value, result.reason, result.borderline]
            facts += [getattr(found, name, None) for name in ("similarity", "value", "score")]
        hashed.update(json.dumps(facts).encode())
    for metric in run.metrics:
        hashed.update(repr([metric.metric, metric.measured, metric.mean, metric.median]).encode())
    hashed.update(repr(run.cases).encode())
    return hashed.hexdigest(), count


def kill_one() -> int:
    """Kill one worker of the Ray that this process started; return its process id."""
    parents: dict[int, int] = {}
    workers = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        try:
            parents[int(entry.name)] = int(
                (entry / "stat").read_text().rpartition(")")[2].split()[1]
            )
            if (entry / "cmdline").read_bytes().startswith(b"ray::MapWorker"):
                workers.append(int(entry.name))
        except OSError:
            continue
    own = [pid for pid in workers if parents.get(parents.get(pid, 0)) == os.getpid()]
    os.kill(own[0], signal.SIGKILL)
    return own[0]


def main() -> int:
    """Run every way in its own process, print the table, and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--embedder", default="minilm")
    parser.add_argument("--part", type=int, default=4096)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--one", nargs=2, metavar=("WAY", "FILE"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps(run_way(*asked.one, asked.embedder, asked.part)))
        return 0
    found: dict[str, Any] = {
        "machine": machine.facts(),
        "cases": asked.cases,
        "embedder": asked.embedder,
        "metrics": METRICS,
        "part": asked.part,
        "ways": [],
    }
    print(machine.describe(found["machine"]))
    with tempfile.TemporaryDirectory(prefix="cc") as place:
        source = Path(place) / "cases.parquet"
        write_cases(source, asked.cases)
        for way in asked.ways:
            argv = [
                sys.executable, __file__, "--embedder", asked.embedder, "--part", str(asked.part),
                "--one", way, str(source),
            ]  # fmt: skip
            done = subprocess.run(argv, check=False, capture_output=True, text=True)
            if done.returncode:
                print(f"{WAYS[way]}: failed\n{done.stderr[-2000:]}")
                return 1
            found["ways"].append(json.loads(done.stdout.splitlines()[-1]))
    show(found)
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    return 0 if found["equal"] else 1


def show(found: dict[str, Any]) -> None:
    """Print a row a way, each against the first of one thread, and whether all are equal."""
    ways = {one["way"]: one for one in found["ways"]}
    base = ways.get("process_1") or found["ways"][0]
    print(f"\n{found['cases']:,} cases, {found['embedder']}, {', '.join(found['metrics'])}")
    print(f"{'':50}{'whole, s':>10}{'measuring, s':>14}{'cases/s':>9}{'speed-up':>10}")
    for one in found["ways"]:
        one["cases_per_s"] = round(one["cases"] / max(one["measuring_s"], 1e-9), 1)
        one["speed_up"] = round(base["measuring_s"] / max(one["measuring_s"], 1e-9), 2)
        print(
            f"{WAYS[one['way']]:50}{one['seconds']:10.1f}{one['measuring_s']:14.1f}"
            f"{one['cases_per_s']:9,.0f}{one['speed_up']:10.2f}"
        )
    found["equal"] = len({one["digest"] for one in found["ways"]}) == 1
    print(f"speed-up is of the measuring, against {WAYS[base['way']]}")
    if (found["machine"]["cores"] or 0) <= 2:
        print("this machine has 2 cores, which one process with 2 threads uses already")
    for one in found["ways"]:
        for notice in one["notices"]:
            print(f"{WAYS[one['way']]}: {notice}")
    print("every number is the same" if found["equal"] else "THE NUMBERS DIFFER")


if __name__ == "__main__":
    sys.exit(main())
