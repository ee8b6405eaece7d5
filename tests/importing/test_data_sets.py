"""Data sets of deepeval, ragas and OpenAI evals."""

import json

import pytest

from closecall.errors import DatasetError, UsageError

GOLDEN = {
    "input": "How long do refunds take?",
    "actual_output": "Five days.",
    "expected_output": "Refunds take five days.",
    "retrieval_context": ["Paid in 5 days.", "deepeval_source=faq.md,deepeval_context=To a card."],
    "context": ["The ideal passage."],
    "name": "refunds",
    "comments": "seen",
    "additional_metadata": {"k": 1},
    "tools_called": None,
}


def test_deepeval_goldens(write, taken):
    found, (case,) = taken(write("goldens.json", [GOLDEN]))
    assert found.source == "deepeval"
    assert (case.id, case.input, case.response) == ("refunds", GOLDEN["input"], "Five days.")
    assert case.references == ("Refunds take five days.",)
    assert case.context == ("Paid in 5 days.", "To a card.")
    assert case.metadata["metadata"] == {
        "comments": "seen",
        "additional_metadata": {"k": 1},
        "context": ["The ideal passage."],
        "sources": [None, "faq.md"],
    }
    assert any("the context is `retrieval_context`" in note for note in found.notes)


def test_deepeval_joins_passages_in_lines_and_tables(write, taken):
    joined = {**GOLDEN, "retrieval_context": "one|two", "context": None}
    found, (case,) = taken(write("goldens.jsonl", [joined]))
    assert case.context == ("one", "two")
    assert any("split at every |" in note for note in found.notes)
    table = "input,actual_output,expected_output,context\nq,a,e,one|two\nr,,,\n"
    _, cases = taken(write("goldens.csv", table))
    assert [case.context for case in cases] == [("one", "two"), ()]
    # In JSON it is a list, or the one passage, so a bar is one of the text.
    for passages in (["a|b"], "a|b"):
        _, (case,) = taken(write("again.json", [{**GOLDEN, "retrieval_context": passages}]))
        assert case.context == ("a|b",)


def test_deepeval_test_runs_write_camel_case(write, taken):
    run = {"testCases": [{"name": "t", "input": "q", "actualOutput": "a", "expectedOutput": "e"}]}
    found, (case,) = taken(write("run.json", run))
    assert found.source == "deepeval"
    assert (case.id, case.response, case.references) == ("t", "a", ("e",))


def test_deepeval_conversations(write, taken):
    turns = [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Hi"},
        {"role": "user", "content": "How long?"},
        {"role": "assistant", "content": "Five days."},
    ]
    golden = {"scenario": "asks", "expected_outcome": "knows", "turns": turns}
    found, (case,) = taken(write("goldens.json", [golden]))
    assert (case.input, case.response) == ("How long?", "Five days.")
    assert case.metadata["metadata"]["turns"] == turns
    assert case.metadata["metadata"]["expected_outcome"] == "knows"
    with pytest.raises(DatasetError, match=r"goldens.json\[1\]: turns: there are no turns yet"):
        taken(write("goldens.json", [golden, {**golden, "turns": None}]))
    found, cases = taken(
        write("goldens.json", [golden, {**golden, "turns": None}]), on_bad_row="skip"
    )
    assert (len(cases), found.bad_rows) == (1, 1)


SAMPLE = {
    "user_input": "How long do refunds take?",
    "retrieved_contexts": ["Paid in 5 days.", "To a card."],
    "reference_contexts": ["ideal"],
    "response": "Five days.",
    "reference": "Refunds take five days.",
}


def test_ragas_samples(write, taken):
    found, (case,) = taken(write("samples.jsonl", [SAMPLE]))
    assert found.source == "ragas"
    assert (case.input, case.response) == (SAMPLE["user_input"], "Five days.")
    assert case.references == ("Refunds take five days.",)
    assert case.context == ("Paid in 5 days.", "To a card.")
    assert case.metadata["metadata"] == {"reference_contexts": ["ideal"]}


