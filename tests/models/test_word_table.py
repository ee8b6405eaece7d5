"""The word table of a compiled model is read by its name, and only as what it is."""

import hashlib

import numpy as np
import onnx
import pytest
import tiny_bert

from closecall.errors import ModelError, ModelIntegrityError
from closecall.models.compiler import Naming, compile_folder
from closecall.models.pair_card import WordTable
from closecall.models.word_table import checked_words, read_words

WIDE = {"hidden_size": 64, "num_attention_heads": 4}


@pytest.fixture
def graph(tmp_path):
    tiny_bert.write_folder(tmp_path / "source", config=WIDE)
    compile_folder(tmp_path / "source", tmp_path / "out", Naming(name="tiny"), storage="fp16")
    return tmp_path / "out" / "model.onnx"


def table(data):
    rows = len(tiny_bert.VOCABULARY)
    return WordTable("tiny", "model.onnx", "words", rows, hashlib.sha256(data).hexdigest())


def test_the_numbers_are_those_of_the_graph(graph):
    stored = {one.name: one for one in onnx.load(graph).graph.initializer}
    wanted = onnx.numpy_helper.to_array(stored["words"])
    data = read_words(graph, "words")
    found = checked_words(graph, table(data), 64)
    assert found.dtype == wanted.dtype == np.float16
    assert found.shape == wanted.shape
    assert found.tobytes() == wanted.tobytes() == data
    with pytest.raises(ValueError, match="read-only"):
        found[0, 0] = 1


def test_other_numbers_and_another_width_are_refused(graph):
    data = read_words(graph, "words")
    with pytest.raises(ModelIntegrityError, match="Install closecall again"):
        checked_words(graph, table(data[:-1] + b"x"), 64)
    with pytest.raises(ModelIntegrityError, match="damaged or changed"):
        checked_words(graph, table(data), 63)


@pytest.mark.parametrize("name", ["word", "embeddings.norm.scale", "layer.0.qkv"])
def test_a_name_that_is_not_there_or_of_another_type_is_refused(graph, name):
    with pytest.raises(ModelError, match=f"holds no float16 tensor '{name}'"):
        read_words(graph, name)


@pytest.mark.parametrize("data", [b"", b"\xff" * 40, b"not a graph"])
def test_what_is_no_graph_is_refused(tmp_path, data):
    path = tmp_path / "model.onnx"
    path.write_bytes(data)
    with pytest.raises(ModelError, match=r"model\.onnx: "):
        read_words(path, "words")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ModelError, match=r"model\.onnx: no such file"):
        read_words(tmp_path / "model.onnx", "words")
