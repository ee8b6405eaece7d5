"""What an evaluation of very many cases takes: a simulation from constants measured here.

    pip install .
    python benchmarks/sizing.py --measure [--save FILE]
    python benchmarks/sizing.py --constants FILE [--cases 1000000000] [--workers 64]
        [--part 65536] [--stragglers 0.05] [--losses 0.02] [--seeds 20] [--json FILE]
    python benchmarks/sizing.py --constants FILE --check [--check-cases 20000]

--measure runs ``closecall eval`` on made files of two lengths, as many processes side by side as
this process has cores and one thread each, and takes start and seconds per case from the two. A
core that works beside busy ones is slower than a core alone, and a fleet is busy. What one process
takes to make one run of its shards (``closecall runs merge``) is measured on two lengths as well.

The simulation: workers of one core take parts from a queue, pay a start once and after each
loss, and seconds per case times their own speed. Speeds are lognormal; a share of workers are
stragglers, several times as slow. A worker is lost at random (exponential, --losses per hour):
the part under way is lost with it and goes back into the queue. Then one process reads the parts
in order and closes the run, where the constants have that figure (or --close gives it). Every seed
is another fleet; printed are mean and 95 % interval over seeds.

Cost is core hours, with the formula; the price of a core hour is yours (--price).

--check evaluates a made file for real in 1, 2 and 4 shards, as many at a time as there are cores,
and compares the time with what the simulation says of it without stragglers and losses.
"""

from __future__ import annotations

import argparse
import heapq
import json
import math
import os
import statistics
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import machine
import standin
from child import ChildError, Spent, measured
from memory import write_cases

SHARDS = (1, 2, 4)
SPREAD = 0.10
"""Standard deviation of the logarithm of a worker's speed."""
SLOW = 3.0
"""How many times as long a straggler takes."""


class Constants(NamedTuple):
    """Seconds of one worker; ``close_s_per_case`` None: not measured, and left out."""

    start_s: float
    s_per_case: float
    close_s_per_case: float | None = None
    bytes_per_case: float | None = None


class Fleet(NamedTuple):
    """Who works, and what goes wrong. ``losses`` are per worker and hour."""

    workers: int
    part: int
    stragglers: float = 0.0
    losses: float = 0.0
    spread: float = SPREAD


def main() -> int:
    """Measure, check or simulate, and print it."""
    args = _arguments()
    print(__doc__.partition("\n")[0])
    found = machine.facts()
    print(machine.describe(found), "\n", sep="")
    try:
        if args.measure:
            constants = _measure(args.sample, args.embedder, args.clock)
        else:
            given = json.loads(Path(args.constants).read_text(encoding="utf-8"))
            constants = Constants(**given["constants"])
        if args.close is not None:
            constants = constants._replace(close_s_per_case=args.close)
        report: dict[str, Any] = {"benchmark": "sizing", "machine": found,
                                  "constants": constants._asdict()}  # fmt: skip
        _print_constants(constants)
        if args.check:
            report["check"] = _check(constants, args.check_cases, args.embedder)
    except ChildError as error:
        print(f"sizing: {error}", file=sys.stderr)
        return 1
    if not args.check:
        fleet = Fleet(args.workers, args.part, args.stragglers, args.losses)
        report["simulation"] = _simulated(constants, fleet, args.cases, args.seeds)
        _print_simulation(report["simulation"], args.price)
    for path in (args.json, args.save):
        if path:
            Path(path).write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return 0


# The simulation.


def simulate(constants: Constants, fleet: Fleet, parts: list[int], seed: int) -> dict[str, float]:
    """Play one fleet through its parts (cases in each, in order) and return what it took."""
    random = Random(seed)
    slowness = [
        math.exp(random.gauss(0.0, fleet.spread))
        * (SLOW if random.random() < fleet.stragglers else 1.0)
        for _ in range(fleet.workers)
    ]
    # When a worker is free, whether it has to start first, and the part that was lost with it.
    free = [(0.0, worker, True, 0) for worker in range(fleet.workers)]
    queue = parts[::-1]
    busy = lost = ended = 0.0
    losses = 0
    while free:
        now, worker, fresh, returned = heapq.heappop(free)
        if returned:
            queue.append(returned)
        if not queue:
            continue  # this worker is done; a part lost later falls to the one that lost it
        part = queue.pop()
        takes = part * constants.s_per_case * slowness[worker]
        takes += constants.start_s * fresh
        dies = random.expovariate(fleet.losses / 3600) if fleet.losses else math.inf
        if dies < takes:
            busy, lost, losses = busy + dies, lost + dies, losses + 1
            heapq.heappush(free, (now + dies, worker, True, part))
            continue
        busy += takes
        ended = max(ended, now + takes)
        heapq.heappush(free, (now + takes, worker, False, 0))
    cases = sum(parts)
    closing = cases * (constants.close_s_per_case or 0.0)
    useful = cases * constants.s_per_case
    return {
        "wall_h": (ended + closing) / 3600,
        "busy_core_h": (busy + closing) / 3600,
        "paid_core_h": (fleet.workers * ended + closing) / 3600,
        "lost_share": lost / busy,
        "losses": losses,
        "idle_share": 1 - busy / (fleet.workers * ended),
        "over_ideal": ended / (useful / fleet.workers),
        "closing_h": closing / 3600,
    }


