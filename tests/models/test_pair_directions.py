"""Pairs that teach which way a narrower or wider statement follows."""

from collections import Counter, defaultdict
from random import Random

import pytest
import tiny_pair  # noqa: F401 - lets ``pair`` be found
from pair.directions import Directions
from pair.rows import digest
from pair.wordnet import Pointer, Synset, WordNet

SENTENCES = [
    ("The queen was a clever woman from Oslo.", "queen"),
    ("It was slowly repaired after the storm.", "storm"),
    ("It was hardly a heavy plough.", "plough"),
]


class Net(WordNet):
    """A few words, as WordNet would give them."""

    def __init__(self):
        self._found = {
            "n1": Synset("n1", ("poodle",), (Pointer("@", "2", 0, 0),), ("he saw a poodle",)),
            "n2": Synset("n2", ("dog",), (), ("a dog with a collar",)),
            "v1": Synset("v1", ("mumble",), (Pointer("@", "2", 0, 0),), ("mumble a prayer",)),
            "v2": Synset("v2", ("speak",), (), ("She spoke a word",)),
        }

    synsets = property(lambda self: self._found)
    counts = property(
        lambda self: {
            ("poodle", "n1"): 4,
            ("dog", "n2"): 9,
            ("mumble", "v1"): 3,
            ("speak", "v2"): 5,
        }
    )
    totals = property(
        lambda self: {
            **{(word, key[0]): count for (word, key), count in self.counts.items()},
            **dict.fromkeys([("clever", "a"), ("heavy", "a"), ("slowly", "r")], 3),
            **dict.fromkeys([("woman", "n"), ("plough", "n")], 3),
        }
    )


@pytest.fixture(scope="module")
def made():
    return Directions(Net(), SENTENCES)


@pytest.fixture(scope="module")
def rows(made):
    return [row for seed in range(400) for row in made.rows(Random(seed), 500)]


def test_the_same_generator_gives_the_same_rows_each_once(made):
    rows = made.rows(Random(1), 40)
    assert digest(rows) == digest(made.rows(Random(1), 40)) != digest(made.rows(Random(2), 40))
    assert len({(row.first, row.response) for row in rows}) == len(rows)
    assert len(made.rows(Random(1), 7)) == 7


def test_a_denial_turns_the_direction_and_its_denial_turns_it_back(rows):
    found = {(row.first, row.response): row.accept for row in rows}
    plain = "There was a poodle.", "There was a dog."
    denied = "There was no poodle.", "There was no dog."
    twice = (
        "It is not true that nobody noticed a poodle.",
        ("It is not true that nobody noticed a dog."),
    )
    for pair, follows in ((plain, True), (denied, False), (twice, True)):
        assert found[pair] is follows
        assert found[pair[::-1]] is not follows
    exact = "Exactly one poodle was mentioned.", "Exactly one dog was mentioned."
    assert found[exact] is found[exact[::-1]] is False


def test_every_edit_is_right_as_often_as_wrong_either_way(rows):
    counts = defaultdict(Counter)
    for row in rows:
        _, way, _, edit = row.kind.split(" ", 3)
        if way != "none" and edit != "frame":
            shorter = len(row.response) < len(row.first)
            counts[way, edit][row.accept] += 1
            counts[way, "shorter", shorter][row.accept] += 1
    assert {"noun", "verb", "adjective", "adverb"} <= {key[1] for key in counts}
    for key, labels in counts.items():
        if key[1] != "shorter":
            assert labels[True] == labels[False], key
    assert counts["up", "shorter", True][True] > counts["up", "shorter", True][False]
    assert counts["down", "shorter", True][False] > counts["down", "shorter", True][True]


def test_a_sentence_that_turns_a_direction_itself_is_left_alone(rows):
    clauses = {row.first for row in rows if " clause " in row.kind}
    assert any("queen was not a clever woman" in text for text in clauses)
    assert any("slowly repaired" in text for text in clauses)
    assert not any("heavy plough" in text for text in clauses)


def test_verbs_take_their_forms(rows):
    texts = {row.first for row in rows}
    assert any("spoke a word" in text for text in texts)
    assert any("She did not speak a word" in text for text in texts)
    assert {row.group for row in rows if row.kind.endswith(" verb")} == {"mumble"}
