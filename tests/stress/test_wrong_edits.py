"""Edits that make an answer wrong: what each family changes, and what it leaves alone."""

import re

import pytest

from closecall.metrics.guards.words import language_of
from closecall.stress.choice import Chooser
from closecall.stress.date_edits import date_edits
from closecall.stress.negation_edits import negation_edits
from closecall.stress.number_edits import english_ending, number_edits, other_numeral
from closecall.stress.quantifier_edits import quantifier_edits
from closecall.stress.unit_edits import unit_edits


def made(edits, text, seed=0):
    return [edit.text for edit in edits(text, language_of(text), Chooser(seed, "test"))]


def seeds(edits, text):
    """What comes of a text over many seeds."""
    return {found for seed in range(40) for found in made(edits, text, seed)}


@pytest.mark.parametrize(
    "text",
    [
        "Catch-22 is a novel.",
        "The One Direction tour is over.",
        "The Seven Lakes Trail is closed.",
        "Version 2.1.3 is current.",
        "They won 3-2.",
        "Call us at 555-0199 for the rest.",
        "It is 5 km (3.1 miles) to the lake.",
        "The tank holds 5½ gallons.",
        "One of the lamps is broken.",
        "It was built in 1931.",
        "The technetium-99m scan is done.",
    ],
)
def test_numbers_that_are_names_scores_years_or_said_twice_stay(text):
    assert made(number_edits, text) == []


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("The fee is 12,500 euros.", r",\d00 euros"),
        ("The fee is 1,250.50 euros.", r"\d\.50 euros"),
        ("It holds 9.8 litres.", r"\d\.\d litres"),
        ("The 4th floor is closed.", r"The (?:2nd|6th|7th|8th) floor"),
        ("It has four wheels.", r"has (?:two|six|seven|eight|nine|ten|eleven|twelve) wheels"),
        ("It was a four-day trip.", r"a (?:two|six|seven|nine|ten|twelve)-day"),
        ("It takes twenty-five minutes.", r"(?:forty|fifty|sixty|seventy|eighty|ninety)-five"),
        ("There are one million of them.", r"(?:four|five|six|seven|eight|nine) million"),
        ("Das kostet 5,90 Euro und ist neu.", r"\d+,\d\d Euro"),
        (
            "Die Reise dauert drei Tage und ist schön.",
            r"dauert (?:fünf|sechs|sieben|acht|neun|zehn|elf|zwölf) T",
        ),
        ("Il y a trois portes dans la maison.", r"a (?:cinq|six|sept|huit|neuf|dix|onze|douze) "),
        (
            "El hotel tiene tres plantas y un bar.",
            r"tiene (?:cinco|seis|siete|ocho|nueve|diez|once|doce) p",
        ),
    ],
)
def test_a_number_keeps_its_spelling(text, kept):
    found = seeds(number_edits, text)
    assert found
    assert text not in found
    for other in found:
        assert re.search(kept, other), other


@pytest.mark.parametrize("written", ["3", "7", "12", "48", "99", "250", "5,000", "0.7", "31.4"])
def test_no_new_number_is_near_the_old_one(written):
    old = float(written.replace(",", ""))
    for seed in range(60):
        new = float(other_numeral(written, "en", Chooser(seed, "test")).replace(",", ""))
        assert abs(new - old) >= min(2, 0.25 * old)


def test_more_than_grows_and_less_than_shrinks():
    assert seeds(number_edits, "It holds more than 40 people.") == {
        "It holds more than 60 people."
    }
    assert seeds(number_edits, "It holds less than 40 people.") == {
        "It holds less than 20 people."
    }


def test_a_share_stays_within_the_whole():
    for text in seeds(number_edits, "The screen shows 80% of it."):
        assert text == "The screen shows 40% of it."


def test_ordinals():
    assert [english_ending(n) for n in (1, 2, 3, 4, 11, 12, 13, 21, 112)] == [
        "st", "nd", "rd", "th", "th", "th", "th", "st", "th",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("The path is 12 km long.", "The path is 12 m long."),
        ("Take 20 mg of it.", "Take 20 g of it."),
        ("It lasts 3 hours.", "It lasts 3 minutes."),
        ("It costs $40 a year.", "It costs €40 a year."),
        ("They get 10% off.", "They get 10 per thousand off."),
        ("They get 10 % off.", "They get 10 per thousand off."),
        ("It has 5 million users.", "It has 5 billion users."),
        ("It drives at 50 mph.", "It drives at 50 km/h."),
        ("It is a two-mile walk.", "It is a two-kilometer walk."),
        ("Die Fahrt dauert 2 Stunden und ist schön.", "Die Fahrt dauert 2 Minuten und ist schön."),
        ("La route est de 30 kilomètres.", "La route est de 30 mètres."),
        ("El viaje es de 3 horas.", "El viaje es de 3 minutos."),
    ],
)
def test_units(text, changed):
    assert changed in made(unit_edits, text)


