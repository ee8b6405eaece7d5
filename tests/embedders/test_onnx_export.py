"""Graphs of other tools: fed by name, pooled as their folder says, refused where it does not."""

import hashlib
import json
import random

import numpy as np
import numpy_bert
import pytest
import tiny_bert
import tiny_export
from tokenizers import Tokenizer
from tokenizers.models import Unigram
from tokenizers.pre_tokenizers import Metaspace
from tokenizers.processors import TemplateProcessing

from closecall.embedders.base import NoPiecesError
from closecall.embedders.onnx import OnnxEmbedder
from closecall.embedders.onnx_export import ExportedEmbedder
from closecall.embedders.onnx_options import ExportOptions
from closecall.embedders.registry import load_embedder
from closecall.errors import (
    EmbeddingError,
    ModelError,
    ModelIntegrityError,
    UnsupportedArchitectureError,
    UsageError,
)
from closecall.models.compiler import Naming, compile_folder
from closecall.records import Role
from closecall.testing import check_embedder

SPECIALS = (2, 3)


def texts(count=30, seed=0, most=30):
    draw = random.Random(seed)
    words = [word for word in tiny_bert.WORDS if word.isalpha()]
    return [" ".join(draw.choices(words, k=draw.randint(0, most))) for _ in range(count)]


def ids(folder, text):
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    return tokenizer.encode(text, add_special_tokens=False).ids


def load(folder, **options):
    return ExportedEmbedder(folder, ExportOptions(**options), threads=1)


def change(path, **fields):
    raw = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    tiny_bert.write_json(path, {**raw, **fields})


@pytest.fixture
def export(tmp_path):
    tiny_export.write_export(tmp_path / "tiny")
    return tmp_path / "tiny"


# --- vectors ---------------------------------------------------------------------------------


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("pooling", ["mean", "cls", "lasttoken"])
def test_equals_the_formulas(tmp_path, pooling, normalize):
    layout = {"pooling": {"pooling_mode": pooling}, "normalize": normalize, "max_seq_length": 40}
    config, weights = tiny_export.write_export(tmp_path, layout=layout)
    embedder = load(tmp_path)
    asked = [*texts(), "", "CAT!", "好 é"]
    found = embedder.embed(asked)
    assert (found.shape, found.dtype) == ((len(asked), 24), np.float32)
    for text, vector in zip(asked, found, strict=True):
        content = [SPECIALS[0], *ids(tmp_path, text), SPECIALS[1]]
        hidden = numpy_bert.tokens(weights, config, content)
        wanted = numpy_bert.embedding(
            hidden, np.ones(len(content)), pooling=pooling, normalize=normalize
        )
        np.testing.assert_allclose(vector, wanted, atol=1e-5)
    assert (embedder.instrument.pooling, embedder.instrument.normalize) == (pooling, normalize)


def test_reads_texts_as_the_compiled_model_of_the_same_weights(tmp_path):
    tiny_export.write_export(tmp_path / "export")
    tiny_bert.write_folder(tmp_path / "source")
    compile_folder(tmp_path / "source", tmp_path / "compiled", Naming(name="tiny"))
    asked = texts(25, most=70)
    ours, theirs = (
        embedder.embed_pieces(asked)
        for embedder in (OnnxEmbedder(tmp_path / "compiled", threads=1), load(tmp_path / "export"))
    )
    assert max(one.tokens.windows for one in ours) > 2
    for one, other in zip(ours, theirs, strict=True):
        assert one.tokens == other.tokens
        assert one.pieces.spans == other.pieces.spans
        np.testing.assert_allclose(one.vector, other.vector, atol=1e-5)
        np.testing.assert_allclose(one.pieces.vectors, other.pieces.vectors, atol=2e-5)


