"""How well each metric tells accepted from rejected answers, on human-labelled files.

    python benchmarks/evidence.py [--data DIR] [--rows 900] [--json FILE] [NAME ...]

For every labelled file: AUC (how often an accept outscores a reject, 0.5 is blind) and the
true-accept rate at the most accepting cutoff with a false-accept rate of at most 10 % and 5 % on
these very rows. These are descriptions of the data at hand, not certificates: compare metrics
with them, and calibrate on labels of your own. Files with more rows are thinned to whole groups,
drawn at random (seed 0). Nothing is fitted, so there is nothing to leak.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np

from closecall import evaluate, open_dataset
from closecall.calibration.curve import error_curve
from closecall.calibration.separation import separation
from closecall.records import Label, Measured

HERE = Path(__file__).resolve().parent
FOLDERS = ("answers", "grounded", "similarity")
REFERENCE = (
    "embed_answer_similarity",
    "answer_alignment",
    "answer_alignment:lexical=false",
    "answer_alignment:question=true",
    "alignment_f1",
    "alignment_min",
    "token_f1",
    "token_recall",
    "contains_reference",
    "rouge_l",
    "chrf",
)
WINDOWS = ("answer_window_similarity",)
CONTEXT = (
    "embed_response_context",
    "context_alignment",
    "context_alignment:lexical=false",
    "context_alignment:weakest=true",
)
CONTEXT_WINDOWS = ("context_window_similarity",)
FEWEST = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="only files of these names")
    parser.add_argument("--data", type=Path, default=HERE.parent.parent / "shared" / "data")
    parser.add_argument("--rows", type=int, default=900)
    parser.add_argument("--windows", action="store_true", help="the window metrics too (slow)")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    files = [
        path
        for folder in FOLDERS
        for path in sorted((options.data / folder).glob("*.jsonl"))
        if not options.names or path.stem in options.names
    ]
    if not files:
        sys.exit(f"no labelled files under {options.data}")
    table = []
    for path in files:
        table += measured(path, options.rows, windows=options.windows)
    if options.json:
        options.json.write_text(json.dumps(table, indent=1), encoding="utf-8")


def measured(path: Path, rows: int, *, windows: bool) -> list[dict]:
    cases = [case for case in open_dataset(path) if case.label is not None and case.response]
    labels = {case.label for case in cases}
    if len(labels) < 2 or min(sum(c.label is x for c in cases) for x in Label) < FEWEST:
        print(f"\n{path.stem}: not both labels often enough")
        return []
    cases = thinned(cases, rows)
    names = [
        *(REFERENCE if any(case.references for case in cases) else ()),
        *(WINDOWS if windows and any(case.references for case in cases) else ()),
        *(CONTEXT if any(case.context for case in cases) else ()),
        *(CONTEXT_WINDOWS if windows and any(case.context for case in cases) else ()),
    ]
    began = time.perf_counter()
    run = list(evaluate(cases, names, cache=False))
    took = time.perf_counter() - began
    accepts = sum(case.label is Label.ACCEPT for case in cases)
    print(f"\n{path.stem}: {len(cases)} rows, {accepts} accepted, {took:.0f} s")
    print(f"  {'metric':34} {'n':>5} {'AUC':>6} {'95% interval':>14} {'TAR@10%':>8} {'TAR@5%':>7}")
    found = []
    for at, name in enumerate(names):
        kept = [row for row in run if isinstance(row.results[at].measurement, Measured)]
        entry = {"file": path.stem, "metric": name, "n": len(kept)}
        classes = {row.case.label for row in kept}
        if len(classes) == len(Label):
            curve = error_curve(
                [row.results[at].measurement.value for row in kept],
                [row.case.label for row in kept],
            )
            ranked = separation(curve)
            entry |= {"auc": ranked.auc, "low": ranked.interval.low, "high": ranked.interval.high}
            entry |= {f"tar{int(100 * far)}": kept_at(curve, far) for far in (0.10, 0.05)}
            print(
                f"  {name:34} {len(kept):5} {ranked.auc:6.3f} "
                f"{ranked.interval.low:6.3f}-{ranked.interval.high:.3f} "
                f"{entry['tar10']:8.2f} {entry['tar5']:7.2f}"
            )
        else:
            print(f"  {name:34} {len(kept):5} not both labels measured")
        found.append(entry)
    return found


def thinned(cases: list, rows: int) -> list:
    """Return about so many rows: whole groups, drawn at random."""
    if len(cases) <= rows:
        return cases
    groups: dict[str, list] = {}
    for case in cases:
        groups.setdefault(case.group or case.id, []).append(case)
    order = np.random.default_rng(0).permutation(sorted(groups))
    kept: list = []
    for name in order:
        kept += groups[name]
        if len(kept) >= rows:
            break
    return kept


def kept_at(curve, far: float) -> float:
    """Return the true-accept rate of the most accepting cutoff with at most this observed FAR."""
    allowed = int(np.flatnonzero(curve.false_accepts <= far * curve.rejects)[-1])
    return int(curve.true_accepts[allowed]) / curve.accepts


if __name__ == "__main__":
    main()
