"""The identity: what changes a vector changes it, what does not does not."""

import hashlib
import json
import shutil

import pytest
import tiny_bert
import tiny_models

from closecall.embedders.st.layout import read_st_layout
from closecall.embedders.st.weights import read_identity, weight_files
from closecall.errors import ModelError


def identity(folder):
    return read_identity(read_st_layout(folder, "m"))


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_one_file_is_its_own_digest(tiny):
    found = identity(tiny)
    assert found.weights == sha256(tiny / "model.safetensors")
    assert found.tokenizer == sha256(tiny / "tokenizer.json")


def test_several_files_are_the_digest_of_their_list(tmp_path):
    folder = tiny_models.modules(tiny_models.bert(tmp_path / "m"), "Dense")
    tiny_models.dense(folder, 24, 10)
    names = ["2_Dense/model.safetensors", "model.safetensors"]
    listed = "".join(f"{sha256(folder / name)}  {name}\n" for name in names)
    assert identity(folder).weights == hashlib.sha256(listed.encode()).hexdigest()
    tiny_models.dense(folder, 24, 10, seed=6)
    assert identity(folder).weights != hashlib.sha256(listed.encode()).hexdigest()


def split(folder):
    """Put the weights into two files with an index, as large models are published."""
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    tensors = list(tiny_bert.weights(config).items())
    parts = {"model-00001-of-00002.safetensors": tensors[::2]}
    parts["model-00002-of-00002.safetensors"] = tensors[1::2]
    for name, own in parts.items():
        tiny_bert.write_safetensors(folder / name, dict(own))
        tiny_models.say_pytorch(folder / name)
    (folder / "model.safetensors").unlink()
    tiny_models.write_json(
        folder / "model.safetensors.index.json",
        {
            "metadata": {},
            "weight_map": {key: name for name, own in parts.items() for key, _ in own},
        },
    )
    return [folder / name for name in parts]


def test_split_weights_are_all_hashed(tiny):
    parts = split(tiny)
    assert weight_files(read_st_layout(tiny, "m")) == parts
    listed = "".join(f"{sha256(path)}  {path.name}\n" for path in parts)
    assert identity(tiny).weights == hashlib.sha256(listed.encode()).hexdigest()


@pytest.mark.torch
def test_split_weights_give_the_same_vectors(tiny):
    import numpy as np

    from closecall.embedders.registry import load_embedder

    whole = load_embedder(f"st:{tiny}?device=cpu").embed(["red cat"])
    split(tiny)
    assert np.array_equal(load_embedder(f"st:{tiny}?device=cpu").embed(["red cat"]), whole)


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [
        ("config.json", "layer_norm_eps", 1e-5),
        ("config.json", "hidden_act", "relu"),
        ("tokenizer_config.json", "strip_accents", True),
        ("sentence_bert_config.json", "max_seq_length", 12),
        ("1_Pooling/config.json", "include_prompt", False),
        ("special_tokens_map.json", "unk_token", "[X]"),
    ],
)
def test_a_setting_that_may_change_a_vector_changes_it(tiny, name, field, value):
    before = identity(tiny).config
    tiny_models.edit_json(tiny / name, **{field: value})
    assert identity(tiny).config != before


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [
        ("config.json", "_name_or_path", "elsewhere"),
        ("config.json", "transformers_version", "99"),
        ("config.json", "torch_dtype", "bfloat16"),
        ("tokenizer_config.json", "name_or_path", "elsewhere"),
        ("config_sentence_transformers.json", "__version__", {"pytorch": "9"}),
        ("README.md", "anything", 1),
    ],
)
def test_where_a_folder_came_from_does_not(tiny, name, field, value):
    before = identity(tiny)
    tiny_models.edit_json(tiny / name, **{field: value})
    assert identity(tiny)._replace(stamps=()) == before._replace(stamps=())


def test_a_copy_is_the_same(tiny, tmp_path):
    shutil.copytree(tiny, tmp_path / "copy")
    for path in (tmp_path / "copy").rglob("*.json"):
        if path.name != "tokenizer.json":  # spelled otherwise, saying the same
            spelled = json.dumps(json.loads(path.read_text(encoding="utf-8")), indent=4)
            path.write_text(spelled, encoding="utf-8-sig")
    assert identity(tmp_path / "copy")._replace(stamps=()) == identity(tiny)._replace(stamps=())


def test_a_prompt_that_is_no_text_is_refused(tmp_path):
    folder = tiny_models.bert(tmp_path / "m", prompts={"query": "\ud83d: "})
    with pytest.raises(ModelError, match=r"prompts: 'query': holds half of a surrogate pair"):
        read_st_layout(folder, "m")


