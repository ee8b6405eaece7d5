"""Token vectors through the cache: asked for once, remembered by size, checked, never stored."""

import weakref

import numpy as np
import pytest

from closecall.cache import VectorCache
from closecall.embedders.base import (
    Counted,
    Embedded,
    Failure,
    NoPiecesError,
    PieceEmbedder,
    Pieces,
    TextKey,
)
from closecall.embedders.cached import CachedEmbedder, FetchStats
from closecall.embedders.checked import Checked
from closecall.embedders.remembered import SPAN_BYTES
from closecall.errors import ConfigurationError, EmbeddingError, TextTooLongError
from closecall.instrument import Instrument, cache_key
from closecall.records import Role, Tokens
from closecall.testing import HashEmbedder

DIMS = 8
HASH = HashEmbedder(DIMS)


class Words(HashEmbedder):
    """Notes how it is called, and spoils what it is told to."""

    def __init__(self, spoil=None, before=None, drift=0.0, prefixes=None):
        super().__init__(DIMS)
        self.calls = []
        self._spoil = spoil or (lambda found, text: found)
        self._before = before or (lambda texts, how: None)
        self._drift = drift
        self._pieces_under_way = False
        if prefixes:
            self._instrument = Instrument(
                kind="test", model="prefixed", provider="local", dims=DIMS, prefixes=prefixes
            )

    def embed_counted(self, texts, role=Role.TEXT):
        if not self._pieces_under_way:
            self.calls.append(("vectors", list(texts)))
            self._before(list(texts), "vectors")
        vectors, tokens = super().embed_counted(texts, role)
        return Counted(vectors + np.float32(self._drift), tokens)

    def embed_pieces(self, texts, role=Role.TEXT):
        self.calls.append(("pieces", list(texts)))
        self._before(list(texts), "pieces")
        self._pieces_under_way = True
        found = super().embed_pieces(texts, role)
        self._pieces_under_way = False
        return [self._spoil(one, text) for one, text in zip(found, texts, strict=True)]


class Plain:
    """An embedder that knows nothing of pieces."""

    def __init__(self):
        self.inner = HashEmbedder(DIMS)
        self.instrument = self.inner.instrument

    def embed(self, texts, role=Role.TEXT):
        return self.inner.embed(texts, role)


class Recorder:
    """A store that keeps how it was used."""

    def __init__(self, known=()):
        self.gets, self.puts = [], []
        self._known = dict(known)

    def get_many(self, instrument, names):
        self.gets.append(len(names))
        return {name: self._known[name] for name in names if name in self._known}

    def put_many(self, instrument, rows):
        self.puts.append(list(rows))

    def close(self):
        raise AssertionError("the store is its owner's to close")


def whole(*texts, role=Role.TEXT):
    return [TextKey(text, role, pieces=True) for text in texts]


def alone(*texts, role=Role.TEXT):
    return [TextKey(text, role) for text in texts]


def assert_pieces(outcome, text):
    (expected,) = HASH.embed_pieces([text])
    assert isinstance(outcome, Embedded)
    assert outcome.pieces.spans == expected.pieces.spans
    assert outcome.pieces.vectors.tobytes() == expected.pieces.vectors.tobytes()
    assert outcome.vector.tobytes() == expected.vector.tobytes()
    assert outcome.tokens == expected.tokens


# --- the fake ----------------------------------------------------------------------------------


def test_the_fake_makes_a_piece_of_each_word():
    assert isinstance(HASH, PieceEmbedder)
    one, two, blank = HASH.embed_pieces(["Red cat\r\nran", " cat ", "  "])
    assert one.pieces.spans == ((0, 3), (4, 7), (8, 11))
    assert two.pieces.spans == ((1, 4),)
    assert blank.pieces.vectors.shape == (0, DIMS)
    assert one.pieces.vectors[1].tobytes() == two.pieces.vectors[0].tobytes()
    assert two.pieces.vectors[0] == pytest.approx(two.vector)
    assert np.linalg.norm(one.pieces.vectors, axis=1) == pytest.approx([1, 1, 1])
    assert one.pieces.vectors[0] == pytest.approx(HASH.embed(["red"])[0])
    vectors, tokens = HASH.embed_counted(["Red cat\r\nran", " cat ", "  "])
    assert [found.vector.tobytes() for found in (one, two, blank)] == [
        v.tobytes() for v in vectors
    ]
    assert [found.tokens for found in (one, two, blank)] == tokens