def _parts(cases: int, size: int) -> list[int]:
    whole, rest = divmod(cases, size)
    return [size] * whole + [rest] * (rest > 0)


def _simulated(constants: Constants, fleet: Fleet, cases: int, seeds: int) -> dict[str, Any]:
    parts = _parts(cases, fleet.part)
    runs = [simulate(constants, fleet, parts, seed) for seed in range(seeds)]
    return {
        "cases": cases,
        "parts": len(parts),
        "fleet": fleet._asdict(),
        "seeds": seeds,
        "figures": {key: _interval([run[key] for run in runs]) for key in runs[0]},
    }


def _interval(values: list[float]) -> dict[str, Any]:
    """Return mean and the range that holds 95 % of the seeds (all of them, if fewer than 40)."""
    ordered = sorted(values)
    cut = math.floor(0.025 * len(ordered))
    return {"mean": statistics.fmean(values), "interval": [ordered[cut], ordered[-1 - cut]]}


# Real runs.


def _closing(work: Path, sample: int, clock: str) -> float:
    """Return the seconds a case that one process takes to make one run of two shards."""
    os.environ["PYTHONPATH"] = str(standin.install(work / "plug"))
    times = []
    for size in (sample, 5 * sample):
        file = work / f"closing-{size}.jsonl"
        write_cases(file, size, 1)
        for shard in ("1/2", "2/2"):
            _evaluated(file, work, standin.NAME, shard)
        argv = [sys.executable, "-m", "closecall", "runs", "merge", "-q", "-o",
                str(work / f"closed-{size}"), *(str(file.with_suffix(f".{shard}-2.run"))
                for shard in (1, 2))]  # fmt: skip
        spent = measured(argv, env=os.environ, cwd=work, codes=(0, 1, 11))
        times.append(spent.cpu_s if clock == "cpu" else spent.wall_s)
    return (times[1] - times[0]) / (4 * sample)


def _evaluated(file: Path, work: Path, embedder: str, shard: str = "1/1") -> Spent:
    """Evaluate a file, or a shard of it, on one thread into a run folder."""
    out = file.with_suffix(f".{shard.replace('/', '-')}")
    argv = [sys.executable, "-m", "closecall", "eval", str(file), "--no-cache", "-q",
            "--threads", "1", "--embedder", embedder, "-o", f"{out}.json",
            "--aef", f"{out}.run"]  # fmt: skip
    argv += ["--shard", shard] if shard != "1/1" else []
    env = os.environ | {"OMP_NUM_THREADS": "1"}
    return measured(argv, env=env, cwd=work, codes=(0, 1, 11))


