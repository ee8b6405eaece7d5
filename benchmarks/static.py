"""What a static model keeps of the encoder it was distilled from, and how much faster it is.

    python benchmarks/static.py [--data DIR] [--rows 900] [--folder DIR] [--json FILE]
                                [--no-speed] [--variants] [NAME ...]

For every labelled file, with the static model and with the bundled encoder: AUC (how often an
accept outscores a reject, 0.5 is blind) with its 95 % interval, and the true-accept rate at the
most accepting cutoff with a false-accept rate of at most 10 % on these very rows, of the pooled
cosine and of the token alignment; beside them what word overlap alone gives. Where a file has no
references its context is compared with. Then the difference of AUC from the encoder, static less
encoder, with an interval that adds up what the rows of a group contribute.

Half of the groups (by a hash of their names) was there to choose ``--dims`` and ``--weighting``
on; every figure above is of the other half. --variants prints the table they were chosen from,
both halves.

Texts per second are of made-up sentences (``texts.py``), the model loaded, the best of a few runs.

What it gives, on six files of up to 3,000 rows. The pooled cosine of the static model ranks
answers to factual questions better than the encoder's (AUC up by 0.02 on three files, within noise
on the fourth), because it is centred and frequent words count little; it ranks captions and
attribution worse (down by 0.03 and 0.04). Token alignment loses 0.00 to 0.02 on answers and
attribution and 0.04 on captions. It also loses what shows in no AUC: a token always equals
itself, so every answer that holds all the words of the reference has the score 1. On diver_qa 31
of 231 rejected answers do, so that no cutoff keeps false accepts at 10 % and accepts anything,
where the encoder accepts 0.71 of what it should. Word order, negation and the sense of a word in
its sentence leave no trace.

It reads some 75 to 130 times as many texts a second. Most of what is left is the tokenizer's.

Of the variants, the weighting matters most (pooled AUC 0.817 without, 0.856 as chosen, and less
again with a smaller A), 381 dims rank 0.002 better than 256, 128 dims 0.01 worse. Alignment hardly
depends on dims: it is as good with 64. On both halves the order is the same.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import machine
import numpy as np
import texts as made_up
from evidence import HERE, kept_at, labelled_files, readable, thinned

from closecall import evaluate
from closecall.calibration.comparing.delong import auc_difference
from closecall.calibration.curve import error_curve
from closecall.calibration.separation import separation
from closecall.embedders.base import Embedder
from closecall.embedders.registry import load_embedder
from closecall.embedders.static.distil import (
    DIMS,
    WEIGHTING,
    TokenStates,
    parse_weighting,
    read_states,
    reduced,
)
from closecall.embedders.static.writing import save_static
from closecall.models.store import find_model
from closecall.records import Case, Label, Measured

FILES = (
    "evouna_nq",
    "evouna_tq",
    "nq301",
    "diver_qa",
    "begin_wow",
    "sts_images_postedit",
)
POOLED = {True: "embed_answer_similarity", False: "embed_response_context"}
ALIGNED = {True: "answer_alignment", False: "context_alignment"}
"""By whether the file has references."""

VARIANTS = [
    *((256, weighting) for weighting in ("none", "log", "sif:1e-3", "sif:1e-4", "sif:1e-5")),
    *((dims, "sif:3e-5") for dims in (381, 256, 128, 64)),
]
FEWEST = 10
SHORT, RUNS = 4_000, 3


class Scored(NamedTuple):
    """A file's cases of one half, and what each metric gave them; NaN where it gave nothing."""

    name: str
    cases: Sequence[Case]
    scores: dict[str, np.ndarray]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="only files of these names")
    parser.add_argument("--data", type=Path, default=HERE.parent.parent / "shared" / "data")
    parser.add_argument("--rows", type=int, default=900)
    parser.add_argument("--folder", type=Path, help="a static model; made anew when left out")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--no-speed", action="store_true")
    parser.add_argument("--variants", action="store_true")
    options = parser.parse_args()
    wanted = options.names or list(FILES)
    files = {path.stem: path for path in labelled_files(options.data, wanted)}
    if not files:
        sys.exit(f"no such labelled files under {options.data}")
    document: dict[str, Any] = {"machine": machine.facts()}
    print(machine.describe(document["machine"]))
    cases = {name: thinned(readable(files[name]), options.rows) for name in wanted}
    with tempfile.TemporaryDirectory() as folder:
        if options.variants:
            document["variants"] = variants(Path(folder), cases)
        else:
            place = options.folder or distilled(
                Path(folder) / "static", states_of(), DIMS, WEIGHTING
            )
            models = {
                "static": load_embedder(f"static:{place}"),
                "encoder": load_embedder("minilm"),
            }
            document["table"] = compared(cases, models)
            if not options.no_speed:
                document["speed"] = speed(models)
    if options.json:
        options.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def states_of() -> TokenStates:
    began = time.perf_counter()
    found = read_states(find_model("minilm"), load_embedder("minilm").instrument)
    print(f"{len(found.words):,} tokens in {time.perf_counter() - began:.0f} s", flush=True)
    return found


