"""Limits, waits, deadlines and lines that break."""

import email.utils
import threading

import numpy as np
import pytest
from asked import TEXTS, expected, once, outcomes
from fake_provider import Said, error

from closecall.embedders.base import Failure
from closecall.embedders.remote.retry import Clock, Patience
from closecall.errors import ConfigurationError

pytestmark = pytest.mark.loopback

# Limits and waits


def limited(*headers, status=429):
    return lambda received: error("slow down", status=status, headers=headers)


@pytest.mark.parametrize(
    ("headers", "least"),
    [
        ([("retry-after", "7")], 7),
        ([("retry-after-ms", "2500"), ("retry-after", "9")], 2.5),
        ([("retry-after", email.utils.formatdate(1012, usegmt=True))], 11.5),
        ([("x-ratelimit-remaining-requests", "0"), ("x-ratelimit-reset-requests", "1m3s")], 63),
        ([("x-ratelimit-remaining-tokens", "0"), ("x-ratelimit-reset-tokens", "40ms")], 0.04),
        ([("retry-after", "soon")], 0),
        ([], 0),
    ],
)
def test_a_server_that_asks_to_wait_is_waited_for(headers, least, serve, connect, time):
    provider = serve()
    embedder = connect(provider)
    embedder.load()
    provider.script = once(limited(*headers))
    np.testing.assert_array_equal(embedder.embed(TEXTS), expected())
    assert least <= sum(time.waits) <= least + 1.001
    assert provider.asked == [TEXTS, TEXTS]


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504])
def test_what_may_pass_is_tried_again_with_longer_waits_and_not_for_ever(
    status, serve, connect, time
):
    provider = serve()
    embedder = connect(provider, patience=Patience(attempts=4))
    embedder.load()
    provider.script = limited(status=status)
    found = outcomes(embedder, ["one"])
    assert f"HTTP {status}: slow down" in found["one"].reason
    assert len(provider.asked) == 4
    assert time.waits == [0.5, 1.0, 2.0]


def test_a_wait_past_the_deadline_is_not_begun(serve, connect, time):
    provider = serve()
    embedder = connect(provider)
    embedder.load()
    provider.script = limited(("retry-after", "3600"))
    found = outcomes(embedder, ["one"])
    assert "asks to wait 3600 s" in found["one"].reason
    assert time.waits == []


def test_waits_that_are_asked_for_end_at_the_deadline(serve, connect, time):
    provider = serve()
    embedder = connect(provider, patience=Patience(deadline_s=100))
    embedder.load()
    provider.script = limited(("retry-after", "9"))
    assert isinstance(outcomes(embedder, ["one"])["one"], Failure)
    assert 80 < sum(time.waits) < 100


def test_one_limit_holds_for_all_requests(serve, connect, time):
    provider = serve(limit=1)
    embedder = connect(provider)
    embedder.embed(["one", "two words"])  # learns that a request may have one text
    provider.script = lambda received: (
        limited(("retry-after", "5"))(received) if len(provider.requests) == 5 else None
    )
    embedder.embed(["three", "four", "five"])
    assert sum(time.waits) == pytest.approx(5.5)


def test_what_stops_one_request_stops_the_waits_of_the_others(serve, connect):
    provider = serve("openai-compatible", limit=1)
    more = {"AI_EMBEDDING_MAX_TOKENS": "100000"}
    embedder = connect(provider, more=more, in_flight=2)
    embedder.embed(["one", "two words"])  # learns that a request may have one text
    embedder._asking.waiting.clock = Clock(draw=lambda: 1.0)
    embedder._asking.waiting.patience = Patience(base_s=120, cap_s=120)
    slow_came = threading.Event()

    def reply(received):
        if received.texts == ["slow"]:
            slow_came.set()
            return error("busy", status=503)
        slow_came.wait(20)
        return error("no", status=401)

    provider.script = reply
    with pytest.raises(ConfigurationError, match="HTTP 401"):
        embedder.embed(["slow", "refused"])


# Lines that break


@pytest.mark.parametrize("cut", [0, 30])
def test_a_reply_that_ends_early_is_asked_for_again(cut, serve, connect):
    provider = serve()
    provider.script = once(lambda received: provider.reply(received)._replace(cut=cut))
    embedder = connect(provider, patience=Patience(attempts=2))
    np.testing.assert_array_equal(embedder.embed(TEXTS), expected())
    provider.script = lambda received: provider.reply(received)._replace(cut=cut)
    found = outcomes(embedder, ["six"])
    assert "no whole reply from 127.0.0.1" in found["six"].reason


def test_a_server_that_does_not_answer_is_not_waited_for_long(serve, connect):
    provider = serve()
    embedder = connect(provider, patience=Patience(attempts=2))
    embedder.load()
    embedder._connection._patience = Patience(attempts=2, timeout_s=0.3)
    release = threading.Event()
    provider.script = lambda received: release.wait(20) and None
    found = outcomes(embedder, ["one"])
    release.set()
    assert "did not answer in time" in found["one"].reason


def test_a_server_that_sends_drop_by_drop_is_cut_off_at_the_deadline(serve, connect, time):
    provider = serve()
    embedder = connect(provider)
    embedder.load()
    embedder._asking.waiting.patience = Patience(attempts=2, deadline_s=2.0)
    provider.script = lambda received: provider.reply(received)._replace(drip=0.2, step=1)
    found = outcomes(embedder, ["one"])
    assert "not whole after" in found["one"].reason


def test_an_endless_reply_is_not_read_to_its_end(serve, connect, monkeypatch):
    monkeypatch.setattr("closecall.embedders.remote.connection._REPLY_BYTES", 2000)
    monkeypatch.setattr("closecall.embedders.remote.connection._ROW_BYTES", 100)
    provider = serve()
    embedder = connect(provider)
    embedder.load()
    provider.script = lambda received: Said(raw=b" " * 10_000_000)
    assert "passes 2100 bytes" in outcomes(embedder, ["one"])["one"].reason


def test_where_nothing_listens_the_settings_are_at_fault(serve, connect):
    provider = serve("ollama")
    embedder = connect(provider)
    provider._server.server_close()
    with pytest.raises(ConfigurationError, match="is Ollama running"):
        embedder.load()
