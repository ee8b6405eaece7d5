"""The store: models found, verified and added, and nothing half-done left behind."""

import json
import os
import shutil
import tempfile
import warnings
from pathlib import Path

import pytest
import tiny_bert

from closecall.errors import ModelError, UnknownNameError, UsageError
from closecall.models import roots, store, verifying
from closecall.models.compiler import Naming, compile_folder


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
    checks = verifying.verify_model(added)
    assert [check.path.name for check in checks] == ["model.onnx", "tokenizer.json"]
    assert all(check.ok and check.found == check.expected for check in checks)
    assert len(verifying.verify_all()) == 7
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
    graph, tokenizer = verifying.verify_model(model)
    assert not graph.ok
    assert graph.expected in graph.problem
    assert graph.found in graph.problem
    assert not tokenizer.ok
    assert "no such file" in tokenizer.problem
    assert sum(not check.ok for check in verifying.verify_all()) == 2


def test_a_broken_card_hides_no_other_model(source):
    store.add_model(source, "good")
    bad = store.add_model(source, "bad").folder
    (bad / "card.toml").write_text("format = 1\n", encoding="utf-8")
    listing = store.list_models()
    assert [model.card.name for model in listing.models] == ["all-MiniLM-L6-v2", "good"]
    assert [broken.folder for broken in listing.broken] == [bad]
    assert any(not check.ok and check.path.parent == bad for check in verifying.verify_all())
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
    assert all(check.ok for check in verifying.verify_model(before))


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
    assert all(check.ok for check in verifying.verify_model(model))
    assert model.graph.stat().st_size < 50_000_000
    for name in ("LICENSE", "NOTICE"):
        assert (model.folder / name).stat().st_size > 300
    assert isinstance(model.folder, Path)
    assert os.access(model.graph, os.R_OK)


# --- failures between the steps of a replacement ---------------------------------------------


def failing(monkeypatch, error, which):
    """Let the numbered renames raise."""
    rename, calls = Path.rename, []

    def flaky(self, target):
        calls.append(target)
        if len(calls) in which:
            raise error
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", flaky)


def test_a_replacement_that_fails_half_way_brings_the_old_model_back(source, monkeypatch):
    before = store.add_model(source, "tiny")
    with monkeypatch.context() as patch:
        failing(patch, OSError(28, "No space left on device"), {2})
        with pytest.raises(ModelError, match="No space left on device"):
            store.add_model(source, "tiny", storage="fp16", force=True)
    with monkeypatch.context() as patch:
        failing(patch, KeyboardInterrupt(), {2})
        with pytest.raises(KeyboardInterrupt):
            store.add_model(source, "tiny", storage="fp16", force=True)
    assert store.find_model("tiny") == before
    assert all(check.ok for check in verifying.verify_model(before))
    assert names(store.store_folder()) == ["tiny"]


def test_an_old_model_that_cannot_be_brought_back_is_kept_and_named(source, monkeypatch):
    before = store.add_model(source, "tiny")
    with monkeypatch.context() as patch:
        failing(patch, OSError(5, "Input/output error"), {2, 3})
        with pytest.raises(ModelError, match="is kept in") as caught:
            store.add_model(source, "tiny", force=True)
    kept = Path(str(caught.value).rpartition("kept in ")[2])
    assert store.load_model(kept).card == before.card


def test_a_full_disk_is_a_model_error(source):
    resource = pytest.importorskip("resource", reason="limits of files are a POSIX thing")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, before[1]))
    try:
        with pytest.raises(ModelError, match="cannot be read or written: File too large"):
            store.add_model(source, "tiny")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert names(store.store_folder()) == []


# --- folders this process may not read -------------------------------------------------------


@pytest.fixture
def open_store(monkeypatch):
    """A store, and the bundled model, where others than root can reach them."""
    root = Path(tempfile.mkdtemp())
    root.chmod(0o755)
    bundled = shutil.copytree(store.bundled_folder(), root / "bundled")
    monkeypatch.setattr(roots, "bundled_folder", lambda: bundled)
    monkeypatch.setenv("CLOSECALL_MODELS_DIR", str(root / "models"))
    yield root / "models"
    for folder in (root / "models", *(root / "models").glob("*")):
        folder.chmod(0o755)
    shutil.rmtree(root)