def test_the_fake_asks_once_for_both():
    asked = []
    embedder = HashEmbedder(DIMS, on_embed=asked.append)
    embedder.embed_pieces(["a", "b c"])
    assert asked == [["a", "b c"]]
    assert embedder.texts == ["a", "b c"]


# --- what comes --------------------------------------------------------------------------------


def test_pieces_come_exactly_where_they_are_asked_for():
    embedder = Words()
    found = CachedEmbedder(embedder).fetch([*whole("red cat", "dog"), *alone("red cat", "bird")])
    assert_pieces(found[TextKey("red cat", pieces=True)], "red cat")
    assert_pieces(found[TextKey("dog", pieces=True)], "dog")
    assert found[TextKey("red cat")].pieces is None
    assert found[TextKey("bird")].pieces is None
    assert embedder.calls == [("pieces", ["red cat", "dog"]), ("vectors", ["bird"])]
    assert (
        found[TextKey("red cat")].vector.tobytes()
        == found[TextKey("red cat", pieces=True)].vector.tobytes()
    )


@pytest.mark.parametrize("order", [slice(None), slice(None, None, -1)], ids=["first", "last"])
def test_a_text_asked_for_both_ways_is_embedded_once(order):
    embedder = Words()
    cached = CachedEmbedder(embedder)
    keys = [*whole("e\u0301 a"), *alone("é a"), *alone("é a", role=Role.QUERY)][order]
    found = cached.fetch(keys)
    assert embedder.calls == [("pieces", ["é a"])]
    assert len(found) == 3
    assert cached.stats == FetchStats(asked=3, unique=1, embedded=1)


def test_spans_are_of_the_canonical_text():
    text = "Cafe\u0301\r\nred"
    (found,) = CachedEmbedder(Words()).fetch(whole(text)).values()
    assert found.pieces.spans == ((0, 4), (5, 8))


def test_roles_with_their_own_prefix_are_asked_for_apart():
    embedder = Words(prefixes={"query": "query: "})
    cached = CachedEmbedder(embedder)
    cached.fetch([*whole("a", "b"), *whole("a", role=Role.QUERY), *whole("b", role=Role.DOCUMENT)])
    assert embedder.calls == [("pieces", ["a", "b"]), ("pieces", ["a"])]


def test_pieces_hold_no_batch_and_cannot_be_written_to():
    batch = np.zeros((100, DIMS), dtype=np.float32)
    batch[:, 0] = 1

    def in_batch(found, text):
        return found._replace(pieces=Pieces(batch[:1], ((0, 1),)))

    (found,) = CachedEmbedder(Words(spoil=in_batch)).fetch(whole("a")).values()
    batch[:] = 0
    assert found.pieces.vectors[0, 0] == 1
    with pytest.raises(ValueError, match="read-only"):
        found.pieces.vectors[:] = 0

    def read_only_view(found, text):
        view = batch[:1]
        view.flags.writeable = False
        return found._replace(pieces=Pieces(view, ((0, 1),)))

    batch[:, 0] = 1
    (found,) = CachedEmbedder(Words(spoil=read_only_view)).fetch(whole("a")).values()
    assert not np.shares_memory(found.pieces.vectors, batch)


def test_an_array_nobody_can_write_to_is_not_copied():
    made = []

    def note(found, text):
        made.append(found.pieces.vectors)
        return found

    (found,) = CachedEmbedder(Words(spoil=note)).fetch(whole("red cat")).values()
    assert found.pieces.vectors is made[0]


# --- memory ------------------------------------------------------------------------------------


