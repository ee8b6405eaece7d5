"""Peak memory and seconds of ``closecall eval`` on made files of 10,000 cases and more.

    pip install .
    python benchmarks/memory.py [--sizes 10000 100000 1000000] [--embedder standin|minilm]
        [--ways folder parts parquet] [--labelled] [--json FILE]

Cases are short, seeded and written by this program; every one has an id, a response, one
reference, and with --labelled a label and a group of four. Each size is evaluated in a fresh
process, into a run folder (``folder``), into a parts folder (``parts``), and from Parquet into a
parts folder (``parquet``); a way that this version lacks, or that refuses a size, is not measured
and says why. ``standin`` is an embedder of next to no cost, so that what is left is closecall's
own; ``minilm`` is the bundled model, for 10,000 and 100,000 cases.

Prints the peak, its slope between the sizes in MB per million cases, seconds, seconds per
thousand cases (flat where time is linear), and the bytes on disk per case. The memory of vectors
that a run keeps holds 256 MiB at most; the slope from the second size on is without its filling.

Exits with 0; with 1 when a process fails otherwise than by refusing a size.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import machine
import standin
from child import ChildError, Spent, measured

WAYS = ("folder", "parts", "parquet")
REFUSED = (2, 3)
"""Exit codes of a run that was refused before its first case."""
WORDS = (
    "refund order parcel invoice voucher courier desk shelf lamp kettle cable charger window "
    "garden blue green small large early late north south paid sent lost found moved cancelled "
    "kept twice never today Monday Friday street station ticket platform number"
)


class Task(NamedTuple):
    """A size to measure in a way; ``lacks`` says why this version cannot."""

    way: str
    size: int
    lacks: str | None


def main() -> int:
    """Measure every size in every way and print it."""
    args = _arguments()
    print(__doc__.partition("\n")[0])
    found = machine.facts()
    print(machine.describe(found), "\n", sep="")
    with tempfile.TemporaryDirectory(prefix="closecall-bench-", dir=args.work) as name:
        work = Path(name)
        env = os.environ | {"PYTHONPATH": str(standin.install(work / "plug"))}
        lacks = _lacking(env)
        rows: list[dict[str, Any]] = []
        try:
            for size in args.sizes:
                rows += [
                    _measure(args, env, work, Task(way, size, lacks.get(way))) for way in args.ways
                ]
        except ChildError as error:
            print(f"memory: {error}", file=sys.stderr)
            return 1
    slopes = {way: _slopes([row for row in rows if row["way"] == way]) for way in args.ways}
    _print_slopes(slopes)
    if args.json:
        report = {
            "benchmark": "memory",
            "machine": found,
            "embedder": args.embedder,
            "labelled": args.labelled,
            "seed": args.seed,
            "rows": rows,
            "slopes": slopes,
        }
        Path(args.json).write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return 0


def _lacking(env: dict[str, str]) -> dict[str, str]:
    """Return the ways that this version of closecall does not have, with the reason."""
    argv = [sys.executable, "-m", "closecall", "eval", "--help"]
    shown = subprocess.run(argv, check=True, capture_output=True, text=True, env=env).stdout
    lacks = {}
    if "--parts" not in shown:
        lacks = dict.fromkeys(("parts", "parquet"), "closecall eval has no --parts")
    elif subprocess.run([sys.executable, "-c", "import pyarrow"], check=False).returncode:
        lacks = dict.fromkeys(("parts", "parquet"), "pyarrow is not installed")
    return lacks


def _measure(
    args: argparse.Namespace, env: dict[str, str], work: Path, task: Task
) -> dict[str, Any]:
    way, size = task.way, task.size
    row: dict[str, Any] = {"way": way, "cases": size, "not_measured": task.lacks}
    if row["not_measured"] is None:
        file = work / f"cases-{size}.jsonl"
        if not file.exists():
            write_cases(file, size, args.seed, labelled=args.labelled)
        if way == "parquet":
            file = _as_parquet(file)
        place = work / f"{way}-{size}"
        target = ["--aef", str(place)] if way == "folder" else ["--parts", str(place)]
        argv = [sys.executable, "-m", "closecall", "eval", str(file), "--no-cache", "-q",
                "--embedder", args.embedder, "-o", str(work / "out.json"), *target]  # fmt: skip
        spent = measured(argv, env=env, cwd=work, codes=(0, 1, 11, *REFUSED))
        if spent.code in REFUSED:
            row["not_measured"] = " ".join(spent.said.split())
        else:
            row |= _figures(spent, size, place)
    _print(row)
    return row


def _figures(spent: Spent, size: int, place: Path) -> dict[str, Any]:
    written = sum(path.stat().st_size for path in place.rglob("*") if path.is_file())
    return {
        "peak_mb": spent.peak_mb,
        "wall_s": spent.wall_s,
        "cpu_s": spent.cpu_s,
        "s_per_1000": spent.wall_s / size * 1000,
        "cpu_s_per_1000": spent.cpu_s / size * 1000,
        "bytes_per_case": written / size,
    }


def write_cases(file: Path, size: int, seed: int, *, labelled: bool = False) -> None:
    """Write short made cases, the same ones for the same seed."""
    random, words = Random(seed), WORDS.split()

    def text(least: int, most: int) -> str:
        return " ".join(random.choices(words, k=random.randint(least, most)))

    with file.open("w", encoding="utf-8") as out:
        for number in range(size):
            row: dict[str, Any] = {
                "id": f"case-{number:09}",
                "response": f"{text(4, 12)} {number}",
                "reference": text(3, 8),
            }
            if labelled:
                row |= {"label": random.choice(("accept", "reject")), "group": f"g{number // 4}"}
            out.write(json.dumps(row) + "\n")


def _as_parquet(file: Path) -> Path:
    """Write the same cases as Parquet, by a process of its own: this one is to stay small."""
    made = file.with_suffix(".parquet")
    code = (
        "import sys, pyarrow.json as j, pyarrow.parquet as p; "
        "p.write_table(j.read_json(sys.argv[1]), sys.argv[2], row_group_size=50_000)"
    )
    if not made.exists():
        subprocess.run([sys.executable, "-c", code, str(file), str(made)], check=True)
    return made


def _slopes(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return MB per million cases between each size and the next."""
    done = [row for row in rows if row["not_measured"] is None]
    return [
        {
            "from": small["cases"],
            "to": large["cases"],
            "mb_per_million": (large["peak_mb"] - small["peak_mb"])
            / ((large["cases"] - small["cases"]) / 1e6),
            "s_per_case_ratio": large["s_per_1000"] / small["s_per_1000"],
        }
        for small, large in pairwise(done)
    ]