@pytest.mark.parametrize(
    "text",
    [
        "It is 5 km (3.1 miles) away.",
        "He is 5 ft 10 in tall.",
        "More than 90% of them came.",
        "It takes an hour.",
        "The lamp is red.",
    ],
)
def test_units_that_stay(text):
    assert made(unit_edits, text) == []


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("It opened on March 3, 1995.", r"(?:[A-Z][a-z]+ 3, 1995|March \d+, 1995|March 3, \d{4})"),
        ("It opened on 3rd May 2010.", r"(?:\d+(?:st|nd|rd|th) May 2010|3rd [A-Z]\w+ 2010|May \d{4})"),
        ("It opened on 2015-05-17.", r"2015-05-\d\d|\d{4}-05-17"),
        ("It opened in 1987.", r"in 19\d\d\."),
        ("It began in the 1970s.", r"the (?:19|20)\d0s"),
        ("It was built in the 13th century.", r"the 1(?:0|1|5|6)th century"),
        ("The shop opens at 9:30 am.", r"at \d+:30 am"),
        ("Es wurde am 3. März 1995 eröffnet und ist alt.", r"3\. \w+ 1995|\d+\. März 1995|März \d{4}"),
        ("Il est né le 14 juillet 1889.", r"14 \w+ 1889|\d+ juillet 1889|juillet \d{4}"),
        ("Fue fundado en marzo de 1920.", r"\w+ de 1920|marzo de \d{4}"),
    ],
)  # fmt: skip
def test_dates(text, pattern):
    found = seeds(date_edits, text)
    assert found
    assert text not in found
    assert all(re.search(pattern, other) for other in found), found


def test_a_round_year_moves_beyond_rounding():
    for text in seeds(date_edits, "It dates from about 1500 BC."):
        assert abs(int(text.split()[4]) - 1500) >= 150
    for text in seeds(date_edits, "It dates from 1650."):
        assert abs(int(text[-5:-1]) - 1650) >= 150


def test_no_date_to_come_is_made_of_one_past():
    for text in seeds(date_edits, "It opened in 2021."):
        assert int(text[-5:-1]) <= 2025


@pytest.mark.parametrize(
    "text",
    [
        "It is set in the 31st century.",
        "He comes from the 99th century.",
        "Das spielt im 40. Jahrhundert und ist neu.",
    ],
)
def test_a_century_that_is_far_from_any_so_far_stays(text):
    assert seeds(date_edits, text) == set()


def test_no_month_is_too_short_for_its_day():
    months = {text.split()[3] for text in seeds(date_edits, "It opened on January 31.")} - {
        "January"
    }
    assert months <= {"March", "May", "July", "August", "October", "December"}


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("The shop is open on Monday.", "The shop is not open on Monday."),
        ("You can pay by card.", "You cannot pay by card."),
        ("The shop is not open.", "The shop is open."),
        ("It isn't open.", "It is open."),
        ("They don't charge a fee.", "They do charge a fee."),
        ("There is no charge.", "There is some charge."),
        ("We do not have any spare keys.", "We do have some spare keys."),
        ("She has left the house.", "She has not left the house."),
        ("It has a bell.", "It has no bell."),
        ("It's a free service.", "It's not a free service."),
        ("It no longer works.", "It still works."),
        ("Yes, you can change it.", "No, you cannot change it."),
        ("No, it can't be changed.", "Yes, it can be changed."),
        ("No. The offer is over.", "Yes. The offer is not over."),
        ("yes", "no"),
        ("Das Gerät ist ein Geschenk.", "Das Gerät ist kein Geschenk."),
        ("Sie können die Bestellung ändern.", "Sie können die Bestellung nicht ändern."),
        ("Der Akku ist nicht im Paket enthalten.", "Der Akku ist im Paket enthalten."),
        ("La livraison est gratuite.", "La livraison n'est pas gratuite."),
        ("C'est une ville de montagne.", "Ce n'est pas une ville de montagne."),
        ("Le magasin n'est pas ouvert.", "Le magasin est ouvert."),
        ("El museo está abierto.", "El museo no está abierto."),
        ("La entrega no es gratuita.", "La entrega es gratuita."),
        ("Se puede pagar con tarjeta.", "No se puede pagar con tarjeta."),
    ],
)
def test_negation(text, changed):
    assert made(negation_edits, text)[0] == changed


@pytest.mark.parametrize(
    "text",
    [
        "It is not only fast but cheap.",
        "Who is not here?",
        "if it is cold",
        "the man who was king",
        "Paris",
        "It may be late.",
        "blue, not red, but green",
        "See the song (This Is Not It).",
        "Yes, as far as we know.",
        "",
    ],
)
def test_statements_that_are_not_turned(text):
    assert made(negation_edits, text) == []


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("All orders ship today.", "Only some orders ship today."),
        ("All of the orders ship.", "Only some of the orders ship."),
        ("It is always open.", "It is never open."),
        ("It is never open.", "It is always open."),
        ("It takes at least 3 days.", "It takes at most 3 days."),
        ("It takes more than 3 days.", "It takes less than 3 days."),
        ("It holds up to 20 kg.", "It holds at least 20 kg."),
        ("Nothing happens then.", "Something happens then."),
        ("Nobody is there.", "Everybody is there."),
        ("Many people came.", "Few people came."),
        ("Der Laden ist immer offen und warm.", "Der Laden ist nie offen und warm."),
        ("Le magasin est souvent fermé.", "Le magasin est rarement fermé."),
        ("El museo nunca está abierto.", "El museo siempre está abierto."),
    ],
)
def test_quantifiers(text, changed):
    assert changed in made(quantifier_edits, text)


@pytest.mark.parametrize(
    "text",
    [
        "Not all orders ship.",
        "That is all.",
        "Nearly all people came.",
        "They sang All Saints Blues.",
        "There is no one language.",
        "A few people came.",
        "It costs no more.",
    ],
)
def test_quantifiers_that_stay(text):
    assert made(quantifier_edits, text) == []


def test_an_edit_says_what_it_changed():
    (edit,) = number_edits("We have 40 rooms.", "en", Chooser(1, "x"))
    start, end = edit.span
    assert (edit.family, edit.before) == ("number", "40")
    assert edit.text == "We have " + edit.after + " rooms."
    assert "We have 40 rooms."[start:end] == edit.before