def test_pieces_are_remembered_and_answer_for_the_vector_too():
    embedder = Words()
    cached = CachedEmbedder(embedder)
    first = cached.fetch(whole("red cat"))
    again = cached.fetch([*whole("red cat"), *alone("red cat")])
    assert len(embedder.calls) == 1
    assert again[TextKey("red cat", pieces=True)] is first[TextKey("red cat", pieces=True)]
    assert again[TextKey("red cat")].pieces is None
    assert cached.stats == FetchStats(asked=3, unique=2, memory_hits=1, embedded=1)


def test_a_remembered_vector_does_not_answer_for_pieces_but_stays_the_vector():
    embedder = Words()
    cached = CachedEmbedder(embedder)
    (before,) = cached.fetch(alone("red cat")).values()
    embedder._drift = 0.25  # as an embedder whose last bits change from call to call
    (after,) = cached.fetch(whole("red cat")).values()
    assert [how for how, _ in embedder.calls] == ["vectors", "pieces"]
    assert after.pieces.spans == ((0, 3), (4, 7))
    assert after.vector.tobytes() == before.vector.tobytes()
    assert cached.stats == FetchStats(asked=2, unique=2, embedded=2)


def test_memory_counts_the_bytes_of_pieces():
    cached = CachedEmbedder(Words())
    cached.fetch(alone("a"))
    bare = cached.memory_bytes
    cached.fetch(whole(" ".join("abcdefghij" * 50)))
    assert cached.memory_bytes - 2 * bare == 500 * (DIMS * 4 + SPAN_BYTES)


def test_the_least_recently_used_pieces_go_first():
    embedder = Words()
    words = " ".join(f"w{n}" for n in range(100))
    one = CachedEmbedder(Words())
    one.fetch(whole(words))
    cached = CachedEmbedder(embedder, memory_bytes=int(2.5 * one.memory_bytes))
    texts = [words + end for end in "abc"]
    cached.fetch(whole(texts[0]))
    cached.fetch(whole(texts[1]))
    cached.fetch(alone(texts[0]))  # used again, by its vector
    cached.fetch(whole(texts[2]))
    assert cached.memory_bytes <= 2.5 * one.memory_bytes
    embedder.calls.clear()
    cached.fetch(whole(texts[0], texts[2]))
    assert embedder.calls == []
    cached.fetch(whole(texts[1]))
    assert embedder.calls == [("pieces", [texts[1]])]


def test_pieces_larger_than_the_memory_drive_nothing_out():
    embedder = Words()
    cached = CachedEmbedder(embedder, memory_bytes=3000)
    cached.fetch(alone("a", "b"))
    big = " ".join("abcdefghij" * 10)
    assert isinstance(cached.fetch(whole(big))[TextKey(big, pieces=True)], Embedded)
    embedder.calls.clear()
    cached.fetch(alone("a", "b"))
    assert embedder.calls == []
    cached.fetch(whole(big))
    assert len(embedder.calls) == 1


def test_without_memory_nothing_is_held():
    cached = CachedEmbedder(Words(), memory_bytes=0)
    found = cached.fetch(whole("red cat"))
    assert cached.memory_bytes == 0
    rows = weakref.ref(found[TextKey("red cat", pieces=True)].pieces.vectors)
    assert rows() is not None
    del found
    assert rows() is None


# --- the store ---------------------------------------------------------------------------------


def test_the_store_gets_the_vector_and_never_the_pieces():
    store = Recorder()
    cached = CachedEmbedder(Words(), store)
    cached.fetch([*whole("red cat", "dog"), *alone("red cat", "bird")])
    assert store.gets == [3]
    stored = [row for rows in store.puts for row in rows]
    assert [key for _, key, _ in stored] == alone("red cat", "dog", "bird")
    assert all(value.pieces is None for _, _, value in stored)
    assert [name for name, _, _ in stored] == [
        cache_key(HASH.instrument, Role.TEXT, text) for text in ("red cat", "dog", "bird")
    ]


