"""A run that its folder could not hold at its end is refused before it begins."""

import json

import pytest

from closecall.errors import UsageError
from closecall.metrics.base import MetricSpec
from closecall.records import Unmeasured
from closecall.runs import room
from closecall.runs.evaluate import evaluate
from closecall.testing import HashEmbedder

METRICS = (
    "embed_answer_similarity,embed_response_context,embed_query_context,semantic_similarity,"
    "embedding_similarity,embedding_similarity:method=dot:normalize=false"
)
WIDE = "\U0001f4e6" * 256


def rows(count=20, stem=""):
    return [
        {
            "id": f"{i:03}{stem}"[:256],
            "input": f"question {i}",
            "response": f'answer {i} "quoted"\n' * 50,
            "references": [f"answer {i + 1}", "another"] * 9,
            "context": [f"passage {i}", "another"] * 9,
        }
        for i in range(count)
    ]


def size_of(run):
    return (run.folder / "results.ndjson").stat().st_size


def refused(cases, folder, message, **options):
    embedder = HashEmbedder()
    with pytest.raises(UsageError, match=message):
        evaluate(cases, embedder=embedder, aef=folder, cache=False, **options)
    assert embedder.texts == []
    assert not folder.exists()


def test_too_many_results_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(room, "MAX_LINES", 119)
    refused(
        rows(), tmp_path / "run", r"are 120 results.*at most 119\. .*--no-aef", metrics=METRICS
    )
    assert evaluate(rows(), METRICS, HashEmbedder(), cache=False).cases.total == 20


@pytest.mark.parametrize("stem", ["", WIDE, '"' * 256], ids=["short", "wide", "escaped"])
def test_the_bytes_of_results_are_foreseen(tmp_path, monkeypatch, stem):
    """What fits by the estimate fits, and what is refused is no more than a little smaller."""
    run = evaluate(rows(stem=stem), METRICS, HashEmbedder(), aef=tmp_path / "a", cache=False)
    real = size_of(run)
    monkeypatch.setattr(room, "MAX_FILE", real - 1)
    message = r"20 cases with 6 metrics are about .* bytes of results.*--no-aef"
    refused(rows(stem=stem), tmp_path / "b", message, metrics=METRICS)
    monkeypatch.setattr(room, "MAX_FILE", int(real * 1.25))
    monkeypatch.setattr(room, "TEXT_BUDGET", 0)
    assert size_of(
        evaluate(rows(stem=stem), METRICS, HashEmbedder(), aef=tmp_path / "c", cache=False)
    ) <= int(real * 1.25)


def test_every_count_a_line_can_hold_is_foreseen():
    """A count that is 0 in the estimate would let through what does not fit at the end."""
    for tokens in room._LARGE.tokens.values():
        assert min(getattr(tokens, name) for name in tokens.__struct_fields__) == room._MANY


def test_room_for_the_longest_ids_means_the_cases_are_not_read_again(tmp_path):
    class Once(list):
        times = 0

        def __iter__(self):
            type(self).times += 1
            return super().__iter__()

    from closecall.datasets import cases_from
    from closecall.runs import evaluate as module

    given, read = Once(cases_from(rows())), module.read_cases
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "read_cases", lambda *a: (given, read(*a)[1]))
        evaluate(rows(), embedder=HashEmbedder(), aef=tmp_path / "run", cache=False)
        assert Once.times == 1
        patch.setattr(room, "MAX_FILE", 40_000)
        patch.setattr(room, "TEXT_BUDGET", 20_000)
        evaluate(rows(), embedder=HashEmbedder(), aef=tmp_path / "near", cache=False)
        assert Once.times == 3


@pytest.mark.parametrize("content", [True, False])
def test_the_ids_of_cases_listed_without_texts_are_foreseen(tmp_path, monkeypatch, content):
    monkeypatch.setattr(room, "MAX_FILE", 1_000_000)
    monkeypatch.setattr(room, "TEXT_BUDGET", 1_000_000 - 10_000)
    evaluate(rows(stem=WIDE), embedder=HashEmbedder(), aef=tmp_path / "a", cache=False)
    kept = (tmp_path / "a/ext/closecall/cases.ndjson").stat().st_size
    bare = sum(
        len(json.dumps({"id": r["id"]}, ensure_ascii=False).encode()) for r in rows(stem=WIDE)
    )
    budget = (kept if content else bare) - 1
    monkeypatch.setattr(room, "TEXT_BUDGET", budget)
    monkeypatch.setattr(room, "MAX_FILE", budget + 10_000)
    monkeypatch.setattr(room, "_line_bytes", lambda *_: 0)
    message = "the ids and texts of 20 cases"
    refused(rows(stem=WIDE), tmp_path / "b", message, content=content)


@pytest.mark.parametrize("name", ["m" * 300, "a\tb"], ids=["long", "control"])
def test_a_metric_whose_id_no_line_can_hold_begins_no_run(tmp_path, name):
    class Mine:
        cutoff = None
        spec = MetricSpec(
            id=name,
            name=name,
            version="1",
            needs=(),
            default_cutoff=None,
            low=0.0,
            high=1.0,
            description="Mine.",
        )

        def texts(self, case):
            return Unmeasured("never asked")

        def measure(self, case, vectors):
            return Unmeasured("never asked")

    refused(rows(), tmp_path / "run", "characters", metrics=[Mine()])
