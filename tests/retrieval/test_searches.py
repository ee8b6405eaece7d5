"""The three searches: dense with ties by id, BM25 by its formula, and their fusion."""

import math

import numpy as np
import pytest
from made_collections import NOTICES, QUESTIONS, made

from closecall.embedders.cached import CachedEmbedder
from closecall.errors import DataError, EmbeddingError
from closecall.records import Role
from closecall.retrieval.bm25 import search_bm25
from closecall.retrieval.dense import search
from closecall.retrieval.fusion import fused
from closecall.retrieval.ranking import Ranking, ranked
from closecall.testing import HashEmbedder


def dense(collection, embedder=None, **options):
    queries = [query for query, _ in collection.asked()]
    options = {"name": "hash", "depth": 10, **options}
    return search(collection, queries, CachedEmbedder(embedder or HashEmbedder()), **options)


def ids(ranking, row):
    return [document for document, _ in ranking.found(row)]


def test_the_nearest_documents_come_first_with_their_cosines(shop):
    embedder = HashEmbedder()
    found = dense(shop, embedder)
    assert found.queries == ("q1", "q2", "q3")
    query = embedder.embed(["How long may I return shoes?"])[0]
    bodies = embedder.embed([document.body() for document in shop.documents])
    cosines = {
        document.id: float(query @ body)
        for document, body in zip(shop.documents, bodies, strict=True)
    }
    assert ids(found, 0) == sorted(cosines, key=lambda own: -cosines[own])
    for document, score in found.found(0):
        assert score == pytest.approx(cosines[document], abs=1e-6)


def test_equal_texts_tie_and_go_by_id():
    twins = dict.fromkeys(("c", "a", "d", "b"), ("", "the same words"))
    found = dense(made(twins, {"q": ("the same words", {"c": 1})}))
    assert ids(found, 0) == ["a", "b", "c", "d"]
    assert len({score for _, score in found.found(0)}) == 1


def test_questions_and_documents_are_embedded_in_their_roles(shop):
    seen = []

    class Watched(HashEmbedder):
        def embed_counted(self, texts, role=Role.TEXT):
            seen.append((role, len(texts)))
            return super().embed_counted(texts, role)

    class Prefixed(Watched):
        @property
        def instrument(self):
            import msgspec

            prefixes = {"query": "q: ", "document": "d: "}
            return msgspec.structs.replace(super().instrument, prefixes=prefixes)

    dense(shop, Prefixed())
    assert seen == [(Role.QUERY, 3), (Role.DOCUMENT, 5)]


def test_titles_are_searched_unless_they_are_not_to_be(shop):
    embedder = HashEmbedder()
    dense(shop, embedder)
    assert "Returns You may return shoes within thirty days of delivery." in embedder.texts
    bare = HashEmbedder()
    dense(shop, bare, title=False)
    assert "You may return shoes within thirty days of delivery." in bare.texts
    assert not any("Returns" in text for text in bare.texts)


def test_a_document_without_a_vector_cannot_be_found_and_that_is_said():
    notices = {"d0": ("", "  "), **NOTICES, "d7": ("", "broken text")}

    def fails(texts):
        bad = [at for at, text in enumerate(texts) if "broken" in text]
        if bad:
            raise EmbeddingError("the model refused", bad)

    found = dense(made(notices, QUESTIONS), HashEmbedder(on_embed=fails))
    assert [ids(found, row) for row in range(3)] == [
        ids(dense(made(NOTICES, QUESTIONS)), row) for row in range(3)
    ]
    assert found.incomplete
    said = " ".join(found.notes)
    assert "2 of 7 documents have no vector and cannot be found (1 blank, 1 failed)" in said


def test_a_blank_document_alone_leaves_nothing_incomplete():
    assert not dense(made({**NOTICES, "d6": ("", " ")}, QUESTIONS)).incomplete


def test_a_question_without_a_vector_has_no_ranking():
    asked = {**QUESTIONS, "q5": (" ", {"d1": 1})}
    found = dense(made(NOTICES, asked))
    assert set(found.absent) == {"q5"}
    assert "blank" in found.absent["q5"]
    assert ids(found, 3) == []