def test_the_store_serves_the_vector_and_the_model_the_pieces(tmp_path):
    texts = [f"text {n}" for n in range(20)]
    with VectorCache(tmp_path / "v.sqlite3") as store:
        first = CachedEmbedder(Words(), store).fetch(whole(*texts))
        embedder = Words()
        second = CachedEmbedder(embedder, store)
        found = second.fetch(alone(*texts))
        assert embedder.calls == []
        assert second.stats == FetchStats(asked=20, unique=20, store_hits=20)
        for key, value in first.items():
            assert value.vector.tobytes() == found[TextKey(key.text)].vector.tobytes()
            assert value.tokens == found[TextKey(key.text)].tokens

        drifted = Words(drift=0.25)
        third = CachedEmbedder(drifted, store)
        found = third.fetch([*whole(*texts), *alone(*texts, "new")])
        assert drifted.calls == [("pieces", texts), ("vectors", ["new"])]
        assert third.stats == FetchStats(asked=41, unique=21, embedded=21)
        for key, value in first.items():
            assert found[key].vector.tobytes() == value.vector.tobytes(), "one text, one vector"
            assert found[TextKey(key.text)].vector.tobytes() == value.vector.tobytes()
            assert found[key].pieces.vectors.tobytes() == value.pieces.vectors.tobytes()


def test_a_stored_vector_is_not_written_again():
    name = cache_key(HASH.instrument, Role.TEXT, "red cat")
    store = Recorder({name: Embedded(HASH.embed(["red cat"])[0], Tokens(9, 9))})
    (found,) = CachedEmbedder(Words(), store).fetch(whole("red cat")).values()
    assert store.puts == []
    assert found.tokens == Tokens(9, 9), "what was stored with the vector goes with it"


# --- embedders without pieces ------------------------------------------------------------------


def test_an_embedder_that_makes_none_says_so_and_still_gives_vectors():
    embedder = Plain()
    cached = CachedEmbedder(embedder, Recorder())
    found = cached.fetch([*whole("a", "b"), *alone("a", "c")])
    for text in "ab":
        outcome = found[TextKey(text, pieces=True)]
        assert isinstance(outcome, Failure)
        assert outcome.no_pieces
        assert not outcome.unreadable
        assert "hash-words (local): it makes one vector a text" in outcome.reason
        assert "--embedder minilm" in outcome.reason
    assert isinstance(found[TextKey("a")], Embedded)
    assert isinstance(found[TextKey("c")], Embedded)
    assert embedder.inner.texts == ["a", "c"], "no work for what never comes"
    assert cached.stats == FetchStats(asked=4, unique=3, embedded=1, failed=2)


def test_a_model_that_turns_out_to_make_none():
    def before(texts, how):
        if how == "pieces":
            raise NoPiecesError("its graph has none")

    embedder = Words(before=before)
    cached = CachedEmbedder(embedder)
    for _ in range(2):
        found = cached.fetch([*whole("a", "b"), *alone("a")])
        assert found[TextKey("a", pieces=True)].no_pieces
        assert "its graph has none" in found[TextKey("b", pieces=True)].reason
        assert isinstance(found[TextKey("a")], Embedded)
    assert embedder.calls == [("pieces", ["a", "b"]), ("vectors", ["a"])]


# --- what goes wrong ---------------------------------------------------------------------------


ROW = np.array([[1, *[0] * (DIMS - 1)]], dtype=np.float32)


