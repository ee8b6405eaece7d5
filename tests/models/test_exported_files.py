"""Which graph of a folder is taken, what it is made of, and that nothing outside is read."""

import hashlib

import numpy as np
import onnx
import pytest
import tiny_export
from onnx import TensorProto, helper, numpy_helper

from closecall.errors import ModelError, ModelIntegrityError
from closecall.models.exported import find_graph, graph_files, read_exported
from closecall.models.graph_facts import GraphFacts, graph_facts

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def touch(folder, *names):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"")


def small(path, *, external=None):
    """Write a graph of one product."""
    path.parent.mkdir(parents=True, exist_ok=True)
    weight = numpy_helper.from_array(np.arange(12, dtype=np.float32).reshape(3, 4), "w")
    onnx.save(
        wrapped([helper.make_node("MatMul", ["x", "w"], ["y"])], [weight]),
        path,
        save_as_external_data=external is not None,
        location=external,
        size_threshold=0,
    )
    return path


def wrapped(nodes, weights=()):
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "g",
        [info("x", TensorProto.FLOAT, ["n", 3])],
        [info("y", TensorProto.FLOAT, None)],
        weights,
    )
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])


def renamed(path, location):
    """Let a graph call the file with its weights by another name."""
    model = onnx.load(path, load_external_data=False)
    for tensor in model.graph.initializer:
        for entry in tensor.external_data:
            if entry.key == "location":
                entry.value = location
    path.write_bytes(model.SerializeToString())


# --- which one -------------------------------------------------------------------------------


def test_the_one_in_float32_is_taken_unless_another_is_named(tmp_path):
    touch(tmp_path, "model.onnx", "onnx/model_O3.onnx")
    assert find_graph(tmp_path) == tmp_path / "model.onnx"
    touch(tmp_path, "onnx/model.onnx")
    assert find_graph(tmp_path) == tmp_path / "onnx" / "model.onnx"
    assert find_graph(tmp_path, "onnx/model_O3.onnx") == tmp_path / "onnx" / "model_O3.onnx"
    assert graph_files(tmp_path) == ["model.onnx", "onnx/model.onnx", "onnx/model_O3.onnx"]


def test_what_there_is_is_said_where_it_is_none_of_the_usual(tmp_path):
    touch(tmp_path, "onnx/model_qint8_avx512.onnx")
    with pytest.raises(ModelError, match=r"there are onnx/model_qint8_avx512\.onnx.*file="):
        find_graph(tmp_path)
    with pytest.raises(ModelError, match="no such file; there are onnx/model_qint8"):
        find_graph(tmp_path, "onnx/model_fp16.onnx")
    with pytest.raises(ModelError, match="there is no ONNX file"):
        find_graph(tmp_path / "nowhere")


@pytest.mark.parametrize(
    "name",
    ["../model.onnx", "/etc/passwd", "onnx/../../model.onnx", "..\\model.onnx", "C:model.onnx", "",
     "*/_ORT_MEM_ADDR_/*"],
)  # fmt: skip
def test_a_name_that_leads_out_is_refused(tmp_path, name):
    touch(tmp_path, "model.onnx", "in/onnx/x")
    with pytest.raises(ModelError, match="leads out"):
        find_graph(tmp_path / "in", name)


def test_a_link_that_leads_out_is_refused(tmp_path):
    touch(tmp_path, "model.onnx", "in/x")
    (tmp_path / "in" / "model.onnx").symlink_to(tmp_path / "model.onnx")
    with pytest.raises(ModelError, match="leads out"):
        find_graph(tmp_path / "in")
    (tmp_path / "away").mkdir()
    touch(tmp_path / "away", "model.onnx")
    (tmp_path / "in" / "onnx").symlink_to(tmp_path / "away")
    with pytest.raises(ModelError, match="leads out"):
        find_graph(tmp_path / "in", "onnx/model.onnx")


# --- files beside ----------------------------------------------------------------------------


def test_a_graph_alone_has_its_own_hash(tmp_path):
    path = small(tmp_path / "model.onnx")
    found = read_exported(tmp_path, path)
    assert found.digest == hashlib.sha256(path.read_bytes()).hexdigest()
    assert (found.data, dict(found.beside)) == (path.read_bytes(), {})


def test_files_beside_are_part_of_the_digest(tmp_path):
    path = small(tmp_path / "onnx" / "model.onnx", external="model.onnx_data")
    data = tmp_path / "onnx" / "model.onnx_data"
    found = read_exported(tmp_path, path)
    assert dict(found.beside) == {"model.onnx_data": data.read_bytes()}
    listed = "".join(
        f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in (path, data)
    )
    assert found.digest == hashlib.sha256(listed.encode()).hexdigest()
    raw = bytearray(data.read_bytes())
    raw[5] ^= 1
    data.write_bytes(raw)
    assert read_exported(tmp_path, path).digest != found.digest
    with pytest.raises(ModelIntegrityError, match=found.digest):
        read_exported(tmp_path, path, found.digest)


@pytest.mark.parametrize(
    "location",
    [
        "../w.bin",
        "/etc/hostname",
        "a/../../../w.bin",
        "..\\w.bin",
        "*/_ORT_MEM_ADDR_/*",
        "C:w.bin",
    ],
)
def test_a_file_outside_is_not_read(tmp_path, location):
    path = small(tmp_path / "in" / "onnx" / "model.onnx", external="w.bin")
    (tmp_path / "in" / "w.bin").write_bytes(b"\0" * 48)
    (tmp_path / "w.bin").write_bytes(b"\0" * 48)
    renamed(path, location)
    with pytest.raises(ModelError, match="leads out"):
        read_exported(tmp_path / "in", path)


