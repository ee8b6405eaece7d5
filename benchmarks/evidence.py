"""How well each metric tells accepted from rejected answers, on human-labelled files.

    python benchmarks/evidence.py [--data DIR] [--rows 900] [--windows] [--judge-json FILE]
                                  [--json FILE] [--markdown FILE] [NAME ...]

For every labelled file: AUC (how often an accept outscores a reject, 0.5 is blind) and the
true-accept rate at the most accepting cutoff with a false-accept rate of at most 10 % and 5 % on
these very rows. These are descriptions of the data at hand, not certificates: compare metrics
with them, and calibrate on labels of your own. Files with more rows are thinned to whole groups,
drawn at random (seed 0). Nothing is fitted, so there is nothing to leak. The interval of an AUC
takes each group for one answer.

Rows that the bundled pair model learnt from are left out for every metric (``unseen.py``), and
what it costs stands below each table: pairs a second on this machine, and how many times as long
as embedding the same answers it takes.

Then what published judges said of the same answers (``evidence_judges.py``), and what guards, and
the pair model as if it were one, change at the 10 % cutoff (``evidence_guards.py``).

--judge-json takes figures of metrics that were fitted on other rows, which this script cannot
make: a list of objects with file, metric, n, auc, low, high, tar10 and tar5, as under "table"
in --json. They stand below the others of their file.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np
from evidence_guards import changed_by_guards, guard_lines
from evidence_judges import judge_lines, judged
from unseen import cost_facts, cost_of, cost_words, left_out, unseen

from closecall import evaluate, open_dataset
from closecall.calibration.curve import error_curve
from closecall.calibration.separation import separation
from closecall.records import Label, Measured

HERE = Path(__file__).resolve().parent
FOLDERS = ("answers", "grounded", "similarity")
MAIN = "answer_alignment"
BESIDE_GUARDS = (MAIN, "answer_support")
REFERENCE = (
    "embed_answer_similarity",
    MAIN,
    "answer_alignment:weights=content",
    "answer_alignment:question=false",
    "answer_alignment:lexical=false",
    "answer_alignment:question=false:spelling=false",
    "answer_support",
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
    "context_alignment:weights=plain",
    "context_alignment:lexical=false",
    "context_alignment:weakest=true",
    "context_support",
)
PAIRED = ("answer_support", "context_support")
CONTEXT_WINDOWS = ("context_window_similarity",)
FEWEST = 10
RATES = (0.10, 0.05)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="only files of these names")
    parser.add_argument("--data", type=Path, default=HERE.parent.parent / "shared" / "data")
    parser.add_argument("--rows", type=int, default=900)
    parser.add_argument("--windows", action="store_true", help="the window metrics too (slow)")
    parser.add_argument("--judge-json", type=Path, help="figures of a fitted metric, to join")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    files = labelled_files(options.data, options.names)
    if not files:
        sys.exit(f"no labelled files under {options.data}")
    fitted = json.loads(options.judge_json.read_text("utf-8")) if options.judge_json else []
    found: dict[str, list] = {"table": [], "judges": [], "guards": [], "costs": []}
    lines: list[str] = []
    for path in files:
        labelled = readable(path)
        cases = unseen(options.data, labelled)
        if min(sum(case.label is label for case in cases) for label in Label) < FEWEST:
            print(f"\n{path.stem}: not both labels often enough")
            continue
        cases, gone = thinned(cases, options.rows), left_out(labelled, cases)
        run, names, heading = measured(path.stem, cases, windows=options.windows)
        costs = {name: cost_of(name, cases) for name in PAIRED if name in names}
        table = [figures(path.stem, name, at, run) for at, name in enumerate(names)]
        table += [
            entry
            for entry in fitted
            if entry["file"] == path.stem and entry["metric"].startswith("judge")
        ]
        judges = judged(options.data / "anchors" / f"{path.stem}_judges.jsonl", run, names)
        guards = {
            name: changed_by_guards(path.stem, run, names.index(name), names)
            for name in BESIDE_GUARDS
            if name in names
        }
        shown = [f"\n### {heading}{gone}\n", *table_lines(table)]
        shown += [f"\n{cost_words(name, cost)}." for name, cost in costs.items() if cost]
        shown += judge_lines(judges) + [
            line for one in guards.values() for line in guard_lines(one)
        ]
        print("\n".join(shown), flush=True)
        lines += shown
        found["costs"] += [
            {"file": path.stem, "metric": name, **cost_facts(cost)}
            for name, cost in costs.items()
            if cost
        ]
        found["guards"] += [entry for one in guards.values() for entry in one]
        for kind, entries in (("table", table), ("judges", judges)):
            found[kind] += entries
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    if options.markdown:
        options.markdown.write_text("\n".join(lines).lstrip() + "\n", encoding="utf-8")


def labelled_files(data: Path, names: list[str]) -> list[Path]:
    return [
        path
        for folder in FOLDERS
        for path in sorted((data / folder).glob("*.jsonl"))
        if not names or path.stem in names
    ]


def readable(path: Path) -> list:
    return [case for case in open_dataset(path) if case.label is not None and case.response]


def measured(name: str, cases: list, *, windows: bool) -> tuple[list, list[str], str]:
    names = [
        *(REFERENCE if any(case.references for case in cases) else ()),
        *(WINDOWS if windows and any(case.references for case in cases) else ()),
        *(CONTEXT if any(case.context for case in cases) else ()),
        *(CONTEXT_WINDOWS if windows and any(case.context for case in cases) else ()),
    ]
    began = time.perf_counter()
    run = list(evaluate(cases, names, cache=False, guards="off")) if names else []
    took = time.perf_counter() - began
    accepts = sum(case.label is Label.ACCEPT for case in cases)
    groups = len({group_of(case) for case in cases})
    heading = f"{name}: {len(cases)} rows, {accepts} accepted, {groups} groups ({took:.0f} s)"
    return run, names, heading


def figures(file: str, name: str, at: int, run: list) -> dict:
    """Return the figures of one metric: rates with the counts they come from."""
    kept = [row for row in run if isinstance(row.results[at].measurement, Measured)]
    entry = {"file": file, "metric": name, "n": len(kept)}
    of_label = {
        label: {group_of(row.case) for row in kept if row.case.label is label} for label in Label
    }
    if not all(of_label.values()):
        return entry
    curve = error_curve(
        [row.results[at].measurement.value for row in kept], [row.case.label for row in kept]
    )
    ranked = separation(
        curve, accepts=len(of_label[Label.ACCEPT]), rejects=len(of_label[Label.REJECT])
    )
    entry |= {"auc": ranked.auc, "low": ranked.interval.low, "high": ranked.interval.high}
    entry |= {f"tar{int(100 * far)}": kept_at(curve, far) for far in RATES}
    return entry | {"accepts": curve.accepts, "rejects": curve.rejects}


def table_lines(table: list[dict]) -> list[str]:
    if not table:
        return ["Nothing to compare the responses with."]
    lines = [
        "| metric | n | AUC (95 % interval) | TAR at FAR 10 % | TAR at FAR 5 % |",
        "|---|---|---|---|---|",
    ]
    for entry in table:
        cells = ["not both labels measured", "", ""]
        if "auc" in entry:
            cells = [f"{entry['auc']:.3f}"]
            if "low" in entry:
                cells[0] += f" ({entry['low']:.3f}-{entry['high']:.3f})"
            cells += [f"{entry[key]:.3f}" for key in ("tar10", "tar5")]
        lines.append(f"| `{entry['metric']}` | {entry['n']} | {' | '.join(cells)} |")
    return lines


def group_of(case) -> str:
    return case.group or case.id


def thinned(cases: list, rows: int) -> list:
    """Return about so many rows: whole groups, drawn at random."""
    if len(cases) <= rows:
        return cases
    groups: dict[str, list] = {}
    for case in cases:
        groups.setdefault(group_of(case), []).append(case)
    order = np.random.default_rng(0).permutation(sorted(groups))
    kept: list = []
    for name in order:
        kept += groups[name]
        if len(kept) >= rows:
            break
    return kept


def allowed_row(curve, far: float) -> int:
    """Return the most accepting rule with at most this observed false-accept rate."""
    return int(np.flatnonzero(curve.false_accepts <= far * curve.rejects)[-1])


def kept_at(curve, far: float) -> float:
    """Return the true-accept rate of that rule."""
    return int(curve.true_accepts[allowed_row(curve, far)]) / curve.accepts


if __name__ == "__main__":
    main()
