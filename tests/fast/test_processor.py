"""Where kernels lose more than those that the noise was measured on, nothing is begun."""

import json

import numpy as np
import pytest

from closecall import load_embedder
from closecall.cli import run
from closecall.embedders.onnx_runtime import load
from closecall.errors import ConfigurationError
from closecall.fast.noise import recorded_noise
from closecall.fast.twin import SAMPLES, IntegerTwin, twin_graph
from closecall.models.store import find_model
from closecall.runs.evaluate import evaluate

pytest.importorskip("onnx", reason="the twin is made with onnx")

METRIC = "embed_answer_similarity"
ROW = {"id": "a", "response": "Five working days.", "reference": "It takes five days."}


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    """Return the vectors of the sample texts on a processor that saturates, or on one that adds."""
    import other_processor

    model = find_model("minilm")
    graph = twin_graph(model, recorded_noise(), tmp_path_factory.mktemp("twins"))
    rows = [one.ids for one in load(model).tokenizer.encode_batch(list(SAMPLES))]
    return {
        name: other_processor.vectors(graph, rows, saturates=name == "saturates")
        for name in ("saturates", "adds")
    }


@pytest.fixture
def without_vnni(simulated, monkeypatch):
    monkeypatch.setattr(IntegerTwin, "embed", lambda *_: simulated["saturates"])


@pytest.mark.usefixtures("without_vnni")
def test_a_run_is_refused_before_it_begins(tmp_path):
    with pytest.raises(ConfigurationError, match=r"without VNNI.*leave --fast out"):
        evaluate([ROW], METRIC, cache=False, fast=True, aef=tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.usefixtures("without_vnni")
def test_the_command_says_what_to_do_and_scores_nothing(tmp_path, capsys):
    path = tmp_path / "cases.jsonl"
    path.write_text(json.dumps(ROW) + "\n", encoding="utf-8")
    asked = ["eval", str(path), "--no-cache", "--aef", str(tmp_path / "run")]
    assert run([*asked, "--fast"]) == 3
    out, err = capsys.readouterr()
    assert not out
    assert "leave --fast out" in " ".join(err.split())
    assert not (tmp_path / "run").exists()
    assert run(asked) == 1  # and what it says works


def test_a_processor_that_adds_whole_numbers_is_taken(simulated, monkeypatch):
    twin = IntegerTwin(load_embedder("minilm", threads=1), recorded_noise())
    monkeypatch.setattr(twin, "embed", lambda _texts: simulated["adds"])
    twin.load()


def test_this_one_computes_the_twin_as_it_is_written_down(simulated):
    twin = IntegerTwin(load_embedder("minilm", threads=1), recorded_noise())
    cosines = (twin.embed(SAMPLES) * simulated["adds"]).sum(axis=1)
    assert cosines.min() > 0.999


@pytest.mark.parametrize("broken", [np.nan, 0.0])
def test_vectors_that_are_none_are_refused(broken, monkeypatch):
    twin = IntegerTwin(load_embedder("minilm", threads=1), recorded_noise())
    monkeypatch.setattr(twin, "embed", lambda texts: np.full((len(texts), 384), broken))
    with pytest.raises(ConfigurationError, match="on this processor"):
        twin.load()
