"""The edited cases of a whole file: sound, seeded, labelled, and every row accounted for."""

import json
import re

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from closecall.datasets import open_dataset
from closecall.errors import DataError, UsageError
from closecall.records import Case, Label
from closecall.stress.edits import FAMILIES, HARMLESS, WRONG, Edit
from closecall.stress.making import stress_set
from closecall.stress.other_answers import OtherAnswers
from closecall.stress.soundness import could_be_right, plain, tokens
from closecall.stress.sources import sources_of
from closecall.stress.writing import write_cases


def case(name, question, *references, **more):
    return Case(id=name, input=question, references=references, **more)


SHOP = [
    case("fee", "What is the delivery fee?", "The delivery fee is 6 euros.", "six euros"),
    case("open", "When does the shop open?", "The shop opens at 9:30 am on Monday."),
    case("town", "Where is the lamp shop?", "The shop is in Northford."),
    case("lab", "Where is the lamp workshop?", "The workshop is in Eastburg."),
    case("who", "Who runs the shop?", "Mary Hollis"),
    case("what", "Who runs the workshop?", "Peter Lamb"),
    case("late", "Can I return a lamp?", "Yes, you can return a lamp within 30 days."),
    case("all", "Which lamps are covered?", "All lamps are covered for at least 2 years."),
    case("tint", "Which colours are there?", "The colours are red, green and blue."),
    case("year", "When was the shop founded?", "It was founded on May 4, 1987."),
]


def by_family(made):
    return {one.family: {found.metadata["stress"]["source"] for found in one.cases}
            for one in made.made}  # fmt: skip


def test_every_family_finds_what_it_can_edit():
    found = by_family(stress_set(SHOP))
    assert list(found) == list(FAMILIES)
    assert found["number"] == {"fee", "late", "all"}
    assert found["unit"] == {"fee", "late"}, "at least 2 years is at least 2 months too"
    assert found["date"] == {"open", "year"}
    assert found["entity"] == {"town", "lab", "who", "what"}
    assert found["quantifier"] == {"all"}
    assert found["list_order"] == {"tint"}
    assert found["other_reference"] == {"fee"}
    assert {"late", "town", "all"} <= found["negation"]
    assert all(
        len(found[name]) == len(SHOP) for name in ("other_answer", "unchanged", "politeness")
    )


def test_a_case_says_what_it_is():
    made = stress_set(SHOP, families=["number", "politeness"])
    wrong, right = (next(c for c in one.cases if c.id.startswith("late~")) for one in made.made)
    assert (wrong.id, wrong.label, wrong.tags) == (
        "late~number~1",
        Label.REJECT,
        ("stress", "number"),
    )
    assert wrong.references == SHOP[6].references
    facts = wrong.metadata["stress"]
    assert (facts["from"], facts["source"], wrong.metadata["family"]) == ("30", "late", "number")
    assert wrong.metadata["annotator"] == "closecall stress"
    assert (right.label, right.metadata["stress"]["kind"]) == (Label.ACCEPT, "harmless")


def test_names_come_from_cases_of_another_group_and_of_the_same_sort():
    found = {c.id: c.response for c in stress_set(SHOP, families=["entity"]).cases}
    assert found["town~entity~1"] == "The shop is in Eastburg."
    assert found["who~entity~1"] == "Peter Lamb"
    one = [msgspec.structs.replace(c, group="same") for c in SHOP]
    with pytest.raises(DataError, match="no edit of entity fits"):
        stress_set(one, families=["entity"])


def test_the_other_answer_is_that_of_the_most_similar_question():
    found = {c.id: c.response for c in stress_set(SHOP, families=["other_answer"]).cases}
    assert found["who~other_answer~1"] == "Peter Lamb"
    assert found["town~other_answer~1"] == "The workshop is in Eastburg."


