"""How a text is spelt, whether it says another thing, and whether it looks cut off."""

import pytest

from closecall.audit.texts import facts_of_text, looks_cut_off, spelling


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The shop opens at nine.", "the shop  opens at nine"),
        ("The shop opens\nat nine", "The shop opens at nine!"),
        ("It isn't ice-cream", "it isn’t ice cream"),
        ("the U.S. market", "The US market"),
        ("Straße", "STRASSE"),
        ("e\u0301t\u00e9", "\u00e9te\u0301"),
        ("你好，世界", "你好 世界"),
        ("**free** delivery", "free delivery"),
    ],
)
def test_spellings_of_one_text_are_one(one, other):
    assert spelling(one) == spelling(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1.5 km", "15 km"),
        ("1.5 km", "1 5 km"),
        ("-5 degrees", "5 degrees"),
        ("5%", "5"),
        ("C#", "C"),
        ("3+4", "34"),
        ("10:30", "1030"),
        ("2-3 days", "23 days"),
        ("free delivery", "freedelivery"),
        ("?", "!"),
        ("€5", "$5"),
    ],
)
def test_what_carries_matter_stays(one, other):
    assert spelling(one) != spelling(other)


def test_numbers_and_negations_tell_near_texts_apart():
    text = facts_of_text("The repair takes 21 days.")
    assert not text.says_other(facts_of_text("Repairs take 21 days."))
    assert text.says_other(facts_of_text("The repair takes 22 days."))
    assert text.says_other(facts_of_text("The repair does not take 21 days."))


@pytest.mark.parametrize(
    "text",
    [
        "The shop opens at nine. On Sundays it closes at noon and on Mondays it stays shut for the",
        "We ship to most countries in Europe, to Norway,",
        "The shop opens at nine. On Sundays it closes at noon and we do not take late orders aft",
        "Wir liefern in alle Länder der EU und",
        "商店九点开门。 sunday it closes at noon so please come by before then",
    ],
)
def test_a_text_that_ends_in_mid_sentence_looks_cut_off(text):
    assert looks_cut_off(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Seven days",
        "The shop opens at nine.",
        'He said: "the shop opens at nine."',
        "The shop opens at nine. These days apply:\n- Monday, Tuesday, Wednesday and also Thursday",
        "It opens at nine. See the page at https://shop.example/opening/hours/and/more/things",
        "a long answer of many words without a single full stop in it anywhere at all",
    ],
)
def test_whole_texts_lists_and_addresses_do_not(text):
    assert not looks_cut_off(text)
