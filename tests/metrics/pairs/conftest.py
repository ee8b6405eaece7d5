"""Lets the tests of this folder import its helper modules, and trains their model once."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import pair_world


@pytest.fixture(scope="session")
def weights():
    """Weights of a small model of entailment, learnt from made-up pairs."""
    return pair_world.train(pair_world.pairs(1200, seed=1))


@pytest.fixture
def folder(tmp_path, weights):
    """The trained model as a folder."""
    return pair_world.write(tmp_path / "nli", weights)
