"""A data set of Ray's in, results beside each of its rows out."""

import pytest

from closecall import evaluate
from closecall.errors import UnknownNameError, UsageError
from closecall.testing import HashEmbedder

pytestmark = [pytest.mark.loopback, pytest.mark.filterwarnings("ignore")]

METRICS = ["embed_answer_similarity", "answer_alignment"]


def made(count):
    return [
        {
            "id": f"q{n}",
            "question": f"How high did river {n % 7} rise?",
            "response": f"River {n % 7} rose {n % 5} metres",
            "reference": f"River {n % 7} rose {n % 3} metres",
            "weight": n / 2,
        }
        for n in range(count)
    ]


@pytest.fixture
def on_ray(ray):
    import ray.data

    from closecall.ray import evaluate_dataset

    def run(rows, metrics=METRICS, **options):
        data = ray.data.from_items(rows) if isinstance(rows, list) else rows
        asked = {"embedder": HashEmbedder(), "concurrency": 2, "part_size": 16}
        return evaluate_dataset(data, metrics, **asked | options)

    return run


def test_results_stand_beside_each_row_and_are_those_of_one_process(on_ray):
    rows = made(100)
    found = {row["id"]: row for row in on_ray(rows).take_all()}
    assert len(found) == 100
    for case in evaluate(rows, METRICS, HashEmbedder()):
        row = found[case.case.id]
        assert {name: row[name] for name in rows[0]} == rows[int(case.case.id[1:])]
        assert row["case.state"] == case.state
        assert row["case.score"] == case.score
        for result in case.results:
            own = [
                row[f"{result.metric}.{name}"] for name in ("value", "score", "state", "reason")
            ]
            there = result.measurement
            assert own == [there.value, there.score, result.state.value, result.reason]


def test_nothing_is_computed_before_it_is_asked_for(on_ray):
    lazy = on_ray(made(3))
    assert type(lazy).__name__ in {"Dataset", "MaterializedDataset"}
    assert lazy.count() == 3


def test_a_bad_row_is_a_row_with_its_reason_and_none_is_lost(on_ray):
    rows = made(20)
    rows[4]["response"] = None
    for n, row in enumerate(rows):
        row["context"] = ["a", "b"] if n != 9 else [None, "b"]
    found = {row["id"]: row for row in on_ray(rows).take_all()}
    assert len(found) == 20
    assert found["q4"]["case.state"] == "not_measured"
    assert found["q4"]["embed_answer_similarity.value"] is None
    assert found["q4"]["embed_answer_similarity.reason"] == "the case's response is missing"
    assert found["q9"]["case.state"] == "error"
    assert found["q9"]["answer_alignment.state"] == "error"
    assert found["q9"]["answer_alignment.reason"] == "context[0]: expected str, got null"
    others = [row["case.state"] for name, row in found.items() if name not in {"q4", "q9"}]
    assert set(others) <= {"passed", "failed", "inconclusive"}


def test_a_function_is_a_metric_there_too(on_ray):
    def short(case) -> bool:
        return len(case.response) < 40

    found = on_ray(made(5), [short]).take_all()
    assert {row["short.state"] for row in found} == {"passed"}


def test_what_is_wrong_is_said_before_anything_runs(on_ray):
    with pytest.raises(UnknownNameError, match="no_such"):
        on_ray(made(2), ["no_such_metric"])
    with pytest.raises(UsageError, match="on_bad_row is for files"):
        on_ray(made(2), on_bad_row="skip")
    with pytest.raises(UsageError, match="output is for files"):
        on_ray(made(2), output="here")
    with pytest.raises(UsageError, match="concurrency"):
        on_ray(made(2), concurrency=0)


def test_a_column_where_results_would_go_is_not_overwritten(on_ray):
    rows = [{**row, "case.state": "mine"} for row in made(2)]
    with pytest.raises(Exception, match=r"columns that results would go to: case\.state"):
        on_ray(rows).take_all()


def test_what_cannot_be_sent_is_named(on_ray):
    import threading

    lock = threading.Lock()

    def locked(case) -> bool:
        with lock:
            return True

    with pytest.raises(UsageError, match="metrics cannot be sent to workers"):
        on_ray(made(2), [locked])
