"""Numbers of a reference looked for in a response, written in other ways and in four languages."""

import pytest

from closecall.metrics.guards.numbers import Numbers

GUARD = Numbers()

SAME = [
    # separators, by language and by themselves
    ("It holds 1,234,567 books.", "It holds 1234567 books."),
    ("The fee is 1,234.50 in total.", "The fee is 1234.5 in total."),
    ("Das Lager fasst 1.234,5 Liter und ist voll.", "The store holds 1,234.5 litres and is full."),
    ("Der Ort hat 12.500 Einwohner und ist alt.", "The town has 12,500 inhabitants and is old."),
    ("Le prix est de 1 250,75 euros pour deux.", "The price is 1,250.75 euros for two."),
    ("La ville compte 48\u202f300 habitants et est belle.", "The town has 48,300 people."),
    ("El pueblo tiene 7.300 habitantes y es viejo.", "The village has 7,300 inhabitants."),
    ("Die Brücke kostete 1'250'000 Franken.", "The bridge cost 1,250,000 francs."),
    ("The fund holds 12,34,567 rupees.", "The fund holds 1,234,567 rupees."),
    ("1,462", "1462"),
    ("1.462", "1462"),
    ("1,234", "1.234"),
    ("1,234", "1,2340"),
    ("٣٥", "35"),
    ("４２", "42"),
    # words and digits
    ("twelve", "12"),
    ("The choir has twenty-five singers.", "The choir has 25 singers."),
    ("two hundred and five", "205"),
    ("It sold one million three hundred thousand copies.", "It sold 1,300,000 copies."),
    ("It was in nineteen eighty-four that it closed.", "It closed in 1984."),
    ("Der Chor hat fünfundzwanzig Sänger und eine Leiterin.", "The choir has 25 singers."),
    ("Es sind zweitausenddreihundert Bäume im Park.", "There are 2,300 trees in the park."),
    ("La salle a quatre-vingt-dix-sept places et une scène.", "The hall has 97 seats."),
    ("Il y a soixante et onze arbres dans le parc.", "There are 71 trees in the park."),
    ("El coro tiene treinta y cinco cantantes y una directora.", "The choir has 35 singers."),
    ("Costó mil doscientos euros en la tienda.", "It cost 1200 euros in the shop."),
    ("a dozen eggs", "12 eggs"),
    ("half a million visitors", "500,000 visitors"),
    ("the 3rd floor", "the third floor"),
    ("Chapter 4", "Chapter IV"),
    # scales and rounding
    ("$5 million", "5,000,000 dollars"),
    ("€2.5bn", "2.5 billion euros"),
    ("Die Stadt hat 3,5 Mio. Einwohner und wächst.", "The city has 3.5 million inhabitants."),
    ("Das Projekt kostet zwei Milliarden Euro und mehr.", "The project costs 2 billion euros."),
    ("1.5 million people", "1,512,345 people"),
    ("about 5,000 fans", "5,217 fans"),
    ("3.14", "3.14159"),
    # percent, fractions
    ("25%", "25 percent"),
    ("25 %", "a quarter of them"),
    ("Es sind 40 Prozent der Leute und mehr nicht.", "It is 40% of the people."),
    ("half of the class", "50% of the class"),
    ("2½ cups", "2.5 cups"),
    ("1/2 cup", "half a cup"),
    ("two thirds", "66.7%"),
    # units
    ("5 km", "5000 metres"),
    ("100 miles", "160 km"),
    ("a load of 2 tonnes", "a load of 2,000 kg"),
    ("150 lb", "68 kg"),
    ("20 °C", "68 °F"),
    ("minus 5 degrees Celsius", "-5 °C"),
    ("2 litres", "2000 ml"),
    ("90 minutes", "1.5 hours"),
    ("2 h 30 min", "150 minutes"),
    ("5 ft 10 in", "178 cm"),
    ("6'2\"", "188 cm"),
    ("30 days", "one month"),
    ("two weeks", "14 days"),
    ("2 GB", "2048 MB"),
    ("2 GB", "2000 MB"),
    ("100 square miles", "259 km²"),
    ("72 km/h", "20 m/s"),
    ("30", "30 days"),
    ("30 days", "The limit is 30."),
    ("$299/month", "299 dollars a month"),
    ("5 US dollars", "$5"),
    # dates and times
    ("25 February 2004", "It opened on Feb. 25, 2004."),
    ("2004-02-25", "25.02.2004"),
    ("Am 3. Oktober 1990 wurde es gefeiert.", "It was on October 3, 1990."),
    ("le 14 juillet 1789", "July 14, 1789"),
    ("el 12 de octubre de 1492", "October 12, 1492"),
    ("2004年2月25日", "25 February 2004"),
    ("03/04/2020", "3 April 2020"),
    ("03/04/2020", "March 4, 2020"),
    ("2004", "On 25 February 2004 it opened."),
    ("the 1980s", "1984"),
    ("the nineties", "1994"),
    ("the 19th century", "1851"),
    ("the 13th", "the 13th century"),
    ("44 BC", "44 B.C."),
    ("9:15", "9:15 pm"),
    ("2 pm", "14:00"),
    ("Um 9.15 Uhr beginnt der Kurs.", "The course begins at 9:15."),
    ("noon is the time: be there at noon", "at 12:00"),
    # ranges
    ("5-10 days", "between 5 and 10 days"),
    ("1939–45", "from 1939 to 1945"),
    ("5 to 10 million", "5-10 million"),
    ("5-10 days", "at least 5 days, at the most 10 days"),
    ("1939", "1939–1945"),
    # the rest
    ("0", "There are none."),
    ("COVID-19", "Covid 19"),
    ("the B-52", "the B52"),
    ("7 and 9", "9, then 7"),
]

