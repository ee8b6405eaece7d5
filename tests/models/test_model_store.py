"""The store: models found, verified and added, and nothing half-done left behind."""

import os
from pathlib import Path

import pytest
import tiny_bert

from closecall.errors import ModelError, UnknownNameError, UsageError
from closecall.models import store


@pytest.fixture
def source(tmp_path):
    tiny_bert.write_folder(tmp_path / "my model")
    return tmp_path / "my model"


def names(folder):
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_the_bundled_model_is_there_by_name_and_alias():
    model = store.find_model()
    assert model == store.find_model("minilm") == store.find_model("ALL-MiniLM-l6-V2")
    assert model.place == store.BUNDLED
    assert (model.card.dims, model.card.max_tokens) == (384, 256)


def test_add_then_find_list_and_verify(source):
    added = store.add_model(source, aliases=["mine"], licence="MIT")
    assert added.card.name == "my-model"
    assert added.folder == store.store_folder() / "my-model"
    assert store.find_model("mine") == added
    assert [model.card.name for model in store.list_models().models] == [
        "all-MiniLM-L6-v2",
        "my-model",
    ]
    checks = store.verify_model(added)
    assert [check.path.name for check in checks] == ["model.onnx", "tokenizer.json"]
    assert all(check.ok and check.found == check.expected for check in checks)
    assert len(store.verify_all()) == 4
    assert store.load_model(added.folder).card == added.card


def test_unknown_names_list_those_there_are(source):
    store.add_model(source, "other")
    with pytest.raises(UnknownNameError, match=r"all-MiniLM-L6-v2 \(minilm\), other"):
        store.find_model("gpt")


def test_tampering_is_found_and_told(source):
    model = store.add_model(source, "tiny")
    raw = bytearray(model.graph.read_bytes())
    raw[len(raw) // 2] ^= 1
    model.graph.write_bytes(raw)
    (model.folder / "tokenizer.json").unlink()
    graph, tokenizer = store.verify_model(model)
    assert not graph.ok
    assert graph.expected in graph.problem
    assert graph.found in graph.problem
    assert not tokenizer.ok
    assert "no such file" in tokenizer.problem
    assert sum(not check.ok for check in store.verify_all()) == 2


def test_a_broken_card_hides_no_other_model(source):
    store.add_model(source, "good")
    bad = store.add_model(source, "bad").folder
    (bad / "card.toml").write_text("format = 1\n", encoding="utf-8")
    listing = store.list_models()
    assert [model.card.name for model in listing.models] == ["all-MiniLM-L6-v2", "good"]
    assert [broken.folder for broken in listing.broken] == [bad]
    assert any(not check.ok and check.path.parent == bad for check in store.verify_all())
    with pytest.raises(ModelError, match=r"card\.toml"):
        store.find_model("bad")


def test_nothing_is_replaced_unless_asked(source, tmp_path):
    first = store.add_model(source, "tiny")
    with pytest.raises(UsageError, match="already there"):
        store.add_model(source, "tiny")
    tiny_bert.write_folder(tmp_path / "other", seed=7)
    second = store.add_model(tmp_path / "other", "tiny", force=True)
    assert second.card.file("model.onnx") != first.card.file("model.onnx")
    assert store.find_model("tiny") == second
    assert names(store.store_folder()) == ["tiny"]


@pytest.mark.parametrize("name", ["minilm", "MINILM", "all-minilm-l6-v2"])
def test_names_of_other_models_are_taken(source, name):
    with pytest.raises(UsageError, match="already names"):
        store.add_model(source, name)
    with pytest.raises(UsageError, match="already names"):
        store.add_model(source, "fresh", aliases=[name])


@pytest.mark.parametrize("name", ["", "..", "a/b", "a b", ".hidden", "x" * 101, "na\nme"])
def test_names_that_cannot_be(source, name):
    with pytest.raises(UsageError, match="cannot name a model"):
        store.add_model(source, name)
    assert names(store.store_folder()) == []


def test_a_failure_leaves_nothing(source):
    (source / "model.safetensors").write_bytes(b"")
    with pytest.raises(ModelError):
        store.add_model(source, "tiny")
    assert names(store.store_folder()) == []


def test_a_failure_keeps_what_was_there(source):
    before = store.add_model(source, "tiny")
    (source / "model.safetensors").write_bytes(b"")
    with pytest.raises(ModelError):
        store.add_model(source, "tiny", force=True)
    assert store.find_model("tiny") == before
    assert all(check.ok for check in store.verify_model(before))


def test_a_store_that_cannot_be_written(source, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("CLOSECALL_MODELS_DIR", str(tmp_path / "file"))
    with pytest.raises(ModelError, match="CLOSECALL_MODELS_DIR"):
        store.add_model(source, "tiny")
    assert [model.place for model in store.list_models().models] == [store.BUNDLED]


def test_an_unset_store_is_in_the_data_folder(monkeypatch, tmp_path):
    monkeypatch.delenv("CLOSECALL_MODELS_DIR")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    folder = store.store_folder()
    assert folder.name == "models"
    assert "closecall" in str(folder)
    monkeypatch.setenv("CLOSECALL_MODELS_DIR", "")
    assert store.store_folder() == folder


def test_folders_that_hold_no_model(source, tmp_path):
    with pytest.raises(ModelError, match="no such folder"):
        store.load_model(tmp_path / "nowhere")
    with pytest.raises(ModelError, match="closecall models add"):
        store.load_model(source)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ModelError, match=r"card\.toml"):
        store.load_model(str(tmp_path / "empty"))


def test_compiling_reads_only(source):
    before = {path: path.read_bytes() for path in source.rglob("*") if path.is_file()}
    store.add_model(source, "tiny")
    assert {path: path.read_bytes() for path in source.rglob("*") if path.is_file()} == before


def test_the_bundled_files_are_those_of_the_card():
    model = store.find_model()
    assert all(check.ok for check in store.verify_model(model))
    assert model.graph.stat().st_size < 50_000_000
    for name in ("LICENSE", "NOTICE"):
        assert (model.folder / name).stat().st_size > 300
    assert isinstance(model.folder, Path)
    assert os.access(model.graph, os.R_OK)
