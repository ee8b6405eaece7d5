"""Folders and files that are no static model, or one that somebody tampered with."""

import json

import numpy as np
import pytest
import tiny_bert
from static_models import (
    framed,
    modules,
    rows,
    tensor_file,
    write_static,
    write_static_embedding,
)

from closecall.embedders.static.embedder import StaticEmbedder
from closecall.errors import ModelError
from closecall.models.safetensors_file import MAX_HEADER, TensorFile, format_tensors
from closecall.models.static_files import read_static

F32 = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}


def header(value, data=b"\0" * 8):
    return framed(json.dumps(value).encode(), data)


def entry(**changes):
    return header({"a": {**F32, **changes}})


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "it has 0 bytes"),
        (b"\0" * 7, "it has 7 bytes"),
        ((2**64 - 1).to_bytes(8, "little") + b"{}", "more than 1,048,576"),
        ((MAX_HEADER).to_bytes(8, "little") + b"{}", "more than there are"),
        (framed(b" {}"), "does not begin with {"),
        (framed(b"{"), "not a safetensors file"),
        (framed(b"\xff\xfe"), "does not begin"),
        (framed(b'{"\xff":1}'), "not a safetensors file"),
        (framed(b'{"a":' * 200_000), "not a safetensors file"),
        (framed(b'{"a":{},"a":{}}'), "twice"),
        (header({"a": {**F32, "shape": [2, 2]}}), "takes 16 bytes, data_offsets say 8"),
        (header({"a": 1}), "expected dtype, shape and data_offsets"),
        (entry(extra=1), "expected dtype, shape and data_offsets"),
        (entry(dtype="U8"), "'U8'; known are"),
        (entry(dtype=["F32"]), "known are"),
        (entry(shape=[-2]), "whole numbers"),
        (entry(shape=[2.0]), "whole numbers"),
        (entry(shape=[True, 2]), "whole numbers"),
        (entry(shape="2"), "whole numbers"),
        (entry(shape=[1] * 9), "up to 8"),
        (entry(shape=[2**62, 2**62]), "takes"),
        (entry(data_offsets=[0]), "two whole numbers"),
        (entry(data_offsets=[8, 0]), "say -8"),
        (entry(data_offsets=[4, 12]), "leaves a gap"),
        (header({"a": F32}, b"\0" * 7), "end at byte"),
        (header({"a": F32}, b"\0" * 9), "end at byte"),
        (header({"a": F32, "b": F32}), "overlaps"),
        (
            header({"a": F32, "b": {**F32, "data_offsets": [4, 12]}}, b"\0" * 12),
            "overlaps",
        ),
        (header({"a" * 201: F32}), "201 characters"),
        (framed(b"[]"), "does not begin"),
    ],
)
def test_a_hostile_tensor_file_is_refused(data, said):
    with pytest.raises(ModelError, match="the/file: not a safetensors file") as caught:
        TensorFile(data, "the/file")
    assert said in str(caught.value)


def test_a_file_is_written_as_the_library_reads_it(tmp_path):
    safetensors = pytest.importorskip("safetensors.numpy")
    tensors = {
        "b": np.arange(6, dtype=np.float16).reshape(2, 3),
        "a": np.array([1.5, -2], dtype=np.float32),
        "c": np.array([7], dtype=np.int64),
        "d": np.zeros((0, 4), dtype=np.float64),
    }
    data = format_tensors(tensors, {"format": "np"})
    assert data == format_tensors(dict(reversed(tensors.items())), {"format": "np"})
    mine, theirs = TensorFile(data, "x"), safetensors.load(data)
    assert set(mine.tensors) == set(theirs) == set(tensors)
    for name, values in tensors.items():
        for found in (mine.array(name), theirs[name]):
            assert (found.dtype, found.shape) == (values.dtype, values.shape)
            assert found.tobytes() == values.tobytes()
        assert not mine.array(name).flags.writeable
    back = TensorFile(safetensors.save(tensors), "y")
    assert back.array("b").tobytes() == tensors["b"].tobytes()
    with pytest.raises(ValueError, match="cannot be written"):
        format_tensors({"a": np.array([1j])})
    with pytest.raises(ModelError, match="no tensor 'z'; there are: a, b, c, d"):
        mine.array("z")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"table": rows(count=3)}, "belongs to another model"),
        ({"table": rows(count=len(tiny_bert.VOCABULARY) + 1)}, "belongs to another model"),
        ({"table": rows()[:, :0]}, "expected a row a token"),
        ({"table": rows().ravel()}, "expected a row a token"),
        ({"table": np.ones((4, 2)), "dtype": "I64"}, "is I64; known are"),
        ({"table": np.full_like(rows(), np.inf)}, "not finite"),
        ({"table": np.full(rows().shape, 1e300), "dtype": "F64"}, "not finite in float32"),
        ({"mapping": [0, 1]}, "belongs to another model"),
        ({"mapping": [-1] * len(rows())}, "no row of the table"),
        ({"mapping": [len(rows())] * len(rows())}, "no row of the table"),
        ({"weights": [1.0]}, "expected a number for each"),
        ({"weights": [np.nan] * len(rows())}, "not finite"),
    ],
)
def test_tensors_that_do_not_fit_are_refused(tmp_path, change, said):
    folder = write_static(tmp_path / "tiny", **change)
    with pytest.raises(ModelError) as caught:
        StaticEmbedder(folder).load()
    assert said in str(caught.value)
    assert "model.safetensors" in str(caught.value)