OTHER = [
    ("30 days", "60 days", "60 days"),
    ("three cats", "four cats", "four"),
    ("It holds 1,234 books and is old.", "It holds 1.234 books and is old.", "1.234"),
    ("Das Lager fasst 1.234 Liter und ist voll.", "Das Lager fasst 1,234 Liter und ist voll.",
     "1,234 Liter"),
    ("5 km", "5 kg", None),
    ("5 km", "5 miles", "5 miles"),
    ("5 euros", "5 dollars", None),
    ("25%", "35%", "35%"),
    ("20 °C", "20 °F", "20 °F"),
    ("-5 °C", "5 °C", "5 °C"),
    ("150 minutes", "2 h 20 min", "2 h 20 min"),
    ("60 days", "one month", "one month"),
    ("one month", "20 days", "20 days"),
    ("03.04.2020", "March 4, 2020", "March 4, 2020"),
    ("The mill has 2 stones.", "The mill weighs 12.7 kg.", None),
    ("$5 a day", "$5 a month", "$5 a month"),
    ("5 million", "5 billion", "5 billion"),
    ("33 people", "30 people", "30"),
    ("2 GB", "2 MB", "2 MB"),
    ("25 February 2004", "26 February 2004", "26 February 2004"),
    ("25 February 2004", "25 February 2005", "25 February 2005"),
    ("1984", "1994", "1994"),
    ("1984", "the 1990s", "the 1990s"[4:]),
    ("44 BC", "44 AD", "44 AD"),
    ("9:15 am", "9:15 pm", "9:15 pm"),
    ("5-10 days", "5-15 days", "5-15 days"),
    ("the first season", "the second season", "second"),
    ("the third day", "the fourth day", "fourth"),
    ("one day", "two days", "two days"),
    ("the B-52", "the B-2", "B-2"),
    ("World War II", "World War III", "III"),
    ("three cats and four dogs", "four cats and three dogs", None),
    ("0 errors", "7 errors", "7"),
    ("Es sind fünfzehn Bäume im Park.", "Es sind fünfzig Bäume im Park.", "fünfzig"),
    ("Il y a soixante-dix places dans la salle.", "Il y a soixante places dans la salle.",
     "soixante"),
    ("Hay quince casas en la calle.", "Hay cincuenta casas en la calle.", "cincuenta"),
]  # fmt: skip

LACKING = [
    ("The limit is 30 days.", "The limit is short.", "30 days"),
    ("It opened in 1984.", "It opened long ago.", "1984"),
    ("1.5 litres", "a little", "1.5 litres"),
]

