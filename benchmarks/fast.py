"""Is the integer twin worth it: its speed, how far its scores stand off, and the whole.

    python benchmarks/fast.py FILE... [--rows 4000] [--rounds 5] [--json FILE] [--noise FILE]
    python benchmarks/fast.py FILE... --quick
    python benchmarks/fast.py --graphs-only

FILE is a case file with responses and references; labels, where it has them, set the cutoffs.
Three tables, all of one thread and in CPU seconds, which hold on a machine that is shared:

1. Graphs: ways to compute the bundled model in fewer bits, beside the float32 graph, on batches of
   1,024 tokens of short, mixed and long texts (alternating rounds, the best of each), and how near
   their vectors are.
2. Noise: the differences of scores. A fifth of the groups chooses the band, half as wide again as
   its largest difference; on the others, at nine cutoffs spread over the scores and at the one
   that accepts a tenth of the rejects, it is counted how many cases lie in the band and how many
   outside are decided otherwise than in float32.
3. The whole: ``evaluate`` without and with ``fast``, file by file, in alternating rounds.

Ends with what follows from it: fast is worth having where the whole takes at most 1 / 1.3 of the
time and no verdict turns. --noise writes the record that closecall carries. Exits with 0, with 2
where onnx is not installed or a file cannot be used.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import statistics
import sys
import time
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from fast_graphs import compared
from machine import describe, facts

METRICS = ("embed_answer_similarity", "answer_alignment")
KEPT = METRICS[:1]
"""Those the record names: of the other too many scores stand close together to gain 1.3."""

FIT_SHARE = 0.2
WIDER = 1.5
WANTED = 1.3
FAR = 0.10
BLOCK = 256
CONFIDENCE = 0.95


class Scored(NamedTuple):
    """Rows of all files: scores (n, metrics) of both, NaN where not measured."""

    exact: Any
    twin: Any
    reject: Any
    groups: list[str]


def main() -> int:
    args = _arguments()
    try:
        import onnx  # noqa: F401 - asked for once, before minutes of work
    except ImportError:
        print("the integer twin is made with onnx: pip install onnx", file=sys.stderr)
        return 2
    print(describe(facts()), flush=True)
    found: dict[str, Any] = {"machine": facts(), "graphs": compared(args.graph_rounds)}
    if args.files:
        scored = score(args.files, args.rows)
        found["noise"] = {name: noise_of(scored, at) for at, name in enumerate(METRICS)}
        for name, one in found["noise"].items():
            _print_noise(name, one)
        found["whole"] = [
            whole(path, metric, found["noise"][metric], args)
            for path in args.files
            for metric in KEPT
        ]
        _conclude(found, quick=args.quick)
    if args.json:
        args.json.write_text(json.dumps(found, indent=1), encoding="utf-8")
    if args.noise and args.files:
        write_record(found["noise"], args.noise)
    return 0


def score(paths: Iterable[Path], rows: int) -> Scored:
    """Score the cases of files in float32 and with the twin, without a band."""
    from closecall import evaluate, load_embedder, open_dataset
    from closecall.fast.noise import recorded_noise
    from closecall.fast.twin import IntegerTwin

    exact = load_embedder("minilm", threads=1)
    embedders = (exact, IntegerTwin(exact, recorded_noise()))
    found: tuple[list[Any], list[Any]] = ([], [])
    reject, groups = [], []
    for path in paths:
        whole_cases = (case for case in open_dataset(path) if case.references and case.response)
        cases = islice(whole_cases, rows)
        while block := list(islice(cases, BLOCK)):
            for embedder, into in zip(embedders, found, strict=True):
                run = evaluate(block, METRICS, embedder, cache=False, guards="off")
                into += [[_value(one.measurement) for one in row.results] for row in run]
            reject += [case.label is not None and case.label.value == "reject" for case in block]
            groups += [f"{path.name}:{case.group or case.input or case.id}" for case in block]
    return Scored(np.array(found[0]), np.array(found[1]), np.array(reject), groups)


def noise_of(scored: Scored, at: int) -> dict[str, Any]:
    """Return band, differences and what turns outside of the band, of one metric."""
    exact, twin = scored.exact[:, at], scored.twin[:, at]
    both = np.isfinite(exact) & np.isfinite(twin)
    off = np.abs(exact - twin)
    fit = np.array([_first_fifth(group) for group in scored.groups])
    if not (both & fit).any() or not (both & ~fit).any():
        raise SystemExit("too few groups of cases to choose a band on some and test it on others")
    band = float(f"{WIDER * off[both & fit].max():.2g}")
    tested = both & ~fit
    n = int(tested.sum())
    rejected = exact[both & scored.reject]
    cutoffs = [float(one) for one in np.quantile(exact[both], np.arange(1, 10) / 10)]
    if len(rejected):
        cutoffs.append(float(np.quantile(rejected, 1 - FAR)))
    near, flips = [], []
    for cutoff in cutoffs:
        outside = np.abs(twin[tested] - cutoff) > band
        turned = (twin[tested] >= cutoff) != (exact[tested] >= cutoff)
        near.append(float((~outside).mean()))
        flips.append(int((outside & turned).sum()))
    plain = [int(((twin[tested] >= c) != (exact[tested] >= c)).sum()) for c in cutoffs]
    return {
        "band": band,
        "pairs": int(both.sum()),
        "median": float(np.median(off[both])),
        "p99": float(np.percentile(off[both], 99)),
        "largest": float(off[both].max()),
        "beyond_band": int((off[tested] > band).sum()),
        "fit": int((both & fit).sum()),
        "tested": n,
        "cutoffs": cutoffs,
        "in_band": near,
        "flips_without_band": plain,
        "flips": flips,
        "flip_bound": _upper(max(flips), n),
        "far_cutoff": cutoffs[-1] if len(rejected) else float(np.median(exact[both])),
    }


def whole(path: Path, metric: str, noise: dict[str, Any], args: argparse.Namespace) -> dict:
    """Time ``evaluate`` without and with the twin, at the cutoff of the rejects of all files."""
    from closecall import evaluate, load_embedder, open_dataset

    cases = list(islice(open_dataset(path), args.timed))
    embedder = load_embedder("minilm", threads=1)
    cutoffs = {metric: noise["far_cutoff"]}
    seconds: dict[bool, list[float]] = {False: [], True: []}
    states, again = {}, 0
    for number in range(args.rounds + 1):
        for fast in (False, True) if number % 2 else (True, False):
            began = time.process_time()
            run = evaluate(
                cases, metric, embedder, cutoffs=cutoffs, cache=False, guards="off", fast=fast
            )
            taken = time.process_time() - began
            states[fast] = [row.state for row in run]
            if fast and run.recomputed is not None:
                again = run.recomputed.again
            if number:  # the first is the warm-up
                seconds[fast].append(taken)
    ratios = [plain / fast for plain, fast in zip(seconds[False], seconds[True], strict=True)]
    row = {
        "file": path.name,
        "metric": metric,
        "cases": len(cases),
        "float32_s": statistics.median(seconds[False]),
        "fast_s": statistics.median(seconds[True]),
        "ratio": statistics.median(ratios),
        "range": [min(ratios), max(ratios)],
        "again": again,
        "verdicts_turned": sum(a != b for a, b in zip(states[False], states[True], strict=True)),
    }
    low, high = row["range"]
    print(
        f"{row['file']}, {metric}: {row['float32_s']:.2f} s to {row['fast_s']:.2f} s, "
        f"{row['ratio']:.2f} times as fast ({low:.2f}-{high:.2f}); {again:,} of {len(cases):,} "
        f"cases twice; {row['verdicts_turned']} verdicts turned",
        flush=True,
    )
    return row


def write_record(noise: dict[str, Any], path: Path) -> None:
    """Write the record of the noise that closecall carries."""
    from closecall.fast.noise import MetricNoise, Noise, recorded_noise

    metrics = {}
    for name in KEPT:
        one = noise[name]
        metrics[name] = MetricNoise(
            band=one["band"],
            pairs=one["pairs"],
            median=round(one["median"], 6),
            p99=round(one["p99"], 6),
            largest=round(one["largest"], 6),
            tested=one["tested"],
            cutoffs=len(one["cutoffs"]),
            flips=sum(one["flips"]),
            flip_bound=float(f"{one['flip_bound']:.3g}"),
        )
    first = metrics[METRICS[0]]
    metrics["semantic_similarity"] = MetricNoise(
        **{
            name: round(value / 100, 8) if name in ("band", "median", "p99", "largest") else value
            for name, value in msgspec.structs.asdict(first).items()
        }
    )
    before = recorded_noise()
    record = Noise(
        graph=before.graph,
        twin=before.twin,
        mean_cosine=before.mean_cosine,
        metrics=metrics,
    )
    told = json.dumps(msgspec.to_builtins(record), indent=1)
    path.write_text(told + "\n", encoding="utf-8")


def _value(measurement: Any) -> float:
    return getattr(measurement, "value", float("nan"))


def _first_fifth(group: str) -> bool:
    first = hashlib.sha256(group.encode()).digest()[0]
    return first < FIT_SHARE * 256


def _upper(events: int, n: int) -> float:
    """Return the upper end of the one-sided Clopper-Pearson interval."""
    from scipy.stats import beta

    return 1.0 if events == n else float(beta.ppf(CONFIDENCE, events + 1, n - events))


def _print_noise(name: str, one: dict[str, Any]) -> None:
    print(
        f"\n{name}: scores off by {one['median']:.4f} (median), {one['p99']:.4f} (99th "
        f"percentile), {one['largest']:.4f} (largest) over {one['pairs']:,} pairs; band "
        f"{one['band']:g} from {one['fit']:,} of them"
    )
    print(
        f"  on the other {one['tested']:,}:    cutoff   in band   flips without band   outside it"
    )
    rows = zip(
        one["cutoffs"], one["in_band"], one["flips_without_band"], one["flips"], strict=True
    )
    for cutoff, near, plain, flips in rows:
        print(f"  {cutoff:>28.4f} {100 * near:>7.1f} % {plain:>20,} {flips:>12,}")
    print(f"  at most {100 * one['flip_bound']:.3f} % flips at one cutoff (95 %)", flush=True)


def _conclude(found: dict[str, Any], *, quick: bool) -> None:
    least = min(row["ratio"] for row in found["whole"])
    turned = sum(row["verdicts_turned"] for row in found["whole"])
    flips = sum(sum(one["flips"]) for one in found["noise"].values())
    worth = least >= WANTED and not turned
    found["worth"] = worth
    verdict = "worth having" if worth else f"not worth having: wanted {WANTED} and none turned"
    if quick:
        verdict = "nothing follows from so few cases, of which loading is the most"
    print(
        f"\nleast ratio {least:.2f}, verdicts turned {turned}, flips outside of the band {flips}: "
        f"{verdict}"
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--rows", type=int, default=4000, help="most rows of each file for noise")
    parser.add_argument("--timed", type=int, default=800, help="rows of each file that are timed")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--graph-rounds", type=int, default=5)
    parser.add_argument("--graphs-only", action="store_true", help="the first table only")
    parser.add_argument("--quick", action="store_true", help="a smoke run")
    parser.add_argument("--json", type=Path, help="write every figure there")
    parser.add_argument("--noise", type=Path, help="write the record that closecall carries there")
    args = parser.parse_args()
    if args.quick:
        args.rows, args.timed, args.rounds, args.graph_rounds = 256, 60, 1, 1
    if args.graphs_only:
        args.files = []
    elif not args.files:
        parser.error("give a FILE of cases, or --graphs-only")
    return args


if __name__ == "__main__":
    sys.exit(main())