def test_keeps_the_contract_and_has_an_identity_for_each_variant(tmp_path):
    kinds = {
        "onnx/model.onnx": {},
        "onnx/model_fp16.onnx": {"kind": "fp16"},
        "onnx/model_quantized.onnx": {"kind": "int8"},
    }
    tiny_export.write_export(tmp_path, files=kinds, layout={"prompts": {"query": "query: "}})
    plain = load(tmp_path)
    variants = {
        "fp16": load(tmp_path, file="onnx/model_fp16.onnx"),
        "int8": load(tmp_path, file="onnx/model_quantized.onnx"),
        "dims": load(tmp_path, dims=8),
        "max_tokens": load(tmp_path, max_tokens=12),
        "prompts": load(tmp_path, prompts="none"),
        "window": ExportedEmbedder(tmp_path, window="truncate"),
    }
    check_embedder(plain, variants=variants)
    for variant in variants.values():
        check_embedder(variant)
    precisions = [e.instrument.precision for e in (plain, variants["fp16"], variants["int8"])]
    assert precisions == ["fp32", "fp16", "int8"]
    assert load(tmp_path, batch_tokens=7).instrument == plain.instrument


def test_the_tokenizers_own_cutting_and_padding_do_not_apply(export):
    asked = texts(most=15)
    before = load(export).embed(asked)
    tokenizer = Tokenizer.from_file(str(export / "tokenizer.json"))
    tokenizer.enable_truncation(4)
    tokenizer.enable_padding(length=64, pad_id=7)
    tokenizer.save(str(export / "tokenizer.json"))
    assert load(export).embed(asked).tobytes() == before.tobytes()


def test_dims_are_cut_and_brought_to_length_1_again(export):
    asked = texts(5, most=9)
    whole, cut = load(export).embed(asked), load(export, dims=8).embed(asked)
    wanted = whole[:, :8] / np.linalg.norm(whole[:, :8], axis=1, keepdims=True)
    np.testing.assert_allclose(cut, wanted, atol=1e-6)


def test_positions_are_given_where_the_graph_asks_for_them(tmp_path):
    files = {"a.onnx": {}, "b.onnx": {"positions": True}}
    tiny_export.write_export(tmp_path, files=files)
    plain, told = (load(tmp_path, file=name).embed(texts()) for name in files)
    np.testing.assert_allclose(told, plain, atol=1e-6)
    # A family that counts from after the padding's id.
    change(tmp_path / "config.json", model_type="xlm-roberta", pad_token_id=3)
    config, weights = {**tiny_bert.CONFIG}, tiny_bert.weights(tiny_bert.CONFIG)
    content = [2, *ids(tmp_path, "red cat"), 3]
    hidden = numpy_bert.tokens(weights, config, content, places=np.arange(len(content)) + 4)
    found = load(tmp_path, file="b.onnx").embed(["red cat"])[0]
    np.testing.assert_allclose(found, numpy_bert.embedding(hidden, np.ones(4)), atol=1e-5)


def test_a_text_of_no_tokens_at_all_is_named(export):
    tokenizer = Tokenizer.from_file(str(export / "tokenizer.json"))
    raw = json.loads(tokenizer.to_str())
    raw["post_processor"] = None
    tiny_bert.write_json(export / "tokenizer.json", raw)
    with pytest.raises(EmbeddingError, match="no token of it") as caught:
        load(export).embed(["cat", "", "dog", " "])
    assert list(caught.value.indices) == [1, 3]


# --- int8 ------------------------------------------------------------------------------------


def test_a_dynamically_quantised_text_is_the_same_whoever_its_neighbours(tmp_path):
    tiny_export.write_export(tmp_path, files={"onnx/model_qint8.onnx": {"kind": "int8"}})
    # All of one length, so that they would share a batch.
    asked = ["red cat sat", "green dog ran", "好 bird é", "blue red green", "9 9 9"]
    embedder = load(tmp_path, file="onnx/model_qint8.onnx", batch_tokens=4096)
    together = embedder.embed(asked)
    for text, vector in zip(asked, together, strict=True):
        assert embedder.embed([text])[0].tobytes() == vector.tobytes()
        assert embedder.embed_pieces([text, *asked])[0].vector.tobytes() == vector.tobytes()
    # The graph itself makes something else of them in one batch.
    rows = np.array([[2, *ids(tmp_path, text), 3] for text in asked], dtype=np.int32)
    batched = embedder._ready().run(rows)
    assert np.abs(batched - together).max() > 1e-4
    assert embedder.instrument.options["rounding"] == "by the range of each text"


