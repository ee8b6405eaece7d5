"""Edits that leave an answer as right as it was."""

import pytest

from closecall.stress.choice import Chooser
from closecall.stress.harmless_edits import (
    case_edits,
    markdown_edits,
    politeness_edits,
    punctuation_edits,
)
from closecall.stress.list_edits import list_edits
from closecall.stress.soundness import plain


def forms(edits, text, language="en"):
    return {edit.text for seed in range(20) for edit in edits(text, language, Chooser(seed, "x"))}


def test_case():
    assert forms(case_edits, "The red Lamp") == {"the red lamp", "THE RED LAMP", "The Red Lamp"}
    assert forms(case_edits, "Take 5 mg.") == {"take 5 mg."}, "5 MG is another amount"
    assert forms(case_edits, "the US, we") == {"THE US, WE", "The US, We"}, "us is another word"
    assert forms(case_edits, "123") == set()


def test_punctuation_changes_no_word():
    text = "A red lamp, a chair."
    found = forms(punctuation_edits, text)
    assert {"A red lamp, a chair", '"A red lamp, a chair."'} <= found
    assert {plain(other) for other in found} == {plain(text)}
    assert "He lives in the U.S" not in forms(punctuation_edits, "He lives in the U.S.")


@pytest.mark.parametrize(
    ("language", "said"),
    [("en", "Of course. "), ("de", "Gerne! "), ("fr", "Bien sûr ! "), ("es", "¡Claro! ")],
)
def test_politeness_speaks_the_language(language, said):
    found = forms(politeness_edits, "42", language)
    assert said + "42" in found
    assert all("42" in other for other in found)
    assert any(other.startswith("42. ") for other in found)


def test_politeness_in_a_language_it_does_not_know():
    assert forms(politeness_edits, "42", "other") == set()


def test_markdown():
    found = forms(markdown_edits, "It is red. It is big.")
    assert found == {
        "**It is red. It is big.**",
        "- It is red. It is big.",
        "> It is red. It is big.",
        "It is red.\n\nIt is big.",
    }


@pytest.mark.parametrize(
    ("text", "others"),
    [
        ("apples, pears and plums", {"pears, plums and apples", "plums, apples and pears"}),
        (
            "The colours are red, green and blue.",
            {"The colours are green, blue and red.", "The colours are blue, red and green."},
        ),
        ("Ann Lee and Bob Ray", {"Bob Ray and Ann Lee"}),
        ("rot, grün und blau", {"grün, blau und rot", "blau, rot und grün"}),
    ],
)
def test_lists(text, others):
    assert forms(list_edits, text) == others


@pytest.mark.parametrize(
    "text",
    [
        "First mix, then stir and bake.",
        "law and order",
        "Lima, Ohio, USA",
        "two or more parts",
        "1, 2 and 3",
        "He came, she saw and they won.",
        "She met a tall, dark and lovely stranger.",
        "a lamp",
    ],
)
def test_what_is_no_list_stays(text):
    assert forms(list_edits, text) == set()
