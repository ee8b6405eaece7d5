"""Bundles: written the same each time, and checked in full before anything is put into place."""

import hashlib
import io
import json
import os
import tarfile

import pytest
import tiny_bert

from closecall.embedders.onnx import OnnxEmbedder
from closecall.errors import ModelError, ModelIntegrityError, UnknownNameError, UsageError
from closecall.models import store
from closecall.models.bundle import bundle, find_source
from closecall.models.bundle_format import MANIFEST, header, padding
from closecall.models.removing import find_removable, remove
from closecall.models.unbundle import install, same_as_here, unpacked

TEXTS = ["red cat", "a green dog ran", "é 好"]


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "published"
    tiny_bert.write_folder(folder, prompts={"query": "query: "})
    return folder


@pytest.fixture
def model(source):
    return store.add_model(source, "tiny", aliases=["wee"], licence="MIT")


@pytest.fixture
def file(model, tmp_path):
    path = tmp_path / "tiny.closecall.tar"
    bundle(find_source("tiny"), path)
    return path


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """Another machine: an empty store."""
    monkeypatch.setenv("CLOSECALL_MODELS_DIR", str(tmp_path / "elsewhere"))
    return tmp_path / "elsewhere"


def take(path, **options):
    with unpacked(path, store.store_folder()) as found:
        return install(found, **options)


def names(folder):
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def members(path):
    """The members of a bundle as the standard library reads them."""
    with tarfile.open(path, "r:") as tar:
        return {entry.name: tar.extractfile(entry).read() for entry in tar.getmembers()}


def write(path, parts, *, end=b"\0" * 1024):
    """Write (name or header, data) one after the other; return the path."""
    out = b""
    for name, data in parts:
        head = name if isinstance(name, bytes) else header(name, len(data))
        out += head + data + bytes(padding(len(data)))
    path.write_bytes(out + end)
    return path


def changed(path, manifest=None, **replaced):
    """Return (name, data) of a bundle with some members replaced and the manifest edited."""
    found = members(path)
    document = json.loads(found.pop(MANIFEST))
    found |= {name.replace("__", "/"): data for name, data in replaced.items()}
    for entry in document["members"]:
        data = found[entry["path"]]
        entry |= {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}
    if manifest:
        manifest(document)
    return [(MANIFEST, json.dumps(document).encode()), *sorted(found.items())]


def test_the_same_model_gives_the_same_bytes(model, file, tmp_path):
    again = tmp_path / "again.tar"
    bundle(find_source("wee"), again)
    assert again.read_bytes() == file.read_bytes()
    os.utime(model.graph, (1, 1))
    bundle(find_source("tiny"), again, force=True)
    assert again.read_bytes() == file.read_bytes()


def test_any_program_reads_it_and_its_manifest_is_right(file, model):
    found = members(file)
    document = json.loads(found.pop(MANIFEST))
    assert (document["name"], document["kind"]) == ("tiny", "compiled")
    assert document["producer"].startswith("closecall ")
    assert {entry["path"] for entry in document["members"]} == set(found)
    assert set(found) == {"model/card.toml", "model/model.onnx", "model/tokenizer.json"}
    for entry in document["members"]:
        data = found[entry["path"]]
        assert (entry["sha256"], entry["size"]) == (hashlib.sha256(data).hexdigest(), len(data))
    with tarfile.open(file) as tar:
        entries = tar.getmembers()
    assert all((e.mtime, e.uid, e.gid, e.uname, e.mode) == (0, 0, 0, "", 0o644) for e in entries)


def test_on_another_machine_the_instrument_and_its_vectors_are_the_same(file, model, elsewhere):
    here = OnnxEmbedder(model)
    assert take(file) == elsewhere / "tiny"
    there = OnnxEmbedder(store.find_model("wee"))
    assert there.instrument.digest == here.instrument.digest
    assert there.embed(TEXTS).tobytes() == here.embed(TEXTS).tobytes()
    assert names(elsewhere) == ["tiny"]


def test_the_bundled_model_goes_with_its_licence_and_is_known_again(tmp_path):
    path = tmp_path / "minilm.tar"
    found = bundle(find_source("minilm"), path)
    assert {"model/LICENSE", "model/NOTICE"} <= {member.path for member in found.members}
    with unpacked(path, store.store_folder()) as bundled:
        assert same_as_here(bundled) == store.find_model("minilm").folder
        with pytest.raises(UsageError, match="already names"):
            install(bundled)


def test_a_damaged_model_is_not_bundled(model, tmp_path):
    (model.folder / "tokenizer.json").write_bytes(b"{}")
    with pytest.raises(ModelIntegrityError, match="Nothing was bundled"):
        find_source("tiny")


def test_a_file_that_is_there_stays_unless_asked(model, tmp_path):
    path = tmp_path / "mine.tar"
    path.write_bytes(b"mine")
    with pytest.raises(UsageError, match="--force"):
        bundle(find_source("tiny"), path)
    assert path.read_bytes() == b"mine"
    with pytest.raises(UnknownNameError):
        find_source("no-such")


