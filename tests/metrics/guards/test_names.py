"""A name of the reference that another stands in place of."""

import pytest

from closecall.metrics.guards.names import Names

GUARD = Names()

THERE = [
    ("Mira Holt", "It was written by Mira Holt."),
    ("Mira Holt", "It was written by mira holt."),
    ("Mira Holt", "Holt wrote it."),
    ("Mira Holt", "M. Holt wrote it."),
    ("It was Mira J. Holt who wrote it.", "It was Mira Holt who wrote it."),
    ("It was José Núñez.", "It was Jose Nunez."),
    ("It was Tchernov.", "It was Chernov."),
    ("She was born in Ravelberg.", "She was born in Ravelburg."),
    ("the International Kite Union", "the IKU"),
    ("the IKU", "the International Kite Union"),
    ("He came from the United States.", "He was an American."),
    ("a company from Great Britain", "a British company"),
    ("an office in Germany", "an office of the German firm"),
    ("It was William Sand.", "It was Bill Sand."),
    ("They met in New York.", "They met in NYC."),
    ("It runs on YouPlay.", "It runs on You Play."),
    ("By order of Queen Alda.", "Alda ordered it."),
    ("the Lake of Tarn", "Lake Tarn"),
    ("Das Werk stammt von Clara Weiss und ist alt.", "The work is by Clara Weiss."),
    ("She lives in Oslo and Bergen.", "Oslo, then Bergen"),
    ("Mira Holt and Ann Rowe met.", "Mira Holt met many others, as Otto Brand says."),
]

REPLACED = [
    ("It was written by Mira Holt.", "It was written by Otto Brand.", "Otto Brand"),
    ("Mira Holt", "The author is Otto Brand.", "Otto Brand"),
    ("She was born in Oslo.", "She was born in Bergen.", "Bergen"),
    ("The company is from France.", "The company is from Spain.", "Spain"),
    ("He flew to South Korea.", "He flew to North Korea.", "North Korea"),
    ("It was George Lund.", "It was Peter Lund.", "Peter Lund"),
    ("It was Mr. Sand who did it.", "It was Mr. Brand who did it.", "Brand"),
    ("It belongs to the IKU.", "It belongs to the WKF.", "WKF"),
    ("The Lake of Tarn is deep.", "It is called Lake Ostrava.", "Lake Ostrava"),
    ("On Monday the shop of Ann Rowe opens.", "On Monday the shop of Tom Vane opens.", "Tom Vane"),
    ("Das Werk stammt von Clara Weiss und ist alt.",
     "Das Werk stammt von Anna Schwarz und ist alt.", "Anna Schwarz"),
    ("Le livre est de Marie Petit.", "Le livre est de Jeanne Grand.", "Jeanne Grand"),
    ("El libro es de Marta Ruiz.", "El libro es de Pilar Soto.", "Pilar Soto"),
    ("Roads lead to Rome, said Cato once.", "Roads lead to Rome, said Varro once.", "Varro"),
]  # fmt: skip

NOTHING = [
    ("It was written by Mira Holt.", "It was written long ago."),
    ("It was a poet.", "It was Mira Holt."),
    ("Stirring helps.", "Cooking helps."),
    ("However, it rained.", "Therefore, it rained."),
    ("It opened in March.", "It opened in April."),
    ("Die Katze schläft auf dem Sofa.", "Die Katze schläft auf dem Teppich."),
    ("Mira Holt, Ann Rowe and Tom Vane wrote it.", "Some poets wrote it."),
    ("THE SHOP IS OPEN ON ALL DAYS OF THE WEEK", "THE STORE IS SHUT ON ALL DAYS OF THE YEAR"),
    ("I'm sure it's fine.", "I'd say so."),
]


@pytest.mark.parametrize(("reference", "response"), THERE)
def test_a_name_in_another_spelling_agrees(reference, response):
    found = GUARD.check(reference, response)
    assert found.state == "agree", found
    assert found.spans_reference


@pytest.mark.parametrize(("reference", "response", "other"), REPLACED)
def test_a_name_with_another_in_its_place_differs(reference, response, other):
    found = GUARD.check(reference, response)
    assert found.state == "differ", found
    assert other in [response[start:end] for start, end in found.spans_response]
    assert f'"{other}"' in found.words


@pytest.mark.parametrize(("reference", "response"), NOTHING)
def test_no_name_or_one_only_left_out_is_nothing_to_compare(reference, response):
    assert GUARD.check(reference, response).state == "absent"


def test_a_name_that_the_question_gives_need_not_be_said_again():
    reference, response = "Mira Holt was born in Oslo.", "It was in Oslo, not far from Bergen."
    assert GUARD.check(reference, response, "Where was Mira Holt born?").state == "agree"
    assert GUARD.check("Mira Holt", "Otto Brand", "Was it Mira Holt?").state == "absent"
    given = "Did a sailor from Bergen find it?"
    assert GUARD.check("It was Mira Holt.", "It was someone from Bergen.", given).state == "absent"


def test_one_word_is_a_name_where_a_person_or_place_is_asked_for():
    assert GUARD.check("Oslo", "It is Bergen.", "Where is it?").state == "differ"
    assert GUARD.check("Stirring", "It is Bergen.", "What helps?").state == "absent"
    assert GUARD.check("Oslo", "It is Oslo.", "Where is it?").state == "agree"
    assert GUARD.check("Oslo", "That's unknown.", "Where is it?").state == "absent"


def test_the_words_name_both():
    found = GUARD.check("It was painted by Mira Holt.", "It was painted by Otto Brand.")
    assert found.words == 'the reference names "Mira Holt", the response "Otto Brand"'
    assert (found.spans_reference, found.spans_response) == (((18, 27),), ((18, 28),))
