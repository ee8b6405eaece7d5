"""Labelled answers made of words: good ones keep most words of the reference, wrong ones few."""

import json
import random

from closecall import Goal, calibrate
from closecall.testing import HashEmbedder

_WORDS = (
    "harbour lantern orchard violin cellar meadow copper whistle granite ribbon saddle thimble "
    "anchor barley candle dune ember fiddle gravel hinge ivory juniper kettle ledger marble nettle "
    "oyster pebble quarry rudder sorrel tallow"
)
WORDS = _WORDS.split()


def one(at, accept, seed=0, **more):
    draw = random.Random(f"{seed} {at} {accept}")
    reference = draw.sample(WORDS, 6)
    kept = draw.choice((3, 4, 5, 5, 6, 6)) if accept else draw.choice((0, 0, 1, 1, 2, 3, 4))
    others = [word for word in WORDS if word not in reference]
    response = reference[:kept] + draw.sample(others, 6 - kept)
    return {
        "id": f"row-{at:04}",
        "input": f"Which words belong to number {at}?",
        "response": " ".join(response),
        "reference": " ".join(reference),
        "label": "accept" if accept else "reject",
    } | more


def rows(accepts=60, rejects=60, seed=0, **more):
    """Accepts and rejects in turn, each to a question of its own."""
    labels = [True] * accepts + [False] * rejects
    random.Random(seed).shuffle(labels)
    return [one(at, accept, seed, **more) for at, accept in enumerate(labels)]


def unlabelled(cases):
    return [{name: value for name, value in case.items() if name != "label"} for case in cases]


def write(path, cases):
    path.write_text("".join(json.dumps(case) + "\n" for case in cases), encoding="utf-8")
    return path


def made(cases=None, goal=None, **options):
    """A calibration by the embedder of words."""
    options.setdefault("embedder", HashEmbedder())
    options.setdefault("cache", False)
    return calibrate(cases or rows(), goal=goal or Goal(max_far=0.1), **options)


class Turned:
    """An embedder that keeps its name and reads some words differently; ``on`` switches it."""

    def __init__(self):
        self.on = False
        self._usual, self._other = HashEmbedder(), HashEmbedder()

    @property
    def instrument(self):
        return self._usual.instrument

    def embed(self, texts, role="text"):
        if not self.on:
            return self._usual.embed(texts)
        return self._other.embed([" ".join(word[:2] for word in text.split()) for text in texts])
