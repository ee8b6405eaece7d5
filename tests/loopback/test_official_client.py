"""The official client, in a process of its own, gets what ours gets from the same server."""

import numpy as np
import pytest
from fake_provider import STYLES, Said, entry, error
from official_client import official_client

from closecall.errors import ConfigurationError, EmbeddingError

pytestmark = pytest.mark.loopback

TEXTS = ["one", "two words", "zażółć", "四", "five\nlines"]

official = official_client("""
def answer(client, given):
    extra = {"encoding_format": "float"} if given["encoding"] == "float" else {}
    got = client.embeddings.create(model="asked-model", input=given["texts"], **extra)
    data = sorted(got.data, key=lambda one: one.index)
    return {
        "vectors": [one.embedding for one in data],
        "model": got.model,
        "tokens": got.usage.prompt_tokens,
    }
""")


@pytest.fixture
def theirs(official):
    """Ask a server for the vectors of ``TEXTS``."""

    def ask(provider, *, encoding="base64"):
        return official(provider, encoding=encoding, texts=TEXTS)

    return ask


@pytest.mark.parametrize("style", STYLES)
def test_both_get_the_same_vectors_model_and_tokens(style, serve, connect, theirs):
    provider = serve(style, dims=24)
    got = theirs(provider)
    embedder = connect(provider)
    embedder.load()
    before = embedder.usage.reported
    ours = embedder.embed(TEXTS)
    np.testing.assert_array_equal(ours, np.array(got["vectors"], np.float32))
    assert embedder.instrument.options["server_model"] == got["model"]
    assert embedder.usage.reported - before == got["tokens"]
    # And both sent the same: path, query and body.
    first, last = provider.requests[0], provider.requests[-1]
    assert (first.path, first.query) == (last.path, last.query)
    azure = style in {"azure", "foundry"}
    assert first.body | {"model": "our-deployment" if azure else "asked-model"} == last.body


@pytest.mark.parametrize("encoding", ["float", "base64"])
def test_numbers_as_text_and_as_base64_are_read_alike(encoding, serve, connect, theirs):
    provider = serve(dims=24)
    provider.script = lambda received: provider.reply(
        received,
        data=[
            entry(at, np.float32([1 / 3, -1e-20, 3.4e38, *[at + 0.1] * 5]), encoding)
            for at in range(len(received.texts))
        ][::-1],
    )
    got = theirs(provider, encoding=encoding)
    ours = connect(provider).embed(TEXTS)
    np.testing.assert_array_equal(ours, np.array(got["vectors"], np.float32))


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 413, 422, 429, 500, 503])
def test_where_the_official_client_has_an_error_ours_has_one(status, serve, connect, theirs):
    provider = serve()
    embedder = connect(provider)
    embedder.load()
    provider.script = lambda received: error("no", status=status)
    assert theirs(provider) == {"status": status}
    with pytest.raises((EmbeddingError, ConfigurationError), match=f"HTTP {status}"):
        embedder.embed(TEXTS)


def test_ours_also_refuses_what_the_official_client_lets_through(serve, connect, theirs):
    provider = serve()
    embedder = connect(provider)
    embedder.load()
    provider.script = lambda received: provider.reply(
        received, data=[entry(0, [float("nan")] * 8), entry(0, [1.0] * 3)]
    )
    assert len(theirs(provider)["vectors"]) == 2
    with pytest.raises(EmbeddingError, match="2 vectors came for 5 texts"):
        embedder.embed(TEXTS)
    provider.script = lambda received: Said(raw=b'{"data": [')
    assert "problem" in theirs(provider)
    with pytest.raises(EmbeddingError, match="cut off"):
        embedder.embed(TEXTS)
