"""Lets the tests of this folder import its helper modules."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A working folder of its own, with a blank and a quote in its name."""
    place = tmp_path / "work ing's ü"
    place.mkdir()
    monkeypatch.chdir(place)
    return place
