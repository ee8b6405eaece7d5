"""A pair model's folder, read without running anything in it."""

import json

import pytest
from tiny_bert import tokenizer, write_json

from closecall.errors import ModelError, UnsupportedArchitectureError
from closecall.models.pair_folder import read_pair_folder

CONFIG = {
    "architectures": ["BertForSequenceClassification"],
    "model_type": "bert",
    "id2label": {"0": "entailment", "1": "neutral", "2": "contradiction"},
    "max_position_embeddings": 512,
}
ONE = {**CONFIG, "id2label": {"0": "LABEL_0"}}


def folder(path, *, config=CONFIG, weights=("model.onnx",), **files):
    path.mkdir(exist_ok=True)
    write_json(path / "config.json", config)
    tokenizer().save(str(path / "tokenizer.json"))
    for name in weights:
        (path / name).parent.mkdir(exist_ok=True)
        (path / name).write_bytes(name.encode())
    for name, value in files.items():
        write_json(path / f"{name}.json", value)
    return path


def refused(made, error=UnsupportedArchitectureError):
    with pytest.raises(error) as caught:
        read_pair_folder(made)
    return str(caught.value)


@pytest.mark.parametrize(
    ("weights", "kind", "used"),
    [
        (["model.onnx"], "onnx", "model.onnx"),
        (["onnx/model.onnx"], "onnx", "onnx/model.onnx"),
        (["model.safetensors"], "torch", "model.safetensors"),
        (["model.safetensors", "model.onnx", "pytorch_model.bin"], "onnx", "model.onnx"),
        (["model.safetensors", "pytorch_model.bin"], "torch", "model.safetensors"),
    ],
)
def test_a_graph_comes_before_weights_and_pickles_never(tmp_path, weights, kind, used):
    found = read_pair_folder(folder(tmp_path / "m", weights=weights))
    assert (found.kind, found.weights) == (kind, tmp_path / "m" / used)
    assert [entry.name for entry in found.files] == [
        used.rpartition("/")[2],
        "tokenizer.json",
        "config.json",
    ]
    assert found.file(found.weights).size == len(used)


def test_what_is_missing_is_said(tmp_path):
    assert "no such folder" in refused(tmp_path / "none", ModelError)
    assert "pickled weights can run any code" in refused(
        folder(tmp_path / "a", weights=["pytorch_model.bin"])
    )
    several = folder(tmp_path / "b", weights=["model.safetensors.index.json"])
    assert "in several files" in refused(several)
    assert "holds no model" in refused(folder(tmp_path / "c", weights=[]), ModelError)
    for name in ("config.json", "tokenizer.json"):
        made = folder(tmp_path / f"without-{name}")
        (made / name).unlink()
        assert f"{made / name}: no such file" in refused(made, ModelError)
    embeds = folder(tmp_path / "d")
    (embeds / "card.toml").write_text("", encoding="utf-8")
    assert "embeds single texts" in refused(embeds, ModelError)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"auto_map": {"AutoModel": "x.Y"}}, "code of its own"),
        ({"problem_type": "multi_label_classification"}, "do not exclude each other"),
        ({"sbert_ce_default_activation_function": "own.Thing"}, "'own.Thing' on 3 outputs"),
        ({"sentence_transformers": {"activation_fn": "torch.nn.Sigmoid"}}, "on 3 outputs"),
    ],
)
def test_what_cannot_be_run_is_refused(tmp_path, change, said):
    assert said in refused(folder(tmp_path / "m", config={**CONFIG, **change}))


def test_weights_without_a_layer_that_scores_are_refused(tmp_path):
    for at, found in enumerate((["BertModel"], None, [], "x", ["BertForMaskedLM"])):
        config = {**CONFIG, "architectures": found}
        made = folder(tmp_path / str(at), config=config, weights=["model.safetensors"])
        assert "expected a ...ForSequenceClassification" in refused(made)
    adapter = folder(tmp_path / "m", weights=["model.safetensors"], adapter_config={})
    assert "an adapter changes the weights" in refused(adapter)


@pytest.mark.parametrize(
    ("config", "module", "said"),
    [
        ({"attn_implementation": "someone/kernel"}, {}, "expected eager or sdpa"),
        ({"_attn_implementation": {"": "someone/kernel"}}, {}, "expected eager or sdpa"),
        ({}, {"model_args": {"attn_implementation": "x"}}, "model_args: loading options"),
        ({}, {"config_kwargs": {"x": 1}}, "config_kwargs: loading options"),
        ({}, {"do_lower_case": True}, "does that itself"),
    ],
)
def test_options_of_the_library_that_loads_weights_are_refused(tmp_path, config, module, said):
    made = folder(
        tmp_path / "m",
        config={**CONFIG, **config},
        weights=["model.safetensors"],
        sentence_bert_config=module,
    )
    assert said in refused(made)


