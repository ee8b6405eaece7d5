"""What a folder may not ask for is refused by name, before any library opens it."""

import json

import pytest
import tiny_bert
import tiny_models

from closecall.embedders.st.layout import read_st_layout
from closecall.embedders.st.weights import read_identity
from closecall.errors import ConfigurationError, MissingExtraError, ModelError

FORWARD = {"method": "forward", "method_output_name": "last_hidden_state"}

# File, changes, what the refusal says.
ASKED = [
    ("config.json", {"auto_map": {"AutoModel": "mine.Model"}}, "config.json: auto_map names Python code"),
    ("config.json", {"text_config": {"auto_map": {}}}, "auto_map"),
    ("tokenizer_config.json", {"auto_map": {"AutoTokenizer": ["mine.T", None]}}, "tokenizer_config.json: auto_map"),
    ("config.json", {"_attn_implementation": "org/kernels"}, "kernels from elsewhere"),
    ("config.json", {"attn_implementation": "flash_attention_2"}, "kernels from elsewhere"),
    ("config.json", {"quantization_config": {"bits": 4}}, "quantised weights"),
    ("config.json", {"hidden_size": None}, "hidden_size: expected a whole number"),
    ("adapter_config.json", {"base_model_name_or_path": "org/base"}, "an adapter"),
    ("sentence_bert_config.json", {"model_args": {"trust_remote_code": True}}, "model_args.trust_remote_code"),
    ("sentence_bert_config.json", {"model_args": {"gguf_file": "x"}}, "model_args.gguf_file"),
    ("sentence_bert_config.json", {"config_kwargs": {"code_revision": "x"}}, "config_kwargs.code_revision"),
    ("sentence_bert_config.json", {"model_args": {"attn_implementation": "org/k"}}, "kernels"),
    ("sentence_bert_config.json", {"tokenizer_name_or_path": "org/other"}, "tokenizer_name_or_path is not"),
    ("sentence_bert_config.json", {"transformer_task": "fill-mask"}, "transformer_task 'fill-mask'"),
    ("sentence_bert_config.json", {"modality_config": {"text": FORWARD, "message": FORWARD}}, "chat messages"),
    ("sentence_bert_config.json", {"module_output_name": "sentence_embedding"}, "token_embeddings"),
    ("sentence_bert_config.json", {"max_seq_length": 2}, "no room for a text"),
    ("sentence_bert_config.json", {"max_seq_length": "20"}, "max_seq_length: expected a whole number"),
    ("sentence_bert_config.json", {"do_lower_case": "yes"}, "do_lower_case: expected true or false"),
    ("config_sentence_transformers.json", {"model_type": "SparseEncoder"}, "model_type 'SparseEncoder'"),
    ("config_sentence_transformers.json", {"prompts": {"query": 1}}, "prompts: expected"),
    ("config_sentence_transformers.json", {"prompts": []}, "prompts"),
    ("config_sentence_transformers.json", {"default_prompt_name": "none"}, "not among the prompts"),
    ("config_sentence_transformers.json", {"truncate_dim": 25}, "25 dims were asked for"),
    ("1_Pooling/config.json", {"pooling_mode": "sum"}, "pooling ['sum'] is not known"),
    ("1_Pooling/config.json", {"pooling_mode": []}, "pooling [] is not known"),
    ("1_Pooling/config.json", {"word_embedding_dimension": 25}, "hidden size is 24"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "changes", "said"), ASKED, ids=[said for *_, said in ASKED])
def test_a_configuration_that_asks_for_more_than_arithmetic(tiny, name, changes, said):
    if changes == {"prompts": []}:
        changes = {"prompts": ["query"]}
    tiny_models.edit_json(tiny / name, **changes)
    with pytest.raises(ModelError) as refused:
        read_st_layout(tiny, "m")
    assert said in str(refused.value)
    assert str(tiny) in str(refused.value)


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("mine.Transformer", "code of a model's own is not run"),
        ("sentence_transformers_evil.models.Transformer", "code of a model's own is not run"),
        ("sentence_transformers.models.Transformer; import os.Transformer", "is not run"),
        ("os.system", "code of a model's own is not run"),
        ("sentence_transformers.models.WordEmbeddings", "is not one that is run"),
        ("sentence_transformers.models.Router", "is not one that is run"),
        ("sentence_transformers.models.Pooling", "the modules are Pooling, Pooling"),
    ],
)
def test_modules_of_another_library(tiny, kind, said):
    path = tiny / "modules.json"
    listed = json.loads(path.read_text(encoding="utf-8"))
    listed[0]["type"] = kind
    if kind.endswith("Pooling"):
        listed[0]["path"] = "1_Pooling"
    tiny_models.write_json(path, listed)
    with pytest.raises(ModelError) as refused:
        read_st_layout(tiny, "m")
    assert said in str(refused.value)


@pytest.mark.parametrize("path", ["../other", "/etc", "..\\other", "a/../../b"])
def test_modules_outside_of_the_folder(tiny, path):
    listed = json.loads((tiny / "modules.json").read_text(encoding="utf-8"))
    listed[1]["path"] = path
    tiny_models.write_json(tiny / "modules.json", listed)
    with pytest.raises(ModelError, match="leads out of the model's folder"):
        read_st_layout(tiny, "m")


@pytest.mark.parametrize(
    "name",
    ["os.system", "torch.hub.load", "torch.nn.modules.activation.os.system", "mine.Relu", 3],
)
def test_an_activation_from_elsewhere(tmp_path, name):
    folder = tiny_models.modules(tiny_models.bert(tmp_path / "m"), "Dense")
    tiny_models.dense(folder, 24, 10)
    tiny_models.edit_json(folder / "2_Dense" / "config.json", activation_function=name)
    with pytest.raises(ModelError, match="activation_function"):
        read_st_layout(folder, "m")