def test_int8_is_near_its_origin_and_another_instrument(tmp_path):
    files = {"onnx/model.onnx": {}, "onnx/model_qint8.onnx": {"kind": "int8"}}
    tiny_export.write_export(tmp_path, files=files)
    whole, rounded = (load(tmp_path, file=name) for name in files)
    asked = texts()
    cosines = (whole.embed(asked) * rounded.embed(asked)).sum(axis=1)
    assert 0.9 < cosines.min() < 0.99999
    assert whole.instrument.digest != rounded.instrument.digest


# --- which file, and its identity ------------------------------------------------------------


def test_specs(export):
    by_name = load_embedder(f"onnx:{export}?file=onnx/model.onnx&device=cpu&max_tokens=12")
    assert isinstance(by_name, ExportedEmbedder)
    assert by_name.instrument == load(export, max_tokens=12).instrument
    for spec, part in (
        ("", "needs a folder"),
        (f"{export}?size=3", "no option 'size'; there are file, device"),
        (f"{export}?dims=3&dims=4", "given twice"),
        (f"{export}?dims=-1", "dims must be a whole number"),
        (f"{export}?dims=²", "dims must be a whole number"),
        (f"{export}?device=tpu", "cpu, cuda or cuda:N"),
        (f"{export}?pooling=max&normalize=true", "mean, cls, lasttoken"),
        (f"{export}?normalize=yes", "true or false"),
        (f"{export}?prompts=some", "auto, config, none"),
        (f"{export}?dims", "name=value"),
    ):
        with pytest.raises(UsageError, match=part):
            load_embedder(f"onnx:{spec}")


def test_a_compiled_model_takes_only_what_its_card_does_not_say(tmp_path):
    tiny_bert.write_folder(tmp_path / "source")
    compile_folder(tmp_path / "source", tmp_path / "out", Naming(name="tiny"))
    embedder = load_embedder(f"onnx:{tmp_path / 'out'}?batch_tokens=9&device=cpu")
    assert isinstance(embedder, OnnxEmbedder)
    with pytest.raises(UsageError, match="file, pooling: a model with a card"):
        load_embedder(f"onnx:{tmp_path / 'out'}?file=model.onnx&pooling=cls")
    with pytest.raises(UsageError, match="no option 'dims'; there are device, batch_tokens"):
        load_embedder("minilm?dims=8")
    assert load_embedder("minilm?batch_tokens=9").instrument == load_embedder("minilm").instrument


def test_a_folder_without_a_graph_is_still_one_to_compile(tmp_path):
    tiny_bert.write_folder(tmp_path)
    with pytest.raises(ModelError, match="not compiled yet"):
        load_embedder(f"onnx:{tmp_path}")
    with pytest.raises(ModelError, match="no such folder"):
        load_embedder(f"onnx:{tmp_path / 'nowhere'}?file=model.onnx")


def test_weights_in_other_files(tmp_path):
    files = {
        "onnx/model.onnx": {},
        "onnx/large.onnx": {"external": "large.onnx_data"},
    }
    tiny_export.write_export(tmp_path, files=files)
    one, split = load(tmp_path), load(tmp_path, file="onnx/large.onnx")
    asked = texts()
    assert split.embed(asked).tobytes() == one.embed(asked).tobytes()
    check_embedder(split)
    data = tmp_path / "onnx" / "large.onnx_data"
    raw = data.read_bytes()
    data.write_bytes(raw[:100] + bytes([raw[100] ^ 1]) + raw[101:])
    assert load(tmp_path, file="onnx/large.onnx").instrument.digest != split.instrument.digest