def test_an_answer_of_the_same_group_or_the_same_text_is_no_wrong_answer():
    cases = [
        case("a", "Who runs it?", "Mary Hollis", group="1"),
        case("b", "Who runs it now?", "Bob Ray", group="1"),
        case("c", "Who runs it today?", "mary hollis.", group="2"),
        case("d", "When does it open?", "at nine", group="3"),
    ]
    found = {c.id: c.response for c in stress_set(cases, families=["other_answer"]).cases}
    assert found["a~other_answer~1"] == "at nine"


@pytest.mark.parametrize(
    ("references", "families"),
    [
        (["The lake is in Northford, Kentland", "Kentland"], ["entity"]),
        (["There is no rule that you must wait 24 hours"], ["number", "unit"]),
        (["It is a myth that 10% of them came"], ["number", "unit"]),
        (["If it lasts 20 minutes, call us"], ["number", "unit"]),
        (["The town is not in Eastburg"], ["entity"]),
        (["No lamp is always covered"], ["quantifier"]),
    ],
)
def test_what_may_still_be_right_is_not_made(references, families):
    pool = case("pool", "Where is the town hall?", "The hall is in Kentland.")
    try:
        made = stress_set([case("one", None, *references), pool], families=families).cases
    except DataError:
        return
    assert not [c.response for c in made if c.id.startswith("one~")]


GATES = {"4", "6", "7", "8", "2", "four", "six", "seven", "eight", "two"}


def test_nothing_of_another_reference_is_brought_in_or_left_whole():
    gates = case("one", None, "There are 4 gates", "four", "6", "7", "8", "2")
    opened = case("two", None, "It opened in June 1987", "1987")
    for seed in range(20):
        (number,) = stress_set([gates], families=["number"], seed=seed).cases
        assert GATES.isdisjoint(number.response.split())
        (date,) = stress_set([opened], families=["date"], seed=seed).cases
        assert "1987" not in date.response


@pytest.mark.parametrize(
    ("told", "others", "never"),
    [
        ("It began in the 1970s", ["1990"], r"1990s"),
        ("It began in the 1970s", ["May 4, 1993"], r"1990s"),
        ("It began in the 1970s", ["between 1992 and 1998"], r"1990s"),
        ("It began in 1987", ["May 4, 1990"], r"1990"),
        ("It began in 1987", ["the 1980s"], r"198\d"),
        ("It began in 1987", ["between 1978 and 1985"], r"1978|198[0-5]"),
        ("It began on May 4, 1987", ["the late 1970s", "the 1980s"], r"19[78]\d"),
        ("It began in the 18th century", ["1985"], r"20th"),
        ("It began in the 18th century", ["the 1550s"], r"16th"),
    ],
)
def test_a_date_that_another_reference_covers_or_lies_in_is_not_made(told, others, never):
    free, held = set(), set()
    for seed in range(40):
        for references, found in (([told], free), ([told, *others], held)):
            one = case("one", "When did it begin?", *references)
            pool = case("two", "When did it end?", "It ended in 1650.")
            cases = stress_set([one, pool], families=["date"], seed=seed).cases
            found |= {c.response for c in cases if c.id.startswith("one~")}
    held = {text for text in held if text.startswith("It began")}
    assert any(re.search(never, text) for text in free), "the edit would be made without it"
    assert not [text for text in held if re.search(never, text)]


def test_the_same_day_in_another_spelling_keeps_no_edit_from_being_made():
    day = case("one", "When did it begin?", "It began on May 4, 1987.", "4 May 1987")
    made = {c.response for seed in range(30) for c in
            stress_set([day], families=["date"], seed=seed).cases}  # fmt: skip
    assert any("1987" in text for text in made)
    assert any("May 4" in text for text in made)


def test_a_number_of_the_question_is_not_the_answer():
    asked = case("one", "Which is the best of the 100 lamps?", "It is the best of 100 lamps.")
    with pytest.raises(DataError):
        stress_set([asked], families=["number"])


