"""The definition digest: what makes two runs the same question."""

import json
import random

import pytest
from labelled_rows import made, rows

from closecall import AnswerSimilarity, EmbeddingSimilarity, Goal, SemanticSimilarity
from closecall.instrument import Instrument
from closecall.runs.definition import evaluator_version
from closecall.runs.evaluate import evaluate
from closecall.testing import HashEmbedder

ROWS = [
    {
        "id": f"c{i}",
        "input": f"question {i}?",
        "response": f'Answer, {i} "quoted" ü',
        "reference": f"answer {i}",
        "label": "accept" if i % 2 else "reject",
        "group": "g",
    }
    for i in range(5)
]


class Fixed(HashEmbedder):
    """A hash embedder with some facts of its identity changed."""

    def __init__(self, **facts):
        super().__init__()
        basis = {"kind": "test", "model": "m", "provider": "local", "dims": 64}
        self._instrument = Instrument(**(basis | facts))


def digest(cases=ROWS, metrics=None, embedder=None, **options):
    run = evaluate(
        cases, metrics or [AnswerSimilarity()], embedder or Fixed(), cache=False, **options
    )
    return run.header.definition_digest


@pytest.mark.parametrize(
    "fact",
    [
        {"model": "other"},
        {"provider": "elsewhere"},
        {"revision": "2"},
        {"weights": "ab"},
        {"tokenizer": "cd"},
        {"pooling": "cls"},
        {"normalize": False},
        {"prefixes": {"query": "query: "}},
        {"max_tokens": 512},
        {"precision": "int8"},
        {"window": "truncate"},
        {"overlap": 8},
        {"options": {"x": "y"}},
        {"kind": "other"},
    ],
    ids=lambda fact: next(iter(fact)),
)
def test_it_moves_with_every_fact_of_the_embedder(fact):
    assert digest(embedder=Fixed(**fact)) != digest()


@pytest.mark.parametrize("window", ["truncate", "error"])
def test_it_moves_with_the_window_policy_of_the_bundled_model(window):
    def of(window):
        return evaluate(ROWS[:1], window=window, cache=False).header.definition_digest

    assert of(window) != of("chunk")


@pytest.mark.parametrize(
    "metrics",
    [
        [AnswerSimilarity(71)],
        [SemanticSimilarity()],
        [AnswerSimilarity(), SemanticSimilarity()],
        [EmbeddingSimilarity()],
        [EmbeddingSimilarity("euclidean")],
        [EmbeddingSimilarity("euclidean", normalize=False)],
        [EmbeddingSimilarity(references="mean")],
        [EmbeddingSimilarity(cutoff=0.5)],
    ],
    ids=repr,
)
def test_it_moves_with_the_metrics_their_options_and_cutoffs(metrics):
    assert digest(metrics=metrics) != digest()


def test_all_these_questions_differ():
    several = [
        digest(metrics=[EmbeddingSimilarity(method, normalize=normalize, cutoff=cutoff)])
        for method in ("cosine", "euclidean", "dot")
        for normalize in (True, False)
        for cutoff in (None, 0.1, 0.2)
    ]
    assert len(set(several)) == len(several)


def test_it_moves_with_a_metrics_version(monkeypatch):
    before = digest()
    metric, instrument = AnswerSimilarity(), Fixed().instrument
    version = evaluator_version(metric, instrument)
    monkeypatch.setattr(AnswerSimilarity, "VERSION", "2")
    assert digest() != before
    assert evaluator_version(AnswerSimilarity(), instrument) != version


@pytest.mark.parametrize("field", ["id", "input", "response", "reference", "label", "group"])
def test_it_moves_with_the_content_of_a_case(field):
    changed = [row | {field: "accept" if field == "label" else "other"} for row in ROWS[:1]]
    assert digest([*changed, *ROWS[1:]]) != digest()


def test_it_moves_when_cases_come_go_or_change_places():
    assert digest(ROWS[:4]) != digest()
    assert digest([*ROWS[1:], ROWS[0]]) != digest()


def shuffled(row):
    keys = list(row)
    random.Random(3).shuffle(keys)
    return {key: row[key] for key in keys}


def jsonl(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def table(rows, mark):
    def cell(text):
        return '"' + text.replace('"', '""') + '"'

    lines = [mark.join(rows[0]), *(mark.join(map(cell, row.values())) for row in rows)]
    return "\r\n".join(lines) + "\r\n"


def test_it_does_not_move_with_name_format_order_of_keys_or_metadata(tmp_path):
    files = {
        "a.jsonl": jsonl(ROWS),
        "another name.jsonl": jsonl(map(shuffled, ROWS)),
        "more.jsonl": jsonl({**row, "note": "x", "cost": 3} for row in ROWS),
        "spaced.jsonl": "\ufeff" + jsonl(ROWS).replace("\n", "\r\n\r\n"),
        "a.csv": table(ROWS, ","),
        "a.tsv": table(ROWS, "\t"),
        "a.json": json.dumps(ROWS, indent=2),
        "a.yaml": json.dumps(ROWS),  # every JSON text is YAML
    }
    found = {"python": digest()}
    for name, text in files.items():
        path = tmp_path / name
        path.write_bytes(text.encode("utf-8"))
        found[name] = digest(path, name=name, subject=name)
    assert set(found.values()) == {found["python"]}, found


def test_it_does_not_move_with_what_only_changes_speed(tmp_path):
    before = digest()
    assert digest(aef=tmp_path / "run", content=False, run_id="r") == before
    threads = [evaluate(ROWS[:1], threads=n, cache=False).header.definition_digest for n in (1, 2)]
    assert threads[0] == threads[1]


def test_a_calibration_is_part_of_the_question():
    cases = rows()
    first, second = made(goal=Goal(max_far=0.1)), made(goal=Goal(max_far=0.2))
    runs = [
        evaluate(cases, embedder=HashEmbedder(), calibration=found, cache=False)
        for found in (None, first, second)
    ]
    assert len({run.header.definition_digest for run in runs}) == 3
    assert len({run.header.metrics[0].evaluator_version for run in runs}) == 3
    again = evaluate(cases, embedder=HashEmbedder(), calibration=first, cache=False)
    assert again.header.definition_digest == runs[1].header.definition_digest