def _print(row: dict[str, Any]) -> None:
    head = f"  {row['way']:<8}{row['cases']:>10,} cases"
    if row["not_measured"] is not None:
        print(f"{head}  not measured ({row['not_measured']})", flush=True)
        return
    print(
        f"{head}{row['peak_mb']:>9.0f} MB peak{row['wall_s']:>9.1f} s"
        f"{row['s_per_1000']:>9.3f} s per 1,000 ({row['cpu_s_per_1000']:.3f} of CPU)"
        f"{row['bytes_per_case']:>8.0f} bytes a case",
        flush=True,
    )


def _print_slopes(slopes: dict[str, list[dict[str, Any]]]) -> None:
    print()
    for way, steps in slopes.items():
        for step in steps:
            print(
                f"  {way:<8}{step['from']:>10,} to {step['to']:>10,}:"
                f"{step['mb_per_million']:>9.1f} MB per million cases, time per case "
                f"{step['s_per_case_ratio']:.2f} times"
            )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--embedder", choices=(standin.NAME, "minilm"), default=standin.NAME)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--labelled", action="store_true", help="cases with labels and groups")
    parser.add_argument("--seed", type=int, default=1, help="of the cases; default: 1")
    parser.add_argument("--work", metavar="DIR", help="where the files lie meanwhile")
    parser.add_argument("--json", metavar="FILE", help="write every figure there too")
    args = parser.parse_args()
    if min(args.sizes) < 2 or args.sizes != sorted(set(args.sizes)):
        parser.error("--sizes must be at least 2, each larger than the one before")
    return args


if __name__ == "__main__":
    sys.exit(main())
