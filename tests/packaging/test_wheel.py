"""The wheel holds closecall, its model and nothing else, and is the same however it is built."""

import ast
import base64
import csv
import hashlib
import io
import json
import os
import stat
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "scripts"))

import sbom

pytest.importorskip("hatchling", reason="hatchling is not installed: closecall[test]")

ROOT = sbom.ROOT
VERSION = next(
    ast.literal_eval(line.partition("=")[2].strip())
    for line in (ROOT / "src/closecall/_version.py").read_text(encoding="utf-8").splitlines()
    if line.startswith("__version__")
)
INFO = f"closecall-{VERSION}.dist-info"
SUFFIXES = {
    "", ".bin", ".css", ".html", ".jinja", ".js", ".json", ".jsonl", ".md", ".onnx", ".py", ".toml",
    ".typed",
}  # fmt: skip
MOST_BYTES = 65e6
"""The bundled models are 57 MB of it."""


def built(source, folder, *kinds):
    """Build in a process of its own, and return the files it left."""
    folder.mkdir()
    kinds = [part for kind in kinds for part in ("-t", kind)]
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(folder), *kinds],
        check=True, capture_output=True, cwd=source, timeout=600,
        env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"},
    )  # fmt: skip
    return sorted(folder.iterdir())


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    (one,) = built(ROOT, tmp_path_factory.mktemp("built") / "once", "wheel")
    return one


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    (one,) = built(ROOT, tmp_path_factory.mktemp("built") / "sdist", "sdist")
    return one


@pytest.fixture(scope="module")
def names(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def in_the_checkout():
    """What the wheel is to hold, by its name there."""
    found = {}
    for path in (ROOT / "src").rglob("*"):
        here = path.relative_to(ROOT / "src")
        if path.is_file() and "__pycache__" not in here.parts:
            found[here.as_posix()] = path
    for name in ("all-MiniLM-L6-v2", "pair-minilm", "known"):
        for path in (ROOT / "models" / name).iterdir():
            found[f"closecall/_bundled/{name}/{path.name}"] = path
    return found


def test_it_holds_the_package_the_model_and_its_own_records_and_nothing_else(names):
    assert len(names) == len(set(names))
    own = {name for name in names if name.startswith(f"{INFO}/")}
    assert set(names) - own == set(in_the_checkout())
    assert own == {
        f"{INFO}/{name}"
        for name in (
            "METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE",
            "licenses/models/all-MiniLM-L6-v2/LICENSE", "licenses/models/all-MiniLM-L6-v2/NOTICE",
            "licenses/models/pair-minilm/LICENSE", "licenses/models/pair-minilm/NOTICE",
            "sboms/closecall.cdx.json",
        )
    }  # fmt: skip
    assert {Path(name).suffix for name in set(names) - own} <= SUFFIXES
    assert {name.split("/")[0] for name in names} == {"closecall", "_closecall_pytest.py", INFO}
    assert "closecall/py.typed" in names


def test_every_file_is_the_one_of_the_checkout_and_its_recorded_hash_is_right(wheel):
    with zipfile.ZipFile(wheel) as archive:
        for name, path in in_the_checkout().items():
            assert archive.read(name) == path.read_bytes(), name
        rows = list(csv.reader(io.StringIO(archive.read(f"{INFO}/RECORD").decode())))
        assert {row[0] for row in rows} == set(archive.namelist())
        for name, digest, size in rows:
            if name != f"{INFO}/RECORD":
                held = archive.read(name)
                found = base64.urlsafe_b64encode(hashlib.sha256(held).digest()).rstrip(b"=")
                assert (digest, size) == (f"sha256={found.decode()}", str(len(held))), name


def test_its_files_are_plain_readable_and_of_a_size_that_is_expected(wheel):
    assert wheel.stat().st_size < MOST_BYTES
    with zipfile.ZipFile(wheel) as archive:
        for one in archive.infolist():
            mode = one.external_attr >> 16
            # The records that the build writes itself have rights and no type.
            assert stat.S_IFMT(mode) in {0, stat.S_IFREG}, one.filename
            assert mode & 0o6022 == 0, f"{one.filename} may be written by others, or runs as them"
            assert one.file_size < 1_500_000 or one.filename.endswith("model.onnx")


def test_no_file_knows_where_it_was_built(wheel):
    private = [str(ROOT).encode(), str(Path.home()).encode() + b"/", b"/home/"]
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            held = archive.read(name)
            assert not [one for one in private if one in held], name


def test_the_models_in_it_have_the_hashes_that_are_written_down(wheel):
    with zipfile.ZipFile(wheel) as archive:
        held = json.loads(archive.read(f"{INFO}/sboms/closecall.cdx.json"))
        models = [one for one in held["components"] if one["type"] == "machine-learning-model"]
        assert [len(model["components"]) for model in models] == [2, 1]
        for file in (file for model in models for file in model["components"]):
            (recorded,) = file["hashes"]
            assert hashlib.sha256(archive.read(file["name"])).hexdigest() == recorded["content"]


def test_another_checkout_and_another_time_give_the_same_bytes(wheel, sdist, tmp_path):
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (folder,) = tmp_path.iterdir()
    for path in folder.rglob("*"):
        os.utime(path, (1_600_000_000, 1_600_000_000))
    (again,) = built(folder, tmp_path / "again", "wheel")
    assert again.name == wheel.name
    assert (
        hashlib.sha256(again.read_bytes()).digest() == hashlib.sha256(wheel.read_bytes()).digest()
    )


def test_the_source_distribution_is_the_same_twice_and_holds_no_leavings(sdist, tmp_path):
    (again,) = built(ROOT, tmp_path / "again", "sdist")
    assert again.read_bytes() == sdist.read_bytes()
    with tarfile.open(sdist) as archive:
        members = archive.getmembers()
    top = {one.name.split("/")[1] for one in members}
    assert {"src", "models", "tests", "pyproject.toml", "PKG-INFO", "LICENSE"} <= top
    for one in members:
        parts = one.name.split("/")
        assert one.isreg(), one.name
        assert not one.name.startswith("/"), one.name
        assert not {"..", "__pycache__", ".closecall", ".git"} & set(parts), one.name
        assert (one.uname, one.gname, one.uid, one.gid) == ("", "", 0, 0)


def test_the_bill_of_materials_is_up_to_date():
    assert sbom.main(["--check"]) == 0, "python scripts/sbom.py"


def test_the_bill_of_materials_is_sound():
    validation = pytest.importorskip(
        "cyclonedx.validation.json", reason="cyclonedx-python-lib is not installed: closecall[dev]"
    )
    from cyclonedx.schema import SchemaVersion

    text = sbom.WRITTEN.read_text(encoding="utf-8")
    strict = validation.JsonStrictValidator(SchemaVersion.V1_6)
    assert strict.validate_str(text) is None
    broken = json.loads(text)
    broken["components"][0]["hashes"][0]["content"] = "none"
    assert strict.validate_str(json.dumps(broken)) is not None


def test_the_bill_of_materials_names_no_time_and_every_requirement():
    held = sbom.document()
    assert not {"serialNumber", "timestamp"} & (held.keys() | held["metadata"].keys())
    named = {one["name"] for one in held["components"]}
    assert {"numpy", "torch", "ray", "openai", "all-MiniLM-L6-v2", "pair-minilm"} <= named
    references = [held["metadata"]["component"]["bom-ref"]]
    references += [one["bom-ref"] for one in held["components"]]
    assert len(references) == len(set(references))
    assert {one["ref"] for one in held["dependencies"]} == set(references)