@pytest.mark.parametrize(
    "modules",
    [
        [{"type": "sentence_transformers.models.Transformer", "path": ""}, {"type": "x.Pooling"}],
        [{"type": "sentence_transformers.models.Transformer", "path": "../x"}],
        [{"type": "own.Thing", "path": ""}],
        ["x"],
        {},
    ],
)
def test_a_folder_that_does_more_than_classify_is_refused(tmp_path, modules):
    said = refused(folder(tmp_path / "m", modules=modules))
    assert "a pair model has one Transformer" in said
    assert "closecall models add" in said


def test_a_saved_cross_encoder_is_read(tmp_path):
    made = folder(
        tmp_path / "m",
        config=ONE,
        modules=[
            {"type": "sentence_transformers.base.modules.transformer.Transformer", "path": ""}
        ],
        sentence_bert_config={"transformer_task": "sequence-classification"},
        config_sentence_transformers={
            "activation_fn": "torch.nn.modules.linear.Identity",
            "default_prompt_name": None,
            "prompts": {},
        },
    )
    found = read_pair_folder(made)
    assert (found.labels, found.activation, found.window) == (("",), "raw", 512)
    write_json(
        made / "config_sentence_transformers.json",
        {"default_prompt_name": "q", "prompts": {"q": "x: "}},
    )
    assert "texts before each pair" in refused(made)
    write_json(made / "config_sentence_transformers.json", {})
    write_json(made / "sentence_bert_config.json", {"transformer_task": "text-generation"})
    assert "transformer_task 'text-generation'" in refused(made)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (CONFIG, "softmax"),
        (
            {
                **CONFIG,
                "sentence_transformers": {"activation_fn": "torch.nn.modules.linear.Identity"},
            },
            "softmax",
        ),
        (ONE, "sigmoid"),
        (
            {**ONE, "sbert_ce_default_activation_function": "torch.nn.modules.linear.Identity"},
            "raw",
        ),
        (
            {
                **ONE,
                "sentence_transformers": {"activation_fn": "torch.nn.modules.activation.Sigmoid"},
            },
            "sigmoid",
        ),
    ],
)
def test_what_becomes_of_outputs_is_what_the_folder_says(tmp_path, config, expected):
    assert read_pair_folder(folder(tmp_path / "m", config=config)).activation == expected


@pytest.mark.parametrize(
    ("config", "files", "expected"),
    [
        ({}, {}, 512),
        ({}, {"tokenizer_config": {"model_max_length": 128}}, 128),
        ({}, {"tokenizer_config": {"model_max_length": 10**30}}, 512),
        ({}, {"sentence_bert_config": {"max_seq_length": 64}}, 64),
        ({"model_type": "roberta", "max_position_embeddings": 514}, {}, 512),
        (
            {"model_type": "xlm-roberta", "max_position_embeddings": 514, "pad_token_id": 1},
            {},
            512,
        ),
        ({"max_position_embeddings": -1}, {"tokenizer_config": {"model_max_length": 99}}, 99),
    ],
)
def test_the_window_is_the_least_of_what_is_allowed(tmp_path, config, files, expected):
    made = folder(tmp_path / "m", config={**CONFIG, **config}, **files)
    assert read_pair_folder(made).window == expected


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"max_position_embeddings": None}, "nothing says how many tokens"),
        ({"max_position_embeddings": "many"}, "expected a number, got 'many'"),
        ({"max_position_embeddings": True}, "expected a number"),
        ({"max_position_embeddings": 4}, "reads 4 tokens at once"),
        ({"max_position_embeddings": float("nan")}, "expected a number"),
    ],
)
def test_a_window_that_is_not_known_is_refused(tmp_path, config, said):
    assert said in refused(folder(tmp_path / "m", config={**CONFIG, **config}), ModelError)


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000, "\xff"])
def test_a_damaged_configuration_is_refused(tmp_path, text):
    made = folder(tmp_path / "m")
    (made / "config.json").write_text(text, encoding="latin-1")
    assert str(made / "config.json") in refused(made, ModelError)


def test_an_endless_configuration_is_refused(tmp_path):
    made = folder(tmp_path / "m")
    (made / "config.json").write_text(json.dumps({"x": "y" * 9_000_000}), encoding="utf-8")
    assert "more than 8,000,000 bytes, too large" in refused(made, ModelError)
