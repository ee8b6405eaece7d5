"""Nearest neighbours side by side: build time, memory, queries a second, and what is missed.

    pip install . faiss-cpu scikit-learn sentence-transformers usearch
    python benchmarks/index.py [--largest 100000] [--limit 120] [--json FILE]
    python benchmarks/index.py --vectors mine.npy
    python benchmarks/index.py --real ../shared/data --largest 20000

All search the same unit vectors by the cosine for the 10 nearest, in this one run: closecall
(exact, and the kinds hnsw and ivf), plain numpy (one product and a partial sort), scikit-learn's
NearestNeighbors (brute), sentence-transformers' semantic_search, and usearch with its defaults.
Sizes grow by ten from 1,000. Each measurement has a process of its own, so that its peak of memory
is its own; ``more`` is that peak less what the process held with its packages and the vectors
loaded (closecall's index is read from its folder by memory map, which counts as far as it was
touched). A contender whose last size foretells more than --limit seconds is left out from there
on, and the table says so.

Vectors are made (seed 0): 384 numbers of a falling spectrum, around topics, as many as the root
of n, each row somewhere between close to its topic and far from it. That gives the cosines of
sentence embeddings: about 0 between any two, 0.4 to 0.8 to the nearest. Questions are further
draws, none of them a row. Made vectors say little of recall on yours: give some with --vectors
(n, d) float32, of which the last 200 are the questions, or --real FOLDER, of which the texts of
the case files are embedded by the bundled model.

Recall is that of the 10 nearest by numpy in float64; one as near as the tenth counts. Times are
the best of 3 rounds for the questions, and one build. A machine that others use makes all of them
slower: compare within one table, or count the seconds of the processor with --clock cpu (those of
all threads together).

Exits with 0; with 1 when an exact contender misses a neighbour.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import machine
import numpy as np

# Threads that wait for each other by spinning make every contender slow on a busy machine.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

DIMS, K, QUERIES, ONE_BY_ONE, ROUNDS = 384, 10, 200, 20, 3
SEED = 0
NUMPY, OURS = "numpy", "closecall"
CONTENDERS = (
    NUMPY, "closecall exact", "closecall hnsw", "closecall ivf", "scikit-learn brute",
    "sentence-transformers", "usearch",
)  # fmt: skip
EXACT = (NUMPY, "closecall exact", "scikit-learn brute", "sentence-transformers")
NEEDS = {
    "closecall hnsw": "faiss", "closecall ivf": "faiss", "scikit-learn brute": "sklearn",
    "sentence-transformers": "sentence_transformers", "usearch": "usearch",
}  # fmt: skip
TOLERANCE = 1e-6
_PATIENCE = 3
"""Times the limit, as packages may load slowly and a machine be busy."""

CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}

Search = Callable[[np.ndarray], np.ndarray]


def main() -> int:
    """Run the comparison and print it."""
    args = _arguments()
    if args.child:
        print(json.dumps(_child(args.child, Path(args.folder), args.rows, args.clock)))
        return 0
    found = machine.facts()
    print(__doc__.partition("\n")[0])
    print(machine.describe(found), "\n", sep="")
    results: list[dict[str, Any]] = []
    clock = ("--clock", args.clock)
    with tempfile.TemporaryDirectory(prefix="closecall-bench-") as name:
        folder = Path(name)
        every, questions, what = _vectors(args)
        np.save(folder / "queries.npy", questions)
        print(f"{what}; {len(questions)} questions, the {K} nearest; {args.clock} time\n")
        print(f"{'rows':>9} {'contender':22} {'build s':>8} {'peak MB':>8} {'more MB':>8} "
              f"{'batch q/s':>10} {'single q/s':>10} {'recall@10':>9}")  # fmt: skip
        for rows in _sizes(len(every), args.largest):
            np.save(folder / "rows.npy", every[:rows])
            truth = _truth(every[:rows], questions)
            for contender in args.only or CONTENDERS:
                one = _measured(
                    contender, folder, rows, truth, args.limit, clock=clock, before=results
                )
                results.append(one)
                _print(one)
            print()
    if args.json:
        report = {
            "benchmark": "index", "machine": found, "vectors": what, "seed": SEED, "k": K,
            "clock": args.clock, "queries": len(questions), "results": results,
        }  # fmt: skip
        Path(args.json).write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    bad = [one for one in results if one["contender"] in EXACT and one.get("recall", 1) < 1]
    for one in bad:
        print(f"{one['contender']} misses neighbours at {one['rows']:,} rows", file=sys.stderr)
    return 1 if bad else 0


def _sizes(there: int, largest: int) -> Iterator[int]:
    most, size = min(there, largest), 1_000
    while size < most:
        yield size
        size *= 10
    yield most


def _vectors(args: argparse.Namespace) -> tuple[np.ndarray, np.ndarray, str]:
    """Return rows, questions, and what they are."""
    if args.vectors:
        given = np.load(args.vectors, allow_pickle=False).astype(np.float32)
        what = f"{args.vectors}: {len(given) - QUERIES:,} rows of {given.shape[1]} numbers"
    elif args.real:
        given = _embedded(args.real, args.largest + QUERIES)
        what = f"{len(given) - QUERIES:,} texts of {args.real}, embedded by minilm"
    else:
        given = mixture(args.largest + QUERIES, SEED)
        what = f"made vectors, seed {SEED}, {DIMS} numbers"
    given /= np.linalg.norm(given, axis=1, keepdims=True)
    return given[:-QUERIES], given[-QUERIES:], what


def mixture(count: int, seed: int) -> np.ndarray:
    """Return vectors (count, 384) float32: around topics, of a falling spectrum."""
    chance = np.random.default_rng(seed)
    spectrum = (np.arange(1, DIMS + 1) ** -0.4).astype(np.float32)
    topics = chance.standard_normal((max(8, round(count**0.5)), DIMS), dtype=np.float32)
    own = chance.integers(len(topics), size=count)
    found = chance.standard_normal((count, DIMS), dtype=np.float32)
    share = chance.uniform(0.3, 0.75, size=(count, 1)).astype(np.float32)
    for start in range(0, count, 100_000):
        part = slice(start, start + 100_000)
        found[part] *= 1.5 * (1 - share[part])
        found[part] += share[part] * topics[own[part]]
    found *= spectrum
    return found


def _embedded(folder: Path, most: int) -> np.ndarray:
    """Return a vector of every text of the case files in a folder, in an order of the seed."""
    from closecall import open_dataset
    from closecall.cache import open_cache
    from closecall.embedders.base import Embedded, TextKey
    from closecall.embedders.cached import CachedEmbedder
    from closecall.embedders.registry import load_embedder
    from closecall.errors import DataError, UsageError

    texts: dict[str, None] = {}
    for path in sorted(folder.rglob("*.jsonl")):
        try:
            for case in open_dataset(path, on_bad_row="skip"):
                given = (case.input, case.response, *case.references, *case.context)
                texts.update(dict.fromkeys(text for text in given if text and text.strip()))
        except (DataError, UsageError):  # a corpus or questions, not cases
            continue
    listed = list(texts)
    order = np.random.default_rng(SEED).permutation(len(listed))[:most]
    store = open_cache()
    cached = CachedEmbedder(load_embedder("minilm"), store, memory_bytes=0)
    rows = []
    for start in range(0, len(order), 1024):
        keys = [TextKey(listed[at]) for at in order[start : start + 1024].tolist()]
        outcomes = cached.fetch(keys)
        rows += [one.vector for key in keys if isinstance(one := outcomes[key], Embedded)]
        print(f"embedded {len(rows):,} of {len(order):,}", end="\r", file=sys.stderr)
    if store is not None:
        store.close()
    return np.array(rows, dtype=np.float32)


def _truth(rows: np.ndarray, questions: np.ndarray) -> np.ndarray:
    """Return the similarity of each question to its tenth nearest row, in float64."""
    best = np.full((len(questions), K), -np.inf)
    wide = questions.astype(np.float64)
    for start in range(0, len(rows), 50_000):
        scores = wide @ rows[start : start + 50_000].T.astype(np.float64)
        both = np.concatenate([best, scores], axis=1)
        best = np.partition(both, both.shape[1] - K, axis=1)[:, -K:]
    tenth: np.ndarray = best.min(axis=1)
    return tenth


def _measured(
    contender: str,
    folder: Path,
    rows: int,
    truth: np.ndarray,
    limit: float,
    *,
    clock: Sequence[str],
    before: list[dict[str, Any]],
) -> dict[str, Any]:
    """Run one contender in a process of its own."""
    told: dict[str, Any] = {"rows": rows, "contender": contender}
    earlier = [one for one in before if one["contender"] == contender]
    if earlier:
        last = earlier[-1]
        grown = last.get("work_s", 0.0) * rows / last["rows"]
        if "why" in last or grown > limit:
            return told | {"why": last.get("why", f"foretold to take {grown:,.0f} s")}
    command = [sys.executable, __file__, "--child", contender, "--folder", str(folder), *clock]
    try:
        done = subprocess.run(
            [*command, "--rows", str(rows)],
            check=False,
            capture_output=True,
            text=True,
            timeout=_PATIENCE * limit,
        )
    except subprocess.TimeoutExpired:
        return told | {"why": f"took over {_PATIENCE * limit:,.0f} s"}
    if done.returncode:
        return told | {"why": (done.stderr.strip().splitlines() or ["it died"])[-1][:100]}
    found = json.loads(done.stdout.strip().splitlines()[-1])
    if "why" in found:
        return told | found
    positions = np.load(folder / "found.npy", allow_pickle=False)
    every = np.load(folder / "rows.npy", mmap_mode="r", allow_pickle=False)
    questions = np.load(folder / "queries.npy", allow_pickle=False).astype(np.float64)
    scores = np.einsum("qkd,qd->qk", every[positions].astype(np.float64), questions)
    hits = int((scores >= truth[:, None] - TOLERANCE).sum())
    recall = hits / positions.size
    return told | found | {"found": hits, "wanted": positions.size, "recall": recall}


def _print(one: dict[str, Any]) -> None:
    head = f"{one['rows']:9,} {one['contender']:22} "
    if "why" in one:
        print(f"{head}not measured: {one['why']}", flush=True)
        return
    print(
        f"{head}{one['build_s']:8.2f} {one['peak_mb']:8,.0f} {one['more_mb']:8,.0f} "
        f"{one['batch_qps']:10,.0f} {one['single_qps']:10,.0f} {one['recall']:9.4f}",
        flush=True,
    )


def _child(contender: str, folder: Path, rows: int, clock_name: str) -> dict[str, Any]:
    """Build and search in this process; ``found.npy`` is what it found."""
    module = NEEDS.get(contender)
    try:
        if module:
            importlib.import_module(module)
    except ImportError as error:
        return {"why": f"{error}"}
    vectors = np.load(folder / "rows.npy", allow_pickle=False)
    questions = np.load(folder / "queries.npy", allow_pickle=False)
    clock = CLOCKS[clock_name]
    build = _BUILDS[contender.partition(" ")[0]]
    kind = contender.partition(" ")[2]
    if contender.startswith(OURS):  # its packages are part of what it holds
        importlib.import_module("closecall.index.building")
    held = _held()
    began, start = time.perf_counter(), clock()
    search = build(vectors, kind)
    built = clock() - start
    found = search(questions)
    np.save(folder / "found.npy", found)
    batch = min(_seconds(clock, lambda: search(questions)) for _ in range(ROUNDS))
    single = min(
        _seconds(clock, lambda: [search(one[None, :]) for one in questions[:ONE_BY_ONE]])
        for _ in range(ROUNDS)
    )
    peak = _peak()
    return {
        "rows": rows, "build_s": built, "work_s": time.perf_counter() - began,
        "peak_mb": peak / 1e6, "more_mb": (peak - held) / 1e6,
        "batch_qps": len(questions) / batch, "single_qps": ONE_BY_ONE / single,
    }  # fmt: skip


def _closecall(vectors: np.ndarray, kind: str) -> Search:
    from closecall import build_index

    rows = ((f"p{at:07}", f"passage {at}") for at in range(len(vectors)))
    index = build_index(rows, vectors=vectors, kind=kind, threads=machine.cores())
    return lambda questions: index.nearest(questions, K).positions


def _numpy(vectors: np.ndarray, kind: str) -> Search:
    del kind

    def search(questions: np.ndarray) -> np.ndarray:
        scores = questions @ vectors.T
        near = np.argpartition(-scores, K - 1, axis=1)[:, :K]
        order = np.argsort(-np.take_along_axis(scores, near, axis=1), axis=1)
        found: np.ndarray = np.take_along_axis(near, order, axis=1)
        return found

    return search


def _sklearn(vectors: np.ndarray, kind: str) -> Search:
    from sklearn.neighbors import NearestNeighbors

    made = NearestNeighbors(n_neighbors=K, algorithm=kind, metric="cosine").fit(vectors)
    return lambda questions: made.kneighbors(questions, return_distance=False)


def _sentence_transformers(vectors: np.ndarray, kind: str) -> Search:
    del kind
    import torch
    from sentence_transformers import util

    corpus = torch.from_numpy(vectors)

    def search(questions: np.ndarray) -> np.ndarray:
        hits = util.semantic_search(torch.from_numpy(questions), corpus, top_k=K)
        return np.array([[hit["corpus_id"] for hit in row] for row in hits])

    return search


def _usearch(vectors: np.ndarray, kind: str) -> Search:
    del kind
    from usearch.index import Index

    made = Index(ndim=vectors.shape[1], metric="cos")
    made.add(np.arange(len(vectors)), vectors)
    return lambda questions: np.atleast_2d(made.search(questions, K).keys).astype(np.int64)


_BUILDS: dict[str, Callable[[np.ndarray, str], Search]] = {
    OURS: _closecall,
    NUMPY: _numpy,
    "scikit-learn": _sklearn,
    "sentence-transformers": _sentence_transformers,
    "usearch": _usearch,
}


def _seconds(clock: Callable[[], float], work: Callable[[], object]) -> float:
    began = clock()
    work()
    return max(clock() - began, 1e-9)


def _held() -> int:
    """Return the bytes this process holds now."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return _peak()
    return pages * os.sysconf("SC_PAGE_SIZE")


def _peak() -> int:
    """Return the most bytes this process held since it began.

    From the kernel's count of this process: ``ru_maxrss`` counts that of the one which started it.
    """
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) * 1024
    except (OSError, StopIteration):
        import resource

        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--largest", type=int, default=100_000, help="most rows")
    parser.add_argument("--limit", type=float, default=120, help="seconds a measurement may take")
    parser.add_argument("--vectors", type=Path, help="an (n, d) array in a .npy file")
    parser.add_argument("--real", type=Path, help="a folder of case files to embed")
    parser.add_argument("--only", action="append", choices=CONTENDERS, help="repeatable")
    parser.add_argument(
        "--clock", choices=sorted(CLOCKS), default="wall", help="cpu: seconds of all threads"
    )
    parser.add_argument("--json", type=Path)
    parser.add_argument("--child", choices=CONTENDERS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    parser.add_argument("--rows", type=int, default=0, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.largest < 1_000 and not args.child:
        parser.error("--largest must be at least 1000")
    return args


if __name__ == "__main__":
    sys.exit(main())
