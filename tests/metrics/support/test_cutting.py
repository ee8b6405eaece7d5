"""Parts of a text hold all of its words, in order, and fit."""

import random
from itertools import pairwise

import pytest
from word_reader import tokens

from closecall.metrics.support.cutting import no_longer, sentence_parts


def count(text):
    return len(tokens(text))


@pytest.mark.parametrize("seed", range(20))
def test_no_word_is_lost_and_no_part_is_too_long(seed):
    draw = random.Random(seed)
    words = ["pump", "tank.", "A", "(old)", "!!!!!!!", "x" * 30, "3.5", "\n", "насос", "…"]
    text = " ".join(draw.choice(words) for _ in range(draw.randrange(1, 120)))
    most = draw.randrange(1, 12)
    parts = no_longer(text, sentence_parts(text, count), most, count)
    assert all(part.tokens == count(part.of(text)) <= most for part in parts)
    assert all(a.end <= b.start for a, b in pairwise(parts))
    assert "".join("".join(part.of(text).split()) for part in parts) == "".join(text.split())


def test_what_fits_is_not_cut():
    text = "The pump is drained in autumn. The tank holds ten litres."
    parts = sentence_parts(text, count)
    assert no_longer(text, parts, 7, count) is parts


def test_a_long_sentence_is_cut_between_words():
    text = "the pump and the tank of the house are drained by hand in autumn"
    found = [part.of(text) for part in no_longer(text, sentence_parts(text, count), 4, count)]
    assert " ".join(found) == text


def test_a_word_without_end_is_cut_anywhere():
    text = "!" * 1000
    parts = no_longer(text, sentence_parts(text, count), 7, count)
    assert sum(part.tokens for part in parts) == 1000
