"""A whole evaluation: what is measured, on how many, and what the exit code says."""

import pytest

from closecall.errors import DataError, EmbeddingError, UsageError
from closecall.retrieval.demands import parse_demand
from closecall.retrieval.estimates import Drawing
from closecall.retrieval.evaluate import evaluate_retrieval
from closecall.retrieval.run_file import write_run
from closecall.testing import HashEmbedder

FAST = Drawing(resamples=200)


def evaluated(collection, embedder=None, **options):
    return evaluate_retrieval(
        collection, embedder or HashEmbedder(), **{"drawing": FAST, "cache": False, **options}
    )


def test_questions_without_a_relevant_document_are_in_no_figure(shop):
    result, _ = evaluated(shop, cutoffs=[1, 3])
    assert (result.queries_total, result.queries_asked) == (4, 3)
    assert [query.id for query in result.queries] == ["q1", "q2", "q3"]
    tested = result.systems[0]
    assert tested.n == 3
    assert all(one.n == 3 for one in tested.measures.values())
    assert tested.measures["hit@1"].count == round(tested.measures["hit@1"].value * 3)
    assert result.exit_code == 0


def test_each_search_stands_beside_the_others_by_default(many):
    result, rankings = evaluated(many)
    assert [(one.kind, one.baseline) for one in result.systems] == [
        ("dense", False),
        ("bm25", True),
        ("fusion", True),
    ]
    assert [one.name for one in rankings] == [one.name for one in result.systems]
    alone, _ = evaluated(many, baselines=False)
    assert len(alone.systems) == 1
    assert alone.contrasts == ()


def test_a_mean_is_that_of_the_questions(many):
    result, _ = evaluated(many)
    for system in result.systems:
        for name, estimate in system.measures.items():
            values = [query.values[system.name][name] for query in result.queries]
            assert estimate.value == pytest.approx(sum(values) / 60)
    assert result.groups == 12
    assert result.systems[0].measures["map"].groups == 12


def test_relevant_from_leaves_questions_out(shop):
    result, _ = evaluated(shop, relevant_from=2)
    assert [query.id for query in result.queries] == ["q1"]
    with pytest.raises(DataError, match=r"grade 3 or more in qrels\.tsv"):
        evaluated(shop, relevant_from=3)


def test_a_document_that_is_not_in_the_corpus_counts_as_missed(shop):
    shop.grades["q2"]["gone"] = 1
    result, _ = evaluated(shop, cutoffs=[5], baselines=False)
    found = {query.id: query.values for query in result.queries}
    assert next(iter(found["q2"].values()))["recall@5"] == 0.5


def test_two_embedders_are_compared_on_the_same_questions(many):
    result, _ = evaluated(
        many, HashEmbedder(dims=2), against=[HashEmbedder(dims=128)], baselines=False
    )
    (found,) = result.contrasts
    assert (found.tested, found.other) == ("python:HashEmbedder", "python:HashEmbedder (2)")
    assert found.verdict == "worse"
    assert found.n == 60
    assert found.groups == 12
    assert result.exit_code == 1
    back, _ = evaluated(
        many, HashEmbedder(dims=128), against=[HashEmbedder(dims=2)], baselines=False
    )
    assert back.contrasts[0].verdict == "better"
    assert back.exit_code == 0


def test_a_saved_run_is_compared_with_and_can_stand_alone(many, tmp_path):
    result, rankings = evaluated(many)
    write_run(rankings[0], tmp_path / "old.run")
    again, _ = evaluated(many, runs=[tmp_path / "old.run"], baselines=False)
    (found,) = again.contrasts
    assert found.difference == 0
    assert found.why == "cannot tell with n = 60 in 12 groups: no question comes out differently"
    alone, _ = evaluate_retrieval(
        many, "none", runs=[tmp_path / "old.run"], drawing=FAST, cache=False
    )
    assert [one.kind for one in alone.systems] == ["run", "bm25"]
    assert alone.systems[0].measures == result.systems[0].measures


def test_baselines_decide_nothing(many):
    result, _ = evaluated(many, HashEmbedder(dims=2))
    assert next(one for one in result.contrasts if one.other == "BM25").verdict == "worse"
    assert result.exit_code == 0


def test_nothing_is_embedded_without_an_embedder_and_a_run(many):
    with pytest.raises(UsageError, match="--run FILE"):
        evaluate_retrieval(many, "none")


def test_questions_that_could_not_be_embedded_are_counted_not_zero(many):
    def fails(texts):
        bad = [at for at, text in enumerate(texts) if text.endswith("item1")]
        if bad:
            raise EmbeddingError("the model refused", bad)

    result, _ = evaluated(many, HashEmbedder(on_embed=fails))
    tested, words, both = result.systems
    assert (tested.n, words.n, both.n) == (59, 60, 59)
    assert sum(tested.not_measured.values()) == 1
    assert "the model refused" in next(iter(tested.not_measured))
    assert all(one.n == 59 for one in result.contrasts)
    absent = next(query for query in result.queries if query.id == "q01")
    assert set(absent.values) == {"BM25"}
    assert result.exit_code == 11