@pytest.mark.parametrize(
    ("pieces", "what"),
    [
        (Pieces(ROW * np.nan, ((0, 1),)), "NaN"),
        (Pieces(np.full((1, DIMS), -np.inf, np.float32), ((0, 1),)), "NaN or infinity"),
        (Pieces(ROW.astype(np.float64) * 1e300, ((0, 1),)), "infinity"),
        (Pieces(ROW * 0, ((0, 1),)), "length is not 1"),
        (Pieces(ROW * np.float32(1.002), ((0, 1),)), "length is not 1"),
        (Pieces(ROW * np.float32(0.998), ((0, 1),)), "length is not 1"),
        (Pieces(ROW[:, :-1], ((0, 1),)), "shape (1, 7), not (1, 8)"),
        (Pieces(ROW[0], ((0, 1),)), "shape (8,)"),
        (Pieces(ROW, ()), "shape (1, 8), not (0, 8)"),
        (Pieces(ROW, ((0, 1), (1, 2))), "not (2, 8)"),
        (Pieces(ROW.astype(int), ((0, 1),)), "dtype int64"),
        (Pieces(ROW, ((0, 6),)), "span (0, 6)"),
        (Pieces(ROW, ((-1, 1),)), "span (-1, 1)"),
        (Pieces(ROW, ((2, 2),)), "span (2, 2)"),
        (Pieces(ROW, ((3, 1),)), "span (3, 1)"),
        (Pieces(np.vstack([ROW, ROW]), ((2, 3), (0, 1))), "span (0, 1)"),
        (Pieces(np.vstack([ROW, ROW]), ((0, 3), (1, 2))), "span (1, 2)"),
        (Pieces(np.vstack([ROW, ROW]), ((1, 2), (0, 3))), "span (0, 3)"),
        (Pieces(ROW, ((0.0, 1.0),)), "a span each"),
        (Pieces(ROW, ((0, 1, 2),)), "a span each"),
        (Pieces(ROW, None), "a span each"),
        (Pieces(None, ((0, 1),)), "dtype object"),
        (Pieces([[1.0], [1.0, 2.0]], ((0, 1),)), "a span each"),
        (None, "a span each"),
    ],
)
def test_unsound_pieces_fail_their_text_alone(pieces, what):
    spoil = lambda found, text: found._replace(pieces=pieces) if text == "b cde" else found  # noqa: E731
    embedder = Words(spoil=spoil)
    cached = CachedEmbedder(embedder)
    found = cached.fetch([*whole("a", "b cde", "c"), *alone("b cde")])
    assert_pieces(found[TextKey("a", pieces=True)], "a")
    assert_pieces(found[TextKey("c", pieces=True)], "c")
    failed = found[TextKey("b cde", pieces=True)]
    assert isinstance(failed, Failure)
    assert what in failed.reason
    assert "hash-words (local)" in failed.reason
    assert not failed.no_pieces
    assert isinstance(found[TextKey("b cde")], Embedded), "its vector is as good as ever"
    assert embedder.calls == [
        ("pieces", ["a", "b cde", "c"]),
        ("pieces", ["b cde"]),
        ("vectors", ["b cde"]),
    ]
    assert cached.stats == FetchStats(asked=4, unique=3, embedded=2, failed=1)


@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param(Pieces(ROW * np.float32(1.0005), ((0, 5),)), id="nearly-unit"),
        pytest.param(Pieces(ROW.tolist(), [[0, 1]]), id="lists"),
        pytest.param(Pieces(ROW.astype(np.float64), ((np.int64(1), 2),)), id="other-numbers"),
        pytest.param(Pieces(ROW.astype(">f4"), ((0, 1),)), id="byte-order"),
        pytest.param(Pieces(np.vstack([ROW, ROW]), ((0, 1), (0, 1))), id="shared-sign"),
        pytest.param(Pieces(np.empty((0, DIMS), np.float32), ()), id="none"),
    ],
)
def test_what_is_sound_is_taken(pieces):
    embedder = Words(spoil=lambda found, text: found._replace(pieces=pieces))
    (found,) = CachedEmbedder(embedder).fetch(whole("b cde")).values()
    assert isinstance(found, Embedded)
    assert found.pieces.vectors.dtype == np.dtype("=f4")
    assert np.array_equal(found.pieces.vectors, np.asarray(pieces.vectors, dtype=np.float32))
    assert found.pieces.spans == tuple((int(a), int(b)) for a, b in pieces.spans)
    assert {type(number) for span in found.pieces.spans for number in span} <= {int}


def test_pieces_that_are_sound_the_second_time_count():
    tries = []

    def spoil(found, text):
        tries.append(text)
        return found if len(tries) > 1 else found._replace(pieces=Pieces(ROW * 0, ((0, 1),)))

    (found,) = CachedEmbedder(Words(spoil=spoil)).fetch(whole("a")).values()
    assert_pieces(found, "a")


