"""Model folders put together by somebody who means harm, in ways that random damage seldom finds."""

import json
import os

import msgspec
import numpy as np
import pytest
import tiny_bert
import tiny_export

from closecall.embedders.onnx_export import ExportedEmbedder
from closecall.errors import EmbeddingError, ModelError, UsageError
from closecall.models import store
from closecall.models.cards import read_card
from closecall.models.known import read_known
from closecall.models.layout import read_layout
from closecall.models.pair_folder import read_pair_folder
from closecall.models.published import read_published
from closecall.models.static_files import read_static
from closecall.models.weights import Weights

NOT_PATHS = ["a\0b", "\ud800", "a" * 5000, "/etc", "../other", "a/../../b", "ring", "out"]


@pytest.fixture
def folder(tmp_path):
    found = tmp_path / "model"
    tiny_bert.write_folder(found)
    return found


def edit(path, change):
    document = json.loads(path.read_text(encoding="utf-8"))
    change(document)
    path.write_text(json.dumps(document), encoding="utf-8")


@pytest.mark.skipif(os.name != "posix", reason="links take rights elsewhere")
@pytest.mark.parametrize("path", NOT_PATHS)
@pytest.mark.parametrize("layout", ["compiled", "exported"])
def test_a_module_whose_path_leads_elsewhere_or_nowhere(tmp_path, layout, path):
    folder = tmp_path / "model"
    (tiny_bert.write_folder if layout == "compiled" else tiny_export.write_export)(folder)
    (folder / "ring").symlink_to("ring")
    (folder / "out").symlink_to(tmp_path)
    edit(folder / "modules.json", lambda modules: modules[1].update(path=path))
    with pytest.raises(ModelError, match=r"modules\.json"):
        read_layout(folder) if layout == "compiled" else ExportedEmbedder(folder)


@pytest.mark.parametrize("field", ["hidden_size", "num_attention_heads", "layer_norm_eps"])
def test_half_a_letter_where_a_number_belongs(folder, field):
    edit(folder / "config.json", lambda config: config.__setitem__(field, "\ud800"))
    with pytest.raises(ModelError, match=r"config\.json"):
        read_layout(folder)


@pytest.mark.skipif(os.name != "posix", reason="there are no pipes with names elsewhere")
@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("card.toml", lambda folder: read_card(folder / "card.toml")),
        ("mine.toml", lambda folder: read_known(folder / "mine.toml")),
        ("pulled.toml", read_published),
        ("config.json", read_layout),
        ("config.json", read_static),
        ("config.json", read_pair_folder),
    ],
)
def test_a_pipe_in_a_files_place_is_not_waited_for(folder, name, read):
    (folder / name).unlink(missing_ok=True)
    (folder / "onnx").mkdir()
    (folder / "onnx" / "model.onnx").write_bytes(b"")
    os.mkfifo(folder / name)
    with pytest.raises(ModelError, match=name.replace(".", r"\.")):
        read(folder)


def test_a_token_numbered_beyond_all_tables_is_refused(tmp_path):
    folder = tmp_path / "model"
    tiny_export.write_export(folder)
    special = "[CLS]"

    def change(document):
        document["post_processor"]["special_tokens"][special]["ids"] = [4_294_967_295]

    edit(folder / "tokenizer.json", change)
    with pytest.raises(ModelError, match=r"tokenizer\.json"):
        ExportedEmbedder(folder).embed(["red cat"])


def test_weights_of_a_shape_of_many_numbers_are_not_multiplied_out(tmp_path):
    """Half a million factors of 64 bits would take minutes."""
    from onnx import TensorProto, helper

    from closecall.models.graph_facts import graph_facts

    tensor = TensorProto(data_type=TensorProto.FLOAT, name="w")
    tensor.dims.extend(np.full(200_000, 2**62).tolist())
    graph = helper.make_graph([], "g", [], [], [tensor])
    assert graph_facts(helper.make_model(graph).SerializeToString()).precision == "fp32"


def test_a_card_larger_than_any(folder):
    (folder / "card.toml").write_bytes(b"# " + b"x" * 1_000_001)
    with pytest.raises(ModelError, match=r"card\.toml: .*more than 1,000,000 bytes"):
        read_card(folder / "card.toml")


