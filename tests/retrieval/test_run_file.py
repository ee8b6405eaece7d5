"""TREC runs: written so that every reader keeps the order, read as trec_eval reads them."""

import itertools

import numpy as np
import pytest

from closecall.errors import DatasetError, UsageError
from closecall.retrieval.ranking import Ranking
from closecall.retrieval.run_file import read_run, write_run

ASKED = ("q1", "q2", "q3")


def ranking(*rows, ids=("d1", "d2", "d3", "d4"), queries=ASKED):
    positions = np.full((len(queries), 4), -1, dtype=np.int64)
    scores = np.zeros((len(queries), 4))
    for at, row in enumerate(rows):
        for column, (document, score) in enumerate(row):
            positions[at, column], scores[at, column] = ids.index(document), score
    return Ranking("made", "dense", queries, ids, positions, scores)


def test_a_ranking_comes_back_in_its_order_although_scores_tie(tmp_path, shop):
    made = ranking(
        [("d1", 0.5), ("d2", 0.5), ("d3", 0.5), ("d4", 0.25)],
        [("d4", 1 / 61), ("d1", 1 / 61 - 1e-12)],
        [],
    )
    write_run(made, tmp_path / "a.run")
    lines = (tmp_path / "a.run").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "q1 Q0 d1 1 0.5 closecall"
    assert len(lines) == 6
    scores = [np.float32(line.split()[4]) for line in lines[:4]]
    assert all(low < high for high, low in itertools.pairwise(scores))
    assert scores[3] == np.float32(0.25), "what has no tie keeps its score"
    found = read_run(tmp_path / "a.run", shop, ASKED)
    assert [[d for d, _ in found.found(row)] for row in range(3)] == [
        ["d1", "d2", "d3", "d4"],
        ["d4", "d1"],
        [],
    ]


def test_ties_of_a_foreign_run_go_by_id_backwards_and_ranks_are_not_read(write_text, shop):
    path = write_text("b.run", "q1 Q0 d1 9 2 x\nq1 Q0 d3 1 2.0 x\nq1 Q0 d2 3 2.00000001 x\n")
    found = read_run(path, shop, ASKED)
    # 2 and 2.00000001 are one float32.
    assert [document for document, _ in found.found(0)] == ["d3", "d2", "d1"]


def test_what_does_not_fit_the_collection_is_said(write_text, shop):
    path = write_text("c.run", "q1 Q0 d1 1 2 x\nq1 Q0 other 2 1 x\nq9 Q0 d1 1 1 x\n")
    said = " ".join(read_run(path, shop, ASKED).notes)
    assert "2 of 3 questions have no line" in said
    assert "1 of its questions have no relevant document here" in said
    assert "1 of its documents are not in the corpus" in said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("q1 Q0 d1 1 2\n", r"d\.run:1: expected 6 columns"),
        ("q1 Q0 d1 1 nan x\n", r"d\.run:1: score: expected a finite number"),
        ("q1 Q0 d1 1 high x\n", r"d\.run:1: score: expected a finite number, got 'high'"),
        ("q1 Q0 d1 1 2 x\nq1 Q0 d1 2 1 x\n", r"d\.run:2: document: 'd1' stands there for 'q1'"),
        ("q9 Q0 d1 1 2 x\n", "none of its questions has a relevant document here"),
    ],
)
def test_runs_that_are_refused(write_text, shop, text, said):
    with pytest.raises(DatasetError, match=said):
        read_run(write_text("d.run", text), shop, ASKED)


def test_an_id_with_a_blank_in_it_cannot_be_written(tmp_path):
    made = ranking([("d 1", 1.0)], ids=("d 1", "d2", "d3", "d4"))
    with pytest.raises(UsageError, match="white space"):
        write_run(made, tmp_path / "e.run")
    assert not (tmp_path / "e.run").exists()
