"""What every embedder promises, kept by each provider over a real socket."""

import numpy as np
import pytest
from fake_provider import KEY, STYLES, vector

from closecall.embedders.base import (
    CountingEmbedder,
    Embedded,
    Embedder,
    Failure,
    LoadingEmbedder,
    TextKey,
)
from closecall.embedders.cached import CachedEmbedder
from closecall.errors import EmbeddingError, UsageError
from closecall.records import Role

pytestmark = pytest.mark.loopback

TEXTS = [
    "a first text",
    "another one",
    "zażółć gęślą jaźń",
    "四つ目のテキスト",
    "the fifth\nof them",
]


@pytest.fixture(params=STYLES)
def style(request):
    return request.param


def test_vectors_come_in_order_whole_and_the_same_each_time(style, serve, connect):
    provider = serve(style)
    embedder = connect(provider)
    found = embedder.embed(TEXTS)
    assert found.dtype == np.float32
    assert found.shape == (len(TEXTS), embedder.instrument.dims)
    np.testing.assert_array_equal(found, [vector(text, 8) for text in TEXTS])
    np.testing.assert_array_equal(embedder.embed(TEXTS[::-1], Role.QUERY), found[::-1])
    np.testing.assert_array_equal(embedder.embed(TEXTS[2:3]), found[2:3])


def test_it_is_the_embedder_that_wrappers_look_for(style, serve, connect):
    embedder = connect(serve(style))
    assert isinstance(embedder, Embedder)
    assert isinstance(embedder, CountingEmbedder)
    assert isinstance(embedder, LoadingEmbedder)
    assert embedder.embed([]).shape == (0, 8)


def test_making_one_sends_nothing_and_loading_sends_one_text_once(style, serve, connect):
    provider = serve(style)
    embedder = connect(provider)
    assert provider.requests == []
    embedder.load()
    embedder.load()
    instrument = embedder.instrument
    assert len(provider.requests) == 1
    assert len(provider.requests[0].texts) == 1
    embedder.embed(TEXTS)
    assert embedder.instrument is instrument


def test_the_identity_says_who_and_what_and_holds_no_key(style, serve, connect):
    provider = serve(style)
    instrument = connect(provider).instrument
    assert instrument.kind == style
    assert instrument.provider == provider.host
    assert instrument.dims == 8
    assert instrument.normalize
    assert instrument.options["server_model"] == "served-model"
    assert KEY not in repr(instrument)
    azure = style in {"azure", "foundry"}
    assert instrument.model == ("served-model" if azure else "asked-model")
    assert instrument.options.get("deployment") == ("our-deployment" if azure else None)
    assert connect(provider).instrument.digest == instrument.digest


@pytest.mark.parametrize("texts", ["a text", b"a text", [1], [None]])
def test_what_is_no_list_of_texts_is_refused(texts, serve, connect):
    with pytest.raises(UsageError, match="texts"):
        connect(serve()).embed(texts)


def test_texts_that_cannot_be_embedded_are_named_and_never_sent(style, serve, connect):
    provider = serve(style)
    embedder = connect(provider)
    with pytest.raises(EmbeddingError, match="blank") as caught:
        embedder.embed(["one", "", "two", " \n"])
    assert caught.value.indices == (1, 3)
    with pytest.raises(EmbeddingError, match="surrogate") as caught:
        embedder.embed(["one", "half \ud800 a pair"])
    assert caught.value.indices == (1,)
    assert not any("" in texts or " \n" in texts for texts in provider.asked)


def test_behind_the_cache_each_text_has_its_outcome_and_is_sent_once(style, serve, connect):
    provider = serve(style)
    cached = CachedEmbedder(connect(provider))
    keys = [TextKey(text) for text in ["one", "", "two", "one", "half \ud800"]]
    for _ in range(2):
        found = cached.fetch(keys)
        assert isinstance(found[keys[0]], Embedded)
        assert isinstance(found[keys[1]], Failure)
        assert isinstance(found[keys[4]], Failure)
        np.testing.assert_array_equal(found[keys[2]].vector, vector("two", 8))
    assert provider.asked == [["one", "two"]]


def test_requests_side_by_side_give_what_one_after_the_other_gives(style, serve, connect):
    provider = serve(style)
    texts = [f"text number {n}" for n in range(200)]
    alone = connect(provider).embed(texts)
    together = connect(provider, in_flight=4).embed(texts)
    np.testing.assert_array_equal(alone, together)
    np.testing.assert_array_equal(alone, [vector(text, 8) for text in texts])


def test_the_key_goes_where_the_provider_wants_it_and_no_other_header_leaves(
    style, serve, connect, monkeypatch
):
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "AZURE_OPENAI_AD_TOKEN", "OPENAI_ORG_ID",
                 "OPENAI_PROJECT_ID", "OPENAI_API_VERSION"):  # fmt: skip
        monkeypatch.setenv(name, "of-another-provider")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "Authorization: of-another-provider\nX-More: 1")
    provider = serve(style)
    connect(provider).embed(["a text"])
    for received in provider.requests:
        sent = received.headers
        azure = style in {"azure", "foundry"}
        key = KEY if style in {"openai", "bitdeer"} else "no-key-needed"
        assert sent.get("api-key") == (KEY if azure else None)
        assert sent.get("authorization") == (None if azure else f"Bearer {key}")
        assert "of-another-provider" not in str(received)
        assert sent["user-agent"].startswith("closecall/")
        assert set(sent) <= {
            "host", "accept", "accept-encoding", "connection", "content-type", "content-length",
            "user-agent", "authorization", "api-key", "x-stainless-raw-response",
        }  # fmt: skip


def test_azure_asks_the_deployment_with_an_api_version(serve, connect):
    provider = serve("azure")
    embedder = connect(provider, more={"AZURE_OPENAI_API_VERSION": "2025-01-01-preview"})
    embedder.load()
    (received,) = provider.requests
    assert received.path == "/openai/deployments/our-deployment/embeddings"
    assert received.query == {"api-version": "2025-01-01-preview"}
    assert connect(provider).instrument.options["api_version"] == "2024-10-21"
    assert connect(provider).instrument.digest != embedder.instrument.digest
