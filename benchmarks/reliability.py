"""Kills, faults, hostile input and load: what was tried, and what held.

    pip install '.[parquet]'
    python benchmarks/reliability.py [--only kills faults inputs load memory]
        [--quick | --scale SHARE] [--seed NUMBER] [--json FILE]

kills   Commands that write are killed (SIGKILL, SIGTERM, SIGINT) at random points, some several
        times in a row, and gone on with. A kill is survived where nothing finished is lost,
        nothing is half there, and the end is that of a run which nothing interrupted.
faults  The same commands on machines that fail: full disks, read-only folders, no locks, failing
        flushes and renames, a clock that goes back, few open files, two processes at once; and
        streams that close, names of bytes, little memory, thousands of files, an embedder without
        memory. A fault is handled where the command copes, or says which file is at fault and
        leaves all as it was.
inputs  Every reader of files is given damaged input: it reads it, or refuses it with a typed
        error that names the file. Anything else is a crash. The labelling page is sent requests
        of every shape, beside clients that stall.
load    Many processes on one cache and one recording, and thousands of requests to a provider
        that fails in every way it can: none may be lost.
memory  The same work for an hour: memory must not grow.

All follows from --seed, and what did not hold is printed with what repeats it. --quick is
--scale 0.02, some minutes; at full scale it takes hours. Progress goes to standard error. The
servers of the tests are used, so it runs in a checkout. Full disks need the right to mount, and
read-only folders that of root to become somebody else; without them a limit on the size of a file
stands for the one, and the other is tried as whoever runs this.

Exits with 0 if everything held, with 1 if anything did not.
"""

from __future__ import annotations

import argparse
import importlib
import json
import pkgutil
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

import machine
from trials.counts import Counts, Say

from trials import inputs, targets

QUICK = 0.02
ROUNDS = 2500
"""Damaged inputs of each reader at full scale."""


def main() -> int:
    """Run the sections and print the table."""
    args = _arguments()
    found = machine.facts()
    print(__doc__.partition("\n")[0])
    print(machine.describe(found), f"seed {args.seed}, scale {args.scale:g}\n", sep="\n")
    sections: dict[str, tuple[list[Counts], float]] = {}
    for name in args.only:
        start = time.monotonic()
        rows = SECTIONS[name](args.seed, args.scale, _say)
        sections[name] = rows, time.monotonic() - start
        _print_rows(name, *sections[name])
    print()
    for name, (rows, _) in sections.items():
        print(_summary(name, rows))
    failures = [line for rows, _ in sections.values() for row in rows for line in row.failures]
    for line in failures:
        print(f"  did not hold: {line}")
    if args.json:
        report = {
            "benchmark": "reliability",
            "machine": found,
            "seed": args.seed,
            "scale": args.scale,
            "sections": {
                name: {"seconds": seconds, "rows": [asdict(row) for row in rows]}
                for name, (rows, seconds) in sections.items()
            },
        }
        args.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return 1 if failures else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=list(SECTIONS), default=list(SECTIONS))
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--scale", type=float, default=1.0, metavar="SHARE")
    size.add_argument("--quick", action="store_const", const=QUICK, dest="scale")
    parser.add_argument("--seed", type=int, default=10, metavar="NUMBER")
    parser.add_argument("--json", type=Path, metavar="FILE")
    return parser.parse_args()


def _say(line: str) -> None:
    print(f"reliability: {line}", file=sys.stderr, flush=True)


def _section(name: str) -> Callable[[int, float, Say], list[Counts]]:
    """Return what runs a module of the trials, loaded only where it is wanted."""

    def run(seed: int, scale: float, say: Say) -> list[Counts]:
        module = importlib.import_module(f"trials.{name}")
        rows: list[Counts] = module.run(seed=seed, scale=scale, say=say)
        return rows

    return run


def _inputs(seed: int, scale: float, say: Say) -> list[Counts]:
    names = sorted(name for _, name, _ in pkgutil.iter_modules(targets.__path__))
    found = [
        target
        for name in names
        for target in importlib.import_module(f"trials.targets.{name}").TARGETS
    ]
    page = importlib.import_module("trials.label_page")
    return [
        *inputs.run(found, seed, max(1, round(ROUNDS * scale)), say),
        *page.run(seed=seed, scale=scale, say=say),
    ]


SECTIONS: dict[str, Callable[[int, float, Say], list[Counts]]] = {
    "kills": _section("kills"),
    "faults": _section("faults"),
    "inputs": _inputs,
    "load": _section("load"),
    "memory": _section("memory"),
}


def _print_rows(name: str, rows: Sequence[Counts], seconds: float) -> None:
    print(f"{name} ({seconds:,.0f} s)")
    for row in rows:
        also = ", ".join(f"{what} {_figure(value)}" for what, value in row.also.items())
        print(f"  {row.what:<44} {row.held:>7,} of {row.tried:<7,} {also}".rstrip())
    sys.stdout.flush()


def _figure(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.3g}"


def _summary(name: str, rows: Sequence[Counts]) -> str:
    tried, held = sum(row.tried for row in rows), sum(row.held for row in rows)

    def also(what: str) -> int:
        return sum(int(row.also.get(what, 0)) for row in rows)

    return {
        "kills": f"kills survived: {held:,} of {tried:,} trials",
        "faults": f"faults handled: {held:,} of {tried:,} injected",
        "inputs": f"malformed inputs: {tried:,} tried, {also('typed errors'):,} typed errors, "
        f"{also('read'):,} read, {also('crashes'):,} crashes, {also('hangs'):,} hangs",
        "load": f"requests under load: {held:,} of {tried:,} served, {tried - held:,} lost",
        "memory": f"memory: {'flat' if held == tried else 'it grows'}{_steepest(rows)}",
    }[name]


def _steepest(rows: Sequence[Counts]) -> str:
    """Return the largest slope in words, with its operations: of few it is noise."""
    slope = "MB per 1,000"
    fitted = [row for row in rows if slope in row.also]
    if not fitted:
        return ""
    row = max(fitted, key=lambda one: one.also[slope])
    return (
        f"; steepest {row.also[slope]:.2f} {slope} operations, of {row.tried:,} operations that "
        f"added {row.also['MB added']:.2f} MB ({row.what})"
    )


if __name__ == "__main__":
    sys.exit(main())
