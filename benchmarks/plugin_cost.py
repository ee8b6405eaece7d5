"""CPU milliseconds that an installed closecall adds to a test suite that does not use it.

    pip install . pytest
    python benchmarks/plugin_cost.py [--pairs 60] [--json FILE] [--imports]

The suite is one test that passes. pytest runs it in fresh processes, in two environments made
here: both hold pytest and a copy of closecall as pip installs it (compiled, every file listed in
RECORD), and only in one does closecall name its plugin (``pytest11`` in entry_points.txt). So all
of the cost is counted: pytest reads the whole RECORD of a distribution that has a plugin, imports
the plugin, and calls its hooks. The two alternate, and the order changes from round to round.

Counted is user and system CPU time, which a busy machine disturbs least; wall time stands beside
it. The cost is the median of the differences within the rounds, with a 95 % interval from their
order statistics (the sign test turned round, no assumption on their distribution). A third arm
runs pytest without the plugin once more: its difference shows what the method makes of nothing.

Exits with 0; with 1 when the upper end of the cost's interval is above --most.
"""

from __future__ import annotations

import argparse
import compileall
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import machine
from child import ChildError, measured

import closecall

PLUGIN = "_closecall_pytest"
PYTEST = ("pytest", "pluggy", "iniconfig", "packaging", "pygments")
"""What pytest is made of."""

MOST_MS = 10.0
WITH, WITHOUT, AGAIN = "with the plugin", "without", "without, again"
CONFIDENCE = 0.95


def main() -> int:
    """Run the pairs and print what they say."""
    args = _arguments()
    print(__doc__.partition("\n")[0])
    found = machine.facts()
    print(machine.describe(found), "\n", sep="")
    with tempfile.TemporaryDirectory(prefix="closecall-bench-") as name:
        work = Path(name)
        suite = work / "suite"
        suite.mkdir()
        (suite / "test_one.py").write_text("def test_one():\n    assert 1 + 1 == 2\n", "utf-8")
        bare = _site(work / "without", args.installer, plugin=False)
        full = _site(work / "with", args.installer, plugin=True)
        sites = {WITH: full, WITHOUT: bare, AGAIN: bare}
        listed = len((full / "closecall-0.dist-info" / "RECORD").read_text("utf-8").splitlines())
        try:
            taken = _rounds(suite, sites, args.pairs)
        except ChildError as error:
            print(f"plugin_cost: {error}", file=sys.stderr)
            return 1
        imports = _imports(suite, sites) if args.imports else None
    result = {
        "cost_ms": _difference(taken[WITH], taken[WITHOUT], "cpu_ms"),
        "cost_wall_ms": _difference(taken[WITH], taken[WITHOUT], "wall_ms"),
        "nothing_ms": _difference(taken[AGAIN], taken[WITHOUT], "cpu_ms"),
        "arms": {name: _arm(runs) for name, runs in taken.items()},
    }
    print(f"as {args.installer} installs it: {listed} lines in RECORD")
    _print(result, imports, args.pairs, args.most)
    if args.json:
        report = {"benchmark": "plugin_cost", "machine": found, "pairs": args.pairs,
                  "most_ms": args.most, "installer": args.installer,
                  "record_lines": listed, **result}  # fmt: skip
        report |= {"imports": imports} if imports else {}
        Path(args.json).write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return int(result["cost_ms"]["interval"][1] > args.most)


def _site(place: Path, installer: str, *, plugin: bool) -> Path:
    """Make an environment with pytest and closecall, which names its plugin or does not."""
    place.mkdir()
    for name in PYTEST:
        owned = metadata.distribution(name)
        for top in {file.parts[0] for file in owned.files or () if file.parts[0] != ".."}:
            if top != "__pycache__" and not (place / top).exists():
                (place / top).symlink_to(Path(str(owned.locate_file(top))))
    package = Path(closecall.__file__).parent
    shutil.copytree(package, place / "closecall", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy2(package.parent / f"{PLUGIN}.py", place)
    compileall.compile_dir(place / "closecall", quiet=1)
    compileall.compile_file(place / f"{PLUGIN}.py", quiet=1)
    facts = place / "closecall-0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: closecall\nVersion: 0\n", encoding="utf-8"
    )
    (facts / "INSTALLER").write_text(f"{installer}\n", encoding="utf-8")
    points = "[console_scripts]\nclosecall = closecall.cli:main\n"
    points += f"\n[pytest11]\nclosecall = {PLUGIN}\n" * plugin
    (facts / "entry_points.txt").write_text(points, encoding="utf-8")
    (facts / "RECORD").write_text("".join(_record(place, installer)), encoding="utf-8")
    return place


def _record(place: Path, installer: str) -> Iterator[str]:
    """Yield a line a file; pip lists compiled modules too, without hash and size, uv does not."""
    for pattern in ("closecall/**/*", "closecall-0.dist-info/*", f"**/{PLUGIN}.*"):
        for path in sorted(place.glob(pattern)):
            made = path.suffix == ".pyc"
            if path.is_file() and not (made and installer == "uv"):
                rest = "," if made else f"sha256={'x' * 43},{path.stat().st_size}"
                yield f"{path.relative_to(place).as_posix()},{rest}\n"


