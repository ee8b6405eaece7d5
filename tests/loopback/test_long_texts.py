"""Texts longer than a window, tokens, widths."""

import numpy as np
import pytest
from asked import TEXTS, expected, outcomes, story
from fake_provider import vector

from closecall.embedders.base import Embedded
from closecall.embedders.remote.sizes import most_tokens
from closecall.errors import ConfigurationError, TextTooLongError

pytestmark = pytest.mark.loopback

# Long texts


def test_a_text_cut_by_the_server_is_found_and_never_a_vector(serve, connect):
    # ollama/ollama#14259: the server reads the beginning only and says nothing of it.
    provider = serve("ollama", window=200)
    found = outcomes(connect(provider), ["short", story(160), story(900)])
    assert isinstance(found["short"], Embedded)
    assert isinstance(found[story(160)], Embedded)
    reason = found[story(900)].reason
    assert "read 200 tokens of a text of 900 words" in reason
    assert "AI_EMBEDDING_MAX_TOKENS" in reason


def test_a_text_cut_by_the_server_is_flagged_where_that_was_asked_for(serve, connect):
    provider = serve("ollama", window=200)
    embedder = connect(provider, window="truncate")
    counted = embedder.embed_counted(["short", story(900)])
    assert counted.tokens[1].truncated
    assert counted.tokens[1].seen == 200
    assert counted.tokens[1].total >= 900
    assert embedder.instrument.window == "truncate"


@pytest.mark.parametrize("usage", [True, False])
def test_a_text_cut_by_a_server_that_reports_nothing_of_use_is_found(usage, serve, connect):
    # ollama/ollama#14259: it may count what it was sent, or count nothing.
    provider = serve("openai-compatible", window=200)
    provider.usage = usage

    def counted(received):
        whole = sum(len(text.split()) + 1 for text in received.texts)
        more = {"usage": {"prompt_tokens": whole, "total_tokens": whole}} if usage else {}
        return provider.reply(received, **more)

    provider.script = counted
    texts = ["short", story(190), story(210), story(900)]
    found = outcomes(connect(provider), texts)
    fine = [text for text, outcome in found.items() if isinstance(outcome, Embedded)]
    assert fine == ["short", story(190)]
    assert "window is smaller than the text" in found[story(900)].reason
    flagged = connect(provider, window="truncate").embed_counted(texts).tokens
    assert [one is not None and one.truncated for one in flagged] == [False, False, True, True]
    assert flagged[3].total >= 900


def test_what_is_shorter_than_a_text_read_whole_is_not_asked_about(serve, connect):
    provider = serve("openai-compatible")
    provider.usage = False
    embedder = connect(provider)
    texts = [story(n) for n in range(400, 500, 10)]
    embedder.embed(texts)
    assert len(provider.asked) == len(texts) + 1
    embedder.embed([story(405)])
    assert len(provider.asked) == len(texts) + 2


def test_a_server_known_to_refuse_long_texts_is_asked_once(serve, connect):
    provider = serve("azure")
    connect(provider).embed([story(900)])
    assert provider.asked == [[story(900)]]


def test_with_the_window_known_long_texts_are_read_in_parts(serve, connect):
    provider = serve("ollama", window=200)
    embedder = connect(provider, more={"AI_EMBEDDING_MAX_TOKENS": "200"})
    assert embedder.instrument.max_tokens == 200
    found = embedder.embed([story(900)])
    sent = [text for texts in provider.asked for text in texts]
    assert len(sent) > 5
    assert all(most_tokens(text) <= 200 for text in sent)
    assert {word for text in sent for word in text.split()} == set(story(900).split())
    weights = [len(text.encode()) for text in sent]
    mean = np.average([vector(text, 8) for text in sent], axis=0, weights=weights)
    assert found[0] @ (mean / np.linalg.norm(mean)) > 0.999


def test_the_other_policies_on_long_texts(serve, connect):
    more = {"AI_EMBEDDING_MAX_TOKENS": "200"}
    provider = serve("ollama")
    counted = connect(provider, more=more, window="truncate").embed_counted([story(900), "short"])
    assert counted.tokens[0].truncated
    assert counted.tokens[0].total > 800
    with pytest.raises(TextTooLongError, match="longer than the 200 tokens") as caught:
        connect(provider, more=more, window="error").embed(["short", story(900)])
    assert caught.value.indices == (1,)


# Usage and dimensions


def test_tokens_are_those_reported_and_unknown_stays_unknown(serve, connect):
    provider = serve()
    embedder = connect(provider)
    assert embedder.usage.prompt_tokens is None
    assert embedder.embed_counted(["two words"]).tokens[0].seen == 3
    assert embedder.embed_counted(TEXTS).tokens == [None] * 5
    used = sum(len(text.split()) + 1 for one in provider.requests for text in one.texts)
    assert embedder.usage.prompt_tokens == used
    provider.usage = False
    assert embedder.embed_counted(["six"]).tokens == [None]
    assert embedder.usage.prompt_tokens is None
    assert embedder.usage.reported == used
    assert embedder.usage.unreported == 1


@pytest.mark.parametrize("usage", [{"prompt_tokens": 0}, {"prompt_tokens": -1}, {}, None, "7"])
def test_a_count_that_is_none_is_no_zero(usage, serve, connect):
    provider = serve()
    provider.script = lambda received: provider.reply(received, usage=usage)
    embedder = connect(provider)
    assert embedder.embed_counted(["one"]).tokens == [None]
    assert embedder.usage.prompt_tokens is None


def test_the_width_asked_for_is_sent_and_part_of_the_identity(serve, connect):
    provider = serve()
    embedder = connect(provider, more={"AI_EMBEDDING_DIMENSIONS": "5"})
    assert embedder.embed(["one"]).shape == (1, 5)
    assert {one.body["dimensions"] for one in provider.requests} == {5}
    assert embedder.instrument.options["dimensions"] == "5"
    assert "dimensions" not in connect(provider).instrument.options


def test_a_server_that_ignores_the_width_is_refused(serve, connect):
    provider = serve()
    provider.script = provider.reply
    with pytest.raises(ConfigurationError, match="5 dimensions were asked for and 8 came"):
        connect(provider, more={"AI_EMBEDDING_DIMENSIONS": "5"}).load()


def test_offline_reaches_this_machine_and_nothing_else(serve, connect, monkeypatch):
    monkeypatch.setenv("CLOSECALL_OFFLINE", "1")
    np.testing.assert_array_equal(connect(serve("ollama")).embed(TEXTS), expected())
