"""A graph runs on the device asked for or not at all, and the device changes no identity."""

import sys

import numpy as np
import onnxruntime
import pytest
import tiny_bert
import tiny_export

from closecall.embedders import onnx_session
from closecall.embedders.onnx import OnnxEmbedder
from closecall.embedders.onnx_export import ExportedEmbedder
from closecall.embedders.onnx_options import ExportOptions
from closecall.embedders.onnx_session import Session, device_parts, make_session
from closecall.embedders.onnx_texts import CPU_TOKENS, CUDA_TOKENS
from closecall.embedders.registry import load_embedder
from closecall.errors import ConfigurationError, EmbeddingError, UsageError
from closecall.models.compiler import Naming, compile_folder

CUDA, CPU = "CUDAExecutionProvider", "CPUExecutionProvider"
HERE = CUDA in onnxruntime.get_available_providers()
without_cuda = pytest.mark.skipif(HERE, reason="this onnxruntime has CUDA")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("devices")
    tiny_bert.write_folder(root / "source")
    compile_folder(root / "source", root / "compiled", Naming(name="tiny"))
    files = {"onnx/model.onnx": {}, "onnx/int8.onnx": {"kind": "int8"}}
    tiny_export.write_export(root / "export", files=files)
    return root


def made(folders, kind, **options):
    if kind == "compiled":
        return OnnxEmbedder(folders / "compiled", **options)
    return ExportedEmbedder(folders / "export", ExportOptions(**options))


BOTH = pytest.mark.parametrize("kind", ["compiled", "export"])


@without_cuda
@BOTH
def test_a_device_that_is_not_there_is_refused(folders, kind):
    embedder = made(folders, kind, device="cuda")
    with pytest.raises(ConfigurationError) as caught:
        embedder.embed(["cat"])
    for part in ("device cuda", f"has only {', '.join(onnxruntime.get_available_providers())}",
                 "onnxruntime-gpu", "device=cpu"):  # fmt: skip
        assert part in str(caught.value)
    with pytest.raises(ConfigurationError, match="device cuda:1"):
        made(folders, kind, device="cuda:1").load()


class FakeRuntime:
    """A runtime that says it has CUDA, and starts what it likes."""

    __version__ = "0.0"
    SessionOptions = onnxruntime.SessionOptions
    GraphOptimizationLevel = onnxruntime.GraphOptimizationLevel

    def __init__(self, active, error=None):
        self.active, self.error, self.asked = active, error, None

    def get_available_providers(self):
        return [CUDA, CPU]

    def preload_dlls(self):
        print("cannot load libcudart.so")  # noqa: T201 - as the runtime does

    def InferenceSession(self, data, options, *, providers, enable_fallback):  # noqa: N802
        self.asked = (providers, enable_fallback)
        if self.error:
            raise self.error
        session = onnxruntime.InferenceSession(data, options, providers=[CPU])
        session.get_providers = lambda: self.active
        return session


def graph(folders):
    return (folders / "compiled" / "model.onnx").read_bytes()


def test_a_runtime_that_starts_another_device_is_refused(folders, monkeypatch, capsys):
    fake = FakeRuntime([CPU])
    monkeypatch.setattr(onnx_session, "_imported", lambda: fake)
    with pytest.raises(ConfigurationError, match="started CPUExecutionProvider instead"):
        make_session(graph(folders), "model.onnx", device="cuda:2")
    (cuda, cpu), fallback = fake.asked
    assert (cuda, cpu) == ((CUDA, {"device_id": "2", "use_tf32": "0"}), CPU)
    assert fallback == 0
    assert capsys.readouterr().out == ""


def test_a_device_that_was_started_is_used_bound_and_without_falling_back(folders, monkeypatch):
    monkeypatch.setattr(onnx_session, "_imported", lambda: FakeRuntime([CUDA, CPU]))
    session = make_session(graph(folders), "model.onnx", device="cuda")
    assert (session.device, session.bound) == ("cuda", True)
    assert not session.raw._enable_fallback
    monkeypatch.undo()
    assert not make_session(graph(folders), "model.onnx").bound


def test_a_device_that_fails_is_not_replaced(folders, monkeypatch):
    fake = FakeRuntime([], error=RuntimeError("CUDA failure 35"))
    monkeypatch.setattr(onnx_session, "_imported", lambda: fake)
    with pytest.raises(ConfigurationError, match="CUDA failure 35"):
        make_session(graph(folders), "model.onnx", device="cuda")


@BOTH
def test_the_device_is_no_part_of_the_identity(folders, kind):
    plain, other = (made(folders, kind, device=device) for device in ("cpu", "cuda"))
    assert plain.instrument == other.instrument
    assert (plain.device, other.device) == ("cpu", "cuda")
    assert other.threads == 1
    assert (plain._batch_tokens, other._batch_tokens) == (CPU_TOKENS, CUDA_TOKENS)


@pytest.mark.parametrize("device", ["gpu", "cuda:", "cuda:x", "CPU", "mps", ""])
@BOTH
def test_devices_that_cannot_be(folders, kind, device):
    with pytest.raises(UsageError, match="cpu, cuda or cuda:N"):
        made(folders, kind, device=device)
    with pytest.raises(UsageError):
        load_embedder(f"minilm?device={device}")


def test_rounding_by_the_batch_is_refused_where_it_would_run_on_the_cpu(folders):
    embedder = made(folders, "export", file="onnx/int8.onnx", device="cuda")
    with pytest.raises(ConfigurationError, match="DynamicQuantizeLinear"):
        embedder.load()


def test_bound_runs_give_the_same_bytes(folders):
    plain = make_session(graph(folders), "model.onnx")
    bound = Session(plain.raw, "cpu", bound=True)
    ids = np.random.default_rng(1).integers(5, 60, (4, 9)).astype(np.int32)
    feed = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
    for outputs in (["embedding"], ["embedding", "tokens"], ["tokens", "embedding"]):
        found, wanted = bound.run(outputs, feed), plain.run(outputs, feed)
        assert [one.tobytes() for one in found] == [one.tobytes() for one in wanted]
    with pytest.raises(EmbeddingError, match="onnxruntime failed"):
        bound.run(["nothing"], feed)


def test_parts_of_a_device():
    assert [device_parts(name) for name in ("cpu", "cuda", "cuda:3")] == [
        ("cpu", 0),
        ("cuda", 0),
        ("cuda", 3),
    ]


@pytest.mark.skipif(not HERE, reason="this onnxruntime has no CUDA")
@BOTH
def test_cuda_agrees_with_the_cpu(folders, kind):  # pragma: no cover - where there is a card
    texts = ["red cat sat", "", "a " * 60, "好 é", "blue bird " * 9]
    on_cpu, on_cuda = (made(folders, kind, device=device) for device in ("cpu", "cuda"))
    for one, other in zip(on_cpu.embed_pieces(texts), on_cuda.embed_pieces(texts), strict=True):
        np.testing.assert_allclose(other.vector, one.vector, atol=1e-5)
        np.testing.assert_allclose(other.pieces.vectors, one.pieces.vectors, atol=1e-4)


def test_a_runtime_that_cannot_be_imported_is_named(folders, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ConfigurationError, match="onnxruntime cannot be imported"):
        made(folders, "export").load()