def test_rows_left_out_are_counted():
    cases = [
        *SHOP,
        case("none", "What?", " "),
        case("fee2", "What is the delivery fee?", "The delivery fee is 6 euros.", "six euros"),
        case("big", "What?", "word " * 2000),
    ]
    made = stress_set(cases, families=["case"])
    assert made.left_out == {
        "a text of more than 5,000 characters": 1,
        "no reference": 1,
        "the same question and text as another case": 1,
    }
    assert (made.seen, made.sources, made.groups) == (13, 10, 10)


def test_accepted_responses_are_edited_where_they_say_what_the_reference_says():
    cases = [
        case(
            "a",
            "How long?",
            "30 full days",
            response="You have 30 days and 2 calls.",
            label=Label.ACCEPT,
        ),
        case("b", "How long?", "30 full days", response="You have 90 days.", label=Label.REJECT),
        case("c", "How long?", "30 full days", response="long " * 60, label=Label.ACCEPT),
        case("d", "How long?", "30 full days", response=" ", label=Label.ACCEPT),
    ]
    made = stress_set(cases, base="accepted", families=["number", "negation", "unchanged"])
    numbers = {c.metadata["stress"]["from"] for c in made.made[0].cases}
    assert numbers == {"30"}
    for seed in range(10):
        (edit,) = stress_set(cases, base="accepted", families=["number"], seed=seed).cases
        assert edit.metadata["stress"]["from"] == "30"
    assert made.left_out == {
        "a response of more than 40 words": 1, "no response": 1, "not labelled accept": 1,
    }  # fmt: skip
    (same,) = made.made[-1].cases
    assert same.response == "You have 30 days and 2 calls."


def test_the_limit_spreads_over_groups():
    cases = [
        case(f"{group}-{n}", f"Question {n} of {group}?", f"It takes {n + 3} days.", group=group)
        for group in "abcd"
        for n in range(5)
    ]
    for seed in range(8):
        made = stress_set(cases, families=["number"], most=4, seed=seed)
        assert {c.group for c in made.cases} == set("abcd")
    assert len(stress_set(cases, families=["number"], most=None).cases) == 20


def test_the_seed_decides_and_the_order_of_the_file_does_not():
    first = stress_set(SHOP, seed=5).cases
    assert stress_set(SHOP[::-1], seed=5).cases == first
    assert stress_set(SHOP, seed=6).cases != first


def test_an_edit_of_a_text_does_not_depend_on_other_cases():
    alone = {c.id: c.response for c in stress_set(SHOP[:1], families=["number", "unit"]).cases}
    among = {c.id: c.response for c in stress_set(SHOP, families=["number", "unit"]).cases}
    assert alone.items() <= among.items()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"families": ["colour"]}, "there is no family 'colour'; families: number, "),
        ({"families": []}, "there is no family in an empty list"),
        ({"families": "number"}, "families must be a list of names, got 'number'"),
        ({"families": 5}, "families must be a list of names, got 5"),
        ({"families": [["number"]]}, r"there is no family \['number'\]"),
        ({"group": 5}, "group must be the name of a field, got 5"),
        ({"base": "answers"}, "base must be one of references, accepted"),
        ({"most": 0}, "most must be a whole number of at least 1"),
        ({"seed": -1}, "seed must be a whole number of at least 0"),
        ({"group": "topic"}, "no 'topic' to group by"),
    ],
)
def test_wrong_options(options, words):
    with pytest.raises(UsageError, match=words):
        stress_set(SHOP, **options)


def test_nothing_to_edit():
    with pytest.raises(DataError, match=r"nothing to edit in 1 cases \(1 no reference\)"):
        stress_set([Case(id="a", response="x")])
    with pytest.raises(DataError, match="no edit of number fits any of 1 texts"):
        stress_set([case("a", None, "red")], families=["number"])


def test_the_file_reads_back_as_labelled_cases(tmp_path):
    made = stress_set(SHOP).cases
    write_cases(made, tmp_path / "made.jsonl")
    back = list(open_dataset(tmp_path / "made.jsonl"))
    assert [(c.id, c.response, c.references, c.label, c.group, c.tags) for c in back] == [
        (c.id, c.response, c.references, c.label, c.group, c.tags) for c in made
    ]
    assert [c.metadata["family"] for c in back] == [c.metadata["family"] for c in made]
    half = msgspec.structs.replace(made[0], response="half a \ud83d")
    write_cases([half], tmp_path / "half.jsonl")
    assert json.loads((tmp_path / "half.jsonl").read_text())["response"] == "half a \ud83d"


