"""Files of other projects: each loads, or is refused with what to do about it."""

import json

import pytest

from closecall.datasets import open_dataset
from closecall.errors import DatasetError

LOADED = {
    "eval-entity-match-rate/data.jsonl": 2,
    "4d-pipelines/data/sample.jsonl": 50,
    "samples/evaluate_test_data.jsonl": 3,
    "datasets/hf_doc_qa_eval.csv": 66,
    "datasets/booksql_sample.csv": 99,
    "chat_sample_data.jsonl": 2,
}
REFUSED = {
    "eval-groundedness/data.jsonl": "--map response=answer",
    "eval-multi-turn-metrics-maf/data.jsonl": "--map response=chat_history.-1.outputs.answer",
    "invalid-data-missing-column.jsonl": "`pdf_url`",
    "chat-basic/data.jsonl": "is empty",
    "eval-checklist/data.jsonl": "--map response=answer",
    "monitoring_dataset.jsonl": "--map context=context",
    "invalid_evaluate_test_data.jsonl": "invalid_evaluate_test_data.jsonl:1: not valid JSON",
    "colors.csv": "`id_text`",
    "colors.tsv": "`id_text`",
    "simple_hello_world_multi_lines.jsonl": "`name`",
    "flow_with_nan_inf/inputs.jsonl": "`number`",
    "goldens.json": "--map context=retrieval_context",
    "support_triage.csv": "--map response=COLUMN",
    "discount_benchmark.csv": "`expected_discount`",
    "coqa/samples.jsonl": "git lfs pull",
    "emoji_riddle/fuzzy_match.jsonl": "git lfs pull",
    "emoji-riddle.yaml": "OpenAI evals",
    "coqa-ex.yaml": "OpenAI evals",
    "jsonl-test-cases/cases.jsonl": "promptfoo test cases",
    "promptfooconfig.yaml": "promptfoo configuration",
}
MAPPED = {
    "eval-groundedness/data.jsonl": ({"response": "answer"}, 2),
    "eval-multi-turn-metrics-maf/data.jsonl": (
        {
            "input": "chat_history.-1.inputs.question",
            "response": "chat_history.-1.outputs.answer",
            "context": "chat_history.-1.outputs.context",
        },
        1,
    ),
    "monitoring_dataset.jsonl": ({"context": "context", "response": "answer"}, 5),
    "goldens.json": ({"context": "retrieval_context"}, 4),
    "discount_benchmark.csv": ({"reference": "expected_discount", "input": "description"}, 10),
    "jsonl-test-cases/cases.jsonl": ({"input": "vars.text", "reference": "assert.0.value"}, 2),
}


def paths(folder):
    for entry in json.loads((folder / "MANIFEST.json").read_text(encoding="utf-8")):
        yield folder / entry["repo"].replace("/", "__") / entry["path"]


def expected(table, path):
    return next((table[key] for key in table if path.as_posix().endswith(key)), None)


def test_every_file_loads_or_says_what_to_do(eval_files):
    found = list(paths(eval_files))
    assert len(found) == len(LOADED) + len(REFUSED) == 26
    for path in found:
        count, said = expected(LOADED, path), expected(REFUSED, path)
        if said is None:
            assert open_dataset(path).scan().cases == count, path
        else:
            with pytest.raises(DatasetError) as error:
                open_dataset(path).scan()
            assert said in str(error.value), path


def test_the_mappings_suggested_read_the_file(eval_files):
    read = 0
    for path in paths(eval_files):
        if plan := expected(MAPPED, path):
            mapping, count = plan
            cases = list(open_dataset(path, mapping=mapping))
            assert len(cases) == count, path
            assert all(c.response or c.references or c.input for c in cases)
            read += 1
    assert read == len(MAPPED)


def test_the_labelled_files_are_read_whole(shared_data):
    for path in sorted((shared_data / "small").glob("*.jsonl")):
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]
        dataset = open_dataset(path)
        assert dataset.scan().cases == len(rows)
        for row, case in zip(rows, dataset, strict=True):
            assert (case.id, case.input, case.response) == (
                row["id"],
                row["input"],
                row["response"],
            )
            assert (list(case.references), list(case.context)) == (
                row["reference"],
                row["context"],
            )
            assert (case.label, case.group) == (row["label"], row["group"])
            assert case.metadata.keys() == {"score", "slice", "source"}
