"""The factors that closecall carries are made by ``models/build_fast.py`` from the demo."""

import importlib.util
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from closecall.fast.factors import FILE, layers, quarters_of, stored_factors
from closecall.models.store import find_model

pytest.importorskip("onnx", reason="the factors are made with onnx")

BUILD = Path(__file__).parents[2] / "models" / "build_fast.py"


@pytest.fixture(scope="module")
def build():
    spec = importlib.util.spec_from_file_location("models_build_fast", BUILD)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def kept():
    return (resources.files("closecall") / "fast" / FILE).read_bytes()


def test_they_are_made_again_from_the_demo_and_the_model(build):
    made = build.built(find_model("minilm"), build.demo_texts())
    assert len(made) == len(kept())
    steps = build.steps_between(made, kept())
    # Where they were made, none differs. Another processor adds in another order, and one of
    # them that lies on the border of two steps may then be rounded to its neighbour.
    assert steps.max() <= 1
    assert np.count_nonzero(steps) <= len(steps) // 1000


def test_the_texts_are_the_demos_questions_and_answers_each_once(build):
    texts = build.demo_texts()
    assert "How long do I have to return a bike I bought online?" in texts
    assert "You can return an unused bike within 60 days of delivery for a full refund." in texts
    assert len(texts) == len(set(texts))
    assert texts == sorted(texts)


def test_other_texts_make_other_factors(build, tmp_path, capsys):
    made = build.built(find_model("minilm"), ["Yes."])
    assert build.steps_between(made, kept()).max() > 1
    assert build.told(made, kept()) == 1
    assert "differ" in capsys.readouterr().out
    assert build.told(kept(), kept()) == 0
    assert build.told(made[1:], kept()) == 1


def test_it_checks_without_writing_and_writes_where_it_is_told(build, tmp_path, monkeypatch):
    monkeypatch.setattr(build, "demo_texts", lambda: ["Yes."])
    target = tmp_path / FILE
    assert build.main(["--output", str(target)]) == 0
    written = target.read_bytes()
    assert build.main(["--output", str(target), "--check"]) == 0
    target.write_bytes(kept())
    assert build.main(["--output", str(target), "--check"]) == 1
    assert target.read_bytes() == kept() != written


def test_every_layer_has_its_factors_in_the_files_order():
    found = stored_factors()
    assert list(found) == [name for name, _ in layers()]
    assert [len(one) for one in found.values()] == [width for _, width in layers()]
    quarters = np.frombuffer(kept(), dtype=np.int8)
    assert np.concatenate(list(found.values())) == pytest.approx(2.0 ** (quarters / 4), rel=1e-6)


def test_a_channel_that_is_larger_is_divided_by_more():
    weights = np.ones((3, 2), dtype=np.float32)
    low, middle, high = quarters_of(np.array([0.5, 1.0, 8.0], dtype=np.float32), weights)
    assert low < middle < high