def _environment(site: Path) -> dict[str, str]:
    """Return what pytest runs in: that environment alone, its compiled modules kept."""
    drop = ("PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX", "PYTEST_ADDOPTS", "PYTEST_PLUGINS",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD")  # fmt: skip
    kept = {key: text for key, text in os.environ.items() if key not in drop}
    return kept | {"PYTHONPATH": str(site)}


def _argv(*python: str) -> list[str]:
    # -S leaves out the interpreter's own site-packages.
    return [sys.executable, "-S", *python, "-m", "pytest", "-q", "-p", "no:cacheprovider",
            "test_one.py"]  # fmt: skip


def _rounds(work: Path, sites: dict[str, Path], pairs: int) -> dict[str, list[dict[str, float]]]:
    taken: dict[str, list[dict[str, float]]] = {name: [] for name in sites}
    names = list(sites)
    for number in range(-2, pairs):  # the first rounds compile what is not compiled yet
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            spent = measured(_argv(), env=_environment(sites[name]), cwd=work)
            if number >= 0:
                taken[name].append({"cpu_ms": spent.cpu_s * 1000, "wall_ms": spent.wall_s * 1000})
    return taken


def _arm(runs: list[dict[str, float]]) -> dict[str, Any]:
    return {
        kind: {
            "median": statistics.median(run[kind] for run in runs),
            "least": min(run[kind] for run in runs),
            "runs": [round(run[kind], 3) for run in runs],
        }
        for kind in ("cpu_ms", "wall_ms")
    }


def _difference(
    with_it: list[dict[str, float]], without: list[dict[str, float]], kind: str
) -> dict[str, Any]:
    """Return the median of the paired differences and its interval."""
    apart = sorted(one[kind] - other[kind] for one, other in zip(with_it, without, strict=True))
    low, high = _ranks(len(apart))
    return {
        "median": statistics.median(apart),
        "interval": [apart[low], apart[high]],
        "confidence": CONFIDENCE,
        "method": "order statistics of the paired differences",
        "n": len(apart),
    }


def _ranks(n: int) -> tuple[int, int]:
    """Return the ranks (from 0) between which the median lies with at least ``CONFIDENCE``.

    The number of differences below the median is Binomial(n, 1/2); with few pairs the interval
    is all of them.
    """
    tail, below = 0.0, 0
    while below < n // 2:
        tail += math.comb(n, below) / 2**n
        if 2 * tail > 1 - CONFIDENCE:
            break
        below += 1
    low = max(below - 1, 0)
    return low, n - 1 - low


def _imports(work: Path, sites: dict[str, Path]) -> list[dict[str, Any]]:
    """Return what the plugin imports that pytest had not, own milliseconds each, largest first."""
    found = []
    for name in (WITHOUT, WITH):
        done = subprocess.run(
            _argv("-X", "importtime"),
            check=False, capture_output=True, text=True, env=_environment(sites[name]), cwd=work,
        )  # fmt: skip
        own = {}
        for line in done.stderr.splitlines():
            fields = line.removeprefix("import time:").split("|")
            if len(fields) == 3 and fields[0].strip().isdigit():
                own[fields[2].strip()] = int(fields[0]) / 1000
        found.append(own)
    before, after = found
    new = {name: ms for name, ms in after.items() if name not in before}
    return [{"module": name, "own_ms": ms} for name, ms in sorted(new.items(), key=_slowest)]


def _slowest(item: tuple[str, float]) -> float:
    return -item[1]


def _print(
    result: dict[str, Any], imports: list[dict[str, Any]] | None, pairs: int, most: float
) -> None:
    print(f"{pairs} rounds; CPU milliseconds of a fresh pytest with one test")
    for name, arm in result["arms"].items():
        cpu, wall = arm["cpu_ms"], arm["wall_ms"]
        print(f"  {name:<18} median {cpu['median']:>7.1f}  least {cpu['least']:>7.1f}  "
              f"(wall {wall['median']:.1f})")  # fmt: skip
    for title, key in (
        ("the plugin adds", "cost_ms"),
        ("on the clock", "cost_wall_ms"),
        ("nothing adds", "nothing_ms"),
    ):
        row = result[key]
        low, high = row["interval"]
        print(f"  {title:<18}{row['median']:>7.2f} ms, 95 % interval {low:.2f} to {high:.2f}")
    met = "met" if result["cost_ms"]["interval"][1] <= most else "NOT met"
    print(f"\nat most {most:g} ms of CPU, interval included: {met}")
    if imports:
        total = sum(row["own_ms"] for row in imports)
        print(f"\nmodules it imports beyond pytest's: {len(imports)}, {total:.1f} ms with "
              f"-X importtime, which adds some")  # fmt: skip
        for row in imports[:15]:
            print(f"  {row['module']:<44}{row['own_ms']:>7.2f} ms")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=60, help="default: 60")
    parser.add_argument("--most", type=float, default=MOST_MS, help="milliseconds; default: 10")
    parser.add_argument(
        "--installer", choices=("pip", "uv"), default="pip", help="whose RECORD; default: pip"
    )
    parser.add_argument("--imports", action="store_true", help="which modules the time goes to")
    parser.add_argument("--json", metavar="FILE", help="write every figure there too")
    args = parser.parse_args()
    if args.pairs < 1:
        parser.error("--pairs must be at least 1")
    return args


if __name__ == "__main__":
    sys.exit(main())
