"""``closecall models known``, ``pull``, ``bundle``, ``unbundle`` and ``remove``, end to end."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import fake_hub
import pytest
import tiny_bert

sys.path.insert(0, str(Path(__file__).parent.parent / "runs"))
from labelled_rows import rows

from closecall.cache.location import cache_path
from closecall.embedders.registry import load_embedder
from closecall.models import store
from closecall.models.web import CA_VARIABLES

REPO = "acme/tiny"
CASES = [
    {"id": "a", "input": "red cat", "response": "a red cat sat", "reference": "red cat"},
    {"id": "b", "input": "blue dog", "response": "green bird", "reference": "a dog ran"},
]


@pytest.fixture
def hub(monkeypatch):
    made = fake_hub.Hub()
    monkeypatch.setenv("HF_ENDPOINT", made.endpoint)
    for name in ("HF_TOKEN", *CA_VARIABLES):
        monkeypatch.delenv(name, raising=False)
    yield made
    made.close()


@pytest.fixture
def source(tmp_path):
    tiny_bert.write_folder(tmp_path / "published" / "tiny", prompts={"query": "query: "})
    return tmp_path / "published" / "tiny"


@pytest.fixture
def added(cli, source):
    assert cli("models", "add", source, "--alias", "wee").code == 0


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """Turn this machine into another one: empty store, empty cache, another folder."""

    def go():
        monkeypatch.setenv("CLOSECALL_MODELS_DIR", str(tmp_path / "elsewhere" / "models"))
        monkeypatch.setenv("CLOSECALL_CACHE_DIR", str(tmp_path / "elsewhere" / "cache"))
        (tmp_path / "elsewhere" / "work").mkdir(parents=True)
        monkeypatch.chdir(tmp_path / "elsewhere" / "work")

    return go


def measured(cli, path, embedder):
    said = cli("eval", path, "--embedder", embedder, "--no-aef", "--format", "json")
    assert said.code in (0, 1), said.err
    values = [one["similarity"] for one in _found(said.json["results"], "similarity")]
    assert len(values) >= len(CASES)
    return said.json["metadata"]["EmbeddingModel"], values


def _found(value, field):
    if isinstance(value, dict):
        if field in value:
            yield value
        for inner in value.values():
            yield from _found(inner, field)
    elif isinstance(value, list):
        for inner in value:
            yield from _found(inner, field)


def vectors():
    with sqlite3.connect(cache_path()) as connection:
        found = connection.execute("SELECT key, vector FROM vectors ORDER BY key").fetchall()
    connection.close()
    return found


# From the hub to an air-gapped machine


@pytest.mark.loopback
def test_pull_eval_bundle_and_unbundle_give_the_same_numbers(cli, hub, source, write, elsewhere):
    commit = hub.add(REPO, source)
    said = cli("models", "pull", REPO)
    assert said.code == 0, said.err
    assert f"compiled tiny ({REPO} at {commit})" in said.out
    assert "every file checked by its hash" in said.err
    assert "--embedder tiny" in said.err
    cases = write(*CASES)
    before = measured(cli, cases, "tiny")
    digest = load_embedder("tiny").instrument.digest
    assert cli("models", "bundle", "tiny", "--cache").code == 0
    carried = Path("tiny.closecall.tar").absolute()
    stored = vectors()
    assert stored
    elsewhere()
    hub.close()
    assert cli("eval", cases, "--embedder", "tiny", "--no-aef").code == 3
    said = cli("models", "unbundle", carried)
    assert said.code == 0, said.err
    assert f"{len(stored)} new vectors" in said.out
    assert load_embedder("tiny").instrument.digest == digest
    assert vectors() == stored
    assert measured(cli, cases, "tiny") == before
    assert vectors() == stored
    assert cli("models", "verify").code == 0
    assert store.find_model("tiny").card.revision == commit


@pytest.mark.loopback
def test_pull_says_what_is_here_and_what_went_wrong(cli, hub, source):
    hub.add(REPO, source)
    cli("models", "pull", REPO)
    said = cli("models", "pull", REPO)
    assert (said.code, "is here already" in said.out) == (0, True)
    said = cli("models", "pull", "acme/none")
    assert said.code == 3
    assert "no such model" in said.err
    assert cli("models", "pull", "no-such-name").code == 3
    assert cli("models", "pull", REPO, "--as", "minilm").code == 2
    said = cli("models", "pull", "gte-base-en-v1.5")
    assert said.code == 3
    assert "never runs" in said.err
    assert "Traceback" not in said.err


@pytest.mark.loopback
def test_what_cannot_be_compiled_is_listed_verified_and_named_for_st(cli, hub, source):
    tiny_bert.write_json(source / "config.json", {**tiny_bert.CONFIG, "model_type": "mamba"})
    commit = hub.add(REPO, source)
    said = cli("models", "pull", REPO)
    assert said.code == 0
    folder = store.store_folder() / "tiny"
    assert "not compiled" in said.err
    assert f"--embedder st:{folder}" in said.err
    assert f"st:{folder}" in cli("models", "list").out
    model = cli("models", "list", "--json").json[-1]
    assert (model["name"], model["place"], model["revision"]) == ("tiny", "published", commit)
    said = cli("models", "verify", "tiny")
    assert said.code == 0
    assert "7 / 7 files as recorded" in said.out
    (folder / "1_Pooling" / "config.json").write_text("{}", encoding="utf-8")
    assert cli("models", "verify").code == 3
    assert cli("score", "a", "b", "--embedder", "tiny").code == 3


@pytest.mark.loopback
def test_published_files_are_bundled_as_they_are(cli, hub, source, elsewhere):
    hub.add(REPO, source)
    cli("models", "pull", REPO, "--raw")
    assert cli("models", "bundle", "tiny", "-o", "t.tar").code == 0
    carried = Path("t.tar").absolute()
    elsewhere()
    said = cli("models", "unbundle", carried)
    assert said.code == 0, said.err
    folder = store.store_folder() / "tiny"
    assert f"--embedder st:{folder}" in said.err
    assert (folder / "model.safetensors").read_bytes() == (
        source / "model.safetensors"
    ).read_bytes()
    assert cli("models", "verify").code == 0


@pytest.mark.loopback
@pytest.mark.skipif(os.name != "posix", reason="interrupts as POSIX does")
def test_interrupted_it_says_how_to_go_on(hub, source, tmp_path):
    hub.add(REPO, source)
    data = (source / "model.safetensors").read_bytes()

    def stall(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data[:3000])
        handler.wfile.flush()
        time.sleep(120)  # no more comes before it is interrupted

    hub.fault("model.safetensors", stall)
    command = [sys.executable, "-m", "closecall", "models", "pull", REPO]
    child = subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8",
        # Whatever the test runner ignores.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509
    )  # fmt: skip
    until = time.monotonic() + 60
    while time.monotonic() < until:
        part = next(store.store_folder().rglob("model.safetensors.part"), None)
        if part is not None and part.stat().st_size == 3000:
            break
        time.sleep(0.02)
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=60)
    assert child.returncode == 130
    assert "type the same again to go on" in err
    assert "Traceback" not in err
    assert "trying again" not in err  # what came was there before that
    assert part.stat().st_size == 3000


# Known models


def test_known_lists_models_and_which_are_here(cli, added):
    folder = store.store_folder() / "cards"
    folder.mkdir(parents=True)
    text = 'format = 1\nname = "tiny"\nrepo = "acme/tiny"\n'
    (folder / "tiny.toml").write_text(text, encoding="utf-8")
    said = cli("models", "known")
    assert said.code == 0
    lines = {line.split()[0]: line for line in said.out.splitlines()}
    assert "here (bundled)" in lines["all-MiniLM-L6-v2"]
    assert "here (store); your card" in lines["tiny"]
    assert "refused: runs code of its own" in lines["gte-base-en-v1.5"]
    assert "refused: weights are pickles" in lines["bge-m3"]
    assert "terms to accept" in lines["embeddinggemma-300m"]
    assert str(folder) in said.err
    (facts,) = [one for one in cli("models", "known", "--json").json if one["name"] == "tiny"]
    assert (facts["here"], facts["origin"], facts["replaces"]) == ("store", "own", False)


def test_a_broken_card_of_ones_own_is_told(cli):
    folder = store.store_folder() / "cards"
    folder.mkdir(parents=True)
    (folder / "bad.toml").write_text("x = [", encoding="utf-8")
    said = cli("models", "known")
    assert said.code == 0
    assert "bad.toml" in said.err


# Bundles


def test_a_calibration_goes_along_and_lands_beside_the_file(
    cli, added, write, elsewhere, tmp_path
):
    labelled = write(*rows(), name="labelled.jsonl")
    said = cli(
        "calibrate", labelled, "--embedder", "tiny", "--max-far", "0.9", "--confidence", "0.5",
        "-o", "cutoff.json",
    )  # fmt: skip
    assert said.code == 0, said.err
    made = Path("cutoff.json").read_bytes()
    assert cli("models", "bundle", "tiny", "--calibration", "cutoff.json").code == 0
    usb = tmp_path / "usb"
    usb.mkdir()
    shutil.move("tiny.closecall.tar", usb)
    elsewhere()
    said = cli("models", "unbundle", usb / "tiny.closecall.tar")
    assert said.code == 0, said.err
    assert (usb / "cutoff.json").read_bytes() == made
    again = cli("models", "unbundle", usb / "tiny.closecall.tar")
    assert again.code == 2
    assert "--calibrations-to" in again.err
    said = cli("models", "unbundle", usb / "tiny.closecall.tar", "--calibrations-to", "mine")
    assert said.code == 0
    assert "is here already, with the same files" in said.out
    assert Path("mine/cutoff.json").read_bytes() == made
    case = write(CASES[0], name="one.jsonl")
    said = cli("eval", case, "--embedder", "tiny", "--calibration", "mine/cutoff.json", "--no-aef")
    assert said.code in (0, 1), said.err


def test_a_calibration_of_another_model_is_refused(cli, added, write):
    labelled = write(*rows(), name="labelled.jsonl")
    cli("calibrate", labelled, "--max-far", "0.1", "-o", "minilm.json")
    said = cli("models", "bundle", "tiny", "--calibration", "minilm.json")
    assert said.code == 6
    assert "other files than tiny has" in said.err
    assert not Path("tiny.closecall.tar").exists()
    Path("odd.json").write_text("{}", encoding="utf-8")
    assert cli("models", "bundle", "tiny", "--calibration", "odd.json").code == 4


def test_a_damaged_cache_is_told_and_not_carried_as_an_empty_one(cli, added, write):
    measured(cli, write(*CASES), "tiny")
    with sqlite3.connect(cache_path()) as connection:
        connection.execute("UPDATE vectors SET checksum = x'00' WHERE id = 2")
    connection.close()
    before = vectors()
    said = cli("models", "bundle", "tiny", "--cache", "-o", "t.tar")
    assert said.code == 3
    assert str(cache_path()) in said.err
    assert "closecall cache clear" in said.err
    assert vectors() == before
    assert not Path("t.tar").exists()
    assert cli("models", "bundle", "tiny", "-o", "t.tar").code == 0


def test_only_vectors_of_that_model_go_along_and_come_in(cli, added, write, elsewhere):
    cases = write(*CASES)
    measured(cli, cases, "tiny")
    mine = len(vectors())
    measured(cli, cases, "minilm")
    assert len(vectors()) > mine
    cli("models", "bundle", "tiny", "--cache", "-o", "t.tar")
    carried = Path("t.tar").absolute()
    elsewhere()
    said = cli("models", "unbundle", carried)
    assert f"{mine} new vectors" in said.out
    assert len(vectors()) == mine
    said = cli("models", "unbundle", carried)
    assert "0 new vectors" in said.out


def test_a_damaged_bundle_changes_nothing(cli, added, elsewhere):
    cli("models", "bundle", "tiny", "-o", "t.tar")
    data = bytearray(Path("t.tar").read_bytes())
    data[len(data) // 2] ^= 1
    Path("t.tar").write_bytes(data)
    carried = Path("t.tar").absolute()
    elsewhere()
    said = cli("models", "unbundle", carried)
    assert said.code == 3
    assert "damaged or changed" in said.err
    assert list(store.store_folder().iterdir()) == []


def test_unbundle_to_a_folder(cli, added, elsewhere):
    cli("models", "bundle", "tiny", "-o", "t.tar")
    carried = Path("t.tar").absolute()
    elsewhere()
    said = cli("models", "unbundle", carried, "--to", "here")
    assert said.code == 0, said.err
    assert "--embedder onnx:here" in said.err
    assert cli("score", "red cat", "red cat", "--embedder", "onnx:here").code == 0
    assert not store.store_folder().exists()


# Removing


def test_remove_asks_first(cli, added, monkeypatch):
    monkeypatch.setattr("click.termui.visible_prompt_func", lambda _: "n")
    assert cli("models", "remove", "tiny").code == 130
    assert store.find_model("tiny")
    said = cli("models", "remove", "wee", "--yes")
    assert said.code == 0
    assert cli("models", "info", "tiny").code == 3
    assert cli("models", "remove", "minilm", "--yes").code == 2
    assert cli("models", "remove", "tiny", "--yes").code == 3


def test_help_of_every_command_is_there(cli):
    for command in ("known", "pull", "bundle", "unbundle", "remove"):
        said = cli("models", command, "--help")
        assert said.code == 0
        assert "xample" in said.out
    assert json.loads(cli("models", "known", "--json").out)
