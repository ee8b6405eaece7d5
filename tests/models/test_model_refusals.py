"""What the compiler will not make a model of, and how it says so."""

import json
import sys

import numpy as np
import pytest
import tiny_bert

from closecall.errors import (
    MissingExtraError,
    ModelError,
    UnsupportedArchitectureError,
    UsageError,
)
from closecall.models.compiler import Naming, compile_folder


@pytest.fixture
def source(tmp_path):
    tiny_bert.write_folder(tmp_path / "source")
    return tmp_path / "source"


def refuse(source, error, *parts, storage="fp32"):
    with pytest.raises(error) as caught:
        compile_folder(source, source.parent / "out", Naming(name="x"), storage=storage)
    assert type(caught.value) is error
    for part in parts:
        assert part in str(caught.value)


def change(path, **fields):
    value = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    tiny_bert.write_json(path, {**value, **fields})


@pytest.mark.parametrize(
    ("field", "value", "part"),
    [
        ("model_type", "nomic_bert", "nomic_bert"),
        ("model_type", "deberta-v2", "deberta-v2"),
        ("model_type", None, "model_type None"),
        ("position_embedding_type", "relative_key", "relative_key"),
        ("hidden_act", "relu", "relu"),
        ("is_decoder", True, "is_decoder"),
        ("add_cross_attention", True, "add_cross_attention"),
    ],
)
def test_unknown_architectures_by_name(source, field, value, part):
    change(source / "config.json", **{field: value})
    refuse(source, UnsupportedArchitectureError, part, "config.json")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("hidden_size", "24"),
        ("hidden_size", 25),
        ("num_hidden_layers", 0),
        ("intermediate_size", -1),
        ("vocab_size", 3.5),
        ("layer_norm_eps", 0),
    ],
)
def test_wrong_configuration_values_by_field(source, field, value):
    change(source / "config.json", **{field: value})
    refuse(source, ModelError, field)


def test_a_missing_configuration_value_by_field(source):
    config = json.loads((source / "config.json").read_text(encoding="utf-8"))
    del config["intermediate_size"]
    tiny_bert.write_json(source / "config.json", config)
    refuse(source, ModelError, "intermediate_size")


@pytest.mark.parametrize(
    ("pooling", "part"),
    [
        ({"pooling_mode_max_tokens": True}, "max"),
        ({"pooling_mode_lasttoken": True}, "lasttoken"),
        ({"pooling_mode_weightedmean_tokens": True}, "weightedmean"),
        ({"pooling_mode_mean_sqrt_len_tokens": True}, "mean_sqrt_len"),
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": True}, "cls+mean"),
        ({"pooling_mode": "max"}, "max"),
        ({"pooling_mode": ["mean", "max"]}, "mean+max"),
        ({}, "none"),
    ],
)
def test_unknown_poolings_by_name(source, pooling, part):
    tiny_bert.write_json(source / "1_Pooling" / "config.json", pooling)
    refuse(source, UnsupportedArchitectureError, part, "1_Pooling")


def test_pooling_that_leaves_out_the_prompt(source):
    change(source / "config_sentence_transformers.json", prompts={"query": "query: "})
    change(source / "1_Pooling" / "config.json", include_prompt=False)
    refuse(source, UnsupportedArchitectureError, "include_prompt")


def test_other_tasks_and_norms_by_name(source):
    change(source / "2_Normalize" / "config.json", module_input_name="token_embeddings")
    refuse(source, UnsupportedArchitectureError, "token_embeddings")
    change(source / "2_Normalize" / "config.json", module_input_name="sentence_embedding")
    change(source / "sentence_bert_config.json", transformer_task="fill-mask")
    refuse(source, UnsupportedArchitectureError, "fill-mask")


def modules(source, *entries):
    tiny_bert.write_json(
        source / "modules.json",
        [
            {"idx": n, "name": "", "type": kind, "path": path}
            for n, (kind, path) in enumerate(entries)
        ],
    )


ST = "sentence_transformers.models"
TRANSFORMER = (f"{ST}.Transformer", "")
POOLING = (f"{ST}.Pooling", "1_Pooling")


