"""Time to fit a cutoff: closecall, scikit-learn and sentence-transformers on the same scores.

    pip install . scikit-learn torch sentence-transformers
    python benchmarks/calibration_speed.py [--sizes N ...] [--rounds N] [--json FILE]
    python benchmarks/calibration_speed.py --quick

Made-up scores, rounded to six decimals as closecall would, so that all see the same numbers and
the large sets have ties. Each contender goes from the two arrays to one cutoff: closecall with
fit_cutoff, which checks its input and counts errors with intervals too; scikit-learn with
TunedThresholdClassifierCV(cv="prefit", refit=False) around a classifier that returns its one
feature, which looks at 100 evenly spaced cutoffs; sentence-transformers with the search of
BinaryClassificationEvaluator, which has accuracy and F1. Rounds alternate, and the order within a
round rotates; calls under 50 ms are repeated and averaged. The ratio is that of median times; its
range comes from the ratios within rounds.

The cutoffs stand side by side, and what each is worth is counted anew, by one piece of code: a
response is accepted if its score is at least the cutoff. closecall looks at every cutoff there is,
so nobody may be better. Then the parts, on a finished sweep: certificate and each objective. The
last column of both is the growth: how many times longer than for the size before.

Exits with 0; with 1 when a peer finds a better cutoff. A peer that is not installed is left out,
and the table says so.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from importlib import metadata
from pathlib import Path
from typing import Any

import machine
import numpy as np

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"

OURS = "closecall"
SKLEARN = "scikit-learn"
TORCH = "sentence-transformers"
NEEDS = {SKLEARN: "scikit-learn", TORCH: "torch sentence-transformers"}
OBJECTIVES = ("f1", "accuracy", "youden", "cost")
COSTS = (5, 1)  # of a false accept and of a false reject
SIZES = (10_000, 100_000, 1_000_000)
ACCEPTABLE = 0.7
SHORT = 0.05  # seconds; a call that takes less is repeated for so long

Fit = Callable[[Any, Any], float]


def main() -> int:
    """Run the comparison and print it."""
    args = _arguments()
    print(__doc__.partition("\n")[0])
    found = machine.facts()
    found["versions"] |= {name: _version(name) for name in ("scipy", SKLEARN)}
    print(machine.describe(found), "\n", sep="")
    fits, missing = _contenders()
    results: list[dict[str, Any]] = []
    for size in args.sizes:
        scores, accept = _made(size, args.seed)
        before = results[-1] if results else None
        results.append(_measure(scores, accept, fits, args.rounds))
        _print_size(results[-1], before, smoke=args.quick)
    for peer, reason in missing.items():
        print(f"ratio to {peer}: not measured ({reason})")
    if args.json:
        report = {
            "benchmark": "calibration_speed",
            "machine": found,
            "smoke": args.quick,
            "seed": args.seed,
            "rounds": args.rounds,
            "costs": {"false_accept": COSTS[0], "false_reject": COSTS[1]},
            "not_measured": missing,
            "sizes": results,
        }
        Path(args.json).write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    beaten = [row for result in results for row in result["rows"] if row["short_of_best"] < 0]
    for row in beaten:
        print(f"calibration_speed: {row['name']} has a better {row['objective']}", file=sys.stderr)
    return 1 if beaten else 0


def worth(objective: str, scores: Any, accept: Any, cutoff: float) -> Fraction:
    """Return what a cutoff is worth on these rows, from decisions; the greater the better."""
    said = scores >= cutoff
    kept, wrong = np.count_nonzero(said & accept), np.count_nonzero(said & ~accept)
    accepts, rejects = np.count_nonzero(accept), np.count_nonzero(~accept)
    missed = accepts - kept
    if objective == "f1":
        return Fraction(2 * kept, 2 * kept + wrong + missed)
    if objective == "accuracy":
        return Fraction(len(scores) - wrong - missed, len(scores))
    if objective == "youden":
        return Fraction(kept, accepts) - Fraction(wrong, rejects)
    return -Fraction(COSTS[0] * wrong + COSTS[1] * missed, len(scores))


def _made(size: int, seed: int) -> tuple[Any, Any]:
    """Return scores like cosines, (n,) float64, and which of them a person accepts, (n,) bool."""
    rng = np.random.default_rng((seed, size))
    accept = rng.random(size) < ACCEPTABLE
    scores = np.clip(rng.normal(0.35 + 0.25 * accept, 0.18), -1, 1)
    return np.round(scores, 6) + 0.0, accept


def _contenders() -> tuple[dict[tuple[str, str], Fit], dict[str, str]]:
    """Return a fit for each contender and objective it has, and who is not installed."""
    made: dict[tuple[str, str], Fit] = {}
    missing = {}
    for name, make in ((OURS, _closecall), (SKLEARN, _sklearn), (TORCH, _torch)):
        try:
            made |= {(name, objective): fit for objective, fit in make().items()}
        except ModuleNotFoundError:
            missing[name] = f"not installed: pip install {NEEDS[name]}"
    return made, missing


def _closecall() -> dict[str, Fit]:
    from closecall.calibration import Costs, Infeasible, fit_cutoff

    def fit(scores: Any, accept: Any, **goal: Any) -> float:
        found = fit_cutoff(scores, accept, estimator="empirical", **goal)
        if isinstance(found, Infeasible):
            raise TypeError(f"made-up scores must have a cutoff: {found.message}")
        return found.value

    costs = Costs(false_accept=COSTS[0], false_reject=COSTS[1])
    goals = {name: {"objective": name} for name in OBJECTIVES} | {"cost": {"costs": costs}}
    return {
        name: lambda scores, accept, goal=goal: fit(scores, accept, **goal)
        for name, goal in goals.items()
    }


def _sklearn() -> dict[str, Fit]:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.metrics import make_scorer
    from sklearn.model_selection import TunedThresholdClassifierCV

    class OneFeature(ClassifierMixin, BaseEstimator):
        """A fitted classifier whose decision function is its only feature."""

        classes_ = np.array([0, 1])

        def fit(self, rows, labels):  # noqa: ARG002 - there is nothing to learn
            return self

        def decision_function(self, rows):
            return rows[:, 0]

        def predict(self, rows):
            return (rows[:, 0] >= 0).astype(int)

    def gain(truth, said):
        wrong = np.count_nonzero(said & ~truth & 1)
        return -(COSTS[0] * wrong + COSTS[1] * np.count_nonzero(truth & ~said & 1)) / len(truth)

    scorings = {
        "f1": "f1",
        "accuracy": "accuracy",
        "youden": "balanced_accuracy",  # half of it, and a half
        "cost": make_scorer(gain),
    }

    def fit(scores: Any, accept: Any, scoring: Any) -> float:
        tuned = TunedThresholdClassifierCV(
            OneFeature(),
            scoring=scoring,
            cv="prefit",
            refit=False,
            response_method="decision_function",
        )
        return float(tuned.fit(scores[:, None], accept.astype(int)).best_threshold_)

    return {
        name: lambda scores, accept, scoring=scoring: fit(scores, accept, scoring)
        for name, scoring in scorings.items()
    }


def _torch() -> dict[str, Fit]:
    try:
        from sentence_transformers.sentence_transformer import evaluation
    except ModuleNotFoundError:
        from sentence_transformers import evaluation  # where older versions have it
    Evaluator = evaluation.BinaryClassificationEvaluator  # noqa: N806 - it is a class

    return {
        "f1": lambda scores, accept: float(
            Evaluator.find_best_f1_and_threshold(scores, accept.astype(int), True)[3]  # noqa: FBT003
        ),
        "accuracy": lambda scores, accept: float(
            Evaluator.find_best_acc_and_threshold(scores, accept.astype(int), True)[1]  # noqa: FBT003
        ),
    }


def _parts(scores: Any, accept: Any) -> dict[str, Callable[[], Any]]:
    """Return the steps of closecall, each on what the one before made."""
    from closecall.calibration import Costs
    from closecall.calibration.curve import error_curve
    from closecall.calibration.cutoffs import certify
    from closecall.calibration.objectives import best_row

    curve = error_curve(scores, accept)
    costs = Costs(false_accept=COSTS[0], false_reject=COSTS[1])
    return {
        "sweep": lambda: error_curve(scores, accept),
        "certificate": lambda: certify(curve, 0.05),
        "f1": lambda: best_row(curve, "f1"),
        "accuracy": lambda: best_row(curve, "accuracy"),
        "youden": lambda: best_row(curve, "youden"),
        "cost": lambda: best_row(curve, "cost", costs),
    }


def _measure(
    scores: Any, accept: Any, fits: dict[tuple[str, str], Fit], rounds: int
) -> dict[str, Any]:
    """Fit every contender once for its answer, then time all of them once a round."""
    cutoffs = {key: fit(scores, accept) for key, fit in fits.items()}
    values = {key: worth(key[1], scores, accept, cutoff) for key, cutoff in cutoffs.items()}
    timed: dict[tuple[str, str], list[float]] = {key: [] for key in fits}
    parts = _parts(scores, accept)
    part_times: dict[str, list[float]] = {name: [] for name in parts}
    keys = list(fits)
    for number in range(rounds):
        turn = number % len(keys)
        for key in keys[turn:] + keys[:turn]:
            timed[key].append(_seconds(lambda key=key: fits[key](scores, accept)))
        for name, part in parts.items():
            part_times[name].append(_seconds(part))
    rows = []
    for key in sorted(keys, key=lambda key: OBJECTIVES.index(key[1])):
        name, objective = key
        ours = timed[OURS, objective]
        by_round = [peer / own for peer, own in zip(timed[key], ours, strict=True)]
        rows.append(
            {
                "name": name,
                "objective": objective,
                "median_s": statistics.median(timed[key]),
                "wall_s": timed[key],
                "cutoff": cutoffs[key],
                "value": float(values[key]),
                "short_of_best": float(values[OURS, objective] - values[key]),
                "ratio": statistics.median(timed[key]) / statistics.median(ours),
                "ratio_range": [min(by_round), max(by_round)],
            }
        )
    return {
        "n": len(scores),
        "accepts": int(np.count_nonzero(accept)),
        "distinct_scores": len(np.unique(scores)),
        "rounds": rounds,
        "rows": rows,
        "parts": {
            name: {"median_s": statistics.median(times), "wall_s": times}
            for name, times in part_times.items()
        },
    }


def _seconds(call: Callable[[], Any]) -> float:
    """Return the seconds of one call, short ones repeated and averaged."""
    time.sleep(0.05)  # lets the threads of the one before stop spinning
    start, calls = time.perf_counter(), 0
    while (taken := time.perf_counter() - start) < SHORT or not calls:
        call()
        calls += 1
    return taken / calls


def _print_size(result: dict[str, Any], before: dict[str, Any] | None, *, smoke: bool) -> None:
    print(
        f"{result['n']:,} scores, {result['distinct_scores']:,} distinct, "
        f"{result['accepts']:,} accepts; medians of {result['rounds']} rounds"
        + (" (smoke run: times mean nothing)" if smoke else "")
    )
    print(f"  {'':<32}{'ms':>10}{'cutoff':>11}{'worth':>11}{'short by':>10}"
          f"{'growth':>8}  closecall is")  # fmt: skip
    earlier = {} if before is None else {(r["name"], r["objective"]): r for r in before["rows"]}
    for row in result["rows"]:
        key = row["name"], row["objective"]
        says = ""
        if row["name"] != OURS:
            low, high = row["ratio_range"]
            says = f"  {row['ratio']:.1f} times as fast ({low:.1f}-{high:.1f})"
        line = (
            f"  {row['objective']:<9}{row['name']:<23}{1000 * row['median_s']:>10.2f}"
            f"{row['cutoff']:>11.6f}{row['value']:>11.6f}{_short(row['short_of_best']):>10}"
            f"{_growth(row, earlier.get(key)):>8}{says}"
        )
        print(line.rstrip())
    for name, part in result["parts"].items():
        grown = _growth(part, before["parts"][name] if before else None)
        where = "" if name in {"sweep", "certificate"} else "best row by "
        line = f"  {'part: ' + where + name:<32}{1000 * part['median_s']:>10.2f}{'':>32}{grown:>8}"
        print(line.rstrip())
    print(flush=True)


def _short(by: float) -> str:
    return f"{by:.1e}" if by else "-"


def _growth(now: dict[str, Any], before: dict[str, Any] | None) -> str:
    return "" if before is None else f"{now['median_s'] / before['median_s']:.1f}x"


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", nargs="+", type=int, metavar="N")
    parser.add_argument("--rounds", type=int, help="default: 5, with --quick 1")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="a smoke run: few scores, one round")
    parser.add_argument("--json", metavar="FILE", help="write every figure there too")
    args = parser.parse_args()
    args.rounds = (1 if args.quick else 5) if args.rounds is None else args.rounds
    args.sizes = args.sizes or ((1000, 10_000) if args.quick else SIZES)
    if args.rounds < 1 or min(args.sizes) < 1000 or args.seed < 0:
        parser.error("--rounds must be at least 1, --sizes at least 1000, --seed at least 0")
    return args


if __name__ == "__main__":
    sys.exit(main())
