"""Seconds from process start to a printed score: closecall beside sentence-transformers.

    pip install . torch sentence-transformers
    python benchmarks/cold_start.py [--weights FOLDER|WHEEL] [--peer-python PYTHON] [--json FILE]
    python benchmarks/cold_start.py --profile

Every figure is a fresh process on the same two texts and the same weights. Commands alternate
within a round, and each runs once unmeasured before, so compiled modules are on disk (in a folder
of this run's own, whatever PYTHONDONTWRITEBYTECODE says) and the file system cache is warm: the
first start after an installation or a boot is slower for both. Both must print the same
cosine, to 0.001, before anything is timed. Beside the two stand an empty Python process, the
import and --help, which show what of the time is not the model's.

--profile adds which imports and which steps the time of `closecall score` goes to.

Exits with 0; with 1 when the scores disagree or a command fails; with 2 when the weights cannot
be used. Without sentence-transformers the ratio is not measured, and the table says so.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import machine
import weights

TEXTS = ("Refunds take five days.", "You get your money back within a week.")
SCORE = "closecall score A B"
PEER = "sentence-transformers A B"
INSTALL = "not installed: pip install torch sentence-transformers"

PEER_CODE = """
import sys
from sentence_transformers import SentenceTransformer
a, b = SentenceTransformer(sys.argv[1], device="cpu").encode(
    sys.argv[2:], normalize_embeddings=True, show_progress_bar=False)
print(float(a @ b))
"""

STEPS_CODE = """
import sys, time
start = time.perf_counter()
def step(name):
    global start
    print(f"{time.perf_counter() - start:.4f} {name}")
    start = time.perf_counter()