def _measure(sample: int, embedder: str, clock: str) -> Constants:
    """Return start and seconds per case of one process on one thread, every core at work."""
    cores = machine.cores()
    with tempfile.TemporaryDirectory(prefix="closecall-bench-") as name:
        work = Path(name)
        taken = []
        with ThreadPoolExecutor(cores) as side_by_side:
            for size in (16, sample // 4, sample):  # the first compiles and warms the disk
                files = [work / f"{size}-{core}.jsonl" for core in range(cores)]
                for core, file in enumerate(files):
                    write_cases(file, size, core)
                runs = list(side_by_side.map(lambda file: _evaluated(file, work, embedder), files))
                times = [run.cpu_s if clock == "cpu" else run.wall_s for run in runs]
                taken.append((size, statistics.fmean(times)))
        folder = files[0].with_suffix(".1-1.run")
        written = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        closing = _closing(work, sample, clock)
    (_, _), (few, short), (many, long) = taken
    per_case = (long - short) / (many - few)
    return Constants(max(short - few * per_case, 0.0), per_case, closing, written / sample)


def _check(constants: Constants, cases: int, embedder: str) -> list[dict[str, Any]]:
    """Evaluate a file in shards for real, and say what the simulation said of it."""
    cores = machine.cores()
    rows = []
    with tempfile.TemporaryDirectory(prefix="closecall-bench-") as name:
        work = Path(name)
        whole = work / "whole.jsonl"
        write_cases(whole, cases, 1)
        for count in SHARDS:
            runs = [(whole, work, embedder, f"{index}/{count}") for index in range(1, count + 1)]
            start = time.perf_counter()
            with ThreadPoolExecutor(cores) as side_by_side:
                spent = list(side_by_side.map(lambda run: _evaluated(*run), runs))
            took = time.perf_counter() - start
            # A shard is a process of its own, so each pays the start: it is part of its time.
            per_case = constants.s_per_case + constants.start_s / (cases / count)
            alike = Fleet(min(cores, count), cases // count, spread=0.0)
            said = simulate(
                Constants(0.0, per_case), alike, _parts(cases, math.ceil(cases / count)), 0
            )
            row = {
                "shards": count,
                "cases": cases,
                "measured_s": took,
                "predicted_s": said["wall_h"] * 3600,
                "measured_cpu_s": sum(one.cpu_s for one in spent),
                "predicted_cpu_s": said["busy_core_h"] * 3600,
            }
            off = {
                clock: row[f"predicted{clock}"] / row[f"measured{clock}"] - 1
                for clock in ("_s", "_cpu_s")
            }
            rows.append({**row, "error": off["_s"], "error_cpu": off["_cpu_s"]})
            print(
                f"  {count} shards of {cases:,} cases: {took:.1f} s, predicted "
                f"{row['predicted_s']:.1f} ({off['_s']:+.1%}); CPU {row['measured_cpu_s']:.1f} s, "
                f"predicted {row['predicted_cpu_s']:.1f} ({off['_cpu_s']:+.1%})",
                flush=True,
            )
    return rows


# What is printed.


def _print_constants(constants: Constants) -> None:
    closing = constants.close_s_per_case
    per_s = 1 / constants.s_per_case
    print(
        f"one worker of one core: start {constants.start_s:.2f} s, {per_s:.1f} cases per second"
        f" ({constants.s_per_case * 1e6 / 3600:.2f} core hours per million cases)"
    )
    serial = "not measured" if closing is None else f"{closing * 1e6:.1f} s per million cases"
    print(f"closing a run from its parts, one process: {serial}")
    if constants.bytes_per_case is not None:
        print(f"on disk: {constants.bytes_per_case:.0f} bytes per case")
    print("GPU: not measured\n")


def _print_simulation(found: dict[str, Any], price: float | None) -> None:
    fleet, figures = found["fleet"], found["figures"]
    print(
        f"{found['cases']:,} cases in {found['parts']:,} parts of {fleet['part']:,}, "
        f"{fleet['workers']} workers, {fleet['stragglers']:.0%} stragglers ({SLOW:g} times as "
        f"slow), {fleet['losses']:g} losses per worker and hour; {found['seeds']} seeds"
    )
    for key, title, form in (
        ("wall_h", "hours", ".2f"),
        ("paid_core_h", "core hours paid", ".1f"),
        ("busy_core_h", "core hours busy", ".1f"),
        ("over_ideal", "of a fleet without waste", ".3f"),
        ("lost_share", "share of work done twice", ".4f"),
        ("losses", "workers lost", ".1f"),
        ("idle_share", "share of idle time", ".4f"),
    ):
        row = figures[key]
        low, high = (format(end, form) for end in row["interval"])
        print(f"  {title:<28}{format(row['mean'], form):>12}  ({low} to {high})")
    hours = figures["paid_core_h"]["mean"]
    million = hours / found["cases"] * 1e6
    print(f"\ncost = {hours:.1f} core hours x price of a core hour; "
          f"{million:.4f} core hours per million cases")  # fmt: skip
    if price is not None:
        print(f"at {price:g} per core hour: {hours * price:.2f} in all, "
              f"{million * price:.4f} per million cases")  # fmt: skip


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--measure", action="store_true", help="take the constants here, now")
    source.add_argument("--constants", metavar="FILE", help="constants that --save wrote")
    parser.add_argument("--sample", type=int, default=2000, help="cases; default: 2000")
    parser.add_argument("--embedder", default="minilm", help="default: minilm")
    parser.add_argument(
        "--clock", choices=("wall", "cpu"), default="wall",
        help="what --measure counts; cpu where others work on the machine; default: wall",
    )  # fmt: skip
    parser.add_argument("--check", action="store_true", help="compare with real runs in shards")
    parser.add_argument("--check-cases", type=int, default=20_000, help="default: 20000")
    parser.add_argument("--cases", type=int, default=1_000_000_000, help="default: 10^9")
    parser.add_argument("--workers", type=int, default=64, help="of one core; default: 64")
    parser.add_argument("--part", type=int, default=65_536, help="cases a part; default: 65536")
    parser.add_argument("--stragglers", type=float, default=0.05, help="share; default: 0.05")
    parser.add_argument(
        "--losses", type=float, default=0.02, help="per worker and hour; default: 0.02"
    )
    parser.add_argument("--seeds", type=int, default=20, help="default: 20")
    parser.add_argument(
        "--close", type=float, metavar="S", help="seconds a case that closing from parts takes"
    )
    parser.add_argument("--price", type=float, help="of a core hour, in your currency")
    parser.add_argument("--save", metavar="FILE", help="write the constants there")
    parser.add_argument("--json", metavar="FILE", help="write every figure there too")
    args = parser.parse_args()
    if min(args.cases, args.workers, args.part, args.seeds, args.check_cases // 4) < 1:
        parser.error("--cases, --workers, --part and --seeds must be at least 1")
    if args.sample < 100:
        parser.error("--sample must be at least 100")
    if not 0 <= args.stragglers <= 1 or args.losses < 0:
        parser.error("--stragglers is a share, --losses at least 0")
    return args


if __name__ == "__main__":
    sys.exit(main())
