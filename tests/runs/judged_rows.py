"""Labelled answers of which no single score tells all: some are wrong by a number alone."""

import functools
import random

from labelled_rows import WORDS

from closecall import Goal, calibrate
from closecall.calibration.drift.canary_record import record_canaries
from closecall.testing import HashEmbedder

GOAL = Goal(max_far=0.2)
_DRAWN = {}


class Quick(HashEmbedder):
    """The same vectors, with each word drawn once."""

    def _word(self, word):
        key = (self.instrument.dims, word)
        if key not in _DRAWN:
            _DRAWN[key] = super()._word(word)
        return _DRAWN[key]


def one(at, accept, seed=0, *, each=2, **more):
    """An accept keeps most words and the number; a reject loses words, or tells another number."""
    draw = random.Random(f"judged {seed} {at} {accept}")
    reference = draw.sample(WORDS, 6)
    number = draw.randrange(11, 60)
    turned = not accept and draw.random() < 0.6
    kept = draw.choice((4, 5, 5, 6)) if accept or turned else draw.choice((1, 2, 2, 3, 4))
    others = [word for word in WORDS if word not in reference]
    said = [*reference[:kept], *draw.sample(others, draw.randrange(7))]
    told = number + draw.randrange(20, 30) if turned else number
    return {
        "id": f"row-{seed}-{at:04}",
        "input": f"Which words belong to number {seed}-{at // each}?",
        "response": " ".join([*said, str(told), "crates"]),
        "reference": " ".join([*reference, str(number), "crates"]),
        "label": "accept" if accept else "reject",
    } | more


def rows(n=320, seed=0, **more):
    labels = [True] * (n // 2) + [False] * (n - n // 2)
    random.Random(seed).shuffle(labels)
    return [one(at, accept, seed, **more) for at, accept in enumerate(labels)]


CANARIES = functools.cache(record_canaries)


def made(cases=None, goal=GOAL, **options):
    options.setdefault("embedder", Quick())
    options.setdefault("cache", False)
    options.setdefault("judge", True)
    # These rows are made of words without a sentence: a pair model has nothing to say of them.
    options.setdefault("metric", "fitted_judge:support=false")
    return calibrate(rows() if cases is None else cases, goal=goal, **options)
