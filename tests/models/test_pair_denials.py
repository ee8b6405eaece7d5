"""Sentences that are denied, put into the passive and back, or denied in part: labels that hold."""

from collections import defaultdict
from random import Random

import pytest
import tiny_pair  # noqa: F401 - lets ``pair`` be found
from pair.denials import Denials
from pair.partial import MAKERS, partial_denials
from pair.rows import digest
from pair.voices import exchanged, told, voices
from pair.wordnet import WordNet

VERBS = ["write", "paint", "found", "open", "invent", "sell", "rain", "live", "play", "build"]


class Net(WordNet):
    """Knows a few verbs, and no senses."""

    def __init__(self):
        self.totals = {(verb, "v"): 5 for verb in VERBS}


@pytest.fixture(scope="module")
def denials():
    return Denials(Net())


@pytest.mark.parametrize(
    ("text", "denied"),
    [
        ("The shop is open on Sundays.", "The shop is not open on Sundays."),
        ("The shop can open on Sundays.", "The shop cannot open on Sundays."),
        ("Old Mr Brown opened the shop in May.", "Old Mr Brown did not open the shop in May."),
        ("She wrote three letters a day.", "She did not write three letters a day."),
        ("It plays old songs every evening.", "It does not play old songs every evening."),
        ("There is a garden behind the house.", "There is no garden behind the house."),
    ],
)
def test_a_sentence_is_denied_by_its_first_verb(denials, text, denied):
    assert denied in denials.denials(text)


@pytest.mark.parametrize(
    "text",
    [
        "The shop is not open on Sundays.",  # has a denial
        "Nobody wrote a letter.",
        "Is the shop open on Sundays?",
        "A letter written by Anna.",  # no verb that could be denied
        "The shop is only open on Sundays.",  # another thing would be denied
    ],
)
def test_what_cannot_be_denied_plainly_is_left_alone(denials, text):
    assert denials.denials(text) == []


@pytest.mark.parametrize(
    ("text", "affirmed"),
    [
        ("The shop isn't open.", {"The shop is open."}),
        ("There is no garden here.", {"There is some garden here."}),
        ("She never wrote letters.", {"She wrote letters.", "She always wrote letters."}),
        ("He came without a coat.", {"He came with a coat."}),
    ],
)
def test_the_only_denial_is_taken_out(denials, text, affirmed):
    assert {denials.affirmed(text, Random(n)) for n in range(20)} == affirmed


def test_a_second_denial_makes_both_unclear(denials):
    assert denials.affirmed("He never came without a coat.", Random(0)) is None


def test_denied_rows_are_wrong_and_two_denials_of_one_sentence_right(denials):
    pool = [
        ("The shop is open on Sundays.", "", "one"),
        ("She wrote a letter to him.", "Passage. She wrote a letter to him.", "two"),
        ("They were not at home.", "", "three"),
    ]
    rows = denials.rows(pool, Random(1), {"denied": 9, "affirmed": 9, "alike": 9})
    found = {(row.kind, row.group): row for row in rows}
    assert {kind: row.accept for (kind, _), row in found.items()} == {
        "sentence denied": False, "sentence affirmed": False, "sentence alike": True,
    }  # fmt: skip
    assert ("sentence alike", "three") not in found
    assert ("sentence denied", "three") not in found
    alike = found["sentence alike", "one"]
    assert alike.first != alike.response
    assert "The shop is open on Sundays." not in (alike.first, alike.response)


@pytest.mark.parametrize(
    ("text", "same", "exchanged"),
    [
        (
            "The play was written by Ada Quill in 1931.",
            "Ada Quill wrote the play in 1931.",
            "The play wrote Ada Quill in 1931.",
        ),
        ("It was painted by Ivo Lind.", "Ivo Lind painted it.", "It painted Ivo Lind."),
        (
            "The houses were built by Ivo Lind.",
            "Ivo Lind built the houses.",
            "The houses built Ivo Lind.",
        ),
    ],
)
def test_a_passive_becomes_active_and_the_exchange_another_story(denials, text, same, exchanged):
    who, voice = told(text, denials)
    assert voice == "passive"
    assert who.active() == same
    assert who.active(exchanged=True) == exchanged
    assert who.passive() == text


def test_an_active_sentence_becomes_passive(denials):
    who, voice = told("Ada Quill invented the lamp in 1880.", denials)
    assert voice == "active"
    assert who.passive() == "The lamp was invented by Ada Quill in 1880."
    assert who.passive(exchanged=True) == "Ada Quill was invented by the lamp in 1880."


@pytest.mark.parametrize(
    "text",
    [
        "The lamp which Ada Quill invented was sold.",
        "Ada Quill lived in Oslo.",  # nothing that it was done to
        "It rained.",
        "The lamp was not invented by Ada Quill.",
        "Her lamp was invented by her brother.",  # whose brother changes with the order
    ],
)
def test_what_no_pattern_can_tell_apart_is_left_alone(denials, text):
    assert told(text, denials) is None


def test_voices_are_right_as_often_as_wrong(denials):
    pool = [(f"The lamp number {n} was sold by Ada Quill.", "", f"g{n}") for n in range(30)]
    rows = voices(pool, denials, Random(2), 80)
    assert len(rows) == 80
    assert sum(row.accept for row in rows) == 40
    assert all(row.first != row.response for row in rows)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("In the spring Ada Quill sued Ivo Lind.", "In the spring Ivo Lind sued Ada Quill."),
        ("In the spring Ada Quill and Ivo Lind left.", None),  # a list
        ("In the spring Ada Quill married Ivo Lind.", None),  # the same either way
        ("In the spring she sued Ivo Lind.", None),
    ],
)
def test_names_change_places_where_that_says_something_else(text, wrong):
    rows = exchanged([(text, "", "group")], Random(0), 5)
    assert [(row.first, row.response, row.accept) for row in rows] == (
        [(text, wrong, False)] if wrong else []
    )


def test_partial_denials_are_the_same_every_time_and_of_both_labels():
    rows = partial_denials(Random(5), 3000)
    assert digest(rows) == digest(partial_denials(Random(5), 3000))
    assert 1000 < sum(row.accept for row in rows) < 2000


@pytest.mark.parametrize("maker", MAKERS)
def test_no_partial_denial_is_right_and_wrong(maker):
    found = defaultdict(set)
    rng = Random(6)
    for first, response, accept in (choice for _ in range(400) for choice in maker(rng)):
        assert first != response
        found[first, response].add(accept)
    assert [pair for pair, labels in found.items() if len(labels) > 1] == []
