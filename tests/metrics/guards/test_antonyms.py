"""A word of the reference that the response answers with its opposite."""

import pytest

from closecall.metrics.guards.antonym_pairs import opposites, unaffixed
from closecall.metrics.guards.antonyms import Antonyms
from closecall.metrics.guards.words import stem

GUARD = Antonyms()

OPPOSITE = [
    ("Prices of bread rose in spring.", "Prices of bread fell in spring."),
    ("The lake is deep near the dam.", "The lake is shallow near the dam."),
    ("The new rule increases the fee.", "The new rule decreases the fee."),
    ("The new rule increased the fee.", "The new rule reduced the fee."),
    ("The older sister won the race.", "The younger sister won the race."),
    ("The parcel came before the letter.", "The parcel came after the letter."),
    ("The council approved the plan.", "The council rejected the plan."),
    ("Entry to the tower is legal at night.", "Entry to the tower is illegal at night."),
    ("The mushroom is harmful to dogs.", "The mushroom is harmless to dogs."),
    ("The guide was happy with the tour.", "The guide was unhappy with the tour."),
    ("The road is accessible in winter.", "The road is inaccessible in winter."),
    ("Helmets are mandatory on the ice.", "Helmets are optional on the ice."),
    ("It's hot.", "It's cold."),
    ("The team won the final.", "The team lost the final."),
    ("The tunnel is north of the town.", "The tunnel is south of the town."),
    ("It costs more than the other lamp.", "It costs less than the other lamp."),
    ("The figures are not accurate enough.", "The figures are not inaccurate enough."),
    ("The museum allows flash in the hall.", "The museum prohibits flash in the hall."),
]

NEGATED = [
    ("The gate is not open at night.", "The gate is closed at night."),
    ("The guide was unhappy with the tour.", "The guide was not happy with the tour."),
    ("It's cold.", "It's not hot."),
    ("Entry to the tower is illegal at night.", "Entry to the tower is not legal at night."),
]

NOTHING = [
    ("The lake is deep.", "The soup is shallow and the bread is warm today."),
    ("The lake is deep near the dam.", "The lake is deep, though shallow elsewhere."),
    ("The lake is deep near the dam.", "The lake is very deep near the dam."),
    ("The lake is deep near the dam.", "The lake is shallow near the dam, deep near the mill."),
    ("They discussed the cover of the book.", "They cover the cost of the book."),
    ("Das Paket ist light und neu.", "Das Paket ist heavy und neu."),
    ("The town was under the sea.", "The town was by the sea."),
]


@pytest.mark.parametrize(("reference", "response"), OPPOSITE)
def test_an_opposite_differs(reference, response):
    for first, second in ((reference, response), (response, reference)):
        found = GUARD.check(first, second)
        assert found.state == "differ", found
        assert found.spans_reference
        assert found.spans_response


@pytest.mark.parametrize(("reference", "response"), NEGATED)
def test_a_negated_opposite_is_the_same(reference, response):
    assert GUARD.check(reference, response).state == "agree"
    assert GUARD.check(response, reference).state == "agree"


@pytest.mark.parametrize(("reference", "response"), NOTHING)
def test_other_words_are_nothing_to_compare(reference, response):
    assert GUARD.check(reference, response).state == "absent"


def test_the_words_name_both():
    found = GUARD.check("The lake is deep near the dam.", "The lake is shallow near the dam.")
    assert found.words == '"deep" in the reference, the opposite "shallow" in the response'
    assert (found.spans_reference, found.spans_response) == (((12, 16),), ((12, 19),))


def test_the_table_is_symmetric_and_no_word_is_its_own_opposite():
    for word in ("deep", "rise", "increase", "legal", "before"):
        others = opposites(stem(word))
        assert others
        assert stem(word) not in others
        assert all(stem(word) in opposites(other) for other in others)


@pytest.mark.parametrize("word", ["until", "discover", "inform", "unit", "less"])
def test_words_that_only_look_negated_negate_nothing(word):
    assert unaffixed(word) == ()