def test_the_window_is_what_the_library_would_take(tmp_path):
    def window(**changes):
        folder = tiny_models.bert(tmp_path / "m")
        (folder / "sentence_bert_config.json").unlink()
        tiny_models.edit_json(folder / "tokenizer_config.json", model_max_length=30)
        for name, fields in changes.items():
            tiny_models.edit_json(folder / f"{name}.json", **fields)
        return read_st_layout(folder, "m").max_tokens

    assert window() == 30
    assert window(config={"max_position_embeddings": 16}) == 16
    assert window(tokenizer_config={"model_max_length": int(1e30)}) == 48
    roberta = {"model_type": "roberta", "pad_token_id": 1, "max_position_embeddings": 22}
    assert window(config=roberta) == 20
    assert window(sentence_bert_config={"max_seq_length": 7}) == 7
    assert window(tokenizer_config={"model_max_length": float("-inf")}) == 48
    with pytest.raises(ModelError, match="nothing else says how long"):
        window(
            config={"max_position_embeddings": None},
            tokenizer_config={"model_max_length": int(1e30)},
        )
    with pytest.raises(ModelError, match="more than the 48 positions"):
        window(sentence_bert_config={"max_seq_length": 49})


@pytest.mark.torch
def test_what_is_asked_for_is_part_of_it(tiny):
    from closecall.embedders.registry import load_embedder

    def digest(options="", **arguments):
        return load_embedder(f"st:{tiny}{options}", **arguments).instrument.digest

    plain = digest()
    assert digest("?device=cpu&batch_tokens=3") == plain
    assert digest(threads=1) == plain
    others = [
        digest("?dims=8"), digest("?precision=bf16"), digest("?max_tokens=9"),
        digest(window="truncate"),
    ]  # fmt: skip
    assert len({plain, *others}) == 5
    found = load_embedder(f"st:{tiny}").instrument
    assert (found.kind, found.provider, found.model) == ("sentence-transformers", "local", "tiny")
    assert found.options["prompts"] == "none"
    assert found.options["modules"] == "Transformer>Pooling>Normalize"


@pytest.mark.torch
def test_prefixes_and_who_says_so_are_part_of_it(tmp_path):
    from closecall.embedders.registry import load_embedder

    folder = tiny_models.bert(tmp_path / "e5-small-copy")
    found = load_embedder(f"st:{folder}").instrument
    assert found.options["prompts"] == "card:e5"
    assert found.prefixes == {"query": "query: ", "document": "passage: ", "text": "query: "}
    assert load_embedder(f"st:{folder}?prompts=none").instrument.prefixes == {}


@pytest.mark.torch
def test_the_identity_and_the_refusals_load_no_torch(tiny):
    import subprocess
    import sys

    code = """
import sys
from closecall.embedders.registry import load_embedder
load_embedder("st:" + sys.argv[1]).instrument.digest
heavy = {"torch", "transformers", "sentence_transformers", "huggingface_hub", "onnxruntime"}
print(sorted(heavy & set(sys.modules)))
"""
    said = subprocess.run(
        [sys.executable, "-c", code, str(tiny)], check=True, capture_output=True, text=True,
        timeout=120,
    )  # fmt: skip
    assert said.stdout.strip() == "[]"


@pytest.mark.torch
def test_a_file_that_changes_after_it_was_hashed_is_refused(tiny):
    from closecall.embedders.registry import load_embedder

    embedder = load_embedder(f"st:{tiny}?device=cpu")
    assert embedder.instrument.weights == sha256(tiny / "model.safetensors")
    tiny_bert.write_safetensors(tiny / "model.safetensors", tiny_bert.weights(tiny_bert.CONFIG, 1))
    with pytest.raises(ModelError, match=r"model\.safetensors: changed"):
        embedder.embed(["red"])


@pytest.mark.torch
@pytest.mark.parametrize("name", ["config.json", "modules.json", "adapter_config.json"])
def test_a_configuration_that_changes_after_it_was_read_is_refused(tiny, name):
    from closecall.embedders.registry import load_embedder

    early, late = (load_embedder(f"st:{tiny}?device=cpu") for _ in range(2))
    assert late.instrument.model == "tiny"
    if name == "modules.json":
        tiny_models.modules(tiny)
    else:
        tiny_models.edit_json(tiny / name, auto_map={"AutoModel": "mine.Model"})
    with pytest.raises(ModelError, match=f"{name}: (changed|auto_map|an adapter)|first looked at"):
        early.embed(["red"])
    with pytest.raises(ModelError, match=f"{name}: changed"):
        late.embed(["red"])