def test_ragas_columns_before_0_2(write, taken):
    old = {"question": "q", "answer": "a", "contexts": ["c"], "ground_truths": ["x", "y"]}
    found, (case,) = taken(write("old.json", [old]))
    assert found.source == "ragas"
    assert (case.input, case.response, case.context) == ("q", "a", ("c",))
    assert case.references == ("x", "y")


def test_ragas_tables_hold_lists_as_python_prints_them(write, taken):
    cells = ["q", str(SAMPLE["retrieved_contexts"]).replace('"', '""'), "a", "r"]
    head = "user_input,retrieved_contexts,response,reference\n"
    _, (case,) = taken(write("samples.csv", head + ",".join(f'"{cell}"' for cell in cells)))
    assert case.context == tuple(SAMPLE["retrieved_contexts"])


TURNS = [
    {"content": "Hello", "type": "human", "metadata": None},
    {"content": "How long?", "type": "human", "metadata": None},
    {"content": "", "type": "ai", "tool_calls": [{"name": "look", "args": {"x": 1}}]},
    {"content": "5", "type": "tool"},
    {"content": "Five days.", "type": "ai", "tool_calls": None},
]


@pytest.mark.parametrize("as_table", [False, True])
def test_ragas_samples_of_several_turns(write, taken, as_table):
    if as_table:
        cell = str(TURNS).replace('"', '""')
        path = write("samples.csv", f'user_input,reference\n"{cell}",five\n')
    else:
        path = write("samples.jsonl", [{"user_input": TURNS, "reference": "five"}])
    found, (case,) = taken(path)
    assert (case.input, case.response, case.references) == ("How long?", "Five days.", ("five",))
    assert case.metadata["metadata"]["user_input"]
    assert any("1 conversation" in note for note in found.notes)


def test_two_names_of_one_field_lose_neither(write, taken):
    both = {**SAMPLE, "ground_truth": "another text"}
    _, (case,) = taken(write("samples.jsonl", [both]))
    assert case.references == ("Refunds take five days.",)
    assert case.metadata["metadata"]["ground_truth"] == "another text"


CHAT = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "2+2?"}]


def test_openai_evals_samples(write, taken):
    rows = [
        {"input": CHAT, "ideal": ["4", "four"], "kind": "sum"},
        {"input": "Plain?", "ideal": "yes"},
        {"input": [{"role": "system", "content": "Only this."}], "ideal": "no"},
        {"input": [{"role": "user", "content": [{"type": "text", "text": "Part"}]}], "ideal": "p"},
    ]
    found, cases = taken(write("samples.jsonl", rows))
    assert found.source == "openai-evals"
    assert [case.input for case in cases] == ["2+2?", "Plain?", "Only this.", "Part"]
    assert cases[0].references == ("4", "four")
    assert cases[0].metadata["metadata"] == {"kind": "sum", "messages": CHAT}
    assert "metadata" not in cases[1].metadata


def test_openai_evals_pictures_are_refused_with_their_place(write, taken):
    picture = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]
    rows = [{"input": "a", "ideal": "b"}, {"input": picture, "ideal": "b"}]
    with pytest.raises(DatasetError, match=r"samples.jsonl:2: input\[0\].content: is no text"):
        taken(write("samples.jsonl", rows))


def event(number, sample, kind, data):
    return {
        "run_id": "r",
        "event_id": number,
        "sample_id": sample,
        "type": kind,
        "data": data,
        "created_by": "",
        "created_at": "",
    }


LOG = [
    {"spec": {"completion_fns": ["small"], "eval_name": "sums.dev.v0", "run_id": "r"}},
    {"final_report": {"accuracy": 0.5}},
    event(0, "sums.dev.0", "sampling", {"prompt": CHAT, "sampled": ["four"], "usage": {"n": 1}}),
    event(1, "sums.dev.1", "sampling", {"prompt": "3+3?", "sampled": ["6", "six"]}),
    event(2, "sums.dev.0", "match", {"correct": True, "expected": "4", "picked": "4"}),
    event(3, "sums.dev.0", "sampling", {"prompt": "grade it", "sampled": ["Y"]}),
    event(4, "sums.dev.1", "match", {"correct": False, "expected": ["7", "seven"]}),
    event(5, "sums.dev.2", "error", {"type": "Timeout", "message": "late"}),
    event(6, "sums.dev.2", "raw_sample", {"input": "1+1?", "ideal": "2", "kind": "sum"}),
]


