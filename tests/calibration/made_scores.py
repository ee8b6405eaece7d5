"""Labelled scores made for tests: seeded, or drawn by hypothesis with many ties."""

import numpy as np
from hypothesis import strategies as st

LEVELS = st.integers(-3, 3).map(lambda at: at / 4)


def normal_scores(rejects, accepts, seed=0, gap=1.8, decimals=None):
    """Rejects N(0, 1) then accepts N(gap, 1), with their labels."""
    rng = np.random.default_rng(seed)
    scores = np.concatenate((rng.normal(0, 1, rejects), rng.normal(gap, 1, accepts)))
    labels = np.repeat([False, True], [rejects, accepts])
    return (scores if decimals is None else np.round(scores, decimals)), labels


def tied_rows(least=1, most=12):
    """A few rows whose scores tie often: lists of (score, label)."""
    return st.lists(st.tuples(LEVELS, st.booleans()), min_size=least, max_size=most)


def split(rows):
    scores, labels = zip(*rows, strict=True)
    return np.array(scores), np.array(labels)


def by_hand(scores, labels, cutoff):
    """Counts from decisions, one row after the other."""
    pairs = [(s >= cutoff, y) for s, y in zip(scores, labels, strict=True)]
    return {
        "true_accepts": pairs.count((True, True)),
        "false_rejects": pairs.count((False, True)),
        "false_accepts": pairs.count((True, False)),
        "true_rejects": pairs.count((False, False)),
    }
