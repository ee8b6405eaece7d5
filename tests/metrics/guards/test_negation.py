"""A statement of the reference that the response negates, or the other way round."""

import pytest

from closecall.metrics.guards.base import against_any
from closecall.metrics.guards.negation import Negation

GUARD = Negation()

ONE_NEGATES = [
    ("The library is open on Sundays.", "The library is not open on Sundays."),
    ("The library isn't open on Sundays.", "The library is open on Sundays."),
    ("The train stops in Aldon.", "The train doesn't stop in Aldon."),
    ("The train stops in Aldon.", "The train does not stop in Aldon."),
    ("She can swim.", "She cannot swim."),
    ("She can swim.", "She can\N{RIGHT SINGLE QUOTATION MARK}t swim."),
    ("The ticket is valid for two days.", "The ticket is no longer valid for two days."),
    ("The cake contains nuts.", "The cake contains no nuts."),
    ("The cake was baked with sugar.", "The cake was baked without sugar."),
    ("The pump starts in cold weather.", "The pump fails to start in cold weather."),
    ("The pump starts in cold weather.", "The pump never starts in cold weather."),
    ("The crew repaired the mast.", "The crew was unable to repair the mast."),
    ("The crew repaired the mast.", "The crew refused to repair the mast."),
    ("The door is locked at night.", "The door is hardly locked at night."),
    ("Dogs are allowed in the park.", "No dogs are allowed in the park."),
    ("Guests pay for breakfast.", "Nobody pays for breakfast: guests do not pay for breakfast."),
    ("It is guilty.", "It is not guilty."),
    ("The valley was surveyed in 1820 by Lund.", "The valley was not mapped in 1820 by Lund."),
    ("Yes, it closes at noon.", "No, it closes at noon."),
    ("Yes", "No, it does not."),
    ("Yes, the shop is not open.", "No, the shop is not open."),
    ("Le chat dort.", "Le chat dort pas."),
    ("The museum did not refuse to lend the painting.", "The museum refused to lend the painting."),
    ("Das Gerät funktioniert unter Wasser.", "Das Gerät funktioniert unter Wasser nicht."),
    ("Der Laden ist am Sonntag geöffnet.", "Der Laden ist am Sonntag nicht geöffnet."),
    ("Im Park sind Hunde erlaubt.", "Im Park sind keine Hunde erlaubt."),
    ("Der Kuchen ist mit Zucker gebacken.", "Der Kuchen ist ohne Zucker gebacken."),
    ("La boutique est ouverte le dimanche.", "La boutique n'est pas ouverte le dimanche."),
    ("Le train s'arrête à Lanvy.", "Le train ne s'arrête jamais à Lanvy."),
    ("La tienda está abierta los domingos.", "La tienda no está abierta los domingos."),
    ("El tren para en Aldana.", "El tren nunca para en Aldana."),
]  # fmt: skip

BOTH_NEGATE = [
    ("The library is not open on Sundays.", "The library isn't open on Sundays."),
    ("The train never stops in Aldon.", "The train does not stop in Aldon."),
    ("She cannot swim.", "She is unable to swim."),
    ("Dogs are not allowed in the park.", "No dogs are allowed in the park."),
    ("The door is not open.", "The door is closed."),
    ("The shop is closed on Mondays.", "The shop is not open on Mondays."),
    ("The cake was baked without sugar.", "The cake was not baked with sugar."),
    ("Der Laden ist nicht geöffnet.", "Der Laden ist keinesfalls oder nie geöffnet."),
    ("La boutique n'est pas ouverte.", "La boutique n'est jamais ouverte."),
    ("La tienda no está abierta.", "La tienda nunca está abierta."),
    ("No", "No, it does not."),
]

NOTHING = [
    ("The library is open on Sundays.", "The library opens on Sundays."),
    ("The bridge is made of steel.", "The bridge is made of steel, not of stone."),
    ("Lyra Moss wrote the song.", "Not only did Lyra Moss write the song, she sang it."),
    ("The library is open on Sundays.", "I do not know the answer."),
    ("It opened in 1984.", "It did not rain, and it opened in 1984."),
    ("It is not untrue.", "Nothing was said about the price of fish."),
    ("A knot", "A plain rope of that kind holds no knot."),
    ("See no. 5 on the list.", "See number 5 on the list."),
    ("There is no doubt that it rained.", "It rained."),
    ("The gate is not unlocked or open at night.", "Cats sleep."),
    ("It is not true that it isn't open on Sundays.", "It is open on Sundays."),
    ("uma casa branca no campo com muros", "uma casa branca com muros num campo"),
    ("Es gibt nichts zu sagen.", "Die Sonne scheint im Garten."),
]


@pytest.mark.parametrize(("reference", "response"), ONE_NEGATES)
def test_a_statement_negated_in_one_of_the_two_differs(reference, response):
    for first, second in ((reference, response), (response, reference)):
        found = GUARD.check(first, second)
        assert found.state == "differ", found
        assert found.spans_reference
        assert found.spans_response
        assert "negates" in found.words or "answers" in found.words


@pytest.mark.parametrize(("reference", "response"), BOTH_NEGATE)
def test_a_statement_negated_in_both_agrees(reference, response):
    assert GUARD.check(reference, response).state == "agree"
    assert GUARD.check(response, reference).state == "agree"


@pytest.mark.parametrize(("reference", "response"), NOTHING)
def test_a_negation_of_something_else_is_nothing_to_compare(reference, response):
    assert GUARD.check(reference, response).state == "absent"
    assert GUARD.check(response, reference).state == "absent"


def test_two_negations_cancel_out():
    once, twice = "It is not not open on Sundays.", "It is open on Sundays."
    assert GUARD.check(once, twice).state != "differ"
    assert GUARD.check("It is not open on Sundays.", once).state == "differ"


def test_what_the_question_negates_is_not_news():
    reference = "Cats don't like wet paws because they chill them."
    response = "Cats like wet paws only when it is hot."
    assert GUARD.check(reference, response).state == "differ"
    assert GUARD.check(reference, response, "Why don't cats like wet paws?").state != "differ"


def test_a_response_that_says_both_is_not_held_to_one():
    response = "The old gate is not open. The new gate is open."
    assert GUARD.check("The gate is open.", response).state != "differ"


def test_the_words_say_which_text_negates_what():
    found = GUARD.check("The lamp is safe in the rain.", "The lamp is not safe in the rain.")
    assert found.words == 'the response negates "safe" ("not"), the reference does not'
    assert list(found.spans_reference) == [(12, 16)]


def test_of_several_references_the_nearest_in_wording_decides():
    references = ("Ask at the desk.", "The lamp is safe in the rain.")
    response = "The lamp is not safe in the rain."
    assert against_any(GUARD, references, response) == (1, GUARD.check(references[1], response))
    assert against_any(GUARD, (*references, response), response).finding.state == "agree"
