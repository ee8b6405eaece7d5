"""Files of conversations: the last question and the last answer are what is compared."""

import csv
import json

import pytest

from closecall import evaluate
from closecall.datasets import cases_from, open_dataset
from closecall.errors import DatasetError
from closecall.metrics.judge.conversation import talk_of
from closecall.testing import HashEmbedder

CALL = {"id": "1", "type": "function", "function": {"name": "stock", "arguments": "{}"}}
TALK = [
    {"role": "system", "content": "You sell lamps."},
    {"role": "user", "content": "Hello."},
    {"role": "assistant", "content": "Hello! What may I do?"},
    {"role": "user", "content": "Is the red one in stock?"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "1", "content": "3"},
    {"role": "assistant", "content": "Yes, there are three."},
]


@pytest.fixture
def read(tmp_path):
    def call(*rows, **options):
        path = tmp_path / "talks.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        dataset = open_dataset(path, **options)
        return dataset.scan(), list(dataset)

    return call


@pytest.mark.parametrize("name", ["messages", "Messages", "conversation", "turns"])
def test_the_last_turns_are_question_and_answer_and_the_talk_stays(read, name):
    tools = [{"name": "stock", "parameters": {}}]
    scan, (case,) = read({"id": "a", name: TALK, "tools": tools})
    assert (case.input, case.response) == ("Is the red one in stock?", "Yes, there are three.")
    assert case.metadata == {name: TALK, "tools": tools}
    assert scan.reading[0].startswith(
        f"input from the user's last turn in `{name}`, response from the assistant's turn after "
        f"it in `{name}`, id from `id`"
    )
    assert f"`{name}`" not in scan.reading[0].partition("kept as metadata")[2]


def test_a_judge_sees_the_whole_talk(read):
    for name in ("messages", "turns"):
        _, (case,) = read({name: TALK})
        talk = talk_of(case)
        assert (talk.user, talk.response) == (case.input, case.response)
        assert [turn.role for turn in talk.history] == ["system", "user", "assistant", "user"]
        assert [call.name for call in talk.calls] == ["stock"]


def test_a_mapping_wins_for_its_field_alone(read):
    _, (case,) = read({"messages": TALK, "bot": "No."}, mapping={"response": "bot"})
    assert (case.input, case.response) == ("Is the red one in stock?", "No.")
    _, (case,) = read({"messages": TALK}, mapping={"response": "messages.2.content"})
    assert case.response == "Hello! What may I do?"
    _, (case,) = read({"messages": TALK, "ask": "Red?"}, mapping={"input": "ask"})
    assert (case.input, case.response) == ("Red?", "Yes, there are three.")


@pytest.mark.parametrize("other", [{"input": "Red?"}, {"output": "Yes."}])
def test_a_file_with_a_column_for_a_side_is_read_as_ever(read, other):
    scan, (case,) = read({"messages": TALK, **other})
    assert (case.input, case.response) == (other.get("input"), other.get("output"))
    assert "turn" not in scan.reading[0]


@pytest.mark.parametrize(
    ("turns", "asked", "said"),
    [
        (TALK[:4], "Is the red one in stock?", None),  # left to whoever answers
        (TALK[:5], "Is the red one in stock?", None),  # only tools were called
        (TALK[2:3], None, "Hello! What may I do?"),
        ([], None, None),
        (None, None, None),
        ([{"role": "human", "content": "a"}, {"role": "AI", "content": "b"}], "a", "b"),
        ([{"role": "user", "content": [{"type": "text", "text": "a"}, {"text": "b"}]}], "a\nb",
         None),
        ({"messages": TALK}, "Is the red one in stock?", "Yes, there are three."),
        (json.dumps(TALK), "Is the red one in stock?", "Yes, there are three."),
    ],
)  # fmt: skip
def test_what_is_not_said_is_absent(read, turns, asked, said):
    _, (_, case) = read({"messages": TALK}, {"messages": turns})
    assert (case.input, case.response) == (asked, said)


@pytest.mark.parametrize(
    ("turns", "field", "said"),
    [
        ("hello", "messages", "expected a list of turns, got a text: 'hello'"),
        (3, "messages", "expected a list of turns, got int"),
        (["hello"], "messages[0]", "expected an object with a role and a content, got str"),
        ([{"role": "robot", "content": "a"}], "messages[0].role", "expected one of user, human"),
        ([{"content": "a"}], "messages[0].role", "got None"),
        ([{"role": "user", "content": 3}], "messages[0].content", "got int"),
        ([{"role": "user", "content": [{"image_url": "x"}]}], "messages[0].content[0]",
         "is no text"),
    ],
)  # fmt: skip
def test_what_is_no_talk_is_told_with_its_place(read, turns, field, said):
    with pytest.raises(DatasetError) as error:
        read({"messages": TALK}, {"messages": turns})
    (problem,) = error.value.problems
    assert problem.place.endswith("talks.jsonl:2")
    assert problem.field == field
    assert said in problem.message


def test_a_cell_of_a_table_holds_one_as_json(tmp_path):
    path = tmp_path / "talks.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerows([["id", "messages"], ["a", json.dumps(TALK)], ["b", " "]])
    first, second = open_dataset(path)
    assert (first.input, first.response) == ("Is the red one in stock?", "Yes, there are three.")
    assert (second.input, second.response) == (None, None)


def test_they_are_measured_as_other_cases_are(read):
    _, cases = read({"messages": TALK, "expected": "Yes, there are three."})
    run = evaluate(cases, "exact_match", HashEmbedder(), cache=False)
    assert run.passed
    (case,) = cases_from([{"messages": TALK}])
    assert case.response == "Yes, there are three."


@pytest.mark.parametrize(
    "value", [3, "Anna: hello\nBen: hi", ["Who?", "And why?"], [], {"a": 1}, "[1] hello"]
)
def test_another_thing_of_that_name_is_left_as_it_is(read, value):
    for name in ("turns", "conversation"):
        _, (case,) = read({name: value, "expected": "yes"})
        assert (case.input, case.response) == (None, None)
        assert case.metadata == {name: value}


def test_an_answer_beside_a_talk_has_two_readings_as_ever(read):
    with pytest.raises(DatasetError, match="could be the answer under test or the expected"):
        read({"messages": TALK, "answer": "Yes."})
    _, (case,) = read({"messages": TALK, "answer": "Yes."}, mapping={"reference": "answer"})
    assert (case.references, case.response) == (("Yes.",), "Yes, there are three.")