@pytest.mark.parametrize("name", ["onnx/model.onnx", "onnx/w.bin", "tokenizer.json"])
def test_what_is_run_is_what_was_hashed(tmp_path, name):
    tiny_export.write_export(tmp_path, files={"onnx/model.onnx": {"external": "w.bin"}})
    embedder = load(tmp_path)
    assert embedder.instrument.weights
    raw = bytearray((tmp_path / name).read_bytes())
    raw += b"\n" if name == "tokenizer.json" else b""
    raw[len(raw) // 2] ^= 1 if name != "tokenizer.json" else 0
    (tmp_path / name).write_bytes(raw)
    with pytest.raises(ModelIntegrityError):
        embedder.embed(["cat"])


def test_the_files_hashes_are_in_the_identity(export):
    found = load(export).instrument
    wanted = [
        hashlib.sha256((export / name).read_bytes()).hexdigest()
        for name in ("onnx/model.onnx", "tokenizer.json")
    ]
    assert [found.weights, found.tokenizer] == wanted
    assert (found.kind, found.provider, found.model) == ("onnx", "local", "tiny")


def test_a_renamed_file_is_the_same_instrument(export):
    before = load(export).instrument
    (export / "onnx" / "model.onnx").rename(export / "onnx" / "model_O4.onnx")
    assert load(export, file="onnx/model_O4.onnx").instrument == before


# --- what the folder says --------------------------------------------------------------------


def test_without_modules_pooling_has_to_be_written(export):
    asked = texts()
    wanted = load(export).embed(asked)
    (export / "modules.json").unlink()
    (export / "sentence_bert_config.json").unlink()
    change(export / "tokenizer_config.json", model_max_length=20)
    with pytest.raises(ModelError, match=r"no modules\.json.*pooling=mean&normalize=true"):
        load(export)
    with pytest.raises(ModelError, match=r"no modules\.json"):
        load(export, pooling="mean")
    found = load(export, pooling="mean", normalize=True)
    assert found.embed(asked).tobytes() == wanted.tobytes()
    other = load(export, pooling="cls", normalize=False)
    assert other.instrument.digest != found.instrument.digest
    assert np.abs(other.embed(asked) - wanted).max() > 0.01


def test_options_do_not_contradict_the_folder(export):
    with pytest.raises(UsageError, match=r"pooling and normalize: modules\.json says that"):
        load(export, pooling="cls", normalize=False)


def test_poolings_that_are_not_done_here_are_refused(export):
    change(export / "1_Pooling" / "config.json", pooling_mode="weightedmean")
    with pytest.raises(UnsupportedArchitectureError, match=r"weightedmean.*mean, cls, lasttoken"):
        load(export)


def test_prefixes_of_the_configuration_and_of_the_family(export, tmp_path):
    change(export / "config_sentence_transformers.json", prompts={"query": "query: "})
    embedder = load(export)
    assert embedder.instrument.prefixes == {"query": "query: "}
    asked = texts(5, most=9)
    led = embedder.embed([f"query: {text}" for text in asked])
    assert embedder.embed(asked, Role.QUERY).tobytes() == led.tobytes()
    assert load(export, prompts="none").instrument.prefixes == {}
    (export / "config_sentence_transformers.json").unlink()
    named = export.rename(tmp_path / "e5-small-v2")
    assert load(named).instrument.prefixes["document"] == "passage: "


def test_a_folder_without_what_is_needed_is_refused(export):
    (export / "tokenizer.json").unlink()
    with pytest.raises(ModelError, match=r"tokenizer\.json: no such file"):
        load(export)
    change(export / "config.json", auto_map={"AutoModel": "own.Model"})
    with pytest.raises(ModelError, match="auto_map"):
        load(export)


# --- what the graph says ---------------------------------------------------------------------

BOTH = (tiny_export.STATES, tiny_export.TEXT)


def test_a_graph_that_pools_itself_is_taken_at_its_word(tmp_path):
    files = {
        "onnx/model.onnx": {},
        "both.onnx": {"outputs": BOTH, "text": tiny_export.mean},
        "text.onnx": {"outputs": BOTH[1:], "text": tiny_export.mean},
    }
    tiny_export.write_export(tmp_path, files=files)
    asked = texts()
    wanted = load(tmp_path).embed(asked)
    for name in ("both.onnx", "text.onnx"):
        np.testing.assert_allclose(load(tmp_path, file=name).embed(asked), wanted, atol=1e-6)
    both = load(tmp_path, file="both.onnx")
    assert len(both.embed_pieces(["red cat"])[0].pieces.spans) == 2
    check_embedder(both)
    with pytest.raises(NoPiecesError):
        load(tmp_path, file="text.onnx").embed_pieces(["red cat"])


def test_a_graph_that_pools_otherwise_than_its_folder_says_is_refused(tmp_path):
    files = {"onnx/model.onnx": {"outputs": BOTH, "text": tiny_export.first}}
    tiny_export.write_export(tmp_path, files=files)
    with pytest.raises(ModelError, match="not what pooling 'mean' makes"):
        load(tmp_path).load()
    change(
        tmp_path / "1_Pooling" / "config.json", pooling_mode="cls", pooling_mode_mean_tokens=False
    )
    load(tmp_path).load()


def test_steps_after_pooling_have_to_be_in_the_graph(tmp_path):
    def narrowed(graph):
        zero = graph.constant(np.array(0))
        first = graph.node("Gather", tiny_export.STATES, zero, axis=1)
        matrix = graph.constant(np.eye(24, 8, dtype=np.float32))
        graph.node("MatMul", first, matrix, name=tiny_export.TEXT)

    files = {"onnx/model.onnx": {}, "whole.onnx": {"outputs": BOTH, "text": narrowed}}
    tiny_export.write_export(tmp_path, files=files)
    modules = json.loads((tmp_path / "modules.json").read_text(encoding="utf-8"))
    modules[2] = {**modules[2], "path": "2_Dense", "type": "sentence_transformers.models.Dense"}
    tiny_bert.write_json(tmp_path / "modules.json", modules)
    dense = {"in_features": 24, "out_features": 8, "bias": True}
    dense["activation_function"] = "torch.nn.modules.linear.Identity"
    tiny_bert.write_json(tmp_path / "2_Dense" / "config.json", dense)
    with pytest.raises(UnsupportedArchitectureError, match="Transformer>Pooling>Dense"):
        load(tmp_path).load()
    whole = load(tmp_path, file="whole.onnx")
    assert whole.embed(["red cat"]).shape == (1, 8)
    with pytest.raises(NoPiecesError):
        whole.embed_pieces(["red cat"])


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"extra_inputs": ("task_id",)}, "input 'task_id'"),
        ({"shape": (1, "s")}, "dynamic axes"),
        ({"outputs": (), "text": None}, "its outputs are"),
    ],
)
def test_graphs_that_are_no_text_encoders_are_refused(tmp_path, options, part):
    if not options.get("outputs", True):
        options = {"outputs": (), "text": lambda graph: graph.node("Identity", "input_ids")}
    tiny_export.write_export(tmp_path, files={"onnx/model.onnx": options})
    with pytest.raises(ModelError, match=part):
        load(tmp_path).load()


def test_a_width_other_than_the_configurations_is_refused(export):
    change(export / "config.json", hidden_size=12)
    with pytest.raises(ModelError, match="24 numbers, but its configuration says 12"):
        load(export).load()


def test_damage_is_a_model_error(export):
    path = export / "onnx" / "model.onnx"
    good = path.read_bytes()
    path.write_bytes(good.replace(b"MatMul", b"MutMal"))
    with pytest.raises(ModelError, match="cannot load it"):
        load(export).load()
    path.write_bytes(good[: len(good) // 2])
    with pytest.raises(ModelError, match="not an ONNX file"):
        _ = load(export).instrument


def test_unknown_tokens_of_a_unigram_tokenizer_are_counted(export):
    pieces = ["<s>", "<pad>", "</s>", "<unk>", "▁", "▁cat"]
    made = Tokenizer(Unigram([(piece, -float(at)) for at, piece in enumerate(pieces)], unk_id=3))
    made.pre_tokenizer = Metaspace()
    made.post_processor = TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    made.save(str(export / "tokenizer.json"))
    (found,) = load(export).embed_pieces(["cat § cat"])
    assert (found.tokens.own, found.tokens.unknown) == (4, 1)
    assert found.pieces.spans == ((0, 3), (6, 9))
