"""What a bundle takes along beside the model, and what gives way to one."""

import os

import pytest
import tiny_bert

from closecall.errors import ModelError, ModelIntegrityError, UsageError
from closecall.models import bundle as bundle_module
from closecall.models import store, verifying
from closecall.models.bundle import bundle, find_source
from closecall.models.unbundle import install, same_as_here, unpacked


@pytest.fixture
def model(tmp_path):
    tiny_bert.write_folder(tmp_path / "published")
    return store.add_model(tmp_path / "published", "tiny")


@pytest.fixture
def file(model, tmp_path):
    bundle(find_source("tiny"), tmp_path / "tiny.tar")
    return tmp_path / "tiny.tar"


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_force_replaces_models_and_empty_folders_and_nothing_else(file, tmp_path):
    mine = tmp_path / "project"
    mine.mkdir()
    with unpacked(file, tmp_path) as found:
        install(found, to=mine, force=True)
    with unpacked(file, tmp_path) as found:
        install(found, to=mine, force=True)
    (mine / "card.toml").unlink()
    for place in (mine, tmp_path / "published" / "config.json"):
        before = names(mine)
        with unpacked(file, tmp_path) as found, pytest.raises(UsageError, match="no model"):
            install(found, to=place, force=True)
        assert names(mine) == before
        assert place.exists()


@pytest.mark.skipif(os.name != "posix", reason="links take rights elsewhere")
def test_what_a_link_beside_a_model_leads_to_stays_here(model, tmp_path):
    (tmp_path / "key").write_text("sesame", encoding="utf-8")
    (model.folder / "README.md").symlink_to(tmp_path / "key")
    (model.folder / "NOTICE").write_text("a notice", encoding="utf-8")
    made = bundle(find_source("tiny"), tmp_path / "tiny.tar")
    assert [one.path for one in made.members if one.path.isupper() or "README" in one.path] == []
    data = (tmp_path / "tiny.tar").read_bytes()
    assert b"sesame" not in data
    assert b"a notice" in data


def test_a_size_other_than_recorded_is_told_before_and_not_after_the_journey(model, tmp_path):
    card = model.folder / "card.toml"
    size = model.card.files[0].size
    text = card.read_text(encoding="utf-8")
    card.write_text(text.replace(f"size = {size}", "size = 5"), encoding="utf-8")
    assert [check.ok for check in verifying.verify_named("tiny")] == [False, True]
    with pytest.raises(ModelIntegrityError, match=r"5 bytes.*Nothing was bundled"):
        bundle(find_source("tiny"), tmp_path / "tiny.tar")


@pytest.mark.skipif(os.name != "posix", reason="there are no pipes with names elsewhere")
def test_a_pipe_in_a_models_folder_is_not_waited_for(file, model, tmp_path):
    with unpacked(file, tmp_path) as found:
        assert same_as_here(found) == model.folder
        (model.folder / "model.onnx").unlink()
        os.mkfifo(model.folder / "model.onnx")
        assert same_as_here(found) is None


def test_a_file_that_goes_meanwhile_is_named_and_not_the_output(model, tmp_path, monkeypatch):
    made = bundle_module.new_manifest

    def gone(**said):
        (model.folder / "tokenizer.json").unlink()
        return made(**said)

    source = find_source("tiny")
    monkeypatch.setattr(bundle_module, "new_manifest", gone)
    with pytest.raises(ModelError, match=r"tokenizer\.json: cannot be read"):
        bundle(source, tmp_path / "tiny.tar")
    assert not list(tmp_path.glob("*.tar"))