def test_nothing_to_search_is_an_error_with_the_reasons():
    with pytest.raises(DataError, match=r"no question of 1 has a vector \(1: the text is blank"):
        dense(made(NOTICES, {"q": (" ", {"d1": 1})}))


def test_progress_counts_texts(shop):
    told = []
    dense(shop, progress=lambda done, total: told.append((done, total)))
    assert told == [(3, 8), (8, 8)]


def test_bm25_is_its_formula():
    notices = {
        "a": ("", "red red apple"),
        "b": ("", "red pear and plum"),
        "c": ("", "green leaf"),
    }
    collection = made(notices, {"q": ("Red apple?", {"a": 1})})
    found = search_bm25(collection, collection.queries, depth=10)
    average = (3 + 4 + 2) / 3

    def part(tf, df, length):
        weight = math.log(1 + (3 - df + 0.5) / (df + 0.5))
        return weight * tf / (tf + 1.5 * (1 - 0.75 + 0.75 * length / average))

    scores = dict(found.found(0))
    assert scores["a"] == pytest.approx(part(2, 2, 3) + part(1, 1, 3), rel=1e-5)
    assert scores["b"] == pytest.approx(part(1, 2, 4), rel=1e-5)
    assert "c" not in scores, "it shares no word with the question"


def test_bm25_ties_go_by_id_and_words_of_any_script_count():
    notices = {"b": ("", "東京 は"), "a": ("", "東京 は"), "c": ("", "Straße")}
    asked = {"q1": ("京", {"a": 1}), "q2": ("STRASSE straße", {"c": 1}), "q3": ("?!", {"a": 1})}
    collection = made(notices, asked)
    found = search_bm25(collection, collection.queries, depth=10)
    assert [ids(found, row) for row in range(3)] == [["a", "b"], ["c"], []]
    assert not found.absent, "nothing found is a result"
    assert "1 of 3 questions share no word" in found.notes[0]


def test_bm25_of_documents_without_words_finds_nothing():
    collection = made({"a": ("", "..."), "b": ("", "")}, {"q": ("word", {"a": 1})})
    assert ids(search_bm25(collection, collection.queries, depth=2), 0) == []


def test_bm25_prints_no_progress(shop, capfd):
    search_bm25(shop, shop.queries, depth=3)
    assert capfd.readouterr() == ("", "")


def given(name, *rows, kind="dense", absent=()):
    width = max(map(len, rows))
    positions = np.full((len(rows), width), -1, dtype=np.int64)
    for at, row in enumerate(rows):
        positions[at, : len(row)] = row
    return Ranking(
        name,
        kind,
        tuple(f"q{at}" for at in range(len(rows))),
        ("a", "b", "c", "d"),
        positions,
        np.zeros(positions.shape),
        dict.fromkeys(absent, "why"),
    )


def test_fusion_adds_up_reciprocal_ranks():
    found = fused([given("x", [0, 1, 2]), given("y", [2, 3, 0])])
    sums = {"a": 1 / 61 + 1 / 63, "b": 1 / 62, "c": 1 / 63 + 1 / 61, "d": 1 / 62}
    assert dict(found.found(0)) == pytest.approx({own: sums[own] for own in ("a", "c", "b")}), (
        "as many as the deeper of the two holds; of b and d, that tie, the first id"
    )
    assert ids(found, 0) == ["a", "c", "b"]


def test_fusion_has_no_ranking_where_one_of_the_two_has_none():
    found = fused([given("x", [0], [1], absent=["q1"]), given("y", [0], [1])])
    assert found.absent == {"q1": "why"}
    assert ids(found, 0) == ["a"]
    assert ids(found, 1) == []


def test_only_like_rankings_are_fused():
    with pytest.raises(DataError, match="same questions"):
        fused([given("x", [0]), given("y", [0], [1])])


def test_the_best_scores_are_kept_with_ties_by_position():
    positions, scores = ranked(np.array([1.0, 3.0, 1.0, 0.0, 3.0, 1.0]), 4, above=0.0)
    assert positions.tolist() == [1, 4, 0, 2]
    assert scores.tolist() == [3, 3, 1, 1]
    positions, _ = ranked(np.array([0.0, 2.0, 0.0]), 3, above=0.0)
    assert positions.tolist() == [1, -1, -1]
