"""Labelled cases whose answers share more or fewer words with the reference."""

import random

from closecall.metrics.base import MetricSpec
from closecall.records import Measured
from closecall.testing import HashEmbedder

WORDS = [
    start + end
    for start in ("ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu")
    for end in ("nar", "ted", "lix", "pom", "sud")
]
SHARED = {"accept": (3, 4, 5, 6, 7), "reject": (0, 1, 2, 3, 4)}


def rows(questions, seed=0, *, answers=1, first=0, **more):
    """Half of them accepts; those of one seed are always the same."""
    draw = random.Random(seed)
    made = []
    for at in range(questions):
        for answer in range(answers):
            label = draw.choice(["accept", "reject"])
            reference = draw.sample(WORDS, 8)
            shared = draw.choice(SHARED[label])
            said = reference[:shared] + draw.sample(WORDS, 8 - shared)
            draw.shuffle(said)
            made.append(
                {
                    "id": f"{seed}-{at}-{answer}",
                    "input": f"What is number {first + at}?",
                    "response": " ".join(said),
                    "reference": " ".join(reference),
                    "label": label,
                    **more,
                }
            )
    return made


DRAWN = {}


class Remembers(HashEmbedder):
    """The same vectors, with each word drawn once."""

    def _word(self, word):
        key = (self.instrument.dims, word)
        if key not in DRAWN:
            DRAWN[key] = super()._word(word)
        return DRAWN[key]


def wide(model="wide", **options):
    """Words are well apart: the better of the two."""
    return Remembers(64, model=model, **options)


def narrow(**options):
    """Words run together."""
    return Remembers(6, model="narrow", **options)


class Always:
    """A metric that says the same of every case."""

    cutoff = None
    spec = MetricSpec(
        id="always", name="always", version="1", needs=("response",), default_cutoff=None,
        low=0.0, high=1.0, description="Half.",
    )  # fmt: skip

    def texts(self, case):
        return ()

    def measure(self, case, vectors):
        return Measured(similarity=0.5, value=0.5, score=50.0)