def test_other_modules_by_name(source):
    modules(source, TRANSFORMER, POOLING, (f"{ST}.Dense", "2_Dense"))
    refuse(source, UnsupportedArchitectureError, "Dense")
    modules(source, TRANSFORMER, POOLING, ("custom_code.Transformer", "x"))
    refuse(source, UnsupportedArchitectureError, "custom_code.Transformer")
    modules(source, TRANSFORMER)
    refuse(source, UnsupportedArchitectureError, "Transformer")
    modules(source, POOLING, TRANSFORMER)
    refuse(source, UnsupportedArchitectureError, "Pooling, Transformer")


@pytest.mark.parametrize(
    "path", ["../1_Pooling", "/etc", "a/../../b", "..\\1_Pooling", "\\\\host\\share"]
)
def test_paths_that_leave_the_folder(source, path):
    modules(source, TRANSFORMER, (f"{ST}.Pooling", path))
    refuse(source, ModelError, "leads out")


def test_a_link_that_leaves_the_folder(source, tmp_path):
    tiny_bert.write_json(tmp_path / "away" / "config.json", {"pooling_mode": "mean"})
    (source / "link").symlink_to(tmp_path / "away")
    modules(source, TRANSFORMER, (f"{ST}.Pooling", "link"))
    refuse(source, ModelError, "leads out")


@pytest.mark.parametrize(
    "name", ["modules.json", "config.json", "tokenizer.json", "model.safetensors"]
)
def test_missing_files_by_path(source, name):
    (source / name).unlink()
    refuse(source, ModelError, str(source / name), "no such file")


def test_pickled_weights_are_not_opened(source):
    (source / "model.safetensors").unlink()
    (source / "pytorch_model.bin").write_bytes(b"\x80\x04.")
    refuse(source, ModelError, "pytorch_model.bin", "safetensors")


def test_weights_in_several_files(source):
    (source / "model.safetensors").unlink()
    (source / "model.safetensors.index.json").write_text("{}", encoding="utf-8")
    refuse(source, ModelError, "max_shard_size")


@pytest.mark.parametrize(
    "damage",
    {
        "empty": lambda raw: b"",
        "only a length": lambda raw: raw[:8],
        "cut in the header": lambda raw: raw[:100],
        "cut in the data": lambda raw: raw[:-10],
        "longer than it says": lambda raw: raw + b"\0" * 10,
        "a huge header": lambda raw: (2**62).to_bytes(8, "little") + raw[8:],
        "a header that is not JSON": lambda raw: raw[:8] + b"x" + raw[9:],
    }.items(),
    ids=lambda item: item[0],
)
def test_damaged_weights(source, damage):
    path = source / "model.safetensors"
    path.write_bytes(damage[1](path.read_bytes()))
    refuse(source, ModelError, str(path), "not a whole safetensors file")


def test_tensors_missing_misshapen_unknown_or_not_finite(source):
    path = source / "model.safetensors"
    good = tiny_bert.weights(tiny_bert.CONFIG)
    name = "encoder.layer.1.output.dense.weight"
    tiny_bert.write_safetensors(path, {k: v for k, v in good.items() if k != name})
    refuse(source, ModelError, name, "missing")
    tiny_bert.write_safetensors(path, {**good, name: good[name].T.copy()})
    refuse(source, ModelError, name, "(40, 24)", "(24, 40)")
    tiny_bert.write_safetensors(path, good, dtype="F64")
    refuse(source, ModelError, "F64")
    broken = good[name].copy()
    broken[3, 3] = np.nan
    tiny_bert.write_safetensors(path, {**good, name: broken})
    refuse(source, ModelError, name, "not finite")


def test_weights_that_do_not_fit_float16(tmp_path):
    shape = {"hidden_size": 96, "num_attention_heads": 4}
    config, _ = tiny_bert.write_folder(tmp_path / "source", config=shape)
    tensors = tiny_bert.weights(config)
    tensors["embeddings.word_embeddings.weight"][0, 0] = 1e6
    tiny_bert.write_safetensors(tmp_path / "source" / "model.safetensors", tensors)
    refuse(tmp_path / "source", ModelError, "float16", "fp32", storage="fp16")
    compile_folder(tmp_path / "source", tmp_path / "out", Naming(name="x"))


@pytest.mark.parametrize("value", [2, 49, "20", True])
def test_windows_that_cannot_be(source, value):
    change(source / "sentence_bert_config.json", max_seq_length=value)
    refuse(source, ModelError, "max_seq_length")