import numpy
step("import numpy")
import onnxruntime
step("import onnxruntime")
import tokenizers
step("import tokenizers")
import closecall.cli.score, closecall.runs.pair, closecall.report.pair
from closecall import load_embedder
from closecall.metrics.registry import load_metric
import closecall.embedders.onnx
step("import the rest of closecall")
embedder = load_embedder("minilm", threads=1)
step("read the card")
embedder.load()
step("check, load graph and tokenizer")
embedder.embed(sys.argv[1:])
step("embed both texts")
"""


class CommandError(Exception):
    """A command failed, or printed another score than the other."""


@dataclass
class Command:
    """A process to start, and the seconds it took in each round."""

    name: str
    argv: list[str]
    env: dict[str, str]
    codes: tuple[int, ...] = (0,)
    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    def run(self) -> str:
        """Run it once, unmeasured, and return what it printed."""
        done = subprocess.run(
            self.argv, check=False, capture_output=True, text=True, encoding="utf-8", env=self.env
        )
        if done.returncode not in self.codes:
            last = done.stderr.strip().splitlines()[-1:]
            raise CommandError(f"{self.name}: exit code {done.returncode}: {''.join(last)}")
        return done.stdout

    def measure(self) -> None:
        """Run it once and keep its times."""
        before, start = os.times(), time.perf_counter()
        subprocess.run(
            self.argv,
            check=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=self.env,
        )
        self.wall.append(time.perf_counter() - start)
        after = os.times()
        self.cpu.append(
            after.children_user - before.children_user
            + after.children_system - before.children_system
        )  # fmt: skip


def main() -> int:
    """Run the comparison and print it."""
    args = _arguments()
    print(__doc__.partition("\n")[0])
    found = machine.facts()
    print(machine.describe(found), "\n", sep="")
    with tempfile.TemporaryDirectory(prefix="closecall-bench-") as name:
        env = _environment(Path(name))
        try:
            commands = _commands(args, Path(name), env)
            cosines = _warmed(commands, env)
        except weights.WeightsError as error:
            print(f"cold_start: {error}", file=sys.stderr)
            return 2
        except CommandError as error:
            print(f"cold_start: {error}", file=sys.stderr)
            return 1
        for number in range(args.runs):
            turn = number % len(commands)
            for command in commands[turn:] + commands[:turn]:
                command.measure()
        profile = {"imports": _imports(env), "steps": _steps(env)} if args.profile else None
    result = _summary(commands, cosines)
    _print(result, args.runs)
    report: dict[str, Any] = {
        "benchmark": "cold_start",
        "machine": found,
        "file_system_cache": "warm",
        "runs": args.runs,
        **result,
    }
    if profile:
        report["profile"] = profile
        _print_profile(profile)
    if args.json:
        Path(args.json).write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return 0


def _environment(work: Path) -> dict[str, str]:
    """Return what every process runs in: compiled modules are kept, no network is asked."""
    kept = {key: text for key, text in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    return kept | {
        "HF_HUB_OFFLINE": "1",
        "PYTHONPYCACHEPREFIX": str(work / "compiled"),
        "TOKENIZERS_PARALLELISM": "false",
    }


def _commands(args: argparse.Namespace, work: Path, env: dict[str, str]) -> list[Command]:
    python = sys.executable
    commands = [
        Command("python -c pass", [python, "-c", "pass"], env),
        Command("import closecall", [python, "-c", "import closecall"], env),
        Command("closecall --help", [python, "-m", "closecall", "--help"], env),
        _score(env),
    ]
    peer = args.peer_python
    if _has_peer(peer):
        folder = weights.find(args.weights, work)
        commands += [
            Command(
                "import sentence_transformers", [peer, "-c", "import sentence_transformers"], env
            ),
            Command(PEER, [peer, "-c", PEER_CODE, str(folder), *TEXTS], env),
        ]
    return commands


def _has_peer(python: str) -> bool:
    code = "import importlib.util as u, sys; sys.exit(not u.find_spec('sentence_transformers'))"
    return subprocess.run([python, "-c", code], check=False).returncode == 0


def _warmed(commands: list[Command], env: dict[str, str]) -> dict[str, float]:
    """Run each command once and return the cosines printed, which must agree."""
    printed = {command.name: command.run() for command in commands}
    as_json = _score(env, "--json").run()
    cosines = {SCORE: float(json.loads(as_json)["similarity"])}
    if PEER in printed:
        cosines[PEER] = float(printed[PEER].split()[-1])
        if abs(cosines[PEER] - cosines[SCORE]) > 0.001:
            raise CommandError(f"the two cosines disagree: {cosines}")
    return cosines


def _score(env: dict[str, str], *options: str, python: tuple[str, ...] = ()) -> Command:
    argv = [sys.executable, *python, "-m", "closecall", "score", *TEXTS, *options]
    # 1 says that the pair does not reach the cutoff, 11 that it is unsure: both are scores.
    return Command(SCORE, argv, env, (0, 1, 11))


def _summary(commands: list[Command], cosines: dict[str, float]) -> dict[str, Any]:
    rows = {
        command.name: {
            "median_s": statistics.median(command.wall),
            "best_s": min(command.wall),
            "worst_s": max(command.wall),
            "cpu_s": statistics.median(command.cpu),
            "wall_s": command.wall,
        }
        for command in commands
    }
    ratio = None
    if PEER in rows:
        own, peer = (
            next(command.wall for command in commands if command.name == name)
            for name in (SCORE, PEER)
        )
        by_round = [a / b for a, b in zip(own, peer, strict=True)]
        ratio = {
            "closecall_of_peer": statistics.median(own) / statistics.median(peer),
            "range": [min(by_round), max(by_round)],
        }
    return {"rows": rows, "ratio": ratio, "cosines": cosines}


def _print(result: dict[str, Any], runs: int) -> None:
    print(f"{runs} fresh processes each, file system cache warm; seconds")
    print(f"  {'':<30}{'median':>8}{'best':>8}{'worst':>8}{'cpu':>8}")
    for name, row in result["rows"].items():
        print(f"  {name:<30}{row['median_s']:>8.3f}{row['best_s']:>8.3f}{row['worst_s']:>8.3f}"
              f"{row['cpu_s']:>8.3f}")  # fmt: skip
    ratio = result["ratio"]
    if ratio is None:
        print(f"  {PEER:<30}{INSTALL}\n\nratio: not measured")
        return
    low, high = ratio["range"]
    share = ratio["closecall_of_peer"]
    print(
        f"\nclosecall score takes {share:.3f} of sentence-transformers' time, 1/{1 / share:.1f} "
        f"(rounds {low:.3f}-{high:.3f}); cosines "
        + ", ".join(f"{cosine:.6f}" for cosine in result["cosines"].values())
    )


def _imports(env: dict[str, str]) -> list[dict[str, Any]]:
    """Return the import time of `closecall score`, own milliseconds by top package."""
    argv = _score(env, python=("-X", "importtime")).argv
    done = subprocess.run(
        argv, check=False, capture_output=True, text=True, encoding="utf-8", env=env
    )
    totals: dict[str, list[float]] = {}
    for line in done.stderr.splitlines():
        head, _, rest = line.partition("import time:")
        fields = rest.split("|")
        if head or len(fields) != 3 or not fields[0].strip().isdigit():
            continue
        name = fields[2].strip().partition(".")[0]
        standard = name in sys.stdlib_module_names
        entry = totals.setdefault("(standard library)" if standard else name, [0.0, 0])
        entry[0] += int(fields[0]) / 1000
        entry[1] += 1
    return [
        {"package": name, "own_ms": round(milliseconds, 1), "modules": int(count)}
        for name, (milliseconds, count) in sorted(totals.items(), key=lambda item: -item[1][0])
    ]


def _steps(env: dict[str, str]) -> list[dict[str, Any]]:
    """Return the steps to a score, each in milliseconds, the median of three processes."""
    command = Command("steps", [sys.executable, "-c", STEPS_CODE, *TEXTS], env)
    found: dict[str, list[float]] = {}
    command.run()
    for _ in range(3):
        for line in command.run().splitlines():
            seconds, _, name = line.partition(" ")
            found.setdefault(name, []).append(float(seconds) * 1000)
    return [
        {"step": name, "ms": round(statistics.median(times), 1)} for name, times in found.items()
    ]


def _print_profile(profile: dict[str, Any]) -> None:
    print(
        "\nimports of closecall score, own time by package (with -X importtime, which adds some)"
    )
    for row in profile["imports"][:12]:
        print(f"  {row['package']:<30}{row['own_ms']:>8.1f} ms {row['modules']:>5} modules")
    print("\nsteps, one after the other in one process, median of 3")
    for row in profile["steps"]:
        print(f"  {row['step']:<34}{row['ms']:>8.1f} ms")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--weights", metavar="PATH", help=weights.HELP)
    parser.add_argument(
        "--peer-python",
        metavar="PYTHON",
        default=sys.executable,
        help="the interpreter that has sentence-transformers; default: this one",
    )
    parser.add_argument("--runs", type=int, default=9, help="processes a command; default: 9")
    parser.add_argument("--profile", action="store_true", help="where the time goes")
    parser.add_argument("--json", metavar="FILE", help="write every figure there too")
    args = parser.parse_args()
    if args.runs < 1:
        parser.error("--runs must be at least 1")
    return args


if __name__ == "__main__":
    sys.exit(main())
