"""Real sentences with one fact changed, beside their passage: right labels, the same every time."""

from random import Random

import pytest
import tiny_pair  # noqa: F401 - lets ``pair`` be found
from pair.inflected import inflected
from pair.judged import Judged
from pair.replaced import Replaced, summary_sentences
from pair.rows import digest
from pair.wordnet import Pointer, Synset, WordNet

PASSAGE = (
    "In the old harbour Anna Keller repaired boats. The owner Paul Meyer sold 12 boats in 1987. "
    "The wooden door stood open near the harbour."
)


class Net(WordNet):
    """Words that deny each other and words beside each other, as WordNet would give them."""

    def __init__(self):
        self._found = {
            "a1": Synset("a1", ("open",), (Pointer("!", "2", 1, 1),), ()),
            "a2": Synset("a2", ("shut",), (Pointer("!", "1", 1, 1),), ()),
            "a3": Synset("a3", ("wooden",), (), ()),
            "n1": Synset(
                "n1", ("vessel",), (Pointer("~", "2", 0, 0), Pointer("~", "3", 0, 0)), ()
            ),
            "n2": Synset("n2", ("boat",), (Pointer("@", "1", 0, 0),), ()),
            "n3": Synset("n3", ("raft",), (Pointer("@", "1", 0, 0),), ()),
            "n4": Synset("n4", ("door",), (), ()),
        }
        self._counts = {(s.words[0], key): 9 for key, s in self._found.items()}

    synsets = property(lambda self: self._found)
    counts = property(lambda self: self._counts)
    totals = property(lambda self: {(word, key[0]): n for (word, key), n in self._counts.items()})


class Side(Judged):
    """Cuts nothing of short passages; its summaries are given."""

    def __init__(self, rows=()):
        self._count, self._rows = (lambda text: len(text.split())), list(rows)

    def found(self, name):
        return self._rows


SENTENCES = [
    ("Anna Keller repaired many things in the harbour.", PASSAGE, "one"),
    ("In 1987 the owner Paul Meyer sold 12 boats.", PASSAGE, "one"),
    ("The wooden door of the harbour was open.", PASSAGE, "one"),
]


def made(seed=0, **each):
    return Replaced(Net(), Side(), SENTENCES).rows(Random(seed), each)


def test_the_same_seed_gives_the_same_rows_and_each_kind_is_made_at_most_so_often():
    each = {"antonym": 2, "sister": 2, "name": 3, "number": 3, "added": 2, "framed": 2}
    rows = made(3, **each)
    assert digest(rows) == digest(made(3, **each)) != digest(made(4, **each))
    for kind, most in each.items():
        assert 1 <= sum(row.kind == f"replaced {kind}" for row in rows) <= most
    said = {text for text, _, _ in SENTENCES}
    assert all(row.response.strip() and row.response not in said for row in rows)


@pytest.mark.parametrize(
    ("kind", "accept", "wanted"),
    [
        ("antonym", False, "door of the harbour was shut"),
        ("sister", False, "12 rafts"),
        ("name", False, "owner Anna Keller"),
        ("dropped", True, "The door of the harbour was open."),
        ("unchanged", True, "The wooden door of the harbour was open."),
    ],
)
def test_a_kind_changes_what_it_says_and_is_labelled_so(kind, accept, wanted):
    rows = made(1, **{kind: 30})
    assert any(wanted in row.response for row in rows)
    assert {row.accept for row in rows} == {accept}
    assert {row.group for row in rows} == {"one"}


@pytest.mark.parametrize(
    ("base", "tag", "form"),
    [
        ("stop", "ed", "stopped"), ("carry", "ed", "carried"), ("sell", "en", "sold"),
        ("write", "en", "written"), ("create", "ing", "creating"), ("city", "many", "cities"),
        ("man", "many", "men"), ("leaf", "many", None), ("large", "er", "larger"),
    ],
)  # fmt: skip
def test_an_ending_is_kept_or_the_word_left_alone(base, tag, form):
    assert inflected(base, tag) == form


def test_summaries_that_were_edited_wrong_are_no_sentences():
    row = {"context": [PASSAGE], "input": "", "group": "g", "label": "reject"}
    right, wrong = "Anna Keller repaired old boats there.", "Anna Keller repaired new boats there."
    side = Side([{**row, "reference": [right], "response": wrong}])
    assert summary_sentences(side) == [(right, PASSAGE, "g")]
    side = Side([{**row, "reference": [], "label": "accept", "response": right}])
    assert summary_sentences(side) == [(right, PASSAGE, "g")]
    assert summary_sentences(Side([{**row, "reference": [], "response": wrong}])) == []
