"""The command line in this process, and in one of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from closecall.cli import run
from closecall.embedders import onnx

sys.path.insert(0, str(Path(__file__).parent.parent / "models"))  # for tiny_bert

LOADED = {}


class Said(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture(autouse=True)
def _load_each_model_once(monkeypatch):
    made = onnx.OnnxEmbedder

    def once(model, **options):
        key = (model.folder, str(model.card), tuple(sorted(options.items())))
        if key not in LOADED:
            LOADED[key] = made(model, **options)
        return LOADED[key]

    monkeypatch.setattr(onnx, "OnnxEmbedder", once)


@pytest.fixture
def cli(capsys, monkeypatch):
    # What takes long on a busy machine tells its progress, and that is no part of what is said.
    monkeypatch.setattr("closecall.cli.progress.QUIET_SECONDS", 3600.0)

    def call(*args):
        code = run([str(arg) for arg in args])
        return Said(code, *capsys.readouterr())

    return call


@pytest.fixture
def process(tmp_path):
    """Run ``python -m closecall`` in a process of its own; ``code=`` runs other code instead."""

    def call(*args, code=None, **options):
        command = ["-c", code] if code else ["-m", "closecall"]
        options.setdefault("env", dict(os.environ))
        options.setdefault("capture_output", "stdout" not in options)
        return subprocess.run(
            [sys.executable, *command, *map(str, args)],
            check=False,
            cwd=tmp_path,
            timeout=120,
            **options,
        )

    return call


@pytest.fixture
def write(tmp_path):
    """Write cases as JSONL and return the path."""

    def written(*cases, name="cases.jsonl"):
        path = tmp_path / name
        lines = [json.dumps(case, ensure_ascii=False) for case in cases]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    return written


@pytest.fixture
def passing():
    return {"id": "pass", "response": "The sky is blue.", "reference": "The sky is blue."}


@pytest.fixture
def failing():
    return {"id": "fail", "response": "Bring an umbrella.", "reference": "Our shop opens at nine."}


@pytest.fixture
def unmeasured():
    return {"id": "none", "response": " ", "reference": "The sky is blue."}
