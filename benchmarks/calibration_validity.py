"""Does the promise hold on real answers? Calibrations on part of a data set, tested on the rest.

    pip install .
    python benchmarks/calibration_validity.py [--data FOLDER] [--truth rest|pool] [--json FILE]
    python benchmarks/calibration_validity.py --quick

Four sets of answers that people judged are scored once with the bundled model. Then, many times:
questions are drawn at random until so many labels are there, a cutoff is fitted on them, and the
false-accept rate is taken on answers to other questions. A calibration is *broken* when that rate
exceeds the limit. The promise allows 5% of all calibrations to be broken, refused ones counted as
kept; where many are refused, the share among the granted ones alone may be larger.

Methods: the exact and the approximate guarantee of closecall, seeing groups (questions); naive,
the most accepting cutoff with an observed rate within the limit; the best F1; similarity 0.7 for
everybody. Each is held to the rate it is about: the exact rule draws one reject a question, so to
the rate that weighs questions alike; the others to the rate over rows. --json has both for all.
Broken is a count of the granted calibrations, share the same with its Monte-Carlo standard error.
Stated is how often the records of the exact rule say it is broken, over all calibrations with
refused ones as 0. TAR is the share of good answers accepted, over rows, the mean of the granted
calibrations.

--truth rest (default) tests on the answers not drawn. They are finite: the rate found there has
an error of its own, and differs from that of the drawn ones in the other direction, since what
one part has more of the other has less. So a rule that breaks its promise in exactly 5% of
calibrations is counted broken more often here, the more so the smaller the set. --truth pool
draws questions with replacement and takes the rate on the whole set: the population is then known,
and the guarantee can be held to its word; a draw may be larger than the set.

The folder with the answers (JSONL: id, input, reference, response, label, group) is --data, or
CLOSECALL_BENCH_ANSWERS, or ../shared/data/answers beside the repository. Nothing is copied from
it. Vectors are kept in the vector cache, as in any run; CLOSECALL_CACHE=off keeps none.

Exits with 0; with 1 when the exact rule breaks its promise on a known population (--truth pool)
more often than 5% by four standard errors; with 2 when there is no folder.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import machine
import numpy as np
from judged_answers import METRIC, Pool, Rows, Truth, drawn, measure, scored

SETS = ("evouna_nq", "evouna_tq", "diver_qa", "nq301")
LABELS = (150, 300, 1000)
LIMITS = (0.10, 0.05)
DELTA = 0.05
FIXED = 70.0  # the metric is the similarity times 100
VARIABLE = "CLOSECALL_BENCH_ANSWERS"
BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data" / "answers"


class Fitted(NamedTuple):
    """A cutoff, or why there is none; ``stated`` is how often its record says it is broken."""

    cutoff: float | None
    reason: str | None = None
    stated: float | None = None


@dataclass
class Cell:
    """The calibrations of one method, with one limit, on one number of labels."""

    reasons: Counter[str] = field(default_factory=Counter)
    stated: list[float] = field(default_factory=list)
    true_accept_rates: list[float] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)
    broken_rows: int = 0
    broken_questions: int = 0

    def add(self, found: Fitted, truth: Truth | None, limit: float) -> None:
        """Count one calibration."""
        self.stated.append(found.stated or 0.0)
        if truth is None:
            self.reasons[found.reason or "accepts_nobody"] += 1
            return
        self.rates.append(truth.false_accepts / truth.rejects)
        self.broken_rows += truth.false_accepts / truth.rejects > limit
        self.broken_questions += truth.by_question > limit
        self.true_accept_rates.append(truth.true_accepts / truth.accepts)

    def summary(self, method: str) -> dict[str, Any]:
        """Return the figures; a share or a mean over nothing is None."""
        granted, refused = len(self.rates), self.reasons.total()
        per = "question" if method == "exact" else "row"
        broken = self.broken_questions if per == "question" else self.broken_rows
        share = broken / granted if granted else None
        return {
            "method": method,
            "per": per,
            "calibrations": granted + refused,
            "granted": granted,
            "broken": broken,
            "share": share,
            "standard_error": None if share is None else math.sqrt(share * (1 - share) / granted),
            "stated": statistics.fmean(self.stated) if method == "exact" else None,
            "broken_by_rows": self.broken_rows,
            "broken_by_questions": self.broken_questions,
            "mean_false_accept_rate": statistics.fmean(self.rates) if granted else None,
            "mean_true_accept_rate": (
                statistics.fmean(self.true_accept_rates) if granted else None
            ),
            "refused": refused,
            "reasons": dict(self.reasons),
        }


def main() -> int:
    """Run the calibrations and print what became of them."""
    args = _arguments()
    print(__doc__.partition("\n")[0])
    found = machine.facts()
    print(machine.describe(found), "\n", sep="")
    if not args.data.is_dir():
        print(f"calibration_validity: {args.data} is no folder; name one with --data or "
              f"{VARIABLE}", file=sys.stderr)  # fmt: skip
        return 2
    results: list[dict[str, Any]] = []
    for name in args.sets:
        path = args.data / f"{name}.jsonl"
        if not path.is_file():
            print(f"{name}: not measured, there is no {path}\n", flush=True)
            results.append({"set": name, "not_measured": "no file"})
            continue
        results.append(_measure(scored(name, path), args))
    exact = [
        cell
        for result in results
        for block in result.get("blocks", ())
        for cell in block.get("cells", ())
        if cell["method"] == "exact"
    ]
    kept = _print_verdict(exact, args)
    if args.json:
        report = {
            "benchmark": "calibration_validity",
            "machine": found,
            "smoke": args.quick,
            "truth": args.truth,
            "metric": METRIC,
            "delta": DELTA,
            "seed": args.seed,
            "seeds": "draw of questions: PCG64((seed, labels, calibration)); "
            "draw of a row a question: the number of the calibration",
            "sets": results,
        }
        Path(args.json).write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return 0 if kept or args.truth == "rest" else 1


def promised(rows: Rows, limit: float, guarantee: str, seed: int) -> Fitted:
    """Return the cutoff of closecall with this guarantee, knowing the questions."""
    from closecall.calibration import Infeasible, fit_cutoff

    found = fit_cutoff(
        rows.scores,
        rows.accept,
        rows.questions,
        max_far=limit,
        confidence=1 - DELTA,
        guarantee=guarantee,
        seed=seed,
    )
    if isinstance(found, Infeasible):
        return Fitted(None, found.reason.value)
    return Fitted(found.value, None, found.evidence.violation_probability)


def naive(rows: Rows, limit: float) -> Fitted:
    """Return the most accepting cutoff whose observed false-accept rate is within the limit."""
    from closecall.calibration.curve import error_curve

    curve = error_curve(rows.scores, rows.accept)
    most = math.floor(Fraction(repr(limit)) * curve.rejects)  # 0.29 * 100 is not 29 in floats
    row = int(np.flatnonzero(curve.false_accepts <= most)[-1])
    return Fitted(curve.cutoff(row) if row else None)


def best_f1(rows: Rows) -> Fitted:
    """Return the cutoff of the greatest F1 on these rows."""
    from closecall.calibration.curve import error_curve

    curve = error_curve(rows.scores, rows.accept)
    sizes = curve.true_accepts + curve.false_accepts
    row = int((curve.true_accepts / (sizes + curve.accepts)).argmax())
    return Fitted(curve.cutoff(row) if row else None)


METHODS: dict[str, Callable[[Rows, float, int], Fitted]] = {
    "exact": lambda rows, limit, seed: promised(rows, limit, "exact", seed),
    "approximate": lambda rows, limit, seed: promised(rows, limit, "approximate", seed),
    "naive": lambda rows, limit, _: naive(rows, limit),
    "best F1": lambda rows, _limit, _seed: best_f1(rows),
    "fixed 0.7": lambda *_: Fitted(FIXED),
}


def _measure(pool: Pool, args: argparse.Namespace) -> dict[str, Any]:
    rows = pool.rows
    rejects = int(np.count_nonzero(~rows.accept))
    questions = int(rows.questions[-1]) + 1
    print(
        f"{pool.name}: {len(rows):,} answers to {questions:,} questions, {rejects:,} of them "
        f"rejected; scored in {pool.seconds:.0f} s"
        + (f"; {pool.unmeasured} not measured and left out" if pool.unmeasured else "")
    )
    blocks = []
    for labels in args.labels:
        start = time.perf_counter()
        block = _block(pool, labels, args)
        blocks.append(block | {"seconds": time.perf_counter() - start})
        _print_block(blocks[-1])
    print(flush=True)
    return {
        "set": pool.name,
        "answers": len(rows),
        "questions": questions,
        "rejects": rejects,
        "not_measured_rows": pool.unmeasured,
        "score_seconds": pool.seconds,
        "blocks": blocks,
    }


def _block(pool: Pool, labels: int, args: argparse.Namespace) -> dict[str, Any]:
    """Run the calibrations on one number of labels."""
    if args.truth == "rest" and 10 * labels > 9 * len(pool.rows):
        reason = f"the set has {len(pool.rows)} answers, and a tenth must be left to test on"
        return {"labels": labels, "not_measured": reason}
    cells = {(method, limit): Cell() for method in METHODS for limit in args.limits}
    sizes = []
    for number in range(args.calibrations):
        here, elsewhere = drawn(pool.rows, labels, (args.seed, labels, number), args.truth)
        questions = here.questions[~here.accept]
        sizes.append((len(questions), len(np.unique(questions)), len(elsewhere)))
        for method, fit in METHODS.items():
            for limit in args.limits:
                found = fit(here, limit, number)
                truth = None if found.cutoff is None else measure(elsewhere, found.cutoff)
                cells[method, limit].add(found, truth, limit)
    medians = [statistics.median(column) for column in zip(*sizes, strict=True)]
    return {
        "labels": labels,
        "median_rejects": medians[0],
        "median_questions_with_a_reject": medians[1],
        "median_tested_on": medians[2],
        "cells": [
            {"limit": limit, **cell.summary(method)} for (method, limit), cell in cells.items()
        ],
    }


def _print_block(block: dict[str, Any]) -> None:
    if "not_measured" in block:
        print(f"  {block['labels']} labels: not possible, {block['not_measured']}")
        return
    print(
        f"  {block['labels']} labels (median {block['median_rejects']:g} rejects of "
        f"{block['median_questions_with_a_reject']:g} questions), tested on "
        f"{block['median_tested_on']:,g} answers"
    )
    limits = list(dict.fromkeys(cell["limit"] for cell in block["cells"]))
    head = f"{'broken':>10}{'share':>16}{'stated':>8}{'TAR':>6}{'refused':>9}"
    over = "".join(f"{f'at most {limit:.0%} of wrong answers':^{len(head)}}" for limit in limits)
    print(f"    {'':<23}{over}".rstrip())
    print(f"    {'method':<13}{'per':<10}" + head * len(limits))
    for method in METHODS:
        cells = [cell for cell in block["cells"] if cell["method"] == method]
        print(f"    {method:<13}{cells[0]['per']:<10}" + "".join(map(_shown, cells)))


def _shown(cell: dict[str, Any]) -> str:
    granted, calibrations = cell["granted"], cell["calibrations"]
    share = "-"
    if granted:
        share = f"{cell['share']:.2f} +- {cell['standard_error']:.2f}"
    stated = "" if cell["stated"] is None else f"{cell['stated']:.3f}"
    kept = "-" if not granted else f"{cell['mean_true_accept_rate']:.2f}"
    broken = f"{cell['broken']}/{granted}"
    refused = f"{cell['refused'] / calibrations:.0%}"
    return f"{broken:>10}{share:>16}{stated:>8}{kept:>6}{refused:>9}"


def _print_verdict(cells: list[dict[str, Any]], args: argparse.Namespace) -> bool:
    """Say how the exact rule did over all sets; True when every cell is within the allowance."""
    kept = True
    for limit in args.limits:
        chosen = [cell for cell in cells if cell["limit"] == limit]
        total = sum(cell["calibrations"] for cell in chosen)
        if not total:
            continue
        broken = sum(cell["broken"] for cell in chosen)
        stated = sum(cell["stated"] * cell["calibrations"] for cell in chosen) / total
        worst = max(chosen, key=lambda cell: cell["broken"] / cell["calibrations"])
        print(
            f"exact, at most {limit:.0%}: {broken} of {total} calibrations broken, refused ones "
            f"counted as kept: {broken / total:.3f}; stated {stated:.3f}, allowed {DELTA}; worst "
            f"of {len(chosen)}: {worst['broken']} of {worst['calibrations']}"
        )
        slack = 4 * math.sqrt(DELTA * (1 - DELTA) / args.calibrations)
        kept = kept and worst["broken"] / worst["calibrations"] <= DELTA + slack
    return kept


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data", type=Path, default=Path(os.environ.get(VARIABLE) or BESIDE), metavar="FOLDER"
    )
    parser.add_argument("--truth", choices=("rest", "pool"), default="rest")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--labels", nargs="+", type=int, default=LABELS, metavar="N")
    parser.add_argument("--limits", nargs="+", type=float, default=LIMITS, metavar="SHARE")
    parser.add_argument("--calibrations", type=int, help="default: 300, with --quick 10")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="a smoke run: the smallest set")
    parser.add_argument("--json", metavar="FILE", help="write every figure there too")
    args = parser.parse_args()
    if args.calibrations is None:
        args.calibrations = 10 if args.quick else 300
    if args.quick:
        args.sets = SETS[-1:]
    if min(args.calibrations, *args.labels) < 1 or args.seed < 0:
        parser.error("--calibrations and --labels must be at least 1, --seed at least 0")
    if not all(0 < limit < 1 for limit in args.limits):
        parser.error("--limits must lie between 0 and 1")
    return args


if __name__ == "__main__":
    sys.exit(main())
