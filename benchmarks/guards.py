"""What does each guard see? Counted on labelled data as if a guard were a classifier.

    pip install .
    python benchmarks/guards.py [--data FOLDER] [--guards NAMES] [--sets NAMES] [--half dev|test]
                                [--support]
    python benchmarks/guards.py --examples numbers --sets answers/nq301

For each guard and set of human-labelled pairs of reference and response: of the rejects, in how
many the guard *differs* (wrong answers it would hold back), and of the accepts, in how many it
does (right answers it would hold back). No model and no similarity is involved. *Seen* counts the
rows in which the guard found anything to compare; *any of them* differs where one guard does.
*Weight* is how much a finding should move one's belief: the share of rejects over the share of
accepts, with half a row added to each, so that an empty cell is no infinity; at 1 a finding says
nothing.

--support counts the bundled pair model as if it were one more guard, which differs where
``answer_support`` is below 0.5, on rows that it has not learnt from (``unseen.py``); the other
guards are then counted on these rows too, and what it costs beside embedding is timed.

The halves split the questions (groups) by a hash, so that rules can be written by looking at
examples of one half and counted on the other.

The folder with the data (JSONL: reference, response, input, label, group) is --data, or
CLOSECALL_SHARED_DATA, or ../shared/data beside the repository. Nothing is copied from it. The sets
in which responses have a context and no reference are left out. Exits with 2 without a folder.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from closecall.metrics.guards import GUARDS, against_any

SETS = (
    "answers/evouna_nq",
    "answers/evouna_tq",
    "answers/diver_qa",
    "answers/nq301",
    "answers/truthfulqa_human",
    "answers/truthfulqa_refs",
    "answers/truthfulqa_multi",
    "answers/ads_zh",
    "answers/le_zh",
    "answers/stita",
    "similarity/semantoneg",
    "similarity/nan_nli",
    "similarity/wikifactcheck_refuted",
    "similarity/med",
    "similarity/sts_images_postedit",
    "similarity/stsb_images_multi",
    "grounded/summedits_open",
)
ANY = "any of them"
PAIR = "answer_support"
HALF = 0.5
LABELS = ("reject", "accept")
BATCH = 256
VARIABLE = "CLOSECALL_SHARED_DATA"
BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data"


def main() -> int:
    """Count and print."""
    args = _arguments()
    if not args.data.is_dir():
        print(f"guards: {args.data} is no folder; name one with --data or {VARIABLE}",
              file=sys.stderr)  # fmt: skip
        return 2
    print(__doc__.partition("\n")[0])
    print(f"half: {args.half or 'all'}\n")
    head = f"{'guard':16}{'set':34}{'of rejects differ':>20}{'of accepts differ':>20}"
    print(f"{head}{'seen':>12}{'weight':>9}")
    counts: dict[str, dict[str, Counter[str]]] = {}
    start, done, reading = time.perf_counter(), 0, 0.0
    for name in args.sets:
        path = args.data / f"{name}.jsonl"
        if not path.is_file():
            print(f"{name}: not measured, there is no such file")
            continue
        labelled = list(rows(path, args.half))
        if args.support:
            began = time.perf_counter()
            labelled, counts.setdefault(PAIR, {})[name] = supported(args.data, labelled)
            reading += time.perf_counter() - began
        for row in labelled:
            done += 1
            _count(row, name, args, counts)
    spent = time.perf_counter() - start - reading
    for guard in (*args.guards, ANY, *([PAIR] if args.support else [])):
        _print(guard, counts.get(guard, {}))
    each = 1e6 * spent / max(done * len(args.guards), 1)
    print(f"{done} rows, {spent:.1f} s, {each:.0f} microseconds a row and guard")
    if args.support:
        print(f"{PAIR}: {reading:.1f} s, {1e6 * reading / max(done, 1):.0f} microseconds a row")
    if args.json:
        args.json.write_text(json.dumps(counts, indent=1) + "\n", encoding="utf-8")
    return 0


def _print(guard: str, by_set: dict[str, Counter[str]]) -> None:
    for name, count in by_set.items():
        print(_line(guard, name, count))
    print(_line(guard, "all sets", sum(by_set.values(), Counter())), "\n")


def _count(row: dict[str, Any], name: str, args: Any, counts: dict[str, dict[str, Any]]) -> None:
    """Count what each guard makes of a row."""
    states = set()
    for guard in args.guards:
        index, found = against_any(
            GUARDS[guard], row["reference"], row["response"], row["input"] or None
        )
        states.add(found.state)
        count = counts.setdefault(guard, {}).setdefault(name, Counter())
        count[f"{row['label']} {found.state}"] += 1
        if guard == args.examples and found.state == "differ":
            _show(name, row, row["reference"][index], found)
    together = next(s for s in ("differ", "agree", "absent") if s in states)
    count = counts.setdefault(ANY, {}).setdefault(name, Counter())
    count[f"{row['label']} {together}"] += 1


def rows(path: Path, half: str | None) -> Iterator[dict[str, Any]]:
    """Yield the labelled rows of a file that have a reference and a response."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            row["reference"] = [text for text in row["reference"] if text.strip()]
            if row["label"] is None or not row["reference"] or not row["response"].strip():
                continue
            odd = hashlib.sha256(str(row["group"]).encode()).digest()[0] % 2
            if half is None or (half == "test") == bool(odd):
                yield row


