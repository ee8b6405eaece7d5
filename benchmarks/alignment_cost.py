"""What token alignment costs beside the pooled cosine, on the same file, without a cache.

    python benchmarks/alignment_cost.py [FILE] [--rows 300] [--rounds 5] [--json FILE]

Both metrics run through ``evaluate`` on the same cases, in alternating rounds of one process; the
ratio is taken round by round. FILE is a case file with responses and references; without one the
packaged demo set is used.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from importlib import resources
from itertools import islice
from pathlib import Path

from machine import describe, facts

from closecall import evaluate, load_embedder, open_dataset

METRICS = ("embed_answer_similarity", "answer_alignment", "alignment_f1")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    path = options.file or Path(str(resources.files("closecall") / "data" / "demo.jsonl"))
    cases = list(islice(open_dataset(path), options.rows))
    embedder = load_embedder(threads=options.threads)
    seconds: dict[str, list[float]] = {name: [] for name in METRICS}
    evaluate(cases, METRICS[1], embedder, cache=False, guards="off")  # warm up
    for _ in range(options.rounds):
        for name in METRICS:
            began = time.perf_counter()
            # Guards look at what a cutoff accepts, and only one of these metrics has a cutoff.
            evaluate(cases, name, embedder, cache=False, guards="off")
            seconds[name].append(time.perf_counter() - began)
    first = seconds[METRICS[0]]
    print(describe(facts()))
    print(f"{path.name}: {len(cases)} cases, {options.rounds} alternating rounds")
    table = []
    for name in METRICS:
        ratios = [mine / base for mine, base in zip(seconds[name], first, strict=True)]
        row = {
            "metric": name,
            "seconds": statistics.median(seconds[name]),
            "ratio": statistics.median(ratios),
            "low": min(ratios),
            "high": max(ratios),
        }
        table.append(row)
        print(
            f"  {name:24} {row['seconds']:7.2f} s  {row['ratio']:5.2f}x "
            f"({row['low']:.2f}-{row['high']:.2f})"
        )
    if options.json:
        document = {"machine": facts(), "cases": len(cases), "rounds": table}
        options.json.write_text(json.dumps(document, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
