"""All or some, always or never, at least or at most: said of the same in both texts."""

import pytest

from closecall.metrics.guards.quantifiers import Quantifiers

GUARD = Quantifiers()

DIFFERENT = [
    ("All birds of this kind sing.", "Some birds of this kind sing.", "Some"),
    ("All rooms have a balcony.", "No rooms have a balcony.", "No"),
    ("Every guest gets a towel.", "Most guests get a towel.", "Most"),
    ("Most tickets are sold online.", "Few tickets are sold online.", "Few"),
    ("Many tickets are sold online.", "No tickets are sold online.", "No"),
    ("Some rooms have a balcony.", "None of the rooms have a balcony.", "None"),
    ("The pump always runs at night.", "The pump sometimes runs at night.", "sometimes"),
    ("The pump always runs at night.", "The pump never runs at night.", "never"),
    ("The pump usually runs at night.", "The pump rarely runs at night.", "rarely"),
    ("All rooms have a balcony.", "Not all rooms have a balcony.", "all"),
    ("You need at least 3 stamps for it.", "You need at most 3 stamps for it.", "at most"),
    ("It costs more than 20 francs a night.", "It costs less than 20 francs a night.",
     "less than"),
    ("A bag may weigh up to 20 kg here.", "A bag must weigh no less than 20 kg here.",
     "no less than"),
    ("Alle Zimmer haben einen Balkon.", "Einige Zimmer haben einen Balkon.", "Einige"),
    ("Toutes les chambres ont un balcon.", "Certaines chambres ont un balcon.", "Certaines"),
    ("Todas las habitaciones tienen balcón.", "Algunas habitaciones tienen balcón.", "Algunas"),
]  # fmt: skip

EQUAL = [
    ("All birds of this kind sing.", "Every bird of this kind sings."),
    ("The pump always runs at night.", "At night the pump is always running."),
    ("Most tickets are sold online.", "The majority of tickets are sold online."),
    ("You need at least 3 stamps for it.", "For it you need at least 3 stamps."),
    ("Only members may vote here.", "Here only members may vote."),
]

NOTHING = [
    ("All birds of this kind sing.", "Birds of this kind sing."),
    ("All rooms have a balcony.", "Some guests sleep late."),
    ("It is the most famous lake of the land.", "All lakes of the land are famous."),
    ("Not only members may vote here.", "Members may vote here."),
    ("Only members may vote here.", "Members alone may vote here."),
    ("Only members may vote here.", "Just members may vote here."),
    ("All rooms of the old inn have a balcony.", "Some rooms flood when rain falls hard."),
    ("Not many birds of this kind sing.", "Few birds of this kind sing, and well."),
]


@pytest.mark.parametrize(("reference", "response", "said"), DIFFERENT)
def test_another_quantifier_on_the_same_differs(reference, response, said):
    found = GUARD.check(reference, response)
    assert found.state == "differ", found
    assert said in [response[start:end] for start, end in found.spans_response]
    assert said in found.words
    assert GUARD.check(response, reference).state == "differ"


@pytest.mark.parametrize(("reference", "response"), EQUAL)
def test_the_same_quantifier_agrees(reference, response):
    assert GUARD.check(reference, response).state == "agree"


@pytest.mark.parametrize(("reference", "response"), NOTHING)
def test_a_quantifier_in_one_of_the_two_is_nothing_to_compare(reference, response):
    assert GUARD.check(reference, response).state != "differ"
    assert GUARD.check(response, reference).state != "differ"


def test_only_in_one_of_two_otherwise_equal_clauses_differs():
    found = GUARD.check("Only members may vote here.", "Members may vote here.")
    assert found.state == "differ"
    assert found.words == ('the reference says "Only", the response "Members may vote here"')
    assert GUARD.check("Members may vote here.", "Only members may vote here.").state == "differ"
