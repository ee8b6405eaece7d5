"""A model that changed under its name, and one whose name alone changed.

An upgrade exchanged the default model, and every similarity moved under cutoffs that stayed
(promptfoo/promptfoo#416). A model that was only called otherwise had everything embedded again
(eleboucher/memini#99).
"""

import pytest
from labelled_rows import rows

from closecall.models.store import find_model
from closecall.testing import HashEmbedder

WORDS = HashEmbedder()
REMOTE = ("--embedder", "openai-compatible:asked-model")
DECIDED = ("eval", "cases.jsonl", "--no-aef", "-q", "--guards", "off", "--calibration")


def read(text):
    return [float(number) for number in WORDS.embed([text])[0]]


def read_otherwise(text):
    return read(" ".join(word[:2] for word in text.split()))


@pytest.fixture
def calibrated(cli, write, embedding):
    embedding.vectors = read
    write(*rows(60, 60))
    goal = ("--max-far", "0.1", "-o", "cutoff.json")
    told = cli("calibrate", "cases.jsonl", *REMOTE, *goal)
    assert told.code == 0, told.err
    assert cli(*DECIDED, "cutoff.json").code == 1
    return embedding


@pytest.mark.loopback
def test_a_model_exchanged_behind_its_name_decides_nothing_by_the_old_cutoff(cli, calibrated):
    calibrated.vectors = read_otherwise
    told = cli(*DECIDED, "cutoff.json")
    assert (told.code, told.out) == (6, "")
    assert "the embedder is called the same and no longer is" in told.err
    assert "closecall calibrate --refresh" in told.err


@pytest.mark.loopback
def test_a_server_that_says_it_serves_another_model_is_another_instrument(cli, calibrated):
    calibrated.model = "served-model-v2"
    told = cli(*DECIDED, "cutoff.json")
    assert (told.code, told.out) == (6, "")
    assert "served-model-v2" in told.err
    assert "the test texts embed as they did" in told.err


@pytest.mark.loopback
def test_going_on_all_the_same_is_never_green(cli, write, calibrated):
    calibrated.model = "served-model-v2"
    asked = (*DECIDED, "cutoff.json", "--uncalibrated")
    write({"id": "a", "reference": "barley candle dune", "response": "barley candle dune"})
    told = cli(*asked, "--format", "json")
    assert told.code != 0
    assert told.json["metrics"][0]["calibrated"] is False
    assert "UNCALIBRATED" in cli(*asked).out
    assert "<error" in cli(*asked, "--format", "junit").out


def test_the_default_is_one_model_pinned_by_hash_whatever_the_environment(cli, write, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "lies-about-unused")
    write({"id": "a", "reference": "an oar", "response": "an oar"})
    told = cli("eval", "cases.jsonl", "--no-aef", "-q", "--format", "json")
    about = told.json["metadata"]
    assert (about["EmbeddingModel"], about["EmbeddingProvider"]) == ("all-MiniLM-L6-v2", "local")
    assert len(find_model().card.file("model.onnx").sha256) == 64


def test_a_model_under_another_name_or_place_is_not_embedded_again(cli, write, here):
    usual, moved = find_model().folder, here / "called otherwise"
    moved.mkdir()
    for path in usual.iterdir():
        (moved / path.name).write_bytes(path.read_bytes())
    write({"id": "a", "reference": "an oar", "response": "a paddle"})
    asked = ("eval", "cases.jsonl", "--no-aef", "-q", "--format", "json", "--embedder")
    digest = cli(*asked, "minilm").json["metadata"]["InstrumentDigest"]
    for name in ("all-MiniLM-L6-v2", f"onnx:{moved}"):
        explained = cli("cache", "explain", "a paddle", "--embedder", name)
        assert ": hit, " in explained.out, name
        assert cli(*asked, name).json["metadata"]["InstrumentDigest"] == digest
    assert "2 vectors" in cli("cache", "info").words
