"""What a judge fitted to labels gains over the best score that needs none, on labelled files.

    python benchmarks/judge.py [--data DIR] [--rows 900] [--json FILE] [NAME ...]

Each row is scored by a head fitted without its group, the choice of its penalty included (group
5-fold, three draws of the folds, figures averaged). AUC; true-accept rates at a false-accept rate
of at most 10 % and 5 % on these very scores; the true-accept rate at the cutoff that would be
issued for 10 % at confidence 95 %; and the accuracy of the cutoff that is best on the other folds.
``features`` is what the labels pay for by the rule of ``calibrate --judge``; a second line has all
features where the rule has fewer. Each comes without what the bundled pair model says and with it.
Whether a judge is kept is settled at the issued cutoffs; one that weighs the pair model has that
alone to beat too. Rows that the pair model learnt from are left out (``unseen.py``); what it costs
is timed on each file. Files with more rows are thinned to whole groups, drawn at random (seed 0).
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from unseen import cost_facts, cost_of, cost_words, left_out, unseen

from closecall import evaluate
from closecall.calibration.curve import curve_of
from closecall.calibration.goals import Goal
from closecall.calibration.head.crossed import Training, crossed, parted
from closecall.calibration.head.gain import auc_of, figure, gain
from closecall.calibration.head.singles import SINGLES, singles_of
from closecall.calibration.inputs import labelled
from closecall.metrics.fitted.features import SUPPORT, affordable, features_of
from closecall.metrics.fitted.head import chance
from closecall.metrics.fitted.measure import FEATURES, SUPPORT_VALUE, JudgeFeatures
from closecall.metrics.fitted.support import support_metric
from closecall.metrics.registry import load_metrics
from closecall.records import Label, Measured

HERE = Path(__file__).resolve().parent
FILES = {
    "evouna_nq": ("answers", "references"),
    "evouna_tq": ("answers", "references"),
    "nq301": ("answers", "references"),
    "diver_qa": ("answers", "references"),
    "begin_wow": ("grounded", "context"),
    "q2_wow": ("grounded", "context"),
    "truthfulqa_human": ("answers", "references"),
    "truthfulqa_refs": ("answers", "references"),
    "truthfulqa_multi": ("answers", "references"),
    "le_zh": ("answers", "references"),
    "sts_images_postedit": ("similarity", "references"),
    "semantoneg": ("similarity", "references"),
    "med": ("similarity", "references"),
    "begin_topicalchat": ("grounded", "context"),
    "summedits_open": ("grounded", "context"),
    "condaqa_contrast": ("grounded", "context"),
}
DRAWS = 3
LIMITS = (0.10, 0.05)


class Rows(NamedTuple):
    training: Training
    singles: dict
    ids: tuple
    seconds: float
    cases: list
    heading: str

    def labelled(self, values):
        """Return a score of the rows as a calibration takes it."""
        names = self.training.groups
        groups = None if len(set(names)) == len(names) else names
        return labelled(values, self.training.accept, groups, decimals=6)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help=f"some of {', '.join(FILES)}")
    parser.add_argument("--data", type=Path, default=HERE.parent.parent / "shared" / "data")
    parser.add_argument("--rows", type=int, default=900)
    parser.add_argument("--cache", type=Path, help="folder of a vector cache; none by default")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    table = []
    for name in options.names or FILES:
        table += judged(name, options.data, options.rows, options.cache)
    if options.json:
        options.json.write_text(json.dumps(table, indent=1), encoding="utf-8")


def judged(name: str, data: Path, rows: int, cache: Path | None = None) -> list[dict]:
    """Print and return the figures of one file: each single score, each set of features."""
    folder, sides = FILES[name]
    found = measured(data, f"{folder}/{name}", sides, rows, cache)
    accept = found.training.accept
    rejects = int(np.count_nonzero(~accept))
    print(
        f"\n{name}: {len(accept)} rows, {rejects} rejected, "
        f"{len(set(found.training.groups))} groups, measured in {found.seconds:.0f} s"
        f"{found.heading}"
    )
    print(f"  {'':44} {'AUC':>6} {'TAR@10%':>8} {'TAR@5%':>7} {'issued':>7} {'accuracy':>9}")
    table = []
    for metric, values in found.singles.items():
        table.append(figures(metric, found, [values] * DRAWS))
    for support in (False, True):
        table += heads(found, sides, min(rejects, len(accept) - rejects), support=support)
    cost = cost_of(support_metric(sides), found.cases)
    if cost:
        print(f"  {cost_words(SUPPORT[sides].name, cost)}")
        table.append({"metric": f"cost of {SUPPORT[sides].name}", **cost_facts(cost)})
    anchors = data / "anchors" / f"{name}_judges.jsonl"
    if anchors.exists():
        table += anchored(anchors, found)
    return [{"file": name, "n": len(accept), **entry} for entry in table]


def heads(found: Rows, sides: str, scarce: int, *, support: bool) -> list[dict]:
    """Return the figures of heads without or with the pair model, each set of features."""
    named = singles_of(sides, support=support)
    singles = {name: found.labelled(found.singles[name]) for name in named}
    table = []
    some = affordable(sides, scarce, support=support)
    for features in dict.fromkeys((some, features_of(sides, support=support))):
        values = found.training.values
        # Its column is the second.
        values = values if support else np.delete(values, 1, axis=1)
        own = found.training._replace(values=values[:, : len(features)])
        logits = [crossed(own, features, sides, seed, "").logits for seed in range(DRAWS)]
        chances = [np.array([chance(one) for one in each.tolist()]) for each in logits]
        said = f"judge, {len(features)} features"
        said += f", {SUPPORT[sides].name} among them" if support else ""
        table.append(figures(said, found, chances))
        for limit in LIMITS:
            kept = gain(found.labelled(chances[0]), singles, Goal(max_far=limit), approximate=True)
            told = {"judge": kept.judge, "best": kept.best, "single": kept.single}
            told |= {"gain": kept.gained, "error": kept.error, "kept": kept.kept}
            table[-1][f"at {limit}"] = told
            print(
                f"    issued for {limit:.0%}: accepts {kept.judge:.1%} of good answers, "
                f"{kept.single} {kept.best:.1%}; {100 * kept.gained:+.1f} points, standard error "
                f"{100 * kept.error:.1f}: {'kept' if kept.kept else 'not kept'}"
            )
    return table


def measured(data: Path, name: str, sides: str, rows: int, cache: Path | None) -> Rows:
    """Return features and single scores of each labelled row that all could be measured of."""
    from evidence import readable, thinned

    labelled = readable(data / f"{name}.jsonl")
    new = unseen(data, labelled)
    cases = thinned(new, rows)
    metrics = [JudgeFeatures(sides, support_metric(sides)), *load_metrics(list(SINGLES[sides]))]
    began = time.perf_counter()
    run = evaluate(cases, metrics, cache=cache or False, guards="off")
    took = time.perf_counter() - began
    values, singles, accept, groups, ids = [], [], [], [], []
    for row in run:
        found = [result.measurement for result in row.results]
        if not all(isinstance(one, Measured) for one in found):
            continue
        told = found[0].details
        values.append([told[FEATURES][one.name] for one in features_of(sides, support=True)])
        singles.append([*(one.value for one in found[1:]), told[SUPPORT_VALUE]])
        accept.append(row.case.label is Label.ACCEPT)
        groups.append(row.case.group or row.case.input or row.case.id)
        ids.append(row.case.id)
    training = Training(np.array(values), np.array(accept), tuple(groups))
    columns = dict(zip(singles_of(sides, support=True), np.array(singles).T, strict=True))
    return Rows(training, columns, tuple(ids), took, cases, left_out(labelled, new))


def figures(name: str, found: Rows, scores: list) -> dict:
    """Return the figures of one score, averaged over draws of the folds; printed too."""
    each = []
    for seed, values in enumerate(scores):
        data = found.labelled(values)
        curve = curve_of(data)
        tars = [
            curve.true_accepts[curve.false_accepts <= limit * curve.rejects][-1] / curve.accepts
            for limit in LIMITS
        ]
        issued = figure(data, Goal(max_far=0.1))
        right = accuracy(data.scores, found.training, seed)
        each.append((auc_of(data), *tars, issued, right))
    auc, ten, five, issued, right = np.mean(each, axis=0).tolist()
    print(f"  {name:44} {auc:6.3f} {ten:8.3f} {five:7.3f} {issued:7.3f} {right:9.3f}")
    found_here = {"auc": auc, "tar10": ten, "tar5": five, "issued": issued, "accuracy": right}
    return {"metric": name, **found_here}


def accuracy(values, rows: Training, seed: int) -> float:
    """Return how many rows are decided rightly by the cutoff that is best on the other folds."""
    part = parted(rows.groups, rows.accept, 5, seed, "accuracy")
    right = 0
    for at in range(int(part.max()) + 1):
        held = part == at
        cutoff = best_cutoff(values[~held], rows.accept[~held])
        right += int(np.count_nonzero((values[held] >= cutoff) == rows.accept[held]))
    return right / len(values)


def best_cutoff(values, accept) -> float:
    """Return the middle of the gap that decides most rows rightly."""
    order = np.argsort(-values, kind="stable")
    ranked, kept = values[order], accept[order]
    gained = np.append(0, np.cumsum(np.where(kept, 1, -1)))
    # No cutoff parts equals.
    gained[1:-1][ranked[1:] == ranked[:-1]] = -len(values)
    at = int(gained.argmax())
    edges = np.append(np.append(ranked[0] + 1, ranked), ranked[-1] - 1)
    return float(edges[at] + edges[at + 1]) / 2


def anchored(path: Path, found: Rows) -> list[dict]:
    """Return how often published judges agree with the people, on the very same rows."""
    said = {row["id"]: row for row in map(json.loads, path.read_text("utf-8").splitlines())}
    table = []
    for name in ("bem", "gpt4", "davinci003"):
        pairs = [
            (said[case][name], kept)
            for case, kept in zip(found.ids, found.training.accept.tolist(), strict=True)
            if case in said and said[case].get(name) is not None
        ]
        right = sum(one == kept for one, kept in pairs)
        print(f"  {name + ' (published verdicts)':44} {'':31} {right / len(pairs):9.3f}")
        table.append({"metric": name, "rows": len(pairs), "accuracy": right / len(pairs)})
    return table


if __name__ == "__main__":
    main()