def test_a_link_to_a_file_outside_is_not_followed(tmp_path):
    path = small(tmp_path / "in" / "model.onnx", external="w.bin")
    (tmp_path / "in" / "w.bin").rename(tmp_path / "w.bin")
    (tmp_path / "in" / "w.bin").symlink_to(tmp_path / "w.bin")
    with pytest.raises(ModelError, match="leads out"):
        read_exported(tmp_path / "in", path)


def test_links_of_the_hubs_cache_are_followed_to_its_own_files(tmp_path):
    blobs, snapshot = tmp_path / "m" / "blobs", tmp_path / "m" / "snapshots" / COMMIT
    small(blobs / "model.onnx", external="w.bin")
    (snapshot / "onnx").mkdir(parents=True)
    for name in ("model.onnx", "w.bin"):
        (snapshot / "onnx" / name).symlink_to(blobs / name)
    found = read_exported(snapshot, find_graph(snapshot))
    assert found.beside["w.bin"] == (blobs / "w.bin").read_bytes()
    (tmp_path / "other").write_bytes(b"\0" * 48)
    (snapshot / "onnx" / "w.bin").unlink()
    (snapshot / "onnx" / "w.bin").symlink_to(tmp_path / "other")
    with pytest.raises(ModelError, match="leads out"):
        read_exported(snapshot, find_graph(snapshot))


def test_files_missing_or_cut_short_are_named(tmp_path):
    path = small(tmp_path / "model.onnx", external="w.bin")
    raw = (tmp_path / "w.bin").read_bytes()
    (tmp_path / "w.bin").write_bytes(raw[:-1])
    with pytest.raises(ModelError, match=r"w\.bin: cut short"):
        read_exported(tmp_path, path)
    (tmp_path / "w.bin").unlink()
    with pytest.raises(ModelError, match=r"w\.bin: no such file"):
        read_exported(tmp_path, path)
    path.write_bytes(b"\xff" * 40)
    with pytest.raises(ModelError, match="not an ONNX file"):
        read_exported(tmp_path, path)


def test_places_that_are_no_numbers_are_refused(tmp_path):
    path = small(tmp_path / "model.onnx", external="w.bin")
    model = onnx.load(path, load_external_data=False)
    for entry in model.graph.initializer[0].external_data:
        if entry.key == "length":
            entry.value = "-48"
    path.write_bytes(model.SerializeToString())
    with pytest.raises(ModelError, match="no number"):
        read_exported(tmp_path, path)


# --- what it is made of ----------------------------------------------------------------------


def facts(nodes=(), weights=()):
    return graph_facts(wrapped(nodes, weights).SerializeToString())


def matrix(kind, name="w", shape=(3, 4)):
    return numpy_helper.from_array(np.zeros(shape, dtype=kind), name)


@pytest.mark.parametrize(
    ("kinds", "precision"),
    [
        ([np.float32], "fp32"),
        ([np.float16], "fp16"),
        ([np.float64], "fp64"),
        ([np.int8], "int8"),
        ([np.uint8], "uint8"),
        ([np.int8, np.uint8], "int8+uint8"),
        ([np.float32, np.int8], "int8"),
        ([np.int64], "fp32"),  # places and shapes are no weights
        ([], "fp32"),
    ],
)
def test_precision_is_that_of_the_weights(kinds, precision):
    weights = [matrix(kind, str(at)) for at, kind in enumerate(kinds)]
    assert facts(weights=weights) == GraphFacts(precision, batch_wide=False)


def test_most_weights_count_and_only_matrices():
    large, small_one = matrix(np.float16, "a", (9, 9)), matrix(np.float32, "b", (3, 3))
    assert facts(weights=[small_one, large]).precision == "fp16"
    assert facts(weights=[matrix(np.float32), matrix(np.uint8, "z", (500,))]).precision == "fp32"


def test_weights_in_blocks_are_of_the_bits_their_operator_says():
    blocks = helper.make_node("MatMulNBits", ["x"], ["y"], domain="com.microsoft", bits=8)
    assert facts([blocks], [matrix(np.uint8)]).precision == "int8"
    blocks = helper.make_node("MatMulNBits", ["x"], ["y"], domain="com.microsoft")
    assert facts([blocks], [matrix(np.uint8)]).precision == "int4"


def test_operators_that_round_by_the_batch_are_found_within_branches():
    rounds = helper.make_node("DynamicQuantizeLinear", ["x"], ["a", "b", "c"])
    assert facts([rounds]).batch_wide
    branch = helper.make_graph([rounds], "inner", [], [])
    assert facts([helper.make_node("If", ["x"], ["y"], then_branch=branch)]).batch_wide
    # A name that only looks like it, of a value and not of an operator.
    assert not facts([helper.make_node("Add", ["DynamicQuantizeLinear", "x"], ["y"])]).batch_wide


@pytest.mark.parametrize("kind", ["fp32", "fp16", "int8"])
def test_exports_are_seen_for_what_they_are_whatever_they_are_called(tmp_path, kind):
    tiny_export.write_export(tmp_path, files={"onnx/model_uint8.onnx": {"kind": kind}})
    found = read_exported(tmp_path, tmp_path / "onnx" / "model_uint8.onnx").facts
    assert found == GraphFacts(kind, batch_wide=kind == "int8")
