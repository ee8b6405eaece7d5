"""Retrieval measures against ir-measures, the field's own implementation, on the same runs."""

import random

import pytest

from closecall.retrieval.collection import Document, Query, assembled
from closecall.retrieval.dense import search
from closecall.retrieval.evaluate import evaluate_retrieval
from closecall.retrieval.measures import judged, measure_names, values
from closecall.retrieval.reading import open_collection
from closecall.retrieval.run_file import read_run, write_run

ir_measures = pytest.importorskip("ir_measures")

CUTOFFS = (1, 3, 5, 10, 100)
NAMES = measure_names(CUTOFFS)
EXACT = 1e-9


def theirs(name, relevant_from):
    """Return the measure of ir-measures for one of ours."""
    kind, _, k = name.partition("@")
    base = {
        "recall": ir_measures.R,
        "precision": ir_measures.P,
        "hit": ir_measures.Success,
        "mrr": ir_measures.RR,
        "ndcg": ir_measures.nDCG,
        "map": ir_measures.AP,
        "rprec": ir_measures.Rprec,
    }[kind]
    made = base if kind == "ndcg" else base(rel=relevant_from)
    return made @ int(k) if k else made


def oracle(run, grades, relevant_from, names=NAMES, *, ties=False):
    """Return what ir-measures says of a run file: (query, our name) to value.

    RR@k is the one measure it takes from MS MARCO's script, which orders equal scores the other
    way round. With ``ties`` it is taken from trec_eval's RR, which has no cutoff.
    """
    qrels = [
        ir_measures.Qrel(query, document, grade)
        for query, graded in grades.items()
        for document, grade in graded.items()
    ]
    lines = list(ir_measures.read_trec_run(str(run)))
    cut = [name for name in names if ties and name.startswith("mrr@")]
    by_name = {theirs(name, relevant_from): name for name in names if name not in cut}
    whole = ir_measures.RR(rel=relevant_from)
    found = {}
    for one in ir_measures.iter_calc([*by_name, whole], qrels, lines):
        if one.measure != whole:
            found[one.query_id, by_name[one.measure]] = one.value
            continue
        for name in cut:
            within = one.value >= 1 / int(name.partition("@")[2]) - EXACT
            found[one.query_id, name] = one.value if within else 0.0
    return found


def random_collection(seed, *, highest, missing=True):
    rng = random.Random(seed)
    ids = [f"d{at}" for at in range(60)]
    queries = [f"q{at}" for at in range(25)]
    grades = {}
    for query in queries:
        pool = [*ids, "not-in-the-corpus"] if missing else ids
        some = rng.sample(pool, rng.randint(1, 12))
        grades[query] = {document: rng.randint(-1, highest) for document in some}
    return assembled(
        "random",
        {own: Document(id=own, text=own) for own in ids},
        {own: Query(id=own, text=own) for own in queries},
        grades,
        qrels="qrels",
    )


def random_run(seed, collection, path):
    """Write a run with many equal scores and ranks that say nothing."""
    rng = random.Random(seed)
    ids = [*(document.id for document in collection.documents), "elsewhere"]
    with path.open("w", encoding="utf-8") as file:
        for query in collection.queries:
            for document in rng.sample(ids, rng.randint(1, len(ids))):
                score = rng.choice([0.1, 0.5, 0.5000000001, -3, 2, rng.random()])
                file.write(f"{query.id} Q0 {document} {rng.randint(1, 99)} {score} t\n")
    return path


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("relevant_from", [1, 2])
def test_every_measure_of_a_run_file_with_ties(tmp_path, seed, relevant_from):
    collection = random_collection(seed, highest=3)
    run = random_run(seed + 100, collection, tmp_path / "a.run")
    asked = {query.id: graded for query, graded in collection.asked(relevant_from)}
    ranking = read_run(run, collection, tuple(asked))
    expected = oracle(run, collection.grades, relevant_from, ties=True)
    compared = 0
    for query, found in zip(ranking.queries, judged(ranking, asked, relevant_from), strict=True):
        for name, value in values(found, NAMES).items():
            assert value == pytest.approx(expected[query, name], abs=EXACT), (query, name)
            compared += 1
    assert compared >= 15 * len(NAMES)


def test_exponential_gains_are_the_linear_gains_of_raised_grades(tmp_path):
    collection = random_collection(3, highest=4)
    run = random_run(4, collection, tmp_path / "a.run")
    asked = {query.id: graded for query, graded in collection.asked()}
    raised = {
        query: {d: 2 ** max(grade, 0) - 1 for d, grade in graded.items()}
        for query, graded in collection.grades.items()
    }
    names = [name for name in NAMES if name.startswith("ndcg")]
    expected = oracle(run, raised, 1, names)
    ranking = read_run(run, collection, tuple(asked))
    for query, found in zip(ranking.queries, judged(ranking, asked, 1), strict=True):
        for name, value in values(found, names, "exponential").items():
            assert value == pytest.approx(expected[query, name], abs=EXACT)


def test_a_search_with_ties_is_measured_as_the_run_written_of_it(tmp_path):
    from closecall.embedders.cached import CachedEmbedder
    from closecall.testing import HashEmbedder

    rng = random.Random(5)
    texts = [
        " ".join(rng.choices(["ash", "birch", "cedar", "elm", "fir"], k=3)) for _ in range(40)
    ]
    documents = {f"d{at}": Document(id=f"d{at}", text=text) for at, text in enumerate(texts)}
    queries = {f"q{at}": Query(id=f"q{at}", text=texts[at]) for at in range(20)}
    grades = {query: {rng.choice(list(documents)): 1, "d7": 1} for query in queries}
    collection = assembled("trees", documents, queries, grades, qrels="qrels")
    ranking = search(
        collection,
        list(queries.values()),
        CachedEmbedder(HashEmbedder()),
        name="hash",
        depth=40,
    )
    assert any(len(set(row)) < len(row) for row in ranking.scores.tolist()), (
        "equal texts must tie, or this tests nothing"
    )
    write_run(ranking, tmp_path / "a.run")
    expected = oracle(tmp_path / "a.run", grades, 1)
    for query, found in zip(ranking.queries, judged(ranking, grades, 1), strict=True):
        for name, value in values(found, NAMES).items():
            assert value == pytest.approx(expected[query, name], abs=EXACT)


def test_xquad_end_to_end(tmp_path, shared_data):
    collection = open_collection([shared_data / "retrieval" / "xquad_en"])
    result, rankings = evaluate_retrieval(collection, cutoffs=CUTOFFS, cache=tmp_path / "cache")
    assert [one.kind for one in result.systems] == ["dense", "bm25", "fusion"]
    for system, ranking in zip(result.systems, rankings, strict=True):
        write_run(ranking, tmp_path / "a.run")
        expected = oracle(tmp_path / "a.run", collection.grades, 1)
        for query in result.queries:
            for name, value in query.values[system.name].items():
                assert value == pytest.approx(expected[query.id, name], abs=EXACT)
        assert system.n == 723
        assert system.measures["recall@10"].value > 0.97
