"""Labelled cases, and what a calibration is built from, made for tests."""

import functools

import numpy as np
from made_scores import normal_scores

from closecall.calibration.build import History, Material, build
from closecall.calibration.drift.canary_record import record_canaries
from closecall.calibration.evidence.slicing import Slicer
from closecall.calibration.goals import Goal
from closecall.calibration.labels.label_facts import label_facts
from closecall.calibration.labels.rows import collect
from closecall.metrics.registry import load_metric
from closecall.records import Case, Label, Measured, Tokens
from closecall.testing import HashEmbedder

CREATED = "2025-03-01T12:00:00Z"
TOPICS = ("parcel", "invoice", "password", "voucher", "engine", "garden", "ticket", "kettle")
FIRST = ("arrives", "expires", "resets", "starts", "opens", "closes", "renews", "drains")
LATER = ("tomorrow", "tonight", "weekly", "monthly", "twice", "soon", "early", "late")


def answers(rejects, accepts, seed=0, each=1, **fields):
    """Cases whose wrong answers share fewer words with the reference; ``each`` to a question."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.repeat([False, True], [rejects, accepts]))
    cases = []
    for at, accept in enumerate(labels.tolist()):
        question = at // each
        words = [str(rng.choice(kind)) for kind in (TOPICS, FIRST, LATER)]
        words += [f"number{question}", f"place{rng.integers(40)}", f"street{rng.integers(40)}"]
        kept = rng.random(len(words)) < (0.85 if accept else 0.35)
        told = [
            word if keep else f"other{rng.integers(99)}"
            for word, keep in zip(words, kept, strict=True)
        ]
        cases.append(
            Case(
                id=f"answer-{at}",
                input=f"What of question {question}?",
                response=" ".join([*told, f"variant{at}"]),
                references=(" ".join(words),),
                label=Label.ACCEPT if accept else Label.REJECT,
                **fields,
            )
        )
    return cases


@functools.cache
def canaries():
    return record_canaries(HashEmbedder())


def scored(scores, labels, **columns):
    """Cases and their measurements; of ``columns`` each has one value a row, for the case.

    ``truncated`` is a column too: whether the model saw only part of a text.
    """
    truncated = columns.pop("truncated", [False] * len(scores))
    rows = []
    for at, (score, label) in enumerate(zip(np.asarray(scores).tolist(), labels, strict=True)):
        given = {name: values[at] for name, values in columns.items()}
        case = Case(
            **{
                "id": f"c{at}",
                "place": f"labels.csv:{at + 2}",
                "input": f"question {at}",
                "response": f"response {at:04d}",
                "references": (f"reference {at:04d}",),
                "label": Label.ACCEPT if label else Label.REJECT,
                **given,
            }
        )
        tokens = {"response": Tokens(1 if truncated[at] else 9, 9)}
        rows.append((case, Measured(similarity=score, value=score, score=None, tokens=tokens)))
    return rows


def material(measured, *, slices=(), group=None, metric="embedding_similarity", **changes):
    """What ``build`` takes, of cases and their measurements."""
    rows = collect(measured, group)
    slicer = Slicer.fit(rows.cases, slices)
    embedder = HashEmbedder()
    parts = {
        "rows": rows,
        "facts": label_facts(rows.cases),
        "slicer": slicer,
        "slices": [slicer.of(case) for case in rows.cases],
        "name": "labels.csv",
        "digest": "0" * 64,
        "metric": load_metric(metric).spec,
        "embedder": "test:hash",
        "window": embedder.instrument.window,
        "instrument": embedder.instrument,
        "canaries": canaries(),
    }
    return Material(**{**parts, **changes})


def made(measured, goal=None, history=None, *, keep_texts=True, **options):
    """A calibration of these, at a fixed time."""
    return build(
        material(measured, **options),
        goal or Goal(max_far=0.1),
        created=CREATED,
        history=history or History(),
        keep_texts=keep_texts,
    )


def usual(rejects=150, accepts=150, seed=0, **columns):
    """Scores that tell the two apart well."""
    scores, labels = normal_scores(rejects, accepts, seed, gap=3.0, decimals=4)
    return scored(scores / 10, labels, **columns)
