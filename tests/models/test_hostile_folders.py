"""Model folders put together by somebody who means harm, in ways that random damage seldom finds."""

import json
import os

import msgspec
import numpy as np
import pytest
import tiny_bert
import tiny_export

from closecall.embedders.onnx_export import ExportedEmbedder
from closecall.errors import ModelError
from closecall.models.cards import read_card
from closecall.models.known import read_known
from closecall.models.layout import read_layout
from closecall.models.pair_folder import read_pair_folder
from closecall.models.published import read_published
from closecall.models.static_files import read_static

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
