"""What a pair model sees that other scores do not: on rows and edits that it has not learnt from.

    python benchmarks/pair_model.py [--model FOLDER ...] [--data DIR] [--rows N] [--most 300]
                                    [--json FILE] [--markdown FILE] [NAME ...]

Without --model the bundled pair model; else one or more folders, each as ``models/pair-minilm`` or
as ``models/train_pair.py`` writes them (those are made ready first, which takes the extra
``compile``). Several are taken for runs of one training with other seeds: each figure is their
mean, with the standard deviation and the lowest and highest of them.

Sets: rows that the model learnt from are left out by question or group (``unseen.py``), and sets
that nothing was learnt from are whole. For each: how often an accept outscores a reject (AUC, with
an interval that takes each group for one answer) by pooled cosine, alignment recall and precision
(of the fitted judge's features, the best reference counts) and the pair model, and by a judge that
is fitted out of fold by group (as ``judge.py``: three draws of the folds) on all scalars without
and with the pair model, with the accuracy of the cutoff that is best on the other folds.

Edits: the references, and the short accepted responses, of the same rows are edited by
``closecall stress`` (seed 0), wrongly and harmlessly. Each score accepts from the cutoff on that
accepts most with at most 10 % of that set's own wrong answers. Counted is what it accepts, and
what is left of it once guards hold back what differs.

Texts in other languages are read as well. Nothing is written but what is asked for.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from evidence import group_of, readable, thinned
from judge import DRAWS, accuracy
from machine import describe, facts
from pair_tables import markdown
from unseen import HERE, cost_facts, cost_of, left_out, unseen

from closecall import evaluate
from closecall.calibration.curve import error_curve
from closecall.calibration.head.crossed import Training, crossed
from closecall.calibration.separation import separation
from closecall.errors import DataError
from closecall.metrics.fitted.features import OF, features_of
from closecall.metrics.fitted.head import chance
from closecall.metrics.fitted.measure import FEATURES, JudgeFeatures
from closecall.metrics.fitted.support import log_odds
from closecall.metrics.guards import GUARDS, against_any
from closecall.metrics.support.answer import AnswerSupport
from closecall.metrics.support.context import ContextSupport
from closecall.metrics.support.model import PairModel
from closecall.models.bundled_pair import find_pair, load_pair
from closecall.records import Case, Label, Measured
from closecall.stress.edits import FAMILIES
from closecall.stress.making import stress_set
from closecall.stress.sources import BASES

SETS = {
    "nq301": ("answers", "references"),
    "evouna_nq": ("answers", "references"),
    "evouna_tq": ("answers", "references"),
    "diver_qa": ("answers", "references"),
    "truthfulqa_refs": ("answers", "references"),
    "truthfulqa_human": ("answers", "references"),
    "semantoneg": ("similarity", "references"),
    "med": ("similarity", "references"),
    "nan_nli": ("similarity", "references"),
    "sts_images_postedit": ("similarity", "references"),
    "begin_wow": ("grounded", "context"),
    "begin_cmu": ("grounded", "context"),
    "begin_topicalchat": ("grounded", "context"),
    "q2_wow": ("grounded", "context"),
    "summedits_open": ("grounded", "context"),
    "condaqa_contrast": ("grounded", "context"),
}
EDITED = ("nq301", "evouna_nq", "diver_qa", "truthfulqa_refs")
SCORES = {"cosine": "cosine", "recall": "align_recall", "precision": "align_precision"}
PAIR = "pair"
FAR = 0.10
BATCH = 256
FOLDS_AT_LEAST = 20
"""Groups with an accept, and with a reject, that a judge is fitted to."""


class Rows(NamedTuple):
    """The rows of a set with the features of each; ``values`` (n, d) without the pair model."""

    name: str
    sides: str
    cases: list
    accept: Any
    groups: tuple
    values: Any
    seconds: float
    gone: str


class Edits(NamedTuple):
    """Edited answers of a set, with their features, and whether a guard holds each back."""

    base: str
    cases: list
    values: Any
    held: Any


def main() -> None:
    options = _arguments()
    found: dict[str, Any] = {"machine": facts(), "models": [], "sets": [], "edits": []}
    print(describe(found["machine"]))
    with tempfile.TemporaryDirectory() as work:
        models = [_opened(folder, Path(work)) for folder in options.model or [None]]
        found["models"] = [{"name": name, "digest": m.identity.digest} for name, m in models]
        for name in options.names or SETS:
            rows = measured(name, options.data, options.rows)
            if rows is None:
                print(f"{name}: not both labels often enough")
                continue
            print(f"{name}: {len(rows.cases)} rows, {rows.seconds:.0f} s{rows.gone}", flush=True)
            edits = edited(rows, options.most) if name in EDITED else []
            plain = plain_figures(rows)
            supports = []
            for told, model in models:
                began = time.perf_counter()
                supports.append(support(model, rows.sides, rows.cases))
                took = time.perf_counter() - began
                print(f"  {told}: {took:.0f} s, AUC {auc(rows, supports[-1])['auc']:.3f}")
            entry = {"set": name, "n": len(rows.cases), "sides": rows.sides, **plain}
            entry["models"] = [with_model(rows, one) for one in supports]
            entry["cost"] = cost_facts(cost_of(_metric(models[0][1], rows.sides), rows.cases))
            found["sets"].append(entry)
            for one in edits:
                pairs = [support(model, rows.sides, one.cases) for _, model in models]
                found["edits"].append(accepted(rows, one, supports, pairs))
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    text = markdown(found)
    print(f"\n{text}")
    if options.markdown:
        options.markdown.write_text(text, encoding="utf-8")


def measured(name: str, data: Path, rows: int | None) -> Rows | None:
    """Return the rows that can be measured, None where a label is on too few of them."""
    folder, sides = SETS[name]
    labelled = readable(data / folder / f"{name}.jsonl")
    kept = unseen(data, labelled)
    gone = left_out(labelled, kept)
    kept = kept if rows is None else thinned(kept, rows)
    began = time.perf_counter()
    cases, values = _features(sides, kept)
    accept = np.array([case.label is Label.ACCEPT for case in cases], dtype=bool)
    if min(accept.sum(), (~accept).sum()) < 10:
        return None
    groups = tuple(group_of(case) for case in cases)
    return Rows(name, sides, cases, accept, groups, values, time.perf_counter() - began, gone)


def _features(sides: str, cases: list) -> tuple[list, Any]:
    run = evaluate(cases, JudgeFeatures(sides), cache=False, guards="off")
    kept, values = [], []
    for row in run:
        one = row.results[0].measurement
        if isinstance(one, Measured):
            kept.append(row.case)
            values.append([one.details[FEATURES][f.name] for f in OF[sides]])
    return kept, np.array(values)


def _metric(model: PairModel, sides: str) -> Any:
    made = AnswerSupport if sides == "references" else ContextSupport
    return made(language="any", explain=False, model=model)


def support(model: PairModel, sides: str, cases: list) -> Any:
    """Return (n,) what the model makes of each case; nan where it cannot be read."""
    metric, values = _metric(model, sides), []
    for start in range(0, len(cases), BATCH):
        found = metric.measure_batch(cases[start : start + BATCH], {})
        values += [one.value if isinstance(one, Measured) else np.nan for one in found]
    return np.array(values)


def auc(rows: Rows, scores: Any) -> dict[str, float]:
    """Return the AUC with its interval, and the rows that have a score."""
    there = np.isfinite(scores)
    labels = [Label.ACCEPT if one else Label.REJECT for one in rows.accept[there]]
    curve = error_curve(scores[there].tolist(), labels)
    of = [{g for g, a, t in zip(rows.groups, rows.accept, there, strict=True) if t and a == want}
          for want in (True, False)]  # fmt: skip
    found = separation(curve, accepts=len(of[0]), rejects=len(of[1]))
    return {
        "n": int(there.sum()),
        "auc": found.auc,
        "low": found.interval.low,
        "high": found.interval.high,
    }


def plain_figures(rows: Rows) -> dict[str, Any]:
    """Return the figures of the scores, and of a judge, that need no pair model."""
    names = [one.name for one in OF[rows.sides]]
    found: dict[str, Any] = {
        said: auc(rows, rows.values[:, names.index(name)])
        for said, name in SCORES.items()
        if name in names
    }
    found["judge"] = judged(rows, rows.values, OF[rows.sides])
    return found


def with_model(rows: Rows, scores: Any) -> dict[str, Any]:
    """Return the figures of one pair model, alone and in a judge."""
    there = np.isfinite(scores)
    odds = [log_odds(Measured(similarity=v, value=v, score=None)) for v in scores[there].tolist()]
    values = np.insert(rows.values[there], 1, odds, axis=1)
    some = rows._replace(
        accept=rows.accept[there],
        groups=tuple(g for g, t in zip(rows.groups, there, strict=True) if t),
    )
    return {
        PAIR: auc(rows, scores),
        "judge": judged(some, values, features_of(rows.sides, support=True)),
    }


def judged(rows: Rows, values: Any, features: tuple) -> dict[str, float] | None:
    """Return AUC and accuracy of heads that have not seen a row's group; None of few groups."""
    parts = [
        {g for g, a in zip(rows.groups, rows.accept, strict=True) if a == want}
        for want in (True, False)
    ]
    if min(map(len, parts)) < FOLDS_AT_LEAST:
        return None
    training = Training(values, rows.accept, rows.groups)
    each = []
    for seed in range(DRAWS):
        logits = crossed(training, features, rows.sides, seed, "").logits
        chances = np.array([chance(one) for one in logits.tolist()])
        each.append((auc(rows, chances)["auc"], accuracy(chances, training, seed)))
    found = np.mean(each, axis=0).tolist()
    return {"auc": found[0], "accuracy": found[1]}