def test_tokenizers_that_cannot_be(source):
    (source / "tokenizer.json").write_text("{}", encoding="utf-8")
    refuse(source, ModelError, "not a tokenizer")
    tokenizer = tiny_bert.tokenizer()
    tokenizer.add_tokens(["brandnew"])
    tokenizer.save(str(source / "tokenizer.json"))
    refuse(source, ModelError, "vocab_size")


def test_json_that_cannot_be_read(source):
    (source / "config.json").write_bytes(b"\xff\xfe{")
    refuse(source, ModelError, "config.json", "JSON")
    (source / "config.json").write_text("[" * 100_000, encoding="utf-8")
    refuse(source, ModelError, "config.json", "JSON")
    tiny_bert.write_json(source / "config.json", [])
    refuse(source, ModelError, "expected a JSON object")


def test_arguments(source):
    refuse(source, UsageError, "fp32, fp16", storage="int8")
    with pytest.raises(UsageError, match=r"\.\./x"):
        compile_folder(source, source.parent / "out", Naming(name="../x"))
    with pytest.raises(UsageError, match="speaker"):
        compile_folder(
            source, source.parent / "out", Naming(name="x"), prefixes={"speaker": "says: "}
        )
    with pytest.raises(ModelError, match="no such folder"):
        compile_folder(source / "nowhere", source.parent / "out", Naming(name="x"))


@pytest.mark.parametrize("module", ["onnx", "safetensors"])
def test_the_extra_is_named_when_it_is_missing(source, monkeypatch, module):
    monkeypatch.setitem(sys.modules, module, None)
    refuse(source, MissingExtraError, module, "closecall[compile]")


def test_what_the_folder_says_reaches_the_card(tmp_path):
    tiny_bert.write_folder(
        tmp_path / "source",
        prompts={"query": "query: ", "document": "", "passage": "passage: ", "other": "other: "},
        lowercase=True,
    )
    card = compile_folder(tmp_path / "source", tmp_path / "out", Naming(name="x"))
    assert card.prefixes == {"query": "query: ", "document": "passage: "}
    assert (card.max_tokens, card.dims, card.pooling, card.lowercase) == (20, 24, "mean", True)
    change(tmp_path / "source" / "config_sentence_transformers.json", default_prompt_name="other")
    card = compile_folder(tmp_path / "source", tmp_path / "out", Naming(name="x"))
    assert card.prefixes == {"query": "query: ", "document": "passage: ", "text": "other: "}
    given = {"query": "q: "}
    card = compile_folder(tmp_path / "source", tmp_path / "out", Naming(name="x"), prefixes=given)
    assert card.prefixes == given


def test_the_default_prompt_is_for_texts_alone(source):
    path = source / "config_sentence_transformers.json"
    tiny_bert.write_json(path, {"prompts": {"other": "other: "}, "default_prompt_name": "other"})
    card = compile_folder(source, source.parent / "out", Naming(name="x"))
    assert card.prefixes == {"text": "other: "}
    change(path, default_prompt_name="missing")
    refuse(source, ModelError, "missing", "default_prompt_name")
    tiny_bert.write_json(path, {"prompts": {"query": 3}})
    refuse(source, ModelError, "prompts")


def test_the_module_names_of_newer_versions(source):
    names = (
        "base.modules.transformer.Transformer",
        "sentence_transformer.modules.pooling.Pooling",
    )
    modules(
        source,
        *(
            (f"sentence_transformers.{n}", p)
            for n, p in zip(names, ("", "1_Pooling"), strict=True)
        ),
    )
    tiny_bert.write_json(
        source / "1_Pooling" / "config.json",
        {"embedding_dimension": 24, "pooling_mode": "cls", "include_prompt": True},
    )
    card = compile_folder(source, source.parent / "out", Naming(name="x"))
    assert (card.pooling, card.normalize) == ("cls", False)


def test_without_a_window_of_its_own_the_smaller_limit_counts(source):
    (source / "sentence_bert_config.json").unlink()
    compiled = compile_folder(source, source.parent / "out", Naming(name="x"))
    assert compiled.max_tokens == 48
    tiny_bert.write_json(source / "tokenizer_config.json", {"model_max_length": 33})
    assert compile_folder(source, source.parent / "out", Naming(name="x")).max_tokens == 33
    tiny_bert.write_json(source / "tokenizer_config.json", {"model_max_length": 1e30})
    assert compile_folder(source, source.parent / "out", Naming(name="x")).max_tokens == 48
