"""A server that embeds by the words of a text, as ``HashEmbedder`` does; for recordings."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "loopback"))

from fake_provider import FakeProvider, Said, entry

from closecall.testing import HashEmbedder

DIMS = 32


def desk_server():
    provider = FakeProvider("openai-compatible", dims=DIMS, model="desk-embedder")
    words = HashEmbedder(DIMS)

    def reply(received):
        encoding = received.body.get("encoding_format", "float")
        vectors = words.embed(received.texts)
        data = [entry(at, one, encoding) for at, one in enumerate(vectors)]
        used = sum(len(text.split()) for text in received.texts)
        usage = {"prompt_tokens": used, "total_tokens": used}
        return Said(
            200, {"object": "list", "data": data, "model": "desk-embedder", "usage": usage}
        )

    provider.script = reply
    return provider
