"""Texts per second of closecall and of other local embedders on the same weights.

    pip install . torch sentence-transformers fastembed onnx model2vec
    python benchmarks/throughput.py [--weights FOLDER|WHEEL] [--peer NAME=PYTHON]... [--json FILE]
    python benchmarks/throughput.py --quick

All of them run all-MiniLM-L6-v2 in float32 on the CPU, on the same texts and threads, each in a
process of its own: closecall its bundled file; sentence-transformers the published safetensors
with torch, and on its ONNX and OpenVINO backends what optimum exports of them here (st-onnx,
st-openvino); fastembed an ONNX export made here; infinity-emb its engine with torch. What cannot
be installed beside the others gets a Python of its own: --peer st-onnx=other/bin/python, the name
as in the table. Before anything is timed, every vector of a peer must have a cosine of at least
0.9999 with closecall's. Rounds alternate, and the order within a round rotates, so that a machine
that slows down slows all. The ratio is that of median times; its range comes from the ratios
within each round.

Sets: short (support-desk sentences), long (passages of 100 to 250 tokens, inside every
contender's window), mixed (question, reference and answer in turn), short and long again on one
thread, and static-short and static-long: model2vec's own class and closecall's static embedder on
one folder, the rows of the model's own word table. Peers run batches of --batch texts, 32 unless
told: sentence-transformers' default, and faster for fastembed than its own 256. fastembed's
parallel=N, which starts processes anew on every call, is not measured.

Beside texts per second stands the share of the machine's peak: what the model's products need
(the formula is in ``peak.py`` and in the JSON) over the time taken, of what products of 2048 x
2048 matrices reach in the same rounds, by numpy's BLAS or by onnxruntime, whichever is faster.

Exits with 0; with 1 when vectors disagree or a process fails; with 2 when the weights cannot be
used. A peer that cannot run is left out, and the table says so.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import struct
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import machine
import peak
import texts
import weights
from throughput_run import NAMES, PRODUCTS, DisagreementError, PeerError, Peers, Timed, measure

OURS, STATIC, TORCH = "closecall", "closecall static", "sentence-transformers"
STATICS = [STATIC, "model2vec"]
TARGETS = {TORCH: {"short": 1.5, "mixed": 1.5, "long": 1.7}}
AHEAD = 1.0
"""What is asked of the ratio to every other peer."""


@dataclass(frozen=True)
class Set:
    """Texts to embed, on how many threads, and by whom: the first is compared with the rest."""

    name: str
    texts: list[str]
    threads: int
    names: list[str]


def main() -> int:
    """Run the comparison and print it."""
    args = _arguments()
    print(__doc__.partition("\n")[0])
    found = machine.facts()
    print(machine.describe(found), "\n", sep="")
    results = []
    with tempfile.TemporaryDirectory(prefix="closecall-bench-") as name:
        work = Path(name)
        try:
            folder = weights.find(args.weights, work)
        except weights.WeightsError as error:
            print(f"throughput: {error}", file=sys.stderr)
            return 2
        static = _static_folder(folder, work / "static")
        folders = {"": folder, **dict.fromkeys(STATICS, static)}
        with Peers(folders, work, args.batch, args.peer) as peers:
            try:
                for group in _sets(args):
                    ready = peers.ready([*group.names, *PRODUCTS], group.threads)
                    if group.names[0] not in ready:
                        own = group.names[0]
                        raise PeerError(f"{own}: {peers.missing[own]}")  # noqa: TRY301 - as theirs
                    timed = measure(group.texts, group.names[0], ready, work, args.rounds)
                    results.append(_summary(group, timed, peers.missing))
                    _print_set(results[-1], smoke=args.quick)
            except (DisagreementError, PeerError) as error:
                print(f"throughput: {group.name}: {error}", file=sys.stderr)
                return 1
    for peer, reason in peers.missing.items():
        print(f"{peer}: not measured ({reason})")
    for peer, versions in peers.versions.items():
        print(
            f"{peer}: {', '.join(f'{package} {number}' for package, number in versions.items())}"
        )
    if args.json:
        report = {
            "benchmark": "throughput",
            "machine": found,
            "smoke": args.quick,
            "batch": args.batch,
            "rounds": args.rounds,
            "operations": peak.FORMULA,
            "versions": peers.versions,
            "not_measured": peers.missing,
            "sets": results,
        }
        Path(args.json).write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return 0


def _static_folder(source: Path, folder: Path) -> Path:
    """Write the model's word table as a static model in model2vec's layout, and return it."""
    with (source / "model.safetensors").open("rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        names = json.loads(file.read(size))
        entry = next(
            names[name] for name in names if name.endswith("embeddings.word_embeddings.weight")
        )
        start, stop = entry["data_offsets"]
        file.seek(8 + size + start)
        data = file.read(stop - start)
    folder.mkdir()
    head = {"embeddings": {**entry, "data_offsets": [0, len(data)]}}
    written = json.dumps(head).encode()
    written += b" " * (-len(written) % 8)
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(written)) + written + data)
    config = {"model_type": "model2vec", "normalize": True, "hidden_dim": entry["shape"][1]}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (folder / "tokenizer.json").write_bytes((source / "tokenizer.json").read_bytes())
    return folder


def _sets(args: argparse.Namespace) -> list[Set]:
    scale = 0.01 if args.quick else args.scale
    short, long, mixed = (max(2, round(size * scale)) for size in (2000, 300, 900))
    encoders = [name for name in NAMES if name not in STATICS]
    every = [
        Set("short", texts.short(short), args.threads, encoders),
        Set("long", texts.long(long), args.threads, encoders),
        Set("mixed", texts.mixed(mixed), args.threads, encoders),
        # Many more of them: a static model takes microseconds a text.
        Set("static-short", texts.short(10 * short), args.threads, STATICS),
        Set("static-long", texts.long(10 * long), args.threads, STATICS),
    ]
    if args.threads > 1:
        # Half as many: it takes as long.
        every += [
            Set("short-1", texts.short(short // 2), 1, encoders),
            Set("long-1", texts.long(max(1, long // 2)), 1, encoders),
        ]
    return [group for group in every if not args.sets or group.name in args.sets]


def _tokens(group: Set) -> list[int]:
    """Return the tokens of each text; none may need more than one window."""
    from closecall import load_embedder

    counted = load_embedder("minilm", threads=group.threads).embed_counted(group.texts)
    if any(count.windows != 1 for count in counted.tokens):
        raise DisagreementError("a text is longer than the model's window")
    return [count.total for count in counted.tokens]


def _summary(group: Set, timed: dict[str, Timed], missing: dict[str, str]) -> dict[str, Any]:
    count, tokens = len(group.texts), _tokens(group)
    encoder = group.names[0] == OURS
    ours = timed[group.names[0]]
    peaks = {
        name: peak.OPERATIONS / statistics.median(timed[name].wall) / 1e9
        for name in PRODUCTS
        if name in timed
    }
    fastest = max(peaks.values(), default=None) if encoder else None
    needed = peak.operations(tokens) / 1e9
    rows = {}
    for name in [name for name in timed if name not in PRODUCTS]:
        times = timed[name]
        by_round = [peer / own for peer, own in zip(times.wall, ours.wall, strict=True)]
        median = statistics.median(times.wall)
        rows[name] = {
            "median_per_s": count / median,
            "best_per_s": count / min(times.wall),
            "worst_per_s": count / max(times.wall),
            "per_cpu_s": count / max(statistics.median(times.cpu), 1e-9),
            "wall_s": times.wall,
            "cpu_s": times.cpu,
            "gflops": needed / median if encoder else None,
            "of_peak": needed / median / fastest if fastest else None,
            "least_cosine": times.cosine,
            "ratio": median / statistics.median(ours.wall),
            "ratio_range": [min(by_round), max(by_round)],
            "target": TARGETS.get(name, {}).get(group.name.partition("-")[0], AHEAD),
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
        "ours": group.names[0],
        "peak_gflops": peaks,
        "rows": rows,
        "not_measured": {name: missing[name] for name in group.names if name in missing},
    }


def _print_set(result: dict[str, Any], *, smoke: bool) -> None:
    tokens = result["tokens"]
    print(
        f"{result['set']}: {result['n']} texts of {tokens['least']}-{tokens['most']} tokens "
        f"(median {tokens['median']:g}), threads {result['threads']}, rounds {result['rounds']}"
    )
    print(f"  {'':<22}{'texts/s':>10}{'best':>10}{'worst':>10}{'per cpu s':>11}{'of peak':>9}"
          f"{'least cos':>11}  {result['ours']} is")  # fmt: skip
    for name, row in result["rows"].items():
        says = ""
        if name != result["ours"]:
            low, high = row["ratio_range"]
            verdict = "met" if row["ratio"] >= row["target"] else "NOT met"
            says = (
                f"  {row['ratio']:.2f} times as fast ({low:.2f}-{high:.2f}; "
                f"target {row['target']} {verdict})"
            )
            if smoke:
                says = f"  {row['ratio']:.2f} times as fast (smoke run: means nothing)"
        share = "-" if row["of_peak"] is None else f"{row['of_peak']:.2f}"
        print(f"  {name:<22}{row['median_per_s']:>10.1f}{row['best_per_s']:>10.1f}"
              f"{row['worst_per_s']:>10.1f}{row['per_cpu_s']:>11.1f}{share:>9}"
              f"{row['least_cosine']:>11.6f}{says}")  # fmt: skip
    for name, reason in result["not_measured"].items():
        print(f"  {name:<22}{reason}")
    peaks = ", ".join(f"{name} {found:.0f}" for name, found in result["peak_gflops"].items())
    print(f"  peak: {f'{peaks} GFLOP/s' if peaks else 'not measured'}\n", flush=True)


def _peer(text: str) -> tuple[str, str]:
    name, _, python = text.partition("=")
    if name not in NAMES or not os.access(python, os.X_OK):
        raise argparse.ArgumentTypeError(
            f"expected NAME=PYTHON with an interpreter and one of {', '.join(NAMES)}; got {text!r}"
        )
    return name, python


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--weights", metavar="PATH", help=weights.HELP)
    parser.add_argument(
        "--peer", metavar="NAME=PYTHON", type=_peer, action="append", default=[],
        help="the interpreter that a contender is installed for; repeatable; default: this one",
    )  # fmt: skip
    parser.add_argument("--threads", type=int, default=machine.cores(), help="default: all cores")
    parser.add_argument("--rounds", type=int, help="default: 7, with --quick 1")
    parser.add_argument("--batch", type=int, default=32, help="the peers' batch; default: 32")
    parser.add_argument(
        "--sets", nargs="+",
        choices=("short", "long", "mixed", "static-short", "static-long", "short-1", "long-1"),
    )  # fmt: skip
    parser.add_argument(
        "--scale", type=float, default=1.0, help="share of the texts; default: 1, that is 2,000"
    )
    parser.add_argument("--quick", action="store_true", help="a smoke run: few texts, one round")
    parser.add_argument("--json", metavar="FILE", help="write every figure there too")
    args = parser.parse_args()
    args.peer = dict(args.peer)
    args.rounds = (1 if args.quick else 7) if args.rounds is None else args.rounds
    if min(args.rounds, args.threads, args.batch) < 1:
        parser.error("--rounds, --threads and --batch must be at least 1")
    if not 0 < args.scale <= 1:
        parser.error("--scale must be above 0 and at most 1")
    return args


if __name__ == "__main__":
    sys.exit(main())