def test_a_dense_layer_that_does_not_fit(tmp_path):
    folder = tiny_models.modules(tiny_models.bert(tmp_path / "m"), "Dense")
    tiny_models.dense(folder, 23, 10)
    with pytest.raises(ModelError, match="in_features is 23, but vectors of width 24 come in"):
        read_st_layout(folder, "m")


@pytest.mark.parametrize("name", ["pytorch_model.bin", "pytorch_model.bin.index.json", "model.pt"])
@pytest.mark.parametrize("dense", [False, True], ids=["transformer", "dense layer"])
def test_pickled_weights_are_not_opened(tmp_path, name, dense):
    folder = tiny_models.modules(tiny_models.bert(tmp_path / "m"), "Dense")
    tiny_models.dense(folder, 24, 10)
    place = folder / "2_Dense" if dense else folder
    (place / "model.safetensors").rename(place / name)
    with pytest.raises(ModelError, match=f"holds {name} but no model.safetensors. Pickled"):
        read_identity(read_st_layout(folder, "m"))


def test_pickled_weights_beside_safe_ones_are_left_alone(tiny):
    before = read_identity(read_st_layout(tiny, "m"))
    (tiny / "pytorch_model.bin").write_bytes(b"\x80\x04cos\nsystem\n")
    assert read_identity(read_st_layout(tiny, "m")) == before


@pytest.mark.parametrize("name", ["../x.safetensors", "x.bin", "none.safetensors"])
def test_an_index_that_leads_elsewhere(tiny, name):
    (tiny / "model.safetensors").unlink()
    path = tiny / "model.safetensors.index.json"
    tiny_models.write_json(path, {"weight_map": {"a": name}})
    with pytest.raises(ModelError, match="safetensors"):
        read_identity(read_st_layout(tiny, "m"))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("modules.json", "nothing says how tokens become one vector"),
        ("config.json", "no such file"),
        ("model.safetensors", "no such file"),
        ("tokenizer.json", "no such file, nor a vocabulary"),
        ("1_Pooling/config.json", "no such file"),
    ],
)
def test_a_file_that_is_missing(tiny, name, said):
    (tiny / name).unlink()
    with pytest.raises(ModelError, match=said):
        read_identity(read_st_layout(tiny, "m"))


@pytest.mark.parametrize("text", ["", "{", "[1, 2]", '{"a": ' * 5000, "\x00", "NaN"])
@pytest.mark.parametrize("name", ["config.json", "modules.json", "1_Pooling/config.json"])
def test_json_that_is_none(tiny, name, text):
    (tiny / name).write_text(text, encoding="utf-8")
    with pytest.raises(ModelError):
        read_st_layout(tiny, "m")


def test_json_that_is_far_too_large(tiny):
    (tiny / "config.json").write_text('{"a": "' + "x" * 8_000_001 + '"}', encoding="utf-8")
    with pytest.raises(ModelError, match="too large"):
        read_st_layout(tiny, "m")


def test_prompts_left_out_of_pooling(tmp_path):
    folder = tiny_models.bert(tmp_path / "m", prompts={"query": "query: "})
    tiny_models.edit_json(folder / "1_Pooling" / "config.json", include_prompt=False)
    with pytest.raises(ModelError, match="include_prompt is false"):
        read_st_layout(folder, "m")
    assert read_st_layout(folder, "m", prompts="none").prompts.prefixes == {}


def test_without_the_extra_it_says_what_to_install(tiny, monkeypatch):
    from closecall.embedders.registry import load_embedder
    from closecall.embedders.st import embedder

    monkeypatch.setattr(embedder, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'closecall\[torch\]'"):
        load_embedder(f"st:{tiny}")


@pytest.mark.torch
def test_weights_that_no_file_holds_are_not_drawn(tiny):
    from closecall.embedders.registry import load_embedder

    tensors = tiny_bert.weights(tiny_bert.CONFIG)
    del tensors["encoder.layer.1.output.dense.weight"]
    tiny_bert.write_safetensors(tiny / "model.safetensors", tensors)
    tiny_models.say_pytorch(tiny / "model.safetensors")
    with pytest.raises(ModelError, match=r"no weights for encoder\.layer\.1\.output\.dense"):
        load_embedder(f"st:{tiny}?device=cpu").load()


@pytest.mark.torch
def test_weights_under_the_names_of_a_model_with_a_head_are_found(tmp_path):
    import numpy as np

    from closecall.embedders.registry import load_embedder

    vectors = []
    for name, prefix in (("bare", ""), ("head", "bert.")):
        folder = tiny_models.bert(tmp_path / name, prefix=prefix)
        vectors.append(load_embedder(f"st:{folder}?device=cpu").embed(["red cat"]))
    assert np.array_equal(*vectors)


@pytest.mark.torch
def test_the_caller_s_random_numbers_are_left_alone(tiny):
    import torch

    from closecall.embedders.registry import load_embedder

    torch.manual_seed(11)
    wanted = torch.rand(3)
    torch.manual_seed(11)
    load_embedder(f"st:{tiny}?device=cpu").load()
    assert torch.equal(torch.rand(3), wanted)


@pytest.mark.torch
@pytest.mark.parametrize("damage", ["cut", "noise", "shape"])
def test_what_the_library_cannot_load_is_one_kind_of_error(tiny, damage):
    from closecall.embedders.registry import load_embedder

    path = tiny / "model.safetensors"
    if damage == "shape":
        tiny_models.edit_json(tiny / "config.json", intermediate_size=41)
    else:
        path.write_bytes(path.read_bytes()[:900] if damage == "cut" else b"\xff" * 900)
    with pytest.raises(ConfigurationError):
        load_embedder(f"st:{tiny}?device=cpu").load()
