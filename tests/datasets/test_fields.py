"""Which column is which field, and what is refused because two readings are possible."""

import json

import pytest

from closecall.datasets import open_dataset
from closecall.errors import DatasetError, UsageError
from closecall.records import Label


def lines(*rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.mark.parametrize(
    ("field", "names"),
    [
        (
            "input",
            ["input", "question", "prompt", "query", "user_input", "userInput", "User Input"],
        ),
        ("response", ["response", "output", "actual_output", "actualOutput", "Actual-Output"]),
        (
            "references",
            [
                "reference",
                "references",
                "expected",
                "expected_output",
                "Expected Output",
                "expected_answer",
                "ground_truth",
                "ground_truths",
                "groundTruth",
            ],
        ),
        (
            "context",
            ["context", "contexts", "documents", "retrieved_contexts", "retrieval_context"],
        ),
    ],
)
def test_every_usual_name_is_known(read, field, names):
    for name in names:
        (case,) = read("a.jsonl", lines({name: "some text"}))
        found = getattr(case, field)
        assert found == ("some text" if field in {"input", "response"} else ("some text",))


def test_unknown_fields_are_kept(read):
    (case,) = read("a.jsonl", lines({"response": "x", "slice": {"lang": "de"}, "score": 0.5}))
    assert case.metadata == {"slice": {"lang": "de"}, "score": 0.5}


def test_answer_beside_a_reference_is_the_response_and_said_so(write):
    dataset = open_dataset(write("a.jsonl", lines({"answer": "x", "ground_truth": "y"})))
    (case,) = dataset
    assert (case.response, case.references) == ("x", ("y",))
    assert any("`answer` was read as the response" in sentence for sentence in dataset.reading)


@pytest.mark.parametrize(
    ("row", "suggested"),
    [
        ({"question": "q", "answer": "x"}, ["--map response=answer", "--map reference=answer"]),
        ({"answer": "x", "output": "y"}, ["--map response=answer", "--map reference=answer"]),
        (
            {"answer": "x", "output": "y", "expected": "z"},
            ["--map response=answer", "--map response=output"],
        ),
        ({"input": "a", "question": "b"}, ["--map input=input", "--map input=question"]),
        (
            {"context": ["a"], "retrieval_context": ["b"]},
            ["--map context=context", "--map context=retrieval_context"],
        ),
    ],
)
def test_two_readings_are_refused_and_every_suggestion_works(write, row, suggested):
    path = write("a.jsonl", lines({"id": "first", **row}))
    with pytest.raises(DatasetError) as error:
        open_dataset(path)
    for option in suggested:
        assert option in str(error.value)
        field, _, column = option.removeprefix("--map ").partition("=")
        dataset = open_dataset(path, mapping={field: column})
        assert dataset.scan().cases == 1


def test_an_answer_column_that_is_empty_everywhere_settles_nothing(read):
    (case,) = read("a.jsonl", lines({"answer": None, "output": "y", "expected": "z"}))
    assert (case.response, case.references) == ("y", ("z",))


def test_the_decision_is_for_the_whole_file_not_the_first_row(write):
    rows = [{"answer": "x"}] * 50 + [{"answer": "x", "expected": "y"}]
    dataset = open_dataset(write("a.jsonl", lines(*rows)))
    assert [case.response for case in dataset] == ["x"] * 51


def test_equal_columns_and_columns_of_different_rows_are_no_conflict(read):
    rows = [
        {"question": "a", "input": "a", "expected": "r", "reference": ["r"]},
        {"question": "b"},
        {"input": "c"},
    ]
    cases = read("a.jsonl", lines(*rows))
    assert [case.input for case in cases] == ["a", "b", "c"]
    assert cases[0].references == ("r",)


def test_mapping_wins_and_goes_into_nested_values(read):
    row = {
        "vars": {"q": "the question"},
        "assert": [{"value": "the value"}],
        "response": "other",
        "mine": "tested",
    }
    (case,) = read(
        "a.jsonl",
        lines(row),
        mapping={"input": "vars.q", "references": "assert.0.value", "response": "mine"},
    )
    assert (case.input, case.references, case.response) == (
        "the question",
        ("the value",),
        "tested",
    )
    assert case.metadata["response"] == "other"


@pytest.mark.parametrize(
    ("mapping", "said"),
    [
        ({"response": "missing"}, "`question`"),
        ({"colour": "question"}, "input, response, reference, context"),
        ({"answer": "question"}, "input, response, reference, context"),
        ({"reference": "question", "expected": "question"}, "mapped twice"),
    ],
)
def test_a_wrong_mapping_is_a_usage_error_that_lists_what_there_is(write, mapping, said):
    path = write("a.jsonl", lines({"question": "q"}))
    with pytest.raises(UsageError, match=said):
        open_dataset(path, mapping=mapping)


def test_no_known_column_lists_the_columns_and_what_to_type(write):
    with pytest.raises(DatasetError, match=r"`name`, `size`.*--map response=COLUMN"):
        open_dataset(write("a.csv", "name,size\nRed,3\n"))


def test_label_words(read):
    accept = [
        "accept",
        "Accepted",
        "PASS",
        "passed",
        "correct",
        "good",
        "true",
        "1",
        "yes",
        1,
        True,
    ]
    reject = [
        "reject",
        "rejected",
        "Fail",
        "failed",
        "incorrect",
        "bad",
        "false",
        "0",
        "No",
        0,
        False,
    ]
    for words, label in ((accept, Label.ACCEPT), (reject, Label.REJECT), (["", None, " "], None)):
        cases = read("a.jsonl", lines(*({"response": "x", "label": word} for word in words)))
        assert [case.label for case in cases] == [label] * len(words)


def test_group_tags_and_ids(read):
    rows = [
        {"response": "x", "category": "c", "tags": "a, b;c", "id": 7},
        {"response": "x", "category": 3, "tags": ["a", "b"], "id": 7},
        {"response": "x"},
        {"response": "x", "id": "row_3"},
        {"response": "x", "id": "7#2"},
        {"response": "x", "id": "tab\there\x85"},
        {"response": "x", "id": "é" * 300},
        {"response": "x", "id": "é" * 300},
    ]
    cases = read("a.jsonl", lines(*rows))
    assert [case.group for case in cases[:3]] == ["c", "3", None]
    assert [case.tags for case in cases[:3]] == [("a", "b", "c"), ("a", "b"), ()]
    ids = [case.id for case in cases]
    assert ids[:6] == ["7", "7#2", "row_3", "row_3#2", "7#2#2", "tab%09here%C2%85"]
    assert len(set(ids)) == len(ids)
    assert max(map(len, ids)) == 256


def test_group_is_meant_before_category(read):
    (case,) = read("a.jsonl", lines({"category": "c", "group": "g", "response": "x"}))
    assert case.group == "g"
    assert case.metadata == {"category": "c"}


def test_what_was_changed_is_counted_in_the_reading(write):
    rows = [
        {"id": "a", "response": 42, "context": [{"text": "t"}], "reference": "r"},
        {"id": "a", "response": True},
    ]
    dataset = open_dataset(write("a.jsonl", lines(*rows)))
    dataset.scan()
    said = "\n".join(dataset.reading)
    for part in ("1 id occurs more than once", "`response`: 2 values", "`context`: 1 passage"):
        assert part in said
    assert [case.response for case in dataset] == ["42", "true"]


def test_a_million_equal_ids_would_not_be_quadratic(read):
    cases = read("a.jsonl", lines({"id": "x", "response": "r"}) * 3000)
    assert cases[-1].id == "x#3000"


@pytest.mark.parametrize(
    ("row", "needed", "absent", "said"),
    [
        (
            {"context": ["a"], "retrieval_context": ["b"], "output": "r"},
            ("references", "response"),
            "context",
            (
                "`context` and `retrieval_context` differ; no metric of this run needs the context, so "
                "neither was read; --map context=context or --map context=retrieval_context chooses"
            ),
        ),
        (
            {"input": "a", "question": "b", "output": "r", "expected": "x"},
            ("references", "response"),
            "input",
            "`input` and `question` differ; no metric of this run needs the input",
        ),
        (
            {"answer": "x", "output": "y", "expected": "z"},
            ("input", "references"),
            "response",
            (
                "no metric of this run needs the response, so neither was read; "
                "--map response=answer or --map response=output chooses"
            ),
        ),
        (
            {"question": "q", "context": "c", "answer": "x"},
            ("input", "context"),
            "response",
            "no metric of this run needs the response or the reference",
        ),
    ],
)
def test_a_field_nobody_needs_may_have_two_readings(write, row, needed, absent, said):
    path = write("a.jsonl", lines(row))
    with pytest.raises(DatasetError):
        open_dataset(path)
    with pytest.raises(DatasetError):
        open_dataset(path, needed=(*needed, absent))
    dataset = open_dataset(path, needed=needed)
    (case,) = dataset
    assert not getattr(case, absent)
    assert said in "\n".join(dataset.reading)
    assert not any(f"no column is the {absent}" in sentence for sentence in dataset.reading)


def test_the_digest_does_not_depend_on_a_field_left_absent(write):
    rows = [{"context": context, "retrieval_context": "x", "output": "r"} for context in "ab"]
    one, two = (
        open_dataset(write(f"{i}.jsonl", lines(row)), needed=["response"]).scan().digest
        for i, row in enumerate(rows)
    )
    assert one == two


@pytest.mark.parametrize("name", ["expected_facts", "forbiddenText", "Expected refusal"])
def test_the_digest_moves_with_what_a_response_is_judged_by(write, name):
    def digest(*rows):
        return open_dataset(write("c.jsonl", lines(*rows)), needed=["response"]).scan().digest

    plain = {"response": "r", "note": 1}
    assert digest(plain) == digest({**plain, "note": 2})
    assert digest({**plain, name: ["a"]}) != digest({**plain, name: ["b"]})
    assert digest({**plain, name: ["a"]}) != digest(plain)
    nested = {**plain, "metadata": {name: ["a"]}}
    assert digest(nested) != digest({**plain, "metadata": {name: ["b"]}})


def test_two_readings_of_the_only_field_there_is_are_refused_all_the_same(write):
    path = write("a.jsonl", lines({"context": "a", "contexts": "b"}))
    with pytest.raises(DatasetError, match="--map context=contexts"):
        open_dataset(path, needed=["response"])


def test_renamed_ids_are_named(write):
    rows = [{"id": name, "response": "r"} for name in ["j1", "j3", "j3", "j3", "j1", "j3", "j3"]]
    reading = open_dataset(write("b.jsonl", lines(*rows))).scan().reading
    assert reading[-1] == (
        "2 ids occur more than once: the second `j3` is now `j3#2`, the third `j3` is now `j3#3`, "
        "the second `j1` is now `j1#2`, and 2 more"
    )
    reading = open_dataset(write("a.jsonl", lines(*rows[1:3]))).scan().reading
    assert reading[-1] == "1 id occurs more than once: the second `j3` is now `j3#2`"


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (
            {"input": "q", "completion": "r", "ideal": "x"},
            (
                "no column is the response or reference or context (kept as metadata: `completion`, `ideal`; "
                "--map response=COLUMN --map reference=COLUMN reads one)"
            ),
        ),
        (
            {"output": "r", "ideal": "x"},
            "(kept as metadata: `ideal`; --map reference=COLUMN reads one)",
        ),
        (
            {"input": "q", "output": "r", "expected": "x", "score": 1},
            "(kept as metadata: `score`)",
        ),
    ],
)
def test_columns_that_were_not_read_are_named_when_a_field_is_missing(write, row, said):
    dataset = open_dataset(write("a.jsonl", lines(row)))
    assert said in dataset.reading[0]


def test_what_a_metric_reads_of_a_case_is_not_called_unread(write):
    row = {"input": "q", "output": "r", "expected_facts": ["x"], "Forbidden text": "y"}
    reading = open_dataset(write("a.jsonl", lines(row))).reading[0]
    assert reading.endswith("no column is the reference or context")
