"""Short answers cut from judged ones: what is right stays right, what stands beside it is wrong."""

import json
from random import Random

import pytest
import tiny_pair  # noqa: F401 - lets ``pair`` be found
from pair import sets, short_answers
from pair.judged import Judged

KINDS = dict.fromkeys(
    ("right", "wrong", "beside", "sentence", "denied", "rather", "replaced", "surname"), 99
)


@pytest.fixture
def cut(tmp_path):
    """Return the rows made of one judged answer, as (kind, response, accept)."""

    def made(question, references, response, label):
        row = {
            "id": "1", "input": question, "reference": references, "response": response,
            "context": [], "label": label, "group": "a",
        }  # fmt: skip
        for name in (*sets.LEARNT, *sets.UNSEEN, "grounded/q2_wow", "grounded/begin_cmu",
                     "grounded/begin_topicalchat"):  # fmt: skip
            path = tmp_path / f"{name}.jsonl"
            path.parent.mkdir(exist_ok=True)
            path.write_text(json.dumps(row) if "evouna_nq" in name else "", encoding="utf-8")
        judged = Judged(tmp_path, lambda text: len(text.split()), sets.side(sets.group_of(row)))
        found = []
        for seed in range(12):  # frames are drawn
            rows = short_answers.ShortAnswers(judged).rows(Random(seed), KINDS)
            found += [(row.kind.removeprefix("short "), row.response, row.accept) for row in rows]
        return found

    return made


def test_another_name_of_a_right_answer_is_wrong_and_the_reference_with_its_name_is_right(cut):
    rows = cut(
        "who designed the harbour bridge of Lund",
        ["Greta Holm"],
        "It was designed by Greta Holm. Her teacher Anton Berg praised it in 1931.",
        "accept",
    )
    of = {kind: {text for made, text, _ in rows if made == kind} for kind in KINDS}
    assert any("Greta Holm" in text for text in of["right"])
    assert all("Berg" in text and "Greta" not in text for text in of["beside"])
    assert of["surname"] == {"Holm"}
    assert of["sentence"] == {"It was designed by Greta Holm."}
    assert all("1931" not in text for text in of["beside"])  # no year answers who
    assert {right for kind, _, right in rows if kind in ("right", "sentence", "surname")} == {True}
    assert {right for kind, _, right in rows if kind in ("beside", "denied", "replaced")} == {
        False
    }


def test_what_is_said_to_be_so_and_what_not_decides(cut):
    rows = cut(
        "when was the mill built", ["1874"], "Built in 1874, it burnt down in 1902.", "accept"
    )
    rather = {(text, right) for kind, text, right in rows if kind == "rather"}
    assert ("It is 1874, not 1902.", True) in rather or ("1874, rather than 1902", True) in rather
    for text, right in rather:
        said = text.startswith(("It is 1874", "1874")) or text.endswith(
            ("but 1874", "it is 1874.")
        )
        assert said == right


def test_of_a_wrong_answer_only_what_is_not_asked_or_right_is_taken(cut):
    rows = cut(
        "who wrote The Silver Lake",
        ["Ida Brandt"],
        "The Silver Lake is by Ida Brandt Nilsson or Karl Olsen.",
        "reject",
    )
    wrong = [text for kind, text, _ in rows if kind == "wrong"]
    assert wrong
    assert all("Olsen" in text and "Ida" not in text for text in wrong)
    assert not any(right for _, _, right in rows)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("The capital is Bergen. Oslo grew.", ["Bergen", "Oslo"]),
        ("I'm sure it was St. Olav of Norway in 1030", ["St. Olav of Norway", "1030"]),
        ("He paid $2.5 million on 3 May 1990", ["$2.5 million", "3 May 1990"]),
    ],
)
def test_names_numbers_and_dates_are_found_whole(text, names):
    found = [one.text for one in short_answers.spans(text)]
    assert found == names
    assert all(text[one.start : one.end] == one.text for one in short_answers.spans(text))
