"""Replies in any order and form, and those that are never taken for vectors nor kept."""

import json

import numpy as np
import pytest
from asked import TEXTS, after_first, expected, once
from fake_provider import Said, entry

from closecall.cache import VectorCache
from closecall.embedders.base import Embedded, Failure, TextKey
from closecall.embedders.cached import CachedEmbedder
from closecall.errors import EmbeddingError

pytestmark = pytest.mark.loopback

# Order and form of replies


def test_a_reply_in_another_order_is_put_in_order(serve, connect):
    provider = serve()

    def turned(received):
        said = provider.reply(received)
        return said._replace(body=said.body | {"data": said.body["data"][::-1]})

    provider.script = turned
    np.testing.assert_array_equal(connect(provider).embed(TEXTS), expected())


@pytest.mark.parametrize("style", ["openai", "ollama"])
def test_base64_is_asked_for_and_numbers_are_taken_where_they_come(style, serve, connect):
    provider = serve(style)
    found = connect(provider).embed(TEXTS)
    assert {one.body["encoding_format"] for one in provider.requests} == {"base64"}
    numbers = serve(style)
    numbers.script = numbers.reply
    embedder = connect(numbers)
    np.testing.assert_array_equal(embedder.embed(TEXTS), found)
    assert embedder.instrument.options["encoding"] == "float"
    assert connect(provider).instrument.options["encoding"] == "base64"


def test_a_server_without_base64_is_asked_for_numbers(serve, connect):
    provider = serve("openai-compatible")
    provider.encodings = ("float",)
    np.testing.assert_array_equal(connect(provider).embed(TEXTS), expected())
    assert [one.body["encoding_format"] for one in provider.requests] == [
        "base64",
        "float",
        "float",
    ]


def test_vectors_without_an_index_are_asked_for_one_by_one(serve, connect):
    provider = serve("openai-compatible")

    def bare(received):
        said = provider.reply(received)
        for one in said.body["data"]:
            del one["index"]
        return said

    provider.script = bare
    np.testing.assert_array_equal(connect(provider).embed(TEXTS[:2]), expected(TEXTS[:2]))
    assert provider.asked == [TEXTS[:2], TEXTS[:1], TEXTS[1:2]]


# Replies that are refused

WHOLE = {
    "not JSON": lambda p, r: Said(raw=b"<html>busy</html>"),
    "nothing": lambda p, r: Said(raw=b""),
    "cut JSON": lambda p, r: Said(raw=json.dumps(p.reply(r).body).encode()[:-20]),
    "a list": lambda p, r: Said(body=[]),
    "no data": lambda p, r: Said(body={"object": "list", "model": p.model}),
    "an error as success": lambda p, r: Said(body={"error": {"message": "no"}}),
    "one vector too few": lambda p, r: p.reply(r, data=p.reply(r).body["data"][:-1]),
    "one vector too many": lambda p, r: p.reply(
        r, data=[*p.reply(r).body["data"], entry(len(r.texts), [1.0] * p.dims)]
    ),
    "an index twice": lambda p, r: p.reply(
        r, data=[one | {"index": 0} for one in p.reply(r).body["data"]]
    ),
    "an index beyond": lambda p, r: p.reply(
        r, data=[one | {"index": one["index"] + 1} for one in p.reply(r).body["data"]]
    ),
    "another model": lambda p, r: p.reply(r, model="another-model"),
}


@pytest.mark.parametrize("kind", WHOLE)
def test_a_reply_that_cannot_be_used_is_never_a_vector_and_never_kept(
    kind, serve, connect, tmp_path
):
    provider = serve()
    provider.script = after_first(lambda received: WHOLE[kind](provider, received))
    with VectorCache(tmp_path / "cache.sqlite3") as store:
        cached = CachedEmbedder(connect(provider), store)
        found = cached.fetch([TextKey(text) for text in TEXTS])
        assert all(isinstance(outcome, Failure) for outcome in found.values())
        provider.script = lambda received: None
        again = cached.fetch([TextKey(text) for text in TEXTS])
        assert all(isinstance(outcome, Embedded) for outcome in again.values())


