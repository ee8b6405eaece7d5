"""Whole evaluations a second; a part of ``gpu.py``."""

from __future__ import annotations

import time
from typing import Any

import texts as made_up
from gpu_notes import Clock, MissingError, Notes, Row, tried

from closecall import Case, evaluate, load_embedder


def whole_cases(
    rows: list[Row], clock: Clock, notes: Notes, *, quick: bool
) -> list[dict[str, Any]]:
    """Print and return whole evaluations a second, by metric and length."""
    count = 4 if quick else 2048
    kinds = {"short": made_up.short(2 * count), "long": made_up.long(2 * count)}
    print("cases a second, read to result, one process:")
    results = []
    for row in (row for row in rows if row.timed):
        for metric in ("semantic_similarity", "answer_alignment"):
            for name, texts in kinds.items():
                own = texts if "CUDA" in row.name else texts[: max(8, len(texts) // 20)]
                entry: dict[str, Any] = {"row": row.name, "metric": metric, "set": name}
                results.append(entry)
                reason = tried(lambda a=row, b=metric, c=own, e=entry: _cases(a, b, c, e), clock)
                shown = (
                    f"not measured {notes.mark(reason)}"
                    if reason
                    else f"{entry['cases_per_second']:,.1f}"
                )
                if reason:
                    entry["not_measured"] = reason
                print(f"  {row.name:22} {metric:20} {name:6} {shown}", flush=True)
    print()
    return results


def _cases(row: Row, metric: str, texts: list[str], entry: dict[str, Any]) -> None:
    embedder = load_embedder(row.spec)
    embedder.embed(texts[:2])  # loads the model
    cases = [
        Case(id=f"{at}", response=one, references=(other,))
        for at, (one, other) in enumerate(zip(texts[::2], texts[1::2], strict=True))
    ]
    start = time.perf_counter()
    run = evaluate(cases, metric, embedder, cache=False)
    seconds = time.perf_counter() - start
    failed = sum(result.state.value == "not_measured" for row in run for result in row.results)
    if failed:
        raise MissingError(f"{failed} of {len(cases)} cases have no value")
    entry |= {"cases": len(cases), "seconds": seconds, "cases_per_second": len(cases) / seconds}