def test_a_record_with_half_a_letter(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    record = dict.fromkeys(
        ("name", "encoder", "instrument", "weights", "weighting", "producer"), "x"
    ) | {"dims": "\ud800", "rows": 1, "kept": 1.0, "files": {}}
    config = {"model_type": "model2vec", "closecall": record}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(ModelError, match=r"config\.json: closecall"):
        read_static(folder)
    assert msgspec.json.decode((folder / "config.json").read_bytes().replace(b"\\ud800", b"1"))


@pytest.mark.skipif(os.name != "posix", reason="links take rights elsewhere")
def test_a_static_model_whose_inner_folder_leads_out(tmp_path):
    folder, outside = tmp_path / "model", tmp_path / "outside"
    for made in (folder, outside):
        made.mkdir()
    (folder / "config.json").write_text('{"model_type": "model2vec"}', encoding="utf-8")
    for name in ("model.safetensors", "tokenizer.json"):
        (outside / name).write_bytes(b"")
    (folder / "0_StaticEmbedding").symlink_to(outside)
    with pytest.raises(ModelError, match="0_StaticEmbedding: leads out of the model's folder"):
        read_static(folder)


def window(folder, written):
    """Leave the window to ``tokenizer_config.json``, which says it in these letters."""
    edit(folder / "sentence_bert_config.json", lambda config: config.pop("max_seq_length"))
    (folder / "tokenizer_config.json").write_text(
        f'{{"model_max_length": {written}}}', encoding="utf-8"
    )


@pytest.mark.parametrize("written", ["NaN", "-Infinity", "-1e999", "-1", "true", '"many"'])
def test_a_window_that_is_no_number_of_tokens(folder, written):
    window(folder, written)
    with pytest.raises(ModelError, match=r"tokenizer_config\.json: model_max_length: expected"):
        read_layout(folder)


def test_a_window_without_end_is_that_of_the_positions(folder):
    window(folder, "Infinity")
    assert read_layout(folder).max_tokens == tiny_bert.CONFIG["max_position_embeddings"]


@pytest.mark.parametrize("name", [[], {}, ["query"], 1])
@pytest.mark.parametrize("read", [read_layout, read_pair_folder])
def test_a_prompt_whose_name_is_none(folder, read, name):
    document = {"prompts": {"query": "query: "}, "default_prompt_name": name}
    text = json.dumps(document)
    (folder / "config_sentence_transformers.json").write_text(text, encoding="utf-8")
    (folder / "onnx").mkdir()
    (folder / "onnx" / "model.onnx").write_bytes(b"")
    if read is read_pair_folder:
        (folder / "modules.json").unlink()
        (folder / "sentence_bert_config.json").unlink()
    with pytest.raises(ModelError, match="default_prompt_name: expected a string"):
        read(folder)


def test_half_a_letter_in_a_prompt(folder):
    text = json.dumps({"prompts": {"query": "\ud800"}})
    (folder / "config_sentence_transformers.json").write_text(text, encoding="utf-8")
    with pytest.raises(ModelError, match="prompts: 'query': holds half of a surrogate pair"):
        store.add_model(folder, "tiny")
    assert not list(store.store_folder().glob("*"))


@pytest.mark.parametrize(
    "said",
    [
        {"source": "\udcff"},
        {"revision": "\udcff"},
        {"licence": "\udcff"},
        {"languages": ["en", "\udcff"]},
        {"prefixes": {"query": "\udcff"}},
    ],
    ids=lambda said: next(iter(said)),
)
def test_bytes_that_are_no_text_among_what_is_said_of_a_model(folder, said):
    """As arguments of the command line hold them."""
    with pytest.raises(UsageError, match=rf"{next(iter(said))}: '\\udcff' is no text"):
        store.add_model(folder, "tiny", **said)


def test_a_length_beyond_all_bounds_where_one_near_zero_belongs(folder):
    edit(
        folder / "config.json",
        lambda config: config.__setitem__("layer_norm_eps", float("inf")),
    )
    with pytest.raises(ModelError, match="layer_norm_eps: must be below 1"):
        read_layout(folder)


@pytest.mark.parametrize("read", ["embed_counted", "embed_pieces"])
def test_a_word_numbered_beyond_what_a_graph_takes(tmp_path, read):
    folder = tmp_path / "model"
    tiny_export.write_export(folder)
    edit(
        folder / "tokenizer.json",
        lambda document: document["model"]["vocab"].__setitem__("red", 1 << 31),
    )
    with pytest.raises(EmbeddingError, match="its tokenizer cannot read the texts"):
        getattr(ExportedEmbedder(folder), read)(["red cat"])


def test_weights_that_are_cut_short_meanwhile_are_told_and_do_not_end_the_process(folder):
    path = folder / "model.safetensors"
    weights = Weights(path)
    with path.open("r+b") as file:
        file.truncate(len(path.read_bytes()) // 2)
    name, entry = max(weights._entries.items(), key=lambda item: item[1]["data_offsets"])
    with pytest.raises(ModelError, match=r"model\.safetensors: cut short while it was read"):
        weights.tensor(name, tuple(entry["shape"]))