def distilled(place: Path, states: TokenStates, dims: int, weighting: str) -> Path:
    made = reduced(states, dims=dims, weighting=parse_weighting(weighting))
    card = find_model("minilm").card
    save_static(place, made, card, name=f"minilm-static-{dims}", producer="benchmark")
    return place


def odd(case: Case) -> bool:
    """Whether a case belongs to the half that nothing was chosen on."""
    return hashlib.sha256((case.group or case.id).encode()).digest()[0] % 2 == 1


def scored(name: str, cases: Sequence[Case], embedder: Embedder, metrics: Iterable[str]) -> Scored:
    names = list(metrics)
    run = list(evaluate(cases, names, embedder=embedder, cache=False))
    scores = {
        metric: np.array(
            [
                row.results[at].measurement.value
                if isinstance(row.results[at].measurement, Measured)
                else np.nan
                for row in run
            ]
        )
        for at, metric in enumerate(names)
    }
    return Scored(name, [row.case for row in run], scores)


def compared(
    cases: dict[str, Sequence[Case]], models: dict[str, Embedder]
) -> list[dict[str, Any]]:
    """Print and return the figures of the half that nothing was chosen on."""
    table: list[dict[str, Any]] = []
    for name, found in cases.items():
        half = [case for case in found if odd(case)]
        with_references = any(case.references for case in half)
        metrics = [POOLED[with_references], ALIGNED[with_references]]
        overlap = ["token_f1"] if with_references else []
        print(f"\n{name}: {len(half)} rows")
        runs = {
            label: scored(name, half, model, metrics + (overlap if label == "encoder" else []))
            for label, model in models.items()
        }
        for metric in metrics:
            for label, run in runs.items():
                table.append(line(run, label, metric))
            difference(table[-2], runs, metric)
        table += [line(runs["encoder"], "words", metric) for metric in overlap]
    print_means(table)
    return table


def line(run: Scored, label: str, metric: str) -> dict[str, Any]:
    values = run.scores[metric]
    there = np.isfinite(values)
    labels = [case.label for case, kept in zip(run.cases, there, strict=True) if kept]
    curve = error_curve(values[there], labels)
    ranked = separation(curve)
    entry = {
        "file": run.name, "by": label, "metric": metric, "n": int(there.sum()),
        "accepts": curve.accepts, "auc": ranked.auc, "low": ranked.interval.low,
        "high": ranked.interval.high, "tar10": kept_at(curve, 0.10),
    }  # fmt: skip
    print(
        f"  {metric:26} {label:8} AUC {ranked.auc:.3f} ({ranked.interval.low:.3f}-"
        f"{ranked.interval.high:.3f})  TAR@10% {entry['tar10']:.3f}  n={entry['n']} "
        f"({curve.accepts} accepted)"
    )
    return entry


