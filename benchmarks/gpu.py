"""What a CUDA card changes: how near its vectors are to the CPU's, and how many it makes a second.

    pip install '.[compile,torch]' 'onnxruntime-gpu[cuda,cudnn]' faiss-gpu-cu12
    python benchmarks/gpu.py --weights FOLDER-OR-WHEEL [--seconds 420] [--json FILE]
    python benchmarks/gpu.py --quick

Every row names an embedder as --embedder takes it. The parts: parity (vectors of each against the
same weights on the CPU in float32), throughput (texts a second by length of text and tokens in a
batch, the median of three rounds after one that is not timed), cases (whole evaluations a second
by length), alignment (matching tokens by numpy against the card, with its copies and without),
search (the ten nearest of many unit vectors by numpy, faiss on the CPU and faiss on the card, and
how many of numpy's each finds), and feeding (what padding to few lengths, overlap and compile=true
are worth, by precision, and how much of the time the card computes). What is not there, fails or
no longer fits into --seconds is printed as not measured, with the reason; what has begun is
finished, and compiling takes minutes a precision. Nothing runs on the CPU in place of the card.

Without --weights the bundled model alone is run. --quick feeds the CPU instead, with a few texts
and uncompiled, to see that everything runs. Exits with 0; with 1 when vectors or matches of a row
that was measured are further from the CPU's than its precision allows.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import export
import machine
import numpy as np
import texts as made_up
import weights
from gpu_alignment import alignment
from gpu_cases import whole_cases
from gpu_flow import feeding
from gpu_notes import OUT_OF_TIME, Clock, MissingError, Notes, Row, tried

from closecall import load_embedder

LEAST_COSINE = {"fp32": 0.99999, "fp16-weights": 0.99999, "fp16": 0.9995, "bf16": 0.99}
"""The least cosine with the same weights in float32 that a precision allows."""

BATCHES = (1024, 4096, 16_384, 65_536)
NEIGHBOURS = 10
ROUNDS = 3
_CARD = ("name", "driver_version", "memory.total")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--weights", help=weights.HELP)
    parser.add_argument("--seconds", type=float, default=420, help="most time for all of it")
    parser.add_argument("--vectors", type=int, default=200_000, help="vectors to search among")
    parser.add_argument("--quick", action="store_true", help="a few texts, to see that it runs")
    parser.add_argument("--json", type=Path, help="write everything here, too")
    args = parser.parse_args()
    clock = Clock(args.seconds)
    found = {**machine.facts(), "card": card()}
    print(__doc__.partition("\n")[0])
    print(machine.describe(found))
    print(f"card: {found['card'] or 'none that nvidia-smi shows'}\n")
    with tempfile.TemporaryDirectory(prefix="closecall-gpu-") as name:
        rows, missing = contenders(args.weights, Path(name))
        notes = Notes()
        near = parity(rows, 40 if args.quick else 400, clock, notes)
        fast = throughput(rows, clock, notes, quick=args.quick)
        whole = whole_cases(rows, clock, notes, quick=args.quick)
        matched = alignment(clock, notes, quick=args.quick)
        size = 2000 if args.quick else args.vectors
        nearest = search(size, 50 if args.quick else 1000, clock, notes)
        # Last, as compiling takes what time there is.
        folder = weights.find(args.weights, Path(name)) if args.weights else None
        fed = feeding(folder, clock, notes, quick=args.quick)
    for number, reason in enumerate(notes.reasons, 1):
        print(f"[{number}] not measured: {reason}")
    for what, reason in missing.items():
        print(f"{what}: not measured ({reason})")
    if args.json:
        report = {
            "benchmark": "gpu", "machine": found, "smoke": args.quick, "parity": near,
            "throughput": fast, "feeding": fed, "cases": whole, "alignment": matched,
            "search": nearest, "not_measured": missing,
        }  # fmt: skip
        args.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return 1 if any(row.get("agrees") is False for row in [*near, *fed, *matched]) else 0


def card() -> str | None:
    """Return what the driver says of the cards, None where there is no driver."""
    try:
        done = subprocess.run(
            ["nvidia-smi", f"--query-gpu={','.join(_CARD)}", "--format=csv,noheader"],
            check=False, capture_output=True, text=True, timeout=30,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    return "; ".join(done.stdout.splitlines()) if done.returncode == 0 else None


def contenders(given: str | None, work: Path) -> tuple[list[Row], dict[str, str]]:
    """Return what to run, the reference on the CPU first, and what is left out and why."""
    bundled = [Row("bundled, CPU", "minilm"), Row("bundled, CUDA", "minilm?device=cuda")]
    if given is None:
        return bundled, {"other graphs and torch": "no --weights were given"}
    from closecall.models.compiler import Naming, compile_folder

    missing = {}
    folder = weights.find(given, work)
    compile_folder(folder, work / "compiled", Naming(name="fp32"))
    rows = [
        Row("compiled fp32, CPU", f"onnx:{work / 'compiled'}"),
        Row("compiled fp32, CUDA", f"onnx:{work / 'compiled'}?device=cuda"),
        *bundled,
    ]
    if importlib.util.find_spec("torch") is None:
        missing["torch, and exports made with it"] = "torch is not installed"
        return rows, missing
    export.export(folder, work / "export")
    said = "pooling=mean&normalize=true&max_tokens=256"
    rows += [
        Row("export fp32, CPU", f"onnx:{work / 'export'}?{said}"),
        Row("export fp32, CUDA", f"onnx:{work / 'export'}?{said}&device=cuda"),
    ]
    reason = halved(work / "export")
    if reason:
        missing["export fp16"] = reason
    else:
        half = f"onnx:{work / 'export'}?{said}&file=model_fp16.onnx"
        rows += [
            Row("export fp16, CPU", half, timed=False),
            Row("export fp16, CUDA", f"{half}&device=cuda"),
        ]
    rows.append(Row("torch fp32, CPU", f"st:{folder}?device=cpu"))
    rows += [
        Row(f"torch {kind}, CUDA", f"st:{folder}?device=cuda&precision={kind}")
        for kind in ("fp32", "fp16", "bf16")
    ]
    return rows, missing


def halved(folder: Path) -> str:
    """Write the exported graph in float16, or return why that is not possible."""
    try:
        import onnx
        from onnxruntime.transformers.float16 import convert_float_to_float16
    except ImportError as error:
        return f"cannot be made: {error}"
    whole = onnx.load(folder / "model.onnx")
    onnx.save(convert_float_to_float16(whole, keep_io_types=True), folder / "model_fp16.onnx")
    return ""


def parity(rows: list[Row], count: int, clock: Clock, notes: Notes) -> list[dict[str, Any]]:
    """Print and return how far each row's vectors are from the first's."""
    texts = [*made_up.short(count // 2), *made_up.mixed(count - count // 2 - 2), "", "a " * 600]
    print(f"parity with {rows[0].name}, {len(texts)} texts, some of them longer than a window:")
    wanted = load_embedder(rows[0].spec).embed(texts)
    results = []
    for row in rows[1:]:
        entry: dict[str, Any] = {"row": row.name, "texts": len(texts)}
        results.append(entry)
        reason = tried(lambda row=row, entry=entry: _near(row, texts, wanted, entry), clock)
        if reason:
            entry["not_measured"] = reason
            print(f"  {row.name:22} not measured {notes.mark(reason)}")
            continue
        print(
            f"  {row.name:22} least cosine {entry['least_cosine']:.7f}, largest difference "
            f"{entry['largest_difference']:.1e} ({entry['precision']}"
            f"{'' if entry['agrees'] else ': FURTHER THAN ITS PRECISION ALLOWS'})"
        )
    print()
    return results


def _near(row: Row, texts: list[str], wanted: Any, entry: dict[str, Any]) -> None:
    embedder = load_embedder(row.spec)
    found = embedder.embed(texts)
    precision = embedder.instrument.precision
    least = float((found.astype(np.float64) * wanted).sum(axis=1).min())
    entry |= {
        "precision": precision,
        "least_cosine": least,
        "largest_difference": float(np.abs(found - wanted).max()),
        "agrees": least >= LEAST_COSINE[precision],
    }


def throughput(
    rows: list[Row], clock: Clock, notes: Notes, *, quick: bool
) -> list[dict[str, Any]]:
    """Print and return texts a second, by length of text and tokens in a batch."""
    sizes = (20, 6) if quick else (8000, 1500)
    sets = {"short": made_up.short(sizes[0]), "long": made_up.long(sizes[1])}
    batches = BATCHES[:1] if quick else BATCHES
    print("texts a second (median of rounds), by tokens in a batch:")
    print(f"  {'':22} {'':6}" + "".join(f"{size:>12,}" for size in batches))
    results = []
    for row in (row for row in rows if row.timed):
        for name, texts in sets.items():
            shown = []
            on_card = "CUDA" in row.name
            # The CPU gains nothing from more, and what it does in an hour the card does in
            # seconds.
            own = texts if on_card else texts[: max(2, len(texts) // 20)]
            for batch in batches if on_card else batches[:1]:
                entry: dict[str, Any] = {
                    "row": row.name, "set": name, "batch_tokens": batch,
                }  # fmt: skip
                results.append(entry)
                reason = tried(lambda a=row, b=own, c=batch, e=entry: _fast(a, b, c, e), clock)
                if reason:
                    entry["not_measured"] = reason
                    shown.append("-")
                    if reason != OUT_OF_TIME:  # it will not be there for the next either
                        break
                else:
                    shown.append(f"{entry['texts_per_second']:,.0f}")
            line = f"  {row.name:22} {name:6}" + "".join(f"{value:>12}" for value in shown)
            print(line + (f"  not measured {notes.mark(reason)}" if reason else ""), flush=True)
    print()
    return results


def _fast(row: Row, texts: list[str], batch: int, entry: dict[str, Any]) -> None:
    mark = "&" if "?" in row.spec else "?"
    embedder: Any = load_embedder(f"{row.spec}{mark}batch_tokens={batch}")
    counted = embedder.embed_counted(texts)
    rounds = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        embedder.embed(texts)
        rounds.append(time.perf_counter() - start)
    middle = statistics.median(rounds)
    entry |= {
        "texts": len(texts),
        "seconds": rounds,
        "texts_per_second": len(texts) / middle,
        "tokens_per_second": sum(tokens.seen for tokens in counted.tokens) / middle,
    }


def search(size: int, asked: int, clock: Clock, notes: Notes) -> list[dict[str, Any]]:
    """Print and return how fast the nearest of many vectors are found, and whether all are."""
    draw = np.random.default_rng(7)
    base, queries = (
        vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        for vectors in (draw.standard_normal((n, 384), dtype=np.float32) for n in (size, asked))
    )
    print(f"the {NEIGHBOURS} nearest of {size:,} vectors, {asked} times:")
    ways: dict[str, Callable[[], Callable[[], Any]]] = {
        "numpy": lambda: lambda: _exact(base, queries),
        "faiss, CPU": lambda: _faiss(base, queries, on_card=False),
        "faiss, CUDA": lambda: _faiss(base, queries, on_card=True),
    }
    results = []
    wanted = None
    for name, make in ways.items():
        entry: dict[str, Any] = {"way": name, "vectors": size, "queries": asked}
        results.append(entry)
        try:
            clock.require_some()
            find = make()
            find()
            start = time.perf_counter()
            found = find()
            entry["seconds"] = time.perf_counter() - start
        except MissingError as error:
            entry["not_measured"] = str(error)
            print(f"  {name:14} not measured {notes.mark(str(error))}")
            continue
        wanted = found if wanted is None else wanted
        pairs = zip(found, wanted, strict=True)
        entry["found"] = sum(len({*a.tolist()} & {*b.tolist()}) for a, b in pairs)
        print(
            f"  {name:14} {entry['seconds']:8.3f} s, {entry['found']:,} of "
            f"{asked * NEIGHBOURS:,} as numpy finds them"
        )
    print()
    return results


def _exact(base: Any, queries: Any) -> Any:
    found = []
    for start in range(0, len(queries), 64):
        scores = queries[start : start + 64] @ base.T
        found.append(np.argpartition(-scores, NEIGHBOURS, axis=1)[:, :NEIGHBOURS])
    return np.concatenate(found)


def _faiss(base: Any, queries: Any, *, on_card: bool) -> Callable[[], Any]:
    try:
        import faiss
    except ImportError as error:
        raise MissingError(f"faiss cannot be imported: {error}") from error
    index = faiss.IndexFlatIP(base.shape[1])
    if on_card:
        if not hasattr(faiss, "StandardGpuResources") or not faiss.get_num_gpus():
            raise MissingError("this faiss has no card to run on (faiss-gpu-cu12 and a driver)")
        index = faiss.index_cpu_to_gpu(faiss.StandardGpuResources(), 0, index)
    index.add(base)
    return lambda: index.search(queries, NEIGHBOURS)[1]


if __name__ == "__main__":
    sys.exit(main())