@pytest.mark.parametrize("kind", [kind for kind in WHOLE if kind != "another model"])
def test_a_reply_that_cannot_be_used_is_asked_for_once_more(kind, serve, connect):
    provider = serve()
    provider.script = once(lambda received: WHOLE[kind](provider, received))
    np.testing.assert_array_equal(connect(provider).embed(TEXTS), expected())
    assert provider.asked == [TEXTS, TEXTS]


ROWS = {
    "NaN": ([float("nan"), *[0.5] * 7], "NaN or infinity"),
    "infinity": ([float("inf"), *[0.5] * 7], "NaN or infinity"),
    "beyond float32": ([1e300, *[0.5] * 7], "NaN or infinity"),
    "zero": ([0.0] * 8, "zero vector"),
    "too narrow": ([0.5] * 7, "7 numbers instead of 8"),
    "too wide": ([0.5] * 9, "9 numbers instead of 8"),
    "empty": ([], "empty vector"),
    "null in it": ([None, *[0.5] * 7], "null"),
    "text in it": (["0.5", *[0.5] * 7], "not a number"),
    "truth in it": ([True, *[0.5] * 7], "not a number"),
    "null": (None, "no vector"),
    "bad base64": ("!!!", "base64"),
    "odd base64": ("AAAAAAA=", "whole numbers"),
}


def spoil(provider, value, index=1):
    def reply(received):
        said = provider.reply(received)
        if "two words" in received.texts:
            place = received.texts.index("two words")
            said.body["data"][place]["embedding"] = value
        return said

    return reply


@pytest.mark.parametrize("kind", ROWS)
def test_one_bad_vector_spoils_no_other_and_is_named(kind, serve, connect, tmp_path):
    value, words = ROWS[kind]
    provider = serve()
    provider.script = after_first(spoil(provider, value))
    with VectorCache(tmp_path / "cache.sqlite3") as store:
        cached = CachedEmbedder(connect(provider), store)
        found = cached.fetch([TextKey(text) for text in TEXTS])
        bad = found[TextKey("two words")]
        assert isinstance(bad, Failure)
        assert words in bad.reason
        assert "twice" in bad.reason
        assert sum(isinstance(one, Embedded) for one in found.values()) == 4
        # Asked for twice, together and alone; the others were paid for once.
        assert provider.asked == [TEXTS, ["two words"]]
        names = [key for key in found if key.text != "two words"]
        assert cached.stats.embedded == len(names)
        provider.script = lambda received: None
        fresh = CachedEmbedder(connect(provider), store)
        assert isinstance(fresh.fetch([TextKey("two words")])[TextKey("two words")], Embedded)
        assert fresh.stats.store_hits == 0


@pytest.mark.parametrize("kind", ROWS)
def test_a_bad_vector_never_leaves_the_embedder(kind, serve, connect):
    provider = serve()
    provider.script = after_first(spoil(provider, ROWS[kind][0]))
    with pytest.raises(EmbeddingError, match=ROWS[kind][1]) as caught:
        connect(provider).embed(TEXTS)
    assert caught.value.indices == (1,)


def test_one_bad_vector_that_is_sound_the_second_time_is_taken(serve, connect):
    provider = serve()
    provider.script = once(spoil(provider, [float("nan")] * 8))
    np.testing.assert_array_equal(connect(provider).embed(TEXTS), expected())


def test_what_the_others_got_is_not_asked_for_again(serve, connect):
    provider = serve()
    provider.script = after_first(spoil(provider, [0.0] * 8))
    embedder = connect(provider)
    with pytest.raises(EmbeddingError) as caught:
        embedder.embed(TEXTS)
    assert caught.value.indices == (1,)
    sent = len(provider.requests)
    left = [text for text in TEXTS if text != "two words"]
    np.testing.assert_array_equal(embedder.embed(left), expected(left))
    assert len(provider.requests) == sent
