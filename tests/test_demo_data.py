"""The packaged demo cases: complete, balanced, and labelled by rules a reader can check."""

import json
import re
from collections import Counter, defaultdict
from importlib import resources

import msgspec
import pytest

from closecall.records import Case, Label

ACCEPTED = {"verbatim", "reworded", "longer", "short"}
REJECTED = {
    "wrong-number",
    "negated",
    "same-topic",
    "wrong-entity",
    "other-question",
    "invented",
}
UNANSWERABLE = "unanswerable"
FIELDS = {"id", "input", "response", "references", "context", "label", "group", "tags"}


@pytest.fixture(scope="module")
def raw():
    return (resources.files("closecall") / "data" / "demo.jsonl").read_bytes()


@pytest.fixture(scope="module")
def rows(raw):
    return [json.loads(line) for line in raw.decode("utf-8").splitlines()]


@pytest.fixture(scope="module")
def cases(rows):
    return [msgspec.convert(row, Case, strict=True) for row in rows]


@pytest.fixture(scope="module")
def groups(cases):
    found = defaultdict(list)
    for case in cases:
        found[case.group].append(case)
    return found


def test_the_file_is_plain_lines(raw):
    text = raw.decode("utf-8")
    assert text.endswith("}\n")
    assert "\r" not in text
    assert not text.startswith("\ufeff")
    for character in set(text):
        assert character == "\n" or character.isprintable()


def test_there_are_enough_cases_of_both_labels(cases):
    assert len(cases) >= 150
    accepted = sum(case.label is Label.ACCEPT for case in cases)
    assert 0.45 <= accepted / len(cases) <= 0.55


def test_every_field_is_there_and_filled(rows, cases):
    for row, case in zip(rows, cases, strict=True):
        assert set(row) == FIELDS
        texts = [case.input, case.response, case.group, *case.references, *case.context]
        assert all(text.strip() == text != "" for text in texts), case.id
        assert 1 <= len(case.references) <= 2, case.id
        assert 1 <= len(case.context) <= 3, case.id
        assert case.label is not None


def test_ids_count_up(cases):
    assert [case.id for case in cases] == [f"demo-{i:03d}" for i in range(1, len(cases) + 1)]


def test_a_group_is_one_question_with_answers_of_both_labels(groups):
    assert 24 <= len(groups) <= 36
    for name, members in groups.items():
        assert 5 <= len(members) <= 7, name
        assert {case.label for case in members} == set(Label), name
        assert len({(case.input, case.references, case.context) for case in members}) == 1, name
    assert len({members[0].input for members in groups.values()}) == len(groups)


def test_no_answer_comes_twice_within_a_question(groups):
    for name, members in groups.items():
        answers = [re.sub(r"\W+", " ", case.response).casefold() for case in members]
        assert len(set(answers)) == len(answers), name


def test_some_questions_have_two_references(groups):
    assert sum(len(members[0].references) == 2 for members in groups.values()) >= 3


def test_tags_say_the_kind_and_the_kind_says_the_label(cases):
    for case in cases:
        kind, *others = case.tags
        assert others in ([], [UNANSWERABLE]), case.id
        if kind == "refusal":  # right only where there is nothing to tell
            assert (case.label is Label.ACCEPT) == (others == [UNANSWERABLE]), case.id
        elif kind in ACCEPTED:
            assert case.label is Label.ACCEPT, case.id
        else:
            assert kind in REJECTED, case.id
            assert case.label is Label.REJECT, case.id


def test_every_kind_is_there_often_enough_to_count(cases):
    counts = Counter(case.tags[0] for case in cases)
    assert set(counts) == ACCEPTED | REJECTED | {"refusal"}
    assert min(counts.values()) >= 5
    unanswerable = {case.group for case in cases if UNANSWERABLE in case.tags}
    assert len(unanswerable) >= 2


def numbers(text):
    words = re.split(r"[^\w.,]+", text.casefold())
    return {word.strip(".,") for word in words if any(c.isdigit() for c in word)}


def test_an_answer_with_a_wrong_number_says_something_no_passage_says(cases):
    for case in cases:
        if case.tags[0] == "wrong-number":
            told = " ".join([*case.references, *case.context]).casefold()
            new = numbers(case.response) - numbers(told)
            words = set(re.findall(r"[a-z]+", case.response.casefold()))
            assert new or words - set(re.findall(r"[a-z]+", told)), case.id


def test_figures_in_an_accepted_answer_stand_in_the_article(cases):
    """Nothing accepted adds a figure of its own; clock times and dates may be spelled freely."""
    spelled_freely = {"phone-hours", "gift-card-expiry"}
    for case in cases:
        if case.label is Label.ACCEPT and case.group not in spelled_freely:
            told = " ".join([case.input, *case.references, *case.context])
            assert numbers(case.response) <= numbers(told), case.id