def supported(
    data: Path, labelled: list[dict[str, Any]]
) -> tuple[list[dict[str, Any]], Counter[str]]:
    """Return the rows that the pair model has not learnt from, and what it makes of them."""
    from unseen import unseen

    from closecall.metrics.registry import load_metric
    from closecall.records import Case, Measured

    by_case = {f"{at}": (row, _case(f"{at}", row, Case)) for at, row in enumerate(labelled)}
    kept = unseen(data, [case for _, case in by_case.values()])
    metric = load_metric(f"{PAIR}:explain=false")
    count: Counter[str] = Counter()
    for start in range(0, len(kept), BATCH):
        batch = [case for case in kept[start : start + BATCH] if metric.texts(case) == ()]
        for case, found in zip(batch, metric.measure_batch(batch, {}), strict=True):
            below = isinstance(found, Measured) and found.value < HALF
            state = "differ" if below else "agree" if isinstance(found, Measured) else "absent"
            count[f"{by_case[case.id][0]['label']} {state}"] += 1
    left = {case.id for case in kept}
    done = {label: sum(n for key, n in count.items() if key.startswith(label)) for label in LABELS}
    rows_kept = [row for key, (row, _) in by_case.items() if key in left]
    for label in LABELS:  # in a language it does not read
        count[f"{label} absent"] += sum(r["label"] == label for r in rows_kept) - done[label]
    return rows_kept, count


def _case(name: str, row: dict[str, Any], made: Any) -> Any:
    return made(
        id=name,
        input=row["input"] or None,
        references=tuple(row["reference"]),
        context=tuple(row["context"] or ()),
        response=row["response"],
        group=str(row["group"]),
    )


def _line(guard: str, name: str, count: Counter[str]) -> str:
    cells, shares = [], []
    for label in ("reject", "accept"):
        of = sum(times for key, times in count.items() if key.startswith(label))
        hits = count[f"{label} differ"]
        cells.append(f"{hits} of {of} {100 * hits / of:5.1f}%" if of else "none")
        shares.append((hits + 0.5) / (of + 1))
    seen = sum(times for key, times in count.items() if not key.endswith("absent"))
    weight = f"{shares[0] / shares[1]:9.1f}" if "none" not in cells else f"{'':>9}"
    return f"{guard:16}{name:34}{cells[0]:>20}{cells[1]:>20}{seen:>12}{weight}"


def _show(name: str, row: dict[str, Any], reference: str, found: Any) -> None:
    print(f"{row['label'].upper():7}{name}  {found.words}")
    print(f"       Q {row['input'][:120]!r}\n       R {reference[:300]!r}")
    print(f"       A {row['response'][:400]!r}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    beside = Path(os.environ.get(VARIABLE, BESIDE))
    parser.add_argument("--data", type=Path, default=beside)
    parser.add_argument("--guards", type=_names, default=tuple(GUARDS))
    parser.add_argument("--sets", type=_names, default=SETS)
    parser.add_argument("--half", choices=("dev", "test"))
    parser.add_argument("--examples", choices=tuple(GUARDS), help="print where this one differs")
    parser.add_argument("--support", action="store_true", help="the pair model as one more guard")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


if __name__ == "__main__":
    sys.exit(main())
