"""``closecall doctor``: does this installation work?"""

import contextlib
import json
import re
import socket

from closecall._version import __version__


def checks(said):
    return {check["name"]: check for check in said.json}


def test_a_working_installation(cli):
    said = cli("doctor")
    assert said.code == 0
    assert all(line.startswith("ok ") for line in said.out.splitlines())
    assert f"closecall {__version__}" in said.out
    for package in ("onnxruntime", "tokenizers", "numpy"):
        assert package in said.out
    assert "2 files as recorded" in said.out
    assert "384 dims, cosine of two paraphrases 0." in said.out
    assert "no connection tried" in said.out


def test_as_json(cli):
    found = checks(cli("doctor", "--json"))
    assert list(found) == [
        "versions",
        "bundled model",
        "embedding",
        "pair model",
        "default embedder",
        "vector cache",
        "model store",
        "run folders",
        "runtimes",
    ]
    assert all(check["ok"] for check in found.values())


def test_it_leaves_nothing_behind(cli, tmp_path):
    cli("doctor")
    assert list(tmp_path.iterdir()) == []
    assert socket.socket.connect.__name__ != "refuse"


def test_a_changed_model_file_is_found(cli, monkeypatch, tmp_path):
    import shutil

    from closecall.models import roots, store

    bad = tmp_path / "bundled"
    shutil.copytree(store.bundled_folder() / store.DEFAULT_MODEL, bad / store.DEFAULT_MODEL)
    tokenizer = bad / store.DEFAULT_MODEL / "tokenizer.json"
    tokenizer.write_bytes(tokenizer.read_bytes() + b" ")
    monkeypatch.setattr(roots, "bundled_folder", lambda: bad)
    said = cli("doctor", "--json")
    assert said.code == 3
    found = checks(said)["bundled model"]
    assert not found["ok"]
    assert "tokenizer.json: expected sha256" in found["found"]
    assert "install closecall again" in found["found"]


def test_a_pair_model_that_computes_otherwise_is_found(cli, monkeypatch):
    from closecall.metrics.support.model import PairModel

    score = PairModel.score
    monkeypatch.setattr(PairModel, "score", lambda self, pairs: score(self, pairs) * 0.999)
    said = cli("doctor", "--json")
    assert said.code == 3
    found = checks(said)["pair model"]
    assert not found["ok"]
    assert "fixed pairs score otherwise" in found["found"]


def test_an_embedder_that_goes_to_the_network_is_found(cli, monkeypatch):
    from closecall.embedders import onnx

    class Calls:
        def __init__(self, model, **_):
            self.model = model

        def embed(self, texts):
            import numpy as np

            with contextlib.suppress(OSError):
                socket.getaddrinfo("models.example", 443)
            return np.tile(np.float32([0.8, 0.6]), (len(texts), 1))

    monkeypatch.setattr(onnx, "OnnxEmbedder", Calls)
    said = cli("doctor", "--json")
    assert said.code == 3
    assert "tried to connect" in checks(said)["embedding"]["found"]


def test_a_folder_that_cannot_be_written_is_found(cli, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("CLOSECALL_CACHE_DIR", str(tmp_path / "file" / "cache"))
    said = cli("doctor", "--json")
    assert said.code == 3
    assert "cannot be written" in checks(said)["vector cache"]["found"]
    assert checks(said)["model store"]["ok"]


def test_a_switched_off_cache_is_no_fault(cli, monkeypatch):
    monkeypatch.setenv("CLOSECALL_CACHE", "off")
    said = cli("doctor", "--json")
    assert said.code == 0
    assert "switched off" in checks(said)["vector cache"]["found"]


def test_every_package_the_installation_needs_is_listed(cli):
    from importlib.metadata import requires

    needed = [r for r in requires("closecall") if "extra ==" not in r]
    assert len(needed) > 5
    said = cli("doctor")
    for requirement in needed:
        assert re.search(rf"\b{re.match(r'[a-z0-9-]+', requirement)[0]} \d", said.out), requirement


def test_a_folder_that_may_not_be_looked_into_is_found(unprivileged, tmp_path):
    said = unprivileged("doctor", "--json", CLOSECALL_CACHE_DIR=str(tmp_path / "a" / "b"))
    assert said.returncode == 3, said.stderr
    (check,) = (one for one in json.loads(said.stdout) if one["name"] == "vector cache")
    assert not check["ok"]
    assert check["found"] == f"{tmp_path / 'a' / 'b'} cannot be written: Permission denied"


def test_a_provider_that_cannot_be_reached_is_named(cli, monkeypatch):
    monkeypatch.setenv("AI_INFERENCE_PROVIDER", "openai")
    said = cli("doctor")
    assert said.code == 3
    assert "BAD default embedder" in said.out
    assert "AI_INFERENCE_PROVIDER" in said.out
    monkeypatch.setenv("AI_INFERENCE_PROVIDER", "local")
    assert cli("doctor").code == 0
