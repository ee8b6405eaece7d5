"""BERT's relatives compute what their formulas say, with positions and distances of their own."""

import json

import numpy as np
import numpy_bert
import onnxruntime
import pytest
import tiny_bert
import tiny_families

from closecall.embedders.onnx import OnnxEmbedder
from closecall.errors import ModelError, UnsupportedArchitectureError
from closecall.models.bert_graph import distance_bucket
from closecall.models.compiler import Naming, compile_folder
from closecall.testing import check_embedder

KINDS = ("roberta", "xlm-roberta", "camembert", "mpnet", "distilbert")


def compiled(tmp_path, kind, *, storage="fp32", token_types=False, **options):
    model = tiny_families.Tiny(tmp_path / "source", kind, **options)
    card = compile_folder(
        tmp_path / "source",
        tmp_path / "out",
        Naming(name="tiny"),
        storage=storage,
        token_types=token_types,
    )
    return model, card, session(tmp_path / "out")


def session(folder):
    return onnxruntime.InferenceSession(
        str(folder / "model.onnx"), providers=["CPUExecutionProvider"]
    )


def run(found, ids, mask=None):
    ids = np.asarray(ids, dtype=np.int32)
    mask = np.ones_like(ids) if mask is None else mask
    return found.run(["embedding", "tokens"], {"input_ids": ids, "attention_mask": mask})


def draw(count, length, seed=3):
    words = np.random.default_rng(seed)
    return words.integers(5, len(tiny_bert.VOCABULARY), (count, length)).astype(np.int32)