def as_nobody(act):
    """Return what ``act`` returns in a process without the powers of root, or what it raises."""
    receive, send = os.pipe()
    with warnings.catch_warnings():  # newer Pythons warn of a fork beside threads
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setuid(65534)
            said = act()
        except BaseException as error:  # noqa: BLE001 - the kind is what is asked for
            said = [type(error).__name__, str(error)]
        os.write(send, json.dumps(said).encode())
        os._exit(0)
    os.close(send)
    os.waitpid(child, 0)
    with os.fdopen(receive, "rb") as pipe:
        return json.loads(pipe.read())


def seen():
    listing = store.list_models()
    return [
        store.find_model().card.name,
        [model.card.name for model in listing.models],
        [[broken.folder.name, broken.problem] for broken in listing.broken],
    ]


posix = pytest.mark.skipif(os.name == "nt", reason="permissions of folders are a POSIX thing")


@posix
def test_a_folder_that_cannot_be_read_hides_no_other_model(source, open_store):
    store.add_model(source, "good")
    store.add_model(source, "shut").folder.chmod(0o000)
    (open_store / "no model").mkdir()
    default, models, broken = as_nobody(seen)
    assert default == "all-MiniLM-L6-v2"
    assert models == ["all-MiniLM-L6-v2", "good"]
    ((name, problem),) = broken
    assert name == "shut"
    assert "Permission denied" in problem
    kind, said = as_nobody(lambda: store.find_model("shut").card.name)
    assert kind == "ModelError"
    assert "shut" in said
    kind, said = as_nobody(lambda: store.load_model(open_store / "shut").card.name)
    assert kind == "ModelError"


@posix
@pytest.mark.parametrize("mode", [0o000, 0o300])
def test_a_store_that_cannot_be_listed_stops_no_bundled_model(source, open_store, mode):
    store.add_model(source, "mine")
    open_store.chmod(mode)
    if mode == 0o300 and os.geteuid() == 0:
        os.chown(open_store, 65534, -1)
    default, models, broken = as_nobody(seen)
    assert default == "all-MiniLM-L6-v2"
    assert models == ["all-MiniLM-L6-v2"]
    assert broken == [["models", f"{open_store}: cannot be read: Permission denied"]]
    kind, said = as_nobody(lambda: store.find_model("mine").card.name)
    assert kind == "UnknownNameError"
    assert f"{open_store}: cannot be read" in said
    checks = as_nobody(lambda: [check.ok for check in verifying.verify_all()])
    assert checks == [True] * 5 + [False]
    kind, said = as_nobody(lambda: store.add_model(source, "mine", force=True).card.name)
    assert kind == "ModelError"
    assert f"{open_store}: cannot be read" in said
    kind, _ = as_nobody(lambda: store.add_model(source, "mine").card.name)
    assert kind == ("UsageError" if mode else "ModelError")


@posix
def test_a_source_that_cannot_be_read_is_a_model_error(open_store):
    source = open_store / "source"
    tiny_bert.write_folder(source)
    (source / "tokenizer.json").chmod(0o000)
    kind, _ = as_nobody(lambda: compile_folder(source, open_store, Naming(name="x")).name)
    assert kind == "ModelError"
    source.chmod(0o000)
    kind, said = as_nobody(lambda: compile_folder(source, open_store, Naming(name="x")).name)
    assert kind == "ModelError"
    assert "Permission denied" in said


@posix
def test_a_score_needs_no_store_that_can_be_read(source, open_store, monkeypatch):
    from closecall.cli import run

    monkeypatch.setenv("CLOSECALL_CACHE", "off")
    pair = ["score", "The cat sat.", "The cat sat.", "--json"]
    store.add_model(source, "shut").folder.chmod(0o000)
    with pytest.MonkeyPatch.context() as patch:
        # Imports what nobody else may be allowed to, where Python is in somebody's home.
        patch.setenv("CLOSECALL_MODELS_DIR", str(open_store.parent / "none"))
        assert run(pair) == 0
    assert as_nobody(lambda: run(pair)) == 0
    open_store.chmod(0o000)
    assert as_nobody(lambda: run(pair)) == 0