def edited(rows: Rows, most: int) -> list[Edits]:
    """Return edits of the references and of the accepted responses, measured."""
    found = []
    for base in BASES:
        try:
            made = stress_set(rows.cases, base=base, most=most, seed=0).cases
        except DataError as error:
            print(f"  {base}: {error}")
            continue
        cases, values = _features(rows.sides, list(made))
        found.append(Edits(base, cases, values, np.array([_held(case) for case in cases])))
    return found


def _held(case: Case) -> bool:
    """Return whether a guard differs, so that an accept would be left unsure."""
    return any(
        against_any(one, case.references, case.response, case.input).finding.state == "differ"
        for one in GUARDS.values()
    )


def accepted(rows: Rows, edits: Edits, natural: list, pairs: list) -> dict[str, Any]:
    """Return what each score accepts of each family, at the cutoff of the natural answers."""
    names = [one.name for one in OF[rows.sides]]
    columns = {
        said: (rows.values[:, names.index(name)], edits.values[:, names.index(name)])
        for said, name in SCORES.items()
    }
    family = np.array([case.metadata["stress"]["family"] for case in edits.cases])
    found = {said: _through(rows, *one, family, edits.held) for said, one in columns.items()}
    return {
        "set": rows.name,
        "base": edits.base,
        "scores": found,
        "models": [
            _through(rows, own, made, family, edits.held)
            for own, made in zip(natural, pairs, strict=True)
        ],
    }


