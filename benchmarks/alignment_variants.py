"""The table the weights of ``answer_alignment`` and ``context_alignment`` were chosen from.

    python benchmarks/alignment_variants.py [--data DIR] [--rows 900] [--json FILE] [NAME ...]

For every labelled file and every variant: AUC and the true-accept rate at a false-accept rate of
at most 10 % on these very rows. Two tables of means follow, one for each half of the groups (by a
hash of their names): a variant that is better on one half only is better by luck. Both halves
were seen before the choice, so neither is a test of it. Below, the difference of each variant's
AUC from version 1, over all rows, with an interval that adds up what the rows of a group
contribute. The token matches of a file are computed once, and every variant from them; variants
that were not chosen are computed here and nowhere else.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from evidence import HERE, kept_at, labelled_files, readable, thinned

from closecall import evaluate
from closecall.calibration.comparing.delong import auc_difference
from closecall.calibration.curve import error_curve
from closecall.calibration.separation import separation
from closecall.instrument import canonical_text
from closecall.metrics.alignment.answer import AnswerAlignment
from closecall.metrics.alignment.matching import best_matches
from closecall.metrics.alignment.spelling import Spellings
from closecall.metrics.alignment.weights import CONTENT, token_weights, word_weights
from closecall.metrics.guards.words import fold, stem
from closecall.metrics.lexical.tokenizers import SQUAD, TokenPairs
from closecall.records import Label, Measured, Unmeasured

FEWEST = 10
CONTEXT = {
    "version 1": "context_alignment:weights=plain",
    "default": "context_alignment",
    "tokens only": "context_alignment:lexical=false",
    "weakest sentence": "context_alignment:weakest=true",
}


class Match(NamedTuple):
    """One reference against the response: all that a variant is made of."""

    best: np.ndarray
    asked_tokens: np.ndarray
    light_tokens: np.ndarray
    words: dict[str, np.ndarray]
    asked_words: np.ndarray
    light_words: np.ndarray
    window: float


class Recorder(AnswerAlignment):
    """Keeps the matches of every case, by its id, while it is measured."""

    def __init__(self) -> None:
        super().__init__()
        self.matches: dict[str, list[Match]] = {}
        self._now: list[Match] = []

    def measure(self, case, vectors):
        self._now = []
        found = super().measure(case, vectors)
        if not isinstance(found, Unmeasured):
            self.matches[case.id] = self._now
        return found

    def _align(self, reference, mine, answer):
        text = canonical_text(reference)
        best, _ = best_matches(mine.vectors, [answer.pieces.vectors])
        asked = token_weights(text, mine.spans, answer.asked)
        words, own = TokenPairs(SQUAD, answer.text).against(reference)
        self._now.append(
            Match(
                best.astype(np.float64),
                np.zeros(len(best), bool) if asked is None else asked < 1,
                token_weights(text, mine.spans, frozenset(), CONTENT) < 1,
                {
                    "equal": Spellings(own, alike=False).matches(words),
                    "spelled": Spellings(own).matches(words),
                    "stems": Spellings(map(root, own), alike=False).matches([*map(root, words)]),
                },
                word_weights(words, answer.asked) < 1,
                word_weights(words, frozenset(), CONTENT) < 1,
                nearest_window(mine.vectors, answer.pieces.vectors),
            )
        )
        return super()._align(reference, mine, answer)


def root(word: str) -> str:
    return stem(fold(word))


def nearest_window(mine: np.ndarray, other: np.ndarray) -> float:
    """Return the best cosine of the mean token to that of a run of as many tokens."""
    sums = np.cumsum(np.vstack([np.zeros(other.shape[1]), other]), axis=0, dtype=np.float64)
    width = min(len(mine), len(other))
    runs = sums[width:] - sums[:-width]
    whole = mine.sum(axis=0, dtype=np.float64)
    return float((runs @ whole / np.linalg.norm(runs, axis=1) / np.linalg.norm(whole)).max())


def blend(
    words: str = "spelled",
    *,
    share: float = 0.5,
    question: float = 0.15,
    function: float = 1.0,
    power: float = 1.0,
    least: float = 0.0,
    window: float = 0.0,
) -> Callable[[Match], float]:
    """Return a variant: ``share`` is how much the words count, 0 leaves them out."""

    def value(match: Match) -> float:
        weights = np.where(match.asked_tokens, question, 1) * np.where(
            match.light_tokens, function, 1
        )
        floor = np.maximum(match.best, 1e-3) if power != 1 else match.best
        tokens = np.average(floor**power, weights=weights) ** (1 / power)
        tokens = (1 - least - window) * tokens + least * match.best.min() + window * match.window
        if not share or not len(match.asked_words):
            return float(tokens)
        weights = np.where(match.asked_words, question, 1) * np.where(
            match.light_words, function, 1
        )
        return float(
            (1 - share) * tokens + share * np.average(match.words[words], weights=weights)
        )

    return value


VARIANTS = {
    "version 1": blend("equal", question=1),
    "default": blend(),
    "tokens only": blend(share=0, question=1),
    "words only": blend("equal", share=1, question=1),
    "question": blend("equal"),
    "spelling": blend(question=1),
    "stems, question": blend("stems"),
    "question weighs 0.3": blend(question=0.3),
    "question weighs 0.5": blend(question=0.5),
    "function words weigh 0.5": blend(function=0.5),
    "function words weigh 0.3": blend(function=0.3),
    "words count 0.3": blend(share=0.3),
    "words count 0.7": blend(share=0.7),
    "tokens squared": blend(power=2),
    "least token counts 0.2": blend(least=0.2),
    "window counts 0.3": blend(window=0.3),
}
"""Each differs from the default in what its name says; the first seven are named in full."""


class File(NamedTuple):
    name: str
    accept: np.ndarray
    groups: np.ndarray
    second: np.ndarray
    scores: dict[str, np.ndarray]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="only files of these names")
    parser.add_argument("--data", type=Path, default=HERE.parent.parent / "shared" / "data")
    parser.add_argument("--rows", type=int, default=900)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    answers, contexts = [], []
    for path in labelled_files(options.data, options.names):
        cases = thinned(readable(path), options.rows)
        if any(case.references for case in cases):
            answers += recorded(path.stem, cases)
        if any(case.context for case in cases):
            contexts += evaluated(path.stem, cases)
    if not answers and not contexts:
        sys.exit(f"no labelled files of both kinds under {options.data}")
    document = {
        name: printed(name, files)
        for name, files in (("answer_alignment", answers), ("context_alignment", contexts))
        if files
    }
    if options.json:
        options.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def recorded(name: str, cases: list) -> list[File]:
    recorder = Recorder()
    run = list(evaluate(cases, recorder, cache=False))
    kept = [row for row in run if isinstance(row.results[0].measurement, Measured)]
    scores = {
        variant: np.array([max(map(value, recorder.matches[row.case.id])) for row in kept])
        for variant, value in VARIANTS.items()
    }
    own = np.array([row.results[0].measurement.value for row in kept])
    if not np.allclose(scores["default"], own, atol=1e-6):
        sys.exit(f"{name}: the default here is not the metric's own")
    return file_of(name, [row.case for row in kept], scores)


def evaluated(name: str, cases: list) -> list[File]:
    run = list(evaluate(cases, list(CONTEXT.values()), cache=False))
    kept = [row for row in run if all(isinstance(r.measurement, Measured) for r in row.results)]
    scores = {
        variant: np.array([row.results[at].measurement.value for row in kept])
        for at, variant in enumerate(CONTEXT)
    }
    return file_of(name, [row.case for row in kept], scores)


def file_of(name: str, cases: list, scores: dict[str, np.ndarray]) -> list[File]:
    accept = np.array([case.label is Label.ACCEPT for case in cases], dtype=bool)
    if fewest(accept) < FEWEST:
        return []
    names = [case.group or case.id for case in cases]
    odd = [hashlib.sha256(group.encode()).digest()[0] % 2 == 1 for group in names]
    groups = np.unique(names, return_inverse=True)[1].astype(np.int64)
    return [File(name, accept, groups, np.array(odd), scores)]


def printed(metric: str, files: list[File]) -> dict:
    """Print the tables of one metric and return their figures."""
    print(f"\n{metric}: AUC and TAR@10 %, all rows")
    document: dict = {"sets": {}, "means": {}, "differences": {}}
    for file in files:
        n, accepts, groups = len(file.accept), file.accept.sum(), file.groups.max() + 1
        print(f"  {file.name}: {n} rows, {accepts} accepted, {groups} groups")
        rows = {v: figures(file, v, np.ones(len(file.accept), bool)) for v in file.scores}
        document["sets"][file.name] = rows
        for variant, (auc, tar) in rows.items():
            print(f"    {variant:26} {auc:.4f} {tar:.3f}")
    for half, wanted in (("first", False), ("second", True)):
        print(f"\n{metric}: means over the sets, the {half} half")
        for variant in files[0].scores:
            found = [
                figures(file, variant, file.second == wanted)
                for file in files
                if fewest(file.accept[file.second == wanted]) >= FEWEST
            ]
            auc, tar = np.mean(found, axis=0)
            document["means"].setdefault(half, {})[variant] = [auc, tar, len(found)]
            print(f"    {variant:26} {auc:.4f} {tar:.3f}   {len(found)} sets")
    print(f"\n{metric}: AUC less that of version 1, with a 95 % interval")
    for file in files:
        for variant in file.scores:
            if variant == "version 1":
                continue
            found = auc_difference(
                file.scores["version 1"], file.scores[variant], file.accept, groups=file.groups
            )
            edges = None if found.interval is None else [found.interval.low, found.interval.high]
            document["differences"].setdefault(file.name, {})[variant] = [found.difference, edges]
            shown = "" if edges is None else f"{edges[0]:+.4f} to {edges[1]:+.4f}"
            print(f"    {file.name:22} {variant:26} {found.difference:+.4f}  {shown}")
    return document


def fewest(accept: np.ndarray) -> int:
    return int(min(accept.sum(), (~accept).sum()))


def figures(file: File, variant: str, chosen: np.ndarray) -> tuple[float, float]:
    labels = [Label.ACCEPT if one else Label.REJECT for one in file.accept[chosen]]
    curve = error_curve(file.scores[variant][chosen].tolist(), labels)
    return separation(curve).auc, kept_at(curve, 0.10)


if __name__ == "__main__":
    main()
