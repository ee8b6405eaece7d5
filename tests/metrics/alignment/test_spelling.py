"""Which words another text has, spelled the same or nearly so."""

import random
from collections import Counter
from itertools import pairwise

import pytest

from closecall.metrics.alignment.spelling import ALIKE, SHORTEST, Spellings
from closecall.metrics.lexical.ngrams import shared


def one(word, *others):
    return float(Spellings(others).matches([word])[0])


def nearest(word, others):
    """The same by definition: every pair of words, every pair of letters."""

    def pairs(text):
        ended = f" {text} "
        return {first + second for first, second in pairwise(ended)}

    best = 0.0
    for other in set(others):
        if min(len(word), len(other)) < SHORTEST or any(map(str.isdigit, word + other)):
            continue
        both = pairs(word) & pairs(other)
        best = max(best, 2 * len(both) / (len(pairs(word)) + len(pairs(other))))
    return best if best >= ALIKE else 0.0


def made_up(seed, count):
    draw = random.Random(seed)
    return [
        "".join(draw.choices("abc1", (9, 9, 9, 1), k=draw.randint(1, 7))) for _ in range(count)
    ]


@pytest.mark.parametrize("seed", range(20))
def test_against_the_definition(seed):
    words, others = made_up(seed, 12), made_up(seed + 100, 15)
    others += words[:3]
    found = Spellings(others).matches(words).tolist()
    left = Counter(others)
    for word, match in zip(words, found, strict=True):
        if left[word] > 0:
            left[word] -= 1
            assert match == 1
        elif word in others:
            assert match == 0
        else:
            assert match == pytest.approx(nearest(word, others))


@pytest.mark.parametrize("seed", range(5))
def test_equal_words_alone_are_the_multiset_intersection(seed):
    words, others = made_up(seed, 30), made_up(seed + 1, 30) + made_up(seed, 10)
    found = Spellings(others, alike=False).matches(words)
    assert found.sum() == shared(Counter(words), Counter(others))


def test_endings_accents_and_misspellings_count_for_a_part():
    for word, other in (("okonkwos", "okonkwo"), ("bogotá", "bogota"), ("zurich", "zuerich")):
        assert ALIKE <= one(word, other) < 1
        assert one(word, other) == one(other, word)


def test_other_words_numbers_and_short_words_do_not():
    assert one("paris", "lyon") == 0
    assert one("1921", "1922", "19211") == 0
    assert one("cat", "cats", "cut") == 0
    assert one("harbour") == 0


def test_a_word_asked_for_twice_must_be_there_twice():
    assert Spellings(["deep", "blue"]).matches(["deep", "deep"]).tolist() == [1, 0]
    assert Spellings(["deep", "deep"]).matches(["deep", "deep"]).tolist() == [1, 1]


def test_the_order_of_the_other_words_does_not_matter_and_looking_up_changes_nothing():
    others = made_up(3, 20)
    words = made_up(4, 20)
    text = Spellings(others)
    first = text.matches(words).tolist()
    assert text.matches(words).tolist() == first
    assert Spellings(reversed(others)).matches(words).tolist() == first