def test_a_file_without_the_table_is_refused(tmp_path):
    folder = write_static(tmp_path / "tiny")
    (folder / "model.safetensors").write_bytes(tensor_file({"other": (rows(), "F32")}))
    with pytest.raises(ModelError, match=r"expected one tensor named .* there are: other"):
        _ = StaticEmbedder(folder).instrument


def test_a_tokenizer_that_is_none_is_refused(tmp_path):
    folder = write_static(tmp_path / "tiny")
    (folder / "tokenizer.json").write_text("{}", encoding="utf-8")
    with pytest.raises(ModelError, match="not a tokenizer"):
        StaticEmbedder(folder).load()


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
def test_a_missing_file_is_named(tmp_path, name):
    folder = write_static(tmp_path / "tiny")
    (folder / name).unlink()
    with pytest.raises(ModelError, match=f"{name}: no such file"):
        StaticEmbedder(folder)


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("config.json", "{", "cannot be read as JSON"),
        ("config.json", "[]", "expected a JSON object"),
        ("config.json", "null", "expected a JSON object"),
        ("config.json", "[" * 100_000, "cannot be read as JSON"),
        ("config.json", " " * (1 << 20) + "{}", "too large"),
        ("config.json", '{"model_type": "bert"}', "holds no static model"),
        ("config.json", '{"model_type": "model2vec", "normalize": 1}', "normalize"),
        ("config.json", '{"model_type": "model2vec", "closecall": {"name": 1}}', "closecall"),
        ("modules.json", "{}", "expected a list of modules"),
        ("modules.json", '[{"type": 1}]', "expected a list of modules"),
        ("modules.json", json.dumps(modules("StaticEmbedding", "Dense")), "the modules are"),
    ],
)
def test_a_configuration_that_says_something_else_is_refused(tmp_path, file, content, said):
    folder = write_static(tmp_path / "tiny")
    (folder / file).write_text(content, encoding="utf-8")
    with pytest.raises(ModelError) as caught:
        read_static(folder)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "kinds", [(), ("Normalize",), ("Normalize", "StaticEmbedding"), ("Transformer", "Pooling")]
)
def test_other_modules_are_no_static_model(tmp_path, kinds):
    folder = write_static_embedding(tmp_path / "tiny", nested=True, normalize=True)
    tiny_bert.write_json(folder / "modules.json", modules(*kinds))
    with pytest.raises(ModelError, match="holds no static model"):
        read_static(folder)


def test_modules_that_follow_are_not_left_out(tmp_path):
    folder = write_static_embedding(tmp_path / "tiny", nested=True, normalize=True)
    tiny_bert.write_json(folder / "modules.json", modules("StaticEmbedding", "Dense"))
    with pytest.raises(ModelError, match="the modules are StaticEmbedding, Dense"):
        read_static(folder)


def test_a_class_of_another_package_is_no_static_embedding(tmp_path):
    folder = write_static_embedding(tmp_path / "tiny", nested=False, normalize=True)
    tiny_bert.write_json(folder / "modules.json", [{"type": "evil.StaticEmbedding"}])
    with pytest.raises(ModelError, match="holds no static model"):
        read_static(folder)
