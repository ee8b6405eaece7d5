"""A pair model that is missing or damaged: who needs it is told, and nobody else notices."""

from pathlib import Path

import pytest

from closecall.metrics.support import model
from closecall.models import bundled_pair, store

ENCODER = store.DEFAULT_MODEL
PAIR = bundled_pair.PAIR_MODEL
TEXT = "The pump is drained in autumn."


@pytest.fixture
def bundled(tmp_path, monkeypatch):
    """Links to the bundled models, to be put out of order; nothing of them is opened yet."""
    place = tmp_path / "bundled"
    for name in (ENCODER, PAIR):
        (place / name).mkdir(parents=True)
        for file in (store.bundled_folder() / name).iterdir():
            (place / name / file.name).symlink_to(file)
    for module in ("models.store", "models.bundled_pair", "metrics.fitted.support"):
        monkeypatch.setattr(f"closecall.{module}.bundled_folder", lambda: place)
    monkeypatch.setattr(model, "_OPENED", [])
    return place


@pytest.fixture
def cases(write):
    return write({"id": "a", "input": "When?", "response": TEXT, "reference": TEXT})


def damage(file, how):
    """Put a file that differs in one bit in the place of a link, or nothing."""
    data = bytearray(file.read_bytes())
    data[0 if file.suffix == ".toml" else len(data) // 2] ^= 1
    file.unlink()
    if how == "changed":
        file.write_bytes(data)


@pytest.mark.parametrize("how", ["missing", "changed"])
@pytest.mark.parametrize(
    "name", [f"{PAIR}/card.toml", f"{PAIR}/model.onnx", f"{ENCODER}/tokenizer.json"]
)
def test_who_asks_it_is_told_the_file_and_what_to_do(cli, bundled, cases, name, how):
    damage(bundled / name, how)
    said = cli("eval", cases, "-m", "token_f1,answer_support", "--aef", "run")
    assert (said.code, said.out) == (3, "")
    assert str(bundled / name) in said.err
    expected = "format" if name.endswith(".toml") else "expected sha256"
    assert {"missing": "no such file", "changed": expected}[how] in said.err
    assert "install" in said.err
    assert "Traceback" not in said.err
    assert not Path("run").exists()


@pytest.mark.parametrize("how", ["missing", "changed"])
def test_who_does_not_ask_it_notices_nothing(cli, bundled, cases, how):
    assert cli("eval", cases, "-m", "answer_support", "--no-aef", "-q").code == 0  # it was whole
    model._OPENED.clear()
    for name in ("card.toml", "model.onnx"):
        damage(bundled / PAIR / name, how)
    said = cli("eval", cases, "-m", "token_f1,embed_answer_similarity", "--aef", "run", "-q")
    assert (said.code, said.err) == (0, "")
    assert "answer_support" in cli("metrics").out
