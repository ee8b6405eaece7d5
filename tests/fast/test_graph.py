"""The integer twin: near the model, the same whatever stands beside a text, and made once."""

import numpy as np
import pytest

from closecall import load_embedder
from closecall.embedders.onnx_session import make_session
from closecall.errors import ConfigurationError, ModelError, ModelIntegrityError
from closecall.fast.factors import factors_of, stored_factors
from closecall.fast.graph import int8_graph
from closecall.fast.meaning import graph_digest
from closecall.fast.noise import recorded_noise
from closecall.fast.twin import IntegerTwin, twin_graph
from closecall.models.store import find_model

pytest.importorskip("onnx", reason="the twin is made with onnx")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("twins")


@pytest.fixture(scope="module")
def graph(folder):
    return twin_graph(find_model("minilm"), recorded_noise(), folder)


def vectors(data, ids):
    feed = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
    return make_session(data, "twin").raw.run(["embedding"], feed)[0]


def test_the_twin_made_here_is_the_one_whose_noise_is_known(graph):
    noise = recorded_noise()
    assert graph_digest(graph) == noise.twin
    assert int8_graph(find_model("minilm").graph.read_bytes(), stored_factors()) == graph


def test_a_text_has_the_same_vector_alone_and_in_a_batch(graph):
    ids = np.random.default_rng(1).integers(1000, 20_000, (6, 12)).astype(np.int32)
    together = vectors(graph, ids)
    for at in range(len(ids)):
        assert np.array_equal(vectors(graph, ids[at : at + 1])[0], together[at])


def test_its_vectors_are_near_the_models_and_evened_channels_bring_them_nearer(graph):
    source = find_model("minilm").graph.read_bytes()
    ids = np.random.default_rng(2).integers(1000, 20_000, (8, 20)).astype(np.int32)
    exact = vectors(source, ids)

    def off(data):
        return float(1 - (vectors(data, ids) * exact).sum(axis=1).mean())

    assert 0 < off(graph) < 0.005
    assert off(graph) < off(int8_graph(source, {}))


def test_it_is_kept_and_made_again_where_the_kept_one_is_damaged(folder, graph, monkeypatch):
    (kept,) = folder.glob("int8-*.onnx")
    model, noise = find_model("minilm"), recorded_noise()
    kept.write_bytes(b"damaged")
    assert twin_graph(model, noise, folder) == graph
    assert kept.read_bytes() == graph

    def never(*_):
        raise AssertionError("made again though it is there")

    monkeypatch.setattr("closecall.fast.twin.int8_graph", never)
    assert twin_graph(model, noise, folder) == graph


def test_one_that_another_onnx_wrote_is_taken_and_one_with_another_weight_made_again(
    folder, graph
):
    import onnx

    (kept,) = folder.glob("int8-*.onnx")
    model, noise = find_model("minilm"), recorded_noise()
    other = onnx.load_model_from_string(graph)
    other.producer_name = "another"
    written = other.SerializeToString()
    kept.write_bytes(written)
    assert twin_graph(model, noise, folder) == written
    (whole,) = (one for one in other.graph.initializer if one.name == "layer.3.widen.whole")
    changed = bytearray(whole.raw_data)
    changed[100] ^= 1
    whole.raw_data = bytes(changed)
    kept.write_bytes(other.SerializeToString())
    assert twin_graph(model, noise, folder) == graph


def test_another_twin_than_the_measured_one_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("closecall.fast.twin.int8_graph", lambda *_: b"another")
    with pytest.raises(ConfigurationError, match="whose noise was measured"):
        twin_graph(find_model("minilm"), recorded_noise(), tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_damaged_model_makes_no_twin(tmp_path, monkeypatch):
    monkeypatch.setattr("closecall.fast.twin.read_file", lambda *_: b"damaged")
    with pytest.raises(ModelIntegrityError):
        twin_graph(find_model("minilm"), recorded_noise(), tmp_path)


def test_the_twin_is_an_instrument_of_its_own():
    exact = load_embedder("minilm", threads=1)
    twin = IntegerTwin(exact, recorded_noise())
    assert twin.instrument.digest != exact.instrument.digest
    assert twin.instrument.precision == "int8"


def test_a_graph_of_another_kind_has_no_twin():
    onnx = pytest.importorskip("onnx")
    make = onnx.helper
    value = make.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1])
    out = make.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1])
    node = make.make_node("Identity", ["x"], ["y"])
    model = make.make_model(make.make_graph([node], "g", [value], [out]))
    with pytest.raises(ModelError, match="no twin"):
        int8_graph(model.SerializeToString(), {})


def test_factors_are_powers_of_two_in_quarters():
    quarters = np.array([-8, -1, 0, 1, 2, 7], dtype=np.int8)
    assert factors_of(quarters) == pytest.approx(2.0 ** (quarters.astype(float) / 4), rel=1e-6)