def difference(entry: dict[str, Any], runs: dict[str, Scored], metric: str) -> None:
    """Print static less encoder on the rows that both measured."""
    static, encoder = (runs[label].scores[metric] for label in ("static", "encoder"))
    both = np.isfinite(static) & np.isfinite(encoder)
    kept = [case for case, there in zip(runs["static"].cases, both, strict=True) if there]
    accept = np.array([case.label is Label.ACCEPT for case in kept])
    groups = np.unique([case.group or case.id for case in kept], return_inverse=True)[1]
    found = auc_difference(encoder[both], static[both], accept, groups=groups.astype(np.int64))
    edges = found.interval
    entry["difference"] = found.difference
    entry["edges"] = None if edges is None else [edges.low, edges.high]
    shown = "" if edges is None else f" ({edges.low:+.3f} to {edges.high:+.3f})"
    print(f"  {'':26} static less encoder: {found.difference:+.3f}{shown}")


def print_means(table: Sequence[dict[str, Any]]) -> None:
    print("\nmeans over the files")
    for kind in (POOLED, ALIGNED):
        for label in ("static", "encoder"):
            found = [
                (entry["auc"], entry["tar10"])
                for entry in table
                if entry["metric"] in kind.values() and entry["by"] == label
            ]
            auc, tar = np.mean(found, axis=0)
            print(f"  {kind[True]:26} {label:8} AUC {auc:.3f}  TAR@10% {tar:.3f}")


def variants(folder: Path, cases: dict[str, Sequence[Case]]) -> list[dict[str, Any]]:
    """Print and return means over the files for each half."""
    found = []
    states = states_of()
    for number, (dims, weighting) in enumerate(VARIANTS):
        place = distilled(folder / str(number), states, dims, weighting)
        model = load_embedder(f"static:{place}")
        runs = [
            scored(
                name, rows, model,
                [kind[any(case.references for case in rows)] for kind in (POOLED, ALIGNED)],
            )
            for name, rows in cases.items()
        ]  # fmt: skip
        for half, wanted in (("chosen on", False), ("confirmed on", True)):
            means = [mean_of(runs, at, wanted) for at in (0, 1)]
            found.append({"dims": dims, "weighting": weighting, "half": half, "means": means})
            shown = "  ".join(f"{auc:.4f} {tar:.3f}" for auc, tar in means)
            print(f"  {dims:4} {weighting:9} {half:13} pooled and aligned: {shown}", flush=True)
    return found


def mean_of(runs: Sequence[Scored], at: int, wanted: bool) -> tuple[float, float]:  # noqa: FBT001
    figures = []
    for run in runs:
        values = list(run.scores.values())[at]
        there = np.isfinite(values) & np.array([odd(case) == wanted for case in run.cases])
        labels = [case.label for case, kept in zip(run.cases, there, strict=True) if kept]
        if min(labels.count(label) for label in (Label.ACCEPT, Label.REJECT)) < FEWEST:
            continue
        curve = error_curve(values[there], labels)
        figures.append((separation(curve).auc, kept_at(curve, 0.10)))
    auc, tar = np.mean(figures, axis=0)
    return float(auc), float(tar)


def speed(models: dict[str, Embedder]) -> list[dict[str, Any]]:
    """Print and return texts per second, on one thread and on every core."""
    print("\ntexts per second")
    found = []
    kinds: dict[str, Callable[[int], list[str]]] = {
        "short": made_up.short,
        "long": made_up.long,
    }
    for label, model in models.items():
        for kind, make in kinds.items():
            slow = label == "encoder"
            many = SHORT // (10 if slow else 1) // (4 if kind == "long" else 1)
            batch = make(many)
            model.embed(batch[:10])
            took = []
            for _ in range(RUNS):
                began = time.perf_counter()
                model.embed(batch)
                took.append(time.perf_counter() - began)
            found.append({"by": label, "texts": kind, "count": many, "rate": many / min(took)})
            print(f"  {label:8} {kind:6} {many / min(took):10,.0f}")
    return found


if __name__ == "__main__":
    main()
