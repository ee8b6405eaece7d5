"""``aembed``: the same vectors, with the event loop free meanwhile, and a caller that may leave."""

import asyncio
import threading

import numpy as np
import pytest

from closecall.embedders.awaitable import aembed
from closecall.errors import EmbeddingError
from closecall.testing import HashEmbedder

TEXTS = [f"text number {n}" for n in range(150)]


def test_it_gives_what_embed_gives():
    embedder = HashEmbedder()
    found = asyncio.run(aembed(embedder, TEXTS))
    assert np.array_equal(found, embedder.embed(TEXTS))
    assert asyncio.run(aembed(embedder, [])).shape == (0, 64)
    assert np.array_equal(asyncio.run(embedder.aembed(TEXTS)), found)


def test_the_event_loop_goes_on_meanwhile():
    entered, leave = threading.Event(), threading.Event()

    def wait(texts):
        entered.set()
        assert leave.wait(20)

    async def both():
        task = asyncio.create_task(aembed(HashEmbedder(on_embed=wait), ["a"]))
        assert await asyncio.to_thread(entered.wait, 20)
        leave.set()  # only a loop that still turns comes here
        return await task

    assert asyncio.run(both()).shape == (1, 64)


def test_a_caller_that_leaves_is_let_go_and_no_further_text_is_embedded():
    entered, leave, asked = threading.Event(), threading.Event(), []

    def wait(texts):
        asked.extend(texts)
        entered.set()
        assert leave.wait(20)

    async def leaving():
        task = asyncio.create_task(aembed(HashEmbedder(on_embed=wait), TEXTS, step=10))
        assert await asyncio.to_thread(entered.wait, 20)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        leave.set()

    asyncio.run(leaving())
    assert asked == TEXTS[:10]


def test_an_error_names_the_text_by_its_place_in_the_whole():
    def refuse(texts):
        if "text number 25" in texts:
            raise EmbeddingError("no", [texts.index("text number 25")])

    with pytest.raises(EmbeddingError) as caught:
        asyncio.run(aembed(HashEmbedder(on_embed=refuse), TEXTS, step=10))
    assert caught.value.indices == (25,)