def _through(rows: Rows, natural: Any, made: Any, family: Any, held: Any) -> dict[str, Any]:
    """Return counts of each family: made, accepted, and accepted with guards beside the score."""
    cutoff = cutoff_at(natural, rows.accept)
    counts = {}
    for name in FAMILIES:
        own = (family == name) & np.isfinite(made)
        taken = own & (made >= cutoff)
        counts[name] = {
            "n": int(own.sum()),
            "accepted": int(taken.sum()),
            "guarded": int((taken & ~held).sum()),
        }
    return {"cutoff": cutoff if np.isfinite(cutoff) else None, "families": counts}


def cutoff_at(scores: Any, accept: Any) -> float:
    """Return the cutoff that accepts most with at most ``FAR`` of the wrong; inf accepts none."""
    there = np.isfinite(scores)
    labels = [Label.ACCEPT if one else Label.REJECT for one in accept[there]]
    curve = error_curve(scores[there].tolist(), labels)
    row = int(np.flatnonzero(curve.false_accepts <= FAR * curve.rejects)[-1])
    return float(curve.levels[row - 1]) if row else float("inf")


def _opened(folder: Path | None, work: Path) -> tuple[str, PairModel]:
    """Return a model and what to call it; one as it was trained is made ready first."""
    if folder is None:
        return "bundled", PairModel(find_pair())
    words = HERE.parent / "models" / "all-MiniLM-L6-v2"
    if (folder / "card.toml").is_file():
        return folder.name, PairModel(load_pair(folder, words))
    from pair.shipping import ship  # beside ``pair.sets``, and needs more packages

    made = work / f"{len(list(work.iterdir()))}"
    ship(folder, made, words)
    return folder.name, PairModel(load_pair(made, words))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help=f"some of {', '.join(SETS)}")
    parser.add_argument("--model", type=Path, nargs="+", help="folders of pair models")
    parser.add_argument("--data", type=Path, default=HERE.parent.parent / "shared" / "data")
    parser.add_argument("--rows", type=int, help="of a set at most, about; whole groups")
    parser.add_argument("--most", type=int, default=300, help="edited answers of each family")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    if not options.data.is_dir():
        parser.error(f"--data {options.data}: the folder of labelled sets is not there")
    unknown = [name for name in options.names if name not in SETS]
    if unknown:
        sys.exit(f"there is no set {unknown[0]}; they are {', '.join(SETS)}")
    return options


if __name__ == "__main__":
    main()
