"""The compiled graph computes what BERT is, whatever its shape and however it is stored."""

import numpy as np
import numpy_bert
import onnxruntime
import pytest
import tiny_bert

from closecall.models.compiler import Naming, compile_folder
from closecall.models.hashing import hash_file

NAMING = Naming(name="tiny")


def session(folder):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(
        str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"]
    )


def texts(config, count=5, length=9, seed=3):
    rng = np.random.default_rng(seed)
    return rng.integers(5, config["vocab_size"], (count, length)).astype(np.int32)


def compiled(tmp_path, *, storage="fp32", token_types=False, **options):
    config, weights = tiny_bert.write_folder(tmp_path / "source", **options)
    card = compile_folder(
        tmp_path / "source", tmp_path / "out", NAMING, storage=storage, token_types=token_types
    )
    return config, weights, card, session(tmp_path / "out")


SHAPES = {
    "as it is": {},
    "one layer": {"config": {"num_hidden_layers": 1}},
    "five layers": {"config": {"num_hidden_layers": 5}},
    "one head": {"config": {"num_attention_heads": 1}},
    "many heads": {"config": {"num_attention_heads": 12}},
    "wide": {"config": {"hidden_size": 64, "num_attention_heads": 4, "intermediate_size": 100}},
    "narrow middle": {"config": {"intermediate_size": 7}},
    "tanh, new": {"config": {"hidden_act": "gelu_new"}},
    "tanh, fast": {"config": {"hidden_act": "gelu_fast"}},
    "tanh, pytorch": {"config": {"hidden_act": "gelu_pytorch_tanh", "intermediate_size": 41}},
    "other epsilon": {"config": {"layer_norm_eps": 1e-3}},
    "one type": {"config": {"type_vocab_size": 1}},
    "named bert.": {"prefix": "bert."},
    "float16 file": {"dtype": "F16"},
    "bfloat16 file": {"dtype": "BF16"},
    "not normalised": {"normalize": False},
    "cls": {"pooling": {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}},
    "cls, not normalised": {"pooling": {"pooling_mode": "cls"}, "normalize": False},
    "mean, new spelling": {"pooling": {"pooling_mode": "mean"}},
}


@pytest.mark.parametrize("shape", SHAPES)
def test_agrees_with_the_formulas(tmp_path, shape):
    options = SHAPES[shape]
    config, weights, card, model = compiled(tmp_path, **options)
    ids = texts(config)
    mask = np.ones_like(ids)
    vectors, hidden = model.run(None, {"input_ids": ids, "attention_mask": mask})
    for row in range(len(ids)):
        wanted = numpy_bert.tokens(weights, config, ids[row])
        np.testing.assert_allclose(hidden[row], wanted, atol=2e-5)
        vector = numpy_bert.embedding(
            wanted, mask[row], pooling=card.pooling, normalize=card.normalize
        )
        np.testing.assert_allclose(vectors[row], vector, atol=1e-5)
        assert numpy_bert.cosine(vectors[row], vector) >= 0.99999
    lengths = np.linalg.norm(vectors, axis=1)
    assert card.normalize == np.allclose(lengths, 1, atol=1e-5)


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_padding_on_the_right_changes_nothing(tmp_path, pooling):
    config, weights, _, model = compiled(tmp_path, pooling={"pooling_mode": pooling})
    ids = texts(config, count=4, length=12)
    mask = np.ones_like(ids)
    for row, length in enumerate((12, 7, 2, 1)):
        ids[row, length:] = 0
        mask[row, length:] = 0
    vectors, hidden = model.run(None, {"input_ids": ids, "attention_mask": mask})
    for row, length in enumerate((12, 7, 2, 1)):
        alone = {"input_ids": ids[row : row + 1, :length]}
        alone["attention_mask"] = np.ones_like(alone["input_ids"])
        vector, states = model.run(None, alone)
        np.testing.assert_allclose(vectors[row], vector[0], atol=1e-6)
        np.testing.assert_allclose(hidden[row, :length], states[0], atol=2e-6)
        wanted = numpy_bert.tokens(weights, config, ids[row], mask[row])
        np.testing.assert_allclose(
            vectors[row], numpy_bert.embedding(wanted, mask[row], pooling=pooling), atol=1e-5
        )


def test_token_types_are_read_when_asked_for(tmp_path):
    config, weights, _, model = compiled(tmp_path, token_types=True)
    ids = texts(config, count=1)
    types = np.array([[0, 0, 0, 1, 1, 1, 1, 1, 1]], dtype=np.int32)
    feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": types}
    hidden = model.run(["tokens"], feed)[0]
    wanted = numpy_bert.tokens(weights, config, ids[0], types=types[0])
    np.testing.assert_allclose(hidden[0], wanted, atol=2e-5)
    feed["token_type_ids"] = np.zeros_like(types)
    assert np.abs(model.run(["tokens"], feed)[0] - hidden).max() > 0.01


def test_without_token_types_every_token_is_of_type_0(tmp_path):
    config, weights, _, model = compiled(tmp_path)
    assert [entry.name for entry in model.get_inputs()] == ["input_ids", "attention_mask"]
    ids = texts(config, count=1)
    hidden = model.run(["tokens"], {"input_ids": ids, "attention_mask": np.ones_like(ids)})[0]
    wanted = numpy_bert.tokens(weights, config, ids[0], types=np.zeros(9, dtype=int))
    np.testing.assert_allclose(hidden[0], wanted, atol=2e-5)


def test_half_storage_is_near_and_half_the_size(tmp_path):
    shape = {"hidden_size": 96, "intermediate_size": 256, "num_attention_heads": 4}
    config, weights, card, model = compiled(tmp_path, storage="fp16", config=shape)
    ids = texts(config, count=8, length=20)
    vectors = model.run(["embedding"], {"input_ids": ids, "attention_mask": np.ones_like(ids)})[0]
    for row in range(len(ids)):
        hidden = numpy_bert.tokens(weights, config, ids[row])
        wanted = numpy_bert.embedding(hidden, np.ones(20))
        assert numpy_bert.cosine(vectors[row], wanted) >= 0.99999
    assert vectors.dtype == np.float32
    assert card.precision == "fp16-weights"
    full = sum(values.nbytes for values in weights.values())
    assert card.file("model.onnx").size < 0.6 * full


@pytest.mark.parametrize("storage", ["fp32", "fp16"])
def test_the_same_source_gives_the_same_bytes(tmp_path, storage):
    tiny_bert.write_folder(tmp_path / "source")
    cards = [
        compile_folder(tmp_path / "source", tmp_path / name, NAMING, storage=storage)
        for name in ("one", "two")
    ]
    assert cards[0] == cards[1]
    for name in ("model.onnx", "tokenizer.json", "card.toml"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    assert cards[0].file("model.onnx") == hash_file(tmp_path / "one" / "model.onnx")
    source = tmp_path / "source"
    assert (tmp_path / "one" / "tokenizer.json").read_bytes() == (
        source / "tokenizer.json"
    ).read_bytes()
    assert cards[0].weights.sha256 == hash_file(source / "model.safetensors").sha256