NOTHING = [
    ("It is short.", "It is 30 days."),
    ("One must try.", "You must try."),
    ("First, stir it.", "Stir it."),
    ("It takes an hour.", "It takes long."),
    ("1. Stir it.\n2. Bake it.", "Stir it and bake it."),
    ("It is blue [3].", "It is blue."),
    ("the A380 of old", "that aeroplane"),
    ("Many birds, for example 7 geese, live here.", "Many birds live here."),
    ("25 February 2004", "2004"),
    ("25 February 2004", "February 2004"),
    ("1851", "the 19th century"),
    ("Ten tekst jest po polsku i nie ma liczb.", "Tekst jest po polsku."),
]


@pytest.mark.parametrize(("reference", "response"), SAME)
def test_the_same_number_in_another_spelling_agrees(reference, response):
    found = GUARD.check(reference, response)
    assert found.state == "agree", found
    assert found.spans_reference


@pytest.mark.parametrize(("reference", "response", "said"), OTHER)
def test_another_number_differs_and_is_pointed_at(reference, response, said):
    found = GUARD.check(reference, response)
    assert found.state == "differ", found
    if said is not None:
        assert said in [response[start:end] for start, end in found.spans_response]
        assert f'"{said}"' in found.words


@pytest.mark.parametrize(("reference", "response", "said"), LACKING)
def test_a_number_that_is_not_there_differs(reference, response, said):
    found = GUARD.check(reference, response)
    assert found.state == "differ"
    assert [reference[start:end] for start, end in found.spans_reference] == [said]
    assert found.words == f'the response lacks "{said}"'


@pytest.mark.parametrize(("reference", "response"), NOTHING)
def test_what_a_response_need_not_repeat_is_nothing_to_compare(reference, response):
    assert GUARD.check(reference, response).state == "absent"


def test_more_numbers_than_asked_for_do_no_harm():
    found = GUARD.check("It has 7 rooms.", "Built in 1890 for 20,000 francs, it has 7 rooms.")
    assert found.state == "agree"


def test_what_the_question_says_need_not_be_said_again():
    reference = "In 2016 the tower was 90 m tall."
    assert GUARD.check(reference, "It was 90 m tall.").state == "differ"
    assert GUARD.check(reference, "It was 90 m tall.", "How tall was it in 2016?").state == "agree"
    assert (
        GUARD.check(reference, "It was 80 m tall.", "How tall was it in 2016?").state == "differ"
    )


def test_a_number_is_an_aside_where_a_person_is_asked_for():
    reference = "Ada Blum, who wrote it in 1931"
    assert GUARD.check(reference, "Ada Blum", "When did she write it?").state == "differ"
    assert GUARD.check(reference, "Ada Blum", "Who wrote it?").state == "absent"
    assert GUARD.check(reference, "Ada Blum, in 1932", "Who wrote it?").state == "differ"


def test_of_a_long_reference_only_what_the_response_speaks_of_counts():
    aside = "The mill by the river was built in 1807 by a family of weavers from the north."
    rest = (
        "Its old wooden wheel drives two heavy stones that grind wheat and rye for the bakers of the valley, and "
        "visitors may watch the miller at work, buy flour and eat cake on the terrace. "
    )
    assert (
        GUARD.check(rest + aside, "Visitors may watch the miller and buy flour.").state == "absent"
    )
    wrong = "The mill by the river was built in 1870 by a family of weavers."
    assert GUARD.check(rest + aside, wrong).state == "differ"


def test_the_words_name_both_numbers():
    found = GUARD.check("It ships in 30 days.", "It ships in 60 days.")
    assert found.words == 'the reference has "30 days", the response "60 days"'
    assert (found.spans_reference, found.spans_response) == (((12, 19),), ((12, 19),))


def test_badly_decoded_dashes_and_blanks_are_read_as_what_they_were():
    assert GUARD.check("10\xe2\u20ac\u201c12 years", "10 to 12 years").state == "agree"
    assert GUARD.check("7\xc2\xa0ml", "7 ml").state == "agree"
