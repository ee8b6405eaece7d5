"""Vectors placed by hand: a text's cosine to another is what the test says."""

import math

import numpy as np

from closecall.embedders.base import Embedded, Failure
from closecall.records import Measured, Tokens, Unmeasured


def at(cosine):
    """A unit vector with this cosine to ``at(1)``."""
    return np.array([cosine, math.sqrt(1 - cosine**2)], dtype=np.float32)


def lookup(metric, case, by_text):
    """Vectors for the texts a metric asks for; a string stands for a failure's reason."""
    found = {}
    for key in metric.texts(case):
        value = by_text[key.text]
        if isinstance(value, str):
            found[key] = Failure(value)
        else:
            words = len(key.text.split())
            found[key] = Embedded(np.asarray(value, dtype=np.float32), Tokens(words, words))
    return found


def measure(metric, case, by_text):
    return metric.measure(case, lookup(metric, case, by_text))


def measured(metric, case, by_text):
    found = measure(metric, case, by_text)
    assert isinstance(found, Measured), found
    return found


def reason(found):
    assert isinstance(found, Unmeasured), found
    return found.reason