def test_openai_evals_logs(write, taken):
    found, cases = taken(write("log.jsonl", LOG))
    assert found.source == "openai-evals"
    first, six, word, late = cases
    assert (first.id, first.input, first.response) == ("sums.dev.0", "2+2?", "four")
    assert first.references == ("4",)
    assert first.label is None
    assert first.metadata["metadata"]["match"]["correct"] is True
    assert first.metadata["metadata"]["sampling"][0]["sampled"] == ["Y"]
    assert [(c.id, c.response, c.group) for c in (six, word)] == [
        ("sums.dev.1", "6", "sums.dev.1"),
        ("sums.dev.1#2", "six", "sums.dev.1"),
    ]
    assert six.references == ("7", "seven")
    assert (late.input, late.response, late.references) == ("1+1?", None, ("2",))
    assert late.metadata["metadata"]["kind"] == "sum"
    told = " ".join(found.notes)
    for words in ("sums.dev.v0 with small", "1 sample was asked again", "it is no label"):
        assert words in told


def test_whose_file_it_is_must_be_told_where_it_cannot_be(write, taken):
    with pytest.raises(DatasetError, match=r"is of no evaluator that can be told(.|\n)*--from"):
        taken(write("rows.jsonl", [{"question": "q", "answer": "a"}]))
    both = [{"input": "q", "ideal": "i", "actual_output": "a"}]
    with pytest.raises(DatasetError, match="could be of openai-evals or deepeval"):
        taken(write("rows.jsonl", both))
    _, (case,) = taken(write("rows.jsonl", both), "deepeval")
    assert case.response == "a"


def test_bad_lines_are_named_all_at_once(write, taken):
    lines = [
        json.dumps(SAMPLE),
        "{",
        json.dumps({**SAMPLE, "response": ["a"]}),
        '{"user_input": 1}',
    ]
    path = write("samples.jsonl", "\n".join(lines))
    with pytest.raises(DatasetError) as caught:
        taken(path)
    assert [(p.place, p.field) for p in caught.value.problems] == [
        ("samples.jsonl:2", ""),
        ("samples.jsonl:3", "response"),
    ]
    found, cases = taken(path, on_bad_row="skip")
    assert (len(cases), found.bad_rows) == (2, 2)


def test_a_mapping_to_what_no_row_has_is_refused(write, taken):
    with pytest.raises(UsageError, match="no row has `nowhere`"):
        taken(write("samples.jsonl", [SAMPLE]), mapping={"response": "nowhere"})
    with pytest.raises(UsageError, match="there is no field 'answers'"):
        taken(write("samples.jsonl", [SAMPLE]), mapping={"answers": "response"})


def test_reading_again_gives_the_same(write, taken):
    found, cases = taken(write("log.jsonl", LOG))
    notes = found.notes
    assert [case.id for case in found] == [case.id for case in cases]
    assert found.notes == notes


HF = [
    {"question": "q", "answers": {"text": ["a", "b"], "answer_start": [1, 2]}, "label": 3},
    {"question": "r", "answers": {"text": ["c"], "answer_start": [4]}, "label": 1},
]


def test_hugging_face_rows_by_names_and_mapping(write, taken):
    found, cases = taken(
        write("train.jsonl", HF), "huggingface", mapping={"reference": "answers.text"}
    )
    assert [case.references for case in cases] == [("a", "b"), ("c",)]
    assert [case.label for case in cases] == [None, None]
    assert cases[0].metadata["metadata"]["label"] == 3
    assert any("`label` is kept in metadata: it holds '3'" in note for note in found.notes)


def test_a_label_that_says_accept_or_reject_is_one(write, taken):
    rows = [{"question": "q", "label": "pass"}, {"question": "r", "label": "fail"}]
    _, cases = taken(write("train.jsonl", rows), "huggingface")
    assert [str(case.label) for case in cases] == ["accept", "reject"]
