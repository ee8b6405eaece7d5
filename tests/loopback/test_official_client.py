"""The official client, in a process of its own, gets what ours gets from the same server."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from fake_provider import KEY, STYLES, Said, entry, error

from closecall.errors import ConfigurationError, EmbeddingError

pytestmark = pytest.mark.loopback

TEXTS = ["one", "two words", "zażółć", "四", "five\nlines"]

PROGRAM = """
import json, sys
import openai
given = json.load(sys.stdin)
if given["azure"]:
    client = openai.AzureOpenAI(
        azure_endpoint=given["root"], azure_deployment="our-deployment", api_key=given["key"],
        api_version="2024-10-21", max_retries=0,
    )
else:
    client = openai.OpenAI(base_url=given["root"] + "/v1", api_key=given["key"], max_retries=0)
extra = {"encoding_format": "float"} if given["encoding"] == "float" else {}
try:
    got = client.embeddings.create(model="asked-model", input=given["texts"], **extra)
    data = sorted(got.data, key=lambda one: one.index)
    said = {
        "vectors": [one.embedding for one in data],
        "model": got.model,
        "tokens": got.usage.prompt_tokens,
    }
except openai.APIStatusError as problem:
    said = {"status": problem.status_code}
except Exception as problem:
    said = {"problem": type(problem).__name__}
json.dump(said, sys.stdout)
"""


def official(provider, *, encoding="base64", texts=TEXTS):
    given = {
        "azure": provider.style in {"azure", "foundry"},
        "root": provider.root,
        "key": KEY,
        "texts": texts,
        "encoding": encoding,
    }
    clean = {name: value for name, value in os.environ.items() if "_proxy" not in name.lower()}
    said = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps(given),
        capture_output=True,
        check=True,
        encoding="utf-8",
        env=clean,
        timeout=120,
    )
    return json.loads(said.stdout)


@pytest.mark.parametrize("style", STYLES)
def test_both_get_the_same_vectors_model_and_tokens(style, serve, connect):
    provider = serve(style, dims=24)
    theirs = official(provider)
    embedder = connect(provider)
    embedder.load()
    before = embedder.usage.reported
    ours = embedder.embed(TEXTS)
    np.testing.assert_array_equal(ours, np.array(theirs["vectors"], np.float32))
    assert embedder.instrument.options["server_model"] == theirs["model"]
    assert embedder.usage.reported - before == theirs["tokens"]
    # And both sent the same: path, query and body.
    first, last = provider.requests[0], provider.requests[-1]
    assert (first.path, first.query) == (last.path, last.query)
    azure = style in {"azure", "foundry"}
    assert first.body | {"model": "our-deployment" if azure else "asked-model"} == last.body


@pytest.mark.parametrize("encoding", ["float", "base64"])
def test_numbers_as_text_and_as_base64_are_read_alike(encoding, serve, connect):
    provider = serve(dims=24)
    provider.script = lambda received: provider.reply(
        received,
        data=[
            entry(at, np.float32([1 / 3, -1e-20, 3.4e38, *[at + 0.1] * 5]), encoding)
            for at in range(len(received.texts))
        ][::-1],
    )
    theirs = official(provider, encoding=encoding)
    ours = connect(provider).embed(TEXTS)
    np.testing.assert_array_equal(ours, np.array(theirs["vectors"], np.float32))


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 413, 422, 429, 500, 503])
def test_where_the_official_client_has_an_error_ours_has_one(status, serve, connect):
    provider = serve()
    embedder = connect(provider)
    embedder.load()
    provider.script = lambda received: error("no", status=status)
    assert official(provider) == {"status": status}
    with pytest.raises((EmbeddingError, ConfigurationError), match=f"HTTP {status}"):
        embedder.embed(TEXTS)


def test_ours_also_refuses_what_the_official_client_lets_through(serve, connect):
    provider = serve()
    embedder = connect(provider)
    embedder.load()
    provider.script = lambda received: provider.reply(
        received, data=[entry(0, [float("nan")] * 8), entry(0, [1.0] * 3)]
    )
    assert len(official(provider)["vectors"]) == 2
    with pytest.raises(EmbeddingError, match="2 vectors came for 5 texts"):
        embedder.embed(TEXTS)
    provider.script = lambda received: Said(raw=b'{"data": [')
    assert "problem" in official(provider)
    with pytest.raises(EmbeddingError, match="cut off"):
        embedder.embed(TEXTS)
