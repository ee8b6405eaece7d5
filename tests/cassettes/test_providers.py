"""A run against a provider, recorded; then the same run with no provider and no key."""

import os
import sys
import threading
from pathlib import Path

import msgspec
import numpy as np
import pytest
from recorded_things import SPEC, Chat, Remote, never, record, request

sys.path.insert(0, str(Path(__file__).parent.parent / "loopback"))

from fake_provider import KEY, FakeProvider

from closecall import AnswerSimilarity, Case, evaluate, load_embedder
from closecall.cassettes import open_cassette
from closecall.cassettes.nearest import Asked
from closecall.cassettes.vectors import write_vector
from closecall.cassettes.verifying import verify
from closecall.embedders.base import CountingEmbedder, PieceEmbedder
from closecall.errors import ConfigurationError, ReplayMissError
from closecall.testing import check_embedder

CASES = [
    Case(id="1", response="Your parcel left on Monday.", references=("It left on Monday.",)),
    Case(id="2", response="It weighs two kilos.", references=("Two kilos.", "2 kg.")),
]


def scores(embedder, cases=CASES):
    run = evaluate(cases, [AnswerSimilarity()], embedder=embedder, cache=False)
    return [one.results[0].measurement.value for one in run]


@pytest.mark.loopback
def test_a_run_is_the_same_without_the_provider_and_without_its_key(folder, monkeypatch):
    with FakeProvider("openai") as provider:
        for name, value in provider.environment().items():
            monkeypatch.setenv(name, value)
        with open_cassette(folder, "record") as cassette:
            live = scores(cassette.embedder(lambda: load_embedder("openai"), "openai"))
        sent = len(provider.requests)
        assert sent > 0
        with open_cassette(folder, "record-missing") as cassette:
            again = scores(cassette.embedder(lambda: load_embedder("openai"), "openai"))
        assert len(provider.requests) == sent
        for name in provider.environment():
            monkeypatch.delenv(name)
    assert KEY.encode() not in (folder / "default.jsonl").read_bytes()
    assert not verify(folder, {"A_KEY": KEY}).problems
    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY"):
        load_embedder("openai")
    with open_cassette(folder, "replay") as cassette:
        embedder = cassette.embedder(never, "openai")
        assert scores(embedder) == live == again
        with pytest.raises(ReplayMissError) as caught:
            scores(embedder, [Case(id="3", response="It weighs ten kilos.", references=("x",))])
    assert caught.value.count == 2
    assert caught.value.exit_code == 5


def test_what_stands_in_front_of_an_embedder_is_one(folder):
    with open_cassette(folder, "record", floats="f16") as cassette:
        # Its vectors are as long as float16 lets them be.
        check_embedder(cassette.embedder(lambda: Remote(dims=64), SPEC), tolerance=1e-3)
        embedder = cassette.embedder(lambda: Remote(dims=64), SPEC)
        assert isinstance(embedder, CountingEmbedder)
        assert isinstance(embedder, PieceEmbedder)
        assert len(embedder.embed_pieces(["two words"])[0].pieces.spans) == 2


def test_an_embedder_that_gives_vectors_only(folder):
    class Plain:
        instrument = Remote().instrument

        def embed(self, texts, role="text"):
            return Remote().embed(texts, role)

    with open_cassette(folder, "record") as cassette:
        found = cassette.embedder(Plain, SPEC).embed_counted(["one", "two"])
        assert found.tokens == [None, None]
    with open_cassette(folder, "replay") as cassette:
        again = cassette.embedder(never, SPEC).embed_counted(["two", "one", "two"])
        np.testing.assert_array_equal(again.vectors, found.vectors[[1, 0, 1]])
        assert again.tokens == [None] * 3


def test_an_identity_that_claims_a_huge_width_takes_no_memory(folder):
    class Huge(Remote):
        def __init__(self):
            super().__init__(dims=16)
            self._instrument = msgspec.structs.replace(self._instrument, dims=10**15)

    with open_cassette(folder, "record") as cassette:
        vector = write_vector(Remote().embed(["one"])[0], "f32")
        instrument = Huge().instrument
        asked = Asked(
            "embedding",
            instrument.digest,
            "huge",
            msgspec.to_builtins(instrument),
            {"role": "text", "text": "one"},
        )
        cassette.keep(asked, {"vector": vector}, SPEC)
    with (
        open_cassette(folder, "replay") as cassette,
        pytest.raises(ConfigurationError, match="has 16 numbers"),
    ):
        cassette.embedder(never, SPEC).embed(["one"])


def test_no_texts_and_no_requests(folder):
    record(folder, ["one"], [request("a")])
    with open_cassette(folder, "replay") as cassette:
        assert cassette.embedder(never, SPEC).embed([]).shape == (0, 16)
        assert cassette.chat(never).complete([]) == []


def test_several_threads_record_side_by_side(folder):
    with open_cassette(folder, "record-missing") as cassette:
        made = []

        def make():
            made.append(Chat())
            return made[-1]

        record(folder, requests=[request("first")], scenario="seed")
        model = cassette.chat(make)
        threads = [
            threading.Thread(
                target=lambda n=n: model.complete([request(f"{n}-{i}") for i in range(20)])
            )
            for n in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(made) == 1
    assert verify(folder).entries == 161
    assert not verify(folder).problems
    with open_cassette(folder, "replay") as cassette:
        replies = cassette.chat(never).complete([request(f"{n}-7") for n in range(8)])
    assert [one.content for one in replies] == [f"You said: {n}-7" for n in range(8)]


@pytest.mark.skipif(os.name != "posix", reason="a pipe of POSIX")
def test_a_pipe_in_the_folder_is_not_waited_for(folder):
    folder.mkdir()
    os.mkfifo(folder / "default.jsonl")
    assert verify(folder).problems == (f"{folder / 'default.jsonl'}: is no file",)