WORDS = st.sampled_from(
    [
        "Mary",
        "Hollis",
        "Northford",
        "the",
        "shop",
        "lamp",
        "is",
        "was",
        "not",
        "no",
        "all",
        "always",
        "30",
        "4",
        "1987",
        "June",
        "12",
        "km",
        "euros",
        "%",
        "days",
        "five",
        "2.5",
        ",",
        ".",
        "and",
        "or",
        "can",
        "many",
        "never",
        "yes",
        "if",
        "in",
        "by",
    ]
)
TEXTS = st.lists(WORDS, min_size=1, max_size=14).map(" ".join) | st.text(min_size=1, max_size=30)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(TEXTS | st.none(), st.lists(TEXTS, min_size=1, max_size=3)),
        min_size=1,
        max_size=6,
    ),
    st.integers(0, 9),
)
def test_no_wrong_answer_is_a_reference(rows, seed):
    cases = [case(str(at), question, *texts) for at, (question, texts) in enumerate(rows)]
    try:
        made = stress_set(cases, seed=seed)
    except DataError:
        return
    assert len({c.id for c in made.cases}) == len(made.cases)
    for found in made.cases:
        family = found.metadata["family"]
        source = next(c for c in cases if c.id == found.metadata["stress"]["source"])
        if family in WRONG:
            assert found.label is Label.REJECT
            assert plain(found.response) not in {plain(text) for text in source.references}
        else:
            assert family in HARMLESS
            assert found.label is Label.ACCEPT
    assert stress_set(cases[::-1], seed=seed).cases == made.cases


@settings(max_examples=60, deadline=None)
@given(TEXTS, st.lists(TEXTS, max_size=3))
def test_holding_a_reference_is_found_as_word_by_word_search_finds_it(text, references):
    def holds(part, whole):
        size = len(part)
        return any(whole[at : at + size] == part for at in range(len(whole) - size + 1))

    said = tokens(text)
    expected = any(holds(tokens(r), said) or holds(said, tokens(r)) for r in references)
    edit = Edit(text, "number", "", "", (0, 0))
    assert could_be_right(edit, references) == expected


def test_the_nearest_question_is_the_one_a_full_search_finds():
    import math

    from closecall.metrics.guards.words import stems, words

    names = ["lamp", "chair", "table", "sofa", "shelf", "mirror", "carpet"]
    cases = [
        case(f"{a}-{b}", f"Which {a} fits the {b} {names[(i * j) % 7]}?", f"answer {a} {b}")
        for i, a in enumerate(names)
        for j, b in enumerate(names)
    ]
    sources = sources_of(cases).sources
    pool = OtherAnswers(sources)
    terms = [set(stems(words(s.question), "en")) for s in sources]
    count = {t: sum(t in other for other in terms) for own in terms for t in own}
    for at, source in enumerate(sources[:20]):
        scores = [
            sum(math.log(1 + len(sources) / count[t]) for t in terms[at] & other)
            if sources[n].group != source.group
            else -1.0
            for n, other in enumerate(terms)
        ]
        near = pool._near(source)
        assert scores[near[0]] == pytest.approx(max(scores))


def test_real_data_gives_sound_edits(shared_data):
    cases = list(open_dataset(shared_data / "answers" / "nq301.jsonl"))
    made = stress_set(cases, most=40)
    sizes = {one.family: len(one.cases) for one in made.made}
    assert sizes["date"] >= 25
    assert sizes["number"] >= 15
    assert sizes["entity"] == sizes["other_answer"] == 40
    for found in made.cases:
        if found.label is Label.REJECT:
            assert plain(found.response) not in {plain(text) for text in found.references}