@pytest.mark.parametrize(
    ("vector", "what"), [(np.zeros(DIMS, np.float32), "zero vector"), (np.zeros(3), "shape")]
)
def test_the_vector_that_comes_with_pieces_is_checked_like_any_other(vector, what):
    embedder = Words(spoil=lambda found, text: found._replace(vector=vector))
    (found,) = CachedEmbedder(embedder).fetch(whole("a")).values()
    assert what in found.reason


@pytest.mark.parametrize("result", [[], [1, 2], None, [(1, 2)], "x"])
def test_an_answer_that_is_no_list_of_pieced_texts_fails_the_batch(result):
    class Odd(Words):
        def embed_pieces(self, texts, role=Role.TEXT):
            return result

    found = CachedEmbedder(Odd()).fetch([*whole("a"), *alone("a")])
    assert isinstance(found[TextKey("a", pieces=True)], Failure)
    assert isinstance(found[TextKey("a")], Embedded)


def test_texts_an_error_names_fail_and_the_rest_is_tried_without_them():
    def before(texts, how):
        bad = [at for at, text in enumerate(texts) if text.startswith("bad")]
        if bad and how == "pieces":
            raise EmbeddingError("no direction", bad)

    embedder = Words(before=before)
    found = CachedEmbedder(embedder).fetch([*whole("a", "bad one", "b"), *alone("bad one")])
    assert_pieces(found[TextKey("b", pieces=True)], "b")
    assert "no direction" in found[TextKey("bad one", pieces=True)].reason
    assert isinstance(found[TextKey("bad one")], Embedded)


def test_a_text_too_long_or_unreadable_is_tried_once_for_both():
    def before(texts, how):
        long = [at for at, text in enumerate(texts) if len(text) > 9]
        if long:
            raise TextTooLongError("the window holds 9", long)

    def blind(found, text):
        return found._replace(tokens=Tokens(3, 3, own=1, unknown=1)) if text == "?" else found

    embedder = Words(before=before, spoil=blind)
    cached = CachedEmbedder(embedder)
    both = [*whole("?", "much too long"), *alone("?", "much too long")]
    found = cached.fetch(both)
    for pieces in (True, False):
        assert found[TextKey("?", pieces=pieces)].unreadable
        assert "window" in found[TextKey("much too long", pieces=pieces)].reason
    assert embedder.calls == [("pieces", ["?", "much too long"]), ("pieces", ["?"])]
    for keys in (both, alone("?"), whole("much too long")):
        cached.fetch(keys)
    assert len(embedder.calls) == 2, "what is known of the text holds both ways"


def test_a_vector_known_to_be_missing_needs_no_try_for_pieces():
    def before(texts, how):
        raise TextTooLongError("the window holds 9", range(len(texts)))

    embedder = Words(before=before)
    cached = CachedEmbedder(embedder)
    cached.fetch(alone("long"))
    assert "window" in cached.fetch(whole("long"))[TextKey("long", pieces=True)].reason
    assert len(embedder.calls) == 1


def test_a_batch_that_failed_is_tried_again_when_asked_again():
    def before(texts, how):
        if len(embedder.calls) == 1:
            raise EmbeddingError("busy")

    embedder = Words(before=before)
    cached = CachedEmbedder(embedder)
    assert "busy" in cached.fetch(whole("a"))[TextKey("a", pieces=True)].reason
    assert_pieces(cached.fetch(whole("a"))[TextKey("a", pieces=True)], "a")


def test_a_blank_text_is_never_sent():
    embedder = Words()
    found = CachedEmbedder(embedder).fetch([*whole("", " \n"), *alone(" \n")])
    assert all("blank" in one.reason for one in found.values())
    assert embedder.calls == []


def test_an_embedder_that_cannot_be_used_at_all_is_no_fault_of_a_text():
    def before(texts, how):
        raise ConfigurationError("no key")

    with pytest.raises(ConfigurationError, match="no key"):
        CachedEmbedder(Words(before=before)).fetch(whole("a"))


def test_the_check_alone_gives_one_answer_a_text():
    answers = Checked(Words()).embed(["red cat", "dog"], Role.TEXT, pieces=True)
    assert [len(answer.outcome.pieces.spans) for answer in answers] == [2, 1]
    assert all(answer.lasting for answer in answers)
