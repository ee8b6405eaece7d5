"""Without scripts the texts of the worst cases show how well each word is matched."""

import pytest

from closecall import Case, evaluate
from closecall.report.html.heat import LEAST, level, marked
from closecall.testing import HashEmbedder

REFERENCE = "the pump is drained every six months"
RESPONSE = "The pump must be drained every <b>year</b> & a day."


@pytest.fixture(scope="module")
def aligned():
    return evaluate(
        [
            Case(
                id="a", response=RESPONSE, references=("no pump", REFERENCE), context=("A pump.",)
            ),
            Case(id="long", response="pump " * 400, references=(REFERENCE,)),
        ],
        "answer_alignment,context_alignment",
        HashEmbedder(),
        cache=False,
    )


@pytest.fixture(scope="module")
def heated(page_of, aligned):
    return page_of(aligned)


def test_a_level_for_every_match():
    assert [level(match) for match in (1, 0.8, 0.79, 0.65, 0.5, 0.35, 0.34, -1)] == [
        *(0, 0, 1, 1, 2, 3, 4, 4)
    ]
    assert sorted(LEAST, reverse=True) == list(LEAST)


def test_every_word_is_marked_and_the_text_is_whole(aligned):
    row = next(iter(aligned))
    found = marked(row, "reference", REFERENCE, 240)
    assert "".join(piece.text for piece in found.pieces) == REFERENCE
    assert [piece.text for piece in found.pieces if piece.level is not None] == REFERENCE.split()
    assert len(found.lowest.split(", ")) == 3
    said = marked(row, "response", RESPONSE, 240)
    assert "".join(piece.text for piece in said.pieces) == RESPONSE


def test_a_long_text_is_cut_between_words_and_shown_as_cut(aligned):
    row = list(aligned)[1]
    text = "pump " * 400
    assert marked(row, "response", text, 22) is None  # it has no context to be matched with
    found = marked(row, "reference", REFERENCE, 22)
    assert "".join(piece.text for piece in found.pieces) == f"{REFERENCE[:22]}…"


def test_the_page_says_what_the_marks_mean_and_names_the_least_matched(heated):
    assert "Words are marked by how well each is matched" in heated.text
    assert heated.text.count("least matched:") == 3
    classes = [value for tag, name, value in heated.attributes if (tag, name) == ("mark", "class")]
    assert len(classes) > 15
    assert all(value.startswith("m-heat heat-") for value in classes)
    titles = [value for tag, name, value in heated.attributes if (tag, name) == ("mark", "title")]
    assert all(value.startswith("best match ") for value in titles)


def test_the_best_reference_is_the_one_that_is_shown(heated):
    assert "no pump" not in heated.text


def test_what_is_marked_is_text(heated):
    assert "b" not in heated.tags
    assert "<b>year</b> & a day." in heated.text.replace("< b >", "<b>").replace("< / b >", "</b>")


def test_a_run_without_such_metrics_has_no_marks(page):
    assert "m-heat" not in str(page.attributes)
    assert "Words are marked" not in page.text


def test_the_blocks_hold_every_word_for_the_scripts(heated):
    details = heated.cases[0]["results"][0]["details"]
    assert len(details["wordMatches"]["reference"]["matches"]) == len(REFERENCE.split())
