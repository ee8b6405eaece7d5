"""Models are found in folders and in the hub's cache, and nothing else is ever asked."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import tiny_models

from closecall.embedders.st.places import find_place
from closecall.errors import ModelError, UsageError

COMMIT = "0123456789abcdef0123456789abcdef01234567"
OTHER = "f" * 40


def cached(home, name="org/tiny", *, commit=COMMIT, ref="main"):
    """Put a tiny model where the hub's library keeps downloads."""
    root = home / "hub" / f"models--{name.replace('/', '--')}"
    folder = tiny_models.bert(root / "snapshots" / commit)
    (root / "refs").mkdir(exist_ok=True)
    (root / "refs" / ref).write_text(commit, encoding="utf-8")
    return folder


def test_a_folder_is_called_by_its_name(tmp_path, monkeypatch):
    folder = tiny_models.bert(tmp_path / "mine")
    assert find_place(str(folder)) == (folder, "mine", "")
    monkeypatch.chdir(folder)
    assert find_place(".").model == "mine"
    with pytest.raises(UsageError, match="no revisions"):
        find_place(str(folder), "main")


def test_a_folder_of_the_cache_is_called_as_it_was_published(tmp_path):
    folder = cached(tmp_path)
    assert find_place(str(folder)) == (folder, "org/tiny", COMMIT)


@pytest.mark.parametrize(
    "name", ["./mine", "/no/such/folder", "a/b/c", "../x", "C:\\models\\x", "a..b/c"]
)
def test_a_path_that_is_not_there_is_never_looked_up(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelError, match=r"no such folder$"):
        find_place(name)


@pytest.mark.torch
def test_a_cached_model_is_found_with_its_commit(tmp_path, monkeypatch):
    folder = cached(tmp_path)
    newer = cached(tmp_path, commit=OTHER, ref="v2")
    short = cached(tmp_path, "sentence-transformers/small")
    monkeypatch.setenv("SENTENCE_TRANSFORMERS_HOME", str(tmp_path / "hub"))
    assert find_place("org/tiny") == (folder, "org/tiny", COMMIT)
    assert find_place("org/tiny", "v2") == (newer, "org/tiny", OTHER)
    assert find_place("org/tiny", OTHER).folder == newer
    assert find_place("small") == (short, "sentence-transformers/small", COMMIT)


@pytest.mark.torch
def test_one_that_is_not_there_is_refused_with_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setenv("SENTENCE_TRANSFORMERS_HOME", str(tmp_path))
    with pytest.raises(ModelError) as refused:
        find_place("org/none")
    assert "'hf download org/none'" in str(refused.value)
    assert "Nothing is downloaded here" in str(refused.value)
    with pytest.raises(ModelError, match="hf download sentence-transformers/none --revision v9"):
        find_place("none", "v9")


PROGRAM = """
import sys
from closecall.embedders.registry import load_embedder
embedder = load_embedder(sys.argv[1])
print(embedder.instrument.model, embedder.instrument.revision)
print(embedder.embed(["red cat"]).shape)
"""


def in_a_process(spec, **variables):
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, spec],
        check=False, capture_output=True, text=True, timeout=300,
        env={**os.environ, **variables},
    )  # fmt: skip


@pytest.mark.torch
def test_a_process_of_its_own_reads_the_hub_s_variables_and_never_the_network(tmp_path):
    """The guard of the suite notes any try of the process, whoever makes it."""
    cached(tmp_path)
    home = {"HF_HOME": str(tmp_path)}
    said = in_a_process("st:org/tiny?device=cpu", **home)
    assert said.stdout.splitlines() == [f"org/tiny {COMMIT}", "(1, 24)"], said.stderr
    said = in_a_process("st:org/none", **home)
    assert said.returncode == 1
    assert "closecall.errors.ModelError: org/none: no such folder" in said.stderr


@pytest.mark.torch
def test_loading_writes_nothing_beside_the_model_or_at_home(tiny, tmp_path):
    before = {path: path.stat().st_mtime_ns for path in sorted(tiny.rglob("*"))}
    home = tmp_path / "home"
    home.mkdir()
    variables = {"HOME": str(home), "HF_HOME": str(home / "hf"), "USERPROFILE": str(home)}
    said = in_a_process(f"st:{tiny}?device=cpu", **variables)
    assert said.stdout.splitlines()[-1] == "(1, 24)", said.stderr
    assert said.stderr == ""
    assert {path: path.stat().st_mtime_ns for path in sorted(tiny.rglob("*"))} == before
    # Older versions of the hub's library note the format of its cache there.
    left = {path.name for path in home.rglob("*") if path.is_file()}
    assert left <= {"version.txt"}


@pytest.mark.torch
def test_a_snapshot_whose_files_are_links_is_read(tmp_path):
    if os.name != "posix":
        pytest.skip("the cache has links on POSIX only")
    folder = cached(tmp_path)
    blobs = folder.parents[1] / "blobs"
    blobs.mkdir()
    for number, path in enumerate(p for p in folder.rglob("*") if p.is_file()):
        kept = blobs / f"{number:064d}"
        shutil.move(path, kept)
        path.symlink_to(Path(os.path.relpath(kept, path.parent)))
    from closecall.embedders.registry import load_embedder

    assert load_embedder(f"st:{folder}?device=cpu").embed(["red"]).shape == (1, 24)