def test_calibrations_and_vectors_go_along(model, tmp_path):
    for name, data in (("a.json", b"{}"), ("v.sqlite3", b"vectors")):
        (tmp_path / name).write_bytes(data)
    path = tmp_path / "all.tar"
    bundle(
        find_source("tiny"), path, calibrations=[tmp_path / "a.json"], cache=tmp_path / "v.sqlite3"
    )
    with unpacked(path, store.store_folder()) as found:
        assert [one.name for one in found.calibrations] == ["a.json"]
        assert found.cache.read_bytes() == b"vectors"
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.json").write_bytes(b"{}")
    with pytest.raises(UsageError, match=r"two calibrations are called a\.json"):
        bundle(
            find_source("tiny"),
            tmp_path / "two.tar",
            calibrations=[tmp_path / "a.json", tmp_path / "sub" / "a.json"],
        )


def test_a_model_of_that_name_stays_unless_asked(file, model, tmp_path):
    before = model.graph.read_bytes()
    with pytest.raises(UsageError, match="already there"):
        take(file)
    assert model.graph.read_bytes() == before
    assert take(file, force=True) == model.folder
    assert names(store.store_folder()) == ["tiny"]


def test_to_a_folder_of_its_own(file, elsewhere, tmp_path):
    place = take(file, to=tmp_path / "out" / "tiny")
    assert store.load_model(place).card.name == "tiny"
    with pytest.raises(UsageError, match="already there"):
        take(file, to=place)


@pytest.mark.parametrize("at", [0, 100, 600, 3000, 40_000, -1500])
def test_one_byte_changed_anywhere_is_found(file, elsewhere, at):
    data = bytearray(file.read_bytes())
    data[at] ^= 1
    file.write_bytes(data)
    with pytest.raises(ModelError, match=r"tiny\.closecall\.tar: "):
        take(file)
    assert names(elsewhere) == []


def test_every_byte_is_covered(file, elsewhere):
    """No byte of the file can be changed without notice: each hundredth one is tried."""
    whole = file.read_bytes()
    for at in range(0, len(whole), len(whole) // 97):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 0x20]) + whole[at + 1 :])
        with pytest.raises(ModelError):
            take(file)
    assert names(elsewhere) == []


@pytest.mark.parametrize("keep", [0, 100, 512, 5000, -1, -1024, -2000])
def test_a_file_cut_short_is_refused(file, elsewhere, keep):
    data = file.read_bytes()
    file.write_bytes(data[:keep] if keep else b"")
    with pytest.raises(ModelError):
        take(file)
    assert names(elsewhere) == []


def test_more_after_the_end_is_refused(file, elsewhere):
    file.write_bytes(file.read_bytes() + b"x")
    with pytest.raises(ModelError, match="more than"):
        take(file)


def special(name, **fields):
    entry = tarfile.TarInfo(name)
    for field, value in fields.items():
        setattr(entry, field, value)
    return entry.tobuf(tarfile.USTAR_FORMAT)


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE, tarfile.GNUTYPE_SPARSE, tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME]
)  # fmt: skip
def test_links_devices_and_folders_are_refused(file, elsewhere, tmp_path, kind):
    parts = changed(file)
    target = "/etc/passwd" if kind in (tarfile.SYMTYPE, tarfile.LNKTYPE) else ""
    parts[1] = (special(parts[1][0], type=kind, linkname=target), b"")
    with pytest.raises(ModelError, match="not a plain file"):
        take(write(tmp_path / "odd.tar", parts))
    assert names(elsewhere) == []


@pytest.mark.parametrize(
    "name",
    [
        "../evil", "/etc/evil", "model/../../evil", "model/a\\b", "model//x", "model/.hidden",
        "model/con", "other/x", "model/a/b/c/d/e", "calibrations/a/b", "cache/other", "model/x.",
    ],
)  # fmt: skip
def test_names_that_lead_elsewhere_are_refused(file, elsewhere, tmp_path, name):
    def add(document):
        digest = hashlib.sha256(b"evil").hexdigest()
        document["members"].append({"path": name, "sha256": digest, "size": 4})

    parts = [*changed(file, add), (name, b"evil")]
    with pytest.raises(ModelError, match="is not allowed"):
        take(write(tmp_path / "odd.tar", parts))
    assert names(elsewhere) == []
    assert not list(tmp_path.rglob("evil"))


def test_what_the_manifest_does_not_name_is_refused(file, elsewhere, tmp_path):
    parts = changed(file)
    with pytest.raises(ModelError, match="more than"):
        take(write(tmp_path / "more.tar", [*parts, ("model/extra", b"x")]))
    with pytest.raises(ModelError, match=r"expected 'model/card\.toml' next"):
        take(write(tmp_path / "order.tar", [parts[0], *reversed(parts[1:])]))
    with pytest.raises(ModelError, match="next"):
        take(write(tmp_path / "less.tar", parts[:-1]))
    twice = changed(file, lambda document: document["members"].append(document["members"][0]))
    with pytest.raises(ModelError, match="twice"):
        take(write(tmp_path / "twice.tar", [*twice, twice[1]]))
    assert names(elsewhere) == []