def test_slices_have_figures_of_their_own(many):
    result, _ = evaluated(many, slices=["tag", "kind", "level", "group"])
    by = {(one.field, one.value): one for one in result.slices}
    assert by["tag", "easy"].n == by["kind", "item"].n == 40
    assert by["tag", "hard"].n == by["tag", "odd"].n == 20
    assert by["level", "0"].n + by["level", "1"].n == 60
    easy = by["tag", "easy"].measures["hit@1"]
    assert easy.value > by["tag", "hard"].measures["hit@1"].value
    assert easy.value == by["kind", "item"].measures["hit@1"].value
    one_group = by["group", "g0"].measures["hit@1"]
    assert (one_group.n, one_group.groups) == (5, 5), "within one group its questions are drawn"
    many.queries[0].metadata["kind"] = ["item", "new", "new"]
    listed, _ = evaluated(many, slices=["kind"])
    assert {one.value: one.n for one in listed.slices} == {"item": 41, "new": 1, "shelf": 19}
    with pytest.raises(UsageError, match=r"'colour' to slice by; fields: group, tag, kind, level"):
        evaluated(many, slices=["colour"])


def test_the_worst_questions_come_with_what_was_found_and_what_was_right(many):
    result, rankings = evaluated(many, worst=4, measure="mrr@10")
    assert len(result.worst) == 4
    values = [one.value for one in result.worst]
    everything = sorted(q.values["python:HashEmbedder"]["mrr@10"] for q in result.queries)
    assert values == everything[:4]
    first = result.worst[0]
    ranks = [document for document, _ in rankings[0].found(rankings[0].queries.index(first.id))]
    assert [found.id for found in first.found] == ranks[:3]
    (right,) = first.relevant
    assert ranks[right.rank - 1] == right.id
    assert right.text
    assert first.found[0].grade is None


def test_a_relevant_document_below_the_depth_is_not_found(many):
    result, _ = evaluated(many, depth=1, cutoffs=[1], worst=1)
    assert result.depth == 1
    assert result.worst[0].relevant[0].rank is None


def test_a_ranking_is_as_deep_as_anything_looks(many):
    shallow, _ = evaluated(many, depth=1, cutoffs=[1, 20])
    whole, _ = evaluated(many, cutoffs=[1, 20])
    assert shallow.depth == 20
    for name in ("recall@20", "ndcg@20"):
        assert shallow.systems[0].measures[name] == whole.systems[0].measures[name]


def test_demands_are_met_missed_or_left_open(many):
    demands = [("recall@60", 0.999), ("hit@1", 0.999), ("hit@1", 0.6), ("map", 0.0)]
    result, _ = evaluated(many, at_least=demands)
    first, second, third, fourth = result.demands
    assert first.outcome == "cannot tell", "all found, in 12 groups: the rate may still be lower"
    assert first.estimate.value == 1
    assert second.outcome == "missed"
    assert third.outcome == "cannot tell"
    assert "cannot tell with n = 60: the interval" in third.why
    assert fourth.outcome == "met"
    assert result.exit_code == 1
    assert evaluated(many, at_least=[("hit@1", 0.6)])[0].exit_code == 11
    assert evaluated(many, at_least=[("map", 0.0)])[0].exit_code == 0


def test_a_demand_without_an_interval_cannot_be_told(shop):
    result, _ = evaluated(shop, at_least=[("map", 0.1)])
    assert result.demands[0].outcome == "cannot tell"
    assert "there is no interval, 3 independent questions" in result.demands[0].why


def test_demands_are_parsed():
    assert parse_demand("nDCG@10 = 0.5") == ("ndcg@10", 0.5)
    for bad in ("ndcg@10", "ndcg@10=2", "ndcg@10=nan", "=0.5", "ndcg=0.5"):
        with pytest.raises(UsageError):
            parse_demand(bad)


def test_bad_arguments_are_refused_before_anything_is_embedded(many):
    embedder = HashEmbedder()
    for options in (
        {"cutoffs": [0]},
        {"measure": "f1"},
        {"gains": "steep"},
        {"relevant_from": 0},
        {"slices": ["x"]},
        {"depth": 0},
    ):
        with pytest.raises(UsageError):
            evaluated(many, embedder, **options)
    assert embedder.texts == []


def test_the_same_twice(many):
    assert evaluated(many)[0] == evaluated(many)[0]


def test_a_run_that_is_called_like_a_baseline_keeps_figures_of_its_own(many, tmp_path):
    _, rankings = evaluated(many)
    write_run(rankings[0], tmp_path / "BM25")
    result, _ = evaluated(many, runs=[tmp_path / "BM25"])
    names = [one.name for one in result.systems]
    assert len(set(names)) == len(names) == 4
    assert result.systems[1].measures == result.systems[0].measures


def test_of_equally_bad_questions_the_one_whose_answer_stands_lower_comes_first(many):
    result, _ = evaluated(many, worst=60, measure="hit@1", cutoffs=[1])
    missed = [one for one in result.worst if one.value == 0]
    ranks = [one.relevant[0].rank for one in missed]
    assert len(missed) > 5
    assert ranks == sorted(ranks, reverse=True)