@pytest.mark.parametrize("length", [1, 2, 9, tiny_families.LONGEST])
@pytest.mark.parametrize("kind", KINDS)
def test_agrees_with_the_formulas(tmp_path, kind, length):
    model, card, found = compiled(tmp_path, kind)
    assert (card.architecture, card.max_tokens) == (kind, tiny_families.LONGEST)
    ids = draw(3, length)
    vectors, hidden = run(found, ids)
    for row in range(len(ids)):
        wanted = model.tokens(ids[row])
        np.testing.assert_allclose(hidden[row], wanted, atol=1e-5)
        vector = numpy_bert.embedding(wanted, np.ones(length))
        np.testing.assert_allclose(vectors[row], vector, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_padding_on_the_right_changes_nothing(tmp_path, kind):
    model, _, found = compiled(tmp_path, kind, pooling="cls")
    ids = draw(2, 12)
    mask = np.ones_like(ids)
    ids[1, 7:], mask[1, 7:] = model.pad, 0
    vectors, hidden = run(found, ids, mask)
    alone = run(found, ids[1:, :7])
    np.testing.assert_allclose(vectors[1], alone[0][0], atol=2e-6)
    np.testing.assert_allclose(hidden[1, :7], alone[1][0], atol=4e-6)


@pytest.mark.parametrize("pad", [0, 1, 4])
@pytest.mark.parametrize("kind", ["xlm-roberta", "mpnet"])
def test_positions_count_what_is_not_padding_from_after_its_id(tmp_path, kind, pad):
    model, _, found = compiled(tmp_path, kind, pad=pad)
    ids = draw(1, 9)
    ids[0, 3] = pad  # the padding's own token, written in a text
    ids[0, 5] = 1  # MPNet counts by this one, whatever the configuration says
    hidden = run(found, ids)[1][0]
    np.testing.assert_allclose(hidden, model.tokens(ids[0]), atol=1e-5)
    # Numbered as BERT does it, the tokens would be others.
    model.counted = False
    assert np.abs(hidden - model.tokens(ids[0])).max() > 0.1


def test_distances_are_felt(tmp_path):
    model, _, found = compiled(tmp_path, "mpnet")
    ids = draw(1, 150)
    hidden = run(found, ids)[1][0]
    model.weights[tiny_families.BIAS][:] = 0
    assert np.abs(hidden - model.tokens(ids[0])).max() > 0.1


def test_groups_of_distances():
    for distance in range(-600, 601):
        assert distance_bucket(distance) == tiny_families.bucket(distance)
    assert [distance_bucket(-n) for n in (0, 7, 8, 11, 12, 16, 23, 64, 90, 91, 9999)] == [
        0, 7, 8, 8, 9, 10, 11, 14, 14, 15, 15,
    ]  # fmt: skip
    assert [distance_bucket(n) for n in (1, 8, 91)] == [17, 24, 31]


@pytest.mark.parametrize("kind", KINDS)
def test_names_of_checkpoints_with_a_head(tmp_path, kind):
    model, _, found = compiled(tmp_path, kind, headed=True)
    ids = draw(1, 5)
    np.testing.assert_allclose(run(found, ids)[1][0], model.tokens(ids[0]), atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_half_storage_is_near(tmp_path, kind):
    wide = {"hidden_size": 96, "num_attention_heads": 4, "intermediate_size": 128}
    model, card, found = compiled(tmp_path, kind, storage="fp16", **wide)
    ids = draw(2, 20)
    for row, vector in enumerate(run(found, ids)[0]):
        wanted = numpy_bert.embedding(model.tokens(ids[row]), np.ones(20))
        assert numpy_bert.cosine(vector, wanted) >= 0.99999
    assert card.precision == "fp16-weights"


@pytest.mark.parametrize("kind", KINDS)
def test_token_types_only_where_there_are_some(tmp_path, kind):
    _, _, found = compiled(tmp_path, kind, token_types=True)
    typed = "token_type_ids" in [entry.name for entry in found.get_inputs()]
    assert typed == (kind not in ("mpnet", "distilbert"))


@pytest.mark.parametrize("kind", KINDS)
def test_the_embedder_keeps_its_contract(tmp_path, kind):
    compiled(tmp_path, kind)
    embedder = OnnxEmbedder(tmp_path / "out", threads=1)
    check_embedder(embedder, tolerance=2e-5)


def change(tmp_path, **fields):
    path = tmp_path / "source" / "config.json"
    raw = {**json.loads(path.read_text(encoding="utf-8")), **fields}
    path.write_text(json.dumps(raw), encoding="utf-8")


def refuse(tmp_path, error, *parts):
    with pytest.raises(error) as caught:
        compile_folder(tmp_path / "source", tmp_path / "out", Naming(name="x"))
    for part in parts:
        assert part in str(caught.value)


def test_windows_longer_than_the_positions_left(tmp_path):
    tiny_families.Tiny(tmp_path / "source", "roberta")
    change(tmp_path, max_position_embeddings=tiny_families.LONGEST)
    refuse(tmp_path, ModelError, "max_seq_length 200", "the 198 tokens")
    (tmp_path / "source" / "sentence_bert_config.json").unlink()
    change(tmp_path, max_position_embeddings=tiny_families.LONGEST + 2)
    card = compile_folder(tmp_path / "source", tmp_path / "out", Naming(name="x"))
    assert card.max_tokens == tiny_families.LONGEST


def test_what_a_configuration_leaves_out_is_the_familys(tmp_path):
    model, _, _ = compiled(tmp_path, "xlm-roberta")
    change(tmp_path, pad_token_id=None)
    card = compile_folder(tmp_path / "source", tmp_path / "out", Naming(name="x"))
    assert card.max_tokens == tiny_families.LONGEST
    ids = draw(1, 6)
    hidden = run(session(tmp_path / "out"), ids)[1][0]
    np.testing.assert_allclose(hidden, model.tokens(ids[0]), atol=1e-5)


def test_what_is_not_known_is_refused_by_the_familys_own_names(tmp_path):
    tiny_families.Tiny(tmp_path / "source", "mpnet")
    change(tmp_path, relative_attention_num_buckets=64)
    refuse(tmp_path, UnsupportedArchitectureError, "relative_attention_num_buckets is 64")
    change(tmp_path, relative_attention_num_buckets=32, pad_token_id=10_000)
    refuse(tmp_path, ModelError, "pad_token_id")
    tiny_families.Tiny(tmp_path / "source", "distilbert")
    change(tmp_path, hidden_dim=0)
    refuse(tmp_path, ModelError, "hidden_dim: must be positive")
    change(tmp_path, hidden_dim="40")
    refuse(tmp_path, ModelError, "hidden_dim")
    change(tmp_path, hidden_dim=40, activation="relu")
    refuse(tmp_path, UnsupportedArchitectureError, "relu")


def test_a_tensor_that_is_missing_is_named_as_the_file_names_it(tmp_path):
    model = tiny_families.Tiny(tmp_path / "source", "mpnet")
    left = {model.name(name): values for name, values in model.weights.items()}
    del left["encoder.layer.1.attention.attn.k.weight"]
    tiny_bert.write_safetensors(tmp_path / "source" / "model.safetensors", left)
    refuse(tmp_path, ModelError, "encoder.layer.1.attention.attn.k.weight is missing")