def test_a_size_that_is_a_lie_is_refused(file, elsewhere, tmp_path):
    def huge(document):
        document["members"][0]["size"] = 10**15

    with pytest.raises(ModelError, match="fewer bytes"):
        take(write(tmp_path / "bomb.tar", changed(file, huge)))
    parts = changed(file)
    parts[0] = (header(MANIFEST, 10**9), parts[0][1])
    with pytest.raises(ModelError, match="too many"):
        take(write(tmp_path / "long.tar", parts))
    with (
        pytest.raises(ModelError, match="allowed"),
        unpacked(file, elsewhere, most=100),
    ):
        pass


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (lambda d: d.update(schema="closecall-bundle/9"), "schema: expected"),
        (lambda d: d.update(extra=1), "extra"),
        (lambda d: d.update(name="../x"), "not a name"),
        (lambda d: d.update(name="other"), "the card is of tiny"),
        (lambda d: d.update(kind="pickled"), "kind: must be"),
        (lambda d: d.update(members=[]), "more than|card.toml"),
    ],
)
def test_a_manifest_that_is_none(file, elsewhere, tmp_path, edit, said):
    with pytest.raises(ModelError, match=said):
        take(write(tmp_path / "odd.tar", changed(file, edit)))
    assert names(elsewhere) == []


def test_files_other_than_the_card_records_are_refused(file, elsewhere, tmp_path):
    parts = changed(file, model__model_onnx=b"x")
    odd = [(name.replace("model_onnx", "model.onnx"), data) for name, data in parts]
    with pytest.raises(ModelError):
        take(write(tmp_path / "a.tar", odd))
    replaced = changed(file, **{"model/tokenizer.json": b"{}"})
    with pytest.raises(ModelIntegrityError, match="not the file that the card records"):
        take(write(tmp_path / "b.tar", replaced))

    def add(document):
        digest = hashlib.sha256(b"import os").hexdigest()
        document["members"].append({"path": "model/x.py", "sha256": digest, "size": 9})

    with pytest.raises(ModelIntegrityError, match=r"x\.py"):
        take(write(tmp_path / "c.tar", [*changed(file, add), ("model/x.py", b"import os")]))
    assert names(elsewhere) == []


@pytest.mark.parametrize("data", [b"", b"x" * 3000, b"PK\3\4" * 500, b"\0" * 4096])
def test_files_that_are_no_bundles(tmp_path, elsewhere, data):
    (tmp_path / "x.tar").write_bytes(data)
    with pytest.raises(ModelError, match=r"x\.tar: "):
        take(tmp_path / "x.tar")
    with pytest.raises(ModelError, match="no such file"):
        take(tmp_path / "none.tar")
    with pytest.raises(ModelError, match="not a file"):
        take(tmp_path)


def test_a_compressed_tar_is_no_bundle(tmp_path, elsewhere):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        tar.addfile(tarfile.TarInfo("x"))
    (tmp_path / "x.tar").write_bytes(out.getvalue().ljust(2048, b"\0"))
    with pytest.raises(ModelError, match="not a bundle"):
        take(tmp_path / "x.tar")


# Removing


def test_remove_takes_the_model_and_nothing_else(model, source):
    store.add_model(source, "other")
    remove(find_removable("WEE"))
    assert names(store.store_folder()) == ["other"]
    with pytest.raises(UnknownNameError):
        find_removable("tiny")
    with pytest.raises(UsageError, match="came with closecall"):
        find_removable("minilm")


def test_remove_takes_a_link_away_and_leaves_what_it_points_to(model, tmp_path):
    outside = tmp_path / "outside"
    model.folder.rename(outside)
    (store.store_folder() / "tiny").symlink_to(outside)
    remove(find_removable("tiny"))
    assert names(store.store_folder()) == []
    assert names(outside) == ["card.toml", "model.onnx", "tokenizer.json"]


def test_remove_follows_no_link_within(model, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "mine").write_bytes(b"x")
    (model.folder / "link").symlink_to(outside)
    remove(find_removable("tiny"))
    assert names(outside) == ["mine"]


def test_remove_stays_within_the_store(tmp_path):
    for folder in (tmp_path, store.store_folder(), store.store_folder() / "a" / "b"):
        with pytest.raises(UsageError, match="not a model of the store"):
            remove(folder)


def test_a_broken_model_can_be_removed_by_its_folder(model):
    (model.folder / "card.toml").write_text("not toml [", encoding="utf-8")
    remove(find_removable("tiny"))
    assert names(store.store_folder()) == []
